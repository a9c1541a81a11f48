"""The handle of a query of the engine: to read its answers, and to change, pause and drop it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from muntin.engine.asking.ask import Asker
from muntin.engine.asking.chosen_modes import is_auto, mode_of
from muntin.engine.asking.past import ask_history
from muntin.engine.commit import MemberCounts
from muntin.engine.costs.query_cost import QueryCost
from muntin.engine.engine_stream import EngineStream
from muntin.engine.follow import follow
from muntin.engine.overload.qos_of_query import qos_of
from muntin.engine.planning.early_queries import answer_schema
from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.engine.sinks.deliveries import Deliveries
from muntin.engine.sinks.query_sinks import QuerySinks
from muntin.errors import EngineError
from muntin.specs.qos import Qos

#: Seconds between two looks at whether a command is in force.
_LOOK = 0.02


@dataclass(frozen=True)
class Activation:
    """Since when a command is in force.

    Attributes:
        query: The name of the query, or its id.
        generation: The generation that it made or changed.
        micro_batch: The first micro-batch with it.
        punctuation: The punctuation of the stream before that micro-batch, as a value of ``on``.
        filled: What a new query was filled from: ``panes``, ``rows`` or ``nothing``.
        how: ``in place``, or ``restart`` if the stream was started again for it.
    """

    query: str
    generation: int
    micro_batch: int
    punctuation: object
    filled: str
    how: str

    def __str__(self) -> str:
        reached = (
            "without punctuation" if self.punctuation is None else f"punctuation {self.punctuation}"
        )
        return (
            f"{self.query}, generation {self.generation}: active since micro-batch "
            f"{self.micro_batch}, {reached}, filled from {self.filled}, {self.how}"
        )


class HandledEngine(Protocol):
    """An engine, as its handles use it."""

    registry: Registry
    deliveries: Deliveries
    asker: Asker

    def stream_of(self, name: str) -> EngineStream:
        """Return a stream by its name."""

    def change(self, name: str, text: str, *, until: object = None) -> QueryHandle:
        """Let another query take the place of one."""

    def stage(self, name: str, text: str) -> QueryHandle:
        """Run the next generation of a query beside the current one."""

    def settle(self, name: str, *, apply: bool) -> QueryHandle:
        """Apply or discard the staged generation."""

    def command(self, kind: str, name: str) -> QueryHandle:
        """Pause, resume or drop a query."""

    def explain(self, name: str) -> str:
        """Return how a query runs."""


@dataclass(frozen=True, eq=False)
class QueryHandle:
    """A query of an engine. :meth:`muntin.Engine.register` and ``engine["name"]`` return it.

    Args:
        engine: The engine that it belongs to.
        id: The id of the query, which a dropped one keeps.
        seq: The command that :meth:`wait` waits for.
    """

    engine: HandledEngine
    id: str
    seq: int | None = None

    @property
    def record(self) -> QueryRecord:
        """What the registry knows of the query: name, text, owner, tags, status and more."""
        return self.engine.registry.get(self.id)

    @property
    def name(self) -> str:
        return self.record.name or self.id

    @property
    def status(self) -> str:
        """``registered``, ``active``, ``paused``, ``quarantined``, ``dropped`` or ``ended``."""
        return self.record.status

    @property
    def generation(self) -> int:
        """The number of the current generation; ``change`` makes the next one."""
        return self.record.generation

    @property
    def reason(self) -> str | None:
        """Why the query is quarantined, or has ended."""
        return self.record.reason

    @property
    def counts(self) -> MemberCounts:
        """Rows that the current generation used and refused since the engine started."""
        stream = self.engine.stream_of(self.record.stream)
        return stream.counts.get(self.record.number, MemberCounts())

    @property
    def cost(self) -> QueryCost:
        """What the current generation has cost since the engine started, and what it shares."""
        record = self.record
        return self.engine.stream_of(record.stream).cost(record)

    @property
    def qos(self) -> Qos | None:
        """What answers are worth, as it was given; ``print(handle.explain())`` draws it."""
        return qos_of(self.record)

    @property
    def delay(self) -> float | None:
        """Seconds between the earliest arrival of rows that completed the last answers, and these.

        None before there is any answer since the engine started.
        """
        record = self.record
        return self.engine.stream_of(record.stream).load.delay(record.number)

    @property
    def sinks(self) -> QuerySinks:
        """The sink and the triggers of the query: to add, drop, resume, and to see how far."""
        waits = mode_of(self.record) != "eager" or is_auto(self.record)
        if waits or self.engine.registry.is_preview(self.id):
            raise EngineError(
                f"{self.name} has no sinks: previews have none, and a sink needs answers in every "
                "micro-batch, answer='eager'"
            )
        stream = self.engine.stream_of(self.record.stream)
        return QuerySinks(self.engine.registry, self.engine.deliveries, self.id, stream.next_batch)

    def wait(self, timeout: float = 60.0) -> Activation:
        """Wait until the last command of this handle is in force; raise if it was refused.

        Raises:
            EngineError: The command was refused, the stream failed, or the time is over.
        """
        if self.seq is None:
            raise EngineError(f"no command of this handle of {self.name} is under way")
        stream = self.engine.stream_of(self.record.stream)
        until = time.monotonic() + timeout
        while (found := self.engine.registry.acknowledgement(self.seq)) is None:
            stream.check()
            if time.monotonic() > until:
                started = stream.query is not None
                hint = "" if started else "; the engine is not started: call engine.start()"
                raise EngineError(f"{self.name} is not in force after {timeout} seconds{hint}")
            time.sleep(_LOOK)
        if found.refused is not None:
            raise EngineError(f"{self.name} was refused: {found.refused}")
        assert found.micro_batch is not None
        return Activation(
            self.name,
            self.record.generation,
            found.micro_batch,
            stream.value_of(found.punctuation),
            found.filled or "nothing",
            found.how or "in place",
        )

    def results(self, after: int = -1, *, generation: int | None = None) -> pa.Table:
        """Return the answers of the micro-batches after one, as a ``pyarrow.Table``.

        The last column is ``micro_batch``. ``complete`` is false where rows of the answer's extent
        may be missing.

        Args:
            after: The last micro-batch that was read; -1 returns all answers that are there.
            generation: Another generation than the current one.

        Raises:
            EngineError: Answers after that micro-batch were there, and are not retained.
        """
        record = self.engine.registry.get(self.id, generation)
        stream = self.engine.stream_of(record.stream)
        log = stream.answers()
        if 0 <= after < (forgotten := log.forgotten(record.number)):
            raise EngineError(
                f"the answers of {self.name} up to micro-batch {forgotten} are not there any more: "
                f"{stream.name} was declared with a shorter retain=; results() returns those that "
                f"are, and results(after={forgotten}) begins after them"
            )
        if generation is None and record.generation > 1 and record.since is not None:
            # What a staged generation answered before it was applied was beside the query.
            first, epoch = record.since
            after = max(after, first - 1) if epoch == stream.epoch else after
        return log.read([record.number], after, schema=self._schema(record))

    def latest(self, *, generation: int | None = None) -> pa.Table:
        """Return the answers of the last micro-batch that had any."""
        record = self.engine.registry.get(self.id, generation)
        log = self.engine.stream_of(record.stream).answers()
        return log.latest([record.number], schema=self._schema(record))

    def follow(self, after: int = -1, timeout: float | None = None) -> Iterator[pa.Table]:
        """Yield the answers of the micro-batches after one, each time that there are new ones.

        It ends with the query, or when nothing came for ``timeout`` seconds.
        """
        return follow(self, after, timeout)

    def newest(self, rows: int, *, generation: int | None = None) -> pa.Table:
        """Return at most so many answers, those that were made last."""
        record = self.engine.registry.get(self.id, generation)
        log = self.engine.stream_of(record.stream).answers()
        after = log.before_newest([record.number], max(1, rows))
        # Answers that are not retained are older than those that are there.
        after = max(after, log.forgotten(record.number))
        found = self.results(after, generation=generation)
        return found.slice(max(0, found.num_rows - rows))

    def as_of(self, value: object) -> pa.Table:
        """Return the answer that was certain when the punctuation of the stream came to a value.

        It is computed from kept rows, as ``FROM stream AS OF value`` is.
        """
        record = self.record
        stream = self.engine.stream_of(record.stream)
        return ask_history(stream, stream.plan_of(record), value)

    def invoke(self, timeout: float = 60.0) -> pa.Table:
        """Return the answer now: for each key the newest rows that are certain.

        The last column, ``micro_batch``, says in which micro-batch a row became certain. All ways
        of making answers (``answer=`` of :meth:`muntin.Engine.register`) return the same.

        Args:
            timeout: How many seconds a query with ``answer="partial"`` may take to answer.
        """
        record = self.record
        return self.engine.asker.ask(self.engine.stream_of(record.stream), record, timeout)

    def _schema(self, record: QueryRecord) -> pa.Schema:
        columns = self.engine.stream_of(record.stream).plan_of(record).columns
        return answer_schema(columns, record)

    def change(self, text: str, *, until: object = None) -> QueryHandle:
        """Let another query take the place of this one, as its next generation.

        Windows that end at or before the stream's punctuation then belong to this generation, later
        ones to the next; none is answered twice, and none is left out.
        """
        return self.engine.change(self.id, text, until=until)

    def stage(self, text: str) -> QueryHandle:
        """Run the next generation beside this one; ``results(generation=)`` reads its answers."""
        return self.engine.stage(self.id, text)

    def apply(self) -> QueryHandle:
        """Let the staged generation take the place of the current one, as :meth:`change` does."""
        return self.engine.settle(self.id, apply=True)

    def discard(self) -> QueryHandle:
        """Drop the staged generation."""
        return self.engine.settle(self.id, apply=False)

    def keep(self, name: str) -> QueryHandle:
        """Give a preview a name, so that it stays, with its id, its state and its answers."""
        registry = self.engine.registry
        if not registry.is_preview(self.id):
            raise EngineError(f"{self.name} is no preview: it stays until it is dropped")
        registry.rename(self.id, name)
        registry.set_end(self.id, None)
        return self

    def pause(self) -> QueryHandle:
        """Stop making answers; the state goes on, and answers of that time are not made up."""
        return self.engine.command("pause", self.id)

    def resume(self) -> QueryHandle:
        """Make answers again; a quarantined query begins anew, as its next generation."""
        return self.engine.command("resume", self.id)

    def drop(self) -> QueryHandle:
        """End the query; its answers can still be read by its id for a day."""
        return self.engine.command("drop", self.id)

    def explain(self) -> str:
        """Return what the query computes, what workers evaluate, and what it shares."""
        return self.engine.explain(self.id)

    def __repr__(self) -> str:
        record = self.record
        return f"<query {record.name or record.id} ({record.status}): {record.text}>"
