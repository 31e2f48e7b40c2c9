"""The stages of training: which are done, which is under way, and about how long each takes."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app import training_words as words
from app.forms import named
from core.training.options import STEPS, Stage
from widgets.plain_table import make_plain

WAITING, CURRENT, DONE = "○", "▶", "✓"
SAID = {WAITING: "to come", CURRENT: "under way", DONE: "done"}
WIDTH = 236
TIP = "The stages of training in their order; choose one to see its curves"


class StageTable(QTableWidget):
    """One row a stage. It follows the stage under way until the user chooses another one."""

    chosen = Signal(object)
    """The `Stage` whose curves are to be shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(len(STEPS), 2, parent)
        named(self, "Stages", TIP)
        self.setHorizontalHeaderLabels(["Stage", "about"])
        make_plain(self)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFixedWidth(WIDTH)
        self._fill()
        self.current: Stage | None = None
        self._moving = False
        self.currentCellChanged.connect(self._choose)

    @property
    def shown(self) -> Stage:
        """The stage that is chosen."""
        return STEPS[max(self.currentRow(), 0)]

    def show_budget(self, minutes: float) -> None:
        """Say how long each stage takes of so many minutes."""
        for row, stage in enumerate(STEPS):
            self._cell(row, 1).setText(words.minutes(stage, minutes))

    def show_stage(self, stage: Stage | None) -> None:
        """This stage is under way: those before are done. None is none at all."""
        following = self.current is None or self.shown is self.current
        self.current = stage
        at = -1 if stage is None else STEPS.index(stage)
        self._mark([DONE if row < at else CURRENT if row == at else WAITING for row in range(len(STEPS))])
        if stage is None or following:
            self._moving = True
            self.setCurrentCell(at, 0 if stage else -1)
            self._moving = False

    def show_all_done(self) -> None:
        """The run came to its end."""
        self._mark([DONE] * len(STEPS))

    def _mark(self, signs: list[str]) -> None:
        for row, (stage, sign) in enumerate(zip(STEPS, signs, strict=True)):
            item = self._cell(row, 0)
            item.setText(f"{sign}  {words.NAMES[stage]}")
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{words.NAMES[stage]}, {SAID[sign]}")
            font = item.font()
            font.setBold(sign == CURRENT)
            item.setFont(font)

    def _cell(self, row: int, column: int) -> QTableWidgetItem:
        item = self.item(row, column)
        assert item is not None, "every cell was filled at first"
        return item

    def _fill(self) -> None:
        for row, stage in enumerate(STEPS):
            name, time = QTableWidgetItem(), QTableWidgetItem()
            name.setToolTip(words.TIPS[stage])
            time.setTextAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
            self.setItem(row, 0, name)
            self.setItem(row, 1, time)
        self._mark([WAITING] * len(STEPS))
        for column, side in enumerate((Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight)):
            head = self.horizontalHeaderItem(column)
            assert head is not None, "it has just been set"
            head.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setHighlightSections(False)

    def _choose(self, row: int, *_: int) -> None:
        if row >= 0 and not self._moving:
            self.chosen.emit(STEPS[row])
