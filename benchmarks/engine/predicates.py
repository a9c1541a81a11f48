"""The predicates of many filter queries, evaluated together: Fjords' Figures 8 and 9 again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Report, Table, Target, medians, turns
from muntin.expressions.predicate_sets import PredicateSets
from muntin.expressions.row_expression import RowExpression, compile_row_expression

ROWS, QUICK_ROWS = 1_000_000, 100_000
QUERIES = (10, 100, 1_000, 5_000)
#: Each predicate alone takes so long that only the first numbers of queries are measured.
ALONE = (10, 100)
MATCHES = 2
COLUMNS = {"speed": pa.float64(), "station": pa.int32()}
STATIONS, FASTEST = 1_000, 100.0
ONE, TWO, EACH = "one column", "two columns", "each alone"


def run(quick: bool) -> Report:
    rows = table(QUICK_ROWS if quick else ROWS)
    contestants: dict[str, Callable[[], object]] = {}
    built: dict[str, float] = {}
    for queries in QUERIES:
        for way, texts in {ONE: ranges(queries), TWO: boxes(queries)}.items():
            predicates = [(number, compiled(text)) for number, text in enumerate(texts)]
            began = time.process_time()
            sets = PredicateSets.of(predicates)
            built[f"{way} {queries}"] = time.process_time() - began
            contestants[f"{way} {queries}"] = evaluated(sets, rows)
            check(sets, predicates[:: max(1, queries // 20)], rows.slice(0, 10_000))
            if way == ONE and queries in ALONE:
                contestants[f"{EACH} {queries}"] = one_by_one(predicates, rows)
    for contestant in contestants.values():
        contestant()  # compiles the kernels
    return report(rows.num_rows, medians(turns(contestants, clock=time.process_time)), built)


def table(rows: int) -> pa.Table:
    chance = np.random.default_rng(8)
    return pa.table(
        {
            "speed": chance.uniform(0, FASTEST, rows),
            "station": pa.array(chance.integers(0, STATIONS, rows), pa.int32()),
        }
    )


def ranges(queries: int) -> list[str]:
    """Ranges of the speed, each for the same share of the rows."""
    width = FASTEST * MATCHES / queries
    lows = np.random.default_rng(queries).uniform(0, FASTEST - width, queries)
    return [f"speed >= {low:.6f} AND speed < {low + width:.6f}" for low in lows]


def boxes(queries: int) -> list[str]:
    """Ranges of the speed and of the station, together for the same share of the rows."""
    chance = np.random.default_rng(queries)
    side = float(np.sqrt(MATCHES / queries))
    lows = chance.uniform(0, FASTEST * (1 - side), queries)
    firsts = chance.uniform(0, STATIONS * (1 - side), queries).astype(int)
    return [
        f"speed >= {low:.6f} AND speed < {low + FASTEST * side:.6f} "
        f"AND station BETWEEN {first} AND {first + round(STATIONS * side) - 1}"
        for low, first in zip(lows, firsts, strict=True)
    ]


def compiled(text: str) -> RowExpression:
    return compile_row_expression(text, COLUMNS, zone="UTC", errors="null")


def evaluated(sets: PredicateSets, rows: pa.Table) -> Callable[[], object]:
    return lambda: sets.evaluate(rows)


def one_by_one(
    predicates: Sequence[tuple[int, RowExpression]], rows: pa.Table
) -> Callable[[], object]:
    return lambda: [predicate.evaluate(rows) for _, predicate in predicates]


def check(sets: PredicateSets, some: Sequence[tuple[int, RowExpression]], rows: pa.Table) -> None:
    """A race between different answers would mean nothing: some queries get the same rows alone."""
    at, offsets, members = sets.evaluate(rows).rows_of()
    row_of = np.repeat(at, np.diff(offsets))
    for member, predicate in some:
        holds = predicate.evaluate(rows).fill_null(False).to_numpy(zero_copy_only=False)
        assert np.array_equal(row_of[members == member], np.flatnonzero(holds))


def report(rows: int, taken: Mapping[str, float], built: Mapping[str, float]) -> Report:
    about = (
        f"{rows:,} rows and 10 to {QUERIES[-1]:,} predicates, such as `speed >= 12.5 AND speed < "
        f"12.9`, of which a row satisfies {MATCHES} on average; for two columns `AND station "
        "BETWEEN 20 AND 39` is added, and the ranges are wider. One core, processor time of the "
        "evaluation alone, from an Arrow table to the set of every row, medians of three; Spark is "
        "not in it. *Each alone* evaluates every predicate for all rows, as Fjords' queries with a "
        f"Fjord each do, and is measured for up to {ALONE[-1]} predicates. The first table is "
        "Fjords' Figure 8 (total time, and time for each query), the second its Figure 9 (rows a "
        "second, in all and times the queries). Reading 5,000 compiled predicates takes "
        f"{built[f'{ONE} {QUERIES[-1]}']:.2f} s, once for each version of the queries."
    )
    most, least = QUERIES[-1], QUERIES[0]
    checks = most * rows / taken[f"{ONE} {most}"] / 1e6
    return Report(
        name="predicates",
        title="Predicates of many queries together",
        about=about,
        tables=[figure8(taken), figure9(rows, taken)],
        targets=[
            Target(
                f"a row of {most:,} predicates over one of {least}, one column",
                taken[f"{ONE} {most}"] / taken[f"{ONE} {least}"],
                at_most=3,
            ),
            Target(f"million checks a second, {most:,} predicates", checks, at_least=100),
        ],
        chart=drawn(rows, taken),
    )


def figure8(taken: Mapping[str, float]) -> Table:
    def cell(way: str, queries: int, unit: float) -> str:
        seconds = taken.get(f"{way} {queries}")
        return "" if seconds is None else f"{seconds * unit:.3f}"

    ways = (EACH, ONE, TWO)
    head = [*(f"{way}, s" for way in ways), *(f"{way}, ms a query" for way in ways)]
    cells = [
        [
            f"{queries:,}",
            *(cell(way, queries, 1) for way in ways),
            *(cell(way, queries, 1e3 / queries) for way in ways),
        ]
        for queries in QUERIES
    ]
    return Table(["queries", *head], cells)


def figure9(rows: int, taken: Mapping[str, float]) -> Table:
    ways = (ONE, TWO)
    head = [
        *(f"{way}, ns a row" for way in ways),
        *(f"{way}, million rows a second" for way in ways),
        *(f"{way}, million checks a second" for way in ways),
    ]
    cells = []
    for queries in QUERIES:
        seconds = [taken[f"{way} {queries}"] for way in ways]
        cells.append(
            [
                f"{queries:,}",
                *(f"{spent / rows * 1e9:.0f}" for spent in seconds),
                *(f"{rows / spent / 1e6:.1f}" for spent in seconds),
                *(f"{queries * rows / spent / 1e6:,.0f}" for spent in seconds),
            ]
        )
    return Table(["queries", *head], cells)


def drawn(rows: int, taken: Mapping[str, float]) -> alt.TopLevelMixin:
    points = []
    for name, seconds in taken.items():
        way, _, queries = name.rpartition(" ")
        points.append({"way": way, "queries": int(queries), "rate": rows / seconds})
    scale = alt.Scale(type="log")
    title = "Rows a second by the number of queries"
    chart: alt.TopLevelMixin = (
        alt.Chart(pd.DataFrame(points), width=560, height=240, title=title)
        .mark_line(point=True)
        .encode(
            x=alt.X("queries:Q", title="queries", scale=scale),
            y=alt.Y("rate:Q", title="rows a second", scale=scale),
            color=alt.Color("way:N", title=None),
        )
    )
    return chart
