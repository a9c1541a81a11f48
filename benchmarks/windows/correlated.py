"""The tables of the correlated-aggregates paper: RMSE of focused histograms [CA-20, CA-22]."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql import SparkSession

from benchmarks.measure import Report, Table, say
from muntin.aggregates.focused.question import HEURISTICS, STRATEGIES, Focus, Limit
from muntin.aggregates.focused.synopsis import FocusedKind

Floats = npt.NDArray[np.float64]
#: Rows of a sliding window, as in the paper.
WINDOW = 500
#: Answers are compared at every so many rows.
EVERY = 10
EQUI_WIDTH, EQUI_DEPTH = "equi-width", "equi-depth"
METHODS = (*STRATEGIES, EQUI_WIDTH, EQUI_DEPTH)
#: ``x < (1 + eps) * min(x)`` with the paper's eps for each kind of data.
EPSILON = {"ZIPF": 1000.0, "MULTIFRAC": 99.0}


@dataclass(frozen=True)
class Query:
    """A cell of the table: what is asked, of which rows."""

    data: str
    aggregate: str
    sliding: bool
    dependent: str = "count"
    buckets: int = 10

    @property
    def limit(self) -> Limit:
        if self.aggregate == "avg":
            return Limit(">", 1.0, 0.0)
        return Limit("<", 1.0 + EPSILON[self.data], 0.0)

    @property
    def label(self) -> str:
        scope = "sliding" if self.sliding else "landmark"
        return f"{scope} {self.aggregate.upper()}, {self.data}"

    def start(self, end: int) -> int:
        return max(0, end - WINDOW) if self.sliding else 0


def run(spark: SparkSession, quick: bool) -> Report:
    """Spark has no part in this: the synopses are fed as the operator feeds them."""
    rows = 2_000 if quick else 10_000
    data = {"ZIPF": zipf(rows), "MULTIFRAC": multifractal(rows)}
    errors: dict[Query, dict[str, float]] = {}
    for query in queries():
        errors[query] = {
            method: rmse(query, method, data[query.data])
            for method in METHODS
            if not (query.sliding and method in HEURISTICS)
        }
        best = min(STRATEGIES[:4], key=errors[query].__getitem__)
        say(f"{query.label}, {query.dependent}, {query.buckets} buckets: best is {best}")
    return report(rows, errors)


def queries() -> list[Query]:
    scopes = [(sliding, agg) for sliding in (False, True) for agg in ("min", "avg")]
    shapes = [("count", 10), ("count", 5), ("sum", 10)]
    return [
        Query(data, aggregate, sliding, dependent, buckets)
        for dependent, buckets in shapes
        for sliding, aggregate in scopes
        for data in EPSILON
    ]


def zipf(rows: int) -> Floats:
    """Ranks to the power of 7 in random order: the minimum falls through many magnitudes."""
    ranks = np.random.default_rng(7).permutation(rows) + 1
    return np.asarray((ranks / rows) ** 7.0)


def multifractal(rows: int, levels: int = 48) -> Floats:
    """A binomial cascade by the 80-20 law: at each level four of five points go to the left."""
    right = np.random.default_rng(20).random((rows, levels)) < 0.2
    return np.asarray(right @ 0.5 ** np.arange(1, levels + 1) + 0.5 ** (levels + 1))


def rmse(query: Query, method: str, x: Floats) -> float:
    ends = np.arange(EVERY, len(x) + 1, EVERY)
    if query.sliding:
        ends = ends[ends >= WINDOW]
    answers = estimates(query, method, x, ends)
    truth = np.array([exact(query, x[query.start(end) : end]) for end in ends.tolist()])
    return float(math.sqrt(np.mean((answers - truth) ** 2)))


def estimates(query: Query, method: str, x: Floats, ends: npt.NDArray[np.int64]) -> Floats:
    if method in STRATEGIES:
        focus = Focus(query.dependent, query.aggregate, (query.limit,), query.buckets, method)
        kind = FocusedKind(focus, WINDOW if query.sliding else None)
        starts = np.array([query.start(end) for end in ends.tolist()])
        weights = np.ones(len(x)) if query.dependent == "count" else x
        (found,) = kind.new().run(np.arange(len(x)), [x, weights], starts, ends)
        return np.nan_to_num(found)
    edges = BASELINES[method]
    windows = (x[query.start(end) : end] for end in ends.tolist())
    return np.array([from_buckets(query, w, edges(w, query.buckets)) for w in windows])


def independent(query: Query, x: Floats) -> float:
    return float(x.min() if query.aggregate == "min" else x.mean())


def exact(query: Query, x: Floats) -> float:
    point = query.limit.at(independent(query, x))
    kept = x[x < point] if query.limit.upper else x[x > point]
    return float(len(kept) if query.dependent == "count" else kept.sum())


def equi_width(x: Floats, buckets: int) -> Floats:
    return np.linspace(x.min(), x.max(), buckets + 1)


def equi_depth(x: Floats, buckets: int) -> Floats:
    return np.quantile(x, np.linspace(0, 1, buckets + 1))


BASELINES: Mapping[str, Callable[[Floats, int], Floats]] = {
    EQUI_WIDTH: equi_width,
    EQUI_DEPTH: equi_depth,
}


def from_buckets(query: Query, x: Floats, edges: Floats) -> float:
    """From a histogram made of all rows just now, with the exact independent aggregate.

    No stream could have it: the paper gives its competitors the same advantage.
    """
    weights = None if query.dependent == "count" else x
    found, _ = np.histogram(x, np.maximum.accumulate(edges), weights=weights)
    below = np.concatenate([[0.0], np.cumsum(found)])
    point = query.limit.at(independent(query, x))
    under = float(np.interp(point, edges, below))
    return under if query.limit.upper else float(below[-1]) - under


def report(rows: int, errors: Mapping[Query, Mapping[str, float]]) -> Report:
    about = (
        f"Root mean square error against the exact answer, compared at every {EVERY}th of "
        f"{rows:,} rows in random order. ZIPF: ranks to the power of 7; MULTIFRAC: a binomial "
        "cascade by the 80-20 law. MIN asks for `x < (1 + eps) * min(x)` with eps 1000 for ZIPF "
        "and 99 for MULTIFRAC, AVG for `x > avg(x)`. Landmark windows go back to the first row, "
        f"sliding ones hold {WINDOW} rows. *Equi-width* and *equi-depth* have as many buckets, "
        "made anew from all rows of the window at every step, which no stream can do. Sliding "
        "windows of the four strategies are made of ten parts with so many buckets each; the "
        "heuristics (*lower*, *upper*) do not slide."
    )
    shapes = [("count", 10), ("count", 5), ("sum", 10)]
    return Report(
        name="correlated",
        title="Correlated aggregates",
        about=about,
        tables=[table(errors, *shape) for shape in shapes],
        targets=[],
        chart=chart(errors),
    )


def table(errors: Mapping[Query, Mapping[str, float]], dependent: str, buckets: int) -> Table:
    asked = [q for q in errors if (q.dependent, q.buckets) == (dependent, buckets)]
    lines = [
        [query.label, *(shown(errors[query].get(method)) for method in METHODS)] for query in asked
    ]
    caption = f"RMSE of {dependent.upper()}, {buckets} buckets:"
    return Table(["window, data", *METHODS], lines, caption)


def shown(error: float | None) -> str:
    return "" if error is None else f"{error:.3g}"


def chart(errors: Mapping[Query, Mapping[str, float]]) -> alt.HConcatChart:
    """COUNT with 10 and with 5 buckets; far left is best."""
    return alt.hconcat(*(panel(errors, buckets) for buckets in (10, 5)), spacing=32)


def panel(errors: Mapping[Query, Mapping[str, float]], buckets: int) -> alt.Chart:
    points = pd.DataFrame(
        [
            {"query": query.label, "method": method, "rmse": max(error, 0.01)}
            for query, found in errors.items()
            if (query.dependent, query.buckets) == ("count", buckets)
            for method, error in found.items()
        ]
    )
    title = alt.Title(f"RMSE of COUNT, {buckets} buckets", subtitle="left is better; log scale")
    base = alt.Chart(points, width=330, height=300, title=title)
    colours = alt.Scale(
        domain=list(METHODS),
        range=[
            "#1f6fb4",
            "#7fb3e0",
            "#1b9e77",
            "#8fd3bd",
            "#999999",
            "#cccccc",
            "#f0a35e",
            "#d95f02",
        ],
    )
    marks: alt.Chart = base.mark_point(filled=True, size=90, opacity=0.9).encode(
        x=alt.X("rmse:Q", scale=alt.Scale(type="log"), title="RMSE (0.01 and less at the edge)"),
        y=alt.Y("query:N", title=None, sort=None),
        color=alt.Color("method:N", scale=colours, title=None),
        # The same domain, or there would be a legend for colours and one for shapes.
        shape=alt.Shape("method:N", scale=alt.Scale(domain=list(METHODS)), title=None),
    )
    return marks
