"""What a stream's queries have cost since the engine started, by part and by member [AV-28].

A part is a group of queries, or what all of them share: reading rows, and choosing rows. Nothing
is decided by these figures, and they are not kept: another start begins from zero.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.engine.registry_records import RUNNING, QueryRecord
from muntin.spark.exchange.part_meter import MAP_SIDE


@dataclass(frozen=True)
class PartCost:
    """What a part has cost.

    Attributes:
        cpu_seconds: Processor time in tasks, for rows and in shards.
        cells: The rows that its queries sent to shards, after rows were combined.
        message_bytes: The bytes of these.
        state_bytes: The bytes that it keeps now, over all shards.
    """

    cpu_seconds: float = 0.0
    cells: int = 0
    message_bytes: int = 0
    state_bytes: int = 0

    def __add__(self, other: PartCost) -> PartCost:
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return PartCost(*(mine + others for mine, others in both))


@dataclass
class StreamCosts:
    """Adds up what the micro-batches of a stream report."""

    rows: int = 0
    _parts: dict[str, PartCost] = field(default_factory=dict)
    _state: dict[int, dict[str, int]] = field(default_factory=dict)
    _rows_before: dict[int, int] = field(default_factory=dict)
    _answer_bytes: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(
        self,
        costs: Iterable[pa.Table],
        rows: int,
        answers: Mapping[int, pa.Table],
        live: Iterable[QueryRecord],
    ) -> None:
        """Add a micro-batch: what its shards report, its rows, and the queries that saw them."""
        with self._lock:
            for table in costs:
                for report in table.to_pylist():
                    self._add(report)
            for query in live:
                if query.status in RUNNING and query.since is not None:
                    self._rows_before.setdefault(query.number, self.rows)
            for member, table in answers.items():
                self._answer_bytes[member] = self._answer_bytes.get(member, 0) + table.nbytes
            self.rows += rows

    def _add(self, report: Mapping[str, int | str]) -> None:
        part, shard = str(report["part"]), int(report["shard"])
        figures = {name: int(report[name]) for name in ("cells", "message_bytes")}
        cost = PartCost(int(report["cpu_ns"]) / 1e9, **figures)
        self._parts[part] = self._parts.get(part, PartCost()) + cost
        if shard != MAP_SIDE:
            self._state.setdefault(shard, {})[part] = int(report["state_bytes"])

    def part(self, name: str) -> PartCost:
        """Return what a part has cost."""
        with self._lock:
            kept = sum(parts.get(name, 0) for parts in self._state.values())
            return replace(self._parts.get(name, PartCost()), state_bytes=kept)

    def cpu_seconds(self) -> float:
        """Return the processor time of all parts."""
        with self._lock:
            return sum(part.cpu_seconds for part in self._parts.values())

    def seconds_of_a_unit(self) -> float | None:
        """Return the processor time of a unit of work, as measured; None before any row.

        Rows are read once for all queries, so that a unit is a row of the stream.
        """
        with self._lock:
            spent = sum(part.cpu_seconds for part in self._parts.values())
            return spent / self.rows if self.rows and spent else None

    @property
    def state_bytes(self) -> int:
        """What all parts keep, as the shards reported it last."""
        with self._lock:
            return sum(sum(parts.values()) for parts in self._state.values())

    def rows_seen(self, member: int) -> int:
        """Return how many rows the stream has read since a member began."""
        with self._lock:
            return self.rows - self._rows_before.get(member, self.rows)

    def answer_bytes(self, member: int) -> int:
        """Return the bytes of the answers of a member."""
        with self._lock:
            return self._answer_bytes.get(member, 0)
