"""argparse with one clear sentence for every mistake, and the flags that several commands share."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from core.choices import DType
from core.config import DEFAULT_MODEL
from core.errors import UserError
from core.report.exit_colours import ExitPalette

Commands = Any
"""What `add_subparsers` returns; its class is private to argparse."""

MOST_THREADS = 1024
LONGEST_NAME = 255
"""Bytes of a file's or a folder's name, everywhere that matters."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose mistakes are `UserError`s instead of a page of usage."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords, allow_abbrev=False)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse's, but each command refuses what it does not know itself, so that its own help is named."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{_sentence(message)}; `{self.prog} --help` lists what it takes.")


def _sentence(message: str) -> str:
    if unknown := re.match(r"argument COMMAND: invalid choice: (\S+)", message):
        return f"There is no command {unknown[1]}"
    if unknown := re.match(r"unrecognized arguments: (.+)", message, re.DOTALL):
        return f"This command does not take {shown(unknown[1])}"
    if missing := re.match(r"the following arguments are required: (.+)", message):
        return f"{missing[1].replace(', ', ' and ')} {'are' if ',' in missing[1] else 'is'} missing"
    if flag := re.match(r"argument (\S+): expected (?:one|at least one) argument", message):
        return f"{flag[1]} needs a value"
    return message[:1].upper() + message[1:]


def shown(text: str) -> str:
    """The text in quotes, on one line and short enough for a sentence."""
    return repr(text if len(text) <= 60 else text[:57] + "…")


def braces(values: Iterable[str]) -> str:
    """`{a,b,c}`, as usage texts show a choice."""
    return "{" + ",".join(values) + "}"


def whole(what: str, least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """A type for argparse: a whole number, within bounds where they are given.

    `core.config` checks the bounds of a run's settings itself, so that the window refuses the same values.
    """

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise UserError(f"The {what} is {shown(text)}; it must be a whole number.") from None
        if (least is not None and value < least) or (most is not None and value > most):
            bounds = f"between {least} and {most}" if most is not None else f"at least {least}"
            raise UserError(f"The {what} is {value}; it must be {bounds}.")
        return value

    return parse


def number(what: str, above: float | None = None) -> Callable[[str], float]:
    """A type for argparse: a number, above a bound where one is given."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise UserError(f"The {what} is {shown(text)}; it must be a number.") from None
        if above is not None and not (value > above and math.isfinite(value)):
            raise UserError(f"The {what} is {value:g}; it must be a number above {above:g}.")
        return value

    return parse


def one_of(what: str, values: Iterable[str]) -> Callable[[str], str]:
    """A type for argparse: one of these words."""
    words = [str(value) for value in values]

    def parse(text: str) -> str:
        if text not in words:
            raise UserError(f"The {what} is {shown(text)}; choose {', '.join(words[:-1])} or {words[-1]}.")
        return text

    return parse


def device(text: str) -> str:
    """A type for argparse: a device's name as torch writes it; whether the machine has it is seen when loading."""
    if not re.fullmatch(r"cpu|mps|auto|cuda(:\d{1,3})?", text):
        raise UserError(f"The device is {shown(text)}; choose cpu, cuda, cuda:N, mps or auto.")
    return text


def path(text: str) -> Path:
    """A type for argparse: a file or folder. An empty word would mean the folder one is in, and surprise."""
    if not text.strip():
        raise UserError("The name of a file or folder is empty; write one, or leave its flag out.")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(text).parts):
        raise UserError(f"{shown(text)} is too long for the name of a file or folder; choose a shorter one.")
    return Path(text)


def folder(text: str) -> Path:
    """A type for argparse: a folder that is there, or can be made where it would lie."""
    wanted = path(text)
    there = next(one for one in (wanted.absolute(), *wanted.absolute().parents) if one.exists())
    if not there.is_dir():
        raise UserError(f"{shown(str(there))} is a file; choose a folder.")
    return wanted


def text_of(what: str) -> Callable[[str], str]:
    """A type for argparse: text that can be written as UTF-8."""

    def parse(text: str) -> str:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise UserError(f"The {what} holds bytes that are not UTF-8 text; give it as UTF-8.") from None
        return text

    return parse


def add_model(parser: argparse.ArgumentParser) -> None:
    """`--model`, for a command that works on one."""
    parser.add_argument(
        "--model",
        metavar="REF",
        default=DEFAULT_MODEL,
        help="a folder with config.json and .safetensors, a .gguf file, or a hub id (default: %(default)s)",
    )


def add_exit_colours(parser: argparse.ArgumentParser) -> None:
    """`--exit-colours`, for a command that draws."""
    parser.add_argument(
        "--exit-colours",
        type=one_of("palette of exit layers", ExitPalette),
        metavar=braces(ExitPalette),
        default=ExitPalette.CIVIDIS.value,
        help="palette of exit layers, dark to light (default: %(default)s)",
    )


def add_parts(parser: argparse.ArgumentParser) -> None:
    """`--parts`."""
    parser.add_argument("--parts", metavar="FOLDER", type=path, help="trained parts to use (default: the model's own)")


def add_numerics(parser: argparse.ArgumentParser) -> None:
    """`--dtype`, `--device` and `--threads`."""
    parser.add_argument(
        "--dtype",
        type=one_of("dtype", DType),
        metavar=braces(DType),
        help="number format of the weights (default: what this machine computes fastest)",
    )
    parser.add_argument(
        "--device",
        type=device,
        metavar="NAME",
        default="cpu",
        help="cpu, cuda, cuda:N, mps, or auto to spread the layers over several (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=whole("number of threads", 1, MOST_THREADS),
        metavar="N",
        help="CPU threads (default: torch's choice)",
    )
