"""Random windows over values with every aggregate, and how to run their steps without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.operators.windows.operator import WindowOperator
from muntin.reference import aggregates
from muntin.reference.windows import Evaluate
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges, Landmark, Latch, Unfinished, Window
from tests.properties.arriving import (
    LENGTHS,
    ON_TYPES,
    SLOT_TYPES,
    SLOTS,
    Arrivals,
    Ran,
    arrivals,
    row_values,
    some_rows,
    steps,
)


@dataclass(frozen=True)
class Case(Arrivals):
    """Windows over values, and the rows that arrive for them."""

    range: int
    slide: int
    origin: int | None
    landmark: bool
    latch: bool
    unfinished: Unfinished
    fanout: int
    panes_per_bucket: int

    @property
    def spec(self) -> Window | Landmark | Latch:
        length = LENGTHS[self.domain]
        origin = None if self.origin is None else ON_TYPES[self.domain][2](self.origin)
        if self.latch:
            return Latch(length(self.slide), "on", origin)
        if self.landmark:
            return Landmark(length(self.slide), "on", origin)
        return Window(length(self.range), length(self.slide), "on", origin)

    @property
    def axis(self) -> Axis:
        scale = 1 if self.domain is Domain.DECIMAL else 0
        return self.spec.axis(self.domain, scale=scale, zone="UTC", also=self.disorder.finest)

    @property
    def edges(self) -> Edges:
        return self.spec.edges(self.axis)


#: A function, its slots and its constants.
Called = tuple[str, tuple[int, ...], tuple[object, ...]]
CALLS: tuple[Called, ...] = (
    ("count", (), ()),
    ("count", (0,), ()),
    ("sum", (0,), ()),
    ("avg", (0,), ()),
    ("min", (0,), ()),
    ("max", (0,), ()),
    ("var_samp", (0,), ()),
    ("stddev_pop", (0,), ()),
    ("first", (0,), ()),
    ("last", (0,), ()),
    ("sum", (1,), ()),
    ("avg", (1,), ()),
    ("max", (2,), ()),
    ("last", (2,), ()),
    ("any", (3,), ()),
    ("sum", (4,), ()),
    ("avg", (4,), ()),
    ("median", (0,), ()),
    ("quantile", (0,), (0.3,)),
    ("quantile", (1,), ((0.0, 0.9, 1.0),)),
    ("quantile", (4,), (0.75,)),
    ("mode", (2,), ()),
    ("mode", (3,), ()),
    ("count_distinct", (0,), ()),
    ("count_distinct", (2,), ()),
    ("collect", (2,), ()),
    ("collect", (4,), ()),
    ("collect_set", (2,), ()),
    ("collect_set", (0,), ()),
    ("heavy_hitters", (2,), (0.4,)),
    ("top_k", (2,), (2,)),
    ("any_value", (2,), ()),
    ("max_by", (2, 0), ()),
    ("min_by", (4, 2), ()),
    ("listagg", (2,), (", ",)),
    ("sum_distinct", (1,), ()),
    ("sum_distinct", (0,), ()),
    ("avg_distinct", (4,), ()),
    ("bit_and", (1,), ()),
    ("bit_or", (1,), ()),
    ("bit_xor", (1,), ()),
    ("covar_pop", (0, 0), ()),
    ("covar_samp", (0, 0), ()),
    ("corr", (0, 0), ()),
    ("skewness", (0,), ()),
    ("kurtosis", (0,), ()),
)
#: Calls that together read every slot.
EVERY_SLOT: tuple[Called, ...] = tuple(
    (function, (slot,), ()) for slot, function in enumerate(("max", "sum", "max", "any", "sum"))
)


def some_calls() -> st.SearchStrategy[tuple[Called, ...]]:
    """Draw some of the calls, because all of them in every example would take too long."""
    drawn = st.lists(st.sampled_from(CALLS), max_size=8, unique=True)
    return drawn.map(lambda calls: (*EVERY_SLOT, *calls))


def bound_calls(calls: Sequence[Called] = CALLS) -> tuple[AggregateCall, ...]:
    return tuple(
        AggregateCall(function, function, slots, tuple(SLOT_TYPES[s] for s in slots), True, options)
        for function, slots, options in calls
    )


def evaluators(calls: Sequence[Called] = CALLS) -> dict[str, Evaluate]:
    """Return the reference function of each call, over the rows of a window."""
    by_name: dict[str, Evaluate] = {}
    for place, (function, slots, options) in enumerate(calls):
        by_name[f"r{place}"] = _evaluator(function, [SLOTS[slot] for slot in slots], options)
    return by_name


def _evaluator(function: str, slots: Sequence[str], options: tuple[Any, ...]) -> Evaluate:
    def evaluate(rows: Sequence[Any]) -> Any:
        if not slots:
            return len(rows)
        if function in aggregates.OF_PAIRS:
            return aggregates.OF_PAIRS[function]([tuple(row[s] for s in slots) for row in rows])
        (slot,) = slots
        places = [(row["on"], row[slot]) for row in rows]
        if function in ("first", "last", "collect", "listagg"):
            return getattr(aggregates, function)(places, *options)
        if function == "any_value":
            return aggregates.first(places)
        values = [row[slot] for row in rows]
        if function == "any":
            return aggregates.any_true(values)
        if function == "avg" and slot == "d":
            return aggregates.mean(values, scale=6)
        if function == "avg_distinct" and slot == "d":
            return aggregates.mean(aggregates.distinct(values), scale=6)
        if options:
            return _with_constant(function, values, options[0])
        return aggregates.FUNCTIONS[function](values)

    return evaluate


def _with_constant(function: str, values: Sequence[Any], constant: Any) -> Any:
    if function == "top_k":
        return aggregates.top_k(values, constant)
    if function == "heavy_hitters":
        return aggregates.heavy_hitters(values, str(constant))
    if not isinstance(constant, tuple):
        return aggregates.quantile(values, constant)
    quantiles = [aggregates.quantile(values, share) for share in constant]
    return None if quantiles[0] is None else quantiles


def operator(case: Case, calls: Sequence[Called] = CALLS) -> WindowOperator:
    return WindowOperator(
        axis=case.axis,
        edges=case.edges,
        keys=(pa.string(),),
        calls=bound_calls(calls),
        bound_type=ON_TYPES[case.domain][1],
        late=case.late,
        unfinished=case.unfinished,
        panes_per_bucket=case.panes_per_bucket,
        fanout=case.fanout,
    )


def run_steps(case: Case, work: WindowOperator | None = None) -> Ran:
    """Run the steps of a case; two tasks take the rows of a micro-batch in turn."""
    dealt = [[rows[turn::2] for turn in (0, 1)] for rows in case.batches]
    return steps(work or operator(case), case, dealt)


@st.composite
def cases(draw: st.DrawFn, domains: Sequence[Domain] = tuple(Domain)) -> Case:
    domain = draw(st.sampled_from(domains))
    landmark, latch = draw(st.sampled_from([(True, False), (False, True), *[(False, False)] * 6]))
    origin = draw(st.one_of(st.none(), st.integers(-3, 6)))
    if landmark and origin is None:
        origin = draw(st.integers(-3, 6))
    rows = draw(some_rows(row_values(domain)))
    range_ = draw(st.integers(1, 12))
    # Levels over panes serve long windows; small chunks make several levels for short ones.
    fanout = draw(st.sampled_from([0, 0, 2, 3]))
    return Case(
        range=range_,
        slide=draw(st.integers(1, 8)),
        origin=origin,
        landmark=landmark,
        latch=latch,
        unfinished=draw(st.sampled_from(["keep", "drop", "flag"])),
        fanout=0 if landmark or latch else fanout,
        panes_per_bucket=draw(st.integers(1, 2 if fanout else 6)),
        **draw(arrivals(domain, rows, reach=range_)),
    )
