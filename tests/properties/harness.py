"""Random windows, rows and arrivals, and the step function run over them without Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.aggregates.binding import Call
from muntin.operators.protocol import MemoryState
from muntin.operators.punctuators.build import punctuator
from muntin.operators.punctuators.progress import Heard, Progress
from muntin.operators.windows import PANES, Windows
from muntin.semantics import aggregation
from muntin.semantics.axis import Axis, Domain
from muntin.semantics.disorder import Disorder, each, per_key, punctuated, slack
from muntin.semantics.idle import Idle, clock, follow, wait
from muntin.semantics.punctuation import Arrived, Rule
from muntin.semantics.reference import Evaluate, MicroBatch
from muntin.semantics.window import Edges, Landmark, Unfinished, Window

EPOCH = datetime(2026, 1, 1)
#: For each domain: the Arrow type of ``on``, that of window bounds, and values from small integers.
ON_TYPES: dict[Domain, tuple[pa.DataType, pa.DataType, Callable[[int], Any]]] = {
    Domain.TIMESTAMP: (
        pa.timestamp("us", tz="UTC"),
        pa.timestamp("us", tz="UTC"),
        lambda n: EPOCH.replace(tzinfo=UTC) + timedelta(seconds=n),
    ),
    Domain.TIMESTAMP_NTZ: (
        pa.timestamp("us"),
        pa.timestamp("us"),
        lambda n: EPOCH + timedelta(seconds=n),
    ),
    Domain.DATE: (pa.date32(), pa.date32(), lambda n: date(2026, 1, 1) + timedelta(days=n)),
    Domain.INTEGER: (pa.int32(), pa.int64(), lambda n: n),
    Domain.DECIMAL: (pa.decimal128(12, 1), pa.decimal128(20, 1), lambda n: Decimal(n).scaleb(-1)),
    Domain.DOUBLE: (pa.float64(), pa.float64(), lambda n: n / 10),
}
#: How a length of n small units is written for each domain.
LENGTHS: dict[Domain, Callable[[int], object]] = {
    Domain.TIMESTAMP: lambda n: f"{n} seconds",
    Domain.TIMESTAMP_NTZ: lambda n: f"{n} seconds",
    Domain.DATE: lambda n: f"{n} days",
    Domain.INTEGER: lambda n: n,
    Domain.DECIMAL: lambda n: str(Decimal(n).scaleb(-1)),
    Domain.DOUBLE: lambda n: str(Decimal(n).scaleb(-1)),
}


RULES = ("slack", "rows", "marks", "key marks", "per key", "each")
SENSORS = ("x", "y", None)


@dataclass(frozen=True)
class Case:
    """A query and what arrives for it, in small integers for one domain."""

    domain: Domain
    range: int
    slide: int
    origin: int | None
    landmark: bool
    rule: str
    slack: int
    idle: str
    idle_length: int
    expect: Sequence[str | None]
    late: Any
    unfinished: Unfinished
    batches: Sequence[Sequence[dict[str, Any]]]
    clocks: Sequence[int | None]

    @property
    def spec(self) -> Window | Landmark:
        length = LENGTHS[self.domain]
        origin = None if self.origin is None else ON_TYPES[self.domain][2](self.origin)
        if self.landmark:
            return Landmark(length(self.slide), "on", origin)
        return Window(length(self.range), length(self.slide), "on", origin)

    @property
    def disorder(self) -> Disorder:
        length = LENGTHS[self.domain](self.slack)
        match self.rule:
            case "slack":
                return slack(length, late=self.late)
            case "rows":
                return slack(rows=self.slack, late=self.late)
            case "marks" | "key marks":
                return punctuated("mark", key=self.rule == "key marks", late=self.late)
            case "per key":
                return per_key(length, idle=self._idle, late=self.late)
        return each("q", length, idle=self._idle, expect=self.expect, late=self.late)

    @property
    def _idle(self) -> Idle:
        match self.idle:
            case "follow":
                return follow(LENGTHS[self.domain](self.idle_length))
            case "clock":
                return clock(f"{self.idle_length + 1} seconds")
        return wait()

    @property
    def axis(self) -> Axis:
        scale = 1 if self.domain is Domain.DECIMAL else 0
        return self.spec.axis(self.domain, scale=scale, zone="UTC", also=self.disorder.finest)

    @property
    def edges(self) -> Edges:
        return self.spec.edges(self.axis)

    def punctuated(self) -> list[MicroBatch]:
        """What arrives, with the punctuation that the rule makes of it by its definition."""
        rule = Rule(self.disorder, self.axis, "on", ("k",), lambda row: bool(row["mark"]))
        pairs = zip(self.batches, self.clocks, strict=True)
        return rule.punctuate([Arrived(rows, _micros(now)) for rows, now in pairs])

    def data(self) -> list[dict[str, Any]]:
        """All rows that are not punctuation."""
        return [row for batch in self.punctuated() for row in batch.rows]  # type: ignore[misc]


def _micros(seconds: int | None) -> int | None:
    return None if seconds is None else seconds * 1_000_000


#: A function, its slots and its constants.
CALLS: tuple[tuple[str, tuple[int, ...], tuple[object, ...]], ...] = (
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
)
SLOTS = ("v", "i", "s", "b", "d")
SLOT_TYPES = (pa.float64(), pa.int64(), pa.string(), pa.bool_(), pa.decimal128(10, 2))


def evaluators() -> dict[str, Evaluate]:
    """What each call means, over the rows of a window."""
    made: dict[str, Evaluate] = {}
    for place, (function, slots, options) in enumerate(CALLS):
        made[f"r{place}"] = _evaluator(function, SLOTS[slots[0]] if slots else None, options)
    return made


def _evaluator(function: str, slot: str | None, options: tuple[Any, ...]) -> Evaluate:
    def evaluate(rows: Sequence[Any]) -> Any:
        if slot is None:
            return len(rows)
        if function in ("first", "last", "collect"):
            return getattr(aggregation, function)([(row["on"], row[slot]) for row in rows])
        values = [row[slot] for row in rows]
        if function == "any":
            return aggregation.any_true(values)
        if function == "avg" and slot == "d":
            return aggregation.mean(values, scale=6)
        if options:
            return _with_constant(function, values, options[0])
        return aggregation.FUNCTIONS[function](values)

    return evaluate


def _with_constant(function: str, values: Sequence[Any], constant: Any) -> Any:
    if function == "top_k":
        return aggregation.top_k(values, constant)
    if function == "heavy_hitters":
        return aggregation.heavy_hitters(values, str(constant))
    if not isinstance(constant, tuple):
        return aggregation.quantile(values, constant)
    found = [aggregation.quantile(values, share) for share in constant]
    return None if found[0] is None else found


def operator(case: Case) -> Windows:
    calls = tuple(
        Call(function, function, slots, tuple(SLOT_TYPES[s] for s in slots), True, options)
        for function, slots, options in CALLS
    )
    return Windows(
        axis=case.axis,
        edges=case.edges,
        keys=(pa.string(),),
        calls=calls,
        bound_type=ON_TYPES[case.domain][1],
        late=case.late,
        unfinished=case.unfinished,
        panes_per_bucket=max(1, case.edges.panes_per_window // 3),
    )


@dataclass
class Ran:
    """What the step function made of a case."""

    results: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    lateness: list[Any] = field(default_factory=list)
    used: int = 0
    chunks_left: int = 0


def run_steps(case: Case, work: Windows | None = None) -> Ran:
    """Route and step every micro-batch as a driver would, then end the stream."""
    work, state, progress, ran = work or operator(case), MemoryState(), Progress(), Ran()
    rule = punctuator(case.disorder, case.axis, (pa.string(),), (pa.string(),))
    for rows, now in [*zip(case.batches, case.clocks, strict=True), (None, None)]:
        parts = [part for part in ((rows or [])[::2], (rows or [])[1::2]) if part]
        observed = [rule.observe(_table(case, part)) for part in parts]
        routed = [work.route(one.rows) for one in observed if one.rows.num_rows]
        heard = Heard(
            seen=[r.progress for r in routed],
            clock=[_micros(now)],
            ended=rows is None,
            everywhere=[one.everywhere for one in observed if one.everywhere is not None],
            keyed=[one.keyed for one in observed if one.keyed is not None],
        )
        advanced = rule.advance(state, progress, heard)
        progress = advanced.progress
        partials = [r.partial for r in routed]
        originals = [r.rows for r in routed if r.rows is not None]
        step = work.step(state, partials, advanced.punctuation, originals)
        state.apply({**step.changes, **advanced.changes})
        ran.results += step.results.to_pylist()
        ran.used += step.rows_used + sum(one.punctuations for one in observed)
        for one in routed:
            ran.refused += [reason for reason, n in one.refused.items() for _ in range(n)]
        ran.refused += ["late"] * step.rows_late
        if step.late_rows is not None:
            assert step.late_rows.num_rows == step.rows_late
            ran.lateness += step.late_rows["lateness"].to_pylist()
    ran.chunks_left = len(state.buckets(PANES))
    return ran


def _table(case: Case, rows: Sequence[dict[str, Any]]) -> pa.Table:
    columns: dict[str, pa.Array] = {
        "on": pa.array([row["on"] for row in rows], ON_TYPES[case.domain][0]),
        "k0": pa.array([row["k"] for row in rows], pa.string()),
    }
    for place, (name, type_) in enumerate(zip(SLOTS, SLOT_TYPES, strict=True)):
        columns[f"s{place}"] = pa.array([row[name] for row in rows], type_)
    columns["p"] = pa.array([row["mark"] for row in rows], pa.bool_())
    columns["v0"] = pa.array([row["q"] for row in rows], pa.string())
    columns["o0"] = pa.array([row["k"] for row in rows], pa.string())
    return pa.table(columns)


@st.composite
def cases(draw: st.DrawFn, domains: Sequence[Domain] = tuple(Domain)) -> Case:
    domain = draw(st.sampled_from(domains))
    landmark = draw(st.integers(0, 4)) == 0
    origin = draw(st.one_of(st.none(), st.integers(-3, 6)))
    if landmark and origin is None:
        origin = draw(st.integers(-3, 6))
    rows = draw(st.lists(row_values(domain), max_size=14))
    batches = split(rows, draw(st.lists(st.integers(0, 14), max_size=3)))
    step = st.one_of(st.none(), st.integers(-1, 9))
    return Case(
        domain=domain,
        range=draw(st.integers(1, 12)),
        slide=draw(st.integers(1, 8)),
        origin=origin,
        landmark=landmark,
        rule=draw(st.sampled_from(RULES)),
        slack=draw(st.integers(0, 6)),
        idle=draw(st.sampled_from(["wait", "follow", "clock"])),
        idle_length=draw(st.integers(0, 6)),
        expect=draw(st.lists(st.sampled_from(SENSORS), max_size=2)),
        late=draw(st.sampled_from(["generous", "consistent"])),
        unfinished=draw(st.sampled_from(["keep", "drop", "flag"])),
        batches=batches,
        clocks=_running([draw(step) for _ in batches]),
    )


def _running(steps: Sequence[int | None]) -> list[int | None]:
    """Readings of a clock that moves by so many seconds, is not read, or once in a while errs."""
    now, made = 0, []
    for step in steps:
        now += step or 0
        made.append(None if step is None else now)
    return made


def split(rows: Sequence[dict[str, Any]], cuts: Sequence[int]) -> list[list[dict[str, Any]]]:
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [list(rows[a:b]) for a, b in itertools.pairwise(edges)]


def row_values(domain: Domain) -> st.SearchStrategy[dict[str, Any]]:
    value = ON_TYPES[domain][2]
    on: st.SearchStrategy[Any] = st.integers(-8, 30).map(value)
    if domain is Domain.DOUBLE:  # also values between the ticks
        on = st.tuples(on, st.sampled_from([0.0, 0.03, 0.07])).map(sum)
    odd: list[Any] = [None, float("nan"), float("inf")] if domain is Domain.DOUBLE else [None]
    return st.fixed_dictionaries(
        {
            "on": st.one_of(on, on, on, on, on, on, st.sampled_from(odd)),
            "k": st.sampled_from(["a", "b", None]),
            "q": st.sampled_from(SENSORS),
            "mark": st.sampled_from([None, False, False, True]),
            # Sixty-fourths: sums and squares of them are exact, so equality is equality.
            "v": st.one_of(st.none(), st.integers(-4096, 4096).map(lambda n: n / 64)),
            "i": st.one_of(st.none(), st.integers(-(2**40), 2**40)),
            "s": st.one_of(st.none(), st.sampled_from(["", "a", "B", "é", "zz"])),
            "b": st.one_of(st.none(), st.booleans()),
            "d": st.one_of(
                st.none(), st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2))
            ),
        }
    )
