"""What the engine says of quality of service, budgets and summaries, as the API describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muntin.engine.engine import Engine
from muntin.specs.qos import QosGraph


@dataclass(frozen=True)
class Measures:
    """Reads the engine's figures about too much; an engine that has none answers with none.

    Args:
        engine: The engine.
    """

    engine: Engine

    def budgets(self) -> list[dict[str, Any]]:
        """Return what is limited: state, if the engine was given a budget of memory, and work."""
        found = [own for own in map(_budget, self.engine.budgets().to_pylist()) if own is not None]
        if self.engine.memory is not None:
            used, limit = self.engine.estimated_bytes(), self.engine.memory
            found.insert(0, {"name": "memory", "used": used, "limit": limit, "unit": "bytes"})
        return found

    def qos(self) -> list[dict[str, Any]]:
        """Return where each query is on its graphs, for queries that have any."""
        policies = {
            (row["stream"], row["query"]): row["policy"]
            for row in self.engine.budgets().to_pylist()
            if row["query"] is not None
        }
        found = []
        for record in self.engine.queries():
            handle = self.engine.handle(record.id)
            qos = handle.qos
            if qos is None:
                continue
            counts = self.engine.stream_of(record.stream).counts_of(record.number)
            whole = counts.used + counts.shed
            share = counts.used / whole if whole else None
            graphs = [_graph(qos.delay, handle.delay), _graph(qos.share, share)]
            graphs += [] if qos.value is None else [_graph(qos.value, None)]
            policy = policies.get((record.stream, record.name or record.id))
            cost = f"{counts.shed:,} of {whole:,} rows" if counts.shed else None
            found.append(
                {
                    "query": record.name or record.id,
                    "graphs": graphs,
                    "shed": counts.shed,
                    "policy": policy,
                    "cost": cost,
                }
            )
        return found

    def summaries(self) -> list[Mapping[str, Any]]:
        """Return the summaries that the engine keeps; it keeps none of its own yet."""
        return []


def _budget(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the share of the work that a query may do, and the share that it did."""
    if row["share"] is None or row["query"] is None:
        return None
    asked = (row["used"] or 0) + (row["shed"] or 0) + (row["waiting"] or 0)
    return {
        "name": f"{row['query']}, {row['policy']}",
        "used": (row["used"] or 0) / asked if asked else 0.0,
        "limit": row["share"],
        "unit": "of its rows",
    }


def _graph(graph: QosGraph, now: float | None) -> dict[str, Any]:
    """Return a graph as points, and where a query is on it."""
    return {
        "about": graph.about if graph.column is None else f"{graph.about} of {graph.column}",
        "points": [[position, worth] for position, worth in graph.points],
        "now": now,
        "worth": None if now is None else graph.worth(now),
    }
