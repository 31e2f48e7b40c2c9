"""Pictures, read back as XML: texts stay texts, and shapes stand for the numbers behind them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from core.analysis import summaries
from core.report import run_figures
from core.report.drawing import Drawing, whole_ticks
from core.report.exit_colours import exit_colour
from core.report.inks import DARK, LIGHT
from core.report.views import VIEWS, Subject
from core.trace.overview import CellState
from core.trace.session_file import SessionFile
from core.trace.trace import Trace
from resources.paths import SAMPLE
from tests.fakes import fake_run_events

TRACE = Trace.of(fake_run_events(9, audit=True))
SVG = "{http://www.w3.org/2000/svg}"
PICTURES = [name for name, view in VIEWS.items() if view.picture]
HOSTILE = "<script>\"&'\x00\x07\u202e\ud800\uffff"


@pytest.fixture(scope="module")
def sample() -> Iterator[SessionFile]:
    with closing(SessionFile(SAMPLE)) as file:
        yield file


def drawn(name: str, subject: Subject, inks: object = LIGHT) -> ElementTree.Element:
    picture = VIEWS[name].picture
    assert picture is not None
    return ElementTree.fromstring(picture(subject, inks).document())  # type: ignore[arg-type]


def texts(root: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", [name for name in PICTURES if name != "tree"])
def test_that_every_picture_is_xml_with_texts_on_the_themes_ground(name: str, sample: SessionFile) -> None:
    subject = Subject(sample.trace(4), sample.weights(4))
    root = drawn(name, subject, DARK)
    ground = root.find(f"{SVG}rect")
    assert ground is not None
    assert ground.get("fill") == DARK.surface
    assert len(texts(root)) > 3
    assert "nan" not in ElementTree.tostring(root, "unicode")


def test_that_an_exit_is_a_bar_of_its_height_and_colour() -> None:
    root = drawn("exits", Subject(TRACE))
    bars = root.findall(f"{SVG}rect")[1:]
    layers = TRACE.exit_layers.tolist()
    assert [bar.get("fill") for bar in bars] == [exit_colour(layer, TRACE.depth) for layer in layers]
    heights = np.array([float(bar.get("height", "")) for bar in bars])
    assert heights / layers == pytest.approx(heights[0] / layers[0], rel=1e-3)


def test_that_tokens_are_texts_with_exit_layers_and_marks() -> None:
    found = texts(drawn("tokens", Subject(TRACE)))
    for at, text in enumerate(summaries.token_chips(TRACE).texts):
        assert text in found
        assert any(one.split()[0] == str(TRACE.exit_layers[at]) for one in found if one[:1].isdigit())
    assert any(one.endswith("≠") for one in found)
    assert any(one.endswith("⊘") for one in found)


def test_that_the_scheduler_marks_every_ending_and_refusal() -> None:
    states = summaries.scheduler_map(TRACE).states
    found = texts(drawn("scheduler", Subject(TRACE)))
    wrong = int(((states & CellState.WRONG) > 0).sum())
    exited = int(((states & CellState.EXITED) > 0).sum())
    assert found.count("✕") == wrong
    assert found.count("●") + found.count("■") == exited - wrong
    assert found.count("▲") == int(((states & CellState.REFUSED) > 0).sum())


def test_that_a_map_of_a_long_run_shows_the_stretch_around_the_token() -> None:
    long = Trace.of(fake_run_events(900, depth=4))
    root = drawn("scheduler", Subject(long, token=700))
    assert root.get("aria-label") == "Scheduler: tokens 501 to 900 by 4 layers"


def test_that_bars_of_a_long_run_are_as_many_as_can_be_told_apart() -> None:
    long = Trace.of(fake_run_events(2100, depth=4))
    root = drawn("exits", Subject(long, token=300))
    assert root.get("aria-label") == "Exit layers of tokens 101 to 2100 of 4 layers"
    assert len(root.findall(f"{SVG}rect")) == 1 + run_figures.MOST_TOKENS


def test_that_the_frontier_names_thresholds_and_marks_the_run(sample: SessionFile) -> None:
    subject = Subject(sample.trace(4), sample.weights(4))
    root = drawn("frontier", subject)
    assert {"0.5", "0.8"} <= set(texts(root))
    assert "◆" in texts(root)
    dots = root.findall(f"{SVG}circle")
    assert len(dots) == len(subject.frontier.points)
    places = [float(dot.get("cx", "")) for dot in dots]
    assert places == sorted(places)


def test_that_a_tree_draws_an_edge_a_node_and_the_accepted_ones_strong(sample: SessionFile) -> None:
    subject = Subject(sample.trace(3))
    figure = subject.tree()
    root = drawn("tree", subject)
    edges = root.findall(f"{SVG}polyline")
    assert len(edges) == len(figure.nodes.parents) - 1
    assert sum(edge.get("stroke") == LIGHT.accent for edge in edges) == figure.nodes.accepted.sum() - 1
    assert sum(figure.nodes.texts[1] in text for text in texts(root)) >= 1


def test_that_the_ledger_bars_are_as_long_as_their_counts() -> None:
    subject = Subject(TRACE)
    widths = [float(bar.get("width", "")) for bar in drawn("ledger", subject).findall(f"{SVG}rect")[1:]]
    counts = np.array([row.count for row in subject.ledger().rows])
    assert np.array(widths) / max(widths) == pytest.approx(counts / counts.max(), abs=1e-3)


def test_that_hostile_texts_stay_texts_in_a_picture() -> None:
    drawing = Drawing(10, 10, LIGHT, HOSTILE)
    drawing.text(0, 0, HOSTILE)
    root = ElementTree.fromstring(drawing.document())
    assert [child.tag for child in root] == [f"{SVG}title", f"{SVG}rect", f"{SVG}text"]
    assert texts(root) == ["<script>\"&'<00><07>\\u202e<ED><A0><80>\\uffff"]


def test_that_a_picture_of_another_size_keeps_its_shape() -> None:
    root = ElementTree.fromstring(Drawing(200, 100, LIGHT, "x").document((640, 480)))
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("640", "480", "0 0 200 100")


def test_that_ticks_are_round_and_hold_both_ends() -> None:
    assert whole_ticks(1, 64) == [1, 10, 20, 30, 40, 50, 64]
    assert whole_ticks(0, 30, 6) == [0, 5, 10, 15, 20, 25, 30]
    assert whole_ticks(1, 1) == [1]
    assert len(whole_ticks(1, 99_999)) <= 12


def test_that_wide_characters_get_twice_the_room() -> None:
    chips = summaries.token_chips(TRACE)
    wide = replace(chips, texts=("日" * 8, "n" * 8, *chips.texts[2:]))
    boxes = [
        float(one.get("width", ""))
        for one in ElementTree.fromstring(run_figures.token_figure(wide, LIGHT).document()).findall(f"{SVG}rect")[1:4:2]
    ]
    assert boxes[0] > 1.7 * boxes[1]
