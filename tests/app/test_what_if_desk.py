"""Deciding anew beside the window's thread: the newest question wins, and the frontier gives way to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.tools.what_if_desk import Answer, Desk
from app.tools.what_if_form import WhatIfForm
from core.analysis.columns import columns_of
from core.analysis.frontier import THRESHOLDS, Frontier, frontier
from core.analysis.recorded_parts import to_record
from core.analysis.what_if import Redecider
from core.analysis.what_if_changes import compare_tokens
from core.choices import Policy, Record
from core.config import RunSettings, SchedulerSettings, TreeSettings
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.core.recordings import DEPTH, Recorder, audit_settings
from tests.tiny import make_tiny_model


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    return Recorder(make_tiny_model(tmp_path_factory.mktemp("tiny"), depth=DEPTH))


class Bench:
    """A desk and what it said."""

    def __init__(self, qtbot: QtBot, recorder: Recorder) -> None:
        self.qtbot, self.recorder = qtbot, recorder
        self.parent = QObject()
        self.desk = Desk(self.parent)
        self.answers: list[Answer] = []
        self.refusals: list[Failure] = []
        self.frontiers: list[tuple[Frontier, int]] = []
        self.desk.answered.connect(self.answers.append)
        self.desk.refused.connect(self.refusals.append)
        self.desk.swept.connect(lambda found: self.frontiers.append((found, len(self.answers))))

    def open(self, trace: Trace) -> None:
        parts = self.recorder.parts
        self.desk.open(trace, lambda: to_record(parts.predictors, parts.offline_ranking))

    def rest(self) -> None:
        self.qtbot.waitUntil(lambda: not self.desk.is_busy, timeout=TIMEOUT)

    @property
    def asked(self) -> list[RunSettings]:
        return [answer.compared.settings for answer in self.answers]


@pytest.fixture
def bench(qtbot: QtBot, recorder: Recorder) -> Iterator[Bench]:
    made = Bench(qtbot, recorder)
    yield made
    made.desk.close()


def redecider(recorder: Recorder) -> Redecider:
    columns = columns_of(recorder.run(audit_settings()))
    return Redecider(columns, recorder.parts.predictors, recorder.parts.offline_ranking)


def test_that_an_answer_is_what_the_analysis_says(bench: Bench, recorder: Recorder) -> None:
    bench.open(recorder.run(audit_settings()))
    bench.rest()
    after = audit_settings(threshold=0.05, policy=Policy.SPECEE_T1)
    bench.desk.ask(after)
    bench.rest()
    by_hand = redecider(recorder)
    wanted = compare_tokens(by_hand.decide(after), by_hand.columns)
    assert bench.asked == [after]
    assert list(bench.answers[0].compared.changes) == list(wanted.changes)
    assert bench.answers[0].compared.after == wanted.after


def test_that_of_questions_that_wait_only_the_newest_is_answered(bench: Bench, recorder: Recorder) -> None:
    bench.open(recorder.run(audit_settings()))
    bench.rest()
    asked = [audit_settings(threshold=threshold) for threshold in (0.1, 0.2, 0.4, 0.6)]
    for one in asked:
        bench.desk.ask(one)
    bench.rest()
    assert bench.asked == [asked[0], asked[-1]]


def test_that_a_run_that_is_opened_meanwhile_takes_the_others_place(bench: Bench, recorder: Recorder) -> None:
    first, second = recorder.run(audit_settings()), recorder.run(audit_settings(threshold=0.6))
    bench.open(first)
    bench.open(second)
    bench.desk.ask(second.started.settings)
    bench.rest()
    assert bench.desk.recording.trace is second
    assert bench.asked == [second.started.settings]


def test_that_the_frontier_is_the_analysis_and_a_question_asked_meanwhile_comes_first(
    bench: Bench, recorder: Recorder
) -> None:
    bench.open(recorder.run(audit_settings()))
    bench.rest()
    bench.desk.sweep(audit_settings())
    bench.desk.ask(audit_settings(threshold=0.6))
    bench.rest()
    assert bench.desk.frontier == frontier(redecider(recorder), audit_settings())
    assert len(bench.frontiers) == len(THRESHOLDS)
    assert [answers for _, answers in bench.frontiers[:2]] == [0, 1], "after the point that was under way"
    bench.desk.sweep(audit_settings(threshold=0.9))
    assert not bench.desk.is_busy, "the threshold counts for nothing in the frontier"
    bench.desk.sweep(audit_settings(gate=0.1))
    assert bench.desk.is_busy


@pytest.fixture
def bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs as short as the tests' are read in several goes."""
    monkeypatch.setattr("app.tools.what_if_desk.AT_ONCE", 8)
    monkeypatch.setattr("core.analysis.columns.PORTION", 4)
    monkeypatch.setattr("core.analysis.what_if_trees.PASSES", 3)


