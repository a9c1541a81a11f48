"""Random joins of two random streams, each disordered in its own way, without Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.expressions.nodes import Comparison, Slot
from muntin.operators.join.asof import AsofJoinOperator
from muntin.operators.join.candidate_pairs import PairCondition
from muntin.operators.join.held_rows import GONE
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.join.reach import Around, AsofReach, IntervalReach
from muntin.operators.join.side import SideRows
from muntin.operators.protocol import InputBatch, MapSide, MemoryState, Operator, Step
from muntin.reference.arrivals import arrive, without_place
from muntin.reference.join import AsofReference, JoinReference
from muntin.reference.windows import END, MicroBatch, Outcome
from muntin.specs.axis import Axis, Domain
from muntin.specs.join import HOWS, Asof, Distance, Zipper, left_only
from muntin.specs.lengths import parse_length
from tests.properties.arriving import (
    LENGTHS,
    ON_TYPES,
    PREPARED,
    RULES,
    Arrivals,
    arrivals,
    row_values,
    some_rows,
    split,
)
from tests.properties.fillings import common
from tests.properties.joining import JointRan, at_once, joint_steps

Row = dict[str, Any]
#: The columns that travel: ``on``, two values, and a number that identifies a row.
COLUMNS = ("on", "v", "i", "n")
#: The types of the columns that order right rows of an as-of join with equal ``on``.
TIES = (pa.string(), pa.int64())
#: Rules whose punctuation is for all keys.
STREAM_RULES = ("slack", "rows", "marks", "each")


@dataclass(frozen=True)
class Joined(Arrivals):
    """Rows of one side of a join."""

    keyed: bool = True
    ties: bool = False

    @property
    def axis(self) -> Axis:
        return common(self.domain)

    @property
    def by(self) -> tuple[str, ...]:
        return ("k",) if self.keyed else ()

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        return ON_TYPES[self.domain][0], pa.float64(), pa.int64(), pa.int64()

    def table(self, rows: Sequence[Row]) -> pa.Table:
        table = super().table(rows)
        for place, (name, type_) in enumerate(zip(COLUMNS, self.types, strict=True)):
            table = table.append_column(f"c{place}", pa.array([row[name] for row in rows], type_))
        for place, (name, type_) in enumerate(zip(("s", "n"), TIES, strict=True)):
            table = table.append_column(f"t{place}", pa.array([row[name] for row in rows], type_))
        return table if self.keyed else table.drop_columns(["k0"])

    @property
    def side(self) -> SideRows:
        keys = (pa.string(),) if self.keyed else ()
        late = pa.duration("us") if self.domain.temporal else ON_TYPES[self.domain][1]
        return SideRows(self.axis, keys, self.types, late, TIES if self.ties else ())


@dataclass(frozen=True)
class TwoSides:
    """The rows of both sides, and the step in which each ends."""

    left: Joined
    right: Joined
    ends: tuple[int, int]

    @property
    def sides(self) -> tuple[Joined, Joined]:
        return self.left, self.right

    def operator(self) -> PairJoinOperator | AsofJoinOperator:
        raise NotImplementedError

    def pairs(self, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
        """Return the results of the reference for rows that were in time."""
        raise NotImplementedError

    def run(self, work: Operator | None = None) -> JointRan:
        return joint_steps(work or self.operator(), self.sides, self.ends)

    def run_at_once(self) -> JointRan:
        return at_once(self.operator(), self.sides)

    def expected(self) -> tuple[list[Row], list[Outcome]]:
        return self._expected([side.punctuated() for side in self.sides])

    def expected_at_once(self) -> tuple[list[Row], list[Outcome]]:
        return self._expected([[MicroBatch(side.data(), END)] for side in self.sides])

    def whole(self, rows: Sequence[Sequence[Row]]) -> tuple[list[Row], list[Outcome]]:
        """Return what a batch of these rows of each side gives."""
        return self._expected([[MicroBatch(side_rows, END)] for side_rows in rows])

    def _expected(self, batches: Sequence[Sequence[MicroBatch]]) -> tuple[list[Row], list[Outcome]]:
        arrived, outcomes = [], []
        for side, side_batches in zip(self.sides, batches, strict=True):
            outcomes.append(Outcome())
            held = arrive(
                outcomes[-1], side_batches, side.axis, "on", side.by, lambda row: None
            ).held
            arrived.append([row for rows in held.values() for row in rows])
        return self.pairs(*arrived), outcomes


@dataclass(frozen=True)
class JoinCase(TwoSides):
    """A join, and its condition if it has one."""

    spec: Distance | Zipper
    sign: str | None
    limit: int | None = None

    def operator(self) -> PairJoinOperator:
        axis = self.left.axis
        reach = (
            Around.of(self.spec, axis)
            if isinstance(self.spec, Distance)
            else IntervalReach.of(self.spec, axis)
        )
        where = None
        if self.sign is not None:
            where = PairCondition(Comparison(self.sign, Slot(1), Slot(0)), ((1, 1), (0, 1)))
        return PairJoinOperator(
            reach, (self.left.side, self.right.side), self.spec.how, where, self.limit
        )

    @property
    def reference(self) -> JoinReference:
        return JoinReference(self.spec, self.left.axis, "on", self.left.by, self._where)

    def _where(self, left: Any, right: Any) -> bool | None:
        if self.sign is None:
            return True
        left_value, right_value = left["v"], right["v"]
        if left_value is None or right_value is None:
            return None
        return (
            bool(left_value < right_value) if self.sign == "<" else bool(left_value != right_value)
        )

    def pairs(self, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
        only = left_only(self.spec.how)
        pairs = self.reference.run(left, right)
        return [told(self, left_row, right_row, only=only) for left_row, right_row in pairs]


def told(case: TwoSides, left: Any, right: Any, *, only: bool = False) -> Row:
    """Return a pair as a result; with ``only`` it has the columns of the left row alone."""
    result = {"k0": (right if left is None else left)["k"]} if case.left.keyed else {}
    for name, row in (("left", left), *(() if only else (("right", right),))):
        for place, column in enumerate(COLUMNS):
            result[f"{name}{place}"] = None if row is None else row[column]
    return result


@dataclass(frozen=True)
class AsofCase(TwoSides):
    """An as-of join."""

    spec: Asof

    def operator(self) -> AsofJoinOperator:
        right = replace(self.right, ties=True)
        return AsofJoinOperator(
            AsofReach.of(self.spec, self.left.axis), (self.left.side, right.side)
        )

    @property
    def reference(self) -> AsofReference:
        return AsofReference(self.spec, self.left.axis, "on", self.left.by, ("s", "n"))

    def pairs(self, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
        return [
            told(self, left_row, right_row)
            for left_row, right_row in self.reference.run(left, right)
        ]


@dataclass
class Watched:
    """An operator with checks that run before and after every step."""

    case: TwoSides
    work: PairJoinOperator | AsofJoinOperator
    before: Callable[[Watched, MemoryState, Sequence[InputBatch]], None] = lambda *_: None
    behind: Callable[[Watched], None] = lambda *_: None
    came: tuple[list[Row], list[Row]] = field(default_factory=lambda: ([], []))
    results: list[Row] = field(default_factory=list)

    @property
    def map_sides(self) -> Sequence[MapSide]:
        return self.work.map_sides

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return self.work.shard_keys

    @property
    def may_refuse(self) -> bool:
        return self.work.may_refuse

    @property
    def result_schema(self) -> pa.Schema:
        return self.work.result_schema

    def step(self, state: MemoryState, arrived: Sequence[InputBatch]) -> Step:
        self.before(self, state, arrived)
        for place, (side, batch) in enumerate(zip(self.work.sides, arrived, strict=True)):
            numbers = side.in_time(batch)[0]["c3"].to_pylist()
            rows = {r["n"]: r for rows in self.case.sides[place].batches for r in rows}
            self.came[place].extend(rows[number] for number in numbers)
        step = self.work.step(state, arrived)
        self.results += step.results.to_pylist()
        self.behind(self)
        return step


def held(state: MemoryState, place: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield for each chunk of a side the numbers of its rows, and of those not marked GONE."""
    for chunk in state.buckets(f"side{place}:rows"):
        rows = state.read(f"side{place}:rows", chunk)
        marked = chunk in state.buckets(f"side{place}:marks")
        beside = state.read(f"side{place}:marks", chunk) if marked else rows
        numbers = rows["c3"].to_pylist()
        marks = beside["mark"].to_pylist() if "mark" in beside.column_names else [0] * len(numbers)
        yield numbers, [n for n, mark in zip(numbers, marks, strict=True) if mark != GONE]


