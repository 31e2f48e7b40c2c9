"""What a check by the low-rank head's shortlist misses: the layer's own token, where it is not among the shortlist.

An audit tells, for it looks at the whole vocabulary. A miss costs an exit, or lets another token out.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.choices import Head
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord


def shortlist_checks(record: TokenRecord) -> list[bool]:
    """For each check of an audited token, whether its token was another than the layer's over the whole vocabulary.

    In a tree's pass those of the checks count that were made after the node from which the token comes.
    """
    audit = record.audit
    if audit is None:
        return []
    if record.tree is None:
        return [check.argmax_id != audit.token_ids[layer] for layer, check in record.verified.items()]
    nodes, at = record.tree.nodes_by_token, record.token - record.tree.drafted.token
    found = []
    for layer, walk in record.tree.verified.items():
        pairs = zip(walk.walk, walk.argmax_ids, strict=True)
        found += [token_id != audit.token_ids[layer] for node, token_id in pairs if node == nodes[at]]
    return list(map(bool, found))


def miss_rate(records: Iterable[TokenRecord]) -> float | None:
    """Share of these tokens' checks that a shortlist missed; None where none was audited."""
    checks = [missed for record in records for missed in shortlist_checks(record)]
    return sum(checks) / len(checks) if checks else None


def shortlist_miss_rate(trace: ReadableTrace) -> float | None:
    """`miss_rate` of a run; None where it checked with the full head or was not audited. Reads every record."""
    if trace.started is None or trace.started.settings.check is Head.FULL:
        return None
    return miss_rate(trace.records[token] for token in range(trace.emitted_count))
