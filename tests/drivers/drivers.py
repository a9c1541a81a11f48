"""One case, three drivers: the reference, a batch, and a stream of the micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

import muntin as mt
from muntin.reference.disorder import Rule
from muntin.reference.rows import SequenceReference
from muntin.reference.windows import Evaluate, Outcome, Reference
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import SequenceSpec
from muntin.specs.windows import Unfinished, WindowSpec
from muntin.testing import replay
from tests.drivers.streams import play

SCHEMA = "k STRING, x BIGINT, v BIGINT"
RESULTS = ("count(*) AS n", "sum(v) AS s")
EVALUATE: Mapping[str, Evaluate] = {"n": len, "s": lambda rows: sum(row["v"] for row in rows)}
#: The values of k, x and v.
Row = tuple[str, int | None, int]


@dataclass(frozen=True)
class Case:
    """Windows as a specification and as public calls, and their expected results.

    ``batches`` has the rows of each micro-batch. ``expected`` and ``refused`` are the same for
    every driver. So no row comes later than the slack allows, because in a batch no row is late.
    """

    name: str
    spec: WindowSpec | SequenceSpec
    make: Callable[[mt.Stream], mt.Windowed]
    batches: Sequence[Sequence[Row]]
    columns: str
    expected: Sequence[tuple[Any, ...]]
    by: tuple[str, ...] = ("k",)
    group: tuple[str, ...] = ()
    slack: int = 2
    unfinished: Unfinished = "keep"
    refused: Sequence[str] = ()

    @property
    def rows(self) -> list[list[dict[str, Any]]]:
        return [[dict(zip("kxv", row, strict=True)) for row in rows] for rows in self.batches]

    def plan(self, stream: mt.Stream) -> mt.Plan:
        windowed = self.make(stream)
        assert windowed.spec == self.spec
        return windowed.plan(*RESULTS)


@dataclass(frozen=True)
class Made:
    """The output of a driver for a case."""

    results: Sequence[Mapping[str, Any]]
    refused: Sequence[str]


Driver = Callable[[Case], Made]


def by_reference(case: Case) -> Made:
    outcome = _values(case) if isinstance(case.spec, WindowSpec) else _sequence(case)
    return Made(outcome.results, [reason for _, reason in outcome.refused])


def _values(case: Case) -> Outcome:
    assert isinstance(case.spec, WindowSpec)
    axis = Axis(Domain.INTEGER)
    edges = case.spec.edges(axis)
    unfinished = case.unfinished
    reference = Reference(edges, axis, "x", case.by, EVALUATE, unfinished=unfinished)
    return reference.run(Rule(mt.slack(case.slack), axis, "x").punctuate(case.rows))


def _sequence(case: Case) -> Outcome:
    reference = SequenceReference(
        spec=case.spec,
        axis=Axis(Domain.INTEGER),
        by=case.by,
        group=case.group,
        aggregates=EVALUATE,
        unfinished=case.unfinished,
        landmark=lambda row: bool(row["v"] < 0),
    )
    return reference.run(Rule(mt.slack(case.slack), reference.axis, "x").punctuate(case.rows))


def by_batch(spark: SparkSession, case: Case) -> Made:
    rows = [row for batch in case.batches for row in batch]
    plan = case.plan(mt.stream(spark.createDataFrame(rows, SCHEMA), on="x", by=case.by))
    refused = [row.reason for row in plan.refused.collect()]
    return Made([row.asDict() for row in plan.df.collect()], refused)


def by_stream(spark: SparkSession, case: Case) -> Made:
    played = replay(spark, case.rows, SCHEMA)
    stream = played.stream("x", case.by, mt.slack(case.slack), shards=2)
    output = play(case.plan(stream))
    played.remove()
    assert output.counts["rows_in"] == sum(map(len, case.batches))
    assert output.counts["rows_refused"] == len(output.refused)
    return Made([row.asDict() for row in output.results], [row.reason for row in output.refused])
