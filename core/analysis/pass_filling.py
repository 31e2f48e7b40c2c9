"""Makes many `RecordedPass` of a stored run at once: their records would be objects for each layer of each pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.analysis.recorded_pass import RecordedPass, Said, Walk, judged_of
from core.trace.events import (
    Audited,
    BoolArray,
    IntArray,
    ScheduleChosen,
    TreeAccepted,
    TreeDrafted,
    TreeLayerRun,
    TreeVerified,
)
from core.trace.overview import Overview
from core.trace.stacking import Values
from core.trace.sweep import ANY, Rows, Swept, Wanted


def wanted(depth: int) -> Wanted:
    """What `swept_passes` needs of the events; `depth` is L."""
    return {
        TreeDrafted: {"node_ids": (ANY,), "parents": (ANY,), "candidate_ids": (ANY, ANY)},
        ScheduleChosen: {"active": (depth,)},
        TreeLayerRun: {"layer": None, "features": (ANY, ANY), "scores": (ANY,), "path_scores": (ANY,)},
        TreeVerified: {"layer": None, "walk": (ANY,), "argmax_ids": (ANY,), "margins": (ANY,)},
        TreeAccepted: {"accepted": (ANY,)},
        Audited: {"token_ids": (depth,), "margins": (depth,)},
    }


class PassBuilder:
    """The passes of some tokens that were read together."""

    def __init__(self, swept: Swept, overview: Overview, end_id: int) -> None:
        """`end_id` is the token that ended the text; -1 for none."""
        self._swept, self._overview, self._end_id = swept, overview, end_id
        self._rows = {kind: _Cut(swept.rows[kind]) for kind in wanted(overview.depth)}

    def build(self, first: int, last: int, *, cut: bool) -> RecordedPass | None:
        """The pass of the tokens first…last - 1; None where something is unusual: its records have to tell."""
        if not self._swept.whole[first - self._swept.first : last - self._swept.first].all():
            return None
        try:
            return self._built(first, last, cut=cut)
        except _Unusual:
            return None

    def _built(self, first: int, last: int, *, cut: bool) -> RecordedPass:
        drafted, schedule, accepted = (
            self._rows[kind].one(first) for kind in (TreeDrafted, ScheduleChosen, TreeAccepted)
        )
        _check_tree(drafted)
        nodes = np.append(0, accepted["accepted"])
        _require(((nodes >= 0) & (nodes < len(drafted["parents"]))).all() and len(nodes) >= last - first)
        return RecordedPass(
            first=first,
            exit_layer=int(self._overview.exit_layers[first]),
            tokens=tuple(self._overview.token_ids[first:last].tolist()),
            cut=cut,
            active=schedule["active"],
            node_ids=drafted["node_ids"].copy(),
            parents=drafted["parents"].copy(),
            candidate_ids=drafted["candidate_ids"].copy(),
            **self._judged(first, drafted["parents"]),
            walks=self._walks(first, len(drafted["parents"])),
            audits=self._audits(first, last, nodes),
            end_id=self._end_id,
        )

    def _judged(self, first: int, parents: IntArray) -> dict[str, Any]:
        """The layers whose predictor was asked, and what it saw and said; that is alike at all of them."""
        rows, n = self._rows[TreeLayerRun], len(parents)
        here = rows.span(first)
        layers, asked = rows["layer"].between(here), np.flatnonzero(rows["features"].present(here)) + here.start
        _require((np.diff(layers) > 0).all())
        for name, size in (("scores", n), ("path_scores", n - len(np.unique(parents[1:])))):
            sizes = rows[name].sizes(here)
            _require(((sizes == 0) | (sizes == size)).all())
        if not len(asked):
            return {"layers": (), "judged": judged_of([])}
        features, scores, paths = (rows[name].together(asked) for name in ("features", "scores", "path_scores"))
        _require(features.shape[1] == n)
        seen = features[:, :, : 2 * (features.shape[2] // 3)].copy()
        return {"layers": tuple(layers[asked - here.start].tolist()), "judged": (seen, scores.copy(), paths.copy())}

    def _walks(self, first: int, nodes: int) -> Mapping[int, Walk]:
        found: dict[int, Walk] = {}
        for one in self._rows[TreeVerified].all(first):
            walk, said = one["walk"], Said(one["argmax_ids"].copy(), one["margins"].copy())
            _require(len(walk) == len(said.token_ids) == len(said.margins) and len(walk) and walk[0] == 0)
            _require(((walk >= 0) & (walk < nodes)).all() and int(one["layer"]) not in found)
            found[int(one["layer"])] = Walk(walk.copy(), said)
        return found

    def _audits(self, first: int, last: int, nodes: IntArray) -> Mapping[int, Said]:
        found = {}
        for node, token in zip(nodes.tolist(), range(first, last), strict=False):
            audit = self._rows[Audited].one(token)
            found[node] = Said(audit["token_ids"].copy(), audit["margins"].copy())
        return found


class _Unusual(Exception):
    """A pass is not told of as the engine does."""


def _require(fits: Any) -> None:
    if not fits:
        raise _Unusual


def _check_tree(drafted: Mapping[str, Any]) -> None:
    parents = drafted["parents"]
    _require(len(parents) and len(parents) == len(drafted["node_ids"]) == len(drafted["candidate_ids"]))
    _require(parents[0] == -1 and (parents[1:] >= 0).all() and (parents < np.arange(len(parents))).all())


class _Cut:
    """The events of one class, each with its fields' own values."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._sorted = bool((np.diff(rows.tokens) >= 0).all())
        self._columns = {name: _Column(values) for name, values in rows.fields.items()}

    def __getitem__(self, name: str) -> _Column:
        return self._columns[name]

    def span(self, token: int) -> slice:
        """Where those of a token stand; raises `_Unusual`."""
        _require(self._sorted)
        begin, end = (int(np.searchsorted(self._rows.tokens, token, side)) for side in ("left", "right"))
        return slice(begin, end)

    def one(self, token: int) -> Mapping[str, Any]:
        """The only one of a token; raises `_Unusual`."""
        found = self.all(token)
        _require(len(found) == 1)
        return found[0]

    def all(self, token: int) -> list[Mapping[str, Any]]:
        """Those of a token, in their order; raises `_Unusual`."""
        here = self.span(token)
        rows = range(here.start, here.stop)
        return [{name: column.at(row) for name, column in self._columns.items()} for row in rows]


