"""Runs the commands of a desk on an engine in memory, and each of its queries alone."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.engine_stream import EngineStream
from muntin.engine.handle import QueryHandle
from muntin.engine.plan_query import PlannedQuery
from muntin.errors import MuntinError
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.network import StreamRule
from muntin.reference.disorder import Rule
from muntin.spark.plan.worker_program import carried_schema
from tests.engine.desk.alone import Alone, Arrived, arrived
from tests.engine.desk.desk_cases import DISORDERS, ZERO, Command, DeskCase, rows_of
from tests.engine.desk.kinds import KINDS
from tests.engine.desk.memory_engine import NAME, Checkpoint, MemoryNetwork, memory_engine
from tests.engine.pool import COLUMNS

_FAR = 10**12
#: What is drawn of commands, for the census.
drawn: Counter[str] = Counter()


class Streams:
    """The streams that cases run on, each declared once, and the queries planned for them."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.df = spark.createDataFrame([], COLUMNS)
        self._networks: dict[str, MemoryNetwork] = {}
        self._plans: dict[str, dict[str, PlannedQuery]] = {}
        self._refused: dict[tuple[int, str], MuntinError] = {}

    def network(self, disorder: str) -> MemoryNetwork:
        if disorder not in self._networks:
            rule = DISORDERS[disorder][0]()
            source = mt.stream(self.df, "ts", "station", rule)
            self._networks[disorder] = MemoryNetwork(
                source, tuple(self.df.columns), keep=False, name=NAME
            )
        return self._networks[disorder]

    def rule(self, disorder: str) -> StreamRule:
        rule: StreamRule = from_json(self.network(disorder).rule)
        return rule

    def plans(self, disorder: str) -> dict[str, PlannedQuery]:
        """Return the plans of queries; how far a stream is complete plays no part in most."""
        own = (
            disorder
            if disorder in ("per key", "per key, waiting", "consistent", "marked")
            else "slack"
        )
        return self._plans.setdefault(own, {})

    def planned(self, disorder: str, text: str) -> PlannedQuery:
        """Return the plan of a query; what Spark would finish stays as the operator reports it."""
        plans = self.plans(disorder)
        key = id(plans), text
        if key in self._refused:
            raise self._refused[key]
        if text not in plans:
            network = self.network(disorder)
            planner = EngineStream("s", network, Path(), None)  # type: ignore[arg-type]
            try:
                plans[text] = replace(planner.plan(text), finish=None)
            except MuntinError as refused:
                self._refused[key] = refused
                raise
        return plans[text]


@dataclass
class Life:
    """A generation of a query: since when it is in force, until when, and what it should answer.

    ``filled`` generations are in force when the engine has run them over history.
    """

    handle: QueryHandle
    number: int
    alone: Alone
    first: int
    filled: bool = False
    past: bool = False
    stop: int = _FAR
    paused: list[tuple[int, int]] = field(default_factory=list)
    follows: Life | None = None
    staged: bool = False
    until: datetime | None = None
    failed: int | None = None
    answers: dict[int, list[str]] = field(default_factory=dict)

    def pause(self, place: int) -> None:
        self.paused.append((place, _FAR))

    def resume(self, place: int) -> None:
        if self.paused and self.paused[-1][1] == _FAR:
            self.paused[-1] = self.paused[-1][0], place

    def is_paused(self, place: int) -> bool:
        return any(first <= place < last for first, last in self.paused)


