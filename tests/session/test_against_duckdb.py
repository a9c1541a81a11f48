"""Random queries answer as DuckDB does; many are one query of Spark."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import muntin as mt
from tests.session.random_queries import (
    COLUMNS,
    SCHEMA,
    RandomQuery,
    Row,
    framed,
    joined,
    rows,
    sequenced,
    windowed,
)
from tests.thorough import share

#: Queries of an example, which Spark answers as one.
MANY = 10

TYPES = "k VARCHAR, x INT, v INT, w DOUBLE, d TIMESTAMP"
Answer = list[tuple[str | None, ...]]


def by_duckdb(queries: list[RandomQuery], tables: dict[str, list[Row]]) -> list[Answer]:
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.execute(f"CREATE TABLE {name} ({TYPES})")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?)", table)
        return [_sorted(database.execute(query.duckdb).fetchall()) for query in queries]


def by_muntin(
    spark: SparkSession, queries: list[RandomQuery], tables: dict[str, list[Row]]
) -> list[Answer]:
    numbered = [
        query.muntin.replace("SELECT ", f"SELECT {place} AS place, ", 1)
        for place, query in enumerate(queries)
    ]
    given_tables = {name: spark.createDataFrame(table, SCHEMA) for name, table in tables.items()}
    found = mt.sql(" UNION ALL ".join(numbered), **given_tables).collect()
    assert all(len(row) == COLUMNS + 1 for row in found)
    return [_sorted([tuple(row)[1:] for row in found if row[0] == n]) for n in range(len(queries))]


def _sorted(answer: Answer) -> Answer:
    return sorted(answer, key=repr)


@pytest.mark.parametrize(
    "queries",
    [windowed(), framed(), sequenced(), joined()],
    ids=["windows", "frames", "rows", "joins"],
)
def test_random_queries_answer_as_duckdb_does(
    spark: SparkSession, queries: st.SearchStrategy[RandomQuery]
) -> None:
    @settings(
        max_examples=share(16),
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.lists(queries, min_size=MANY, max_size=MANY), rows)
    def compare(several: list[RandomQuery], table: list[Row]) -> None:
        unique = list({(row[0], row[1]): row for row in table}.values())
        tables = {"t": table, "u": unique}
        expected = by_duckdb(several, tables)
        for query, found, wanted in zip(
            several, by_muntin(spark, several, tables), expected, strict=True
        ):
            assert found == wanted, f"{query.muntin}\n{query.duckdb}\n{table}"

    compare()
