"""A stream that probes a stored table: ``stream.lookup(table)``.

Spark joins every row with its matches. Nothing is held, and no row waits.

Spark fixes the files of a table when its DataFrame is made, so a running query never sees what is
added later. A cached table can be read again (``refresh=``): its files are listed again, or, where
it has none, its cached rows are dropped.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Thread
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.aggregates.bind import parse_condition
from muntin.errors import ArgumentError, ExpressionError
from muntin.spark.columns import column, condition, problem
from muntin.spark.described import Described
from muntin.spark.explain.explanation import Explanation
from muntin.spark.explain.state_profile import BATCH, PROBES, StateProfile
from muntin.spark.plan.fill_from_table import plus
from muntin.spark.plan.inputs import StreamInput
from muntin.spark.plan.second_input import Key, matching, other_source, shared_axis
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.join import Distance, checked, left_only
from muntin.specs.lengths import Duration, positive_length

#: The kinds of lookup; a table's own rows are never reported alone.
HOWS = ("inner", "left", "semi", "anti")
#: The least number of seconds between two looks at a table.
SHORTEST = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class Probed(Described):
    """A stream and the table that it probes. Nothing runs."""

    own: StreamInput
    table: StreamInput
    how: str
    near: Distance | None
    where: str | None
    prefix: str
    refresh: float | None

    @property
    def description(self) -> str:
        near = "" if self.near is None else f" {self.near}"
        return f"lookup ({self.how}){near} of a {self.own.description} in a table by key"

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
        return joined.select(*self._columns())

    @cached_property
    def _refreshed(self) -> RefreshedTable | None:
        """The table that is read again; one for every use of :attr:`df`."""
        return None if self.refresh is None else RefreshedTable(self.table.df, self.refresh)

    def check(self) -> None:
        """Raise if Spark cannot evaluate the condition, or two columns would have one name."""
        sides = self.own.df.alias("left"), self.table.df.alias("right")
        try:
            joined = sides[0].join(sides[1], self._matches(), self.how)
            joined.schema.fieldNames()  # Spark Connect analyses only here
        except AnalysisException as error:
            raise ExpressionError(
                f"Spark cannot evaluate this: {problem(error)}", str(self.where)
            ) from error
        self._columns()

    def _matches(self) -> SparkColumn:
        matches = F.lit(True)
        for own_key, table_key in zip(self.own.by, self.table.by, strict=True):
            matches = matches & _of("left", own_key).eqNullSafe(_of("right", table_key))
        if self.near is not None:
            matches = matches & self._nearby(self.near)
        if self.where is not None:
            matches = matches & column(condition(parse_condition(self.where)))
        return matches

    def _nearby(self, near: Distance) -> SparkColumn:
        axis = shared_axis((self.own, self.table), near.lengths)
        ticks = axis.length("within", near.within)
        left, right = _of("left", self.own.on), _of("right", self.table.on)
        low = plus(left, -ticks if near.direction != "forward" else 0, axis)
        high = plus(left, ticks if near.direction != "backward" else 0, axis)
        return (right >= low) & (right <= high)

    def _columns(self) -> list[SparkColumn]:
        own = self.own.df.columns
        columns = [_of("left", name).alias(name) for name in own]
        if left_only(self.how):
            return columns
        pairs = zip(self.own.by, self.table.by, strict=True)
        same = {own_key for own_key, table_key in pairs if own_key == table_key}
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
            columns.append(_of("right", name).alias(label))
        return columns

    def explain(self) -> None:
        """Print what is joined, and what a stream holds for it."""
        print(self.explanation)

    @property
    def state(self) -> StateProfile:
        """The state: nothing is kept."""
        return PROBES if self.is_streaming else BATCH

    @property
    def explanation(self) -> str:
        """What ``explain`` prints."""
        pairs = zip(self.own.by, self.table.by, strict=True)
        keys = ", ".join(f"left.{own_key} = right.{table_key}" for own_key, table_key in pairs)
        near = "" if self.near is None else f" WITHIN {self.near.within}"
        fresh = "every micro-batch sees it as it was when the query was made"
        if self.refresh is not None:
            fresh = f"cached, and read again after {self.refresh:g} s"
        lines = (
            ("join", f"{self.how.upper()} JOIN{near}, the stream probes a table"),
            ("on", keys or "keys do not matter"),
            ("table", fresh),
            ("state", str(PROBES)),
        )
        return str(Explanation(lines))


Lookup = Probed
"""Another name of :class:`Probed`."""


def probed(
    own: StreamInput,
    other: Any,
    on: str | None,
    key: Key,
    near: Distance | None,
    where: object,
    how: str,
    prefix: str,
    refresh: object,
) -> Probed:
    """Return a stream and the table that it probes; raise if they do not suit each other."""
    if not hasattr(other, "isStreaming") or other.isStreaming:
        raise ArgumentError("table", other, "it is a batch DataFrame; streams have .join(...)")
    other = other.df if isinstance(other, WorkerRows) else other  # Spark joins it
    checked("how", how, HOWS)
    if near is None:
        table, described = StreamInput(other, own.on, ()), None
    else:
        table, described = other_source(own, other, on)
    by, matches = matching(own.by, own.df.schema, table, key, described)
    left = replace(own, by=tuple(own.by[n] for n in matches))
    right = replace(table, by=by)
    if where is not None and not isinstance(where, str):
        raise ArgumentError("where", where, "it is SQL text such as 'left.price < right.limit'")
    lookup = Probed(left, right, how, near, where, prefix, _seconds(refresh, own.df))
    lookup.check()
    return lookup


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


@dataclass(frozen=True)
class CachedTable:
    """A cached table, and the folders that its files lie in."""

    df: DataFrame
    folders: tuple[str, ...]

    @classmethod
    def of(cls, df: DataFrame) -> CachedTable:
        folders = folders_of(df.inputFiles())  # Spark does not know them once it is cached
        return cls(df.cache(), folders)

    def refresh(self) -> None:
        """Let the next use of the table read it again."""
        for folder in self.folders:
            self.df.sparkSession.catalog.refreshByPath(folder)
        if not self.folders:
            self.df.unpersist()
            self.df.cache()


def folders_of(files: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of some files, above those that partitions make.

    >>> folders_of(["file:///t/day=1/a.parquet", "file:///t/day=2/b.parquet"])
    ('file:///t',)
    """
    folders = set()
    for file in files:
        folder = file.rpartition("/")[0]
        while "=" in folder.rpartition("/")[2]:
            folder = folder.rpartition("/")[0]
        folders.add(folder)
    return tuple(sorted(folders))


