"""Rows that arrive under any rule of disorder, and how to run an operator on them without Spark."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from muntin.operators.build import punctuator
from muntin.operators.progress.ahead import AHEAD, AheadOfClock, AheadOfEarlier, AheadRule
from muntin.operators.progress.progress import Progress, ProgressMessages, Punctuator
from muntin.operators.protocol import InputBatch, MemoryState, Operator, Step
from muntin.operators.windows.pane_store import FANOUT, LAYOUT
from muntin.reference.disorder import ArrivedRows, Rule
from muntin.reference.windows import MicroBatch
from muntin.specs.axis import Axis, Domain
from muntin.specs.disorder import Disorder, each, per_key, punctuated, slack
from muntin.specs.idle import Idle, clock, follow, wait
from muntin.specs.lengths import Length, parse_length, positive_length

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
#: A distance of n small units in each domain, as rows have it.
DISTANCES: dict[Domain, Callable[[int], Any]] = {
    Domain.TIMESTAMP: lambda n: timedelta(seconds=n),
    Domain.TIMESTAMP_NTZ: lambda n: timedelta(seconds=n),
    Domain.DATE: lambda n: timedelta(days=n),
    Domain.INTEGER: lambda n: n,
    Domain.DECIMAL: lambda n: Decimal(n).scaleb(-1),
    Domain.DOUBLE: lambda n: n / 10,
}
#: How far ahead rows may be, as a property draws it for a case.
AHEAD_OF_OTHERS = st.sampled_from([0, 0, 2, 5, 20])
RULES = ("slack", "rows", "marks", "key marks", "per key", "each")
#: The rules without a punctuation of single keys.
WITHOUT_KEYS = tuple(rule for rule in RULES if "key" not in rule)
SENSORS = ("x", "y", None)
#: The columns that aggregates read.
SLOTS = ("v", "i", "s", "b", "d")
SLOT_TYPES = (pa.float64(), pa.int64(), pa.string(), pa.bool_(), pa.decimal128(10, 2))


@dataclass(frozen=True)
class Arrivals:
    """The rows that arrive for a query, and their disorder; lengths are small integers."""

    domain: Domain
    rule: str
    slack: int
    idle: str
    idle_length: int
    expect: Sequence[str | None]
    late: Any
    batches: Sequence[Sequence[dict[str, Any]]]
    clocks: Sequence[int | None]
    #: For some micro-batches, up to where a key is complete by a control row.
    told: Sequence[tuple[str | None, int] | None] = field(default=(), kw_only=True)
    #: A row so far above the others is refused; on time columns, above the time of its micro-batch.
    ahead: int | None = field(default=None, kw_only=True)

    @property
    def axis(self) -> Axis:
        raise NotImplementedError

    @property
    def by(self) -> tuple[str, ...]:
        return ("k",)

    @property
    def disorder(self) -> Disorder:
        length = LENGTHS[self.domain](self.slack)
        return replace(self._rule(length), ahead=self.most_ahead)

    @property
    def most_ahead(self) -> Length | None:
        """How far ahead rows may be; only slack by length judges numbers."""
        if self.ahead is None or not (self.domain.temporal or self.rule == "slack"):
            return None
        return parse_length("ahead", LENGTHS[self.domain](self.ahead))

    def now(self, place: int) -> Any:
        """Return the time at which a micro-batch begins: the median of its rows."""
        values = sorted(row["on"] for row in self.batches[place] if has_place(row))
        return values[len(values) // 2] if values else None

    def ahead_rule(self) -> AheadRule | None:
        """Return the rule for rows that are ahead, as the drivers run it."""
        if self.most_ahead is None:
            return None
        if self.domain.temporal:
            return AheadOfClock(self.axis, pa.duration("us"))
        most = self.axis.length("ahead", self.most_ahead)
        return AheadOfEarlier(most, self.axis, ON_TYPES[self.domain][1])

    def judged(
        self, place: int, tasks: Sequence[Sequence[Any]], earlier: int | None
    ) -> tuple[list[pa.Table], int | None, list[pa.Table]]:
        """Return the accepted rows of tasks, how far they bring the stream, and the others."""
        tables = [self.table(part) for part in tasks if part]
        match self.ahead_rule() if tables else None:
            case None:
                return tables, None, []
            case AheadOfClock() as rule:
                now = self.axis.tick(self.now(place))
                judged = [rule.judge(self._marked(table, now)) for table in tables]
                largest = None
            case AheadOfEarlier() as rule:
                judged = [rule.judge(table, earlier) for table in tables]
                largest = rule.largest([rule.values(table) for table in tables], earlier)
        refused = [j.refused_rows for j in judged if j.refused_rows is not None]
        return [j.rows for j in judged if j.rows.num_rows], largest, refused

    def arriving_table(self, place: int, rows: Sequence[dict[str, Any]]) -> pa.Table:
        """Return rows of a micro-batch as a task of the map side gets them."""
        table = self.table(rows)
        if not isinstance(self.ahead_rule(), AheadOfClock):
            return table
        return self._marked(table, self.axis.tick(self.now(place)))

    def _marked(self, table: pa.Table, now: int | None) -> pa.Table:
        """Return rows as Spark marks those that are ahead of the clock."""
        ticks = [self.axis.tick(value) for value in table["on"].to_pylist()]
        assert self.most_ahead is not None
        most = self.axis.length("ahead", self.most_ahead)
        marks = [None if t is None or now is None else t > now + most for t in ticks]
        return table.append_column(AHEAD, pa.array(marks, pa.bool_()))

    def _rule(self, length: object) -> Disorder:
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
    def unit(self) -> int:
        """The ticks of one small unit, at least one."""
        length = positive_length("unit", LENGTHS[self.domain](1))
        return max(1, self.axis.length("unit", length))

    @property
    def _idle(self) -> Idle:
        match self.idle:
            case "follow":
                return follow(LENGTHS[self.domain](self.idle_length))
            case "clock":
                return clock(f"{self.idle_length + 1} seconds")
        return wait()

    def punctuated(self) -> list[MicroBatch]:
        """Return the micro-batches with the punctuation that the reference rule gives."""
        rule = Rule(self.disorder, self.axis, "on", self.by, lambda row: bool(row["mark"]))
        batches = [
            ArrivedRows(rows, _micros(clock), dict(self._announced(place)), self.now(place))
            for place, (rows, clock) in enumerate(zip(self.batches, self.clocks, strict=True))
        ]
        return rule.punctuate(batches)

    def told_keys(self, place: int) -> list[tuple[str | None, Any]]:
        """Return the keys that a control row of a micro-batch punctuates, and their values."""
        told = self.told[place] if place < len(self.told) else None
        if told is None or self.rule not in ("key marks", "per key") or not self.by:
            return []
        return [(told[0], ON_TYPES[self.domain][2](told[1]))]

    def _announced(self, place: int) -> list[tuple[tuple[str | None], Any]]:
        return [((key,), on) for key, on in self.told_keys(place)]

    @property
    def told_by_batch(self) -> list[dict[tuple[str | None], Any] | None]:
        """The same for every micro-batch, as a replay takes them."""
        told = [self.told_keys(place) for place in range(len(self.batches))]
        return [{(key,): on for key, on in keys} or None for keys in told]

    def announced_keys(self, place: int) -> list[pa.Table]:
        """Return the same as messages to the shards."""
        return [
            pa.table(
                {
                    "k0": pa.array([key], pa.string()),
                    "tick": pa.array([self.axis.floor("punctuation", on)], pa.int64()),
                }
            )
            for key, on in self.told_keys(place)
        ]

    def punctuator(self) -> Punctuator:
        """Return the punctuator of the rule, as the drivers run it."""
        return punctuator(self.disorder, self.axis, [pa.string()] * len(self.by), (pa.string(),))

    def data(self) -> list[dict[str, Any]]:
        """Return all rows that are not punctuation."""
        return [row for batch in self.punctuated() for row in batch.rows]  # type: ignore[misc]

    def table(self, rows: Sequence[dict[str, Any]]) -> pa.Table:
        """Return rows as the map side gets them."""
        columns: dict[str, pa.Array] = {
            "on": pa.array([row["on"] for row in rows], ON_TYPES[self.domain][0]),
            "k0": pa.array([row["k"] for row in rows], pa.string()),
        }
        for place, (name, type_) in enumerate(zip(SLOTS, SLOT_TYPES, strict=True)):
            columns[f"s{place}"] = pa.array([row.get(name) for row in rows], type_)
        columns["p"] = pa.array([row["mark"] for row in rows], pa.bool_())
        columns["v0"] = pa.array([row["q"] for row in rows], pa.string())
        columns["o0"] = pa.array([row["k"] for row in rows], pa.string())
        return pa.table(columns)


def _micros(seconds: int | None) -> int | None:
    return None if seconds is None else seconds * 1_000_000


@dataclass
class Ran:
    """The results and counts of all steps of a case."""

    results: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    lateness: list[Any] = field(default_factory=list)
    used: int = 0
    chunks_left: int = 0

    def take(self, step: Step) -> None:
        """Add the results and counts of a step."""
        self.results += step.results.to_pylist()
        (counts,) = step.rows
        self.used += counts.used
        self.refused += ["late"] * counts.late
        if counts.late_rows is not None:
            assert counts.late_rows.num_rows == counts.late
            self.lateness += counts.late_rows["lateness"].to_pylist()
        if counts.fallen is not None:
            self.refused += counts.fallen["reason"].to_pylist()


def renamed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a result with its key named as in the rows."""
    return {("k" if name == "k0" else name): value for name, value in row.items()}


