"""Text to ids and back must lose no byte, whatever the script and the kind of vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.model.tokens import TextStream, Tokenizer, load_tokenizer
from tests.tiny import make_tiny_model, save_tiny_tokenizer

TEXTS = ["plain text", "日本語と中文", "🎉👩‍👩‍👧 emoji", "naïve\t\n  spaces  ", "<|im_start|>user", "\x00\x7f"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return load_tokenizer(folder)


def save_sentence_piece(folder: Path) -> Tokenizer:
    """A vocabulary of Llama's older kind: ▁ for a space, <0xNN> for bytes that have no token."""
    from tokenizers import AddedToken, decoders, models, normalizers
    from tokenizers import Tokenizer as Backend

    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "s", "k", "y", "▁s", "▁sk"]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    merges = [("▁", "s"), ("▁s", "k")]
    backend = Backend(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens([AddedToken(token, special=True) for token in tokens[:3]])
    backend.save(str(folder / "tokenizer.json"))
    return load_tokenizer(folder)


@pytest.mark.parametrize("text", TEXTS)
def test_that_byte_level_tokens_add_up_to_the_text(tokenizer: Tokenizer, text: str) -> None:
    assert b"".join(map(tokenizer.token_bytes, tokenizer.encode(text))) == text.encode()


@given(st.text())
def test_that_no_text_loses_a_byte(tokenizer: Tokenizer, text: str) -> None:
    assert b"".join(map(tokenizer.token_bytes, tokenizer.encode(text))) == text.encode()


@pytest.mark.parametrize("text", ["sky", "s 日本 🎉 k", "y\n"])
def test_that_sentence_piece_tokens_add_up_to_the_text_after_its_leading_space(tmp_path: Path, text: str) -> None:
    tokenizer = save_sentence_piece(tmp_path)
    assert b"".join(map(tokenizer.token_bytes, tokenizer.encode(text))) == b" " + text.encode()


def test_that_a_sentence_piece_byte_token_is_that_byte(tmp_path: Path) -> None:
    tokenizer = save_sentence_piece(tmp_path)
    assert tokenizer.token_bytes(3 + 0xE6) == b"\xe6"


def test_that_special_tokens_show_their_written_form(tokenizer: Tokenizer) -> None:
    assert tokenizer.token_bytes(2) == b"<|im_end|>"
    assert tokenizer.is_special(2)
    assert not tokenizer.is_special(tokenizer.encode("a")[0])


def test_that_an_id_beyond_the_vocabulary_has_a_visible_form(tokenizer: Tokenizer) -> None:
    assert tokenizer.token_bytes(99999) == b"<|unused 99999|>"
    assert tokenizer.is_special(99999)


def test_that_all_end_ids_of_configs_and_tokenizer_count(folder: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    assert tokenizer.end_ids == {0, 2}
    save_tiny_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": 7}))
    assert load_tokenizer(tmp_path).end_ids == {2, 7}


@pytest.mark.parametrize(
    ("generation", "config", "ends"),
    [
        ([2, 0], 1, {0, 1, 2}),
        ([2, 300_000, -1], None, {2}),
        ([2, "<|im_end|>", 1.0, True, None, [0]], 0, {0, 2}),
        (-1, 300_000, {2}),
        ({"id": 0}, "2", {2}),
    ],
)
def test_that_of_contradictory_end_ids_all_count_that_a_token_can_have(
    tmp_path: Path, generation: Any, config: Any, ends: set[int]
) -> None:
    folder = make_tiny_model(tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": generation}))
    (folder / "config.json").write_text(json.dumps({**settings, "eos_token_id": config}))
    assert load_tokenizer(folder).end_ids == ends


def test_that_a_model_whose_end_ids_are_all_impossible_has_none(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [999_999]}))
    (folder / "config.json").write_text(json.dumps({**settings, "eos_token_id": -100}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|not in the vocabulary|>"}))
    assert load_tokenizer(folder).end_ids == frozenset()


def test_that_ids_and_chat_are_those_of_transformers(folder: Path, tokenizer: Tokenizer) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        assert tokenizer.encode(text) == theirs(text)["input_ids"]
        chat = theirs.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True)
        assert tokenizer.encode_chat(text) == chat["input_ids"]


def test_that_a_chat_ends_where_the_answer_starts(tokenizer: Tokenizer) -> None:
    text = b"".join(map(tokenizer.token_bytes, tokenizer.encode_chat("hi"))).decode()
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_that_a_model_without_a_chat_template_says_so(tmp_path: Path) -> None:
    save_tiny_tokenizer(tmp_path, chat_template=False)
    tokenizer = load_tokenizer(tmp_path)
    assert not tokenizer.has_chat_template
    with pytest.raises(UserError, match="no chat template"):
        tokenizer.encode_chat("hi")


@pytest.mark.parametrize("template", ["{{ raise_exception('no users') }}", "{% if", "{{ messages.x.y }}"])
def test_that_a_broken_chat_template_is_one_sentence(tmp_path: Path, template: str) -> None:
    save_tiny_tokenizer(tmp_path, chat_template=False)
    (tmp_path / "chat_template.jinja").write_text(template)
    with pytest.raises(UserError, match="switch the chat template off"):
        load_tokenizer(tmp_path).encode_chat("hi")


def test_that_a_chat_template_cannot_reach_python(tmp_path: Path) -> None:
    save_tiny_tokenizer(tmp_path, chat_template=False)
    (tmp_path / "chat_template.jinja").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}")
    with pytest.raises(UserError, match="switch the chat template off"):
        load_tokenizer(tmp_path).encode_chat("hi")


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_that_a_damaged_tokenizer_is_one_sentence(tmp_path: Path, name: str) -> None:
    save_tiny_tokenizer(tmp_path)
    (tmp_path / name).write_text("{ not json")
    with pytest.raises(UserError, match=rf"{name}.*download the model again"):
        load_tokenizer(tmp_path)


def test_that_a_chat_template_that_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    save_tiny_tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff{{ messages }}")
    with pytest.raises(UserError, match=r"chat_template\.jinja cannot be read .*download the model again"):
        load_tokenizer(tmp_path)


def test_that_a_character_shows_once_its_last_byte_is_there() -> None:
    stream = TextStream()
    assert [stream.feed(bytes([byte])) for byte in "é🎉".encode()] == ["", "é", "", "", "", "🎉"]
    assert stream.close() == ""


def test_that_an_unfinished_character_is_shown_as_a_replacement_at_the_end() -> None:
    stream = TextStream()
    assert stream.feed("🎉".encode()[:3]) == ""
    assert stream.close() == "\ufffd"


@given(st.text(), st.integers(1, 5))
def test_that_a_stream_gives_the_text_however_it_is_cut(text: str, step: int) -> None:
    data, stream = text.encode(), TextStream()
    pieces = [stream.feed(data[start : start + step]) for start in range(0, len(data), step)]
    assert "".join(pieces) + stream.close() == text
