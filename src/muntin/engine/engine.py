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

from muntin.engine.asking.answer_modes import seconds_of
from muntin.engine.asking.ask import Asker
from muntin.engine.asking.past import ask_history
from muntin.engine.commit_listeners import CommitListeners
from muntin.engine.costs.state_estimate import expected_sizes
from muntin.engine.engine_queries import EngineQueries
from muntin.engine.engine_stream import EngineStream
from muntin.engine.filling.from_panes import base_program
from muntin.engine.handle import QueryHandle
from muntin.engine.home import Home
from muntin.engine.overload.engine_load import EngineLoad
from muntin.engine.planning.declared_inputs import DeclaredInputs
from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.engine.remote.local_server import LocalServer
from muntin.engine.result_log import ResultLog
from muntin.engine.served_calls import served_calls
from muntin.engine.sinks.deliveries import Deliveries
from muntin.engine.sinks.sink_call import SinkCall
from muntin.engine.sinks.targets import Target, open_target, session_zone
from muntin.engine.sql import STATEMENT, run_statements
from muntin.errors import ArgumentError, EngineError
from muntin.parser.errors import SqlError
from muntin.parser.parse import parse_query
from muntin.session.safe.root_folder import check_apart
from muntin.session.safe.safe_mode import SafeMode
from muntin.spark.api.control import end as write_end
from muntin.spark.api.stream import Stream
from muntin.spark.columns import DataFrame, SparkSession
from muntin.spark.queries.many_queries import NetworkStream, check_session
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.byte_sizes import size_in_bytes
from muntin.specs.disorder import Disorder, Each, PerKey, Punctuated
from muntin.specs.frames.schemes import Schedule
from muntin.specs.lengths import LengthLike, parse_length

#: Commands within this many seconds become one version.
_TOGETHER = 0.1
#: A restart waits until no query was planned for so many seconds, and at most for so many.
_QUIET, _GATHERED = 0.25, 5.0
#: Seconds for sinks to deliver what is committed when the engine stops.
_DELIVER = 10.0


