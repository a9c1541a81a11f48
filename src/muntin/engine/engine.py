"""``mt.Engine``: many continuous queries over streams, added, changed and dropped while they run.

Each stream is one streaming query of Spark, whatever the number of queries over it. A command is
logged first, then comes into a version of the stream's queries, and is in force from a micro-batch
on, in every task at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.engine.asking.answer_modes import ABOUT, check_answer, mode_of, ttl_seconds
from muntin.engine.asking.ask import Asker
from muntin.engine.engine_stream import EngineStream, SharedPart
from muntin.engine.handle import QueryHandle
from muntin.engine.home import Home
from muntin.engine.local_server import LocalServer
from muntin.engine.plan_query import PlannedQuery
from muntin.engine.query_table import LIVE
from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.engine.served_calls import served_calls
from muntin.engine.sinks.deliveries import Deliveries
from muntin.engine.sinks.query_sinks import read_call
from muntin.engine.sinks.sink_call import INTO, SinkCall
from muntin.engine.sinks.targets import Target, open_target, session_zone
from muntin.engine.sql import STATEMENT, run_statements
from muntin.errors import ArgumentError, EngineError
from muntin.operators.shared.as_json import to_json
from muntin.parser.parse import parse_query
from muntin.parser.statements import Select
from muntin.planner.translate import tables_of
from muntin.session.safe.root_folder import check_apart
from muntin.session.safe.safe_mode import SafeMode
from muntin.spark.api.control import end as write_end
from muntin.spark.api.stream import Stream
from muntin.spark.api.stream import stream as declare_stream
from muntin.spark.columns import DataFrame, SparkSession
from muntin.spark.queries.many_queries import NetworkStream, check_session
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.disorder import Disorder, Each, PerKey, Punctuated
from muntin.specs.lengths import parse_length

#: Commands within this many seconds become one version.
_TOGETHER = 0.1
#: Seconds for sinks to deliver what is committed when the engine stops.
_DELIVER = 10.0


class Engine:
    """Runs continuous queries over streams, in one pass for all of them.

    Args:
        spark: The session. It cannot be one of Spark Connect.
        home: A folder for queries, answers and checkpoints, which workers must be able to read. An
            engine on a home that exists goes on where it was.
        safe: Whether queries and statements are of people who are not trusted, as in
            :func:`muntin.sql`. It is for everything that comes as text, also from other processes;
            streams that a program declares with :meth:`stream` are its own affair.
        root: With ``safe``, the folder below which statements may read and write files. The home
            must be neither in it nor around it.
    """

    def __init__(
        self, spark: SparkSession, home: str | Path, *, safe: bool = False, root: object = None
    ) -> None:
        check_session(spark)
        self.safe = SafeMode.of(safe, root)
        if self.safe is not None:
            check_apart(self.safe.root, home, "the home of the engine")
        self._spark = spark
        self._home = Home(home)
        self.registry = Registry(home)
        self.deliveries = Deliveries(
            self.registry,
            self._home.folder,
            self._opened_target,
            lambda stream, epoch: self.stream_of(stream).answers_of(epoch),
            zone=session_zone(spark),
        )
        self.asker = Asker(self.registry)
        self._streams: dict[str, EngineStream] = {}
        self._started = False
        self._trigger: Mapping[str, Any] | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        self._server: LocalServer | None = None

    def _opened_target(self, call: SinkCall, query: str) -> Target:
        """Open what a call names; in safe mode also a call that was registered without it."""
        if self.safe is not None:
            self.safe.check_call(call.connector, call.arguments, call.options)
        return open_target(self._spark, call, query)

    @property
    def spark(self) -> SparkSession:
        return self._spark

    @property
    def folder(self) -> Path:
        """The home."""
        return self._home.folder

    # Streams

    def stream(
        self,
        name: str,
        df: DataFrame | WorkerRows,
        on: str,
        by: str | Sequence[str] | None = None,
        disorder: Disorder | None = None,
        *,
        control: DataFrame | Sequence[DataFrame] | None = None,
        carry: Sequence[str] | None = None,
        keep: str | int | None = None,
        grain: str | int | None = None,
        shards: int | None = None,
        schedule: object = None,
        statement: str | None = None,
    ) -> EngineStream:
        """Declare a stream; it is declared again, in the same way, before every start.

        A stream that ``CREATE STREAM`` made, in :meth:`sql`, is declared again by the engine.

        Args:
            name: The name by which queries read it.
            df: A streaming DataFrame, or files: ``mt.parquet(spark, path, streaming=True)``.
            on: The column that progresses.
            by: The columns that windows are made for separately, unless a query groups otherwise.
            disorder: How much disorder the stream has, as in :func:`muntin.stream`.
            control: Control rows, as in :func:`muntin.stream`.
            carry: The columns that queries can read; all by default.
            keep: How far back along ``on`` rows are kept, such as ``"2 hours"``, so that queries
                can start with history; none are kept by default.
            grain: A length along ``on`` that must be a whole number of its smallest units, so that
                decimals are fine enough for later queries.
            shards: How many parts the state has, as in :func:`muntin.stream`.
            schedule: When rows are due, as in :func:`muntin.stream`.
            statement: The ``CREATE STREAM`` that made it, if one did.
        """
        if name in self._streams:
            raise ArgumentError("name", name, "the engine has a stream of this name already")
        source = declare_stream(
            df, on, by, disorder, control=control, shards=shards, schedule=schedule
        )
        source.check_windowed()
        carried = self._carried(source.df.columns, on, source.by, carry)
        lengths = () if grain is None else (parse_length("grain", grain),)
        network = NetworkStream(source, carried, lengths, keep is not None)
        reach = None if keep is None else network.axis.length("keep", parse_length("keep", keep))
        _check_history(keep, source)
        identity = {**network.identity, "grain": str(grain or "none")}
        known = self.registry.streams().get(name)
        if known is None:
            by_whom = {} if statement is None else {STATEMENT: statement}
            self.registry.log(name, "create_stream", None, {**identity, **by_whom})
        elif {**known, STATEMENT: None} != {**identity, STATEMENT: None}:
            raise EngineError(_differences(name, known, identity))
        declared = EngineStream(
            name, network, self._home.stream(name), self.registry, reach, self.deliveries.deliver
        )
        declared.network.rule  # noqa: B018  (raises if workers cannot evaluate the rule)
        self._streams[name] = declared
        if self._started:
            declared.start(self._trigger)
        return declared

    def _carried(
        self, columns: Sequence[str], on: str, by: Sequence[str], carry: Sequence[str] | None
    ) -> tuple[str, ...]:
        if carry is None:
            return tuple(columns)
        unknown = [name for name in carry if name not in columns]
        if unknown:
            raise ArgumentError("carry", unknown[0], f"the columns are {', '.join(columns)}")
        wanted = {on, *by, *carry}
        return tuple(name for name in columns if name in wanted)

    def stream_of(self, name: str) -> EngineStream:
        """Return a stream by its name."""
        if name not in self._streams:
            declared = ", ".join(self._streams) or "none"
            raise EngineError(
                f"the stream {name} is not declared; declared are: {declared}. Declare it with "
                "engine.stream(...) before engine.start()"
            )
        return self._streams[name]

    # Queries

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
    ) -> QueryHandle:
        """Add a query, before or after the engine is started; return when it is logged.

        Args:
            name: Its name, unique among live queries.
            text: A SELECT over a stream of the engine.
            start: ``"now"``: rows of the micro-batches from now on count. ``"history"``: the kept
                rows count too, and are answered first. A value of ``on``: kept rows from it on.
            until: A value of ``on``: rows at or after it do not count, and the query ends when the
                punctuation has passed it.
            owner: Whose query it is.
            description: What it is for.
            tags: Words to find it by.
            into: A sink that gets its answers, as in SQL: ``"parquet('slow')"``. The handle's
                ``sinks`` has it, and adds triggers.
            answer: When answers are made. ``"eager"``: in every micro-batch. ``"partial"``: they
                stay in the shards until :meth:`muntin.QueryHandle.invoke` asks. ``"lazy"``: only
                then, from kept rows.
        """
        sinks = [] if into is None else [read_call("into", INTO, into)]
        for call in sinks:
            self.deliveries.check(call, name)
        stream, planned = self._planned(text, until)
        if stream.progress.ended:
            raise EngineError(f"the stream {stream.name} has ended, so nothing could answer")
        if start != "now":
            planned = _with_history(stream, planned, start)
        mode = check_answer(answer, stream, planned, start, into)
        with stream.publishing:
            registration = self.registry.add(
                stream.name,
                name,
                text,
                to_json(replace(planned.program, answer=mode)),
                owner=owner,
                description=description,
                tags=tags,
                start=start,
                until=None if until is None else str(until),
                sinks=sinks,
            )
            if start != "now" and mode != "lazy":
                self._fill(stream, registration.query)
        self._commanded(stream)
        return QueryHandle(self, registration.query.id, registration.seq)

    def _fill(self, stream: EngineStream, record: QueryRecord) -> None:
        """Let a query see the kept rows before it is in force."""
        self.registry.set_status(record.number, "filling")
        if stream.history is not None:
            stream.fill(record)

    def change(self, name: str, text: str, *, until: object = None) -> QueryHandle:
        """Let another query take the place of one, as its next generation.

        If the stream keeps rows, the next generation is filled from them before it takes over.
        """
        record = self.registry.get(name)
        stream, planned = self._planned(text, until if until is not None else record.until)
        if stream.name != record.stream:
            raise EngineError(
                f"{record.name or record.id} reads {record.stream}, and a change must read it too; "
                f"{text!r} reads {stream.name}"
            )
        self._check_not_filling(record, "changed")
        self._check_nothing_staged(record)
        mode = mode_of(record)
        check_answer(mode, stream, planned, "now", None)
        keeps = stream.keep is not None and mode == "eager"
        filled = keeps and record.status != "quarantined"
        with stream.publishing:
            registration = self.registry.add_generation(
                record.id,
                text,
                to_json(replace(planned.program, answer=mode)),
                start="history" if filled else "now",
                until=None if until is None else str(until),
                staged=filled,
            )
            if filled:
                self._fill(stream, registration.query)
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
        seconds = ttl_seconds(ttl)
        stream, planned = self._planned(text, None)
        if stream.progress.ended:
            raise EngineError(f"the stream {stream.name} has ended, so nothing could answer")
        with stream.publishing:
            added = self.registry.add(stream.name, None, text, to_json(planned.program))
            self.registry.set_end(added.query.id, time.time() + seconds)
        self._commanded(stream)
        timer = threading.Timer(seconds, stream.awake)  # an idle stream must commit to drop it
        timer.daemon = True
        timer.start()
        return QueryHandle(self, added.query.id, added.seq)

    def stage(self, name: str, text: str) -> QueryHandle:
        """Run the next generation of a query beside the current one, to apply it or discard it."""
        record = self.registry.get(name)
        stream, planned = self._planned(text, record.until)
        if stream.name != record.stream:
            raise EngineError(
                f"{record.name or record.id} reads {record.stream}, not {stream.name}"
            )
        if mode_of(record) != "eager":
            raise EngineError("only queries with answer='eager' are staged; use change(sql)")
        self._check_not_filling(record, "staged")
        self._check_nothing_staged(record)
        filled = stream.keep is not None and planned.finish is None
        with stream.publishing:
            registration = self.registry.add_generation(
                record.id,
                text,
                to_json(planned.program),
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
        with self._lock:
            seq = self.registry.log(record.stream, kind, record.id, {})  # type: ignore[arg-type]
        self._commanded(stream)
        return QueryHandle(self, record.id, seq)

    def queries(
        self,
        *,
        name: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        text: str | None = None,
    ) -> list[QueryRecord]:
        """Return the live queries, all of them or those that fit.

        Args:
            name: A part of the name.
            owner: The owner.
            tag: One of the tags.
            text: A part of the name, the description or the query itself.
        """
        return self.registry.search(name=name, owner=owner, tag=tag, text=text)

    def __getitem__(self, name: str) -> QueryHandle:
        return QueryHandle(self, self.registry.get(name).id)

    def __contains__(self, name: object) -> bool:
        return self.registry.find(str(name)) is not None

    def explain(self, name: str) -> str:
        """Return how a query runs."""
        record = self.registry.get(name)
        stream = self.stream_of(record.stream)
        planned = stream.plan(record.text)
        name = record.name or record.id
        own = [part for part in stream.shared() if name in part.queries]
        evaluated = "workers" if planned.finish is None else f"Spark, because {planned.why_spark}"
        lines = [
            f"query {name}, generation {record.generation} ({record.status})",
            f"  over {record.stream}: {record.text}",
            *(f"  runs as: {part.kind}{_with_others(part, name)}" for part in own),
            f"  select list: evaluated by {evaluated}",
            f"  answers: {ABOUT[mode_of(record)]}",
        ]
        return "\n".join(lines)

    def network(self) -> dict[str, list[dict[str, object]]]:
        """Return what runs for each stream, as data: every part with the queries that share it."""
        return {
            name: [{"kind": part.kind, "queries": list(part.queries)} for part in stream.shared()]
            for name, stream in self._streams.items()
        }

    def _planned(self, text: str, until: object) -> tuple[EngineStream, PlannedQuery]:
        """Plan a query over the stream that it reads."""
        query = parse_query(text)
        if self.safe is not None:
            self.safe.check(text, [Select(query, query.place)])
        read = {name.casefold() for name in tables_of(query)}
        streams = [s for name, s in self._streams.items() if name.casefold() in read]
        if not streams:
            there = ", ".join(self._streams) or "none"
            named = ", ".join(sorted(read)) or "nothing"
            raise EngineError(f"the query reads {named}; the streams of the engine are: {there}")
        planned = streams[0].plan(text)
        if until is not None:
            planned = replace(planned, program=streams[0].ending(planned.program, until))
        return streams[0], planned

    def _commanded(self, stream: EngineStream) -> None:
        """Let commands of the next moments become one version, and wake the stream for it."""
        if not self._started:
            return
        with self._lock:
            if self._timer is None or not self._timer.is_alive():
                self._timer = threading.Timer(_TOGETHER, self._publish)
                self._timer.daemon = True
                self._timer.start()

    def _publish(self) -> None:
        for stream in [*self._streams.values()]:
            newest = stream.publish()
            if newest is not None and newest.version > stream.progress.version:
                stream.awake()

    def handle(self, id: str, seq: int | None = None) -> QueryHandle:
        """Return the handle of a query by its id, to wait for a command of it."""
        return QueryHandle(self, id, seq)

    # Statements and other processes

    def sql(self, text: str, *, safe: bool = False, root: object = None) -> pa.Table:
        """Run statements of SQL: ``CREATE STREAM``, ``CREATE QUERY``, ``SHOW QUERIES`` and others.

        Args:
            text: The statements.
            safe: Whether this text is of somebody who is not trusted; all are if the engine is
                ``safe`` itself.
            root: With ``safe``, the folder below which the text may read and write files; that of a
                safe engine is for all texts.

        Returns:
            The answer of the last statement.
        """
        if root is not None and self.safe is not None:
            raise ArgumentError("root", root, "a safe engine has one root for all texts")
        mode = SafeMode.of(safe, root) if self.safe is None else self.safe
        if mode is not None:
            check_apart(mode.root, self.folder, "the home of the engine")
        return run_statements(self, text, safe=mode)

    def serve(self, stop: Callable[[], None] | None = None) -> None:
        """Let other processes of the same user use this engine, with :func:`muntin.connect`.

        Args:
            stop: Ends the process when ``muntin engine stop`` asks for it; without it that is
                refused.
        """
        if self._server is None:
            calls = served_calls(self, _not_stopped if stop is None else stop)
            self._server = LocalServer(self.folder, calls)

    # Running

    def start(self, trigger: Mapping[str, Any] | None = None) -> Engine:
        """Start the streams; they go on where they were.

        Args:
            trigger: The arguments of ``DataStreamWriter.trigger``, for all streams.
        """
        self.restore_streams()
        missing = [name for name in self.registry.streams() if name not in self._streams]
        if missing:
            raise EngineError(
                f"the home has a stream {missing[0]} that is not declared; declare it again, as it "
                "was, with engine.stream(...)"
            )
        self._started, self._trigger = True, trigger
        for stream in self._streams.values():
            stream.start(trigger)
        return self

    def restore_streams(self) -> None:
        """Declare the streams that statements made in an earlier process; ``start`` does this."""
        for name, details in self.registry.streams().items():
            if name not in self._streams and STATEMENT in details:
                run_statements(self, str(details[STATEMENT]), safe=self.safe)

    def process_available(self) -> None:
        """Wait until all rows in the sources, and all commands given so far, are committed."""
        if not self._started:
            raise EngineError("the engine is not started; call engine.start()")
        for stream in self._streams.values():
            stream.process_available()

    def check(self) -> None:
        """Raise if a stream has failed."""
        for stream in [*self._streams.values()]:
            stream.check()

    def end(self, name: str) -> None:
        """End a stream: its next micro-batch reports everything, and later rows are late."""
        write_end(self.stream_of(name).commands)

    def stop(self) -> None:
        """Pause: stop the streams between two micro-batches, and release the home.

        Sinks get some seconds for what they have not delivered yet; the rest follows when the
        engine runs again.
        """
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._timer is not None:
            # What was commanded last stays logged, and is published at the next start.
            self._timer.cancel()
            self._timer.join()
        for stream in self._streams.values():
            if stream.query is not None:
                stream.query.stop()
        self.deliveries.wait(_DELIVER)
        self.deliveries.close()
        for stream in self._streams.values():
            stream.stop()
        self._started = False
        self.registry.close()
        self._home.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _with_others(part: SharedPart, name: str) -> str:
    others = [query for query in part.queries if query != name]
    return f", shared with {', '.join(others)}" if others else ""


def _check_history(keep: object, source: Stream) -> None:
    """Raise if rows are to be kept of a stream whose punctuation is for each key."""
    keyed = isinstance(source.disorder, PerKey | Each) or (
        isinstance(source.disorder, Punctuated) and source.disorder.key
    )
    if keep is not None and keyed:
        raise ArgumentError(
            "keep", keep, f"history does not know the punctuation of keys ({source.disorder})"
        )


def _with_history(stream: EngineStream, planned: PlannedQuery, start: str) -> PlannedQuery:
    """Return a query that begins with kept rows; raise if there cannot be any."""
    if stream.keep is None:
        raise ArgumentError(
            "start", start, f"{stream.name} keeps no rows; declare it with keep='2 hours'"
        )
    if planned.finish is not None:
        raise ArgumentError(
            "start", start, f"Spark evaluates its select list, because {planned.why_spark}"
        )
    if start == "history":
        return planned
    return replace(planned, program=stream.beginning(planned.program, start))


def _not_stopped() -> None:
    raise EngineError(
        "this engine is a part of another program, which started it with mt.Engine; end the program"
    )


def _differences(name: str, known: Mapping[str, object], given: Mapping[str, object]) -> str:
    differing = [
        f"{part} {known.get(part, 'none')} there, {given.get(part, 'none')} here"
        for part in sorted({*known, *given})
        if known.get(part) != given.get(part) and part != STATEMENT
    ]
    return (
        f"the home has a stream {name} that was declared otherwise: {'; '.join(differing)}; "
        "declare it as it was, or use another name"
    )
