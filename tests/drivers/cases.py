"""The random cases of the step property, as rows and plans for Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muntin.aggregates.functions import Aggregate
from muntin.expressions.spark_expressions import Name
from muntin.reference.windows import MicroBatch, Outcome, Reference
from muntin.spark.api.plan import Plan
from muntin.spark.api.stream import Stream
from muntin.specs.axis import Domain
from tests.properties.arriving import LENGTHS, ON_TYPES, SLOTS, Arrivals
from tests.properties.harness import CALLS, Called, Case, evaluators

ON_DDL = {
    Domain.TIMESTAMP: "TIMESTAMP",
    Domain.TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
    Domain.DATE: "DATE",
    Domain.INTEGER: "INT",
    Domain.DECIMAL: "DECIMAL(12,1)",
    Domain.DOUBLE: "DOUBLE",
}


COLUMNS = ("on", "k", "q", "mark", *SLOTS)


def ddl(case: Arrivals) -> str:
    slots = "v DOUBLE, i BIGINT, s STRING, b BOOLEAN, d DECIMAL(10,2)"
    return f"`on` {ON_DDL[case.domain]}, k STRING, q STRING, mark BOOLEAN, {slots}"


def plan(case: Case, stream: Stream) -> Plan:
    length = LENGTHS[case.domain]
    origin = None if case.origin is None else ON_TYPES[case.domain][2](case.origin)
    if case.latch:
        windowed = stream.latch(length(case.slide), origin, unfinished=case.unfinished)
    elif case.landmark:
        windowed = stream.landmark(length(case.slide), origin, unfinished=case.unfinished)
    else:
        windowed = stream.window(
            length(case.range), length(case.slide), origin, unfinished=case.unfinished
        )
    return windowed.plan(*texts())


def texts(calls: Sequence[Called] = CALLS) -> list[str]:
    aggregates = []
    for place, (function, slots, options) in enumerate(calls):
        if function == "correlated":  # the option is the text
            aggregates.append(f"{options[0]} AS r{place}")
            continue
        aggregate = Aggregate(function, tuple(Name(SLOTS[slot]) for slot in slots), options=options)
        aggregates.append(f"{aggregate} AS r{place}")
    return aggregates


def reference(case: Case, batches: Sequence[MicroBatch] | None = None) -> Outcome:
    evaluator = Reference(
        case.edges, case.axis, "on", ("k",), evaluators(), case.late, case.unfinished
    )
    return evaluator.run(case.punctuated() if batches is None else batches)


def naive(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose timestamps have no zone, as PySpark gives them to Python."""
    return [{name: _naive(value) for name, value in row.items()} for row in rows]


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value
