"""Random windows over rows, and the operators run over them without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from muntin.aggregates.binding import Call
from muntin.operators.cuts import Cut, RankCut, SlideCut, TupleCut
from muntin.operators.landmark_cut import LandmarkCut
from muntin.operators.ordered import Ordered
from muntin.operators.protocol import MemoryState, Operator, Punctuation
from muntin.operators.sessions import Sessions
from muntin.semantics.axis import Axis, Domain
from muntin.semantics.reference import Evaluate
from muntin.semantics.sequence import (
    Landmarks,
    RowWindow,
    SequenceSpec,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.semantics.sequence_reference import Arrived, Key, SequenceReference
from muntin.semantics.window import Unfinished, WindowSpec
from tests.properties.harness import (
    CALLS,
    LENGTHS,
    ON_TYPES,
    SLOT_TYPES,
    SLOTS,
    Ran,
    evaluators,
    row_values,
    split,
)

Row = dict[str, Any]
#: A gap in the units of each domain, as a row brings it.
GAPS: dict[Domain, Callable[[int], Any]] = {
    Domain.TIMESTAMP: lambda n: timedelta(seconds=n),
    Domain.TIMESTAMP_NTZ: lambda n: timedelta(seconds=n),
    Domain.DATE: lambda n: timedelta(days=n),
    Domain.INTEGER: lambda n: n,
    Domain.DECIMAL: lambda n: Decimal(n).scaleb(-1),
    Domain.DOUBLE: lambda n: n / 10,
}


@dataclass(frozen=True)
class SequenceCase:
    """Windows over rows, and what arrives for them."""

    domain: Domain
    spec: SequenceSpec | WindowSpec
    grouped: bool
    slack: int
    per_key: bool
    unfinished: Unfinished
    batches: Sequence[Sequence[Row]]

    @property
    def own_gap(self) -> bool:
        return isinstance(self.spec, Session) and self.spec.gap is None

    @property
    def axis(self) -> Axis:
        scale = 1 if self.domain is Domain.DECIMAL else 0
        return self.spec.axis(self.domain, scale=scale, zone="UTC")

    @property
    def by(self) -> list[str]:
        """Grouped inside windows: one order over all keys."""
        return [] if self.grouped else ["k"]

    def meanings(self) -> dict[str, Evaluate]:
        """In row windows first and last go by rank, not by ``on`` and value."""
        made = evaluators()
        if isinstance(self.spec, RowWindow):
            for place, (function, slots, _) in enumerate(CALLS):
                if function in ("first", "last"):
                    made[f"r{place}"] = _at(0 if function == "first" else -1, SLOTS[slots[0]])
        return made

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

    def arrivals(self) -> list[Arrived]:
        """Each micro-batch with the punctuation that its rows and the earlier ones make."""
        return [Arrived(rows, self._complete(n)) for n, rows in enumerate(self.batches)]

    def _complete(self, batch: int) -> Callable[[Key], int | None]:
        seen = [row for rows in self.batches[: batch + 1] for row in rows]

        def complete(key: Key) -> int | None:
            mine = [r for r in seen if not self.per_key or tuple(r[n] for n in self.by) == key]
            ticks = [self.axis.tick(row["on"]) for row in mine if row["on"] is not None]
            largest = max((tick for tick in ticks if tick is not None), default=None)
            return None if largest is None else largest - self.slack

        return complete


def _at(place: int, slot: str) -> Evaluate:
    return lambda rows: rows[place][slot]


def operator(case: SequenceCase) -> Operator:
    spec, axis = case.spec, case.axis
    on_type, bound_type, _ = ON_TYPES[case.domain]
    calls = [
        Call(function, function, slots, tuple(SLOT_TYPES[s] for s in slots), True, options)
        for function, slots, options in CALLS
    ]
    lateness = pa.duration("us") if case.domain.temporal else bound_type
    width = 3 if case.domain is not Domain.TIMESTAMP else 3_000_000
    if isinstance(spec, Session):
        gap = None if spec.gap is None else axis.length("gap", spec.gap)
        return Sessions(axis, (pa.string(),), tuple(calls), gap, bound_type, lateness, width)
    if isinstance(spec, RowWindow):
        place = len(SLOTS)
        edges = [Call(f, f"{f}(on)", (place,), (on_type,), ansi=True) for f in ("first", "last")]
        calls = [*edges, *calls]
    return Ordered(
        axis=axis,
        keys=(pa.string(),),
        ranked_keys=len(case.by),
        calls=tuple(calls),
        cut=cut(case),
        bound_type=bound_type,
        lateness_type=lateness,
        order=getattr(spec, "order", "on"),
        by_rank=isinstance(spec, RowWindow),
        unfinished=case.unfinished,
        origin=min(spec.points(axis)) if isinstance(spec, Landmarks) and spec.origins else None,
        ties=(pa.int64(),),
        ticks_per_bucket=width,
    )


def cut(case: SequenceCase) -> Cut:
    spec, axis = case.spec, case.axis
    match spec:
        case RowWindow():
            within = None if spec.within is None else axis.length("within", spec.within)
            return RankCut(spec.edges, axis, within)
        case TupleWindow():
            return TupleCut(axis.length("range", spec.range), spec.every, axis)
        case SlideOnWindow():
            slide_axis = Axis(Domain.INTEGER)
            slide = slide_axis.length("slide", spec.slide)
            return SlideCut(axis.length("range", spec.range), axis, slide, 0, slide_axis)
        case Landmarks():
            slide = None if spec.slide is None else axis.length("slide", spec.slide)
            return LandmarkCut(spec.points(axis), slide, axis)
    raise AssertionError(spec)


def run_sequence(case: SequenceCase) -> Ran:
    return steps(case, operator(case), lambda rows: table(case, rows))


def steps(case: SequenceCase, work: Operator, tabled: Callable[[Sequence[Row]], pa.Table]) -> Ran:
    """Route and step every micro-batch as a driver would, then end the stream."""
    state, ran = MemoryState(), Ran()
    complete = [case._complete(n) for n in range(len(case.batches))]
    for number in range(len(case.batches) + 1):
        rows = case.batches[number] if number < len(case.batches) else []
        # Two tasks, one after the other, as a cluster would have sent them.
        half = len(rows) // 2
        routed = [work.route(tabled(part)) for part in (rows[:half], rows[half:]) if part]
        punctuation = _punctuation(case, complete, number)
        originals = [r.rows for r in routed if r.rows is not None]
        step = work.step(state, [r.partial for r in routed], punctuation, originals)
        state.apply(step.changes)
        ran.results += step.results.to_pylist()
        ran.used += step.rows_used
        for one in routed:
            ran.refused += [reason for reason, n in one.refused.items() for _ in range(n)]
        ran.refused += ["late"] * step.rows_late
        if step.late_rows is not None:
            assert step.late_rows.num_rows == step.rows_late
            ran.lateness += step.late_rows["lateness"].to_pylist()
        if step.fallen is not None:
            ran.refused += ["slide_on_fell"] * step.fallen.num_rows
    ran.chunks_left = len(state.chunks)
    return ran


def _punctuation(case: SequenceCase, complete: Sequence[Any], number: int) -> Punctuation:
    ended = number == len(case.batches)
    seen = [row for rows in case.batches[: number + 1] for row in rows]
    ticks = [case.axis.tick(row["on"]) for row in seen if row["on"] is not None]
    largest = max((tick for tick in ticks if tick is not None), default=None)
    before = complete[number - 1] if number else (lambda key: None)
    after = complete[min(number, len(complete) - 1)] if complete else (lambda key: None)
    if not case.per_key or case.grouped:
        return Punctuation(before(()), after(()), largest, ended)
    keys = [key for key in dict.fromkeys(row["k"] for row in seen) if after((key,)) is not None]
    never = np.iinfo(np.int64).min
    told = pa.table(
        {
            "k0": pa.array(keys, pa.string()),
            "before": pa.array(
                [never if before((k,)) is None else before((k,)) for k in keys], pa.int64()
            ),
            "after": pa.array([after((k,)) for k in keys], pa.int64()),
        }
    )
    return Punctuation(None, None, largest, ended, by_key=told)


def table(case: SequenceCase, rows: Sequence[Row]) -> pa.Table:
    on_type = ON_TYPES[case.domain][0]
    columns: dict[str, pa.Array] = {
        "on": pa.array([row["on"] for row in rows], on_type),
        "k0": pa.array([row["k"] for row in rows], pa.string()),
        "t0": pa.array([row["tie"] for row in rows], pa.int64()),
        "o0": pa.array([row["k"] for row in rows], pa.string()),
    }
    for place, (name, type_) in enumerate(zip(SLOTS, SLOT_TYPES, strict=True)):
        columns[f"s{place}"] = pa.array([row[name] for row in rows], type_)
    columns[f"s{len(SLOTS)}"] = columns["on"]
    if isinstance(case.spec, SlideOnWindow):
        columns["slide_on"] = pa.array([row["slide_on"] for row in rows], pa.int64())
    if isinstance(case.spec, Landmarks):
        columns["starts"] = pa.array([row["b"] for row in rows], pa.bool_())
    if case.own_gap:
        reach = [None if r["on"] is None or r["gap"] is None else r["on"] + r["gap"] for r in rows]
        columns["reach"] = pa.array(reach, on_type)
    return pa.table(columns)


@st.composite
def specs(draw: st.DrawFn, domain: Domain) -> SequenceSpec:
    length = LENGTHS[domain]
    lengths = st.integers(1, 12).map(length)
    kind = draw(st.sampled_from(["rows", "tuple", "slide_on", "landmarks", "starts", "session"]))
    order = draw(st.sampled_from(["on", "on", "arrival"]))
    match kind:
        case "rows":
            within = draw(st.none() | lengths) if order == "on" else None
            return RowWindow(draw(st.integers(1, 8)), draw(st.integers(1, 6)), "on", within, order)
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
    return Session("on", draw(st.none() | lengths))


@st.composite
def sequence_cases(draw: st.DrawFn, domains: Sequence[Domain] = tuple(Domain)) -> SequenceCase:
    domain = draw(st.sampled_from(domains))
    spec = draw(specs(domain))
    rows = draw(st.lists(_row(domain), max_size=14))
    ties = draw(st.permutations(range(len(rows))))
    rows = [{**row, "tie": tie} for row, tie in zip(rows, ties, strict=True)]
    unit = {Domain.TIMESTAMP: 1_000_000, Domain.TIMESTAMP_NTZ: 1_000_000}.get(domain, 1)
    return SequenceCase(
        domain=domain,
        spec=spec,
        grouped=isinstance(spec, RowWindow) and draw(st.booleans()),
        slack=draw(st.integers(0, 6)) * unit,
        per_key=draw(st.booleans()),
        unfinished=draw(st.sampled_from(["keep", "drop", "flag"]))
        if not isinstance(spec, Session)
        else "keep",
        batches=split(rows, draw(st.lists(st.integers(0, 14), max_size=3))),
    )


def _row(domain: Domain) -> st.SearchStrategy[Row]:
    more = {
        "slide_on": st.one_of(st.none(), st.integers(0, 9), st.integers(0, 9)),
        "gap": st.one_of(st.none(), st.integers(-1, 8).map(GAPS[domain])),
    }
    both = st.tuples(row_values(domain), st.fixed_dictionaries(more))
    return both.map(lambda pair: {**pair[0], **pair[1]})
