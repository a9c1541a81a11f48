"""What an engine tells about its load: what fits, how good answers are, and what is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from muntin.engine.engine_stream import EngineStream
from muntin.engine.overload.batch_times import FEWEST
from muntin.engine.overload.qos_of_query import qos_of
from muntin.engine.overload.shedder import why_not_native
from muntin.engine.overload.sizing import (
    HEADROOM,
    MeasuredStream,
    Sizing,
    check_headroom,
    not_measured,
    read_rate,
    sized,
)
from muntin.engine.registry import Registry
from muntin.engine.registry_records import RUNNING, TAP, QueryRecord
from muntin.errors import ArgumentError
from muntin.specs.qos import QosGraph


class EngineLoad:
    """The part of :class:`muntin.Engine` that tells what there is too much of."""

    registry: Registry
    _memory: int | None
    _streams: dict[str, EngineStream]

    if TYPE_CHECKING:

        def stream_of(self, name: str) -> EngineStream: ...
        def estimated_bytes(self, stream: str | None = None) -> int: ...

    def sizing(
        self, rates: Mapping[str, object] | None = None, *, headroom: float = HEADROOM
    ) -> dict[str, Sizing]:
        """Return for streams whether they fit at some rates, and what to give up if not.

        Rates times measured costs and selectivity are compared with the capacity. Nothing changes.

        Args:
            rates: The rows a second of streams by name, such as ``{"traffic": 50_000}`` or
                ``{"traffic": "50000/s"}``; those of the last micro-batches by default.
            headroom: The share of the capacity that is to be used in the long run; the rest is for
                questions that are asked once, and for disturbances.
        """
        used = check_headroom(headroom)
        if rates is not None and not isinstance(rates, Mapping):
            raise ArgumentError("rates", rates, "it is a mapping, such as {'traffic': 50_000}")
        names = [*self._streams] if rates is None else [*rates]
        found = {}
        for name in names:
            measured = self._measured(self.stream_of(name))
            rate = self._rate_now(name) if rates is None else read_rate("rates", rates[name])
            found[name] = sized(measured, rate, used)
        return found

    def _rate_now(self, name: str) -> float:
        known = [batch for batch in self.stream_of(name).load.times.measured if batch.began]
        batches = known[-FEWEST:]
        if not batches:
            return 0.0
        passed = batches[-1].began - batches[0].began + batches[-1].seconds
        return sum(batch.rows for batch in batches) / max(passed, 1e-9)

    def _measured(self, stream: EngineStream) -> MeasuredStream:
        """Return what was measured of a stream; raise if that is too little."""
        times = stream.load.times
        line = times.line
        if line is None:
            raise not_measured(stream.name, sum(b.rows > 0 for b in times.measured), FEWEST)
        queries = {}
        for record in self._running_of(stream):
            qos, cost = qos_of(record), stream.cost(record)
            least = 1.0 if qos is None else qos.least_share
            queries[cost.query] = (cost.cpu_seconds, cost.selectivity or 0.0, least)
        own = stream.costs.cpu_seconds()
        shared = max(0.0, own - sum(seconds for seconds, _, _ in queries.values()))
        return MeasuredStream(stream.name, line, stream.load.interval, queries, shared)

    def _running_of(self, stream: EngineStream) -> list[QueryRecord]:
        live = self.registry.live(stream.name)
        return [own for own in live if own.status in RUNNING and own.emit != TAP]

    def quality(self) -> list[dict[str, object]]:
        """Return for each query that says so what its answers are worth, and where they are now.

        A row has ``query``, ``graphs`` with ``about``, ``points``, ``now`` and ``worth``, and
        ``shed``, ``policy`` and ``cost``.
        """
        return [
            row
            for stream in self._streams.values()
            for record in self._running_of(stream)
            if (row := self._quality_of(stream, record)) is not None
        ]

    def _quality_of(self, stream: EngineStream, record: QueryRecord) -> dict[str, object] | None:
        qos = qos_of(record)
        if qos is None:
            return None
        counts = stream.counts_of(record.number)
        budget = self.registry.decision(stream.name).queries.get(record.id)
        total = counts.used + counts.shed + counts.waiting
        graphs = [_graph_now(qos.delay, stream.load.delay(record.number))]
        if qos.tolerant:
            graphs.append(_graph_now(qos.share, counts.used / total if total else None))
        if qos.value is not None:
            graphs.append(_graph_now(qos.value, None))
        cost = stream.cost(record)
        return {
            "query": record.name or record.id,
            "graphs": graphs,
            "shed": counts.shed,
            "policy": None if budget is None else str(budget.policy),
            "cost": f"{cost.cpu_seconds:.3f} s of processor time",
        }

    def overload(self) -> dict[str, dict[str, object]]:
        """Return for each stream what is done about overload now, and why.

        A stream has ``kept``, the share of its rows that queries see; ``steps``, what was done, the
        last one last; ``why``; and ``native``, which is None or why no row is shed before queries
        see it.
        """
        return dict(self._overload_of(stream) for stream in self._streams.values())

    def _overload_of(self, stream: EngineStream) -> tuple[str, dict[str, object]]:
        control = stream.shedder.control
        graphs = {own.number: qos_of(own) for own in self._running_of(stream)}
        return stream.name, {
            "kept": self.registry.decision(stream.name).kept,
            "steps": [*control.steps],
            "why": control.why or None,
            "native": why_not_native(stream, graphs),
        }

    def spent(self) -> list[dict[str, object]]:
        """Return what is limited: ``name``, ``used``, ``limit`` and ``unit`` of each budget."""
        return [*self._spent()]

    def _spent(self) -> Iterator[dict[str, object]]:
        if self._memory is not None:
            used = self.estimated_bytes()
            yield {"name": "memory", "used": used, "limit": self._memory, "unit": "bytes"}
        for stream in self._streams.values():
            last, limits = stream.load.times.measured[-1:], stream.shedder.limits
            limit = stream.load.interval or (0.0 if limits is None else limits.interval)
            if last and limit:
                yield {
                    "name": f"micro-batches of {stream.name}",
                    "used": round(last[0].seconds, 3),
                    "limit": limit,
                    "unit": "seconds",
                }


def _graph_now(graph: QosGraph, now: float | None) -> dict[str, object]:
    about = graph.about if graph.column is None else f"{graph.about} of {graph.column}"
    return {
        "about": about,
        "points": [list(point) for point in graph.points],
        "now": now,
        "worth": None if now is None else graph.worth(now),
    }
