"""The folding part of the settings form on how a layer is read and an exit checked: lens, margin gate, heads."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.choices import CHECKS, DRAFT_HEADS, LENSES
from app.forms import Note, NumberSpin, Rows, choose, combo, enable_row
from core.choices import Head, Lens

LACKING = {
    "lens": "These parts hold no exit lens; `specee-viewer train --stage lens` makes one.",
    "slim": "These parts hold no low-rank head; `specee-viewer train --stage head` makes one.",
    "trimmed": "These parts hold no trimmed head; `specee-viewer train --stage head` makes one.",
}


class CheckForm(QWidget):
    """Lens, gate, and the heads that check and draft. What the trained parts lack cannot be chosen, and why is said."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._rows = Rows()
        self._reasons: Mapping[str, str] = {}
        """Why a piece cannot be chosen."""
        self._uses = {"lens", "slim", "trimmed"}
        """The pieces that the shown inputs could choose."""
        self.lens = combo(LENSES, "Lens", "How the head sees a layer's state before the last layer")
        self.gate = NumberSpin(
            0.0, 1.0, 0.0, 0.01, "Margin gate", "Refuses exits whose token leads the next best by less, in probability"
        )
        self.gate.setSpecialValueText("off")
        self.check = combo(CHECKS, "Check", "What a proposed exit is checked by")
        self.draft_head = combo(DRAFT_HEADS, "Draft head", "Turns the drafter's states into candidates")
        self.note = Note()
        self._lay_out()
        for box in (self.lens, self.check, self.draft_head):
            box.currentIndexChanged.connect(self._edited)
        self.gate.valueChanged.connect(self._edited)
        self.set_pieces((), {})

    def set_values(self, lens: Lens, gate: float, check: Head, draft_head: Head) -> None:
        """Enter these, also where the parts lack them: the run then says so."""
        for box, value in ((self.lens, lens), (self.check, check), (self.draft_head, draft_head)):
            choose(box, value)
        self.gate.setValue(gate)

    def values(self) -> tuple[Lens, float, Head, Head]:
        """What is entered, as `set_values` takes it."""
        return (
            Lens(self.lens.currentData()),
            self.gate.value(),
            Head(self.check.currentData()),
            Head(self.draft_head.currentData()),
        )

    def set_pieces(self, pieces: Collection[str], problems: Mapping[str, str]) -> None:
        """Fit the choices to trained parts that have these pieces; `problems` tells what is wrong with a piece."""
        self._reasons = {name: problems.get(name, why) for name, why in LACKING.items() if name not in pieces}
        rows = ((self.lens, 1, "lens"), (self.check, 1, "slim"), (self.draft_head, 1, "slim"))
        for box, row, piece in (*rows, (self.draft_head, 2, "trimmed")):
            enable_row(box, row, piece in pieces)
        self._show()

    def show_inputs(self, *, lens: bool, checks: bool) -> None:
        """Show what the chosen policy uses."""
        self._rows.show_row(self.lens, lens)
        for field in (self.gate, self.check, self.draft_head):
            self._rows.show_row(field, checks)
        self._uses = {"lens"} | ({"slim", "trimmed"} if checks else set())
        self._show()

    def summary(self) -> str:
        """What is entered, in a few words."""
        lens, gate, check, draft_head = self.values()
        told = [f"{lens.value} lens"]
        if "slim" in self._uses:
            told += [f"gate {self.gate.text()}"] if gate else []
            told += ["shortlist"] if check is Head.SLIM else []
            told += [f"{draft_head.value} drafts"] if draft_head is not Head.FULL else []
        return ", ".join(told)

    def _lay_out(self) -> None:
        self._rows.add("Le&ns", self.lens)
        self._rows.add("&Gate", self.gate)
        self._rows.add("&Check", self.check)
        self._rows.add("Draft &head", self.draft_head)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(self._rows)
        column.addWidget(self.note)

    def _show(self) -> None:
        reasons = {piece: why for piece, why in self._reasons.items() if piece in self._uses}
        if "slim" in reasons:
            reasons.pop("trimmed", None)  # the same stage makes both: one sentence is enough
        told = list(reasons.values())
        if told:
            self.note.show_remark(" ".join(told))
        else:
            self.note.clear()

    @Slot()
    def _edited(self) -> None:
        self.changed.emit()
