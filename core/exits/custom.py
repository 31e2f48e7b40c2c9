"""A policy of the user's own, from a Python file: "FILE.py:Class" (`docs/own-policy.md`).

The file is code and is run with the rights of the program. Whatever is wrong with it comes out as one sentence.
"""

from __future__ import annotations

import contextlib
import reprlib
import sys
import traceback
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import numpy as np
from torch import Tensor

from core.config import RunSettings
from core.drafting.head import Draft
from core.errors import UserError
from core.exits.parts import TrainedParts
from core.exits.policies import Evaluation, ExitPolicy, PassView, PolicyFailed
from core.exits.scheduling import Schedule
from core.run_state import Stopped
from core.sampling import BadNumbers, Choice
from core.trace.events import IntArray
from core.trace.ranges import MOST_NUMBER, all_within

METHODS = ("begin", "look", "record")
MODULE = "custom_policy"
"""The name that the file is imported under."""
LONGEST = 200
"""Characters of the user's own words that a sentence repeats."""


def load_policy(settings: RunSettings, depth: int, parts: TrainedParts | None) -> ExitPolicy:
    """An object of the class that `settings.custom` names, made by Class(settings, depth, parts).

    Raises:
        UserError: the file is not there or cannot be run, it has no such class, the class is no exit policy or
            refuses to be made, or it wants a drafter and `parts` is None.
    """
    reference, _, name = settings.custom.rpartition(":")
    path = Path(reference).expanduser()
    kind = _find_class(_run_file(path), name, path)
    try:
        policy: ExitPolicy = kind(settings, depth, parts)
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise UserError(
            f"{name} in {path} cannot be made as {name}(settings, depth, parts): {_told(error, path)}."
        ) from error
    if not isinstance(getattr(policy, "drafts", None), bool):
        raise UserError(f"{name} in {path} has no attribute `drafts`; set it to True or False.")
    if policy.drafts and parts is None:
        raise UserError(
            f"{name} in {path} wants speculative tokens, but this model has no drafter; make one with "
            "`specee-viewer train`, or set `drafts` to False."
        )
    return Guarded(policy, path)


class Guarded:
    """Passes everything on to the user's policy, and tells in one sentence where that goes wrong."""

    def __init__(self, policy: ExitPolicy, path: Path) -> None:
        self._policy, self._path = policy, path
        self._name = type(policy).__name__
        self.drafts = policy.drafts
        self._width: int | None = None
        """How many features the first judged layer had."""
        self._newest = 0
        """The newest token that a past exit can be of."""

    def begin(self, view: PassView, draft: Draft | None) -> Schedule | None:
        """The user's own; raises `PolicyFailed`, as the others do."""
        with self._watched("begin"):
            schedule = self._policy.begin(view, draft)
        self._vocabulary = view.decoder.config.vocabulary
        if schedule is None:
            return None
        if not isinstance(schedule, Schedule):
            raise PolicyFailed(f"{self._name}.begin returned {_shown(schedule)}; it must be a Schedule or None.")
        with self._usable("begin", "a Schedule"):
            return _plain_schedule(schedule, view.decoder.config.depth, self._newest)

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        with self._watched("look"):
            found = self._policy.look(layer, hidden)
        if found is None:
            return None
        if not isinstance(found, Evaluation):
            raise PolicyFailed(f"{self._name}.look returned {_shown(found)}; it must be an Evaluation or None.")
        with self._usable("look", "an Evaluation"):
            plain = _plain_evaluation(found, self._vocabulary, self._width)
        self._width = len(plain.features)
        if plain.proposed and plain.choice is None and not self.drafts:
            raise PolicyFailed(
                f"{self._name}.look proposed an exit without a choice, and there are no speculative tokens to verify "
                "it by; give a choice, or set `drafts` to True."
            )
        return plain

    def record(self, token: int, layer: int) -> None:
        self._newest = token
        with self._watched("record"):
            self._policy.record(token, layer)

    @contextlib.contextmanager
    def _watched(self, method: str) -> Iterator[None]:
        try:
            yield
        except BadNumbers:
            raise
        except KeyboardInterrupt as error:  # Ctrl-C while the user's code ran ends the run as it does elsewhere
            raise Stopped from error
        except (Exception, SystemExit) as error:  # the user's code may raise anything
            raise PolicyFailed(f"{self._name}.{method} failed: {_told(error, self._path)}.") from error

    @contextlib.contextmanager
    def _usable(self, method: str, what: str) -> Iterator[None]:
        """Around a look at what a method returned, where tensors and the user's own classes may raise anything too."""
        try:
            yield
        except Exception as error:
            text = f"{self._name}.{method} returned {what} that cannot be used: {_text(error) or type(error).__name__}."
            raise PolicyFailed(text) from error