@pytest.mark.usefixtures("bit_by_bit")
@pytest.mark.parametrize("settings", [audit_settings(), audit_settings(max_new_tokens=24, tree=TreeSettings("2-1"))])
def test_that_of_a_long_run_the_first_tokens_are_decided_while_the_others_are_read(
    bench: Bench, recorder: Recorder, settings: RunSettings
) -> None:
    trace, asked, known = recorder.run(settings), replace(settings, threshold=0.05), list[int]()
    bench.desk.read.connect(lambda _: bench.desk.ask(asked))
    bench.desk.advanced.connect(lambda: known.append(bench.desk.recording.tokens))
    bench.open(trace)
    bench.rest()
    assert known == sorted(set(known))
    assert (known[-1], bench.desk.reads_on, len(bench.answers)) == (trace.emitted_count, False, 1)
    bench.desk.ask(asked)
    bench.rest()
    early, whole = (answer.compared for answer in bench.answers)
    count = len(early.asked)
    assert count < len(whole.asked) == trace.emitted_count
    assert early.asked.tolist() == whole.asked[:count].tolist()
    assert early.recorded.tolist() == whole.recorded[:count].tolist()
    assert list(early.changes) == list(whole.changes)[: len(early.changes)]
    assert whole.changes


@pytest.mark.usefixtures("bit_by_bit")
def test_that_reading_that_is_stopped_can_be_taken_up_again(bench: Bench, recorder: Recorder) -> None:
    trace, desk = recorder.run(audit_settings()), bench.desk
    desk.read.connect(lambda _: desk.stop_reading())
    bench.open(trace)
    bench.rest()
    count = desk.recording.tokens
    assert count < trace.emitted_count
    assert desk.is_stopped
    desk.ask(audit_settings(threshold=0.05))
    desk.sweep(audit_settings())
    bench.rest()
    assert len(bench.answers[0].compared.asked) == count
    assert desk.frontier.tokens == count - 1
    desk.read_on()
    bench.rest()
    assert (desk.recording.tokens, desk.is_stopped) == (trace.emitted_count, False)
    assert not desk.frontier.points, "the frontier was that of the first tokens"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (audit_settings(record=Record.LIVE), "record the run in audit depth"),
        (RunSettings(policy=Policy.DENSE, max_new_tokens=4, record=Record.AUDIT), "Only a run of SpecEE"),
    ],
)
def test_that_a_run_that_cannot_be_decided_is_refused_with_what_to_do(
    bench: Bench, recorder: Recorder, settings: RunSettings, words: str
) -> None:
    bench.open(recorder.run(settings))
    bench.desk.ask(settings)
    bench.rest()
    assert [words in failure.sentence for failure in bench.refusals] == [True]
    assert bench.answers == []


@pytest.fixture
def form(qtbot: QtBot) -> WhatIfForm:
    made = WhatIfForm()
    qtbot.addWidget(made)
    return made


def test_that_the_form_starts_at_the_recordings_settings_and_comes_back_to_them(form: WhatIfForm) -> None:
    recorded = audit_settings(gate=0.0375, layer_thresholds=((1, 0.2),), max_new_tokens=7)
    form.show_recording(recorded, DEPTH, DEPTH - 1)
    assert form.settings() == recorded
    assert form.is_reset
    form.threshold.setValue(0.75)
    form.offline.setValue(1)
    form.policy.setCurrentIndex(1 - form.policy.currentIndex())
    assert not form.is_reset
    assert form.settings().threshold == 0.75
    assert form.settings().policy is Policy.SPECEE_T1
    form.reset()
    assert form.settings() == recorded


def test_that_the_form_asks_for_no_more_than_can_be_decided(form: WhatIfForm) -> None:
    form.show_recording(audit_settings(), DEPTH, 2)
    for field, most in ((form.offline, 2), (form.radius, DEPTH - 1)):
        field.setValue(1000)
        assert field.value() == most
    form.policy.setCurrentIndex(form.policy.findData(str(Policy.SPECEE_T1)))
    assert not form.offline.isEnabled()


def test_that_the_selected_layer_gets_a_threshold_of_its_own(form: WhatIfForm) -> None:
    form.show_recording(audit_settings(), DEPTH, 2)
    assert not form.own_on.isEnabled()
    form.set_layer(DEPTH - 1)
    assert not form.own_on.isEnabled(), "the last layer has no predictor"
    form.set_layer(2)
    assert form.own_on.text() == "Layer 3"
    form.own_on.setChecked(True)
    form.own_value.setValue(0.9)
    form.set_layer(4)
    assert not form.own_on.isChecked()
    assert form.settings().layer_thresholds == ((2, 0.9),)
    form.set_threshold(0.6)
    assert form.settings().layer_thresholds == ()


def test_that_every_question_of_the_form_is_told_once(qtbot: QtBot, form: WhatIfForm) -> None:
    form.show_recording(audit_settings(), DEPTH, 3)
    told: list[RunSettings] = []
    form.changed.connect(lambda: told.append(form.settings()))
    form.threshold.slider.setValue(70)
    form.radius.setValue(3)
    form.reset()
    wanted = audit_settings(threshold=0.7)
    assert told == [
        wanted,
        audit_settings(threshold=0.7, scheduler=SchedulerSettings(window=3, radius=3, offline_layers=2)),
        audit_settings(),
    ]
