"""What an engine tells about its queries: what they cost and share, and rows on their way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.engine.asking.answer_modes import about_answers, seconds_of
from muntin.engine.costs.demand import StreamDemand, demand_of
from muntin.engine.costs.full_taps import tap_in
from muntin.engine.costs.network_graph import SOURCE, NetworkDrawing, SinkFigures, StreamNetwork
from muntin.engine.costs.query_cost import RunningPart, in_words, table_of
from muntin.engine.costs.state_estimate import total_bytes
from muntin.engine.costs.tap_handle import (
    TapHandle,
    check_rows,
    query_tap,
    stream_tap,
    with_condition,
)
from muntin.engine.costs.would_add import Addition, addition
from muntin.engine.engine_stream import EngineStream
from muntin.engine.filling.stream_panes import StreamPanes
from muntin.engine.overload.draw_graphs import drawn_graphs
from muntin.engine.overload.qos_of_query import qos_of
from muntin.engine.planning.early_queries import emission_of
from muntin.engine.registry import Registry
from muntin.engine.registry_records import TAP, QueryRecord
from muntin.engine.sinks.deliveries import Deliveries
from muntin.errors import ArgumentError, EngineError, UnknownQueryError
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.program import QueryProgram, Tap
from muntin.specs.byte_sizes import written_bytes

if TYPE_CHECKING:
    from muntin.engine.plan_query import PlannedQuery


class EngineCosts:
    """The part of :class:`muntin.Engine` that tells what queries cost and share."""

    registry: Registry
    deliveries: Deliveries
    _memory: int | None
    _streams: dict[str, EngineStream]

    if TYPE_CHECKING:

        def stream_of(self, name: str) -> EngineStream: ...
        def _planned(
            self, text: str, until: object = None
        ) -> tuple[EngineStream, PlannedQuery]: ...
        def _commanded(self, stream: EngineStream) -> None: ...

    def costs(self) -> pa.Table:
        """Return what the live queries have cost since the engine started, a row for each.

        The columns are those of :class:`~muntin.engine.costs.query_cost.QueryCost`, which
        ``handle.cost`` returns.
        """
        parts = {name: stream.shared() for name, stream in self._streams.items()}
        return table_of(
            self._streams[record.stream].cost(record, parts[record.stream])
            for record in self.registry.search()
            if record.stream in parts
        )

    def network(self) -> dict[str, StreamNetwork]:
        """Return what runs for each stream: its parts with the queries that share them.

        Each is a list of parts, has ``boxes`` and ``arrows`` with the rows that took them, and is
        drawn by its ``svg``.
        """
        return {name: self._network_of(stream) for name, stream in self._streams.items()}

    def _network_of(self, stream: EngineStream) -> StreamNetwork:
        parts = stream.shared()
        drawing = NetworkDrawing()
        batches = 0 if stream.history is None else len(stream.history.kept.batches())
        drawing.source(stream.name, stream.costs.rows, None if stream.keep is None else batches)
        for part in parts:
            drawing.part(part, stream.costs.part(part.name), stream.costs.rows)
        for record in self.registry.search(stream=stream.name):
            cost = stream.cost(record, parts)
            own = _part_of(parts, cost.query)
            from_kept = stream.keep is not None and record.start != "now"
            drawing.query(cost, own, record.status, from_kept=from_kept)
        for sink in self._sinks(stream):
            drawing.sink(sink)
        for tap in self._taps(stream):
            copied = stream.answers().read([tap.number]).num_rows
            box = self._tapped_box(parts, tap_in(tap))
            drawing.tap(tap.id, box, copied, tap_in(tap).most)
        listed = [{"kind": part.kind, "queries": list(part.queries)} for part in parts]
        return StreamNetwork(stream.name, listed, drawing.boxes, drawing.arrows)

    def _sinks(self, stream: EngineStream) -> list[SinkFigures]:
        """Return the sinks and triggers of a stream's queries, and the rows that they got."""
        by_number = {status.record.number: status for status in self.deliveries.status()}
        found = []
        for sink in self.registry.sinks(stream.name):
            record = self.registry.get(sink.query_id)
            if record.status == "dropped":
                continue
            status = by_number.get(sink.number)
            delivered = 0 if status is None else status.delivered
            stopped = None if status is None else status.stopped
            name = record.name or record.id
            found.append(SinkFigures(name, sink.call.name, sink.call.connector, delivered, stopped))
        return found

    # Taps

    def tap(
        self,
        on: str,
        *,
        at: str = "rows",
        rows: int = 20,
        where: str | None = None,
        ttl: str = "10 minutes",
    ) -> TapHandle:
        """Copy some rows on their way, while the stream runs; no answer changes.

        A tap is a command like others: it is logged, and in force from a micro-batch on. It removes
        itself when it has its rows, or when its time is over.

        Args:
            on: The name of a query; or that of a stream, for rows whoever wants them.
            at: ``"rows"``: those that the query takes. ``"cells"``: what they are combined to
                before they travel. ``"answers"``: what it answers.
            rows: How many are copied at most.
            where: A condition on rows that are copied, in SQL.
            ttl: How long the tap waits for its rows, such as ``"10 minutes"``.
        """
        most, seconds = check_rows(rows), seconds_of("ttl", ttl)
        record = self.registry.find(on)
        if record is None and on in self._streams:
            if at != "rows":
                raise ArgumentError("at", at, f"{on} is a stream; name a query for its {at}")
            stream, program, about = self.stream_of(on), stream_tap(most), f"rows of {on}"
        else:
            record = self.registry.get(on)
            stream, program = self.stream_of(record.stream), query_tap(record, at, most)
            about = f"{at} of {record.name or record.id}"
        program = with_condition(program, stream, where)
        text = f"SELECT * FROM `{stream.name}`"
        stream.plan(text)  # now, and not in the thread that commits
        with stream.publishing:
            added = self.registry.add(
                stream.name, None, text, to_json(program), description=about, emit=TAP
            )
            self.registry.set_end(added.query.id, time.time() + seconds)
        self._commanded(stream)
        return TapHandle(self, added.query.id, most, about)

    def taps(self) -> list[TapHandle]:
        """Return the taps that are open."""
        return [
            TapHandle(self, record.id, tap_in(record).most, record.description)
            for stream in self._streams.values()
            for record in self._taps(stream)
        ]

    def tap_by_id(self, id: str) -> TapHandle:
        """Return a tap by its id, also one that has gone."""
        record = self.registry.get(id)
        if record.emit != TAP:
            raise UnknownQueryError(id)
        return TapHandle(self, record.id, tap_in(record).most, record.description)

    def remove_tap(self, id: str) -> None:
        """Log that a tap is removed."""
        record = self.registry.get(id)
        self.registry.log(record.stream, "drop", record.id, {"reason": "the tap was removed"})
        self._commanded(self.stream_of(record.stream))

    def _taps(self, stream: EngineStream) -> list[QueryRecord]:
        return [record for record in self.registry.live(stream.name) if record.emit == TAP]

    def _tapped_box(self, parts: list[RunningPart], tap: Tap) -> str:
        """Return the id of the box that a tap copies from."""
        if tap.member < 0:
            return SOURCE
        record = self.registry.member(tap.member)
        name = record.name or record.id
        part = _part_of(parts, name)
        return f"part:{part}" if tap.place == "cells" and part else f"query:{name}"

    # What a query shares

    def explain(self, query: str, *, start: str = "now", until: object = None) -> str:
        """Return how a query runs, and with which others; or how one would run.

        Args:
            query: The name of a query. Or a SELECT: what it would share with the queries that are
                there, and what it would add; nothing is registered.
            start: From where on a SELECT would be answered, as in :meth:`muntin.Engine.register`.
            until: Up to where, as in :meth:`muntin.Engine.register`.
        """
        if self.registry.find(query) is None and len(query.split()) > 1:
            return str(self.would_add(query, start=start, until=until))
        record = self.registry.get(query)
        stream = self.stream_of(record.stream)
        planned = stream.plan_of(record)
        name = record.name or record.id
        own = [part for part in stream.shared() if name in part.queries]
        evaluated = "workers" if planned.finish is None else f"Spark, because {planned.why_spark}"
        columns = _prepared_of(planned)
        return "\n".join(
            [
                f"query {name}, generation {record.generation} ({record.status})",
                f"  over {record.stream}{_by_view(planned)}: {record.text}",
                *(f"  runs as: {part.kind}{_with_others(part, name)}" for part in own),
                *([f"  prepared by Spark: {columns}"] if columns else []),
                f"  select list: evaluated by {evaluated}",
                *StreamPanes(stream).explain(record),
                f"  answers: {about_answers(record)}",
                *([f"  reported: {emission_of(record)}"] if record.emit == "early" else []),
                f"  cost: {in_words(stream.cost(record))}",
                *(f"  {line}" for line in _drawn(stream, record)),
            ]
        )

    def would_add(self, text: str, *, start: str = "now", until: object = None) -> Addition:
        """Return what a SELECT would share and add if it were registered; nothing is."""
        stream, planned = self._planned(text, until)
        return addition(stream, planned, start, self._memory, self.estimated_bytes())

    def demand(self, stream: str) -> StreamDemand:
        """Return what the live queries need of a stream: columns, values, and granularity.

        A source that obeys it, and still reports how far it is, changes no answer.
        """
        own = self.stream_of(stream)
        wanting = [
            (record, from_json(record.program).numbered(record.number))
            for record in self.registry.live(stream)
            if record.emit != TAP and record.status != "quarantined"
        ]
        rule, kept = from_json(own.network.rule), own.keep is not None
        return demand_of(stream, rule, wanting, own.network.carried, kept=kept)

    # Memory

    def estimated_bytes(self, stream: str | None = None) -> int:
        """Return the bytes that the live queries may come to keep, as the budget counts them.

        Args:
            stream: The queries of one stream; those of all by default.
        """
        streams = self._streams.values() if stream is None else [self.stream_of(stream)]
        return sum(map(self._estimate, streams))

    def _check_memory(
        self, stream: EngineStream, program: QueryProgram, name: str, replaced: int | None = None
    ) -> None:
        """Raise if the state of a query does not fit into the budget.

        Args:
            stream: The stream that it reads.
            program: What workers would run.
            name: What to call it.
            replaced: The member that goes when it comes.
        """
        if self._memory is None:
            return
        others = [own for own in self._streams.values() if own is not stream]
        before = total_bytes(stream.planned_network(), stream.sizes)
        after = total_bytes(stream.planned_network(program, without=replaced), stream.sizes)
        used = before + sum(map(self._estimate, others))
        if after > before and used - before + after > self._memory:
            raise EngineError(
                f"the state of {name} does not fit into memory={written_bytes(self._memory)}: the "
                f"queries that are there may come to keep {written_bytes(used)}, and it would add "
                f"{written_bytes(after - before)} (estimates for {stream.sizes.keys:,} keys and "
                f"{stream.sizes.rows:,} rows a key); drop a query, choose a shorter window, or "
                "state fewer keys with engine.stream(..., expect_keys=)"
            )

    def _estimate(self, stream: EngineStream) -> int:
        return total_bytes(stream.planned_network(), stream.sizes)


def _drawn(stream: EngineStream, record: QueryRecord) -> Iterator[str]:
    """Yield the graphs of a query, with where they are now."""
    qos = qos_of(record)
    if qos is not None:
        yield from drawn_graphs(qos, stream.load.delay(record.number))


def _by_view(planned: PlannedQuery) -> str:
    return "" if planned.program.view is None else ", by a view"


def _prepared_of(planned: PlannedQuery) -> str:
    """Return what Spark prepares for a query, for people."""
    return ", ".join(sorted({str(column.expression) for column in planned.program.prepared}))


def _part_of(parts: list[RunningPart], query: str) -> str:
    return next((part.name for part in parts if query in part.queries), "")


def _with_others(part: RunningPart, name: str) -> str:
    others = [query for query in part.queries if query != name]
    return f", shared with {', '.join(others)}" if others else ""
