"""A stream that probes a stored table: ``stream.lookup(table)``.

Every row looks its matches up; nothing is held, and nothing waits. Spark is good at this join.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.aggregates.bind import parse_condition
from muntin.errors import ArgumentError, ExpressionError
from muntin.spark.api.refreshed_table import RefreshedTable
from muntin.spark.columns import condition, problem
from muntin.spark.plan.fill_from_table import plus
from muntin.spark.plan.inputs import Source
from muntin.spark.plan.second_input import Key, matching, other_source, shared_axis
from muntin.specs.join import Distance, checked, left_only
from muntin.specs.lengths import Duration, positive_length

#: What a row that probes can be reported with; a table's own rows are never reported alone.
HOWS = ("inner", "left", "semi", "anti")


@dataclass(frozen=True, eq=False)
class Probed:
    """A stream and the table that it probes. Nothing runs."""

    own: Source
    table: Source
    how: str
    near: Distance | None
    where: str | None
    prefix: str
    refresh: float | None

    @property
    def is_streaming(self) -> bool:
        return self.own.df.isStreaming

    @property
    def df(self) -> DataFrame:
        """The results: the columns of the stream, then those of the table."""
        left, right = self.own.df, self.table.df
        if self._refreshed is not None:
            left, right = self._refreshed.watched(left), self._refreshed.table.df
        sides = left.alias("left"), right.alias("right")
        joined = sides[0].join(sides[1], self._matches(), self.how)
        return joined.select(*self._told())

    @cached_property
    def _refreshed(self) -> RefreshedTable | None:
        """One for all the times that results are asked for."""
        return None if self.refresh is None else RefreshedTable(self.table.df, self.refresh)

    def _matches(self) -> SparkColumn:
        made = F.lit(True)
        for one, other in zip(self.own.by, self.table.by, strict=True):
            made = made & _of("left", one).eqNullSafe(_of("right", other))
        if self.near is not None:
            made = made & self._nearby(self.near)
        if self.where is not None:
            made = made & condition(parse_condition(self.where))
        return made

    def _nearby(self, near: Distance) -> SparkColumn:
        axis = shared_axis((self.own, self.table), near.lengths)
        ticks = axis.length("within", near.within)
        left, right = _of("left", self.own.on), _of("right", self.table.on)
        low = plus(left, -ticks if near.direction != "forward" else 0, axis)
        high = plus(left, ticks if near.direction != "backward" else 0, axis)
        return (right >= low) & (right <= high)

    def _told(self) -> list[SparkColumn]:
        own = self.own.df.columns
        told = [_of("left", name).alias(name) for name in own]
        if left_only(self.how):
            return told
        pairs = zip(self.own.by, self.table.by, strict=True)
        same = {one for one, other in pairs if one == other}
        taken = {*own}
        for name in self.table.df.columns:
            if name in same:
                continue
            label = self.prefix + name if name in own else name
            if label in taken:
                raise ArgumentError(
                    "prefix", self.prefix, f"a column {label!r} is there already; use another"
                )
            taken.add(label)
            told.append(_of("right", name).alias(label))
        return told

    def explain(self) -> None:
        """Print what is joined, and what a stream holds for it."""
        print(self.explanation)

    @property
    def explanation(self) -> str:
        """What ``explain`` prints."""
        pairs = zip(self.own.by, self.table.by, strict=True)
        keys = ", ".join(f"left.{one} = right.{other}" for one, other in pairs)
        near = "" if self.near is None else f" WITHIN {self.near.within}"
        fresh = "every micro-batch sees it as it was when the query was made"
        if self.refresh is not None:
            fresh = f"cached, and read again after {self.refresh:g} s"
        return "\n".join(
            [
                f"join        {self.how.upper()} JOIN{near}, the stream probes a table",
                f"on          {keys or 'keys do not matter'}",
                f"table       {fresh}",
                "state       none: nothing waits for a table",
            ]
        )


def probed(
    own: Source,
    other: Any,
    on: str | None,
    key: Key,
    near: Distance | None,
    where: object,
    how: str,
    prefix: str,
    refresh: object,
) -> Probed:
    """A stream and a table, found and checked."""
    if not hasattr(other, "isStreaming") or other.isStreaming:
        raise ArgumentError("table", other, "it is a batch DataFrame; streams have .join(...)")
    checked("how", how, HOWS)
    if near is None:
        table = Source(other, own.on, (), None, own.shards)
        described = None
    else:
        table, described = other_source(own, other, on)
    by, matches = matching(own.by, own.df.schema, table, key, described)
    left = Source(own.df, own.on, tuple(own.by[n] for n in matches), own.disorder, own.shards)
    right = Source(other, table.on, by, None, own.shards)
    if where is not None and not isinstance(where, str):
        raise ArgumentError("where", where, "it is SQL text such as 'left.price < right.limit'")
    made = Probed(left, right, how, near, where, prefix, _seconds(refresh, own.df))
    try:
        left.df.alias("left").join(right.df.alias("right"), made._matches(), how).schema  # noqa: B018
    except AnalysisException as error:
        raise ExpressionError(
            f"Spark cannot evaluate this: {problem(error)}", str(where)
        ) from error
    made._told()  # a name that is taken is said here
    return made


def _seconds(refresh: object, df: DataFrame) -> float | None:
    if refresh is None:
        return None
    length = positive_length("refresh", refresh)
    if not isinstance(length, Duration):
        raise ArgumentError("refresh", refresh, "it is a time, such as '5 minutes'")
    if not df.isStreaming:
        raise ArgumentError("refresh", refresh, "a batch reads the table once")
    return length.micros / 1e6


def _of(side: str, name: str) -> SparkColumn:
    return F.col(f"{side}.`{name.replace('`', '``')}`")
