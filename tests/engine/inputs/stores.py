"""Queries over a stream with two inputs, sales and prices, and random rows of both."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
import pyarrow as pa
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.plan_query import plan_query
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.program import QueryProgram
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkInput, NetworkStream

SALES = "x INT, store STRING, amount DOUBLE"
PRICES = "y INT, shop STRING, price DOUBLE"
TEXTS = (
    "SELECT x, store, amount FROM sales WHERE amount > 20",
    "SELECT * FROM prices WHERE shop <> 'b'",
    "SELECT store, window_end, sum(amount) AS total, count(*) AS n "
    "FROM sales [RANGE 8 SLIDE 4] GROUP BY store",
    "SELECT store, window_end, max(amount) AS hi FROM sales [TUMBLING 4] GROUP BY store",
    "SELECT shop, window_end, min(price) AS lo FROM prices [RANGE 8 SLIDE 4] "
    "WHERE price < 40 GROUP BY shop",
    "SELECT window_end, count(*) AS n FROM prices [TUMBLING 6]",
    "SELECT x, store, amount, price FROM asof(sales, prices, tolerance => 6)",
    "SELECT x, y, amount, price FROM asof(sales, prices, direction => 'nearest', tolerance => 4)",
    "SELECT x, y, store, price FROM join(sales, prices, within => 3)",
    "SELECT x, y, price FROM join(sales, prices, within => 3, how => 'left')",
    "SELECT x, y, amount * price AS value FROM join(sales, prices, within => 4, how => 'full') "
    "WHERE x IS NULL OR amount > 5",
    "SELECT x, store FROM join(sales, prices, within => 2, how => 'anti')",
    "SELECT x, store FROM join(sales, prices, within => 2, how => 'semi')",
    "SELECT x, y FROM zipper(sales, prices, every => 5, how => 'left')",
    "SELECT x, y FROM join(sales, prices, within => 5, where => left.amount < right.price)",
    "SELECT store, frame_start, frame_end, count(f.price) AS n, avg(f.price) AS mean "
    "FROM sales [FRAME THRESHOLD amount < 25] FILL prices AS f",
    "SELECT store, frame_start, max(f.price) AS hi "
    "FROM sales [FRAME THRESHOLD amount < 25] FILL prices AS f BEFORE 3 AFTER 2",
    "SELECT store, frame_start, sum(f.amount) AS total "
    "FROM sales [FRAME THRESHOLD amount < 25] FILL sales AS f",
    "SELECT shop, window_end, count(f.amount) AS n FROM prices [TUMBLING 6] FILL sales AS f "
    "GROUP BY shop",
)


@dataclass(frozen=True)
class Stores:
    """Programs that were planned once, and the rules of both inputs."""

    rule: StreamRule
    schemas: tuple[pa.Schema, pa.Schema]
    programs: tuple[QueryProgram, ...]


def network_stream(spark: SparkSession) -> NetworkStream:
    sales = mt.stream(spark.createDataFrame([], SALES), "x", "store", mt.slack(4))
    prices = mt.stream(spark.createDataFrame([], PRICES), "y", "shop", mt.slack(2))
    others = (NetworkInput(prices, tuple(prices.df.columns), "prices", 1),)
    return NetworkStream(sales, tuple(sales.df.columns), name="sales", others=others)


def planned_stores(spark: SparkSession) -> Stores:
    """Plan the queries, and write them as JSON and read them again, as workers do."""
    stream = network_stream(spark)
    declared = {own.name: (own.planning, stream.axis) for own in stream.inputs}
    plans = [plan_query(text, declared) for text in TEXTS]
    written = tuple(from_json(to_json(plan.program)) for plan in plans)
    assert written == tuple(plan.program for plan in plans)
    assert not [plan.text for plan in plans if plan.finish is not None]
    sales, prices = (carried_schema(own.planning) for own in stream.inputs)
    return Stores(from_json(stream.rule), (sales, prices), written)


row = st.tuples(
    st.integers(-6, 6), st.sampled_from("ab"), st.sampled_from([None, 0.0, 5.5, 24.9, 25.0, 60.0])
)
rows_of_a_task = st.lists(row, max_size=6)


def table_of(schema: pa.Schema, rows: list[tuple], base: int) -> pa.Table:
    """Return rows around a place, out of order."""
    data = [
        dict(zip(schema.names, (base + offset, key, value), strict=True))
        for offset, key, value in rows
    ]
    return pa.Table.from_pylist(data, schema=schema)