def steps(work: Operator, case: Arrivals, dealt: Sequence[Sequence[Sequence[Any]]]) -> Ran:
    """Route and step every micro-batch as a driver would, then end the stream.

    ``dealt`` has the rows of a micro-batch as its tasks get them.
    """
    rule, state, progress, ran = case.punctuator(), MemoryState(), Progress(), Ran()
    for place, (tasks, now) in enumerate([*zip(dealt, case.clocks, strict=True), (None, None)]):
        accepted, largest, refused = case.judged(place, tasks or (), progress.largest)
        observed = [rule.observe(table) for table in accepted]
        routed = [work.map_sides[0].route(part.rows) for part in observed if part.rows.num_rows]
        heard = ProgressMessages(
            seen=[largest, *(r.progress for r in routed)],
            clock=[_micros(now)],
            ended=tasks is None,
            everywhere=[part.everywhere for part in observed if part.everywhere is not None],
            keyed=[part.keyed for part in observed if part.keyed is not None],
            announced_keys=[] if tasks is None else case.announced_keys(place),
        )
        advanced = rule.advance(state, progress, heard)
        progress = advanced.progress
        partials = [r.partial for r in routed]
        originals = [r.rows for r in routed if r.rows is not None]
        step = work.step(state, [InputBatch(partials, advanced.punctuation, originals)])
        state.apply({**step.changes, **advanced.changes})
        ran.refused += [reason for table in refused for reason in table["reason"].to_pylist()]
        ran.used += sum(part.punctuations for part in observed)
        for sent in routed:
            ran.refused += [reason for reason, n in sent.refused.items() for _ in range(n)]
        ran.take(step)
    own = [name for name, _ in state.chunks if not name.startswith("punctuator:")]
    ran.chunks_left = len([name for name in own if name not in (LAYOUT, FANOUT)])
    return ran


