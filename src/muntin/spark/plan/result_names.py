"""From the operator's columns to the names and expressions that the user wrote."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.aggregates.parse import numbered, placeholder
from muntin.errors import ArgumentError
from muntin.spark.columns import named


@dataclass(frozen=True)
class ResultNames:
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
        told = self._told(flat).withColumnsRenamed(dict(self.instead))
        if not self.first:
            return told
        rest = [name for name in told.columns if name not in self.first]
        return told.select(*(named(name) for name in (*self.first, *rest)))

    def _told(self, flat: DataFrame) -> DataFrame:
        """The keys, the bounds and the results."""
        before = {f"k{place}": name for place, name in enumerate(self.by)}
        before |= {name: self.prefix + name for name in self.bounds}
        places = [0, *accumulate(count for _, count, _ in self.results)]
        beside = [F.col(own).alias(name) for own, name in before.items()]
        if all(outer is None for _, _, outer in self.results):
            plain = zip(places, self.results, strict=False)
            return flat.select(*beside, *(F.col(f"r{n}").alias(name) for n, (name, *_) in plain))
        # Outer expressions know the aggregates by placeholders, and keys and bounds by their names.
        aggregates = [F.col(f"r{place}").alias(placeholder(place)) for place in range(places[-1])]
        made = [
            F.expr(placeholder(place) if outer is None else numbered(outer, place)).alias(name)
            for place, (name, _, outer) in zip(places, self.results, strict=False)
        ]
        known = flat.select(*beside, *aggregates)
        return known.select(*(named(name) for name in before.values()), *made)


@dataclass(frozen=True)
class RenamedColumns:
    """The operator's columns under the user's names and in their order, and no others."""

    columns: tuple[tuple[str, str], ...]

    def apply(self, flat: DataFrame) -> DataFrame:
        return flat.select(*(F.col(own).alias(name) for own, name in self.columns))
