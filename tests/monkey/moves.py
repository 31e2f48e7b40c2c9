"""What a monkey does at a window: each move draws all it needs from one source of chance, and says what it did."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QKeyCombination, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent, QKeySequence, QWindow
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from shiboken6 import isValid

from tests.monkey.answers import WORDS
from tests.monkey.cage import Cage
from widgets.selection import Selection

Key = Qt.Key
Modifier = Qt.KeyboardModifier
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton

MOVING = (Key.Key_Left, Key.Key_Right, Key.Key_Up, Key.Key_Down, Key.Key_Home, Key.Key_End, Key.Key_PageUp)
MOVING += (Key.Key_PageDown, Key.Key_Tab, Key.Key_Backtab)
ACTING = (Key.Key_Return, Key.Key_Space, Key.Key_Escape, Key.Key_Delete, Key.Key_Backspace, Key.Key_Menu, Key.Key_F2)
LETTERS = tuple(Key(Key.Key_A + at) for at in range(26)) + tuple(Key(Key.Key_0 + at) for at in range(10))
MODIFIERS = (Modifier.NoModifier,) * 6 + (Modifier.ShiftModifier, Modifier.ControlModifier, Modifier.AltModifier)
SIZES = (400, 640, 900, 1280, 1600, 2200), (300, 480, 700, 900, 1300)

Move = Callable[[Cage, random.Random], str]


@dataclass(frozen=True)
class Aim:
    """A place in a window."""

    top: QWidget
    """Kept, since the window's wrapper goes with the widget's."""
    window: QWindow
    at: QPoint
    what: str

    @property
    def present(self) -> QWindow | None:
        """The window that the widget has now: a drag may take it out of one and into another."""
        return self.top.windowHandle() if isValid(self.top) else None

    def click(self, cage: Cage, button: Qt.MouseButton, modifier: Qt.KeyboardModifier) -> None:
        """Press and let go there. Not by one call of Qt's, which goes on with a window that the press has closed."""
        if (window := self.present) is not None:
            QTest.mousePress(window, button, modifier, inside(window, self.at))
        if (window := self.present or cage.window.windowHandle()) is not None:
            QTest.mouseRelease(window, button, modifier, inside(window, self.at))


def command(cage: Cage, chance: random.Random) -> str:
    """Any action of the registry that can be used now; not while a dialog keeps the window from answering."""
    commands = cage.window.commands
    name = chance.choice([name for name in commands.names if commands[name].isEnabled()])
    if blocked():
        return f"command {name}: not now"
    commands[name].trigger()
    return f"command {name}"


def run(cage: Cage, chance: random.Random) -> str:
    """An action of the run: by itself each is too rare for a run to get anywhere."""
    names = ("run", "pause", "step_token", "step_layer", "step_pass", "stop", "continue_to_break", "toggle_break")
    action = cage.window.commands[chance.choice(names)]
    if not blocked() and action.isEnabled():
        action.trigger()
    return f"run {action.objectName()}"


def click(cage: Cage, chance: random.Random) -> str:
    """A click or double click somewhere on a widget."""
    found = aim(chance)
    if found is None:
        return "click: nowhere"
    button = RIGHT if chance.random() < 0.1 else LEFT
    modifier = chance.choice(MODIFIERS)
    if chance.random() < 0.1:
        found.click(cage, button, modifier)
        found.click(cage, button, modifier)
        return f"double click on {found.what}"
    found.click(cage, button, modifier)
    return f"click on {found.what}"


def drag(cage: Cage, chance: random.Random) -> str:
    """Press, move and let go."""
    found = aim(chance)
    if found is None:
        return "drag: nowhere"
    at = found.at
    QTest.mousePress(found.window, LEFT, Modifier.NoModifier, at)
    for _ in range(3):
        at = at + QPoint(chance.randint(-120, 120), chance.randint(-80, 80))
        if (window := found.present) is not None:
            at = inside(window, at)
            QTest.mouseMove(window, at)
    if (window := found.present or cage.window.windowHandle()) is not None:
        QTest.mouseRelease(window, LEFT, Modifier.NoModifier, inside(window, at))
    return f"drag from {found.what}"


def hover(cage: Cage, chance: random.Random) -> str:
    """The pointer alone."""
    found = aim(chance)
    if found is None:
        return "hover: nowhere"
    QTest.mouseMove(found.window, found.at)
    return f"hover over {found.what}"


def wheel(cage: Cage, chance: random.Random) -> str:
    """A turn of the wheel, at times with Ctrl or Shift."""
    found = aim(chance)
    if found is None:
        return "wheel: nowhere"
    turn = QPoint(0, chance.choice((-360, -120, -15, 15, 120, 360)))
    QTest.wheelEvent(found.window, QPointF(found.at), turn, QPoint(), chance.choice(MODIFIERS))
    return f"wheel over {found.what}"


def key(cage: Cage, chance: random.Random) -> str:
    """A key for whatever has the focus."""
    if QApplication.activePopupWidget() is None and QApplication.focusWindow() is None:
        return "key: nobody listens"
    pressed = chance.choice(chance.choice((MOVING, MOVING, ACTING, LETTERS)))
    modifier = chance.choice(MODIFIERS)
    what = name_of(QApplication.focusWidget())
    strike(pressed) if modifier is Modifier.NoModifier else chord(cage, pressed, modifier)
    return f"key {modifier.name} {pressed.name} for {what}"


def write(cage: Cage, chance: random.Random) -> str:
    """Text for whatever has the focus, as an input method commits it."""
    focus, text = QApplication.focusWidget(), chance.choice(WORDS)
    if focus is None:
        return "write: nobody listens"
    event = QInputMethodEvent()
    event.setCommitString(text)
    QApplication.sendEvent(focus, event)
    return f"write {text[:20]!r} into {name_of(focus)}"


