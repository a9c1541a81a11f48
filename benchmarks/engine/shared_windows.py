"""A thousand window queries over one store of cells against one: the map side and the step alone.

There is no Spark, no exchange and no evaluation of predicates here: rows come with their predicate
sets, and the state is in memory. The sizes can be given on the command line::

    python -m benchmarks.engine.shared_windows --quick
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Report, Table, Target, machine, say
from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import Ints
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.shared.cells.cell_store import CELLS
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Member
from muntin.operators.shared.shared_windows import SharedWindows
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges

SECOND = 1_000_000
#: Seconds of stream time in a micro-batch, and how far rows are out of order.
SPAN, SLACK = 10, 1
SLIDES, RANGES = 20, 50
DOUBLE = pa.float64()
CALLS = tuple(
    AggregateCall(name, name, slots, (DOUBLE,) * len(slots), ansi=True)
    for name, slots in (("count", ()), ("sum", (0,)), ("avg", (0,)), ("min", (0,)), ("max", (0,)))
)
TIMES = pa.timestamp("us", "UTC")
COUNTS = 100, 1000
#: Promised: a thousand queries take at most this many times the time of one, and the hundredth at
#: most this share of the first.
MOST_TIMES, MOST_SHARE = 4.0, 0.01


@dataclass(frozen=True)
class Sizes:
    """How much data, and how many constants predicates compare each of two columns with.

    Slides are multiples of ``unit`` seconds, and ranges multiples of twice that.
    """

    rows: int = 1_000_000
    keys: int = 50
    constants: int = 16
    unit: int = 5
    timed: int = 7

    @property
    def warming(self) -> int:
        """The micro-batches until the longest window is full."""
        return 2 * self.unit * RANGES // SPAN + 3


FULL = Sizes()
QUICK = Sizes(rows=50_000, timed=3, unit=1)


@dataclass(frozen=True)
class Queries:
    """Window queries, each with a range of both columns as its predicate.

    They are the first of as many as there are in all, or some others if ``first`` is not 0. If they
    are ``alike``, all have the predicate of the first, so that they differ in their windows only.
    """

    sizes: Sizes
    count: int
    first: int = 0
    alike: bool = False

    @cached_property
    def members(self) -> tuple[Member, ...]:
        unit = self.sizes.unit * SECOND
        return tuple(
            Member(
                number + 1,
                Edges(
                    2 * unit * (1 + number // SLIDES % RANGES),
                    unit * (1 + number % SLIDES),
                    0,
                    False,
                ),
                (CALLS[number % len(CALLS)],),
            )
            for number in range(self.first, self.first + self.count)
        )

    @cached_property
    def wanted(self) -> tuple[Ints, MemberSets]:
        """For each cell of the grid of constants the number of its set, and the distinct sets."""
        random = np.random.default_rng(7)
        size, last = self.sizes.constants, self.first + self.count
        edges = [np.sort(random.choice(size + 1, 2, replace=False)) for _ in range(2 * last)]
        edges = edges[:2] * last if self.alike else edges[2 * self.first :]
        low, high = (np.array([edge[side] for edge in edges]) for side in (0, 1))
        across, down = np.divmod(np.arange(size * size), size)
        inside = np.ones((size * size, self.count), np.bool_)
        for side, place in ((0, across), (1, down)):
            inside &= (place[:, None] >= low[side::2]) & (place[:, None] < high[side::2])
        place, member = np.nonzero(inside)
        packed = MemberSets.of_pairs(
            place, self.first + member + 1, size * size
        ).packed.dictionary_encode()
        return packed.indices.to_numpy().astype(np.int64), MemberSets.unpacked(packed.dictionary)


@dataclass(frozen=True)
class Rows:
    """The rows of a micro-batch, and for each the cell of the grid of constants that it is in."""

    table: pa.Table
    cell: Ints
    largest: int


def micro_batch(sizes: Sizes, number: int) -> Rows:
    random = np.random.default_rng(number)
    tick = np.sort(random.integers(0, SPAN * SECOND, sizes.rows)) + number * SPAN * SECOND
    tick -= random.integers(0, SLACK * SECOND, sizes.rows)
    names = pa.array([f"station {key}" for key in range(sizes.keys)])
    key = names.take(pa.array(random.integers(0, sizes.keys, sizes.rows)))
    table = pa.table(
        {"on": pa.array(tick, TIMES), "k0": key, "s0": 100 * random.random(sizes.rows)}
    )
    cell = random.integers(0, sizes.constants**2, sizes.rows)
    return Rows(table, cell, int(tick.max()))


@dataclass(frozen=True)
class Measured:
    """Medians of the seconds of a micro-batch, and what it sends, keeps and answers."""

    queries: int
    route: float
    step: float
    results: float
    sent: int
    kept: int
    sets: int

    @property
    def seconds(self) -> float:
        return self.route + self.step


@dataclass
class Running:
    """A group of queries as it takes in micro-batches."""

    queries: Queries

    def __post_init__(self) -> None:
        self.work = SharedWindows(
            Axis(Domain.TIMESTAMP), (pa.string(),), TIMES, self.queries.members
        )
        self.state = MemoryState()
        self.before: int | None = None
        self.taken: list[tuple[float, float, int, int]] = []

    def take(self, rows: Rows) -> None:
        """Take in a micro-batch, and note how long it takes."""
        after = rows.largest - SLACK * SECOND
        number, sets = self.queries.wanted
        code = number[rows.cell]
        began = time.process_time()
        routed = self.work.route(rows.table, code, sets)
        sent = time.process_time()
        punctuation = Punctuation(self.before, after, rows.largest)
        step = self.work.step(self.state, InputBatch([routed.routed.partial], punctuation))
        done = time.process_time()
        self.state.apply(step.changes)
        self.before = after
        results = sum(answer.results.num_rows for answer in step.answers.values())
        self.taken.append((sent - began, done - sent, results, routed.routed.partial.num_rows))

    def measured(self, timed: int) -> Measured:
        last = self.taken[-timed:]
        kept = sum(c.num_rows for (name, _), c in self.state.chunks.items() if name == CELLS)
        route, step, results, sent = (median(part) for part in zip(*last, strict=True))
        sets = len(self.queries.wanted[1])
        return Measured(self.queries.count, route, step, results, int(sent), kept, sets)


def measure(sizes: Sizes) -> list[Measured]:
    """Run groups of several sizes in turns, micro-batch by micro-batch, until all are full.

    The time of one query is the mean of five, one for each aggregate.
    """
    running = [Running(Queries(sizes, 1, first)) for first in range(len(CALLS))]
    running += [Running(Queries(sizes, 100, alike=True))]
    running += [Running(Queries(sizes, count)) for count in COUNTS]
    for number in range(sizes.warming + sizes.timed):
        rows = micro_batch(sizes, number)
        for group in running:
            group.take(rows)
    found = [group.measured(sizes.timed) for group in running]
    for each in found:
        say(f"{each.queries} queries: {each.route:.3f} s + {each.step:.3f} s")
    singles = found[: len(CALLS)]
    means = [fmean(getattr(one, part) for one in singles) for part in ("route", "step", "results")]
    one = replace(singles[0], route=means[0], step=means[1], results=means[2])
    return [one, singles[0], *found[len(CALLS) :]]


def run(quick: bool) -> Report:
    return report(QUICK if quick else FULL, measure(QUICK if quick else FULL))


def report(sizes: Sizes, found: Sequence[Measured]) -> Report:
    one, first, alike, _, thousand = found
    rows = [
        [
            f"{m.queries:,}" + " with the first predicate" * (m is first or m is alike),
            f"{m.route:.3f}",
            f"{m.step:.3f}",
            f"{m.seconds / one.seconds:.2f}",
            f"{m.results:,.0f}",
            f"{m.sets:,}",
            f"{m.sent:,}",
            f"{m.kept:,}",
        ]
        for m in found
    ]
    columns = ["queries", "map side", "step", "times one", "results", "sets", "sent", "kept"]
    about = (
        f"Micro-batches of {sizes.rows:,} rows, {sizes.keys} keys and {SPAN} seconds of stream "
        f"time, on one core, without Spark and without the evaluation of predicates. {SLIDES} "
        f"slides from {sizes.unit} s, {RANGES} ranges up to {2 * sizes.unit * RANGES} s, count, "
        f"sum, avg, min and max; each query has a range of two columns as its predicate, with "
        f"constants from {sizes.constants + 1} for each column. Seconds of processor time are "
        f"medians of {sizes.timed} micro-batches after the longest window is full; results, cells "
        "sent and cells kept are those of one micro-batch. One query is the mean of five, one for "
        "each aggregate."
    )
    share = (alike.seconds - first.seconds) / 99 / first.seconds
    targets = [
        Target("1,000 queries / 1", thousand.seconds / one.seconds, at_most=MOST_TIMES),
        Target(
            "one more of 100 windows over the same panes / the first", share, at_most=MOST_SHARE
        ),
    ]
    frame = pd.DataFrame(
        [
            (f"{m.queries:,}" + " alike" * (m is alike), part, getattr(m, part))
            for m in (one, *found[2:])
            for part in ("route", "step")
        ],
        columns=["queries", "part", "seconds"],
    )
    chart = (
        alt.Chart(frame, title="Queries that share panes")
        .mark_bar()
        .encode(x=alt.X("queries:N", sort=None), y="seconds:Q", color="part:N")
    )
    return Report(
        "shared_windows",
        "Window queries that share panes",
        about,
        [Table(columns, rows)],
        targets,
        chart,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--constants", type=int)
    parser.add_argument("--unit", type=int)
    given = parser.parse_args()
    chosen = QUICK if given.quick else FULL
    sizes = replace(
        chosen,
        **{n: v for n in ("rows", "constants", "unit") if (v := getattr(given, n)) is not None},
    )
    print(report(sizes, measure(sizes)).markdown())
    print(machine())


if __name__ == "__main__":
    main()
