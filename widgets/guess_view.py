"""Predict, then reveal: the question with its input, the answer with its reason, the score, and all guesses."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QScrollArea, QSlider, QSpinBox, QVBoxLayout, QWidget

from core.analysis.guesses import NEAR, Guess, Score
from core.analysis.texts import visible
from core.analysis.wording import bold, bold_token, counted
from widgets.palette import DARK, Theme
from widgets.rows_table import Column, Row, RowsTable
from widgets.selection import Selection
from widgets.theme import pad

COLUMNS = (
    Column("Off", "✓ exact · ≈ at most 2 layers off · ✕ further; ▾ too deep, ▴ not deep enough", 6),
    Column("Token", "Which token, counted from 1", 5, number=True),
    Column("Text", "What was emitted", 12),
    Column("Guess", "Layers that you guessed", 5, number=True),
    Column("Exit", "Layers that its pass ran", 5, number=True),
)
INVITATION = (
    "Before each step, guess at which layer the next token will leave. Tokens beyond your place are hidden until you "
    "have guessed them."
)
LEAST_ANSWER = 24
"""Pixels: answers scroll, and must not press the buttons below them flat."""
TABLE_FROM = 380
"""Height from which the guesses stand below the answer."""
EXACT, NEARLY, FAR = ("✓", "right"), ("≈", "caution"), ("✕", "wrong")
"""Marks of a guess, and the roles that they are painted in."""


class GuessView(QWidget):
    """Shows what it is told and asks; keeps no score of its own. Return in the spin box makes the guess."""

    turned = Signal(bool)
    """The user begins to be asked, or has enough of it."""
    guessed = Signal(int)
    """Layers run, 1…L."""
    selected = Signal(object)
    """The `Selection` of a guess in the table."""
    export_wanted = Signal()
    reset_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Guess")
        self._theme: Theme = DARK
        self._guesses: Sequence[Guess] = ()
        self._answer: tuple[Guess, str] | None = None
        self._make_inputs()
        self.invitation, self.question, self.answer, self.why, self.score = (_text() for _ in range(5))
        self.invitation.setText(INVITATION)
        self.question.setProperty("role", "title")
        self.score.setProperty("role", "muted")
        self.table = RowsTable("Your guesses", COLUMNS)
        self._lay_out()
        self._connect()

    def show_question(self, words: str, least: int, depth: int) -> None:
        """Ask with these words; `depth` 0 only tells them, as there is nothing to guess."""
        self.question.setText(words)
        asked = depth > 0
        for widget in (self.spin, self.slider, self.full, self.guess):
            widget.setEnabled(asked)
        if asked and (least, depth) != (self.spin.minimum(), self.spin.maximum()):
            at = self.spin.value() if self.spin.maximum() == depth else (depth * 3 + 3) // 4
            for input_ in (self.spin, self.slider):
                input_.setRange(least, depth)
                input_.setValue(max(least, at))

    def show_on(self, on: bool) -> None:
        """Look as one that asks, or that waits to be asked to."""
        self.turn.setChecked(on)
        self.turn.setText("Stop guessing" if on else "Start guessing")
        for widget in (self.question, self._asking, self.answer, self.why):
            widget.setVisible(on)
        self.invitation.setVisible(not on)
        # Empty it is nothing to stop at: the panel's key leads to the button that begins.
        self._room.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.NoFocus)

    def show_answer(self, guess: Guess | None, why: str) -> None:
        """Reveal what came of the newest guess; `why` is minimal HTML. None reveals nothing."""
        self._answer = (guess, why) if guess is not None else None
        self.answer.setText(answer_words(guess, self._theme) if guess is not None else "")
        self.why.setText(why if guess is not None else "")

    def show_score(self, score: Score, guesses: Sequence[Guess]) -> None:
        """Show the score, and the guesses, the newest first."""
        self._guesses = tuple(guesses)
        self.score.setText(score_words(score))
        self.table.set_rows(len(self._guesses), lambda at: row_of(self._guesses[-1 - at]))
        for widget in (self.export, self.reset):
            widget.setVisible(bool(self._guesses))
        self._fit()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.table.apply_theme(theme)
        if self._answer is not None:
            self.show_answer(*self._answer)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """A low panel keeps its room for the answer; every guess is in the file that can be saved."""
        self.table.setVisible(bool(self._guesses) and self.height() >= TABLE_FROM)

    def ask(self) -> None:
        """Bring the cursor to where a guess is typed."""
        self.spin.setFocus()
        self.spin.selectAll()

    def _make_inputs(self) -> None:
        self.turn = _button("Start guessing", "Ask for the exit layer before each step, and hide what is not known yet")
        self.turn.setCheckable(True)
        self.spin = QSpinBox()
        self.spin.setAccessibleName("Your guess: layers run")
        self.spin.setRange(1, 1)
        pad(self.spin)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Your guess, as a slider")
        self.slider.setRange(1, 1)
        self.full = _button("Full depth", "Guess that no layer lets it go before the last one")
        self.guess = _button("Guess and step", "Make this guess, and step to the token (Return)")
        self.guess.setProperty("role", "primary")
        self.export = _button("Save as CSV…", "Write all guesses, a row each")
        self.reset = _button("New round", "Forget the guesses and begin anew from here")

    def _lay_out(self) -> None:
        self._asking = QWidget()
        row = QHBoxLayout(self._asking)
        row.setContentsMargins(0, 0, 0, 0)
        for widget, share in ((self.slider, 1), (self.spin, 0), (self.full, 0), (self.guess, 0)):
            row.addWidget(widget, share)
        foot = QHBoxLayout()
        for widget in (self.turn, self.export, self.reset):
            foot.addWidget(widget)
        foot.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for part in (self.invitation, self.question, self._asking):
            column.addWidget(part)
        self._room = self._answers()
        column.addWidget(self._room, 1)
        column.addWidget(self.table, 1)
        column.addWidget(self.score)
        column.addLayout(foot)

    def _answers(self) -> QScrollArea:
        """Answer and reason, which may need more room than a low panel has."""
        words = QWidget()
        column = QVBoxLayout(words)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.answer)
        column.addWidget(self.why)
        column.addStretch(1)
        area = QScrollArea()
        area.setAccessibleName("The answer, and why")
        area.setWidgetResizable(True)
        area.setMinimumHeight(LEAST_ANSWER)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(words)
        return area

    def _connect(self) -> None:
        self.slider.valueChanged.connect(self.spin.setValue)
        self.spin.valueChanged.connect(self.slider.setValue)
        self.spin.lineEdit().returnPressed.connect(self._make)
        self.full.clicked.connect(self._to_full_depth)
        self.guess.clicked.connect(self._make)
        self.turn.toggled.connect(self.turned)
        self.export.clicked.connect(self.export_wanted)
        self.reset.clicked.connect(self.reset_wanted)
        self.table.chosen.connect(self._choose)

    @Slot()
    def _to_full_depth(self) -> None:
        self.spin.setValue(self.spin.maximum())
        self.spin.setFocus()

    @Slot()
    def _make(self) -> None:
        if self.guess.isEnabled():
            self.guessed.emit(self.spin.value())

    @Slot(int)
    def _choose(self, row: int) -> None:
        self.selected.emit(Selection(self._guesses[-1 - row].token))


def mark_of(guess: Guess) -> tuple[str, str]:
    """The mark of a guess and the role that it is painted in."""
    return EXACT if guess.is_exact else NEARLY if guess.is_near else FAR


def off_words(guess: Guess) -> str:
    """`✓`, `≈ ▾1`, `✕ ▴5`: how far a guess is off, and in which direction."""
    sign = mark_of(guess)[0]
    return sign if guess.is_exact else f"{sign} {'▾' if guess.difference > 0 else '▴'}{guess.distance}"


def row_of(guess: Guess) -> Row:
    """A guess in the table."""
    cells = (off_words(guess), str(guess.token + 1), visible(guess.text), str(guess.guessed), str(guess.exit_layer))
    return Row(cells, mark_of(guess)[1])


def answer_words(guess: Guess, theme: Theme) -> str:
    """The answer and the difference, in a sentence of minimal HTML."""
    sign, role = mark_of(guess)
    where = (
        f"ran all {bold(guess.depth)} layers"
        if guess.exit_layer == guess.depth
        else (f"left after {bold(f'layer {guess.exit_layer}')} of {bold(guess.depth)}")
    )
    direction = "too deep" if guess.difference > 0 else "not deep enough"
    off = "exactly" if guess.is_exact else f"{counted(guess.distance, 'layer')} {direction}"
    said = f"You said {bold(guess.guessed)}: {off}."
    name = f"{bold(f'Token {guess.token + 1}')} {bold_token(guess.text)}"
    return f'<span style="color:{getattr(theme, role)}"><b>{sign}</b></span> {name} {where}. {said}'


def score_words(score: Score) -> str:
    """The score in a line."""
    if not score.count:
        return "No guess yet."
    guesses = f"{score.count} guess{'' if score.count == 1 else 'es'}"
    return (
        f"{guesses} · ✓ {score.exact} exact · ≈ {score.near} within {NEAR} layers · mean distance "
        f"{score.mean_distance:.1f} layers · streak {score.streak} (best {score.best})"
    )


def _text() -> QLabel:
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.RichText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _button(text: str, tip: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    button.setAccessibleDescription(tip)
    return button
