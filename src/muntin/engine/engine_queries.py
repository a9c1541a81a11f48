"""Adding queries to an engine, and changing, staging, pausing and dropping them.

A query is planned over the stream that it reads, checked, and logged as a command; it is in force
when the stream has come to a version with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence, Set
from dataclasses import replace

from muntin.engine.asking.answer_modes import check_answer, seconds_of
from muntin.engine.asking.ask import Asker
from muntin.engine.asking.chosen_modes import AUTO, is_auto, mode_of, with_mode
from muntin.engine.costs.engine_costs import EngineCosts
from muntin.engine.engine_stream import EngineStream
from muntin.engine.filling.from_panes import PaneChoice
from muntin.engine.filling.stream_panes import StreamPanes
from muntin.engine.handle import QueryHandle
from muntin.engine.overload.budgets import EngineBudgets
from muntin.engine.overload.qos_of_query import check_qos, qos_of, with_qos
from muntin.engine.overload.summaries import EngineSummaries
from muntin.engine.plan_query import PlannedQuery, check_no_sources
from muntin.engine.planning.early_queries import (
    emission_of,
    upserting,
    with_early_answers,
    with_intervals_in,
)
from muntin.engine.planning.views import readers_of
from muntin.engine.query_table import LIVE
from muntin.engine.registry_records import RETAIN, QueryRecord
from muntin.engine.sinks.query_sinks import read_call
from muntin.engine.sinks.sink_call import INTO
from muntin.errors import ArgumentError, EngineError
from muntin.operators.shared.as_json import to_json
from muntin.operators.shared.program import AnswerMode
from muntin.parser.parse import parse_query
from muntin.parser.query import check_continuous
from muntin.parser.statements import Query, Select
from muntin.planner.translate import tables_of
from muntin.session.safe.safe_mode import SafeMode
from muntin.specs.emission import FINALLY, Emission, Emit, Every
from muntin.specs.qos import Qos


class EngineQueries(EngineCosts, EngineBudgets, EngineSummaries):
    """The part of :class:`muntin.Engine` that adds and changes queries."""

    asker: Asker
    safe: SafeMode | None
    _lock: threading.RLock
    _planning: int
    _last_planned: float

    def register(
        self,
        name: str,
        text: str,
        *,
        start: str = "now",
        until: object = None,
        owner: str | None = None,
        description: str = "",
        tags: Sequence[str] = (),
        into: str | None = None,
        answer: str = "eager",
        emit: Emit = "final",
        every: Every = None,
        confidence: float | None = None,
        prefer: str | None = None,
        qos: object = None,
    ) -> QueryHandle:
        """Add a query, before or after the engine is started; return when it is logged.

        Args:
            name: Its name, unique among live queries.
            text: A SELECT over a stream of the engine, or over a query that only chooses rows.
            start: ``"now"``: rows of the micro-batches from now on count. ``"history"``: what the
                stream keeps counts too, and is answered first. It is filled from base panes at
                once if these have all that it wants, else from kept rows. If the stream keeps
                nothing, it begins with the panes of another query that have the same rows.
                A value of ``on``: kept rows from it on.
            until: A value of ``on``: rows at or after it do not count, and the query ends when the
                punctuation has passed it.
            owner: Whose query it is.
            description: What it is for.
            tags: Words to find it by.
            into: A sink that gets its answers, as in SQL: ``"parquet('slow')"``. The handle's
                ``sinks`` has it, and adds triggers.
            answer: When answers are made. ``"eager"``: in every micro-batch. ``"partial"``: they
                stay in the shards until :meth:`muntin.QueryHandle.invoke` asks. ``"lazy"``: only
                then, from kept rows. ``"auto"``: eager or partial, as the engine chooses from how
                often the query is asked.
            emit: ``"final"``: each answer once. ``"early"``: also what is open, after every
                micro-batch, with the columns ``change`` and ``final``.
            every: With ``emit="early"``, how far the stream progresses along ``on`` between two
                reports of what is open, such as ``"1 minute"``.
            confidence: With ``emit="early"``, selects ``avg_low`` and ``avg_high`` of each average,
                the ends of an interval that holds the mean with this confidence.
            prefer: What it prefers when it has a budget and cannot look at everything, as after
                WITH PREFERENCE: ``"desc SUMMARY.Estimate.Count(item) FADE FACTOR 0.8"``.
            qos: What its answers are worth by their delay, the share of rows in them, and values:
                a :class:`muntin.Qos`, or a mapping of its arguments. Without it, or without a graph
                of shares, no row is ever left out.
        """
        text = text if prefer is None else f"{text} WITH PREFERENCE {prefer}"
        emission = Emission(emit, every, confidence)
        text = with_intervals_in(text, confidence)
        stream, planned = self._planned(text, until, emission)
        sinks = [] if into is None else [read_call("into", INTO, into)]
        sinks = [upserting(call, planned.program.newest) for call in sinks]
        for call in sinks:
            self.deliveries.check(call, name)
        if stream.progress.ended:
            raise EngineError(f"the stream {stream.name} has ended, so nothing could answer")
        if start not in ("now", "history"):
            _check_rows(stream, planned, start)
            planned = replace(planned, program=stream.beginning(planned.program, start))
        mode = check_answer(answer, stream, planned, start, into)
        worth = check_qos(stream, planned.program, Qos.of(qos), mode)
        planned = replace(planned, program=with_qos(planned.program, worth))
        self._check_memory(stream, replace(planned.program, answer=mode), name)
        if start != "now" and planned.program.prepared:
            _check_rows(stream, planned, start)
        program = stream.prepare(planned.program)
        with stream.publishing, self.registry.together():
            panes = self._panes(stream, planned, start, mode)
            registration = self.registry.add(
                stream.name,
                name,
                text,
                to_json(with_mode(program, mode, answer)),
                owner=owner,
                description=description,
                tags=tags,
                start=start,
                until=None if until is None else str(until),
                retain=RETAIN if stream.retain is None else stream.retain,
                emit=emission.emit,
                every=None if every is None else str(every),
                sinks=sinks,
            )
            rows = start != "now" and mode != "lazy" and panes is None
            if panes is not None:
                StreamPanes(stream).take(registration.query, panes, past=True)
            elif rows:
                self.registry.set_status(registration.query.number, "filling")
        if rows and stream.history is not None:
            stream.fill(registration.query)
        self._commanded(stream)
        return QueryHandle(self, registration.query.id, registration.seq)

    def _panes(
        self, stream: EngineStream, planned: PlannedQuery, start: str, mode: AnswerMode
    ) -> PaneChoice | None:
        """Return the panes with which a query begins; None if it has other rows of the past.

        Raises if it asks for a past that nobody has.
        """
        if start != "history" or mode == "lazy":
            return None
        choice = StreamPanes(stream).choose(planned.program, whole=stream.keep is not None)
        if choice.source is None:
            _check_rows(stream, planned, start, choice.reason)
            stream.why_rows[planned.text] = choice.reason
            return None
        return choice

    def _fill(self, stream: EngineStream, record: QueryRecord) -> None:
        """Let a query see the kept rows before it is in force."""
        self.registry.set_status(record.number, "filling")
        if stream.history is not None:
            stream.fill(record)

    def change(self, name: str, text: str, *, until: object = None) -> QueryHandle:
        """Let another query take the place of one, as its next generation.

        The next generation is filled from panes of the stream, if these have all that it wants.
        Else, if the stream keeps rows, it is filled from them before it takes over.
        """
        record = self.registry.get(name)
        ends = until if until is not None else record.until
        stream, planned = self._planned(text, ends, emission_of(record))
        if stream.name != record.stream:
            raise EngineError(
                f"{record.name or record.id} reads {record.stream}, and a change must read it too; "
                f"{text!r} reads {stream.name}"
            )
        self._check_not_filling(record, "changed")
        self._check_not_read(record, "changed")
        self._check_nothing_staged(record)
        answer = AUTO if is_auto(record) else mode_of(record)
        mode = check_answer(answer, stream, planned, "now", None)
        self._check_memory(
            stream, replace(planned.program, answer=mode), name, replaced=record.number
        )
        worth = check_qos(stream, planned.program, qos_of(record), mode, new=False)
        planned = replace(planned, program=with_qos(planned.program, worth))
        keeps = stream.keep is not None and mode == "eager" and not planned.program.prepared
        lives = record.status != "quarantined"
        program = stream.prepare(planned.program)
        with stream.publishing, self.registry.together():
            choice = StreamPanes(stream).choose(planned.program, whole=False, before=record)
            panes = choice.source is not None and mode != "lazy" and lives
            filled = keeps and lives and not panes
            registration = self.registry.add_generation(
                record.id,
                text,
                to_json(with_mode(program, mode, answer)),
                start="history" if filled or panes else "now",
                until=None if until is None else str(until),
                staged=filled,
            )
            if panes:
                StreamPanes(stream).take(registration.query, choice, past=False)
            elif filled:
                stream.why_rows[text] = choice.reason
                self.registry.set_status(registration.query.number, "filling")
        if filled and stream.history is not None:
            stream.fill(registration.query)
        self._commanded(stream)
        return QueryHandle(self, record.id, registration.seq)

    def preview(self, text: str, *, ttl: str = "10 minutes") -> QueryHandle:
        """Add a query to look at: without a name or sinks, it drops itself when its time is over.

        The commit of a micro-batch after that time logs the drop. ``handle.keep(name)`` lets it
        stay, with its id and its state.

        Args:
            text: A SELECT over a stream of the engine.
            ttl: A length of time, such as ``"10 minutes"``.
        """
        seconds = seconds_of("ttl", ttl)
        stream, planned = self._planned(text, None)
        if stream.progress.ended:
            raise EngineError(f"the stream {stream.name} has ended, so nothing could answer")
        self._check_memory(stream, planned.program, "a preview")
        program = stream.prepare(planned.program)
        with stream.publishing:
            retain = RETAIN if stream.retain is None else stream.retain
            added = self.registry.add(stream.name, None, text, to_json(program), retain=retain)
            self.registry.set_end(added.query.id, time.time() + seconds)
        self._commanded(stream)
        timer = threading.Timer(seconds, stream.awake)  # an idle stream must commit to drop it
        timer.daemon = True
        timer.start()
        return QueryHandle(self, added.query.id, added.seq)

    def stage(self, name: str, text: str) -> QueryHandle:
        """Run the next generation of a query beside the current one, to apply it or discard it."""
        record = self.registry.get(name)
        stream, planned = self._planned(text, record.until, emission_of(record))
        if stream.name != record.stream:
            raise EngineError(
                f"{record.name or record.id} reads {record.stream}, not {stream.name}"
            )
        if mode_of(record) != "eager" or is_auto(record):
            raise EngineError("only queries with answer='eager' are staged; use change(sql)")
        self._check_not_filling(record, "staged")
        self._check_not_read(record, "changed")
        self._check_nothing_staged(record)
        self._check_memory(stream, planned.program, name)
        worth = check_qos(stream, planned.program, qos_of(record), "eager", new=False)
        program = stream.prepare(with_qos(planned.program, worth))
        filled = stream.keep is not None and planned.finish is None and not program.prepared
        with stream.publishing:
            registration = self.registry.add_generation(
                record.id,
                text,
                to_json(program),
                start="history" if filled else "now",
                staged=True,
                beside=True,
            )
            if filled:
                self._fill(stream, registration.query)
        self._commanded(stream)
        return QueryHandle(self, record.id, registration.seq)

    def settle(self, name: str, *, apply: bool) -> QueryHandle:
        """Let the staged generation of a query take its place, or drop it."""
        record = self.registry.get(name)
        if apply:
            self._check_not_filling(record, "applied")
            self._check_not_read(record, "changed")
        settled = self.registry.apply if apply else self.registry.discard
        seq = settled(record.id)
        self._commanded(self.stream_of(record.stream))
        return QueryHandle(self, record.id, seq)

    def _check_nothing_staged(self, record: QueryRecord) -> None:
        live = [g for g in self.registry.generations(record.id) if g.staged and g.status in LIVE]
        if live:
            raise EngineError(
                f"{record.name or record.id} has a staged generation {live[-1].generation}; "
                "apply() or discard() it first"
            )

    def _check_not_filling(self, record: QueryRecord, done: str) -> None:
        """Raise if a generation of a query is on its way through kept rows."""
        if any(other.status == "filling" for other in self.registry.generations(record.id)):
            raise EngineError(
                f"{record.name or record.id} is being filled from kept rows and cannot be {done} "
                "yet; wait() returns when it is in force"
            )

    def command(self, kind: str, name: str) -> QueryHandle:
        """Pause, resume or drop a query."""
        if kind not in ("pause", "resume", "drop"):
            raise ArgumentError("kind", kind, "it is pause, resume or drop")
        record = self.registry.get(name)
        stream = self.stream_of(record.stream)
        if kind == "pause" and mode_of(record) == "lazy":
            raise EngineError(
                f"{record.name} computes nothing until it is asked: it needs no pause"
            )
        if kind == "pause":
            self._check_not_filling(record, "paused")
        if kind == "drop":
            self._check_not_read(record, "dropped")
        with self._lock:
            seq = self.registry.log(record.stream, kind, record.id, {})  # type: ignore[arg-type]
        self._commanded(stream)
        return QueryHandle(self, record.id, seq)

    def _planned(
        self, text: str, until: object = None, emission: Emission = FINALLY
    ) -> tuple[EngineStream, PlannedQuery]:
        """Plan a query over the stream that it reads; return the stream and the plan."""
        with self._lock:
            self._planning += 1
        try:
            return self._planned_of(text, until, emission)
        finally:
            with self._lock:
                self._planning -= 1
                self._last_planned = time.monotonic()

    def _planned_of(
        self, text: str, until: object, emission: Emission
    ) -> tuple[EngineStream, PlannedQuery]:
        query = parse_query(text)
        self._check_safe(query)
        stream, view = self._read_by(query)
        if view is None:
            planned = stream.plan(text)
            prefer = stream.preferring(planned.program, query)
            planned = replace(planned, program=prefer)
        else:
            check_continuous(query)
            planned = stream.plan_parsed(query, view)
        planned = with_early_answers(planned, emission, stream.network.axis)
        if until is not None:
            planned = replace(planned, program=stream.ending(planned.program, until))
        return stream, planned

    def _check_safe(self, query: Query) -> None:
        """Raise if an engine that is safe must not run a query."""
        if self.safe is not None:
            self.safe.check(query.text, [Select(query, query.place)])

    def _read_by(self, query: Query) -> tuple[EngineStream, QueryRecord | None]:
        """Return the stream that a query reads, and the view of it if it reads one."""
        check_no_sources(query)
        read = {name.casefold() for name in tables_of(query)}
        streams = [
            stream
            for stream in self._streams.values()
            if read & {name.casefold() for name in stream.inputs}
        ]
        if len(streams) > 1:
            raise EngineError(
                f"the query reads {' and '.join(stream.name for stream in streams)}, which were "
                "declared apart; a join needs a stream that is declared with both inputs: "
                'engine.stream("both", {"a": df1, "b": df2}, on=..., by=...)'
            )
        if streams:
            return streams[0], None
        views = [record for record in map(self.registry.find, sorted(read)) if record is not None]
        named = [record for record in views if record.name and record.name.casefold() in read]
        if named:
            return self.stream_of(named[0].stream), named[0]
        raise EngineError(self._reads_none(read))

    def _check_not_read(self, record: QueryRecord, done: str) -> None:
        """Raise if other queries read a query: they would go on with what it was."""
        readers = readers_of(record, self.registry.live(record.stream))
        if readers:
            raise EngineError(
                f"{record.name} cannot be {done} while other queries read it: "
                f"{', '.join(readers)}; drop them first"
            )

    def _reads_none(self, read: Set[str]) -> str:
        """Return why a query that reads no input of a stream is refused."""
        for stream in self._streams.values():
            if stream.name.casefold() in read:
                names = ", ".join(stream.inputs)
                return f"{stream.name} has several inputs; a query reads them by name: {names}"
        there = ", ".join(name for stream in self._streams.values() for name in stream.inputs)
        named = ", ".join(sorted(read)) or "nothing"
        return f"the query reads {named}; the streams of the engine are: {there or 'none'}"


def _check_rows(
    stream: EngineStream, planned: PlannedQuery, start: str, why: str | None = None
) -> None:
    """Raise if a query cannot begin with kept rows; ``why`` no panes fill it."""
    if stream.keep is None:
        reason = f"{stream.name} keeps no rows; declare it with keep='2 hours'"
        raise ArgumentError("start", start, reason if why is None else f"{reason} ({why})")
    if planned.finish is not None:
        raise ArgumentError(
            "start", start, f"Spark evaluates its select list, because {planned.why_spark}"
        )
    if planned.program.prepared:
        raise ArgumentError(
            "start", start, f"kept rows lack what Spark prepares for it: {_prepared_of(planned)}"
        )


def _prepared_of(planned: PlannedQuery) -> str:
    """Return what Spark prepares for a query, for people."""
    return ", ".join(sorted({str(column.expression) for column in planned.program.prepared}))
