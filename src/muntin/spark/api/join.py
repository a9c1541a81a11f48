"""Two streams, joined or side by side: ``stream.join``, ``asof``, ``zipper`` and the like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from muntin.aggregates.functions import Aggregate
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.operators.fill.source import Function
from muntin.spark.api.lookup import Probed, probed
from muntin.spark.api.plan import PlannedResult
from muntin.spark.api.resample import Resampled, resampled, resampled_by, resampled_of
from muntin.spark.plan.inputs import StreamInput
from muntin.spark.plan.join import JoinPlan, JoinSpec
from muntin.spark.plan.second_input import Key, matching, other_source, same_kind
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.axis import PointLike
from muntin.specs.byte_sizes import size_in_bytes
from muntin.specs.join import Asof, Distance, Zipper
from muntin.specs.lengths import LengthLike
from muntin.specs.resample import Resampling
from muntin.specs.windows import column_names


class Joined(PlannedResult):
    """Two streams and how they are joined: the columns of the left side, then of the right."""


class StreamJoins(StreamInput):
    """The methods of a stream that take another one: joins, lookups and resampling."""

    def join(
        self,
        other: DataFrame | WorkerRows | StreamInput,
        within: LengthLike,
        *,
        on: str | None = None,
        key: Key = None,
        where: str | None = None,
        how: str = "inner",
        direction: str = "both",
        limit: object = None,
        prefix: str = "right_",
    ) -> Joined:
        """Join rows of this stream with rows of another that lie close to them (a distance join).

        A left and a right row match when their keys are equal and they are at most ``within``
        apart on ``on``, which may be time, a position or any ordered number. Pairs are reported
        as soon as both rows are there, rows without a partner when none can come any more.

        Args:
            other: What ``mt.stream`` returns; or a batch DataFrame or what ``mt.parquet`` returns,
                if this is a batch.
            within: How far apart: ``"30 minutes"``, or a number on a number column. Inclusive.
            on: The column that progresses there, unless it has the same name as here.
            key: The columns that match the keys here; ``()`` if keys do not matter.
            where: What else has to hold, over ``left.`` and ``right.`` columns:
                ``"left.price = right.price"``.
            how: ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"`` or ``"anti"``.
            direction: ``"both"``; ``"backward"`` for right rows at or before the left one,
                ``"forward"`` for those at or after it.
            limit: How much the stream may hold, such as ``"100 MB"``; every shard has its share.
                Beyond that the oldest rows are dropped: they match nothing any more, and are
                counted as ``evicted`` in the query's progress.
            prefix: Put before a right column whose name the left side has, too.
        """
        spec = Distance(within, direction, how)
        return joined(self, other, spec, on, key, prefix=prefix, where=where, limit=limit)

    def lookup(
        self,
        table: DataFrame | WorkerRows,
        key: Key = None,
        *,
        within: LengthLike | None = None,
        direction: str = "both",
        on: str | None = None,
        where: str | None = None,
        how: str = "left",
        refresh: object = None,
        prefix: str = "right_",
    ) -> Probed:
        """Look up every row in a stored table by its key (a join with a table).

        Rows are reported in the micro-batch in which they arrive, and nothing is held. A row with
        several matches is reported once for each.

        Args:
            table: A batch DataFrame.
            key: The columns that match the keys here, as for :meth:`join`.
            within: How far apart rows may be, as for :meth:`join`; any distance if not given.
            direction: As for :meth:`join`.
            on: The table's column that the distance is measured on, unless it has the same name.
            where: What else has to hold, over ``left.`` and ``right.`` columns.
            how: ``"left"`` for nulls where there is no match, ``"inner"``, or ``"semi"`` and
                ``"anti"`` for the stream's own columns of rows with a match, or without.
            refresh: Read the table again when it is older than this, such as ``"5 minutes"``. It is
                cached, and read again after a micro-batch that finds it too old, for all queries
                of the session that read it. Without this a running query sees the files that were
                there when it was made.
            prefix: Put before a column of the table whose name the stream has, too.
        """
        near = None if within is None else Distance(within, direction, "inner")
        return probed(self, table, on, key, near, where, how, prefix, refresh)

    def zipper(
        self,
        other: DataFrame | WorkerRows | StreamInput,
        every: LengthLike,
        *,
        origin: PointLike | None = None,
        on: str | None = None,
        key: Key = None,
        where: str | None = None,
        how: str = "full",
        limit: object = None,
        prefix: str = "right_",
    ) -> Joined:
        """Put two streams side by side, interval by interval.

        Rows of both that lie in the same interval of length ``every`` are paired, each with each;
        a row without a partner in its interval has nulls beside it.

        Args:
            other: As for :meth:`join`.
            every: How long an interval is, such as ``"1 second"``.
            origin: Where an interval begins, if not where windows do.
            on: As for :meth:`join`.
            key: As for :meth:`join`.
            where: As for :meth:`join`.
            how: ``"full"``, ``"inner"``, ``"left"`` or ``"right"``.
            limit: As for :meth:`join`.
            prefix: As for :meth:`join`.
        """
        spec = Zipper(every, origin, how)
        return joined(self, other, spec, on, key, prefix=prefix, where=where, limit=limit)

    def asof(
        self,
        other: DataFrame | WorkerRows | StreamInput,
        tolerance: LengthLike | None = None,
        *,
        direction: str = "backward",
        exact: bool = True,
        on: str | None = None,
        key: Key = None,
        tiebreak: str | Sequence[str] | None = None,
        prefix: str = "right_",
    ) -> Joined:
        """Join every row with the row of another stream that was valid at its time (an as-of join).

        Each row is reported once, with the nearest right row of its key, or nulls where there is
        none, as soon as that is certain.

        Args:
            other: As for :meth:`join`.
            tolerance: How far away the other row may be; any distance if not given.
            direction: ``"backward"`` for the last row at or before, ``"forward"`` for the next at
                or after, ``"nearest"`` for the nearer of them (the one before, if equally near).
            exact: Whether a row at the very same value counts.
            on: As for :meth:`join`.
            key: As for :meth:`join`.
            tiebreak: Of several right rows with equal ``on`` the one with the greatest of these
                columns counts; without them, one that depends only on their contents.
            prefix: As for :meth:`join`.
        """
        spec = Asof(tolerance, direction, exact)
        return joined(self, other, spec, on, key, prefix=prefix, tiebreak=tiebreak)

    def resample(
        self,
        every: LengthLike | None = None,
        how: str | Function | Sequence[str | Aggregate | SparkColumn] = "linear",
        *,
        at: DataFrame | WorkerRows | StreamInput | None = None,
        origin: PointLike | None = None,
        max_gap: LengthLike | None = None,
        columns: str | Sequence[str] | None = None,
        tiebreak: str | Sequence[str] | None = None,
        within: LengthLike | None = None,
        schema: str | StructType | None = None,
        prefix: str = "",
    ) -> Resampled:
        """Compute values at the instants of a grid, or at those of another stream.

        Results have the keys, ``on``, which is the instant, the values, and ``gap``: true where
        there are no rows to compute values from, which are null then. Instants on a grid lie
        between the first row of a key and its last. An instant is reported when the rows that it
        needs are certain; those of another stream once for each key and place.

        Args:
            every: How far apart instants are: ``"1 minute"``, or a number on a number column.
            how: ``"linear"`` puts numbers on the line between the rows before and after (as
                doubles; other columns are as in the row before), ``"previous"`` takes the last row
                at or before, ``"nearest"`` the nearer one (the earlier, if both are as near). Or
                aggregates of the rows ``within`` the instant, in a list: ``["avg(v) AS mean"]``.
                Or a function of an Arrow table, these rows in their order, that returns a mapping
                with a value for each column of ``schema``.
            at: Instead of ``every``: what ``mt.stream`` returns, or a batch DataFrame if this is
                one, with a column named as ``on`` here. Keys of equal names match.
            origin: Where the grid is anchored, if not where windows are.
            max_gap: A row further away makes no value; of ``"linear"``, two rows that are further
                apart make none between them.
            columns: The columns to compute; all of them if not given.
            tiebreak: Of several rows with equal ``on`` the one with the greatest of these columns
                counts; without them, one that depends only on their contents.
            within: How far from the instant, on both sides, a function or aggregates see rows.
            schema: What a function returns, as DDL text: ``"speed DOUBLE, n BIGINT"``.
            prefix: Put before ``gap``.
        """
        if (every is None) == (at is None):
            raise ArgumentError("every", every, "say every how often, or at which other stream's")
        if callable(how) or not isinstance(how, str):
            for name, value in {
                "max_gap": max_gap,
                "columns": columns,
                "tiebreak": tiebreak,
            }.items():
                if value is not None:
                    who = "a function sees" if callable(how) else "aggregates see"
                    raise ArgumentError(name, value, f"{who} whole rows, and all of them")
        if callable(how):
            return resampled_by(self, at, how, every, origin, within, schema, prefix)
        if isinstance(how, list | tuple):
            if schema is not None:
                raise ArgumentError("schema", schema, "aggregates know what they return")
            return resampled_of(self, at, how, every, origin, within, prefix)
        for name, unused in (("within", within), ("schema", schema)):
            if unused is not None:
                raise ArgumentError(name, unused, f"it is for a function; how={how!r} has none")
        spec = Resampling(every, how, origin, max_gap)
        chosen = None if columns is None else column_names("columns", columns)
        ties = column_names("tiebreak", tiebreak)
        return resampled(self, at, spec, chosen, ties, prefix)


def joined(
    own: StreamInput,
    other: Any,
    spec: JoinSpec,
    on: str | None,
    key: Key,
    *,
    prefix: str,
    where: object = None,
    limit: object = None,
    tiebreak: str | Sequence[str] | None = None,
) -> Joined:
    """Return a join of two streams; raise if they do not suit each other."""
    if other is None:
        raise ArgumentError("other", None, "it is a Spark DataFrame or what mt.stream returns")
    source, described = other_source(own, other, on)
    left, right = _keyed(own, source, key, described)
    same_kind(left, right)
    if not isinstance(prefix, str):
        raise ArgumentError("prefix", prefix, "it must be text such as 'right_'")
    if where is not None and not isinstance(where, str):
        raise ArgumentError(
            "where",
            where,
            "it is SQL text such as 'left.price = right.price'; with an inner join any other "
            "condition can follow as .df.where(...)",
        )
    parts = JoinPlan(
        spec, (left, right), prefix, where, size_in_bytes("limit", limit), _ties(tiebreak, right)
    )
    parts.check()
    return Joined(parts)


def _keyed(
    own: StreamInput, source: StreamInput, key: Key, described: tuple[str, ...] | None
) -> tuple[StreamInput, StreamInput]:
    """Return both sides by the keys that match; other keys of the left side are dropped."""
    by, matches = matching(own.by, own.df.schema, source, key, described)
    return replace(own, by=tuple(own.by[n] for n in matches)), replace(source, by=by)


def _ties(tiebreak: str | Sequence[str] | None, right: StreamInput) -> tuple[str, ...]:
    names = column_names("tiebreak", tiebreak)
    for name in names:
        if name not in right.df.columns:
            raise UnknownColumnError("tiebreak", name, right.df.columns)
    return names
