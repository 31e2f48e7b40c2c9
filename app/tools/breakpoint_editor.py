"""A compact editor for one condition: what to wait for, the number or text that it needs, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.choices import Choice
from app.forms import Note, NumberSpin, choose, combo, named, spin
from core.analysis.conditions import (
    AcceptanceAtMost,
    ActiveSetChanged,
    CandidatesMiss,
    Condition,
    ExitAtLeast,
    ExitAtMost,
    NearThreshold,
    Refused,
    WrongExit,
)
from core.analysis.text_conditions import TextContains, TokenMatches
from core.errors import UserError

MOST_LAYERS = 999
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
AUDITED = "Only a run recorded in audit depth can meet this; choose Record: audit in the Engine panel."


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of condition as the editor offers it."""

    title: str
    make: Callable[[Any], Condition]
    field: str
    """Which input it needs: "layers", "epsilon", "text", "length" or "" for none."""
    tip: str
    made: type[Condition]


KINDS = (
    Kind("exit layer ≤", ExitAtMost, "layers", "The pass left after so many layers or fewer", ExitAtMost),
    Kind("exit layer ≥", ExitAtLeast, "layers", "The pass ran so many layers or more", ExitAtLeast),
    Kind("proposed but refused", lambda _: Refused(), "", "A check refused a proposed exit", Refused),
    Kind("wrong exit", lambda _: WrongExit(), "", "Full depth gives another token (audit)", WrongExit),
    Kind("score near the threshold", NearThreshold, "epsilon", "A score so close to its threshold", NearThreshold),
    Kind("active set changed", lambda _: ActiveSetChanged(), "", "Other layers than before", ActiveSetChanged),
    Kind("candidates miss", lambda _: CandidatesMiss(), "", "The full-depth token is none (audit)", CandidatesMiss),
    Kind("text contains", TextContains, "text", "Characters of the generated text", TextContains),
    Kind("token matches", TokenMatches, "text", "A regular expression on one token", TokenMatches),
    Kind("acceptance length ≤", AcceptanceAtMost, "length", "A tree’s pass that emits so few", AcceptanceAtMost),
)
VALUES = {ExitAtMost: "layers", ExitAtLeast: "layers", NearThreshold: "epsilon", AcceptanceAtMost: "length"}
"""Of a condition, the attribute that its input holds; of the others it is their text."""


class BreakpointEditor(QWidget):
    """Makes a condition, or changes one; says so only when it can be."""

    made = Signal(object)
    """The `Condition` that the user wants."""
    left = Signal()
    """The user wants no change after all."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = combo(
            [Choice(str(at), one.title, one.tip) for at, one in enumerate(KINDS)], "Condition", "What to stop at"
        )
        self.inputs: dict[str, QWidget] = {
            "": QWidget(),
            "layers": spin(1, MOST_LAYERS, 8, "Exit layer", "Layers run, counted from 1"),
            "epsilon": NumberSpin(0.0001, 1, 0.01, 0.01, "Distance", "How close a score comes to its threshold"),
            "length": spin(1, 64, 1, "Acceptance length", "Tokens that a tree’s pass emits"),
            "text": named(QLineEdit(), "Text or pattern", "What the text holds, or a token matches"),
        }
        self.note = Note()
        self.go = QPushButton("Add")
        self.cancel = named(QPushButton("Cancel"), "Cancel the change", "Leave the breakpoint as it is (Esc)")
        self._stack = QStackedWidget()
        self._lay_out()
        self._connect()
        self.leave()

    @property
    def is_changing(self) -> bool:
        """Whether a breakpoint that is there is being changed."""
        return not self.cancel.isHidden()

    def condition(self) -> Condition:
        """What is entered.

        Raises:
            UserError: it is no condition.
        """
        kind = KINDS[self.kind.currentIndex()]
        field = self.inputs[kind.field]
        return kind.make(field.text() if isinstance(field, QLineEdit) else getattr(field, "value", lambda: None)())

    def change(self, condition: Condition) -> None:
        """Offer this condition to be changed."""
        place = next((at for at, one in enumerate(KINDS) if one.made is type(condition)), None)
        if place is None:
            self.note.show_caution("This breakpoint has several conditions; it can be removed and made anew.")
            return
        choose(self.kind, str(place))
        self._fill(condition)
        self._offer("Change", "Put this in the breakpoint’s place (Enter)", changing=True)
        (self.inputs[KINDS[place].field] if KINDS[place].field else self.kind).setFocus()

    @Slot()
    def leave(self) -> None:
        """Offer to add a condition."""
        self.note.clear()
        self._offer("Add", "Stop at this from now on (Enter)", changing=False)
        self._show_kind()

    def refuse(self, sentence: str) -> None:
        """Say beside the input why it cannot be."""
        self.note.show_error(sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter takes what is entered, Esc leaves it: the inputs pass both on."""
        if event.key() == Qt.Key.Key_Escape or (event.key() in ENTER and self.cancel.hasFocus()):
            self._leave()
        elif event.key() in ENTER:
            self._make()
        else:
            super().keyPressEvent(event)

    def _fill(self, condition: Condition) -> None:
        field = self.inputs[KINDS[self.kind.currentIndex()].field]
        if isinstance(condition, TextContains | TokenMatches):
            text = condition.text if isinstance(condition, TextContains) else condition.pattern
            self.inputs["text"].setText(text)  # type: ignore[attr-defined]
        elif type(condition) in VALUES:
            field.setValue(getattr(condition, VALUES[type(condition)]))  # type: ignore[attr-defined]

    def _offer(self, text: str, tip: str, *, changing: bool) -> None:
        self.go.setText(text)
        named(self.go, f"{text} breakpoint", tip)
        self.cancel.setVisible(changing)

    def _lay_out(self) -> None:
        for field in self.inputs.values():
            self._stack.addWidget(field)
        self._stack.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        entry, buttons = QHBoxLayout(), QHBoxLayout()
        for row in (entry, buttons):
            row.setSpacing(6)
        entry.addWidget(self.kind, 5)
        entry.addWidget(self._stack, 4)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.go)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(entry)
        column.addWidget(self.note)
        column.addLayout(buttons)

    def _connect(self) -> None:
        self.kind.currentIndexChanged.connect(self._show_kind)
        self.inputs["text"].textEdited.connect(self.note.clear)  # type: ignore[attr-defined]
        self.go.clicked.connect(self._make)
        self.cancel.clicked.connect(self._leave)

    @Slot()
    def _show_kind(self) -> None:
        kind = KINDS[self.kind.currentIndex()]
        self._stack.setCurrentWidget(self.inputs[kind.field])
        self._stack.setVisible(bool(kind.field))
        self.note.clear()
        if kind.made.needs_audit:
            self.note.show_remark(AUDITED)

    @Slot()
    def _make(self) -> None:
        try:
            condition = self.condition()
        except UserError as error:
            self.refuse(str(error))
            return
        self.made.emit(condition)

    @Slot()
    def _leave(self) -> None:
        self.leave()
        self.left.emit()