class RefreshedTable:
    """A table that is read again at an interval, while a query that reads it runs.

    Such a query is recognised by the name that it observes. A listener in Python would get every
    micro-batch of every query, which costs more than a small micro-batch; a thread that looks at an
    interval costs little. It ends with the session, because a query may be started again.
    """

    def __init__(self, df: DataFrame, seconds: float) -> None:
        self.table = CachedTable.of(df)
        self._seconds = max(seconds, SHORTEST)
        self._name = f"refreshed:{uuid.uuid4().hex}"
        Thread(target=self._look_often, name=self._name, daemon=True).start()

    def watched(self, streaming: DataFrame) -> DataFrame:
        """Return the same rows; the query that reads them keeps the table fresh."""
        return streaming.observe(self._name, F.count(F.lit(1)).alias("rows"))

    def _look_often(self) -> None:
        while True:
            time.sleep(self._seconds)
            try:
                is_read = self._is_read()
            except Exception:  # of Spark, py4j or the network: the session has ended
                return
            if is_read:
                # Files may be being written; the next look tries again.
                with suppress(PySparkException):
                    self.table.refresh()

    def _is_read(self) -> bool:
        """True if a running query that observes this table has run a micro-batch."""
        running = self.table.df.sparkSession.streams.active
        reports = (query.lastProgress for query in running)
        return any(self._name in report.observedMetrics for report in reports if report is not None)