@dataclass
class Desk:
    """An engine, and what its queries should answer."""

    streams: Streams
    case: DeskCase
    folder: Path
    engine: mt.Engine
    stream: EngineStream
    lives: list[Life] = field(default_factory=list)
    arrived: list[Arrived] = field(default_factory=list)
    place: int = 0

    @property
    def in_force(self) -> int:
        """The micro-batch in which a command that is given now is in force."""
        return 0 if self.place == 0 else self.place + 1

    def give(self, command: Command) -> None:
        """Give a command to the engine, and note what it means."""
        kind, query, number, target, value = command
        text = KINDS[query][number % len(KINDS[query])]
        current = [life for life in self.lives if life.stop == _FAR and not life.staged]
        try:
            self.streams.planned(self.case.disorder, text)
            match kind:
                case "register" | "history" | "value" | "until" | "preview":
                    self._register(kind, text, value)
                case _ if current:
                    getattr(self, f"_{kind}")(current[target % len(current)], text)
            drawn[kind] += 1
            drawn[query] += 1
        except MuntinError as refused:
            drawn[f"refused: {kind}"] += 1
            self.refusals.append(f"{kind}: {refused}")

    refusals: list[str] = field(default_factory=list)

    def _program(self, text: str) -> Any:
        return self.streams.planned(self.case.disorder, text).program

    def _register(self, kind: str, text: str, value: int) -> None:
        at = ZERO + timedelta(seconds=value)
        until = at if kind == "until" else None
        since = at if kind == "value" else None
        alone = Alone(self._program(text), since, until)
        if kind == "preview":
            handle = self.engine.preview(text)
        else:
            start = {"history": "history", "value": str(at)}.get(kind, "now")
            handle = self.engine.register(
                f"query {len(self.lives)}", text, start=start, until=until
            )
        filled = kind in ("history", "value")
        number = handle.record.number
        life = Life(handle, number, alone, self.in_force, filled, past=filled, until=until)
        self.lives.append(life)

    def _next(self, before: Life, text: str, *, staged: bool) -> None:
        handle = before.handle
        filled = self.case.keep
        if staged:
            handle.stage(text)
        else:
            handle.change(text)
        generation = self.engine.registry.generations(handle.id)[-1]
        assert generation.generation > 1
        alone = Alone(self._program(text), until=before.until)
        life = Life(handle, generation.number, alone, self.in_force, filled, until=before.until)
        life.staged = staged
        life.follows = before
        if not staged and not filled:
            before.stop = min(before.stop, self.in_force)
        if before.is_paused(self.in_force) and not staged:
            life.pause(0)
        self.lives.append(life)

    def _change(self, life: Life, text: str) -> None:
        self._next(life, text, staged=False)

    def _stage(self, life: Life, text: str) -> None:
        self._next(life, text, staged=True)

    def _staged_of(self, life: Life) -> Life:
        return next(
            (n for n in self.lives if n.follows is life and n.staged and n.stop == _FAR), life
        )

    def _apply(self, life: Life, text: str) -> None:
        life.handle.apply()
        staged = self._staged_of(life)
        staged.staged = False
        if life.is_paused(self.in_force):
            staged.pause(self.in_force)
        life.stop = self.in_force

    def _discard(self, life: Life, text: str) -> None:
        life.handle.discard()
        self._staged_of(life).stop = self.in_force

    def _pause(self, life: Life, text: str) -> None:
        life.handle.pause()
        life.pause(self.in_force)

    def _resume(self, life: Life, text: str) -> None:
        quarantined = life.handle.status == "quarantined"
        life.handle.resume()
        if quarantined:
            record = life.handle.record
            life.stop = self.in_force
            alone = Alone(life.alone.program, life.alone.since, life.until)
            self.lives.append(
                Life(life.handle, record.number, alone, self.in_force, until=life.until)
            )
        else:
            life.resume(self.in_force)

    def _drop(self, life: Life, text: str) -> None:
        life.handle.drop()
        for own in self.lives:
            if own.handle.id == life.handle.id:
                own.stop = min(own.stop, self.in_force)

    def restart(self) -> None:
        """Stop the engine and open it again on its home."""
        self.engine.stop()
        network, plans = self.stream.network, self.stream._planned
        keep = self.stream.keep
        self.engine, self.stream = memory_engine(
            self.streams.spark,
            self.folder,
            network,
            keep,
            plans,  # type: ignore[arg-type]
        )
        for life in self.lives:
            life.handle = QueryHandle(self.engine, life.handle.id)
        self.stream.start(None)

    def run(self, tables: list[pa.Table], event: str, end: bool) -> None:
        query: Any = self.stream.query
        query.run(tables, end=end, repeats=event == "repeated")
        self.place += 1

    def expect(self) -> None:
        """Note what each query should answer in the micro-batch that has just run."""
        now = self.place - 1
        for life in self.lives:  # which may end others
            if life.filled and life.failed is None:
                self._expect_filled(life, now)
        for life in self.lives:
            if not life.filled and life.failed is None and life.first <= now < life.stop:
                self._expect(life, now)
        progress = self.arrived[now].punctuation
        for life in self.lives:
            if life.until is not None and life.stop == _FAR and self._begun(life, now):
                tick = int((life.until - datetime(1970, 1, 1, tzinfo=life.until.tzinfo)) / _MICRO)
                reached = progress.after is not None and progress.after >= tick
                if reached or progress.ended:
                    life.stop = now + 1

    def _begun(self, life: Life, now: int) -> bool:
        """True also if it would begin next: one whose end is passed by then never begins."""
        return life.first <= now + 1 and not life.filled

    def _expect(self, life: Life, now: int) -> None:
        try:
            answers = life.alone.step(self.arrived[now])
        except Exception:
            life.failed, life.stop = now, min(life.stop, now + 1)
            return
        if answers is not None and not life.is_paused(now):
            life.answers[now] = sorted([*life.answers.get(now, []), *plain(answers)])

    def _expect_filled(self, life: Life, now: int) -> None:
        """Run a query over history when the engine has done so."""
        record = self.engine.registry.member(life.number)
        if record.status == "quarantined" and record.since is None:
            life.failed, life.stop = now, now
            assert self._fails_over_history(life), record.reason
            return
        if record.status in ("dropped", "ended") and record.since is None:
            life.stop = min(life.stop, now)
            return
        if record.since is None or life.stop <= now:
            return
        life.filled, life.first = False, record.since[0]
        assert life.first == now
        past: list[str] = []
        for batch in self.arrived[:now]:
            answers = life.alone.step(batch)
            past += [] if answers is None else plain(answers)
        if life.follows is not None and not life.staged:
            life.follows.stop = min(life.follows.stop, now)
        if life.past and past:
            life.answers[now] = past

    def _fails_over_history(self, life: Life) -> bool:
        try:
            for batch in self.arrived:
                life.alone.step(batch)
        except Exception:
            return True
        return False

    def check(self) -> None:
        """Compare what the result log has with what each query should answer."""
        for life in self.lives:
            found: dict[int, list[str]] = {}
            for answer in self.stream.answers().answers([life.number]):
                found[answer.micro_batch] = plain(answer.table)
            for batch in sorted({*found, *life.answers}):
                about = f"{self._about(life)}, micro-batch {batch}"
                assert found.get(batch) == life.answers.get(batch), (
                    f"{about}: {found.get(batch)} not {life.answers.get(batch)}"
                )
            record = self.engine.registry.member(life.number)
            if life.failed is not None and record.status not in ("dropped", "ended"):
                assert record.status == "quarantined", self._about(life)

    def _about(self, life: Life) -> str:
        record = self.engine.registry.member(life.number)
        return (
            f"{record.text}, generation {record.generation} ({record.status}, {record.reason}), "
            f"start {record.start}, until {record.until}; in micro-batches {life.first} to "
            f"{life.stop}, failed {life.failed}"
        )

    def check_counts(self) -> None:
        """Rows in = used + refused."""
        for life in self.lives:
            counts = self.stream.counts.get(life.number)
            if life.first >= _FAR or counts is None or life.paused or life.past or life.follows:
                continue
            if life.failed is None:
                alone = life.alone
                found = counts.used, counts.refused
                assert found == (alone.used, alone.refused), f"{self._about(life)}: {found}"


