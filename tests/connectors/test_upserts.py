"""Rows that replace others in a table of PostgreSQL: what a sink with a key does, without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muntin.errors import ArgumentError
from muntin.spark.connectors.sinks.postgres import move
from muntin.spark.connectors.sources.postgres import Transaction
from tests.servers.database import Database, database

psycopg = pytest.importorskip("psycopg")
COLUMNS = ("k", "e", "s", "change")
TABLE = "(k TEXT, e INT, s INT, change TEXT)"


@pytest.fixture
def postgres() -> Iterator[Database]:
    with database() as running:
        yield running


@pytest.mark.timeout(300)
def test_changes_replace_and_delete_the_row_with_their_key(postgres: Database) -> None:
    place = {"user": postgres.user, "password": postgres.password}
    with psycopg.connect(postgres.url, autocommit=True, **place) as connection:
        transaction = Transaction(connection)
        transaction.run(f"CREATE TABLE sums {TABLE}")
        transaction.run(f"CREATE TABLE stage {TABLE}")

        def put(*rows: tuple[object, ...], key: tuple[str, ...] = ("k", "e")) -> list[str]:
            transaction.run("DELETE FROM stage")
            for row in rows:
                transaction.run("INSERT INTO stage VALUES (%s, %s, %s, %s)", list(row))
            move(transaction, '"sums"', '"stage"', key, COLUMNS)
            return postgres.ask("SELECT k, e, s FROM sums ORDER BY k, e, s")

        assert put(("a", 5, 1, "+"), (None, 5, 2, "+")) == ["a|5|1", "|5|2"]
        assert put(("a", 5, 4, "u"), (None, 5, 3, "u"), ("a", 10, 7, "+")) == [
            *("a|5|4", "a|10|7", "|5|3"),
        ]
        assert put(("a", 10, 7, "-")) == ["a|5|4", "|5|3"]
        with pytest.raises(ArgumentError, match="the columns are k, e, s, change"):
            put(("a", 5, 1, "u"), key=("station",))
        # Without a key they are appended, as they come.
        assert put(("a", 5, 9, "u"), key=()) == ["a|5|4", "a|5|9", "|5|3"]
