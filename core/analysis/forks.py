"""Branches: what may follow at a recorded token instead, how a fork there is asked for, and how runs descend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.analysis.texts import quoted
from core.choices import Policy
from core.config import RunSettings
from core.errors import UserError
from core.trace.fork import Fork
from core.trace.overview import candidates_of
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that was recorded at a place of a run."""

    token_id: int
    text: bytes
    special: bool
    why: str
    """Where it comes from, in a few words."""


def alternatives(trace: ReadableTrace, token: int) -> list[Alternative]:
    """The token itself, then every other one that was recorded there: candidates in their order, then layers' own."""
    record, seen = trace.records[token], trace.overview
    itself = Alternative(int(seen.token_ids[token]), seen.texts[token], bool(seen.special[token]), "as it was")
    found = {itself.token_id: itself}
    for other in (*_drafted(record), *_own(record)):
        found.setdefault(other.token_id, other)
    return list(found.values())


def _drafted(record: TokenRecord) -> list[Alternative]:
    ids = candidates_of(record)
    if ids is None:
        return []
    if record.tree is None:
        texts = record.draft.candidate_bytes if record.draft else ()
    else:
        node = record.tree.nodes_by_token[record.token - record.tree.drafted.token]
        texts = record.tree.drafted.candidate_bytes[node * len(ids) : (node + 1) * len(ids)]
    told = zip(ids.tolist(), texts, strict=True)
    return [Alternative(one, text, False, f"the drafter’s candidate {at}") for at, (one, text) in enumerate(told, 1)]


def _own(record: TokenRecord) -> list[Alternative]:
    """What checks and audit found the layers themselves to say, the deepest layer first."""
    said = {layer: (check.argmax_id, check.argmax_bytes) for layer, check in record.verified.items()}
    if record.audit is not None:
        said |= dict(enumerate(zip(record.audit.token_ids.tolist(), record.audit.token_bytes, strict=True)))
    return [
        Alternative(token_id, text, False, f"layer {layer + 1}’s own token")
        for layer, (token_id, text) in sorted(said.items(), reverse=True)
    ]


def may_rerun(settings: RunSettings) -> bool:
    """Whether a run's own settings may be used again unasked: a policy of somebody's own is code in some file."""
    return settings.policy is not Policy.CUSTOM


def fork_at(
    trace: ReadableTrace, token: int, settings: RunSettings, *, choice: Alternative | None = None, text: str = ""
) -> Fork:
    """A request to leave a run at one of its emitted tokens.

    Args:
        trace: the origin.
        token: 0-based; those after it are not taken over.
        settings: what the branch is to run with.
        choice: takes the token's place; None keeps it.
        text: is typed in its place instead, as one token or several.

    Raises:
        UserError: the run has no such token, or is only looked at beside the session's own.
    """
    if trace.started is None or not 0 <= token < trace.emitted_count:
        raise UserError(f"The run has {trace.emitted_count} tokens and no token {token + 1}; choose one of them.")
    started, seen = trace.started, trace.overview
    if started.run < 0:
        raise UserError("This run belongs to another file; open that file to branch off it.")
    fork = Fork(
        origin=started.run,
        model=started.model,
        prompt=started.prompt,
        prompt_ids=started.prompt_ids,
        token_ids=seen.token_ids[: token + 1].copy(),
        exit_layers=seen.exit_layers[: token + 1].copy(),
        token_id=choice.token_id if choice and not text else None,
        text=text,
    )
    put = text.encode() if text else choice.text if choice else b""
    told = () if not put or put == seen.texts[token] else (_exchange(token, seen.texts[token], put),)
    return replace(fork, changed=(*told, *setting_changes(started.settings, settings)))


def _exchange(token: int, before: bytes, after: bytes) -> str:
    return f"token {token + 1} {quoted(before)} → {quoted(after)}"


def setting_changes(before: RunSettings, after: RunSettings) -> tuple[str, ...]:
    """The settings that differ, a clause each."""
    old, new = (_flat(one.to_json()) for one in (before, after))
    return tuple(
        f"{name.replace('_', ' ')} {_shown(old[name])} → {_shown(new[name])}" for name in new if old[name] != new[name]
    )


def _flat(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in values.items():
        inner = value if isinstance(value, dict) else None
        found |= {f"{prefix}{name}": value} if inner is None else _flat(inner, f"{prefix}{name} ")
    return found


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "none"
    return str(value) or "none"


def descent(origins: Mapping[int, int | None], number: int) -> list[int]:
    """A run with the runs that it descends from, the oldest first.

    Args:
        origins: as in `family_order`; the line ends where an origin is not there, or comes no sooner than its branch.
        number: the run's.
    """
    line = [number]
    while (origin := origins.get(line[0])) is not None and origin in origins and origin < line[0]:
        line.insert(0, origin)
    return line


def family_order(origins: Mapping[int, int | None]) -> list[tuple[int, int]]:
    """Runs with how many origins each has above it, branches right after theirs.

    Args:
        origins: by a run's number, in the order of the runs, the number of its origin or None. One that is not there,
            or a run that descends from itself, as a file may say, stands for none.
    """
    children: dict[int | None, list[int]] = {}
    for number, origin in origins.items():
        known = origin if origin in origins and origin is not None and origin < number else None
        children.setdefault(known, []).append(number)
    found: list[tuple[int, int]] = []
    waiting = [(number, 0) for number in reversed(children.get(None, []))]
    while waiting:
        number, level = waiting.pop()
        found.append((number, level))
        waiting += [(child, level + 1) for child in reversed(children.get(number, []))]
    return found
