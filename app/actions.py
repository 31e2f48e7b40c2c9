"""The actions of the table: made, painted, and told when and why they cannot be used."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QToolButton

from app.action_table import ALL, Spec
from app.icons import icon
from widgets.palette import Theme
from widgets.theme import mixed

ICONS_AT_ONCE = 4
"""Icons painted in one turn of the window, some milliseconds of work."""
ICONS_MS = 20
"""Between two such turns."""


class Actions(QObject):
    """The `QAction`s of the table, by name: `actions["run"]`."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._made: dict[str, QAction] = {}
        self._icons: dict[str, str] = {}
        self._tips: dict[str, str] = {}
        self._first: dict[str, tuple[str, ...]] = {}
        self._groups: dict[str, QActionGroup] = {}
        self._colours = ("", "")
        """Of icons that can be used, and of those that cannot."""
        self._stale: list[str] = []
        """Actions whose icons are yet to be painted in these colours."""
        self._turns = QTimer(self, interval=ICONS_MS)
        self._turns.timeout.connect(self._paint_some)
        for spec in ALL:
            self._add(spec)

    def __getitem__(self, name: str) -> QAction:
        return self._made[name]

    def __iter__(self) -> Iterator[QAction]:
        return iter(self._made.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Of all actions, in the table's order."""
        return tuple(self._made)

    def some(self, specs: tuple[Spec, ...]) -> list[QAction]:
        """The actions of one part of the table, in its order."""
        return [self._made[spec.name] for spec in specs]

    def adopt(self, name: str, action: QAction, icon_name: str, key: str, tip: str) -> None:
        """Take in an action that Qt made, such as a dock's toggle."""
        action.setObjectName(name)
        self._take(name, action, icon_name, (key,), tip)

    def first_keys(self, name: str) -> tuple[str, ...]:
        """The keys that the program itself gives an action, in portable text."""
        return self._first[name]

    def set_keys(self, name: str, keys: tuple[str, ...]) -> None:
        """Let an action answer to these keys; the first one is named in its tooltip."""
        describe(self._made[name], keys, self._tips[name])

    def apply_theme(self, theme: Theme) -> None:
        """Repaint every icon: those of buttons now, the menus' little by little, else the window would come later.

        The Run button's own icon is on the accent colour and is painted by the toolbar.
        """
        self._colours = theme.text, mixed(theme.muted, theme.surface, 0.35)
        self._stale = list(self._made)
        self._paint([name for name in self._stale if _is_on_a_button(self._made[name])])
        self._turns.start()

    def paint_icons(self) -> None:
        """Paint now those icons that are still to be painted."""
        self._paint(list(self._stale))

    @Slot()
    def _paint_some(self) -> None:
        self._paint(self._stale[:ICONS_AT_ONCE])

    def _paint(self, names: list[str]) -> None:
        for name in names:
            self._made[name].setIcon(icon(self._icons[name], *self._colours))
        self._stale = [name for name in self._stale if name not in names]
        if not self._stale:
            self._turns.stop()

    def _add(self, spec: Spec) -> None:
        action = QAction(spec.text, self)
        action.setObjectName(spec.name)
        action.setCheckable(bool(spec.group) or spec.checkable)
        if spec.group:
            self._groups.setdefault(spec.group, QActionGroup(self)).addAction(action)
        self._take(spec.name, action, spec.icon, (spec.key, *spec.also), spec.tip)

    def _take(self, name: str, action: QAction, icon_name: str, keys: tuple[str, ...], tip: str) -> None:
        self._icons[name], self._tips[name], self._first[name] = icon_name, tip, keys
        self._made[name] = action
        describe(action, keys, tip)


def _is_on_a_button(action: QAction) -> bool:
    return any(isinstance(one, QToolButton) for one in action.associatedObjects())


def explain(action: QAction, enabled: bool, reason: str) -> None:
    """Let an action be used or not; `reason` says in a few words why not: "nothing runs"."""
    action.setEnabled(enabled)
    words = "" if enabled else reason
    if action.property("reason") != words:  # each step explains a dozen, and a property that is set tells of itself
        action.setProperty("reason", words)


def describe(action: QAction, keys: tuple[str, ...], tip: str) -> None:
    """Give an action its keys, and a tooltip and status tip that name the first one."""
    action.setShortcuts([QKeySequence(key) for key in keys])
    shown = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    action.setToolTip(f"{tip} ({shown})")
    action.setStatusTip(f"{tip}.")
