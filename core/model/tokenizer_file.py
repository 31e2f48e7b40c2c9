"""Reads a `tokenizer.json` in pieces, so that a window beside it goes on moving.

`Tokenizer.from_file` holds the interpreter from its first to its last byte. Nearly all are a BPE model's vocabulary
and merges: those are made on their own here, everything else is left to the library, and the result is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

OPTIONS = frozenset(
    {
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
    }
)
"""What a BPE model says beside its type, vocabulary and merges."""
FLAGS = frozenset({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"})
"""What an added token says. The library passes over others, and takes its own for those that are missing."""


def read_backend(path: Path) -> Backend:
    """The tokenizer in this file.

    Raises:
        Exception: it is damaged; the library says how.
    """
    from tokenizers import Tokenizer as Backend

    text = path.read_text(encoding="utf-8")
    try:
        return _without_panic(lambda: _in_pieces(json.loads(text)))
    except Exception:  # not of the kind that we can take apart, or damaged: the library reads it, or says what is wrong
        return _without_panic(lambda: Backend.from_str(text))


def stages(backend: Backend) -> list[Any]:
    """Settings of the steps before and after the model, as the file has them, without its vocabulary."""
    steps = (backend.pre_tokenizer, backend.decoder)
    return [json.loads(step.__getstate__()) for step in steps if step is not None]


def _without_panic(read: Callable[[], Backend]) -> Backend:
    """What the library panics at is damage, too; but a panic is no `Exception`, and would end the thread that reads."""
    try:
        return read()
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of a module that cannot be imported
            raise
        raise ValueError(str(error)) from error


def _in_pieces(values: dict[str, Any]) -> Backend:
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import BPE

    model = values["model"]
    vocabulary, merges = model["vocab"], model["merges"]
    options = {name: value for name, value in model.items() if name not in ("type", "vocab", "merges")}
    if model.get("type") != "BPE" or not options.keys() <= OPTIONS:
        raise ValueError("another kind of model")
    without = {**values, "added_tokens": [], "model": {**model, "vocab": {}, "merges": []}}
    backend = Backend.from_str(json.dumps(without))
    said = {name: value for name, value in options.items() if value is not None}  # which it takes for no text
    backend.model = BPE(vocabulary, [_pair(one) for one in merges], **said)
    _add(backend, values["added_tokens"])
    return backend


def _pair(merge: str | list[str]) -> tuple[str, str]:
    first, second = merge.split(" ") if isinstance(merge, str) else merge
    return first, second


def _add(backend: Backend, added: list[dict[str, Any]]) -> None:
    """Add tokens in their order, which gives those that the model lacks their ids."""
    from tokenizers import AddedToken

    if any(token.keys() != FLAGS for token in added):
        raise ValueError("other flags")
    for special, tokens in groupby(added, key=lambda token: token["special"]):
        made = [AddedToken(**{name: value for name, value in token.items() if name != "id"}) for token in tokens]
        (backend.add_special_tokens if special else backend.add_tokens)(made)
