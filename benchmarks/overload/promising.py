"""Figures 11 to 14 of "Promising tuples": a join of two stores under a tenth of the exact work.

There is no Spark here: a gate and a join step over simulated sales, in memory. Nothing is timed
but the overhead of a gate with enough units; all else is counted and the same in every run. ::

    python -m benchmarks promising --quick
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Report, Table, Target
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.nodes import Comparison, Slot
from muntin.expressions.row_expression import compile_row_expression
from muntin.kernels.arrays import Ints
from muntin.operators.join.candidate_pairs import PairCondition
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.join.reach import Around
from muntin.operators.join.side import SideRows
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.shared.overload.gate import Gate
from muntin.operators.shared.overload.join_work import JoinWork
from muntin.operators.shared.overload.preferred_rows import (
    PreferredInput,
    PreferredRows,
    PreferredValues,
)
from muntin.operators.shared.overload.waiting_rows import travelling
from muntin.operators.shared.program import ProgramInput, QueryProgram
from muntin.simulate.retail import Retail
from muntin.specs.axis import Axis, Domain
from muntin.specs.overload import Policy, QueryBudget
from muntin.specs.preference import PreferenceOrder
from muntin.specs.summaries import StreamSummary

#: The share of the exact work that there is room for.
SHARE = 0.1
#: Pairs of items sold in both stores are this share of all pairs, as in the paper.
SELECTIVITY = 0.067
#: The intervals of histograms of the output.
INTERVALS = 100
#: Outliers are among this share of the items, the least frequent ones.
RARE = 0.05
SECOND = 1_000_000
AXIS = Axis(Domain.TIMESTAMP, zone="UTC")
TIMES = pa.timestamp("us", "UTC")
ITEM = pa.int64()


@dataclass(frozen=True)
class Sizes:
    """How long stores sell, how many customers there are, and the window in seconds."""

    hours: float = 2
    customers: float = 6000
    window: int = 60
    batch: int = 10

    @property
    def stores(self) -> Retail:
        return Retail(
            hours=self.hours,
            customers_per_hour=self.customers,
            popularity=1.19,
            closed=0,
            disordered=0,
            disorder_seconds=0,
        )


FULL = Sizes(hours=0.25)
QUICK = Sizes(hours=0.05)


@dataclass(frozen=True)
class Sold:
    """What two stores sell, in micro-batches."""

    sizes: Sizes

    @cached_property
    def sides(self) -> tuple[pa.Table, pa.Table]:
        sales = self.sizes.stores.sales()
        stores = sales["store"].to_numpy(zero_copy_only=False)
        tables = []
        for name in self.sizes.stores.names:
            own = sales.filter(pa.array(stores == name))
            item = own["item"].cast(ITEM)
            on = own["ts"].cast(TIMES)
            tables.append(pa.table({"on": on, "c0": item, "c1": on}))
        return tables[0], tables[1]

    @cached_property
    def selectivity(self) -> float:
        """The share of all pairs of rows that are of the same item."""
        most = max(int(np.max(side["c0"].to_numpy())) for side in self.sides) + 1
        one, two = (np.bincount(side["c0"].to_numpy(), minlength=most) for side in self.sides)
        return float((one * two).sum() / (one.sum() * two.sum()))

    @cached_property
    def batches(self) -> list[tuple[int, tuple[pa.Table, pa.Table]]]:
        """For each micro-batch where it ends, in ticks, and the rows of both stores."""
        ticks = [side["on"].cast(pa.int64()).to_numpy() for side in self.sides]
        first = min(int(own.min()) for own in ticks)
        last = max(int(own.max()) for own in ticks)
        step = self.sizes.batch * SECOND
        found = []
        for start in range(first, last + 1, step):
            stop = start + step
            parts = [
                side.filter(pa.array((own >= start) & (own < stop)))
                for side, own in zip(self.sides, ticks, strict=True)
            ]
            found.append((stop, (parts[0], parts[1])))
        return found


def operator(sizes: Sizes) -> PairJoinOperator:
    """Return a join that probes all pairs of rows in the window, as the paper's does."""
    side = SideRows(AXIS, (), (ITEM, TIMES), pa.duration("us"))
    reach = Around(AXIS, sizes.window * SECOND, sizes.window * SECOND)
    same = PairCondition(Comparison("=", Slot(0), Slot(1)), ((0, 0), (1, 0)))
    return PairJoinOperator(reach, (side, side), where=same)