def palette(cage: Cage, chance: random.Random) -> str:
    """A few letters into the command palette."""
    if blocked():
        return "palette: not now"
    cage.window.commands["palette"].trigger()
    cage.answer_events()
    for letter in chance.sample(LETTERS[:26], 2):
        strike(letter)
    return "palette"


def select(cage: Cage, chance: random.Random) -> str:
    """A token, and a layer or none."""
    trace = cage.session.trace
    count = len(trace.records) if trace is not None else 0
    if trace is None or count == 0:
        return "select: no tokens"
    layer = chance.choice((None, None, chance.randrange(trace.depth)))
    selection = Selection(chance.randrange(count), layer)
    cage.session.select(selection)
    return f"select {selection}"


def panel(cage: Cage, chance: random.Random) -> str:
    """Show, hide, float or pile up a panel."""
    dock = chance.choice(list(cage.window.panels.values()))
    match chance.randrange(4):
        case 0 if not dock.visibleRegion().isEmpty():  # nobody floats what they do not see; it would be off the screen
            dock.setFloating(not dock.isFloating())
        case 1:
            dock.hide()
        case 2:
            dock.raise_()
        case _:
            dock.show()
            dock.raise_()
    return f"panel {dock.objectName()}"


def resize(cage: Cage, chance: random.Random) -> str:
    """Another size of the window, or of a panel that floats."""
    floating = [dock for dock in cage.window.panels.values() if dock.isFloating() and dock.isVisible()]
    one: QWidget = chance.choice([cage.window, cage.window, *floating])
    one.resize(chance.choice(SIZES[0]), chance.choice(SIZES[1]))
    return f"resize {name_of(one)} to {one.width()}×{one.height()}"


def answer(cage: Cage, chance: random.Random) -> str:
    """Accept or reject the dialog that is open."""
    modal = QApplication.activeModalWidget()
    if not isinstance(modal, QDialog):
        return "answer: nobody asks"
    name = name_of(modal)
    modal.reject() if chance.random() < 0.6 else modal.accept()
    return f"answer {name}"


def drop(cage: Cage, chance: random.Random) -> str:
    """A file dropped on the window."""
    path: Path = cage.answers.session
    if not blocked():
        cage.window.file_dropped.emit(path)
    return f"drop {path.name}"


MOVES: dict[Move, int] = {
    command: 24,
    run: 8,
    click: 24,
    drag: 3,
    hover: 4,
    wheel: 5,
    key: 16,
    write: 5,
    palette: 1,
    select: 6,
    panel: 3,
    resize: 1,
    answer: 5,
    drop: 1,
}
"""How often each is made, beside the others."""


def blocked() -> bool:
    """Whether a dialog or a menu is open that has to be answered first."""
    return QApplication.activeModalWidget() is not None or QApplication.activePopupWidget() is not None


def strike(pressed: Qt.Key) -> None:
    """A key down and up again, for whoever listens then: the press may have closed who listened before."""
    for act in (QTest.keyPress, QTest.keyRelease):
        popup = QApplication.activePopupWidget()  # kept, since the window's wrapper goes with the widget's
        window = popup.windowHandle() if popup is not None else QApplication.focusWindow()
        if window is not None:
            act(window, pressed)


def chord(cage: Cage, pressed: Qt.Key, modifier: Qt.KeyboardModifier) -> None:
    """A key with a modifier. Qt's own way sends two keys and goes on with a window that the first one has closed."""
    focus = QApplication.focusWidget()
    if focus is None:
        return
    override = QKeyEvent(QEvent.Type.ShortcutOverride, pressed, modifier)
    override.ignore()
    QApplication.sendEvent(focus, override)
    meant = QKeySequence(QKeyCombination(modifier, pressed))
    actions = [action for action in cage.window.commands if meant in action.shortcuts() and action.isEnabled()]
    if actions and not override.isAccepted() and not blocked():
        actions[0].trigger()
        return
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        if isValid(focus):
            QApplication.sendEvent(focus, QKeyEvent(kind, pressed, modifier))


def aim(chance: random.Random) -> Aim | None:
    """A place on a widget that can be seen: on the menu or dialog that is open, else on any window."""
    top = QApplication.activePopupWidget() or QApplication.activeModalWidget()
    if top is None:
        top = chance.choice([one for one in QApplication.topLevelWidgets() if one.isVisible()] or [None])
    handle = top.windowHandle() if top is not None else None
    if top is None or handle is None or not top.isVisible():
        return None
    seen = [one for one in top.findChildren(QWidget) if one.isVisible() and one.window() is top]
    aimed = chance.choice(seen) if seen else top
    at = QPoint(chance.randrange(max(1, aimed.width())), chance.randrange(max(1, aimed.height())))
    place = aimed.mapTo(top, at) if aimed is not top else at
    if not QRect(QPoint(0, 0), handle.size()).contains(place):
        return None
    return Aim(top, handle, place, name_of(top.childAt(place) or top))


def inside(window: QWindow, at: QPoint) -> QPoint:
    """The place in a window that is nearest: it may have become smaller, or another one by now."""
    room = QRect(QPoint(0, 0), window.size())
    return QPoint(min(max(at.x(), 0), room.right()), min(max(at.y(), 0), room.bottom()))


def name_of(widget: QWidget | None) -> str:
    """A widget as a person may find it."""
    if widget is None:
        return "nothing"
    return f"{type(widget).__name__} {widget.accessibleName() or widget.objectName() or widget.windowTitle()!r}"