@st.composite
def arrivals(
    draw: st.DrawFn,
    domain: Domain,
    rows: Sequence[dict[str, Any]],
    rules: Sequence[str] = RULES,
    reach: int = 0,
) -> dict[str, Any]:
    """Draw the fields of :class:`Arrivals`: rows in micro-batches, under any rule of disorder.

    ``reach`` is how far below the punctuation rows may still be of use.
    """
    slack = draw(st.integers(0, 6))
    rows = draw(arranged(rows))
    shares = draw(
        st.lists(st.sampled_from([*range(2, 9), *range(2, 9), *range(11)]), min_size=1, max_size=3)
    )
    batches = split(rows, [len(rows) * share // 10 for share in shares])
    batches = draw(with_laggards(domain, batches, [slack, *[slack + reach] * 2]))
    step = st.sampled_from([None, 0, *range(-1, 10)])
    return {
        "domain": domain,
        "rule": draw(st.sampled_from(rules)),
        "slack": slack,
        "idle": draw(st.sampled_from(["wait", "follow", "clock"])),
        "idle_length": draw(st.integers(0, 6)),
        "expect": draw(st.lists(st.sampled_from(SENSORS), max_size=2)),
        "late": draw(st.sampled_from(["generous", "consistent"])),
        "batches": batches,
        "clocks": _running([draw(step) for _ in batches]),
        "told": [draw(st.sampled_from(TOLD)) for _ in batches],
    }


@st.composite
def arranged(draw: st.DrawFn, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draw an order in which rows arrive: any, by ``on``, or nearly so.

    In any order, most rows that are not in the first micro-batch are late. If they come nearly by
    ``on``, a few are, by little.
    """
    if draw(st.booleans()):
        return list(rows)
    delays = draw(st.lists(st.sampled_from([0, 0, 0, 1, 3, 6]), min_size=1, max_size=5))
    placed = [row for row in rows if has_place(row)]
    others = [row for row in rows if not has_place(row)]
    ranks = sorted(range(len(placed)), key=lambda place: placed[place]["on"])
    arrives = {place: rank + delays[rank % len(delays)] for rank, place in enumerate(ranks)}
    return [*(placed[place] for place in sorted(ranks, key=arrives.__getitem__)), *others]


@st.composite
def with_laggards(
    draw: st.DrawFn,
    domain: Domain,
    batches: Sequence[Sequence[dict[str, Any]]],
    allowed: Sequence[int],
) -> list[list[dict[str, Any]]]:
    """Draw for some micro-batches how far their first row is below the rows before it.

    That is a distance that is allowed, or a little more or less, and the row has the key of the
    row that is furthest ahead. So such rows are just late, at the punctuation, or just in time.
    """
    distances = [None, *(size + more for size in allowed for more in (-1, 0, 0, 1, 1, 2, 9))]
    back = draw(st.lists(st.sampled_from(distances), min_size=1, max_size=3))
    leader, moved = None, []
    for number, rows in enumerate(batches):
        distance = back[number % len(back)]
        if rows and leader is not None and distance is not None:
            on = leader["on"] - DISTANCES[domain](distance)
            rows = [{**rows[0], "k": leader["k"], "q": leader["q"], "on": on}, *rows[1:]]
        leader = max(
            [row for row in rows if has_place(row)] + ([] if leader is None else [leader]),
            key=lambda row: row["on"],
            default=None,
        )
        moved.append(list(rows))
    return moved


def has_place(row: dict[str, Any]) -> bool:
    """Return True if ``on`` has a finite value."""
    return row["on"] is not None and row["on"] == row["on"] and row["on"] != math.inf


def _running(steps: Sequence[int | None]) -> list[int | None]:
    """Return readings of a clock; None is no reading, and a negative step moves it back."""
    now, readings = 0, []
    for step in steps:
        now += step or 0
        readings.append(None if step is None else now)
    return readings


def split(rows: Sequence[dict[str, Any]], cuts: Sequence[int]) -> list[list[dict[str, Any]]]:
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [list(rows[a:b]) for a, b in itertools.pairwise(edges)]


def some_rows(row: st.SearchStrategy[Any], most: int = 14) -> st.SearchStrategy[list[Any]]:
    """Draw rows: mostly enough of them for several micro-batches, now and then none or few."""
    least = st.sampled_from([0, *[most // 2] * 7])
    return least.flatmap(lambda size: st.lists(row, min_size=size, max_size=most))


def row_values(
    domain: Domain, slots: st.SearchStrategy[dict[str, Any]] | None = None
) -> st.SearchStrategy[dict[str, Any]]:
    on = st.sampled_from(on_values(domain))
    both = st.tuples(on, st.sampled_from(WHOSE), slot_values() if slots is None else slots)
    return both.map(lambda drawn: {"on": drawn[0], **drawn[1], **drawn[2]})


@functools.cache
def on_values(domain: Domain) -> list[Any]:
    """Return the values of ``on``: most close together, one far ahead, and some without a place.

    Half of them are from 0 to 10, so that rows often lie just at a bound of another row's window.
    They are listed, because Hypothesis draws equal branches of ``one_of`` as one.
    """
    value = ON_TYPES[domain][2]
    if domain is Domain.DOUBLE:  # also values between the ticks
        near = [value(n) + between for n in range(-8, 31) for between in (0.0, 0.03, 0.07)]
        near += [value(n) for n in range(11)] * 6
        return [*near, *[value(160)] * 5, *[None, math.nan, math.inf] * 3]
    return [*map(value, [*range(-8, 31), *range(11), *range(11)]), *[value(160)] * 2, *[None] * 4]


#: Control rows for single keys: often near the rows, now and then of a key without rows.
TOLD = [None] * 12 + [(key, on) for key in ("a", "a", "b", None, "z") for on in (-3, 2, 7, 12)]
#: One key has most rows, because windows over few rows show little.
KEYS = ("a", "a", "a", "a", "b", None)
#: Keys, sensors and marks; drawn together, because every draw takes time.
WHOSE: list[dict[str, Any]] = [
    {"k": k, "q": q, "mark": mark}
    for k, q, mark in itertools.product(KEYS, SENSORS, [None, False, False, True])
]


def slot_values() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            # Sixty-fourths, because sums and squares of them are exact.
            "v": st.one_of(st.none(), st.integers(-4096, 4096).map(lambda n: n / 64)),
            "i": st.one_of(st.none(), st.integers(-(2**40), 2**40)),
            "s": st.one_of(st.none(), st.sampled_from(TEXTS)),
            "b": st.one_of(st.none(), st.booleans()),
            "d": st.one_of(
                st.none(), st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2))
            ),
        }
    )


TEXTS = ["", "a", "B", "é", "zz"]


def _prepared(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    drawn = {
        "v": chance.randint(-4096, 4096) / 64,
        "i": chance.randint(-(2**40), 2**40),
        "s": chance.choice(TEXTS),
        "b": chance.choice([False, True]),
        "d": Decimal(chance.randint(-(10**9), 10**9)).scaleb(-2),
    }
    return {name: None if chance.random() < 0.3 else value for name, value in drawn.items()}


#: Values for properties that do not depend on them.
PREPARED: list[dict[str, Any]] = [dict.fromkeys(SLOTS), *map(_prepared, range(150))]
