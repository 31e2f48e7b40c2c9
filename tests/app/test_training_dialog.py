"""Training from the window: what is asked for, shown while it runs, and how it ends. The trainer is a fake."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QThread

from app import training_words as words
from app.training_dialog import TrainingDialog
from core.errors import UserError
from core.progress import Progress, Report, check
from core.training.options import STEPS, Stage, TrainOptions, workplace
from resources.paths import PROMPTS
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage


class FakeTrainer:
    """Reports what it is told to, then waits until it may end."""

    def __init__(self) -> None:
        self.reports: list[Progress] = []
        self.error: Exception | None = None
        self.asked: TrainOptions | None = None
        self.thread: QThread | None = None
        self.may_end = threading.Event()

    def __call__(self, options: TrainOptions, report: Report, cancel: threading.Event) -> Path:
        assert options.out is not None
        self.asked, self.thread = options, QThread.currentThread()
        (workplace(options.out) / Stage.DATA).mkdir(parents=True, exist_ok=True)
        for progress in self.reports:
            report(progress)
        while not self.may_end.wait(0.01):
            check(cancel)
        if self.error is not None:
            raise self.error
        return options.out


@pytest.fixture
def trainer(stage: WindowStage) -> FakeTrainer:
    """The trainer of the stage's window, whose model is loaded."""
    fake = FakeTrainer()
    stage.work.training.trainer = fake
    stage.load()
    return fake


def opened(stage: WindowStage, tmp_path: Path) -> TrainingDialog:
    stage.trigger("train")
    dialog = stage.work.training.dialog
    assert dialog is not None
    assert dialog.form is not None
    dialog.form.folder.setText(str(tmp_path / "parts"))
    return dialog


def drafter_report(step: int) -> Progress:
    hits = {"top1": 0.3, "top4": 0.5} if step == 2 else {}
    figures = {"step": float(step), "loss": 3.0 / step, **hits}
    return Progress(f"Training the drafter: step {step}", step, 4, "seconds", Stage.DRAFTER.value, figures)


def test_that_the_dialog_starts_with_the_loaded_model_and_the_programs_own_prompts(
    stage: WindowStage, trainer: FakeTrainer, tmp_path: Path
) -> None:
    dialog = opened(stage, tmp_path)
    assert dialog.form is not None
    assert dialog.form.options() == TrainOptions(
        "fake", tuple(sorted(PROMPTS.glob("*.jsonl"))), tmp_path / "parts", budget_minutes=12.0
    )
    assert not dialog.form.resume.isEnabled()
    dialog.close()
    assert stage.work.training.dialog is None


def test_that_without_a_model_there_is_nothing_to_start(stage: WindowStage) -> None:
    stage.trigger("train")
    dialog = stage.work.training.dialog
    assert dialog is not None
    assert dialog.start.isHidden()
    assert dialog.note.text() == words.NO_MODEL
    dialog.close()


def test_that_without_prompts_nothing_starts_and_one_sentence_says_why(
    stage: WindowStage, trainer: FakeTrainer, tmp_path: Path
) -> None:
    dialog = opened(stage, tmp_path)
    assert dialog.form is not None
    dialog.form.files.setCurrentRow(0)
    dialog.form.remove.click()
    dialog.start.click()
    assert "needs prompt files" in dialog.note.text()
    assert not dialog.is_running
    dialog.form.own.click()
    assert dialog.form.files.count() == 1
    dialog.close()


def test_that_each_stage_tells_its_part_of_the_budget(stage: WindowStage, trainer: FakeTrainer, tmp_path: Path) -> None:
    dialog = opened(stage, tmp_path)
    assert dialog.form is not None
    dialog.form.budget.setValue(150.0)
    column = [dialog.stages.item(row, 1) for row in range(len(STEPS))]
    assert [item.text() for item in column if item] == [
        *("50 min", "1 h 0 min", "6 min", "12 min"),
        *("5 min", "4 min", "4 min", "9 min"),
    ]
    dialog.close()


def test_that_a_run_trains_off_the_windows_thread_and_shows_stage_time_and_curves(
    stage: WindowStage, trainer: FakeTrainer, tmp_path: Path
) -> None:
    trainer.reports = [Progress("Reading the weights"), *(drafter_report(step) for step in (1, 2, 3))]
    dialog = opened(stage, tmp_path)
    dialog.start.click()
    stage.qtbot.waitUntil(lambda: "step 3" in dialog.course.message.text(), timeout=TIMEOUT)
    assert trainer.thread is not stage.window.thread()
    signs = [item.text()[0] for row in range(3) if (item := dialog.stages.item(row, 0))]
    assert signs == ["✓", "▶", "○"]
    assert "left of 12 min" in dialog.course.rest.text()
    assert "loss from 3.000 to 1.000; top-1 hit rate 30.0%" in dialog.course.view.accessibleDescription()
    assert dialog.stop.isVisible()
    assert dialog.start.isHidden()
    dialog.stages.setCurrentCell(0, 0)
    assert dialog.course.view.message == words.NO_CURVES[Stage.DATA]
    trainer.may_end.set()
    stage.qtbot.waitUntil(lambda: not dialog.is_running, timeout=TIMEOUT)
    dialog.close()