def reports(spec: Distance | Zipper, how: str) -> Distance | Zipper:
    """Return the same join with another ``how``."""
    if isinstance(spec, Zipper):
        return Zipper(spec.every, spec.origin, how)
    return Distance(spec.within, spec.direction, how)


@st.composite
def specs(draw: st.DrawFn, domain: Domain) -> Distance | Zipper:
    length, value = LENGTHS[domain], ON_TYPES[domain][2]
    if draw(st.integers(0, 2)) == 0:
        origin = draw(st.none() | st.integers(-3, 6).map(value))
        how = draw(st.sampled_from(["full", "inner", "left", "right"]))
        return Zipper(length(draw(st.integers(1, 9))), origin, how)
    return Distance(
        length(draw(st.integers(0, 9))),
        draw(st.sampled_from(["both", "backward", "forward"])),
        draw(st.sampled_from(HOWS)),
    )


@st.composite
def sides(draw: st.DrawFn, domain: Domain, rules: Sequence[str], *, keyed: bool) -> Joined:
    """Draw a few rows with any values, or many rows of few keys close together in many steps."""
    if draw(st.booleans()):
        rows = draw(some_rows(row_values(domain, st.sampled_from(PREPARED)), 12))
        return Joined(**draw(arrivals(domain, _numbered(rows), rules)), keyed=keyed)
    drawn = st.tuples(st.integers(0, 9), st.sampled_from(CLOSE), st.sampled_from(PREPARED[:9]))
    on = ON_TYPES[domain][2]
    rows = [
        {"on": on(place), **whose, **values}
        for place, whose, values in draw(st.lists(drawn, min_size=6, max_size=16))
    ]
    fields = draw(arrivals(domain, _numbered(rows), rules))
    batches = split(_numbered(rows), draw(st.lists(st.integers(0, 16), min_size=2, max_size=6)))
    clocks = [None if fields["clocks"][0] is None else place for place in range(len(batches))]
    return Joined(**{**fields, "batches": batches, "clocks": clocks}, keyed=keyed)


