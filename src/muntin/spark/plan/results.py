"""From the columns that an operator reports to results and refused rows, under the user's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from muntin.aggregates.parse import numbered, placeholder
from muntin.errors import ArgumentError, Mention
from muntin.spark.columns import named
from muntin.spark.exchange.stream_driver import RESULTS, refused_tag, untagged

#: The columns that refused rows have besides their own.
_SAID = ("reason", "lateness")


@dataclass(frozen=True)
class RefusedColumns:
    """The columns of the refused rows of each input; a plain value that is sent to sinks.

    The refused rows of one input have its own columns. Those of several inputs are in one
    DataFrame, whose column ``input`` has the name of the input. A column that an input does not
    have is null.
    """

    names: tuple[str, ...]
    schemas: tuple[StructType, ...]

    def together(self, rows: Sequence[DataFrame]) -> DataFrame:
        """Return the refused rows of all inputs as one DataFrame."""
        if len(rows) == 1:
            return rows[0]
        frames = [
            df.select(F.lit(name).alias("input"), *self._columns(schema))
            for name, schema, df in zip(self.names, self.schemas, rows, strict=True)
        ]
        return reduce(DataFrame.unionByName, frames)

    def _columns(self, schema: StructType) -> list[Column]:
        return [
            (named(column.name) if column.name in schema.names else F.lit(None))
            .cast(column.dataType)
            .alias(column.name)
            for column in self._fields
        ]

    @property
    def _fields(self) -> list[StructField]:
        """Every column once; as text if two inputs have it with different types."""
        by_name: dict[str, StructField] = {}
        for schema in self.schemas:
            for column in schema.fields:
                known = by_name.setdefault(column.name, StructField(column.name, column.dataType))
                if known.dataType != column.dataType:
                    by_name[column.name] = StructField(column.name, StringType())
        about_refusal = [by_name.pop(name) for name in _SAID]
        return [*by_name.values(), *about_refusal]


#: A folder for Parquet, or a function that is called with rows and their micro-batch's number.
Sink = str | Path | Callable[[DataFrame, int], None]


class Finisher(Protocol):
    """Turns the rows that the operator reports into results."""

    def check(self) -> None:
        """Raise if two result columns would have the same name."""

    def apply(self, flat: DataFrame) -> DataFrame:
        """Return the results under the names that the user knows."""

    @property
    def renamed(self) -> Sequence[tuple[str, str]] | None:
        """The operator's columns that are results, each with its name; None if more is done."""