def preferred(order: PreferenceOrder, fade: float) -> PreferredRows:
    spec = StreamSummary("store", "c0", "15 seconds", rate=2, depth=4, method="exact")
    own = PreferredInput(spec, spec.ticks(AXIS))
    estimate = compile_row_expression(
        "estimate_0", {"estimate_0": pa.float64()}, zone="UTC", errors="null"
    )
    values = tuple(PreferredValues(estimate, (of,)) for of in (0, 1))
    return PreferredRows(order, fade, (own, own), values, (1, 0))


def program(sizes: Sizes, prefer: PreferredRows | None) -> QueryProgram:
    none = ArrowColumns((), pa.schema([]))
    inputs = (ProgramInput(none), ProgramInput(none, of=1))
    return QueryProgram(1, inputs, operator(sizes), None, prefer=prefer)


@dataclass
class Output:
    """What a run has reported: the items of pairs, and how far apart their rows were sold."""

    items: list[Ints] = field(default_factory=list)
    apart: list[Ints] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def take(self, results: pa.Table) -> None:
        self.items.append(results["left0"].to_numpy())
        ticks = [results[name].cast(pa.int64()).to_numpy() for name in ("left1", "right1")]
        self.apart.append(np.abs(ticks[0] - ticks[1]))

    @property
    def of_items(self) -> Ints:
        return np.concatenate(self.items)

    @property
    def rows(self) -> int:
        return len(self.of_items)

    @property
    def fresh(self) -> float:
        """The seconds between the rows of a pair, on average."""
        return float(np.concatenate(self.apart).mean()) / SECOND


def run_exact(sold: Sold) -> Output:
    """Run the join by itself, and count the units of each micro-batch."""
    join, state, out = operator(sold.sizes), MemoryState(), Output()
    before: int | None = None
    for stop, tables in sold.batches:
        punctuation = Punctuation(before, stop, stop)
        partials = [side.route(rows).partial for side, rows in zip(join.sides, tables, strict=True)]
        work = JoinWork.of(join, state, partials, [punctuation] * 2)
        out.units.append(work.units([np.ones(part.num_rows, np.bool_) for part in partials]))
        begun = time.process_time()
        step = join.step(state, [InputBatch([part], punctuation) for part in partials])
        out.seconds += time.process_time() - begun
        state.apply(step.changes)
        out.take(step.results)
        before = stop
    return out


def run_under(sold: Sold, budget: QueryBudget, prefer: PreferredRows | None = None) -> Output:
    """Run the join behind a gate."""
    own = program(sold.sizes, prefer)
    gate, join, out = Gate(own, budget), operator(sold.sizes), Output()
    at_gate, state = MemoryState(), MemoryState()
    before: int | None = None
    for stop, tables in sold.batches:
        punctuation = [Punctuation(before, stop, stop)] * 2
        begun = time.process_time()
        arrived = [
            [travelling(rows, rows["on"], AXIS, budget.policy, rows, _beside(prefer, at, rows))]
            for at, rows in enumerate(tables)
        ]
        passed = gate.step(at_gate, state, arrived, punctuation, 1)
        assert passed is not None
        partials = [
            side.route(rows).partial
            for side, rows in zip(join.sides, passed.rows, strict=True)
            if rows is not None
        ]
        step = join.step(state, list(map(_batch, partials, passed.punctuation)))
        out.seconds += time.process_time() - begun
        at_gate.apply(passed.changes)
        state.apply(step.changes)
        out.take(step.results)
        before = stop
    return out


def _batch(partial: pa.Table, punctuation: Punctuation) -> InputBatch:
    return InputBatch([partial], punctuation)


def _beside(prefer: PreferredRows | None, at: int, rows: pa.Table) -> Mapping[str, pa.Array]:
    return {} if prefer is None else prefer.inputs[at].beside(rows)