class _Column:
    """One field; a row's place is that of its value among those that are there."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._places = np.cumsum(values.present) - 1
        self._counts = values.counts
        self._starts = np.append(0, np.cumsum(self._counts))

    def at(self, row: int) -> Any:
        """An event's value, which has to be there."""
        place = self._places[row]
        if self._values.sizes is None:
            return self._values.values[place]
        return self._values.values[self._starts[place] : self._starts[place + 1]].reshape(self._values.sizes[place])

    def present(self, rows: slice) -> BoolArray:
        return self._values.present[rows]

    def between(self, rows: slice) -> Any:
        """The numbers of these rows, all of which have one."""
        return self._values.values[rows]

    def sizes(self, rows: slice) -> IntArray:
        """How many numbers these rows have, all of which have a value."""
        return self._counts[rows]

    def together(self, rows: IntArray) -> Any:
        """The arrays of these rows as one; raises `_Unusual` where they are not alike, or others stand between them."""
        assert self._values.sizes is not None, "only arrays of any length need this"
        places = self._places[rows]
        shape = self._values.sizes[places[0]]
        _require((self._values.sizes[places] == shape).all())
        begin, end = self._starts[places[0]], self._starts[places[-1] + 1]
        _require(end - begin == len(places) * shape.prod())
        return self._values.values[begin:end].reshape(len(places), *shape)
