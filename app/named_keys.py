"""The keys that sentences name: texts have the keys that actions have at first, on screen stand those they have now.

So texts read the same in the window's first state, in the docs and in the code, and none of them has to know the
actions. One choice for all windows, as the user has one keyboard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from PySide6.QtWidgets import QLabel, QWidget

_KEY = re.compile(
    r"(?<![\w+])(?:(?:Ctrl|Alt|Shift|Meta)\+)+(?:F\d{1,2}|[A-Z][A-Za-z]+|[A-Z0-9,=-])(?![\w+])|(?<![\w+])F\d{1,2}(?!\w)"
)
_TIP, _TEXT = "keyedTip", "keyedText"
"""Properties of widgets: what they said before keys were put in."""
_now: dict[str, str] = {}


def use_keys(now: Mapping[str, str]) -> None:
    """From here on name these keys, by the key that the action had at first (in portable text)."""
    _now.clear()
    _now.update(now)


def keys_in(sentence: str) -> list[str]:
    """The keys that a sentence names."""
    return _KEY.findall(sentence)


def with_keys(sentence: str) -> str:
    """The sentence with each action's key as it is now; keys that belong to no action stay."""
    return _KEY.sub(lambda key: _now.get(key[0], key[0]), sentence) if _now else sentence


def say(label: QLabel, sentence: str) -> None:
    """Have a label say this, also when keys change later."""
    label.setProperty(_TEXT, sentence if keys_in(sentence) else None)
    label.setText(with_keys(sentence))


def tell(widget: QWidget, tip: str) -> None:
    """Give a widget a tooltip, and a screen reader the same words, also when keys change later."""
    widget.setProperty(_TIP, tip if keys_in(tip) else None)
    widget.setAccessibleDescription(with_keys(tip))
    widget.setToolTip(with_keys(tip))


def say_again(root: QWidget) -> None:
    """Name the keys that actions have now in everything below."""
    for widget in root.findChildren(QWidget):
        if (tip := widget.property(_TIP)) is not None:
            tell(widget, tip)
        if isinstance(widget, QLabel) and (sentence := widget.property(_TEXT)) is not None:
            say(widget, sentence)
