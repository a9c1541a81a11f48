"""The names that a query can see, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muntin.errors import ArgumentError
from muntin.spark.api.stream import Stream
from muntin.spark.run_sql import stored_table
from muntin.spark.types import DataFrame, SparkSession

Table = DataFrame | Stream


@dataclass(frozen=True, eq=False)
class Scope:
    """Streams and tables by their names; like Spark's, they do not look at case."""

    spark: SparkSession
    tables: Mapping[str, Table]

    @staticmethod
    def of(spark: SparkSession, tables: Mapping[str, object]) -> Scope:
        """Check what a user handed over by name."""
        found: dict[str, Table] = {}
        for name, table in tables.items():
            if not isinstance(table, Stream | DataFrame):
                expected = "it must be a Spark DataFrame or what mt.stream returns"
                raise ArgumentError(name, table, expected)
            found[name.casefold()] = table
        return Scope(spark, found)

    def having(self, name: str, table: Table) -> Scope:
        """The same with one name more, which hides another of that name."""
        return Scope(self.spark, {**self.tables, name.casefold(): table})

    def find(self, name: str) -> Table | None:
        """What a name stands for here; Spark's own tables come last."""
        found = self.tables.get(name.casefold())
        return stored_table(self.spark, name) if found is None else found

    def own(self, name: str) -> Table | None:
        """What a name stands for, without asking Spark."""
        return self.tables.get(name.casefold())


def rows_of(table: Table) -> DataFrame:
    """The rows of a stream or a table."""
    return table.df if isinstance(table, Stream) else table