def test_that_a_finished_run_says_where_the_parts_are_and_loads_them_now_and_on_reload(
    stage: WindowStage, trainer: FakeTrainer, tmp_path: Path
) -> None:
    dialog = opened(stage, tmp_path)
    trainer.may_end.set()
    dialog.start.click()
    stage.qtbot.waitUntil(lambda: "runs with them now" in dialog.course.message.text(), timeout=TIMEOUT)
    assert str(tmp_path / "parts") in dialog.course.message.text()
    assert [request.parts_folder for request in stage.loader.requests] == [None, tmp_path / "parts"]
    dialog.close()
    with stage.qtbot.waitSignal(stage.session.model_changed, timeout=TIMEOUT):
        stage.trigger("reload")
    assert stage.loader.requests[-1].parts_folder == tmp_path / "parts"


def test_that_stop_keeps_what_is_done_and_start_then_goes_on_from_it(
    stage: WindowStage, trainer: FakeTrainer, tmp_path: Path
) -> None:
    dialog = opened(stage, tmp_path)
    assert dialog.form is not None
    dialog.start.click()
    stage.qtbot.waitUntil(lambda: trainer.asked is not None, timeout=TIMEOUT)
    assert trainer.asked is not None
    assert not trainer.asked.resume
    dialog.stop.click()
    stage.qtbot.waitUntil(lambda: not dialog.is_running, timeout=TIMEOUT)
    assert dialog.note.text() == words.STOPPED
    assert dialog.form.resume.isChecked()
    dialog.form.resume.setChecked(False)
    assert words.THROWS_AWAY in dialog.form.note.text()
    dialog.form.resume.setChecked(True)
    trainer.may_end.set()
    dialog.start.click()
    stage.qtbot.waitUntil(lambda: dialog.start.isHidden() and not dialog.is_running, timeout=TIMEOUT)
    assert trainer.asked.resume
    dialog.close()


@pytest.mark.parametrize(
    ("error", "sentence", "dialogs"),
    [
        (UserError("Too few prompts; give more."), "Too few prompts; give more.", 0),
        (ValueError("a tensor of no shape"), "Something went wrong inside the engine (ValueError)", 1),
    ],
)
def test_that_a_failure_is_one_sentence_in_the_dialog_with_details_only_where_nobody_foresaw_it(
    stage: WindowStage, trainer: FakeTrainer, tmp_path: Path, error: Exception, sentence: str, dialogs: int
) -> None:
    dialog = opened(stage, tmp_path)
    trainer.error = error
    trainer.may_end.set()
    dialog.start.click()
    stage.qtbot.waitUntil(lambda: sentence in dialog.note.text(), timeout=TIMEOUT)
    assert dialog.start.isVisible()
    assert len(stage.errors()) == dialogs
    for shown in stage.errors():
        shown.close()
    dialog.close()


@pytest.mark.parametrize("answer", ["go on", "stop"])
def test_that_closing_asks_while_training_goes_on(
    stage: WindowStage, trainer: FakeTrainer, tmp_path: Path, answer: str
) -> None:
    dialog = opened(stage, tmp_path)
    dialog.start.click()
    dialog.reject()
    assert dialog.question is not None
    assert dialog.is_running
    dialog.question.buttons[answer].click()
    if answer == "stop":
        stage.qtbot.waitUntil(lambda: stage.work.training.dialog is None, timeout=TIMEOUT)
        return
    assert dialog.isVisible()
    assert dialog.is_running
    trainer.may_end.set()
    stage.qtbot.waitUntil(lambda: not dialog.is_running, timeout=TIMEOUT)
    dialog.close()


def test_that_closing_the_window_ends_the_training(stage: WindowStage, trainer: FakeTrainer, tmp_path: Path) -> None:
    opened(stage, tmp_path).start.click()
    stage.qtbot.waitUntil(lambda: trainer.thread is not None, timeout=TIMEOUT)
    thread = trainer.thread
    assert thread is not None
    stage.window.close()
    assert thread.isFinished()