@dataclass(frozen=True)
class ResultNames:
    """Names of results: a plain value, so that it can be sent to where a sink runs.

    ``results`` has for each column its name, the number of aggregates it is made of, and the SQL
    over them unless it is just one. ``shifts`` has the texts of the column ``shift``, if there is
    one. ``first`` names the columns that come first, unless keys and bounds do. ``instead`` has
    other names for some of Muntin's own columns. ``beside`` are columns that results may mention,
    each with the SQL that computes it from the operator's columns.
    """

    by: tuple[str, ...]
    bounds: tuple[str, ...]
    prefix: str
    results: tuple[tuple[str, int, str | None], ...]
    shifts: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    instead: tuple[tuple[str, str], ...] = ()
    beside: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def label_text(self) -> str:
        """The names as text in a plan's label, with the name that this class had at first."""
        return repr(self).replace("ResultNames", "Naming", 1)

    def check(self) -> None:
        """Raise if two result columns would have the same name."""
        ours = [self.prefix + name for name in self.bounds]
        taken = {*ours}
        for name in (*self.by, *(name for name, _, _ in self.results)):
            if name in ours:
                raise ArgumentError(
                    "prefix",
                    self.prefix,
                    f"column {name!r} would clash with Muntin's own; give ",
                    Mention("prefix", "mt_"),
                    " to rename Muntin's, or an alias to rename yours",
                )
            if name in taken:
                raise ArgumentError("agg", name, "two result columns have this name; add an alias")
            taken.add(name)

    @property
    def renamed(self) -> Sequence[tuple[str, str]] | None:
        """The operator's columns that are results; None if Spark computes some of them."""
        if self.shifts or any(outer is not None for _, _, outer in self.results):
            return None
        counts = accumulate((count for _, count, _ in self.results), initial=0)
        plain = zip(counts, self.results, strict=False)
        own = [*self._before.items(), *((f"r{n}", name) for n, (name, *_) in plain)]
        instead = dict(self.instead)
        columns = {instead.get(name, name): column for column, name in own}
        if len(columns) < len(own) or not set(self.first) <= set(columns):
            return None
        return [(columns[name], name) for name in dict.fromkeys([*self.first, *columns])]

    @property
    def _before(self) -> dict[str, str]:
        """The keys and the bounds, each with its name."""
        keys = {f"k{place}": name for place, name in enumerate(self.by)}
        return keys | {name: self.prefix + name for name in self.bounds}

    def apply(self, flat: DataFrame) -> DataFrame:
        """Rename the operator's columns; Spark evaluates the outer expressions."""
        if self.shifts:
            texts = F.array(*(F.lit(text) for text in self.shifts))
            flat = flat.withColumn("shift", F.get(texts, F.col("shifted").cast("int")))
        renamed = self._renamed(flat).withColumnsRenamed(dict(self.instead))
        if not self.first:
            return renamed
        rest = [name for name in renamed.columns if name not in self.first]
        return renamed.select(*(named(name) for name in (*self.first, *rest)))

    def _renamed(self, flat: DataFrame) -> DataFrame:
        """Return the keys, the bounds and the results."""
        before = self._before
        places = [0, *accumulate(count for _, count, _ in self.results)]
        beside = [F.col(own).alias(name) for own, name in before.items()]
        taken = {name.casefold() for name in before.values()}
        mentioned = [
            F.expr(sql).alias(self.prefix + name)
            for name, sql in self.beside
            if (self.prefix + name).casefold() not in taken
        ]
        if all(outer is None for _, _, outer in self.results):
            plain = zip(places, self.results, strict=False)
            return flat.select(*beside, *(F.col(f"r{n}").alias(name) for n, (name, *_) in plain))
        # Outer expressions know the aggregates by placeholders, and keys and bounds by their names.
        aggregates = [F.col(f"r{place}").alias(placeholder(place)) for place in range(places[-1])]
        results = [
            F.expr(placeholder(place) if outer is None else numbered(outer, place)).alias(name)
            for place, (name, _, outer) in zip(places, self.results, strict=False)
        ]
        known = flat.select(*beside, *mentioned, *aggregates)
        return known.select(*(named(name) for name in before.values()), *results)


@dataclass(frozen=True)
class RenamedColumns:
    """The operator's columns under the user's names and in their order, and no others."""

    columns: tuple[tuple[str, str], ...]

    @property
    def label_text(self) -> str:
        """The names as text in a plan's label, with the name that this class had at first."""
        return repr(self).replace("RenamedColumns", "Renaming", 1)

    def check(self) -> None:
        """Raise if two result columns would have the same name."""
        seen: set[str] = set()
        for _, name in self.columns:
            if name in seen:
                reason = f"column {name!r} would be there twice; give "
                raise ArgumentError("prefix", "", reason, Mention("prefix", "mt_"))
            seen.add(name)

    @property
    def renamed(self) -> Sequence[tuple[str, str]]:
        return self.columns

    def apply(self, flat: DataFrame) -> DataFrame:
        return flat.select(*(F.col(own).alias(name) for own, name in self.columns))


@dataclass(frozen=True)
class TaggedOutput:
    """Splits the output of a streaming query by tag; it is a plain value if its finisher is."""

    finisher: Finisher
    flat_schema: StructType
    refusing: RefusedColumns

    def results(self, tagged: DataFrame) -> DataFrame:
        """Return the result rows."""
        return self.finisher.apply(untagged(tagged, RESULTS, self.flat_schema))

    def refused(self, tagged: DataFrame) -> DataFrame:
        """Return the refused rows, with reason and lateness."""
        schemas = self.refusing.schemas
        rows = [untagged(tagged, refused_tag(n), schema) for n, schema in enumerate(schemas)]
        return self.refusing.together(rows)

    def split(self, tagged: DataFrame, number: int, results: Sink, refused: Sink | None) -> None:
        """Write a micro-batch to its sinks, in the driver or on the server of Spark Connect."""
        # Without this the stateful operator would run once for each sink.
        tagged.persist()
        try:
            put(self.results(tagged), results, number)
            if refused is not None:
                put(self.refused(tagged), refused, number)
        finally:
            tagged.unpersist()


def put(rows: DataFrame, sink: Sink, number: int) -> None:
    """Write the rows of a micro-batch to a sink."""
    if callable(sink):
        sink(rows, number)
    else:
        rows.write.mode("overwrite").parquet(f"{sink}/batch={number}")
