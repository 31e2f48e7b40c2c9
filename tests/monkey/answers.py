"""Scripted answers of the dialogs that are the desktop's: files and folders."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QFileDialog

from resources.paths import SAMPLE

WORDS = (
    "",
    "a",
    "sun sea sky",
    "42",
    "-1",
    "1e999",
    "0.5",
    "\t \n",
    "深い出口 層",
    "قبل الطبقة الأخيرة",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "e\u0301\u0302\u0303\u0304",
    "<b>bold</b> & <img src=x>",
    "%s %d {} {0}",
    "[a-z",
    "(a+)+$",
    "x" * 200,
    "the quick brown fox " * 40,
    "../../etc",
    "bad/model",
    "missing/model",
)
"""What the monkey types."""
MOST_SAVED = 6
"""Names that are saved to, over and over."""


class Answers:
    """Answers as people do: with something that fits, that does not, that is not there, or with Cancel."""

    def __init__(self, folder: Path) -> None:
        self.chance = random.Random(0)
        self._folder = folder
        self._made = [*sound_files(folder), *odd_files(folder), folder / "not-there.specee", folder]

    def install(self) -> None:
        """Answer in place of the desktop from now on."""
        dialogs: Any = QFileDialog
        dialogs.getOpenFileName = self._to_open
        dialogs.getOpenFileNames = lambda *_, **__: ([name for name in [self._to_open()[0]] if name], "")
        dialogs.getSaveFileName = self._to_save
        dialogs.getExistingDirectory = lambda *_, **__: self.chance.choice(("", str(self._folder)))

    @property
    def session(self) -> Path:
        """Some path, such as one that is dropped on the window."""
        return self.chance.choice(self._made)

    def _to_open(self, *_: Any, **__: Any) -> tuple[str, str]:
        return (str(self.chance.choice(self._made)) if self.chance.random() < 0.8 else "", "")

    def _to_save(self, *given: Any, **__: Any) -> tuple[str, str]:
        if self.chance.random() < 0.2:
            return "", ""
        if self.chance.random() < 0.1:
            return str(self._folder / "no" / "such" / "folder"), ""
        suffix = Path(str(given[2])).suffix if len(given) > 2 else ""
        return str(self._folder / f"saved-{self.chance.randrange(MOST_SAVED)}{suffix}"), ""


def sound_files(folder: Path) -> list[Path]:
    """Two sessions that can be opened."""
    made = [folder / "one.specee", folder / "two.specee"]
    for path in made:
        shutil.copyfile(SAMPLE, path)
    return made


def odd_files(folder: Path) -> list[Path]:
    """Files that are not what their names say."""
    short, words, settings = folder / "short.specee", folder / "words.py", folder / "settings.json"
    short.write_bytes(SAMPLE.read_bytes()[:50_000])
    words.write_text("nothing of use\n", encoding="utf-8")
    settings.write_text("{}", encoding="utf-8")
    return [short, words, settings]