_MICRO = timedelta(microseconds=1)


def run_desk(streams: Streams, case: DeskCase, folder: Path) -> list[str]:
    """Run a case and compare everything; return the commands that were refused."""
    saved = Checkpoint(case.shards)
    network = replace(streams.network(case.disorder), saved=[saved], keep=case.keep)
    for name in ("planning", "ruled", "rule"):
        network.__dict__[name] = getattr(streams.network(case.disorder), name)
    keep = 10**15 if case.keep else None
    plans = streams.plans(case.disorder)
    engine, stream = memory_engine(streams.spark, folder, network, keep, plans)
    desk = Desk(streams, case, folder, engine, stream)
    schema = carried_schema(network.planning)
    tables: list[list[pa.Table]] = [
        [pa.Table.from_pylist(rows_of(task, place), schema) for task in moment.tasks]
        for place, moment in enumerate(case.moments)
    ]
    source = network.source
    assert source.disorder is not None
    rule = Rule(
        *(source.disorder, network.axis, "ts", ("station",)), lambda row: bool(row["lane"] == 2)
    )
    marked = case.disorder == "marked"
    whole = [pa.concat_tables(tasks) for tasks in tables]
    desk.arrived = arrived(rule, whole, case.end, marked)
    calm = True
    try:
        for place, moment in enumerate(case.moments):
            for command in moment.commands:
                desk.give(command)
            if place == 0:
                desk.stream.start(None)
            if moment.event == "restarted":
                desk.restart()
            calm &= moment.event == "nothing"
            desk.run(tables[place], moment.event, end=place == case.end)
            desk.expect()
        desk.check()
        if calm:
            desk.check_counts()
        for record in desk.engine.registry.live("s"):
            if desk.engine.registry.find(record.id) is not None:
                with contextlib.suppress(MuntinError):
                    desk.engine.command("drop", record.id)
        desk.run([], "nothing", end=False)
        desk.run([], "nothing", end=False)
        left = {name for name in saved.tables if "punctuator" not in name}
        assert left <= {"version"}, left
    finally:
        desk.engine.stop()
    return desk.refusals


def plain(table: pa.Table) -> list[str]:
    """Return the rows of a table as texts, in order."""
    return sorted(map(repr, table.to_pylist()))
