"""The thread that trains: what of its reports arrives, and that the real recipe runs in it."""

from __future__ import annotations

import threading
from pathlib import Path

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.training_thread import TrainingThread, train_parts
from core.progress import Progress, Report
from core.training.options import Stage, TrainOptions, is_unfinished, workplace
from tests.app.stage import TIMEOUT
from tests.core.training_setup import prompt_file
from tests.tiny import make_tiny_model


def test_that_no_report_with_figures_is_lost_and_outdated_ones_without_are(qtbot: QtBot) -> None:
    def trainer(options: TrainOptions, report: Report, cancel: threading.Event) -> Path:
        for step in range(6):
            report(Progress(f"step {step}", figures={"loss": 1.0} if step % 2 else {}))
        report(Progress("step 6"))
        report(Progress("step 7"))
        return Path("parts")

    owner = QObject()
    thread = TrainingThread(trainer, TrainOptions("m", (Path("p"),)), owner)
    with qtbot.waitSignal(thread.over, timeout=TIMEOUT) as over:
        thread.start()
    assert over.args == [Path("parts")]
    assert [progress.message for progress in thread.take()] == ["step 1", "step 3", "step 5", "step 7"]


def test_that_the_real_recipe_runs_a_stage_in_the_thread(qtbot: QtBot, tmp_path: Path) -> None:
    make_tiny_model(tmp_path / "model", tied=False, seed=3, context=128)
    files = (prompt_file(tmp_path / "prompts.jsonl"),)
    options = TrainOptions(str(tmp_path / "model"), files, tmp_path / "parts", budget_minutes=0.005, stage=Stage.DATA)
    owner = QObject()
    thread = TrainingThread(train_parts, options, owner)
    with qtbot.waitSignal(thread.over, timeout=5 * TIMEOUT) as over:
        thread.start()
    assert over.args == [workplace(tmp_path / "parts")]
    assert is_unfinished(tmp_path / "parts")
    assert thread.take()[-1].part == Stage.DATA.value
