"""What each query of a home should have answered, found from its log of commands alone.

A home that ran, and may have been killed, is opened without its engine. The rows of a micro-batch
are those that the query ``all`` has of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

import muntin as mt
from muntin.engine.commit import with_complete
from muntin.engine.kept_rows import KeptRowFiles
from muntin.engine.plan_query import PlannedQuery
from muntin.engine.registry import Registry
from muntin.engine.registry_records import LoggedCommand, QueryRecord
from muntin.engine.result_log import ResultLog
from muntin.operators.shared.program import COMPLETE
from muntin.reference.disorder import Rule
from muntin.spark.columns import SparkSession
from muntin.spark.queries.many_queries import finished
from muntin.specs.axis import Axis, Domain
from tests.engine.desk.alone import Alone, Arrived, arrived
from tests.engine.hour.program_hour import ALL

_FAR = 10**12
_ZERO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Life:
    """A generation: the micro-batches in which it answers, ``paused`` ones left out.

    ``past`` is true if it answers all of the history when it begins, ``silent`` if it has seen the
    history and answers only what comes.
    """

    record: QueryRecord
    first: int
    stop: int = _FAR
    past: bool = False
    silent: bool = False
    paused: list[tuple[int, int]] = field(default_factory=list)

    def __str__(self) -> str:
        own, start = self.record, f"start {self.record.start}, until {self.record.until}"
        return f"{own.id}, generation {own.generation}, {self.first} to {self.stop}, {start}"

    def answers_in(self, number: int) -> bool:
        return not any(first <= number < last for first, last in self.paused)


@dataclass(frozen=True)
class Ran:
    """A home whose engine has ended."""

    home: Path
    stream: str = "s"

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.home)

    @property
    def folder(self) -> Path:
        return self.home / "streams" / self.stream

    @cached_property
    def log(self) -> ResultLog:
        return ResultLog(self.folder / "results" / "1")

    @cached_property
    def acknowledged(self) -> dict[int, int]:
        """The micro-batch in which each command came in force."""
        found = {c.seq: self.registry.acknowledgement(c.seq) for c in self.registry.commands()}
        return {
            seq: _FAR if ack is None or ack.micro_batch is None else ack.micro_batch
            for seq, ack in found.items()
        }

    @cached_property
    def arrived(self) -> list[Arrived]:
        """The micro-batches, with the punctuation of the plain reference."""
        every = self.registry.get("q1")
        assert every.text == ALL
        rows = {
            answer.micro_batch: answer.table.drop_columns([COMPLETE])
            for answer in self.log.answers([every.number])
        }
        kept = KeptRowFiles(self.folder / "kept" / "1")
        numbers = kept.batches()
        assert numbers == list(range(len(numbers))), "no micro-batch is left out"
        ends = [number for number in numbers if kept.progress(number).ended]
        nothing = next(iter(rows.values())).slice(0, 0)
        rule = Rule(mt.slack("4 seconds"), Axis(Domain.TIMESTAMP), "ts", ("station",))
        batches = [rows.get(number, nothing) for number in numbers]
        return arrived(rule, batches, ends[0] if ends else None)

    def lives(self) -> Iterator[Life]:
        """Yield what the log of commands says about each generation that came in force."""
        by_query: dict[str, list[LoggedCommand]] = {}
        for command in self.registry.commands():
            by_query.setdefault(command.query_id or "", []).append(command)
        for query, commands in by_query.items():
            if query:
                yield from self._of_query(query, commands)

    def _of_query(self, query: str, commands: list[LoggedCommand]) -> Iterator[Life]:
        generations = self.registry.generations(query)
        made = [c for c in commands if c.kind == "register" or "beside" in c.details]
        assert len(made) == len(generations), "nothing was quarantined"
        paused = self._paused(commands)
        ended = [self.acknowledged[c.seq] for c in commands if c.kind == "drop"]
        lives: list[Life] = []
        taken = {1: 0}
        for generation, command in zip(generations, made, strict=True):
            beside = bool(command.details.get("beside"))
            kept = command.kind == "change"
            first = self.acknowledged[command.seq]
            if kept and not beside:
                first = _FAR if generation.since is None else generation.since[0]
                taken[generation.generation] = first
            silent = kept and generation.start != "now"
            life = Life(generation, first, min([_FAR, *ended]), silent=silent)
            life.past = generation.start != "now" and not kept
            life.paused = list(paused)
            lives.append(life)
        self._settle(lives, commands, taken)
        applied = {command.details.get("applied") for command in commands}
        # A generation that is dropped while it is filled never begins.
        begun = (own for own in lives if own.record.since or own.record.generation in applied)
        yield from (life for life in begun if life.first < life.stop)

    def _settle(
        self, lives: list[Life], commands: list[LoggedCommand], taken: dict[int, int]
    ) -> None:
        """Note which generation followed which, and when."""
        staged = [life for life in lives if life.record.generation not in taken]
        for command in commands:
            number = command.details.get("applied")
            if isinstance(number, int) and number not in taken:
                taken[number] = self.acknowledged[command.seq]
            if "discarded" in command.details:
                life = lives[int(str(command.details["discarded"])) - 1]
                life.stop = min(life.stop, self.acknowledged[command.seq])
        for life in staged:  # beside the query until it is applied, so that a pause is not for it
            since = taken.get(life.record.generation, _FAR)
            life.paused = [(max(first, since), last) for first, last in life.paused]
        order = sorted((place, number) for number, place in taken.items() if place < _FAR)
        for (_, before), (place, _) in pairwise(order):
            lives[before - 1].stop = min(lives[before - 1].stop, place)

    def _paused(self, commands: list[LoggedCommand]) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        for command in commands:
            place = self.acknowledged[command.seq]
            if command.kind == "pause":
                spans.append((place, _FAR))
            elif command.kind == "resume" and spans:
                spans[-1] = spans[-1][0], place
        return spans

    def expected(self, life: Life, plan: PlannedQuery, spark: SparkSession) -> dict[int, list[str]]:
        """Return what a generation answers alone, by micro-batch."""
        since = None
        if life.past and life.record.start != "history":
            since = datetime.fromisoformat(life.record.start)
        until = None
        if life.record.until is not None:
            until = datetime.fromisoformat(life.record.until)
        alone = Alone(plan.program, since, until)
        made = _finisher(plan, spark)
        past: list[str] = []
        found: dict[int, list[str]] = {}
        begins = 0 if life.past or life.silent else life.first
        for number in range(begins, min(life.stop, len(self.arrived))):
            batch = self.arrived[number]
            if number >= life.first and _is_over(until, batch.punctuation.before):
                break
            answers = alone.step(batch)
            lines = [] if answers is None else made(answers)
            if number < life.first:
                past += lines if life.past else []
            elif life.answers_in(number) and (lines or (number == life.first and past)):
                found[number] = sorted([*lines, *(past if number == life.first else [])])
        return found

    def found(self, life: Life) -> dict[int, list[str]]:
        """Return what the result log has of a generation, by micro-batch."""
        return {a.micro_batch: lines(a.table) for a in self.log.answers([life.record.number])}

    def close(self) -> None:
        self.log.close()
        self.registry.close()


def _is_over(until: datetime | None, reached: int | None) -> bool:
    """Return whether punctuation has passed the end of a query."""
    return until is not None and reached is not None and reached >= (until - _ZERO) // _MICRO


_MICRO = timedelta(microseconds=1)


def _finisher(plan: PlannedQuery, spark: SparkSession) -> Callable[[pa.Table], list[str]]:
    """Return what Spark, if it has to, makes of a query's answers."""
    finish = plan.finish
    if finish is None:
        return lines
    return lambda table: lines(with_complete(finished(spark, table, finish), table))


def lines(table: pa.Table) -> list[str]:
    """Return the rows of a table as texts, in order."""
    return sorted(map(repr, table.to_pylist()))
