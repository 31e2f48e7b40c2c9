"""The teaching mode in its panel: guess the exit layer of the next token, step, and see why."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.error_dialog import ErrorDialog
from app.failure import describe
from app.named_keys import with_keys
from app.tools.guessing import Question
from app.tools.tool import Tool
from core.analysis.guesses import COLUMNS, guess_rows, score
from core.analysis.why import why
from core.analysis.wording import bold
from core.report.table import Table
from widgets.guess_view import GuessView
from widgets.palette import Theme

FILTER = "Tables (*.csv);;All files (*)"


class GuessTool(Tool):
    """Shows what `Workbench.guessing` asks and answers."""

    def build(self) -> QWidget:
        self.view, self.guessing = GuessView(), self.work.guessing
        self.view.turned.connect(self._turn)
        self.view.guessed.connect(self.guessing.guess)
        self.view.reset_wanted.connect(self.guessing.reset)
        self.view.export_wanted.connect(self._export)
        self.view.selected.connect(self.selected)
        self.guessing.changed.connect(self._show)
        self.guessing.refused.connect(self.view.ask)
        self.panel.visibilityChanged.connect(self._see)
        self._show()
        return self.view

    def draw(self, first: int | None) -> str | None:
        self._show()
        return None

    def apply_theme(self, theme: Theme) -> None:
        self.view.apply_theme(theme)

    @Slot(bool)
    def _turn(self, on: bool) -> None:
        """Begin or end; who begins can type the first guess at once."""
        self.guessing.turn(on)
        if on and self.guessing.question.token is not None:
            self.view.ask()

    @Slot()
    def _show(self) -> None:
        guessing, question = self.guessing, self.guessing.question
        self.view.show_on(guessing.is_on)
        self.view.show_question(asked(question), question.least, question.depth)
        trace, guess = guessing.revealed or (None, None)
        self.view.show_answer(guess, why(trace, guess.token, None) if trace is not None and guess is not None else "")
        self.view.show_score(score(guessing.guesses), guessing.guesses)
        self.panel.set_subtitle("" if not guessing.is_on else "steps wait for a guess")

    @Slot(bool)
    def _see(self, visible: bool) -> None:
        """Who closes the panel wants no more questions; one behind others, or beside a maximised one, still asks."""
        if not visible and self.panel.isHidden() and not self.work.window.host.is_maximised:
            self.guessing.turn(False)

    @Slot()
    def _export(self) -> None:
        start = str(Path.home() / "guesses.csv")
        name, _ = QFileDialog.getSaveFileName(self.view, "Save the guesses", start, FILTER)
        if name:
            self.save(Path(name))

    def save(self, path: Path) -> None:
        """Write all guesses as CSV."""
        path = path if path.suffix else path.with_suffix(".csv")
        try:
            with path.open("w", encoding="utf-8", newline="") as lines:
                Table(COLUMNS, guess_rows(self.guessing.guesses)).write(lines)
        except OSError as error:
            ErrorDialog(describe(error), self.work.window.theme, self.work.window).open()


def asked(question: Question) -> str:
    """The question in words, minimal HTML."""
    if question.token is None:
        return with_keys(question.reason)
    ran = question.least - 1
    so_far = f" It has run {bold(ran)} so far." if ran else ""
    name, depth = bold(f"Token {question.token + 1}"), bold(question.depth)
    return f"{name} comes next. How many of the {depth} layers will it run?{so_far}"
