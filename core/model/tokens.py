"""Text to token ids and back, byte for byte.

Reads `tokenizer.json` through the `tokenizers` library alone and renders chat templates in Jinja's sandbox: importing
transformers for either would add a second to every start.
"""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.config import is_text
from core.errors import UserError
from core.model.chat import ChatTemplate
from core.model.tokenizer_file import read_backend, stages

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

SPACE_MARK = "▁"
"""What SentencePiece writes for a space."""


class Tokenizer:
    """A model's vocabulary."""

    def __init__(self, backend: Backend, end_ids: frozenset[int], template: ChatTemplate | None) -> None:
        self._backend, self._template = backend, template
        self.end_ids = end_ids
        """Ids that end a text; there can be several, or none."""
        self._added = {id_: token.content for id_, token in backend.get_added_tokens_decoder().items()}
        self._special = {id_ for id_, token in backend.get_added_tokens_decoder().items() if token.special}
        self._byte_level = _is_byte_level(stages(backend))

    @property
    def has_chat_template(self) -> bool:
        """Whether `encode_chat` can be used."""
        return self._template is not None

    def encode(self, text: str) -> list[int]:
        """The ids of plain text, with the mark that starts a text where the model has one."""
        return list(self._backend.encode(text).ids)

    def encode_more(self, text: str) -> list[int]:
        """The ids of plain text that goes on from other text: without the mark that starts one."""
        return list(self._backend.encode(text, add_special_tokens=False).ids)

    def encode_chat(self, prompt: str) -> list[int]:
        """The ids of a conversation in which the user says `prompt` and the model is about to answer.

        Raises:
            UserError: the model has no chat template, or its template fails.
        """
        if self._template is None:
            raise UserError("This model has no chat template; switch the chat template off.")
        text = self._template.render([{"role": "user", "content": prompt}])
        return list(self._backend.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token_id: int) -> bytes:
        """The exact bytes that a token adds to a text; a special token's written form.

        A space that a SentencePiece vocabulary puts before the first word of a text is kept: ids that follow a
        prompt need it. Ids beyond the vocabulary, which padded LM heads can emit, get a visible form.
        """
        if token_id in self._added:
            return self._added[token_id].encode()
        token = self._backend.id_to_token(token_id)
        if token is None:
            return f"<|unused {token_id}|>".encode()
        return _byte_level_bytes(token) if self._byte_level else _sentence_piece_bytes(token)

    def is_special(self, token_id: int) -> bool:
        """Whether this id is a control token rather than text."""
        return token_id in self._special or self._backend.id_to_token(token_id) is None


class TextStream:
    """Decodes UTF-8 that arrives in pieces: a character shows once its last byte is there."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """The text that `data` completes; bytes that can never become a character turn into U+FFFD."""
        return self._decoder.decode(data)

    def close(self) -> str:
        """U+FFFD for a character that was left unfinished, or nothing."""
        return self._decoder.decode(b"", final=True)


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of the model in `folder`.

    Raises:
        UserError: there is none that can be read.
    """
    backend = _load_backend(folder)
    settings = _read_object(folder / "tokenizer_config.json")
    return Tokenizer(backend, _end_ids(folder, settings, backend), _template(folder, settings))


def _load_backend(folder: Path) -> Backend:
    path = folder / "tokenizer.json"
    if not path.is_file():
        return _convert_backend(folder)
    try:
        return read_backend(path)
    except Exception as error:  # the library raises bare Exception for every kind of damage
        raise UserError(f"{path} is not a readable tokenizer ({error}); download the model again.") from error


def _convert_backend(folder: Path) -> Backend:
    """A vocabulary of an older kind (`tokenizer.model`, `vocab.json`), through transformers."""
    try:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder).backend_tokenizer  # type: ignore[no-any-return]
    except Exception as error:  # transformers raises many kinds, ImportError among them
        raise UserError(
            f"{folder} has no tokenizer.json, and no older vocabulary there can be converted; download the model "
            "with all its files."
        ) from error


def _end_ids(folder: Path, settings: dict[str, Any], backend: Backend) -> frozenset[int]:
    """Every end that the generation config, the config and the tokenizer name, however they differ.

    What no token can have is passed over: an id below 0 or beyond the vocabulary, or something that is no whole
    number. The model cannot emit it, so it can end nothing; where no end is left, length and stop strings do.
    """
    config = _read_object(folder / "config.json")
    named = [_read_object(folder / "generation_config.json").get("eos_token_id"), config.get("eos_token_id")]
    text = _token_text(settings.get("eos_token"))
    named.append(None if text is None or not is_text(text) else backend.token_to_id(text))
    ids = [one for value in named for one in (value if isinstance(value, list) else [value])]
    size = config.get("vocab_size")
    beyond = size if type(size) is int else backend.get_vocab_size()
    return frozenset(one for one in ids if type(one) is int and 0 <= one < beyond)


def _template(folder: Path, settings: dict[str, Any]) -> ChatTemplate | None:
    source = settings.get("chat_template")
    if isinstance(source, list):
        named = {entry.get("name"): entry.get("template") for entry in source if isinstance(entry, dict)}
        source = named.get("default")
    path = folder / "chat_template.jinja"
    if path.is_file():
        source = _read_text(path)
    if not isinstance(source, str):
        return None
    names = ("bos_token", "eos_token", "unk_token", "pad_token")
    specials = {name: text for name in names if (text := _token_text(settings.get(name))) is not None}
    return ChatTemplate(source, specials)


def _token_text(value: Any) -> str | None:
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def _read_text(path: Path) -> str:
    """Raises `UserError` where the file cannot be read, or is no text."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); download the model again.") from error


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in `path`; empty where there is no such file.

    Raises:
        UserError: the file is damaged.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); download the model again.") from error
    return values if isinstance(values, dict) else {}


def _is_byte_level(part: Any) -> bool:
    """Whether any stage of a tokenizer is GPT-2's byte-level one."""
    if isinstance(part, list):
        return any(_is_byte_level(one) for one in part)
    if not isinstance(part, dict):
        return False
    if part.get("type") == "ByteLevel":
        return True
    return any(_is_byte_level(part.get(parts)) for parts in ("pretokenizers", "decoders"))


def _byte_alphabet() -> dict[str, int]:
    """The printable character that stands for each byte: itself where printable, else one from U+0100 on (GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _byte_alphabet()


def _byte_level_bytes(token: str) -> bytes:
    return b"".join(bytes([_BYTES[char]]) if char in _BYTES else char.encode() for char in token)


def _sentence_piece_bytes(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        try:
            return bytes([int(token[3:5], 16)])
        except ValueError:
            return token.encode()
    return token.replace(SPACE_MARK, " ").encode()
