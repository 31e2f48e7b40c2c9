"""The keys that the user gave to actions: checked when they are chosen and again when they are read back."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence

from app.actions import Actions
from app.command_list import words

EDITING = {
    "Ctrl+C": "copies",
    "Ctrl+X": "cuts",
    "Ctrl+V": "pastes",
    "Ctrl+Z": "takes back",
    "Ctrl+A": "selects all",
    "Ctrl+Return": "runs the prompt being written",
    "Ctrl+Enter": "runs the prompt being written",
}
"""What keys do in text fields, which an action would take them from."""
_HELD = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
_NATIVE = QKeySequence.SequenceFormat.NativeText
_ALONE = range(Qt.Key.Key_F1, Qt.Key.Key_F35 + 1)
"""Keys that may stand alone: they write nothing and move nothing."""


class Keys:
    """Which key each action answers to, and which it had at first."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions

    def chosen(self) -> dict[str, str]:
        """The keys that differ from the first ones, by action, in portable text."""
        return {name: self.key(name) for name in self._actions.names if self.is_changed(name)}

    def recall(self, chosen: Mapping[str, str]) -> None:
        """Give the actions these keys. What names no action or no key, or is taken, is left out."""
        self.reset_all()
        known = [(name, key) for name, key in chosen.items() if name in self._actions.names and _is_key(key)]
        for name, _ in known:  # so that two actions may have exchanged their keys
            self._actions.set_keys(name, ())
        for name, key in known:
            taken = self.problem(name, QKeySequence(key))
            self._actions.set_keys(name, self._actions.first_keys(name) if taken else (key,))
        self._part_doubles()

    def now(self) -> dict[str, str]:
        """The keys that actions have now as the user reads them, by those they had at first; only what differs."""
        texts = {name: self._actions[name].shortcut().toString(_NATIVE) for name in self._actions.names}
        firsts = {name: _portable(self._actions.first_keys(name)[0]) for name in texts}
        return {first: texts[name] for name, first in firsts.items() if texts[name] != first}

    def key(self, name: str) -> str:
        """An action's key, in portable text."""
        return self._actions[name].shortcut().toString()

    def is_changed(self, name: str) -> bool:
        return self.key(name) != _portable(self._actions.first_keys(name)[0])

    def problem(self, name: str, key: QKeySequence) -> str:
        """Why an action cannot have a key, as one sentence; "" where it can."""
        shown = key.toString(QKeySequence.SequenceFormat.NativeText)
        own = any(key == QKeySequence(first) for first in self._actions.first_keys(name))
        if not own and not _is_key(key.toString()):
            return f"{shown or 'This key'} alone is needed for writing and moving; hold Ctrl or Alt with it."
        if not own and (use := EDITING.get(key.toString())) is not None:
            return f"{shown} {use} in text fields; choose another key."
        for other in self._actions.names:
            if other != name and key in self._actions[other].shortcuts():
                title = words(self._actions[other].text())
                return f"{shown} is the key of “{title}”; give that another key first, or choose another one here."
        return ""

    def change(self, name: str, key: QKeySequence) -> str:
        """Give an action a key; the sentence that says why not, where that cannot be."""
        problem = self.problem(name, key)
        if not problem:
            self._actions.set_keys(name, (key.toString(),))
        return problem

    def reset(self, name: str) -> str:
        """Give an action its first keys back; the sentence that says why not, where another has them now."""
        first = self._actions.first_keys(name)
        problems = [self.problem(name, QKeySequence(key)) for key in first]
        if problems[0]:
            return problems[0]
        free = tuple(key for key, problem in zip(first, problems, strict=True) if not problem)
        self._actions.set_keys(name, free)
        return ""

    def reset_all(self) -> None:
        """Give every action its first keys back."""
        for name in self._actions.names:
            self._actions.set_keys(name, self._actions.first_keys(name))

    def _part_doubles(self) -> None:
        """In a file that was edited two actions may have come to one key: none that was chosen stays doubled."""
        while doubled := [name for name in self.chosen() if self.problem(name, self._actions[name].shortcut())]:
            self._actions.set_keys(doubled[0], self._actions.first_keys(doubled[0]))


def _portable(key: str) -> str:
    return QKeySequence(key).toString()


def _is_key(text: str) -> bool:
    """Whether this is one key that an action may have: with Ctrl, Alt or Meta, or a function key."""
    sequence = QKeySequence(text)
    if sequence.count() != 1:
        return False
    combination = sequence[0]  # type: ignore[index]  # Qt's annotations lack it
    if combination.key() is Qt.Key.Key_unknown:
        return False
    return bool(combination.keyboardModifiers() & _HELD) or combination.key() in _ALONE