class Engine(EngineQueries, EngineLoad):
    """Runs continuous queries over streams, in one pass for all of them.

    Args:
        spark: The session. It cannot be one of Spark Connect.
        home: A folder for queries, answers and checkpoints, which workers must be able to read. An
            engine on a home that exists goes on where it was.
        memory: How much state the queries may come to keep, such as ``"512 MB"``, by estimate; a
            query that does not fit is refused. No limit by default.
        retain: For how long answers and dead letters can be read, such as ``"7 days"``, for
            streams that do not state it themselves; see :meth:`stream`.
        safe: Whether queries and statements are of people who are not trusted, as in
            :func:`muntin.sql`. It is for everything that comes as text, also from other processes;
            streams that a program declares with :meth:`stream` are its own affair.
        root: With ``safe``, the folder below which statements may read and write files. The home
            must be neither in it nor around it.
    """

    def __init__(
        self,
        spark: SparkSession,
        home: str | Path,
        *,
        memory: str | int | None = None,
        retain: str | None = None,
        safe: bool = False,
        root: object = None,
    ) -> None:
        check_session(spark)
        self._memory = size_in_bytes("memory", memory)
        self._retain = None if retain is None else seconds_of("retain", retain)
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
            self._log_of,
            zone=session_zone(spark),
        )
        self.asker = Asker(self.registry)
        self.committed = CommitListeners(self.deliveries.deliver)
        self._streams: dict[str, EngineStream] = {}
        self._started = False
        self._trigger: Mapping[str, Any] | None = None
        self._timer: threading.Timer | None = None
        self._unpublished = False
        self._planning, self._last_planned = 0, 0.0
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
        df: DataFrame | WorkerRows | Mapping[str, DataFrame | WorkerRows],
        on: str | Mapping[str, str],
        by: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
        disorder: Disorder | Mapping[str, Disorder] | None = None,
        *,
        control: DataFrame | Sequence[DataFrame] | Mapping[str, DataFrame] | None = None,
        carry: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        keep: str | int | None = None,
        grain: str | int | None = None,
        retain: str | None = None,
        shards: int | None = None,
        schedule: LengthLike | Schedule | None = None,
        expect_keys: int = 1_000,
        expect_rows: int = 100,
        statement: str | None = None,
    ) -> EngineStream:
        """Declare a stream; it is declared again, in the same way, before every start.

        A stream that ``CREATE STREAM`` made, in :meth:`sql`, is declared again by the engine.

        Args:
            name: The name by which queries read it.
            df: A streaming DataFrame, or files: ``mt.parquet(spark, path, streaming=True)``. Or
                several by name, the inputs of the stream: queries read and join them by these
                names. Every other argument is then one for all, or a dict with one for each.
            on: The column that progresses.
            by: The columns that windows are made for separately, unless a query groups otherwise.
            disorder: How much disorder the stream has, as in :func:`muntin.stream`.
            control: Control rows, as in :func:`muntin.stream`.
            carry: The columns that travel; all by default. A query that names another one restarts
                the stream, once.
            keep: How far back along ``on`` rows are kept, such as ``"2 hours"``, so that queries
                can start with history; none are kept by default.
            grain: A length along ``on``, such as ``"10 seconds"``. Together with ``keep``, the
                stream keeps base panes of this length whatever queries there are, with the number
                of rows and the sum, average, least, greatest value and number of values of each
                numeric column, for its ``by``. A query over all rows with these aggregates and
                keys, whose windows begin and end on edges of the grain, starts with history at
                once. It must be a whole number of the smallest units of ``on``, so that decimals
                are fine enough for later queries.
            retain: For how long answers can be read, such as ``"7 days"``: those of live queries
                after they were written, those of dropped queries after the drop. By default for
                ever, and for a day after the drop. A sink that is late holds back its query's.
                Dead letters go after the same time.
            shards: How many parts the state has, as in :func:`muntin.stream`.
            schedule: When rows are due, as in :func:`muntin.stream`.
            expect_keys: How many different keys are there at a time, for estimates of state.
            expect_rows: How many rows of a key an operator has to hold that keeps rows, for these
                estimates.
            statement: The ``CREATE STREAM`` that made it, if one did.
        """
        if name in self._streams:
            raise ArgumentError("name", name, "the engine has a stream of this name already")
        declared = DeclaredInputs(on, by, disorder, control, carry, schedule, shards)
        first, *others = inputs = declared.of(name, df)
        self._check_names(name, [own.name for own in inputs])
        for own in inputs:
            _check_not_ahead(own.source.disorder)
        lengths = () if grain is None else (parse_length("grain", grain),)
        kept = keep is not None
        network = NetworkStream(
            first.source, first.carried, lengths, kept, first.name, tuple(others)
        )
        reach = None if keep is None else network.axis.length("keep", parse_length("keep", keep))
        if others and keep is not None:
            raise ArgumentError(
                "keep",
                keep,
                f"rows of a stream with several inputs ({', '.join(own.name for own in inputs)}) "
                "are not kept yet: history replays one input; queries over it start with 'now'",
            )
        _check_history(keep, first.source)
        if grain is not None and reach is not None:
            base = base_program(name, network.planning, network.axis, reach, grain)
            network = replace(network, base=base)
        identity = {**network.identity, "grain": str(grain or "none")}
        known = self.registry.streams().get(name)
        if known is None:
            by_whom = {} if statement is None else {STATEMENT: statement}
            self.registry.log(name, "create_stream", None, {**identity, **by_whom})
        elif {**known, STATEMENT: None} != {**identity, STATEMENT: None}:
            raise EngineError(_differences(name, known, identity))
        stream = EngineStream(
            *(name, network, self._home.stream(name), self.registry, reach),
            self.committed,
            self._retain if retain is None else seconds_of("retain", retain),
            self.deliveries.needed_from,
            self.deliveries.forget_letters,
            sizes=expected_sizes(expect_keys, expect_rows),
        )
        stream.network.rule  # noqa: B018  (raises if workers cannot evaluate the rule)
        self._streams[name] = stream
        if self._started:
            stream.start(self._trigger)
        return stream

    def _log_of(self, stream: str, epoch: int) -> ResultLog | None:
        return self.stream_of(stream).answers_of(epoch)

    def _check_names(self, name: str, inputs: Sequence[str]) -> None:
        """Raise if queries could not tell the inputs of a stream from those of others."""
        taken = {
            word.casefold(): stream.name
            for stream in self._streams.values()
            for word in (stream.name, *stream.inputs)
        }
        for word in (name, *inputs):
            if (other := taken.get(word.casefold())) is not None:
                reason = f"the engine has a stream {other} that is read by this name"
                raise ArgumentError("name", word, reason)

    @property
    def declared(self) -> tuple[str, ...]:
        """The names of the streams that are declared."""
        return tuple(self._streams)

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

    def _commanded(self, stream: EngineStream) -> None:
        """Let commands of the next moments become one version, and wake the stream for it."""
        if not self._started:
            return
        with self._lock:
            self._unpublished = True
            if self._timer is None or not self._timer.is_alive():
                self._timer = threading.Timer(_TOGETHER, self._publish)
                self._timer.daemon = True
                self._timer.start()

    def _publish(self) -> None:
        """Publish what was commanded, and what is commanded meanwhile: a restart takes seconds."""
        while self._has_unpublished():
            for stream in [*self._streams.values()]:
                if stream.needs_restart:
                    self._gather_commands()
                    stream.restart()
                newest = stream.publish()
                if newest is not None and newest.version > stream.progress.version:
                    stream.awake()

    def _gather_commands(self) -> None:
        """Wait until nobody commands any more, for some seconds at most: a restart is for all."""
        until = time.monotonic() + _GATHERED
        while time.monotonic() < min(until, self._commanding_until):
            time.sleep(_TOGETHER / 4)

    @property
    def _commanding_until(self) -> float:
        """The time up to which another command may still come."""
        now = time.monotonic()
        return now + _QUIET if self._planning else self._last_planned + _QUIET

    def _has_unpublished(self) -> bool:
        """Return whether something was commanded, once; if not, this timer is done."""
        with self._lock:
            unpublished, self._unpublished = self._unpublished, False
            if not unpublished:
                self._timer = None
            return unpublished

    def handle(self, id: str, seq: int | None = None) -> QueryHandle:
        """Return the handle of a query by its id, to wait for a command of it."""
        return QueryHandle(self, id, seq)

    def ask(self, text: str) -> pa.Table:
        """Ask once: answer a SELECT from the kept rows of a stream, without registering it.

        The answers are those that a query with ``start="history"`` would have, up to the last
        committed micro-batch, which is their last column. ``FROM traffic AS OF value`` asks the
        past: for each key the newest answer that was certain when the punctuation came to the
        value. Rows that a query only chooses are all there, those below the value.

        Args:
            text: A SELECT over a stream that keeps rows (``keep=``). The stream may have ended.
        """
        query = parse_query(text)
        self._check_safe(query)
        if query.preference_place is not None:
            problem = "a query that is asked once looks at everything"
            raise SqlError(problem, text, query.preference_place, expected="no PREFERENCE")
        stream, view = self._read_by(query)
        planned = stream.plan_parsed(replace(query, as_of=None), view)
        return ask_history(stream, planned, None if query.as_of is None else query.as_of.value)

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
        timer = self._timer
        if timer is not None:
            # What was commanded last stays logged, and is published at the next start.
            timer.cancel()
            timer.join()
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


def _check_not_ahead(disorder: Disorder | None) -> None:
    """Raise if rows are to be judged as ahead, which the rule of an engine's stream cannot."""
    if disorder is not None and disorder.ahead is not None:
        raise ArgumentError(
            "disorder",
            str(disorder),
            "streams of an engine do not judge rows as ahead; filter the DataFrame, such as "
            "df.where(\"ts < current_timestamp() + INTERVAL '1' HOUR\")",
        )


def _check_history(keep: object, source: Stream) -> None:
    """Raise if rows are to be kept of a stream whose punctuation is for each key."""
    keyed = isinstance(source.disorder, PerKey | Each) or (
        isinstance(source.disorder, Punctuated) and source.disorder.key
    )
    if keep is not None and keyed:
        raise ArgumentError(
            "keep", keep, f"history does not know the punctuation of keys ({source.disorder})"
        )


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
