"""The Compare panel: two runs aligned by token, one cursor for both, and files that are only read."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.places import COMPARE
from app.tools.compare import ALONE, Compare
from app.tools.compare_choices import choices
from core.analysis.compare import compare
from core.analysis.why import why
from core.config import RunSettings
from core.trace.events import Branch, Event, RunStarted, TokenEmitted
from core.trace.stored_trace import StoredTrace
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.core.sessions import written
from tests.fakes import PLANS, fake_run_events
from widgets.compare_table import EXIT_A, EXIT_B, LAYERS, SAME, TEXT_B, signed
from widgets.palette import LIGHT
from widgets.selection import Selection

PARTED = 7
"""The token at which `other_run` says something else."""


def run(number: int = 0, tokens: int = 12) -> list[Event]:
    return fake_run_events(tokens, run=number, audit=True)


def other_run(number: int = 1, tokens: int = 15, threshold: float = 0.91) -> list[Event]:
    """With other exits and, from one token on, another text."""
    events = fake_run_events(
        tokens, run=number, settings=RunSettings(threshold=threshold), plans=(*PLANS[2:], PLANS[0])
    )
    return [_other(event) if isinstance(event, TokenEmitted) and event.token == PARTED else event for event in events]


def _other(event: TokenEmitted) -> TokenEmitted:
    return replace(event, token_id=999, token_bytes=" 天地".encode())


def of_another_model(events: list[Event]) -> list[Event]:
    start = events[0]
    assert isinstance(start, RunStarted)
    return [replace(start, model=replace(start.model, name="big", fingerprint="f" * 64)), *events[1:]]


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.panels[COMPARE.key].show()
    stage.window.panels[COMPARE.key].raise_()
    yield stage
    stage.window.close()
    assert stage.work.files.library.guests.open_files == 0, "nothing is left open"


def opened(stage: WindowStage, *runs: list[Event], token: int = 3) -> Compare:
    """The first run on show, the others in the session."""
    traces = [Trace.of(events) for events in runs]
    for trace in reversed(traces):
        stage.work.files.library.begin(trace)
    stage.session.show_trace(traces[0])
    stage.session.select(Selection(token))
    return settled(stage)


def settled(stage: WindowStage) -> Compare:
    tool = stage.work.rack.tool(COMPARE)
    assert isinstance(tool, Compare)
    stage.work.rack.flush()
    stage.qtbot.waitUntil(lambda: not tool.is_busy, timeout=TIMEOUT)
    stage.work.rack.flush()
    return tool


def cell(tool: Compare, token: int, column: int) -> str:
    rows = tool.view.table.rows
    return str(rows.data(rows.index(token, column)))


def note(tool: Compare) -> str:
    return "" if tool.view.note.isHidden() else tool.view.note.text()


# Both runs, one cursor


def test_that_the_only_other_run_is_compared_unasked_as_diff_compares_it(stage: WindowStage) -> None:
    tool = opened(stage, run(), other_run())
    aligned = tool.pair.aligned
    assert aligned is not None
    found = compare(*aligned.runs)
    assert found.first_divergence == PARTED
    assert [cell(tool, token, SAME) for token in (PARTED - 1, PARTED)] == ["=", "▶≠"]
    assert cell(tool, PARTED, TEXT_B) == "·天地"
    deltas = [cell(tool, token, LAYERS) for token in range(found.aligned)]
    assert deltas == [signed(int(delta)) for delta in found.exit_delta]
    assert {delta[:1] for delta in deltas} == {"0", "+", "−"}
    assert [cell(tool, token, EXIT_B) for token in (1, 2)] == [
        f"▪ {found.exit_layers[1][1]}",
        f"⊘ {found.exit_layers[1][2]}",
    ]
    subtitle = tool.panel.header.subtitle.text()
    a, b = found.figures
    assert f"mean exit {a.mean_exit_layer:.1f} → {b.mean_exit_layer:.1f}" in subtitle
    assert f"same text {found.same.sum()} of {found.aligned}" in subtitle
    more = int(found.exit_delta.sum())
    assert f"{abs(more)} layers {'more' if more > 0 else 'saved'}" in subtitle
    tool.view.resize(640, 200)
    assert "threshold" not in tool.view.parting.text(), "a low panel has no room for it"
    assert "threshold: 0.5 → 0.91" in tool.view.parting.toolTip()
    tool.view.resize(640, 400)
    assert "threshold <b>0.5</b> → <b>0.91</b>" in tool.view.parting.text()
    assert f"They part at <b>token {PARTED + 1}</b>" in tool.view.parting.text()


def test_that_a_narrow_panel_names_the_run_in_a_line_of_its_own_and_cuts_no_letter(stage: WindowStage) -> None:
    view = opened(stage, run(), other_run()).view
    panel = stage.window.panels[COMPARE.key]
    panel.setFloating(True)
    panel.resize(300, 320)
    stage.qtbot.waitUntil(lambda: view.runs.width() > 0.9 * view.width(), timeout=TIMEOUT)
    whole, shown = view.runs.currentText(), view.runs.shown_text()
    assert shown.endswith("…")
    assert whole.startswith(shown[:-1])
    panel.resize(900, 320)
    stage.qtbot.waitUntil(lambda: view.open.x() > view.runs.geometry().right(), timeout=TIMEOUT)
    assert abs(view.runs.geometry().center().y() - view.open.geometry().center().y()) <= 1, "beside the buttons"


def test_that_a_row_is_selected_everywhere_and_a_selection_from_elsewhere_marks_both_runs(stage: WindowStage) -> None:
    tool = opened(stage, run(), other_run())
    tool.view.table.setCurrentIndex(tool.view.table.rows.index(5, 0))
    assert stage.session.selection == Selection(5)
    stage.session.select(Selection(9, 4))
    stage.work.rack.flush()
    assert tool.view.table.currentIndex().row() == 9
    assert tool.view.plot.selection == Selection(9, 4)
    other = tool.pair.other
    assert other is not None
    told = tool.view.sides.toPlainText().replace("\u00a0", " ")
    assert f"{other.exit_layers[9]} of 12" in told
    assert "B — Layer 5: " in told, "B is explained at the layer that is selected"
    assert re.sub("<[^>]*>", "", html.unescape(why(other, 9, 4))).replace("\u00a0", " ") in told


def test_that_a_token_that_only_b_has_can_be_looked_at_without_selecting_any(stage: WindowStage) -> None:
    tool = opened(stage, run(), other_run())
    tool.view.table.setCurrentIndex(tool.view.table.rows.index(13, 0))
    assert stage.session.selection == Selection(3)
    assert "A has ended" in tool.view.sides.toPlainText()
    stage.work.rack.flush()
    assert tool.view.table.currentIndex().row() == 13
    stage.session.select(Selection(4))
    stage.work.rack.flush()
    assert tool.view.table.currentIndex().row() == 4


def test_that_one_action_leads_to_where_the_texts_part_and_others_from_difference_to_difference(
    stage: WindowStage,
) -> None:
    tool = opened(stage, run(), other_run(), token=0)
    aligned, commands = tool.pair.aligned, stage.window.commands
    assert aligned is not None
    stage.trigger("first_divergence")
    assert stage.session.selection.token == PARTED
    stage.session.select(Selection(0))
    stage.work.rack.flush()
    met = []
    while commands["next_difference"].isEnabled():
        stage.trigger("next_difference")
        met.append(tool.view.table.currentIndex().row())
    assert met == [token for token in range(len(aligned)) if aligned.differs[token]]
    back = []
    while commands["previous_difference"].isEnabled():
        stage.trigger("previous_difference")
        back.append(tool.view.table.currentIndex().row())
    assert back == met[-2::-1]
    assert "nothing differs before" in commands["previous_difference"].property("reason")


def test_that_swapping_shows_b_and_holds_it_against_a_at_the_same_token(stage: WindowStage) -> None:
    tool = opened(stage, run(), other_run(), token=9)
    a, b = tool.pair.shown, tool.pair.other
    before = [cell(tool, token, EXIT_B) for token in range(12)]
    stage.trigger("swap_runs")
    settled(stage)
    assert stage.session.trace is b
    assert tool.pair.other is a
    assert stage.session.selection == Selection(9)
    assert tool.view.table.currentIndex().row() == 9
    assert [cell(tool, token, EXIT_A) for token in range(12)] == before
    assert tool.view.runs.currentText().startswith("Run 1 ")
    stage.trigger("swap_runs")
    settled(stage)
    assert stage.session.trace is a


def test_that_a_run_that_grows_keeps_its_rows_and_the_view_its_place(stage: WindowStage) -> None:
    events = run(0, 12)
    half = next(at for at, event in enumerate(events) if isinstance(event, TokenEmitted) and event.token == 5) + 1
    tool = opened(stage, events[:half], other_run())
    resets: list[int] = []
    tool.view.table.rows.modelReset.connect(lambda: resets.append(1))
    assert cell(tool, 8, EXIT_A) == ""
    trace = stage.session.trace
    assert isinstance(trace, Trace)
    for event in events[half:]:
        trace.append(event)
    stage.session.trace_changed.emit(6)
    settled(stage)
    assert cell(tool, 8, EXIT_A).endswith(str(trace.exit_layers[8]))
    assert not resets


# Which run


def test_that_a_sentence_says_what_to_do_while_there_is_no_other_run(stage: WindowStage) -> None:
    tool = opened(stage, run())
    assert tool.view.nothing.text() == ALONE
    assert tool.view.nothing.isVisible()
    assert not stage.window.commands["swap_runs"].isEnabled()
    stage.session.show_trace(None)
    settled(stage)
    assert tool.panel.is_empty


def test_that_branches_come_first_then_runs_of_the_same_prompt_then_others(stage: WindowStage) -> None:
    library = stage.work.files.library
    runs = [fake_run_events(4, run=number, prompt="Why?" if number in (0, 2) else "How?") for number in range(4)]
    start = runs[3][0]
    assert isinstance(start, RunStarted)
    runs[3][0] = replace(start, branch=Branch(0, 2, 3, ("threshold 0.5 → 0.9",)))
    for events in runs:
        library.begin(Trace.of(events))
    shown = runs[0][0]
    assert isinstance(shown, RunStarted)
    listed = choices(library, shown)
    assert [choice.number for choice in listed] == [3, 2, 1]
    assert listed[0].words.startswith("⑂ Run 4 · from token 3 of run 1: threshold 0.5 → 0.9 · ")
    branch = runs[3][0]
    assert isinstance(branch, RunStarted)
    assert choices(library, branch)[0].number == 0, "a branch's origin is its nearest kin"


def test_that_a_run_of_another_file_is_read_shown_and_never_changed(stage: WindowStage, tmp_path: Path) -> None:
    path = written(tmp_path / "other.specee", other_run(0), fake_run_events(3, run=1, prompt="How?"))
    before = path.read_bytes()
    tool = opened(stage, run())
    tool.open_file(path)
    settled(stage)
    aligned = tool.pair.aligned
    assert aligned is not None
    assert aligned.found.first_divergence == PARTED, "of its runs that of the same prompt"
    assert tool.view.runs.count() == 2
    stage.trigger("swap_runs")
    settled(stage)
    shown = stage.session.trace
    assert isinstance(shown, StoredTrace)
    assert shown.started is not None
    library = stage.work.files.library
    assert library.whereabouts(shown.started.run) == "of another file"
    assert library.weights_of(shown.started.run)() is None
    assert [title.number for title in library.titles()] == [0], "it is no run of this session"
    assert "A other.specee" in tool.panel.header.subtitle.text()
    stage.work.views.flush()
    assert path.read_bytes() == before


def test_that_a_file_that_cannot_be_read_is_told_of_and_the_comparison_stays(
    stage: WindowStage, tmp_path: Path
) -> None:
    (tmp_path / "bad.specee").write_bytes(b"not a session" * 20)
    tool = opened(stage, run(), other_run())
    aligned = tool.pair.aligned
    tool.open_file(tmp_path / "bad.specee")
    settled(stage)
    assert "is no session of specee-viewer" in note(tool)
    assert tool.pair.aligned is aligned
    tool.open_file(written(tmp_path / "empty.specee", run(0, 12)[:1]))
    settled(stage)
    assert "holds no run; record one first." in note(tool)
    tool.apply_theme(LIGHT)
    assert "holds no run" in note(tool), "a theme takes no sentence away"


def test_that_a_run_of_a_session_that_was_left_meanwhile_is_refused_in_a_sentence(stage: WindowStage) -> None:
    tool = opened(stage, run(), other_run())
    tool.compare_with(16)  # as the list offered it before the session gave way to another
    assert "Run 17 is not part of this session any more; choose another one." in note(tool)


def test_that_runs_of_different_models_are_compared_by_text_and_a_sentence_says_so(stage: WindowStage) -> None:
    tool = opened(stage, run(), of_another_model(other_run()))
    assert "different models, fake and big" in note(tool)
    tool.view.resize(640, 400)
    assert "model <b>fake</b> → <b>big</b>" in tool.view.parting.text()
    assert "fingerprint" not in tool.view.parting.text()
    tool.compare_with(tool.pair.number or 0)
    assert "different models" in note(tool)
    assert cell(tool, PARTED, SAME) == "▶≠"


def test_that_another_session_leaves_nothing_of_the_comparison(stage: WindowStage, tmp_path: Path) -> None:
    other = written(tmp_path / "other.specee", other_run(0))
    stage.work.files.open(written(tmp_path / "s.specee", run(0), other_run(1, 9)))
    stage.qtbot.waitUntil(lambda: stage.session.trace is not None and not stage.work.files.is_busy, timeout=TIMEOUT)
    tool = settled(stage)
    assert isinstance(tool.pair.other, StoredTrace), "of two runs in a file the other one is read in a thread"
    tool.open_file(other)
    settled(stage)
    assert stage.work.files.library.guests.open_files == 1
    stage.trigger("new_session")
    assert stage.work.files.library.guests.open_files == 0
    assert tool.pair.aligned is None
    assert tool.view.table.rows.rowCount() == 0
