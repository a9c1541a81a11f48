"""Aggregates that decide about frames: what Spark evaluates for them, and their reference."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate, slots_of
from muntin.aggregates.own_aggregate import OwnAggregate, grouped_sum
from muntin.aggregates.parse_conditions import (
    FrameCondition,
    parse_comparison,
    parse_frame_condition,
)
from muntin.errors import ArgumentError
from muntin.reference import aggregates
from muntin.reference.windows import Evaluate
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import AggregateCondition
from tests.properties.arriving import SLOT_TYPES, SLOTS

TYPES = dict(zip(SLOTS, SLOT_TYPES, strict=True))
Row = dict[str, Any]


class Turned(OwnAggregate):
    """The sum of ``a - b / 4``, without rows in which both are null."""

    partials = (pa.float64(), pa.int64())

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.float64()

    def partial(self, columns: Any, groups: Any, count: int) -> Any:
        a, b = (column.cast(pa.float64()).fill_null(0.0).to_numpy() for column in columns)
        has_value = ~np.array([c.is_null().to_numpy(zero_copy_only=False) for c in columns]).all(
            axis=0
        )
        sums = grouped_sum(pa.array(np.where(has_value, a - b / 4, 0.0)), groups, count)
        return [sums, grouped_sum(pa.array(has_value.astype(np.int64)), groups, count)]

    def merge(self, partials: Any, groups: Any, count: int) -> Any:
        return [grouped_sum(part, groups, count) for part in partials]

    def finish(self, partials: Any) -> pa.Array:
        return pa.array(partials[0].to_numpy(), mask=partials[1].to_numpy() == 0)


#: A user's own aggregates by their names in SQL text.
FUNCTIONS = {"turned": Turned()}
#: Aggregates as SQL text: some are computed by kernels, others row by row.
TEXTS = (
    "count(*)",
    "count(v)",
    "count_if(b)",
    *(f"{function}({column})" for function in ("sum", "avg") for column in "vid"),
    *(f"{f}({column})" for f in ("min", "max", "first", "last") for column in "vid"),
    "bool_or(b)",
    "bool_and(b)",
    *(f"{function}(v)" for function in ("var_pop", "var_samp", "stddev_pop", "stddev_samp")),
    "var_samp(i)",
    "weighted_avg(v, i)",
    "sum(i) FILTER (WHERE b)",
    "avg(d) FILTER (WHERE b)",
    "last(v) FILTER (WHERE b)",
    "count(*) FILTER (WHERE b)",
    "approx_count_distinct(i)",
    "approx_count_distinct(s)",
    "approx_percentile(v, 0.5)",
    "approx_percentile(i, 0.9) FILTER (WHERE b)",
    "turned(v, i)",
    "median(v)",
    "count(DISTINCT i)",
)
MEASURES = tuple(parse_comparison(f"{text} > 0", FUNCTIONS)[0] for text in TEXTS)


def text(aggregate: Aggregate) -> str:
    """Return the SQL text of an aggregate."""
    return next((t for t, a in zip(TEXTS, MEASURES, strict=True) if a == aggregate), str(aggregate))


#: The limits that aggregates are compared with; some are not doubles, some are thirds.
LIMITS = ("0", "1", "1.5", "3", "0.333333", "0.7", "-0.3333335", "27.63")


#: Conditions on several aggregates with what they mean: given a function that returns an aggregate
#: by its text, and the duration. Null is None, and only a division by zero makes one.
CONDITIONS: dict[str, Callable[[Callable[[str], Any], Any], bool | None]] = {
    "max(v) - min(v) > 1": lambda of, last: of("max(v)") - of("min(v)") > 1,
    "2 <= sum(i) AND count(*) >= 3": lambda of, last: of("sum(i)") >= 2 and of("count(*)") >= 3,
    "sum(i) / sum(v) >= 1.5": lambda of, last: _over(of("sum(i)"), of("sum(v)"), operator.ge, 1.5),
    "count(*) / duration >= 0.5": lambda of, last: _over(of("count(*)"), last, operator.ge, 0.5),
    "count(*) / duration < 0.5": lambda of, last: _over(of("count(*)"), last, operator.lt, 0.5),
    "abs(sum(d)) <= 4 AND duration < 9": lambda of, last: abs(of("sum(d)")) <= 4 and last < 9,
    "sum(d) * 2 - avg(v) < 3": lambda of, last: float(of("sum(d)") * 2) - of("avg(v)") < 3,
    "avg(d) > median(v)": lambda of, last: float(of("avg(d)")) > of("median(v)"),
    "last(i) > first(i)": lambda of, last: of("last(i)") > of("first(i)"),
    "sum(i) > 3 OR turned(v, i) < 0": lambda of, last: of("sum(i)") > 3 or of("turned(v, i)") < 0,
    "NOT (count(DISTINCT i) > 2)": lambda of, last: not of("count(DISTINCT i)") > 2,
    "sum(i) BETWEEN 0 AND 4": lambda of, last: 0 <= of("sum(i)") <= 4,
    "bool_or(b) AND count(*) = 2": lambda of, last: of("bool_or(b)") and of("count(*)") == 2,
}


def _over(dividend: Any, divisor: Any, compares: Callable[[Any, Any], bool], limit: float) -> Any:
    return None if divisor == 0 else compares(float(dividend) / float(divisor), limit)


def condition(text: str, span: str | None = None, *starting: Any) -> FrameKind:
    """Return the kind of a condition; those that do not say which frames they make need a span."""
    parsed = parse_frame_condition(text, FUNCTIONS)
    assert isinstance(parsed, FrameCondition)
    deciding = parsed.text, parsed.aggregates, parsed.where, parsed.signs
    try:
        return AggregateCondition(*deciding, span, *starting)
    except ArgumentError:
        return AggregateCondition(*deciding, "maximal", *starting)


def condition_truth(text: str) -> Evaluate:
    """Return the truth of a condition over the rows of a frame."""
    meaning = CONDITIONS[text]

    def truth(rows: Sequence[Any]) -> Any:
        def of(aggregate: str) -> Any:
            return evaluator(parse_comparison(f"{aggregate} > 0", FUNCTIONS)[0])(rows)

        ons = [row["on"] for row in rows]
        lasted = max(ons) - min(ons)
        if isinstance(lasted, timedelta):
            is_date = not isinstance(ons[0], datetime)
            lasted = (
                lasted.days if is_date else Fraction(lasted // timedelta(microseconds=1), 10**6)
            )
        holds = meaning(of, lasted)
        return None if holds is None else bool(holds)

    return truth


def operands(kind: AggregateCondition, rows: Sequence[Row]) -> list[tuple[pa.DataType, list[Any]]]:
    """Return the type and the values of every slot that Spark evaluates, each of them once."""
    columns: dict[Any, tuple[pa.DataType, list[Any]]] = {}
    for aggregate in kind.aggregates:
        assert isinstance(aggregate, Aggregate)
        values = [slots(aggregate, row) for row in rows]
        for place, (slot, type_) in enumerate(
            zip(slots_of(aggregate), types(aggregate), strict=True)
        ):
            columns[slot] = type_, [each[place] for each in values]
    return list(columns.values())


def names(aggregate: Aggregate) -> list[str]:
    return [str(argument) for argument in aggregate.arguments]


def is_plain(aggregate: Aggregate) -> bool:
    """True if an aggregate reads one column without computing on it, or none."""
    computed = ("count_if", "weighted_avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp")
    computed_here = aggregate.function in computed and names(aggregate) != ["v"]
    return aggregate.condition is None and len(names(aggregate)) <= 1 and not computed_here


def lacks(aggregate: Aggregate, row: Row) -> bool:
    return any(row[name] is None or row[name] != row[name] for name in names(aggregate))


def types(aggregate: Aggregate) -> tuple[pa.DataType, ...]:
    """Return the types of the slots that Spark evaluates."""
    of = tuple(TYPES[name] for name in names(aggregate))
    match aggregate.function:
        case "count" if not of:
            return () if aggregate.condition is None else (pa.int32(),)
        case "count_if":
            return (pa.int32(),)
        case "first" | "last" if aggregate.condition is not None:
            return (*of, pa.bool_())
        case "weighted_avg" | "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return (pa.float64(),) * len(of)
    return of


def slots(aggregate: Aggregate, row: Row) -> list[Any]:
    """Return the slots that Spark evaluates for a row."""
    counted = aggregate.condition is None or row[str(aggregate.condition)] is True
    values = [row[name] for name in names(aggregate)]
    match aggregate.function:
        case "count" if not values:
            return [] if aggregate.condition is None else [1 if counted else None]
        case "count_if":
            return [1 if counted and values[0] else None]
        case "first" | "last":
            return values if aggregate.condition is None else [*values, row["b"]]
        case "weighted_avg":
            if None in values or not counted:
                return [None, None]
            value, weight = map(float, values)
            return [value * weight, weight]
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            values = [None if value is None else float(value) for value in values]
    return [value if counted else None for value in values]


def evaluator(aggregate: Aggregate) -> Evaluate:
    """Return the reference function of an aggregate, over the rows of a frame."""

    def evaluate(rows: Sequence[Any]) -> Any:
        if aggregate.condition is not None:
            rows = [row for row in rows if row[str(aggregate.condition)] is True]
        of = [[row[name] for row in rows] for name in names(aggregate)]
        match aggregate.function:
            case "count" if not of:
                return len(rows)
            case "count_if":
                return sum(value is True for value in of[0])
            case "first" | "last":
                pairs = [(row["on"], row[names(aggregate)[0]]) for row in rows]
                return getattr(aggregates, aggregate.function)(pairs)
            case "avg" if names(aggregate) == ["d"]:
                return aggregates.mean(of[0], scale=6)
            case "any":
                return aggregates.any_true(of[0])
            case "all":
                return aggregates.all_true(of[0])
            case "weighted_avg":
                return aggregates.weighted_mean(list(zip(*of, strict=True)))
            case "own":
                return _at_once(aggregate, of)
        return aggregates.FUNCTIONS[aggregate.function](of[0])

    return evaluate


def _at_once(aggregate: Aggregate, values_of: list[list[Any]]) -> Any:
    """Return a user's own aggregate of all rows together."""
    own, argument_types = aggregate.options[0], types(aggregate)
    assert isinstance(own, OwnAggregate)
    own = own.typed(argument_types)
    if not values_of[0]:
        return None
    columns = [
        pa.array(values, type_) for values, type_ in zip(values_of, argument_types, strict=True)
    ]
    partial = own.partial(columns, np.zeros(len(values_of[0]), np.int64), 1)
    return own.finish(partial)[0].as_py()


def call(aggregate: Aggregate) -> AggregateCall:
    """Return the call of a plain aggregate over the columns of rows."""
    assert is_plain(aggregate)
    places = tuple(SLOTS.index(name) for name in names(aggregate))
    function, options = aggregate.function, aggregate.options
    return AggregateCall(function, str(aggregate), places, types(aggregate), True, options)


def limits() -> tuple[Decimal, ...]:
    return tuple(map(Decimal, LIMITS))