@dataclass(frozen=True)
class Found:
    """The outputs of all runs."""

    sold: Sold
    exact: Output
    runs: Mapping[str, Output]

    def share(self, name: str) -> float:
        return self.runs[name].rows / self.exact.rows

    def hist_mse(self, name: str) -> float:
        """The mean square error between the histograms of both outputs, by item."""
        most = int(self.exact.of_items.max()) + 1
        edges = np.linspace(0, most, INTERVALS + 1)
        exact, own = (
            np.histogram(items, edges)[0] / max(1, len(items))
            for items in (self.exact.of_items, self.runs[name].of_items)
        )
        return float(((exact - own) ** 2).sum())

    @cached_property
    def rare(self) -> Ints:
        """The least frequent items of those sold in both stores."""
        sides = [np.unique(side["c0"].to_numpy(), return_counts=True) for side in self.sold.sides]
        both = np.intersect1d(sides[0][0], sides[1][0])
        counts = np.sum([n[np.searchsorted(item, both)] for item, n in sides], axis=0)
        order = np.argsort(counts, kind="stable")
        most = np.sort(counts)[max(0, int(RARE * len(both)) - 1)]
        return np.sort(both[order][counts[order] <= most])

    def outliers(self, name: str) -> float:
        items = self.runs[name].of_items
        return float(np.isin(items, self.rare).mean()) if len(items) else 0.0


def measure(sizes: Sizes) -> Found:
    sold = Sold(sizes)
    exact = run_exact(sold)
    units = int(SHARE * np.mean(exact.units))
    budget = QueryBudget(units=units, waiting=10 * units)
    preferring = replace(budget, policy=Policy("preference"))
    orders: Sequence[PreferenceOrder] = ("desc", "weighted", "asc")
    runs = {
        "arrival order": run_under(sold, budget),
        "random": run_under(sold, replace(budget, policy=Policy("random"))),
        **{str(order): run_under(sold, preferring, preferred(order, 1)) for order in orders},
        "desc, fading": run_under(sold, preferring, preferred("desc", 0.8)),
        "enough": run_under(sold, QueryBudget(units=10**12)),
    }
    return Found(sold, exact, runs)


def run(quick: bool) -> Report:
    return report(measure(QUICK if quick else FULL))


def report(found: Found) -> Report:
    sizes = found.sold.sizes
    rows = [
        [
            name,
            f"{own.rows:,}",
            f"{found.share(name):.1%}",
            f"{found.hist_mse(name):.2e}",
            f"{found.outliers(name):.1%}",
            f"{own.fresh:.1f}" if own.rows else "",
        ]
        for name, own in found.runs.items()
    ]
    columns = ["looked at first", "results", "of the exact ones", "Hist-MSE", "rare", "seconds"]
    about = (
        f"Two simulated stores over {sizes.hours:g} hours, joined by item within {sizes.window} "
        f"seconds; {found.sold.selectivity:.1%} of all pairs of rows are of one item. In each "
        f"micro-batch of {sizes.batch} seconds there are units for {SHARE:.0%} of the exact work, "
        "on average. *Hist-MSE* compares the shares of items in the output with the exact ones, "
        f"in {INTERVALS} intervals; *rare* is the share of results among the {RARE:.0%} of items "
        "that are sold least; *seconds* lie between the rows of a result. Everything is counted, "
        "and the same in every run."
    )
    arrival = found.runs["arrival order"]
    targets = [
        Target(
            "results of desc / arrival order",
            found.runs["desc"].rows / max(1, arrival.rows),
            at_least=2,
        ),
        Target(
            "Hist-MSE of weighted / arrival order",
            found.hist_mse("weighted") / found.hist_mse("arrival order"),
            at_most=0.5,
        ),
        Target("rare results of asc", found.outliers("asc"), at_least=0.9),
        Target(
            "seconds of desc, fading / desc",
            found.runs["desc, fading"].fresh / found.runs["desc"].fresh,
            at_most=1,
        ),
        Target(
            "gate with enough units / no gate, processor time",
            found.runs["enough"].seconds / found.exact.seconds,
            at_most=1.15,
        ),
    ]
    frame = pd.DataFrame(
        [(name, own.rows / found.exact.rows) for name, own in found.runs.items()],
        columns=["first", "share"],
    )
    chart = (
        alt.Chart(frame[frame["first"] != "enough"])
        .mark_bar()
        .encode(
            x=alt.X("share", title="share of the exact results"),
            y=alt.Y("first", title="looked at first", sort=None),
        )
        .properties(width=420, height=200)
    )
    title = "A join under a tenth of the exact work"
    return Report("promising", title, about, [Table(columns, rows)], targets, chart)
