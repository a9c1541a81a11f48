"""From the operator's columns to the names and expressions that the user wrote."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.aggregates.text import placeholder
from muntin.semantics.errors import ArgumentError
from muntin.spark.expressions import named


@dataclass(frozen=True)
class Naming:
    """Names of results; a plain value, so that it can be sent to where a sink runs.

    ``results`` are the name of a column, how many aggregates it is made of, and the SQL over
    them unless it is just one. ``shifts`` are the texts of the column ``shift``, if there is one.
    ``first`` are the columns that come first, if not the keys and bounds do; ``instead`` are other
    names for some of Muntin's own.
    """

    by: tuple[str, ...]
    bounds: tuple[str, ...]
    prefix: str
    results: tuple[tuple[str, int, str | None], ...]
    shifts: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    instead: tuple[tuple[str, str], ...] = ()

    def check(self) -> None:
        """Refuse result columns that would have the same name."""
        ours = [self.prefix + name for name in self.bounds]
        taken = {*ours}
        for name in (*self.by, *(name for name, _, _ in self.results)):
            if name in ours:
                raise ArgumentError(
                    "prefix",
                    self.prefix,
                    f"column {name!r} would clash with Muntin's own; give prefix='mt_' to rename "
                    "Muntin's, or an alias to rename yours",
                )
            if name in taken:
                raise ArgumentError("agg", name, "two result columns have this name; add an alias")
            taken.add(name)

    def apply(self, flat: DataFrame) -> DataFrame:
        """The operator's columns under the user's names, outer expressions applied by Spark."""
        if self.shifts:
            texts = F.array(*(F.lit(text) for text in self.shifts))
            flat = flat.withColumn("shift", F.get(texts, F.col("shifted").cast("int")))
        keys = [F.col(f"k{place}").alias(name) for place, name in enumerate(self.by)]
        bounds = [F.col(name).alias(self.prefix + name) for name in self.bounds]
        made: list[Column] = []
        place = 0
        for name, count, outer in self.results:
            if outer is None:
                made.append(F.col(f"r{place}").alias(name))
            else:
                flat = self._evaluated(flat, outer, place, count)
                made.append(F.col(f"e{place}").alias(name))
            place += count
        told = flat.select(*keys, *bounds, *made).withColumnsRenamed(dict(self.instead))
        if not self.first:
            return told
        rest = [name for name in told.columns if name not in self.first]
        return told.select(*(named(name) for name in (*self.first, *rest)))

    def _evaluated(self, flat: DataFrame, outer: str, first: int, count: int) -> DataFrame:
        """The flat results with one more column: an expression over aggregates."""
        names = {f"r{first + place}": placeholder(place) for place in range(count)}
        names |= {f"k{place}": name for place, name in enumerate(self.by)}
        names |= {name: self.prefix + name for name in self.bounds}
        value = F.expr(outer).alias(f"e{first}")
        forth = [F.col(name).alias(names.get(name, name)) for name in flat.columns]
        back = [named(names.get(name, name)).alias(name) for name in flat.columns]
        return flat.select(*forth).select(*back, value)


@dataclass(frozen=True)
class Renaming:
    """The operator's columns under the user's names and in their order, and no others."""

    columns: tuple[tuple[str, str], ...]

    def apply(self, flat: DataFrame) -> DataFrame:
        return flat.select(*(F.col(own).alias(name) for own, name in self.columns))
