"""Random windows over rows, and how to run their operators without Spark."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.parse import parse_column
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.protocol import Operator
from muntin.reference.rows import SequenceReference
from muntin.reference.windows import Evaluate, Outcome
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import (
    Landmarks,
    RowWindow,
    SequenceSpec,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.specs.windows import Unfinished, WindowSpec
from tests.aggregates.correlations import call
from tests.aggregates.examples import Squares
from tests.properties.arriving import (
    DISTANCES,
    LENGTHS,
    ON_TYPES,
    PREPARED,
    RULES,
    SLOTS,
    WITHOUT_KEYS,
    Arrivals,
    Ran,
    arrivals,
    row_values,
    some_rows,
    steps,
)
from tests.properties.harness import EVERY_SLOT, Called, bound_calls, evaluators

Row = dict[str, Any]
#: One call for each kind of accumulator that EVERY_SLOT does not use.
KINDS: tuple[Called, ...] = (
    ("count", (), ()),
    ("sum", (0,), ()),
    ("first", (0,), ()),
    ("last", (2,), ()),
    ("median", (0,), ()),
    ("collect", (2,), ()),
    ("count_distinct", (0,), ()),
    ("correlated", (0,), ("count(*) FILTER (WHERE v > avg(v))",)),
    ("own", (1,), (Squares(),)),
)


def some_kinds() -> st.SearchStrategy[tuple[Called, ...]]:
    """Draw some of these calls, because all of them in every example would take too long."""
    drawn = st.lists(st.sampled_from(KINDS), max_size=4, unique=True)
    return drawn.map(lambda calls: (*EVERY_SLOT, *calls))


@functools.cache
def bound_call(called: Called) -> AggregateCall:
    if called[0] != "correlated":
        return bound_calls([called])[0]
    (aggregate,) = parse_column(str(called[2][0]), []).aggregates
    return call(aggregate, {name: place for place, name in enumerate(SLOTS)})


def meaning(called: Called, by_rank: bool) -> Evaluate:
    """Return the reference of a call; in row windows first, last and collect go by rank."""
    function, slots, _ = called
    match function:
        case "correlated":
            return _above_average
        case "own":
            return _squares
        case "first" | "last" if by_rank:
            return _at(0 if function == "first" else -1, SLOTS[slots[0]])
        case "collect" if by_rank:
            return _all(SLOTS[slots[0]])
    return evaluators([called])["r0"]


def _at(place: int, slot: str) -> Evaluate:
    return lambda rows: rows[place][slot]


def _all(slot: str) -> Evaluate:
    return lambda rows: [row[slot] for row in rows if row[slot] is not None]


def _above_average(rows: Sequence[Any]) -> int:
    known = [row["v"] for row in rows if row["v"] is not None]
    return len([v for v in known if v * len(known) > sum(known)])


def _squares(rows: Sequence[Any]) -> int:
    whole: int = sum(row["i"] ** 2 for row in rows if row["i"] is not None)
    return (whole + 2**63) % 2**64 - 2**63


@dataclass(frozen=True)
class SequenceCase(Arrivals):
    """Windows over rows, and the rows that arrive for them."""

    spec: SequenceSpec | WindowSpec
    grouped: bool
    unfinished: Unfinished
    calls: Sequence[Called] = ()

    @property
    def own_gap(self) -> bool:
        return isinstance(self.spec, Session) and self.spec.gap is None

    @property
    def axis(self) -> Axis:
        scale = 1 if self.domain is Domain.DECIMAL else 0
        return self.spec.axis(self.domain, scale=scale, zone="UTC", also=self.disorder.finest)

    @property
    def by(self) -> tuple[str, ...]:
        """The keys; none if windows have groups inside, because all keys share one order."""
        return () if self.grouped else ("k",)

    def meanings(self) -> dict[str, Evaluate]:
        by_rank = isinstance(self.spec, RowWindow)
        return {f"r{place}": meaning(called, by_rank) for place, called in enumerate(self.calls)}

    def reference(self) -> SequenceReference:
        return SequenceReference(
            spec=self.spec,
            axis=self.axis,
            by=self.by,
            group=["k"] if self.grouped else [],
            aggregates=self.meanings(),
            unfinished=self.unfinished,
            tie=lambda row: row["tie"],
            landmark=lambda row: bool(row["b"]),
            gap=(lambda row: row["gap"]) if self.own_gap else None,
            slide_axis=Axis(Domain.INTEGER),
        )

    def operator(self) -> Operator:
        return operator(self)

    def table(self, rows: Sequence[Row]) -> pa.Table:
        table = super().table(rows)
        table = table.append_column("t0", pa.array([row["tie"] for row in rows], pa.int64()))
        table = table.append_column(f"s{len(SLOTS)}", table["on"])
        if isinstance(self.spec, SlideOnWindow):
            slides = [row["slide_on"] for row in rows]
            table = table.append_column("slide_on", pa.array(slides, pa.int64()))
        if isinstance(self.spec, Landmarks):
            table = table.append_column("starts", table["s3"])
        if self.own_gap:
            known = [None not in (row["on"], row["gap"]) for row in rows]
            reach = [r["on"] + r["gap"] if k else None for r, k in zip(rows, known, strict=True)]
            table = table.append_column("reach", pa.array(reach, ON_TYPES[self.domain][0]))
        return table

    def run(self) -> Ran:
        """Run the steps; two tasks have the halves of each micro-batch."""
        halves = [len(rows) // 2 for rows in self.batches]
        dealt = [(r[:half], r[half:]) for r, half in zip(self.batches, halves, strict=True)]
        return steps(self.operator(), self, dealt)

    def expected(self) -> Outcome:
        return self.reference().run(self.punctuated())


def operator(case: SequenceCase) -> Operator:
    """Return the operator that a plan over these columns has."""
    return build(case.spec, inputs(case))


def inputs(case: SequenceCase) -> WindowOperatorInputs:
    """Return what the operator is made of."""
    on_type, bound_type, _ = ON_TYPES[case.domain]
    calls = [bound_call(called) for called in case.calls]
    if isinstance(case.spec, RowWindow):
        place = len(SLOTS)
        edges = [
            AggregateCall(f, f"{f}(on)", (place,), (on_type,), ansi=True) for f in ("first", "last")
        ]
        calls = [*edges, *calls]
    return WindowOperatorInputs(
        axis=case.axis,
        keys=(pa.string(),),
        ranked_keys=len(case.by),
        calls=tuple(calls),
        bound_type=bound_type,
        lateness_type=pa.duration("us") if case.domain.temporal else bound_type,
        late=case.late,
        unfinished=case.unfinished,
        lag=0,
        slide_axis=Axis(Domain.INTEGER),
        ties=(pa.int64(),),
    )


#: The kinds of windows over rows.
WORDS = ("rows", "tuple", "slide_on", "landmarks", "starts", "first", "session")


@st.composite
def specs(draw: st.DrawFn, domain: Domain, words: Sequence[str]) -> SequenceSpec:
    length = LENGTHS[domain]
    lengths = st.integers(1, 12).map(length)
    order = draw(st.sampled_from(["on", "on", "arrival"]))
    match draw(st.sampled_from(words)):
        case "rows":
            within = draw(st.none() | lengths) if order == "on" else None
            forget = draw(st.none() | lengths) if order == "on" else None
            range_ = draw(st.integers(1, 8))
            least = draw(st.one_of(st.just(1), st.integers(1, range_)))
            slide = draw(st.integers(1, 6))
            return RowWindow(range_, slide, "on", within, order, forget, least)
        case "tuple":
            return TupleWindow(draw(lengths), "on", draw(st.integers(1, 4)), order)
        case "slide_on":
            return SlideOnWindow(draw(lengths), draw(st.integers(1, 4)), "on", "slide_on")
        case "landmarks":
            points = draw(st.lists(st.integers(-9, 30), min_size=1, max_size=4, unique=True))
            origins = [ON_TYPES[domain][2](point) for point in sorted(points)]
            return Landmarks("on", draw(st.none() | lengths), origins)
        case "starts":
            return Landmarks("on", draw(st.none() | lengths), start="b")
        case "first":
            return Landmarks("on", draw(st.none() | lengths), first=True)
    return Session("on", draw(st.none() | lengths))


@st.composite
def sequence_cases(
    draw: st.DrawFn,
    domains: Sequence[Domain] = tuple(Domain),
    words: Sequence[str] = WORDS,
    *,
    grouped: bool = True,
) -> SequenceCase:
    domain = draw(st.sampled_from(domains))
    spec = draw(specs(domain, words))
    rows = draw(some_rows(_row(domain)))
    ties = draw(st.permutations(range(len(rows))))
    rows = [{**row, "tie": tie} for row, tie in zip(rows, ties, strict=True)]
    grouped = grouped and isinstance(spec, RowWindow | SlideOnWindow) and draw(st.booleans())
    unfinished = draw(st.sampled_from(["keep", "drop", "flag"]))
    return SequenceCase(
        spec=spec,
        grouped=grouped,
        unfinished="keep" if isinstance(spec, Session) else unfinished,
        calls=draw(some_kinds()),
        **draw(arrivals(domain, rows, _rules(spec, grouped))),
    )


def _rules(spec: SequenceSpec, grouped: bool) -> Sequence[str]:
    """Return the rules of disorder; those that remember every key need keys, and keep them."""
    forgetting = isinstance(spec, RowWindow) and spec.forget is not None
    return WITHOUT_KEYS if grouped or forgetting else RULES


def _row(domain: Domain) -> st.SearchStrategy[Row]:
    more = st.tuples(
        row_values(domain, st.sampled_from(PREPARED)),
        st.sampled_from([None, *range(10)]),
        st.sampled_from([None, *map(DISTANCES[domain], range(-1, 9))]),
    )
    return more.map(lambda drawn: {**drawn[0], "slide_on": drawn[1], "gap": drawn[2]})
