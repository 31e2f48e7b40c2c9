"""What is said of sessions as files: questions, their answers, and a run's line in a menu."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from app.library import Library, RunTitle
from app.question_dialog import Answer
from app.recovery import Leftover
from core.analysis.branch_words import branch_line

LONGEST_PROMPT = 48
"""Characters of a prompt in a menu."""
INDENT, BRANCH_SIGN = "    ", "↳"
"""Before a branch, which stands below its origin."""

UNSAVED_ANSWERS = (
    Answer("save", "&Save", "Save the session, then go on"),
    Answer("discard", "&Discard", "Go on, and lose what is not saved"),
    Answer("cancel", "&Cancel", "Stay here (Esc)"),
)
OVERTAKEN_ANSWERS = (
    Answer("save_as", "Save &as…", "Keep both: save this session under another name"),
    Answer("replace", "&Replace", "Save over the file, and lose what the other program wrote"),
    Answer("cancel", "&Cancel", "Save nothing (Esc)"),
)
LOST_ANSWERS = (
    Answer("save", "&Save the others", "Save the session without the runs that are lost"),
    Answer("cancel", "&Cancel", "Save nothing (Esc)"),
)
LEFTOVER_ANSWERS = (
    Answer("open", "&Open", "Show what was recorded; it stays unsaved until you save it"),
    Answer("discard", "&Discard", "Take the recording away for good"),
    Answer("later", "&Later", "Ask again at the next launch (Esc)"),
)


def unsaved_question(library: Library) -> tuple[str, str]:
    """Title and sentence before something unsaved goes."""
    runs = {title.number: title.tokens for title in library.titles()}
    unsaved = library.unsaved
    if not unsaved:
        return "Save the bookmarks?", "Bookmarks or notes of this session are not saved."
    tokens = sum(runs[number] for number in unsaved)
    are = "are" if len(unsaved) > 1 else "is"
    return "Save the session?", f"{counted(len(unsaved), 'run')} of {counted(tokens, 'token')} {are} not saved."


def overtaken_question(path: Path) -> tuple[str, str]:
    """Title and sentence before a file is replaced that is not the one that was opened."""
    return "Replace what others wrote?", f"Another window or program has changed {path.name} since it was opened here."


def lost_question(lost: Sequence[int]) -> tuple[str, str]:
    """Title and sentence on runs of these 0-based numbers that cannot be saved."""
    alone = len(lost) == 1
    runs = f"Run {lost[0] + 1}" if alone else f"{counted(len(lost), 'run')} of this session"
    why = f"the file that held {'it' if alone else 'them'} was replaced or is out of reach"
    return "Save the others?", f"{runs} cannot be read any more: {why}."


def leftover_question(left: Leftover) -> tuple[str, str]:
    """Title and sentence on what a crash has left."""
    beside = f" It was recorded beside {left.origin.name}, which is opened too." if left.origin else ""
    return (
        "Open what was recorded?",
        f"specee-viewer ended unexpectedly. {counted(left.runs, 'run')} of {counted(left.tokens, 'token')} "
        f"{'were' if left.runs > 1 else 'was'} recorded until then ({_when(left)}).{beside}",
    )


def run_line(title: RunTitle, level: int = 0) -> str:
    """A run's line in a menu; `level` is how many origins a branch has above it."""
    prompt = " ".join(title.prompt.split())
    shown = shortened(prompt)
    name, branch = f"Run {title.number + 1}", title.started.branch if title.started else None
    if branch is not None:
        name, shown = f"{INDENT * level}{BRANCH_SIGN} {name}", shortened(branch_line(branch))
    return f"{name} · {counted(title.tokens, 'token')} · {shown}".replace("&", "&&")


def shortened(text: str) -> str:
    """A text of one line, its end left out where it is long."""
    return text if len(text) <= LONGEST_PROMPT else text[: LONGEST_PROMPT - 1] + "…"


def counted(count: int, thing: str) -> str:
    """So many things."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}".replace(",", "\u202f")


def _when(left: Leftover) -> str:
    """When the newest run began, in the user's own time."""
    began = max((run.began for run in left.file.runs), default="")
    try:
        return datetime.fromisoformat(began).astimezone().strftime("%-d %B, %H:%M")
    except ValueError:
        return "at an unknown time"
