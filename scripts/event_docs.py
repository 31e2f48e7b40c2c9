"""Writes `docs/events.md` from the event classes, so that the schema and its description cannot part.

`python -m scripts.event_docs` writes it; a test compares it with what stands there.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from enum import Enum
from pathlib import Path
from typing import Any

from core.trace import events, values
from core.trace.fields import KINDS, hints_of
from core.trace.jsonl import FORMAT, VERSION

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "events.md"
PARTS = ("ModelInfo", "StageTimes", "Branch")
"""Values that are objects of their own."""
COMMON = {
    "run": "Number of the run; a file may hold several, one after the other.",
    "token": "0-based index of the generated token.",
    "layer": "0-based.",
}
TYPES = {
    int: "whole number",
    float: "number, null for NaN",
    bool: "true or false",
    str: "text",
    bytes: "bytes in base64",
    tuple[bytes, ...]: "list of bytes in base64",
    events.IntArray: "list of whole numbers",
    events.FloatArray: "list of numbers, null for NaN",
    events.FloatArray | None: "list of numbers, or null",
    events.BoolArray: "list of true and false",
    events.Branch | None: "[Branch](#branch), or null",
    tuple[str, ...]: "list of texts",
}
HEAD = f"""# The events of a run

This page is made from `core/trace/events.py` and `values.py` by `python -m scripts.event_docs`; change it in their
docstrings.

A file of events is JSON Lines in UTF-8: one object a line, at most 8 million characters long. The first line names the
format: `{{"format": "{FORMAT}", "version": {VERSION}}}`. Every other line is an event: `{{"event": "TokenEmitted", …}}`
names its kind, the other keys are the fields below. The version goes up when a field changes its meaning or one without
a default is added; a field with a default may be left out.

`specee-viewer run --out FILE.jsonl` and `specee-viewer export FILE.specee --jsonl FILE.jsonl` write such files, and
`specee-viewer import FILE.jsonl` makes a session of one, whoever wrote it; [write_trace.py](write_trace.py) is a writer
in a few lines. On import every line is checked; the first that does not fit is named by its number.

Rules beside the fields' own:

- A run begins with `RunStarted` and ends with `RunEnded`. Between them only `TokenEmitted` is needed, once a token, in
  their order from 0 on; token 0 comes from the prompt.
- What is told of a token comes before its `TokenEmitted`; `KVUpdated` and `Audited` may also follow it, until the next
  token's first event.
- Layers are 0-based; an *exit layer* counts layers run, 1…L. L is the model's depth, k the number of candidates.
- Arrays of several axes are lists of lists, in the order that "Shape" gives.
- Ids of tokens are below the model's vocabulary; lists that belong together have one length.
"""

SETTINGS = """
### RunSettings

The settings of a run, as in `core/config.py`. `policy`, `scheduler`, `kv_policy`, `record`, `sampling` and `stop` must
be there; an empty object stands for defaults. For another engine, `policy` is the rule nearest to its own.
"""


def render() -> str:
    """The whole document."""
    docs = _docstrings()
    parts = [HEAD, "\n## Events\n"]
    parts += [_section(name, kind, docs) for name, kind in KINDS.items()]
    parts.append("\n## Values\n")
    parts += [_section(name, getattr(events, name), docs) for name in PARTS]
    parts += [_words(kind, docs) for kind in _enums()]
    parts.append(SETTINGS)
    return "".join(parts)


def _section(name: str, kind: type[Any], docs: dict[str, str]) -> str:
    lines = [f"\n### {name}\n"]
    if about := docs.get(name):
        lines.append(f"\n{about}\n")
    lines.append("\n| field | value | meaning |\n| --- | --- | --- |\n")
    for field, hint in hints_of(kind).items():
        meaning = docs.get(f"{name}.{field}") or COMMON.get(field, "")
        default = "" if field not in _defaults(kind) else f" Default: `{_defaults(kind)[field]}`."
        lines.append(f"| `{field}` | {_type(hint)} | {(meaning + default).strip()} |\n")
    return "".join(lines)


def _words(kind: type[Enum], docs: dict[str, str]) -> str:
    about = docs.get(kind.__name__, "")
    rows = [f'| `"{one.value}"` | {docs.get(f"{kind.__name__}.{one.name}", "")} |\n' for one in kind]
    return f"\n### {kind.__name__}\n\n{about}\n\n| word | meaning |\n| --- | --- |\n" + "".join(rows)


def _enums() -> list[type[Enum]]:
    ours = events.__name__, values.__name__
    named = [one for one in vars(events).values() if isinstance(one, type) and issubclass(one, Enum)]
    return [one for one in named if one.__module__ in ours]


def _defaults(kind: type[Any]) -> dict[str, Any]:
    fields = kind.__dataclass_fields__.values()
    return {field.name: repr(field.default).lower() for field in fields if field.default is not dataclasses.MISSING}


def _type(hint: Any) -> str:
    if hint in TYPES:
        return TYPES[hint]
    if isinstance(hint, type):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return "object of texts"


def _docstrings() -> dict[str, str]:
    """The docstrings of classes and of their fields, as "Class" and "Class.field", each as one line."""
    found: dict[str, str] = {}
    for node in [*ast.parse(inspect.getsource(values)).body, *ast.parse(inspect.getsource(events)).body]:
        if not isinstance(node, ast.ClassDef):
            continue
        found[node.name] = _line(ast.get_docstring(node) or "")
        for before, after in zip(node.body, node.body[1:], strict=False):
            name = _name(before)
            if name and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found[f"{node.name}.{name}"] = _line(str(after.value.value))
    return found


def _name(node: ast.stmt) -> str:
    target = (
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
    )
    return target.id if isinstance(target, ast.Name) else ""


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    DOCUMENT.write_text(render(), encoding="utf-8")