#: Few keys, and few marks.
CLOSE: list[Row] = [
    {"k": k, "q": q, "mark": mark}
    for k, q, mark in itertools.product(["a", "a", None], ["x", "y"], [False, False, False, True])
]


def _numbered(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "n": place} for place, row in enumerate(rows)]


@st.composite
def two_sides(
    draw: st.DrawFn, domain: Domain, rules: Sequence[str]
) -> tuple[Joined, Joined, tuple[int, int]]:
    keyed = draw(st.integers(0, 3)) > 0
    rules = rules if keyed else STREAM_RULES
    left, right = (draw(sides(domain, rules, keyed=keyed)) for _ in range(2))
    return left, right, draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))


@st.composite
def join_cases(draw: st.DrawFn, rules: Sequence[str] = RULES) -> JoinCase:
    domain = draw(st.sampled_from(list(Domain)))
    return JoinCase(
        *draw(two_sides(domain, rules)),
        draw(specs(domain)),
        draw(st.sampled_from([None, None, "<", "<>"])),
    )


@st.composite
def limited_cases(draw: st.DrawFn) -> JoinCase:
    """Draw joins with a low limit of bytes."""
    return replace(draw(join_cases()), limit=draw(st.integers(0, 8)) * 100)


def stream_cases() -> st.SearchStrategy[JoinCase]:
    """Draw joins of streams whose punctuation is for all keys."""
    return join_cases(STREAM_RULES)


@st.composite
def asof_cases(draw: st.DrawFn, rules: Sequence[str] = RULES) -> AsofCase:
    domain = draw(st.sampled_from(list(Domain)))
    exact = draw(st.booleans())
    spec = Asof(
        draw(st.none() | st.integers(0 if exact else 1, 9).map(LENGTHS[domain])),
        draw(st.sampled_from(["backward", "forward", "nearest"])),
        exact,
    )
    return AsofCase(*draw(two_sides(domain, rules)), spec)


def asof_stream_cases() -> st.SearchStrategy[AsofCase]:
    """Draw as-of joins of streams whose punctuation is for all keys."""
    return asof_cases(STREAM_RULES)


@st.composite
def split_cases(draw: st.DrawFn) -> tuple[TwoSides, TwoSides]:
    """Draw a join whose rows are never late, with two ways to split them into micro-batches."""
    case: TwoSides = draw(join_cases() | asof_cases())
    delays = draw(st.lists(st.integers(0, 10), min_size=1, max_size=7))
    cuts = st.lists(st.integers(0, 12), max_size=4)
    ends = st.tuples(st.integers(0, 5), st.integers(0, 5))
    cases = []
    for _ in range(2):
        left, right = (_cut(in_order(side, delays), draw(cuts)) for side in case.sides)
        cases.append(replace(case, left=left, right=right, ends=draw(ends)))
    return cases[0], cases[1]


def _cut(side: Joined, cuts: Sequence[int]) -> Joined:
    batches = split(side.batches[0], cuts)
    return replace(side, batches=batches, clocks=[None] * len(batches))


def in_order(side: Joined, delays: Sequence[int]) -> Joined:
    """Return the rows of a side in an order in which none is later than the slack allows."""
    slack = side.axis.length("slack", parse_length("slack", LENGTHS[side.domain](side.slack)))
    rows = [row for batch in side.batches for row in batch]
    placed = [row for row in rows if without_place(side.axis, row["on"]) is None]

    def arrives(row: Row) -> float:
        tick = side.axis.tick(row["on"])
        assert tick is not None
        return tick + slack * delays[row["n"] % len(delays)] / 10

    batch = sorted(placed, key=arrives)
    return replace(side, rule="slack", batches=[batch], clocks=[None])
