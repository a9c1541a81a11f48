"""``mt.stream``: a DataFrame described as a stream, and the windows over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from muntin.aggregates.bind import parse_condition
from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.parse import own_functions
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.expressions.spark_expressions import Expression
from muntin.spark.api.control import checked_control, checked_disorder
from muntin.spark.api.frames import Frames
from muntin.spark.api.join import StreamJoins
from muntin.spark.api.segments import Windowed
from muntin.spark.api.stream_columns import described_columns
from muntin.spark.columns import column, condition, progressing, text_of
from muntin.spark.plan.windows import AnySpec, WindowDetails
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.axis import PointLike
from muntin.specs.disorder import Disorder
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.own_function import (
    CompiledFraming,
    FramingFunction,
    OwnFraming,
    own_kind,
)
from muntin.specs.frames.schemes import Schedule, Scheme
from muntin.specs.lengths import LengthLike
from muntin.specs.row_windows import (
    Landmarks,
    Order,
    RowWindow,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.specs.windows import (
    Landmark,
    Latch,
    Unfinished,
    Window,
    column_name,
    column_names,
    unfinished_policy,
)

_NO_DETAILS = WindowDetails()


class Stream(StreamJoins):
    """A DataFrame, batch or streaming, with the roles of its columns. Nothing runs."""

    def window(
        self,
        range: LengthLike,
        slide: LengthLike,
        origin: PointLike | None = None,
        *,
        slide_on: str | None = None,
        group: str | Sequence[str] | None = None,
        unfinished: Unfinished = "keep",
        prefix: str = "",
    ) -> Windowed:
        """Make sliding windows ``[end - range, end)``, one every ``slide``.

        A slide that does not divide the range and a slide longer than the range both work.

        Args:
            range: How long a window is: ``"5 minutes"``, a number on a number column, or calendar
                units such as ``"3 calendar months"``, which begin at local midnight.
            slide: How far apart windows end.
            origin: Where windows are anchored; with one there are none before it.
            slide_on: The attribute along which the slide is measured, if that is not ``on``
                (SATTR): ``"row-num"`` (rows as they arrive), ``"rank"`` (rows by ``on``), or a
                column that never falls while ``on`` rises within a key. Then the last row before
                every edge, with ``on`` = v, ends a window ``(v - range, v]``. A row whose
                ``slide_on`` falls is refused.
            group: Columns that tell rows apart inside a window, only with ``slide_on``: a window
                then ends at a row of any group and has a result for each group in it. Other
                windows end at the same places for all keys: use ``by``.
            unfinished: What happens at the end of input to windows that end beyond the data:
                keep them, drop them, or flag them in a column ``complete``.
            prefix: Put before the names of Muntin's own result columns.
        """
        details = WindowDetails(group=self._groups(group))
        if slide_on is None:
            if group is not None:
                expected = "these windows end at the same places for all keys; give it as by="
                raise ArgumentError("group", group, expected)
            return self._windowed(Window(range, slide, self.on, origin), unfinished, prefix)
        if slide_on in ("row-num", "rank") and slide_on not in self.df.columns:
            if origin is not None:
                raise ArgumentError("origin", origin, f"windows along {slide_on} have none")
            order = "arrival" if slide_on == "row-num" else "on"
            spec = TupleWindow(range, self.on, slide, order)
            return self._windowed(spec, unfinished, prefix, details)
        self._known("slide_on", [column_name("slide_on", slide_on)])
        sliding = SlideOnWindow(range, slide, self.on, slide_on, origin)
        return self._windowed(sliding, unfinished, prefix, details)

    def tumbling(
        self,
        length: LengthLike,
        origin: PointLike | None = None,
        *,
        unfinished: Unfinished = "keep",
        prefix: str = "",
    ) -> Windowed:
        """Make windows one after the other: every row lies in exactly one.

        Args:
            length: How long a window is: ``"5 minutes"``, a number on a number column, or
                ``"1 calendar day"``, ``"1 calendar week"``, ``"1 calendar month"``.
            origin: Where windows are anchored; with one there are none before it.
            unfinished: What happens at the end of input to windows that end beyond the data.
            prefix: Put before the names of Muntin's own result columns.
        """
        return self._windowed(Window.tumbling(length, self.on, origin), unfinished, prefix)

    def landmark(
        self,
        slide: LengthLike | None = None,
        origin: PointLike | Sequence[PointLike] | None = None,
        *,
        start: str | SparkColumn | None = None,
        unfinished: Unfinished = "keep",
        prefix: str = "",
    ) -> Windowed:
        """Make windows that all start at a landmark, each ending one ``slide`` later.

        Args:
            slide: How far apart windows end. With several landmarks it may be left out: then
                there is one window from each landmark to the next.
            origin: The landmark, or a list of them in rising order. A row belongs to the latest
                landmark before it, and the windows of one landmark end where the next begins.
                ``"first"``: each key's landmark is its first row, by ``on``.
            start: Instead of an origin, a condition: a row for which it is true is the next
                landmark of its key. Rows before a key's first landmark are in no window.
            unfinished: What happens at the end of input to windows that end beyond the data.
            prefix: Put before the names of Muntin's own result columns.
        """
        first = isinstance(origin, str) and origin.strip().lower() == "first"
        if start is None and not first and not isinstance(origin, list | tuple):
            if slide is None:
                raise ArgumentError("slide", None, "with one landmark say how far windows grow")
            return self._windowed(Landmark(slide, self.on, origin), unfinished, prefix)
        if start is not None and origin is not None:
            raise ArgumentError("start", start, "landmarks are given or found: origin or start")
        origins = origin if isinstance(origin, list | tuple) else ()
        label = None if start is None else text_of(start)
        spec = Landmarks(self.on, slide, origins, label, first)
        given = None if start is None else self._condition("start", start)
        starts = None if given is None else column(given)
        details = WindowDetails(starts=starts, start_condition=given)
        return self._windowed(spec, unfinished, prefix, details)

    def latch(
        self,
        every: LengthLike,
        origin: PointLike | None = None,
        *,
        unfinished: Unfinished = "keep",
        prefix: str = "",
    ) -> Windowed:
        """Make tumbling windows that never forget: aggregates over all rows of a key so far.

        For every stretch of length ``every`` in which a key has rows there is a result, over all
        rows of the key up to the end of the stretch: the highest price that a share ever had, hour
        by hour. One row of accumulators is kept for each key; with an aggregate of your own
        (:class:`muntin.OwnAggregate`) that is a state of your own.

        Args:
            every: How long a stretch is: ``"1 hour"``, or a number on a number column.
            origin: Where stretches are anchored; with one, rows before it are refused.
            unfinished: What happens at the end of input to a stretch that ends beyond the data.
            prefix: Put before the names of Muntin's own result columns.
        """
        return self._windowed(Latch(every, self.on, origin), unfinished, prefix)

    def rows(
        self,
        range: int,
        slide: int = 1,
        *,
        group: str | Sequence[str] | None = None,
        within: LengthLike | None = None,
        order: Order = "on",
        tiebreak: str | Sequence[str] | None = None,
        min_rows: int = 1,
        unfinished: Unfinished = "keep",
        forget: LengthLike | None = None,
        prefix: str = "",
    ) -> Windowed:
        """Make windows of ``range`` rows, one every ``slide`` rows.

        Rows are ranked from 0 within ``by``. Window *w* holds the ranks from ``(w + 1) * slide -
        range`` (not below 0) to ``(w + 1) * slide``, which are reported as ``window_start`` and
        ``window_end``; ``on_start`` and ``on_end`` are the values of its first and last row.

        Args:
            range: How many rows a window holds.
            slide: How many rows apart windows end.
            group: Columns to group by inside a window. Ranks then count all rows of ``by``, of
                the whole stream where there is none: a window first takes its rows, and then
                groups them. Without a group each key has windows of its own.
            within: Keep only rows of a window whose ``on`` is above that of its last row less
                this length: the last ten, but none older than an hour.
            order: ``"on"`` ranks by ``on``, when punctuation has passed a row. ``"arrival"`` ranks
                by arrival, at once, and no row is late. On a cluster that is the order of
                micro-batches, inside one the order of the tasks that read it and of the rows in
                each task: for one ordered source the order of the source, else an order that is
                the same when a micro-batch is repeated and means nothing more.
            tiebreak: Columns that order rows with equal ``on``; rows that still tie are ordered
                by a hash of the whole row.
            min_rows: Leave out windows of fewer rows, such as the first ones of a key; rows of
                all groups count.
            unfinished: What happens at the end of input to windows that miss rows.
            forget: A gap of more than this between two rows of a key ends it as the end of input
                would, and its next row has rank 0. A stream keeps nothing of a key once
                punctuation is that far beyond its last row.
            prefix: Put before the names of Muntin's own result columns.
        """
        spec = RowWindow(range, slide, self.on, within, order, forget, min_rows)
        groups, ties = self._groups(group), column_names("tiebreak", tiebreak)
        self._known("tiebreak", ties)
        return self._windowed(spec, unfinished, prefix, WindowDetails(group=groups, tiebreak=ties))

    def by_tuple(
        self,
        range: LengthLike,
        every: int = 1,
        *,
        group: str | Sequence[str] | None = None,
        order: Order = "on",
        prefix: str = "",
    ) -> Windowed:
        """Make windows ``(v - range, v]`` that end at a row, for every row or every n-th.

        ``window_start`` is v - range, outside the window; ``window_end`` is v, inside. Rows with
        equal ``on`` share a window. ``every`` counts rows by ``on``, or as they arrive with
        ``order="arrival"`` (see :meth:`rows` for what arrival means). With ``group`` a window
        ends at a row of any group and has a result for each group in it, as :meth:`rows` does.
        """
        spec = TupleWindow(range, self.on, every, order)
        return self._windowed(spec, "keep", prefix, WindowDetails(group=self._groups(group)))

    def session(self, gap: LengthLike | SparkColumn, *, prefix: str = "") -> Windowed:
        """Make windows of rows that follow each other within a gap: ``[first, last + gap)``.

        ``gap`` is a length, or a PySpark column with a length for every row (an interval or a
        text such as ``'5 minutes'``, on number columns a number): a row then holds its session
        open that long. A row whose gap is null or not above zero is refused. The same windows as
        Spark's ``session_window``.
        """
        if not isinstance(gap, SparkColumn):
            return self._windowed(Session(self.on, gap), "keep", prefix)
        spec = Session(self.on, label=text_of(gap))
        return self._windowed(spec, "keep", prefix, WindowDetails(gap=gap))

    def frames(
        self,
        kind: FrameKind | OwnFraming,
        *,
        min_duration: LengthLike | None = None,
        max_duration: LengthLike | None = None,
        min_count: int | None = None,
        max_count: int | None = None,
        cut: bool = False,
        scheme: str | Scheme | None = None,
        longest: bool = False,
        fragments: LengthLike | None = None,
        missing: str = "break",
        bounds: str = "conservative",
        ties: str | Mapping[str, str] = "fail",
        tie_order: str | Sequence[str] | None = None,
        readings: str = "point",
        until: str | None = None,
        forget: LengthLike | None = None,
        prefix: str = "",
    ) -> Frames:
        """Find frames, windows that follow the data: stretches of rows that a ``kind`` defines.

        A frame is closed: ``frame_start`` and ``frame_end`` are the values of its first and last
        row. It is reported when punctuation makes it certain, and never changed afterwards.

        Args:
            kind: ``mt.threshold``, ``mt.boundary``, ``mt.delta``, ``mt.aggregate``, ``mt.trend``,
                ``mt.between``, ``mt.density``, ``mt.region``, or a framing function of your own
                (:class:`muntin.FramingFunction`, :class:`muntin.CompiledFraming`).
            min_duration: Drop frames that are shorter than this from first to last row.
            max_duration: Drop frames that are longer than this, or cut them with ``cut``.
            min_count: Drop frames of fewer rows; missing rows that they bridge count.
            max_count: Drop frames of more rows, or cut them with ``cut``.
            cut: Close a frame where it would become too long, and start the next.
            scheme: How frames of ``delta`` and ``aggregate`` lie to each other: ``"partition"``,
                ``"advancing"``, ``mt.adjacent("10 seconds")``, ``mt.cover("drained")``,
                ``mt.cover("saturated")`` or ``"unconstrained"``.
            longest: Report only the longest frame of each key, the first of equals: at the end of
                a batch, or of a stream that ``mt.end`` ends.
            fragments: Report an open frame as ``partial`` as soon as it is certain, and again
                whenever it has grown by this much.
            missing: What a missing row does. A row is missing if a schedule expected it or if its
                value is null: ``"break"`` ends a frame, ``"satisfy"`` belongs to it, ``"carry"``
                belongs to it if the next real row does; or a condition such as
                ``"prev.speed < 30 AND next.speed < 30"``.
            bounds: ``"conservative"`` from the first to the last row; ``"liberal"`` from the last
                row before it to the first row after it.
            ties: Two rows of a key with the same ``on`` end the query, unless this is ``"first"``
                or ``"last"`` (by ``tie_order``; the others are refused), or says how they become
                one row: ``"mean"``, ``"max"``, ``"min"``, ``"sum"``, or one of these for each
                column, as in ``{"speed": "mean", "volume": "sum"}``.
            tie_order: The columns by which rows that tie are ordered.
            readings: A row is a ``"point"``, holds ``"until_next"``, or over an ``"interval"`` that
                ends with its column ``until``.
            until: That column.
            forget: A gap of more than this between two rows of a key ends it as the end of input
                would, and its next frame has ``frame_id`` 0. A stream keeps nothing of a key once
                punctuation is that far beyond its last row.
            prefix: Put before the names of Muntin's own result columns.
        """
        framing = Framing(
            own_kind(kind) if isinstance(kind, FramingFunction | CompiledFraming) else kind,
            self.on,
            min_duration=min_duration,
            max_duration=max_duration,
            min_count=min_count,
            max_count=max_count,
            cut=cut,
            scheme=scheme,
            longest=longest,
            fragments=fragments,
            missing=missing,
            bounds=bounds,
            ties=ties,
            tie_order=tie_order,
            readings=readings,
            until=until,
            schedule=self.schedule,
            forget=forget,
        )
        if not isinstance(prefix, str):
            raise ArgumentError("prefix", prefix, "it must be text such as 'mt_'")
        frames = Frames(self, prefix, framing)
        frames.bare.check_operator()
        return frames

    def _windowed(
        self,
        spec: AnySpec,
        unfinished: Unfinished,
        prefix: str,
        details: WindowDetails = _NO_DETAILS,
    ) -> Windowed:
        if not isinstance(prefix, str):
            raise ArgumentError("prefix", prefix, "it must be text such as 'mt_'")
        windows = Windowed(self, prefix, spec, unfinished_policy(unfinished), details)
        windows.bare.check_operator()
        return windows

    def _groups(self, group: str | Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns that group the rows inside a window."""
        groups = column_names("group", group)
        self._known("group", groups)
        twice = [name for name in groups if name in self.by]
        if twice:
            raise ArgumentError("group", group, f"{twice[0]!r} is in `by` already")
        return groups

    def _known(self, argument: str, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.df.columns:
                raise UnknownColumnError(argument, name, self.df.columns)

    def _condition(self, argument: str, where: str | SparkColumn) -> Expression:
        """Return a condition on rows."""
        if not isinstance(where, SparkColumn | str):
            raise ArgumentError(argument, where, "it is SQL text or a PySpark column")
        return condition(parse_condition(where) if isinstance(where, str) else where)


def stream(
    df: DataFrame | WorkerRows,
    on: str | SparkColumn,
    by: str | SparkColumn | Sequence[str | SparkColumn] | None = None,
    disorder: Disorder | None = None,
    *,
    control: DataFrame | Sequence[DataFrame] | None = None,
    shards: int | None = None,
    functions: Mapping[str, OwnAggregate] | None = None,
    schedule: LengthLike | Schedule | None = None,
) -> Stream:
    """Describe a DataFrame, batch or streaming, as a stream.

    Args:
        df: Any Spark DataFrame, or files: ``mt.parquet(spark, path)``, ``mt.csv(spark, path)`` or
            ``mt.json(spark, path)``.
        on: The column that progresses: timestamp (with or without zone), date, integer,
            decimal or double. Its name in any case, a field of a struct (``"event.ts"``), or an
            expression such as ``F.to_timestamp("time").alias("ts")``, which becomes a column.
        by: The column or columns that windows are made for separately, given in the same ways;
            none means one for all.
        disorder: How much disorder a streaming DataFrame has: ``mt.ordered()``,
            ``mt.slack("10 seconds")``, ``mt.slack(rows=100)``, ``mt.punctuated("condition")``,
            ``mt.per_key("10 seconds")``, ``mt.each("sensor", "10 seconds")`` or
            ``mt.per_partition()``. A batch needs none: no row is late in it.
        control: The rows of ``mt.control(spark, folder)``, which can say that a running
            stream is complete up to a point, or over; those of ``mt.heartbeat(spark)``, which
            bring the time; or a list of both.
        shards: How many parts the state of a streaming query has; at least the number of cores
            that should work on it. By default one for each of the session's shuffle partitions,
            at most 64. It stays with the checkpoint.
        functions: Your own aggregates by the names that SQL text calls them:
            ``{"geometric_mean": GeometricMean()}``.
        schedule: One row of each key is due in every slot of this length, such as
            ``"20 seconds"``, or ``mt.schedule("20 seconds", origin=...)``. Frames then know which
            rows are missing, and need not wait for punctuation where none is.
    """
    if not hasattr(df, "isStreaming"):
        raise ArgumentError("df", df, "it must be a Spark DataFrame, or files: mt.parquet(...)")
    files = df if isinstance(df, WorkerRows) else None
    df = df.df if isinstance(df, WorkerRows) else df
    df, along, keys = described_columns(df, on, by)
    if len(set(keys)) != len(keys):
        raise ArgumentError("by", by, "it names a column twice")
    progressing(df.schema[along].dataType, along)
    if shards is not None and not (type(shards) is int and shards > 0):
        raise ArgumentError("shards", shards, "it must be a whole number above zero")
    own = own_functions({} if functions is None else functions)
    due = schedule if isinstance(schedule, Schedule | None) else Schedule(schedule)
    if disorder is None and control is None:
        return Stream(df, along, keys, shards=shards, functions=own, schedule=due, files=files)
    control_rows, clock = checked_control(control, df, along)
    rule = checked_disorder(disorder, df, keys)
    return Stream(df, along, keys, rule, control_rows, shards, clock, own, due, files)
