"""Read in pieces, a tokenizer must be the one that the library reads whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Backend

from core.errors import UserError
from core.model.tokenizer_file import read_backend
from core.model.tokens import load_tokenizer
from tests.tiny import save_tiny_tokenizer

TEXTS = [
    "Plain text, and  some   more\n",
    "for i in range(10):\n\treturn {'a': i ** 2}  # ↦",
    "日本語と中文, 한국어",
    "🎉👩‍👩‍👧 ☺️",
    "السلام عليكم ١٢٣",
    "e\u0301 ﬁ \u00a0",
    "<|im_start|>user <|own|> <|im_end|>",
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("stored")
    save_tiny_tokenizer(folder)
    values: dict[str, Any] = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return values


def write(folder: Path, values: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def added(content: str, special: bool, at: int) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": True, "rstrip": False, "normalized": not special}
    return {"id": at, "content": content, "special": special, **flags}


def changed(stored: dict[str, Any], kind: str) -> dict[str, Any]:
    model, tokens = stored["model"], stored["added_tokens"]
    size = len(model["vocab"])
    match kind:
        case "as it is":
            return stored
        case "merges of older files":
            return {**stored, "model": {**model, "merges": [" ".join(pair) for pair in model["merges"]]}}
        case "plain tokens between special ones":
            more = [added("<|own|>", False, size), added("<|last|>", True, size + 1)]
            return {**stored, "added_tokens": [*tokens[:1], *more, *tokens[1:]]}
        case "all options":
            return {**stored, "model": {**model, "byte_fallback": True, "fuse_unk": True, "ignore_merges": True}}
        case "normalised and cut":
            cut = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
            return {**stored, "normalizer": {"type": "NFC"}, "truncation": cut}
        case _:
            words = {"type": "WordLevel", "vocab": {"plain": 0, "?": 1}, "unk_token": "?"}
            return {**stored, "model": words, "added_tokens": []}


@pytest.mark.parametrize(
    "kind",
    [
        "as it is",
        "merges of older files",
        "plain tokens between special ones",
        "all options",
        "normalised and cut",
        "no BPE",
    ],
)
def test_that_read_in_pieces_it_is_what_the_library_reads(tmp_path: Path, stored: dict[str, Any], kind: str) -> None:
    path = write(tmp_path, changed(stored, kind))
    whole, pieces = Backend.from_file(str(path)), read_backend(path)
    assert json.loads(pieces.to_str()) == json.loads(whole.to_str())
    for text in TEXTS:
        ids = whole.encode(text).ids
        assert pieces.encode(text).ids == ids
        assert pieces.decode(ids) == whole.decode(ids)


@pytest.mark.parametrize("damage", [{"merges": [["no", "such"]]}, {"merges": ["one"]}, {"vocab": {"a": -1}}])
def test_that_a_damaged_model_is_told_in_the_librarys_words(
    tmp_path: Path, stored: dict[str, Any], damage: dict[str, Any]
) -> None:
    path = write(tmp_path, {**stored, "model": {**stored["model"], **damage}})
    with pytest.raises(Exception) as whole:
        Backend.from_str(path.read_text())
    with pytest.raises(Exception) as pieces:
        read_backend(path)
    assert str(pieces.value) == str(whole.value)


@pytest.mark.parametrize("flag", ["normalized", "id", "lstrip"])
def test_that_an_added_token_without_a_flag_is_damage(tmp_path: Path, stored: dict[str, Any], flag: str) -> None:
    first, *others = stored["added_tokens"]
    lacking = {name: value for name, value in first.items() if name != flag}
    path = write(tmp_path, {**stored, "added_tokens": [lacking, *others]})
    with pytest.raises(Exception, match=f"missing field `{flag}`"):
        read_backend(path)


def test_that_what_the_library_panics_at_is_told_as_damage(tmp_path: Path, stored: dict[str, Any]) -> None:
    longer_than_tokens = {"vocab": {"a": 0, "b": 1}, "merges": ["a b"], "continuing_subword_prefix": "##"}
    path = write(tmp_path, {**stored, "model": {**stored["model"], **longer_than_tokens}})
    with pytest.raises(UserError, match="not a readable tokenizer") as told:
        load_tokenizer(tmp_path)
    assert str(path) in str(told.value)


def test_that_a_byte_level_model_is_never_read_whole(
    tmp_path: Path, stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = write(tmp_path, stored), list[int]()

    class Watched:
        @staticmethod
        def from_str(text: str) -> Backend:
            read.append(len(text))
            return Backend.from_str(text)

    monkeypatch.setattr("tokenizers.Tokenizer", Watched)
    read_backend(path)
    assert max(read) < path.stat().st_size / 2
