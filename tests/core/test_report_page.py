"""The report, read back with an HTML parser: what is in it, and what a hostile model or prompt can put there."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from core.analysis.compare import figures_of
from core.analysis.ledger import ledger
from core.analysis.why import why_plain
from core.errors import UserError
from core.report.escaping import escaped, escaped_lines
from core.report.markup import sentences
from core.report.page import Reported, subjects_of, write_page
from core.report.sections import MOST_TOLD, telling_tokens
from core.report.views import Subject
from core.trace.events import DraftProposed, Event, RunStarted, TokenEmitted
from core.trace.marks import Mark
from core.trace.session_file import SessionFile
from core.trace.trace import Trace
from resources.paths import SAMPLE
from tests.core.sessions import written
from tests.fakes import fake_run_events

HOSTILE = (
    "</pre></title></style><script>alert(1)</script><img src=x onerror=alert(2)> \"' onload=' "
    "\u202eevil\x1b[31m\x00\u2066"
)
VOID = {"meta", "br", "img", "link", "input"}


class Page(HTMLParser):
    """Elements with attributes, the text within each, and whether every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def made(events: list[Event], **about: object) -> str:
    lines = io.StringIO()
    write_page(lines, "a session", [Reported(1, Subject(Trace.of(events)), **about)])  # type: ignore[arg-type]
    return lines.getvalue()


def hostile_events() -> list[Event]:
    """A run whose prompt, tokens and candidates all try to be more than text."""
    spoiled: list[Event] = []
    for event in fake_run_events(8, audit=True):
        if isinstance(event, RunStarted):
            event = replace(event, prompt=HOSTILE + "\n\ttwo", versions={HOSTILE: HOSTILE})
        elif isinstance(event, TokenEmitted):
            event = replace(event, token_bytes=HOSTILE.encode())
        elif isinstance(event, DraftProposed):
            event = replace(event, candidate_bytes=(HOSTILE.encode(), b"\xff<b>", b"]]>", "א<i>".encode()))
        spoiled.append(event)
    return spoiled


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(made(fake_run_events(9, audit=True)))


@pytest.fixture(scope="module")
def sample() -> Iterator[SessionFile]:
    with closing(SessionFile(SAMPLE)) as file:
        yield file


def test_that_a_report_asks_for_nothing_and_runs_nothing(page: Page) -> None:
    assert not page.open
    assert {"script", "iframe", "link", "img", "object"}.isdisjoint(tag for tag, _ in page.tags)
    asked = {
        name for _, attributes in page.tags for name in attributes if name in ("src", "srcset") or name[:2] == "on"
    }
    assert not asked
    assert all((attributes["href"] or "")[:1] == "#" for tag, attributes in page.tags if tag == "a")


def test_that_a_report_tells_the_figures_of_the_run(page: Page) -> None:
    trace = Trace.of(fake_run_events(9, audit=True))
    found = figures_of(trace)
    assert found.mean_exit_layer is not None
    assert f"{found.mean_exit_layer:.2f} of 12" in page.text
    assert f"{found.agreement:.1%}" in page.text
    for row in ledger(trace).rows:
        assert row.label in page.text
    assert why_plain(trace, telling_tokens(Subject(trace))[0], None) in page.text.replace("\u00a0", " ")


def test_that_every_token_is_there_with_its_layer_in_words(page: Page) -> None:
    tokens = [attributes for tag, attributes in page.tags if tag == "bdi"]
    layers = Trace.of(fake_run_events(9, audit=True)).exit_layers
    told = [(attributes["title"] or "").split(",")[0] for attributes in tokens]
    assert told == [f"token {at + 1}: exit layer {layer} of 12" for at, layer in enumerate(layers)]
    assert " blue" in page.text


def test_that_settings_and_versions_are_told(page: Page) -> None:
    for word in ("specee-viewer", "threshold", "max new tokens", "model fingerprint", "kv policy"):
        assert word in page.text


def test_that_both_themes_are_there_and_follow_the_reader() -> None:
    text = made(fake_run_events(3))
    assert "prefers-color-scheme: dark" in text
    assert "#1e2128" in text
    assert "#ffffff" in text


def test_that_hostile_prompts_and_tokens_stay_text() -> None:
    honest, spoiled = Page(made(fake_run_events(8, audit=True))), Page(made(hostile_events()))
    assert not spoiled.open
    assert {tag for tag, _ in spoiled.tags} == {tag for tag, _ in honest.tags}
    assert sum(tag == "bdi" for tag, _ in spoiled.tags) == 8
    assert {name for _, attributes in spoiled.tags for name in attributes} <= {
        name for _, attributes in honest.tags for name in attributes
    }
    assert "<script>alert(1)</script>" in spoiled.text


def test_that_no_control_or_direction_character_reaches_the_page() -> None:
    text = made(hostile_events())
    assert not {"\x00", "\x1b", "\u202e", "\u2066"} & set(text)
    assert "\\u202e" in text
    assert "&lt;1B&gt;" in text


def test_that_lines_of_a_prompt_are_kept_and_everything_else_is_spelled_out() -> None:
    assert escaped_lines("a\r\n\tb<\x00") == "a\r\n\tb&lt;&lt;00&gt;"
    assert escaped("a\n'\"\ud800") == "a⏎&#x27;&quot;&lt;ED&gt;&lt;A0&gt;&lt;80&gt;"


def test_that_sentences_let_only_bold_through() -> None:
    assert sentences("<b>7</b> &lt; 8 <i onclick=x>") == "<b>7</b> &lt; 8 &lt;i onclick=x&gt;"


def test_that_a_live_run_says_what_an_audit_would_have_told() -> None:
    assert "record the run in audit depth" in Page(made(fake_run_events(5))).text


def test_that_notes_are_in_the_report_escaped() -> None:
    found = Page(made(fake_run_events(3), marks=[Mark(0, 1, None, "look <here>")]))
    assert "look <here>" in found.text
    assert "here" not in {tag for tag, _ in found.tags}


def test_that_telling_tokens_are_few_and_hold_wrong_exits_and_refusals(sample: SessionFile) -> None:
    subject = Subject(sample.trace(4), sample.weights(4))
    chosen = telling_tokens(subject)
    seen = subject.trace.overview
    assert len(chosen) == len(set(chosen)) <= MOST_TOLD
    assert seen.wrong[chosen].any()
    assert (seen.refusals[chosen] > 0).any()


def test_that_a_session_of_several_runs_begins_with_their_list(sample: SessionFile) -> None:
    lines = io.StringIO()
    write_page(lines, "sample", subjects_of(sample, [0, 3]))
    page = Page(lines.getvalue())
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert links == ["#run-1", "#run-4"]
    assert {attributes.get("id") for tag, attributes in page.tags if tag == "h2"} == {"run-1", "run-4"}
    assert "no frontier of a run that decodes token trees" in page.text


def test_that_runs_without_a_token_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "empty.specee", fake_run_events(5)[:2])
    with closing(SessionFile(path)) as file, pytest.raises(UserError, match="holds no run with a token"):
        subjects_of(file, [0])
