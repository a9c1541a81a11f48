"""Shedding by the load of a stream: measured in the driver, decided, logged, and pinned.

Nothing is done for a stream none of whose queries says what its answers are worth. Rows are shed
before any query sees them, by a native rate, and only if every query of the stream tolerates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from muntin.engine.commit import BatchReport, StreamProgress
from muntin.engine.overload.controller import Control, ControlLimits, Measured, controlled
from muntin.engine.overload.qos_of_query import qos_of
from muntin.engine.overload.stream_load import StreamLoad
from muntin.engine.registry import Registry
from muntin.engine.registry_records import RUNNING, TAP, QueryRecord
from muntin.spark.queries.many_queries import NetworkStream
from muntin.specs.overload import OverloadDecision
from muntin.specs.qos import Qos

#: Rates of so many stretches are remembered; of what was before, the least.
_STRETCHES = 32
#: Before every tick.
_FIRST = -(2**63)
#: Of the good zone of the delay, so much is for a micro-batch: its rows wait for the one before.
_PART = 0.5


class ShedStream(Protocol):
    """A stream of an engine, as its shedder uses it."""

    @property
    def name(self) -> str: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def load(self) -> StreamLoad: ...
    @property
    def network(self) -> NetworkStream: ...
    @property
    def keep(self) -> int | None: ...
    @property
    def publishing(self) -> AbstractContextManager[Any]: ...
    def retrigger(self, seconds: float) -> None: ...


@dataclass
class Shedder:
    """Decides for one stream, after each micro-batch.

    ``asked`` are the seconds between two micro-batches without what was decided here.
    """

    asked: float = 0.0
    control: Control = field(default_factory=Control)
    limits: ControlLimits | None = None

    @classmethod
    def of(cls, decision: OverloadDecision) -> Shedder:
        """Return a shedder that goes on where a decision is in force."""
        if decision.kept >= 1:
            return cls()
        why = "the engine stopped while rows were shed"
        return cls(control=Control(rate=decision.kept, steps=("shed",), why=why))

    def count(self, live: Iterable[QueryRecord], shed: int) -> Iterator[int]:
        """Yield the members that have lost rows, if any were shed."""
        if shed:
            yield from (own.number for own in _running(live) if own.since is not None)

    def decide(
        self, stream: ShedStream, live: Iterable[QueryRecord], report: BatchReport
    ) -> OverloadDecision | None:
        """Log what is to be shed from the next micro-batch on, if that changes."""
        graphs = {own.number: qos_of(own) for own in _running(live)}
        if not any(graphs.values()) and not self.control.steps:
            self.limits = None
            return None
        if self.control.interval is None:
            self.asked = stream.load.interval
        self.limits = limits_of(stream, graphs, self.asked)
        before, load, progress = self.control, stream.load, report.progress
        last = load.times.measured[-1]
        delays = [load.delays[own] for own in report.answered if own in load.delays]
        measured = Measured(
            rows=progress.rows + progress.shed,
            seconds=last.seconds,
            gap=load.gap,
            waiting=last.waiting,
            delay=max(delays, default=None),
        )
        after = controlled(before, self.limits, measured, load.times.line)
        if after.rate < self.limits.least_rate:  # a query has come that tolerates less
            steps = after.steps
            if self.limits.least_rate >= 1:
                steps = tuple(step for step in steps if step != "shed")
            after = replace(after, rate=self.limits.least_rate, steps=steps)
        self.control = after
        if after.interval != before.interval:
            stream.retrigger(after.interval or self.limits.interval)
        decision = stream.registry.decision(stream.name)
        if after.rate == decision.kept:
            return None
        rates = with_rate(decision.rates, decision.kept, after.rate, progress)
        decided = replace(decision, kept=after.rate, rates=rates)
        stream.registry.decide(stream.name, decided)
        return decided


def limits_of(stream: ShedStream, graphs: Mapping[int, Qos | None], asked: float) -> ControlLimits:
    """Return what may be done about overload of a stream, given the graphs of its queries."""
    good = [graph.delay.good_until for graph in graphs.values() if graph is not None]
    interval = asked or _PART * min(good, default=10.0)
    return ControlLimits(
        interval=interval,
        good_delay=min(good, default=None),
        least_rate=1.0 if why_not_native(stream, graphs) else _most_demanding(graphs),
        longest=_PART * min(good, default=0.0) if asked else 0.0,
    )


def why_not_native(stream: ShedStream, graphs: Mapping[int, Qos | None]) -> str | None:
    """Return why no row of a stream is shed before queries see it; None if rows may be."""
    if stream.keep is not None:
        return "its rows are kept for queries to come, which may need all of them"
    if len(stream.network.inputs) > 1:
        return "it has several inputs, whose rows are joined"
    if not stream.network.inputs[0].scanned:
        return "Spark reads its source; rows are shed natively by the tasks that read Parquet files"
    if _most_demanding(graphs) >= 1:
        return "some query of it tolerates no loss"
    return None


def _most_demanding(graphs: Mapping[int, Qos | None]) -> float:
    shares = (1.0 if graph is None else graph.least_share for graph in graphs.values())
    return max(shares, default=1.0)


def with_rate(
    rates: tuple[tuple[int, float], ...], before: float, now: float, progress: StreamProgress
) -> tuple[tuple[int, float], ...]:
    """Return the rates by tick, with another one from the next micro-batch on.

    Its rows are all after the punctuation, and may be before the largest tick. So a lower rate
    counts from the punctuation on, and a higher one from the largest tick on: an extent is never
    taken for more complete than it is.
    """
    tick = progress.reached if now < before else progress.largest
    tick = _FIRST if tick is None else tick
    kept = [(own, rate) for own, rate in rates if own < tick]
    changed = [*kept, (tick, now)]
    if len(changed) > _STRETCHES:
        least = min(rate for _, rate in changed[: -_STRETCHES + 1])
        changed = [(_FIRST, least), *changed[-_STRETCHES + 1 :]]
    return tuple(changed)


def _running(live: Iterable[QueryRecord]) -> Iterator[QueryRecord]:
    return (own for own in live if own.status in RUNNING and own.emit != TAP)