def _plain_evaluation(found: Evaluation, vocabulary: int, width: int | None) -> Evaluation:
    """The same in the types that the loop, the trace and its JSON rely on, whatever NumPy or torch gave.

    Raises:
        Exception: it does not hold what an `Evaluation` says; the text tells what.
    """
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite
        features = np.asarray(found.features).astype(np.float32)
    score, choice = float(found.score), found.choice
    if features.ndim != 1:
        raise ValueError(f"its features are of shape {list(features.shape)} instead of [n]")
    if width is not None and len(features) != width:
        raise ValueError(f"it has {len(features)} features where the first had {width}")
    if not 0 <= score <= 1:
        raise ValueError(f"its score is {score:g} instead of 0…1")
    if choice is not None:
        choice = _plain_choice(choice, vocabulary)
    return Evaluation(features, score, bool(found.proposed), choice)


def _plain_choice(choice: Choice, vocabulary: int) -> Choice:
    if not isinstance(choice, Choice):
        raise TypeError(f"its choice is {_shown(choice)} instead of a Choice, as view.choose gives it")
    if not 0 <= int(choice.token_id) < vocabulary:
        raise ValueError(f"its choice is the token {choice.token_id} of a vocabulary of {vocabulary}")
    return Choice(int(choice.token_id), float(choice.top), float(choice.margin))


def _plain_schedule(schedule: Schedule, depth: int, newest: int) -> Schedule:
    """As `_plain_evaluation`, within what a recording may hold; `newest` is the newest token of a past exit."""
    plain = Schedule(
        np.array(schedule.active, np.bool_),
        np.array(schedule.offline, np.bool_),
        _whole("counters", schedule.counters, MOST_NUMBER),
        _whole("ring_layers", schedule.ring_layers, depth - 1),
        _whole("ring_tokens", schedule.ring_tokens, newest),
    )
    for name in ("active", "offline", "counters"):
        if getattr(plain, name).shape != (depth,):
            raise ValueError(f"its {name} has the shape {list(getattr(plain, name).shape)} instead of [{depth}]")
    if plain.ring_layers.ndim != 1 or plain.ring_layers.shape != plain.ring_tokens.shape:
        raise ValueError("its ring_layers and ring_tokens are not lists of the same length")
    return plain


def _whole(name: str, values: IntArray, most: int) -> IntArray:
    """Whole numbers in 0…most, of any shape."""
    given = np.asarray(values)
    with np.errstate(invalid="ignore"):  # what is no number does not equal what it is cast to
        plain = given.astype(np.int64)
    if not (plain == given).all():
        raise ValueError(f"its {name} hold something that is no whole number")
    all_within(name, plain, 0, most)
    return plain


def _run_file(path: Path) -> ModuleType:
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"There is no file {path}; your own policy is given as FILE.py:Class.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}); check the path.") from error
    loader = SourceFileLoader(MODULE, str(path))
    spec = spec_from_loader(MODULE, loader)
    assert spec is not None, "a loader of its own always gives a spec"
    module = module_from_spec(spec)
    # Dataclasses and pickling look their module up here.
    sys.modules[MODULE] = module
    try:
        # Not `exec_module`: that leaves a cache beside the user's file and may take an edited file for the old one.
        exec(loader.source_to_code(source, str(path)), module.__dict__)
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise UserError(f"{path} cannot be run: {_told(error, path)}.") from error
    return module


def _find_class(module: ModuleType, name: str, path: Path) -> type:
    kind = getattr(module, name, None)
    if not isinstance(kind, type):
        classes = [key for key, one in vars(module).items() if isinstance(one, type) and one.__module__ == MODULE]
        has = f"it has {', '.join(classes)}" if classes else "it has none"
        raise UserError(f"{path} has no class {name}; {has}.")
    if missing := [method for method in METHODS if not callable(getattr(kind, method, None))]:
        raise UserError(f"{name} in {path} is no exit policy: it lacks {' and '.join(missing)}.")
    return kind


def _told(error: BaseException, path: Path) -> str:
    """The error on one line, with the newest line of the user's file that it came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = f"{error.msg:.{LONGEST}}" if isinstance(error, SyntaxError) else _text(error)
    words = f"{type(error).__name__}: {text}".rstrip(":. ")
    return f"{words} (line {line})" if line else words


def _text(error: BaseException) -> str:
    """What the error says, on one line and not endlessly; "" where it says nothing or cannot."""
    try:
        return _cut(str(error)).rstrip(".")
    except Exception:  # the user's own class may be of any kind
        return ""


def _shown(value: object) -> str:
    """A value that the user's code returned, on one line; one that cannot be shown by its class."""
    brief = reprlib.Repr()
    brief.maxother = 60
    return _cut(brief.repr(value))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
