"""Asking a query: PSoup's table 2 and its experiments 1, 3 and 4 with the engine's three ways.

PSoup answers a question from stored rows (NoMat), from matches to which the window is applied when
somebody asks (PSoup-P), or from results that are kept up to date (PSoup-C). Lazy, partial and eager
queries are these three here. Rows are as in the paper: columns of uniform integers from 0 to 255,
and predicates that are intervals of them. [PSoup 5]
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

import muntin as mt
from benchmarks.measure import Report, Table, Target, say
from muntin.engine.plan_query import plan_query
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkStream

WAYS = ("lazy", "partial", "eager")
#: The figures of table 2 of the paper, in milliseconds, for 1, 2 and 4 interval predicates.
TABLE_2 = {
    "lazy": (0.3940, 0.4905, 0.8255),
    "partial": (0.0465, 0.0240, 0.0130),
    "eager": (0.0565, 0.0210, 0.0035),
}
PREDICATES = (1, 2, 4)
COLUMNS = "abcd"
#: Every predicate column has values below this.
_VALUES = 256
_SEED = 2026


@dataclass(frozen=True)
class Sizes:
    """Windows in rows, questions each, filters of experiment 3, and rows for experiments 3 and 4.

    ``singly`` is how many of the rows are routed one by one.
    """

    windows: Sequence[int]
    asks: int
    filters: Sequence[int]
    rows: int
    singly: int


FULL = Sizes((2**7, 2**10, 2**13, 2**15), 15, (2**4, 2**7, 2**10), 100_000, 200)
QUICK = Sizes((2**7,), 2, (2**2, 2**5), 5_000, 20)


def interval(column: str, draw: random.Random) -> str:
    """Return an interval predicate: two inequalities, as wide as a uniform number says."""
    low, width = draw.randrange(_VALUES), draw.randrange(_VALUES)
    return f"({column} >= {low} AND {column} <= {low + width})"


def window_query(window: int, predicates: int, draw: random.Random) -> str:
    where = " AND ".join(interval(column, draw) for column in COLUMNS[:predicates])
    return (
        f"SELECT window_end, count(*) AS c, sum(a) AS s FROM s [RANGE {window} SLIDE {window}] "
        f"WHERE {where}"
    )


def run(spark: SparkSession, quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    asked, batch = asking(spark, sizes)
    together, alone, rates = routing(spark, sizes)
    return report(sizes, asked, batch, together, alone, rates)


def asking(spark: SparkSession, sizes: Sizes) -> tuple[Mapping[tuple[int, int, str], float], float]:
    """Return the seconds of a question by window, predicates and way, and of a micro-batch."""
    draw = random.Random(_SEED)
    asked = {}
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        with mt.Engine(spark, folder / "home") as engine:
            rows = spark.readStream.schema("n INT, a INT, b INT, c INT, d INT")
            keep = 2 * max(sizes.windows)
            source = rows.json(str(folder / "rows"))
            stream = engine.stream("s", source, "n", disorder=mt.ordered(), keep=keep)
            handles = {}
            for window in sizes.windows:
                for predicates in PREDICATES:
                    text = window_query(window, predicates, draw)
                    for way in WAYS:
                        query = f"{way} {window} {predicates}"
                        handles[window, predicates, way] = engine.register(query, text, answer=way)
            engine.start()
            for part in range(4):
                put(folder / "rows", part * keep // 4, keep // 4 + (part == 3))
                engine.process_available()
            for key, handle in handles.items():
                asked[key] = median(seconds(handle.invoke, sizes.asks))
                say(f"{handle.name}: {asked[key] * 1000:.1f} ms")
            assert stream.query is not None
            reports = stream.query.recentProgress
            batch = median(report.durationMs["triggerExecution"] for report in reports) / 1000
    return asked, batch


def seconds(question: object, asks: int) -> Iterator[float]:
    assert callable(question)
    for _ in range(asks):
        begun = time.perf_counter()
        question()
        yield time.perf_counter() - begun


def put(folder: Path, first: int, count: int) -> None:
    """Write rows as a file that the stream finds whole."""
    draw = np.random.default_rng(first)
    values = {column: draw.integers(0, _VALUES, count).tolist() for column in COLUMNS}
    lines = [
        json.dumps({"n": first + place, **{c: values[c][place] for c in COLUMNS}})
        for place in range(count)
    ]
    unfinished = folder / f".{first}"
    unfinished.write_text("\n".join(lines))
    unfinished.rename(folder / f"{first:08d}.json")


def routing(
    spark: SparkSession, sizes: Sizes
) -> tuple[Mapping[int, float], Mapping[int, float], tuple[float, float]]:
    """Return rows a second by number of filters, together and each alone; and by whole batches.

    Without Spark: only what a task does with the rows that it has read.
    """
    draw = random.Random(_SEED)
    df = spark.createDataFrame([], "n INT, a INT, b INT, c INT, d INT")
    stream = NetworkStream(mt.stream(df, "n", disorder=mt.ordered()), tuple(df.columns))
    planning = {"s": (stream.planning, stream.axis)}
    rule, schema = from_json(stream.rule), carried_schema(stream.planning)
    programs = [
        plan_query(f"SELECT n FROM s WHERE {interval('a', draw)}", planning).program.numbered(n)
        for n in range(1, max(sizes.filters) + 1)
    ]
    numbers = np.random.default_rng(_SEED)
    columns = {column: numbers.integers(0, _VALUES, sizes.rows) for column in COLUMNS}
    rows = pa.table({"n": np.arange(sizes.rows), **columns}).cast(schema)

    def speed(chosen: Sequence[QueryProgram], parts: Sequence[pa.Table]) -> float:
        network = QueryNetwork(rule, tuple(chosen))
        network.route(rows.slice(0, 1))  # which builds the index of predicates
        begun = time.perf_counter()
        for part in parts:
            network.route(part)
        total: int = sum(part.num_rows for part in parts)
        return total / (time.perf_counter() - begun)

    together = {count: speed(programs[:count], [rows]) for count in sizes.filters}
    one = median(speed([program], [rows]) for program in programs[:5])
    alone = {count: one / count for count in sizes.filters}
    most = programs[: max(sizes.filters)]
    singly = [rows.slice(place, 1) for place in range(sizes.singly)]
    return together, alone, (speed(most, [rows]), speed(most, singly))


def report(
    sizes: Sizes,
    asked: Mapping[tuple[int, int, str], float],
    batch: float,
    together: Mapping[int, float],
    alone: Mapping[int, float],
    rates: tuple[float, float],
) -> Report:
    largest = max(sizes.windows)
    worst = {way: max(s for (*_, own), s in asked.items() if own == way) for way in WAYS}
    about = (
        "PSoup's table 2 and experiments 1, 3 and 4. A question to an eager query reads the log, "
        "one to a partial query runs micro-batches of an idle stream (one that pins it and one "
        f"that answers; the median micro-batch took {batch:.2f} s), one to a lazy query runs over "
        "kept rows. The paper's figures are of structures in the memory of one process."
    )
    second = Table(
        ["interval predicates", *(f"{way}, ms" for way in WAYS), *(f"paper, {w}" for w in WAYS)],
        [
            [
                str(count),
                *(f"{asked[largest, count, way] * 1000:.1f}" for way in WAYS),
                *(f"{TABLE_2[way][place]:.4f}" for way in WAYS),
            ]
            for place, count in enumerate(PREDICATES)
        ],
    )
    first = Table(
        ["window, rows", *(f"{way}, ms" for way in WAYS)],
        [
            [f"{window:,}", *(f"{asked[window, 1, way] * 1000:.1f}" for way in WAYS)]
            for window in sizes.windows
        ],
    )
    third = Table(
        ["queries", "together, rows/s", "each alone, rows/s"],
        [[f"{n:,}", f"{together[n]:,.0f}", f"{alone[n]:,.0f}"] for n in sizes.filters],
    )
    whole, single = rates
    fourth = Table(
        [f"{max(sizes.filters):,} queries", "rows/s"],
        [["all rows at once", f"{whole:,.0f}"], ["row by row", f"{single:,.0f}"]],
    )
    targets = [
        Target("seconds of an eager answer", worst["eager"], at_most=0.02),
        Target(
            "seconds of a partial answer beyond its micro-batches",
            max(0.0, worst["partial"] - 2 * batch),
            at_most=0.2,
        ),
        Target("seconds of a lazy answer", worst["lazy"], at_most=3),
    ]
    tables = [second, first, third, fourth]
    return Report("asking", "Asking a query", about, tables, targets, drawn(sizes, asked))


def drawn(sizes: Sizes, asked: Mapping[tuple[int, int, str], float]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"window": window, "ms": asked[window, 1, way] * 1000, "way": way}
            for window in sizes.windows
            for way in WAYS
        ]
    )
    chart = alt.Chart(points, width=560, height=240, title="Milliseconds of a question")
    line: alt.TopLevelMixin = chart.mark_line(point=True).encode(
        x=alt.X("window:Q", title="rows of the window", scale=alt.Scale(type="log")),
        y=alt.Y("ms:Q", title="ms", scale=alt.Scale(type="log")),
        color="way:N",
    )
    return line
