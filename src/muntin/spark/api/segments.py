"""A stream cut into windows or frames, and what fills them: ``frames.fill(other, ...)``.

Windows, :class:`Windowed`, are here with their base class; frames are in :mod:`.frames`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin.aggregates.bind import parse_condition
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column, parse_column
from muntin.errors import ArgumentError
from muntin.operators.fill.source import Function
from muntin.spark.api.nested_values import with_nested_values
from muntin.spark.api.plan import DrawnResult, Given, Plan
from muntin.spark.api.pyspark_aggregates import read_aggregate
from muntin.spark.columns import named, problem, quoted
from muntin.spark.described import Described, Line
from muntin.spark.explain.explanation import explained, measure
from muntin.spark.plan.early import EarlyPlan, with_intervals
from muntin.spark.plan.fill import FillPlan, FillSource, StoredFramesPlan
from muntin.spark.plan.fill_from_table import TableFillPlan
from muntin.spark.plan.inputs import StreamInput
from muntin.spark.plan.second_attribute import SecondPlace, second_place
from muntin.spark.plan.second_input import Key, matching, other_source
from muntin.spark.plan.window_ids import rows_with_windows
from muntin.spark.plan.windows import AnySpec, WindowDetails, WindowPlan
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.emission import FINALLY, Emission, Emit, Every
from muntin.specs.fill import Empty, Filling, StoredFramesSpec
from muntin.specs.frames.framing import Framing
from muntin.specs.lengths import LengthLike
from muntin.specs.resample import Instants
from muntin.specs.row_windows import Landmarks, RowWindow
from muntin.specs.windows import Latch, Unfinished, Window


@dataclass(frozen=True, eq=False, repr=False)
class Segments(Described):
    """The base class of windows and frames of a stream, in which aggregates can be computed."""

    source: StreamInput
    prefix: str

    @cached_property
    def bare(self) -> WindowPlan:
        """The plan of the segments without result columns."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        return f"{self.bare.spec}, of a {self.source.description}"

    def _checked_plan(
        self,
        aggregates: Sequence[Given | Column],
        emission: Emission = FINALLY,
    ) -> Plan:
        """Return the plan of some aggregates; raise if something does not suit."""
        columns = self.columns(aggregates, self.source)
        columns = with_intervals(columns, emission.confidence)
        plain = self.bare.with_columns(columns) if columns else self.bare
        return Plan.checked(EarlyPlan(plain, emission) if emission.early else plain)

    def fill(
        self,
        other: DataFrame | WorkerRows | StreamInput | None = None,
        on: str | None = None,
        key: Key = None,
        *,
        before: LengthLike | None = None,
        after: LengthLike | None = None,
        shrink: LengthLike | None = None,
        shift: LengthLike | Sequence[LengthLike] | None = None,
        where: str | SparkColumn | None = None,
        empty: Empty = "keep",
        along: str | None = None,
    ) -> Filled:
        """Fill frames or windows with the rows of another stream or table.

        A row fills a frame if its key matches and it lies between ``frame_start`` and
        ``frame_end``, both inside (neither for liberal bounds; only ``frame_start`` where a row
        holds until the next). It fills a window if it lies in ``[window_start, window_end)``, and
        a region if it lies between ``along_start`` and ``along_end``, too. A result is reported
        when its bounds are final and all rows that may fill it are there. With fragments each of
        them is reported, with all rows that fill the frame so far.

        Args:
            other: The rows: what ``mt.stream`` or ``mt.parquet`` returns, a batch DataFrame, or
                nothing for the stream's own rows.
            on: Their column that progresses, unless it has the same name as here.
            key: The columns that match the keys here: nothing where they have the same names,
                ``"router_id"``, a list in the order of ``by``, ``{"router": "router_id"}`` for
                some of them, or ``()``: every frame sees all rows.
            before: Also take rows up to this long before the start.
            after: Also take rows up to this long after the end.
            shrink: Leave out rows within this length of both ends.
            shift: Fill from another time, such as ``"-7 days"``. Each shift of a list has a result
                of its own, with the column ``shift``.
            where: Fill only with rows for which this condition holds.
            empty: ``"keep"`` frames or windows that no row fills, or ``"drop"`` them.
            along: If frames are regions, the column along which filling rows lie, unless it has the
                name that the regions have for it.
        """
        filling = Filling(before, after, shrink, shift, empty)
        return filled(self, other, on, key, where, filling, along)

    def apply(self, function: Function, schema: str | spark_types.StructType) -> DataFrame:
        """Call a function of your own with the rows in each frame or window (a windowed map).

        As ``fill().apply(function, schema)``: the stream is read once for its bounds and once for
        the rows in them. The function is called with an Arrow table, the rows in their order, and
        returns a mapping with a value for each column of the schema, which is DDL text.
        """
        return self.fill().apply(function, schema)

    @property
    def beside_aggregates(self) -> list[str]:
        """The columns that a result column may combine with aggregates: keys and bounds."""
        bounds = dict.fromkeys([*self.bare.bounds, *(name for name, _ in self.bare.beside)])
        return [*self.bare.keys, *(self.prefix + bound for bound in bounds)]

    def columns(self, aggregates: Sequence[object], rows: StreamInput) -> list[Column]:
        """Return the result columns of aggregates of ``rows``."""
        found = []
        for aggregate in aggregates:
            if not isinstance(aggregate, Mapping):
                found.append(self.column(aggregate, rows))
                continue
            for name, function in aggregate.items():
                if not (isinstance(name, str) and isinstance(function, str)):
                    expected = "it has the names of functions by column: {'speed': 'max'}"
                    raise ArgumentError("aggregates", aggregate, expected)
                argument = name if name == "*" else quoted(name)
                call = self.column(f"{function}({argument})", rows)
                found.append(replace(call, name=f"{function}({name})"))
        return found

    def column(self, aggregate: object, rows: StreamInput) -> Column:
        """Return the result column of an aggregate of ``rows``."""
        return with_nested_values(self._read(aggregate, rows), rows.df)

    def _read(self, aggregate: object, rows: StreamInput) -> Column:
        if isinstance(aggregate, Column):
            return aggregate
        if isinstance(aggregate, Aggregate):
            return Column(aggregate.column_name, (aggregate,))
        if isinstance(aggregate, str):
            alone = [self.prefix + name for name, _ in self.bare.beside]
            return parse_column(aggregate, self.beside_aggregates, rows.functions, alone)
        if isinstance(aggregate, SparkColumn):
            return read_aggregate(aggregate, rows.df, self.beside_aggregates, rows.functions)
        raise ArgumentError(
            "aggregates", aggregate, "write SQL text such as 'max(speed) AS hi', or mt.max('speed')"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Filled(DrawnResult):
    """Frames or windows and the rows that fill them; aggregates are computed of these rows."""

    segments: Segments
    source: StreamInput
    filling: Filling
    matches: tuple[int, ...]
    where: str | SparkColumn | None = None
    along: SecondPlace | None = None

    @property
    def description(self) -> str:
        other = f"filled from a {self.source.description}, {self.filling}"
        return f"{self.segments.bare.spec} {other}"

    @property
    def drawn_names(self) -> tuple[Sequence[str], str]:
        return self.segments.bare.keys, self.segments.prefix

    def shown_lines(self) -> Sequence[Line]:
        return self.plan("count(*)").shown_lines()

    def plan(
        self,
        *aggregates: Given | Column,
        emit: Emit = "final",
        every: Every = None,
        confidence: float | None = None,
    ) -> Plan:
        """Return the same as :meth:`agg`, but a plan: for :func:`muntin.write`, or to combine."""
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, such as 'count(*) AS n'")
        if Emission(emit, every, confidence).early:
            reason = "what fills a frame or window is answered when it is complete; fragments= of "
            raise ArgumentError(
                "emit", emit, f"{reason}frames reports the parts of one as it grows"
            )
        columns = self.segments.columns(aggregates, self.source)
        return self._plan_of(self.fill_source(columns))

    def rows(self) -> DataFrame:
        """Return every filling row with the frame or window that it fills, a row for each pair."""
        return self.rows_plan().df

    def rows_plan(self) -> Plan:
        """Return the same as :meth:`rows`, but a plan."""
        return self._plan_of(self.fill_source((), whole_rows=True))

    def apply(self, function: Function, schema: str | spark_types.StructType) -> DataFrame:
        """Call a function of your own with the rows of each frame or window (a windowed map).

        It is called with an Arrow table, the rows in their order, and returns a mapping with a
        value for each column of the schema; what it leaves out is null.

        Args:
            function: Runs on the workers; ``lambda rows: {"n": rows.num_rows}``.
            schema: What it returns, as DDL text: ``"n BIGINT, spread DOUBLE"``.
        """
        return self.apply_plan(function, schema).df

    def apply_plan(self, function: Function, schema: str | spark_types.StructType) -> Plan:
        """Return the same as :meth:`apply`, but a plan."""
        if not callable(function):
            raise ArgumentError("function", function, "it is a function of an Arrow table")
        spec = self.segments.bare.spec
        if isinstance(spec, Framing) and spec.fragments is not None:
            raise ArgumentError(
                "fragments", str(spec.fragments), "a function sees a frame when it is whole"
            )
        returns = returned(self.source.df, schema)
        source = self.fill_source((), whole_rows=True)
        return self._plan_of(replace(source, function=function, returns=returns))

    def _plan_of(self, source: FillSource) -> Plan:
        return fill_plan(FillPlan(self.segments.bare, (source,)))

    def fill_source(self, columns: Sequence[Column], *, whole_rows: bool = False) -> FillSource:
        """Return the filling rows with what is computed of them."""
        plain = self.segments.bare
        return FillSource(
            self.source,
            plain.spec,
            tuple(columns),
            filling=self.filling,
            matches=self.matches,
            types=tuple(plain.schema[plain.keys[n]].dataType for n in self.matches),
            where=self.where,
            whole_rows=whole_rows,
            along=self.along,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Stored(Segments):
    """Frames that were found before, to be filled: what ``mt.frames(df, ...)`` returns."""

    spec: StoredFramesSpec

    @cached_property
    def bare(self) -> StoredFramesPlan:
        return StoredFramesPlan(self.source, self.spec, prefix=self.prefix)


StoredFrames = Stored
"""Another name of :class:`Stored`."""


def fill_plan(parts: FillPlan) -> Plan:
    """Return the checked plan of segments and what fills them: streams, batches, or a table."""
    tables = any(not source.source.df.isStreaming for source in parts.sources)
    if tables and parts.plain.is_streaming:
        return Plan.checked(TableFillPlan(parts))
    return Plan.checked(parts)


def filled(
    segments: Segments,
    other: DataFrame | WorkerRows | StreamInput | None,
    on: str | None,
    key: Key,
    where: str | SparkColumn | None,
    filling: Filling,
    along: object = None,
) -> Filled:
    """Return segments and the rows that fill them; raise if they do not suit each other."""
    plain = segments.bare
    source, described = other_source(segments.source, other, on)
    _check_fillable(plain, source)
    place = second_place(plain, source, along)
    if source.df.isStreaming and not plain.is_streaming:
        source.check_other("fills")
        segments = _stored(segments, source.shard_count)
        plain = segments.bare
    by, matches = matching(plain.keys, plain.schema, source, key, described)
    result = Filled(segments, replace(source, by=by), filling, matches, _condition(where), place)
    fill_plan(FillPlan(plain, (result.fill_source(()),)))  # raises if something does not suit
    return result


def _check_fillable(plain: WindowPlan, source: StreamInput) -> None:
    """Raise if windows cannot be filled, or not by a stream while they are a stream themselves."""
    if isinstance(plain.spec, Framing | Window | StoredFramesSpec | Instants):
        return
    if isinstance(plain.spec, Latch):
        raise ArgumentError(
            "fill", str(plain.spec), "a latch has no start, so all rows up to its end would fill it"
        )
    if isinstance(plain.spec, Landmarks) and plain.spec.slide is None:
        raise ArgumentError(
            "fill",
            str(plain.spec),
            "a landmark window without slide= has no end that rows lie before",
        )
    if not (plain.is_streaming and source.df.isStreaming):
        return
    if isinstance(plain.spec, RowWindow) and plain.spec.order == "arrival":
        raise ArgumentError(
            "fill",
            str(plain.spec),
            "rows that are counted as they arrive have no order along on, so it is not known when "
            "all rows that fill are there; order='on' is filled on streams, and a table fills this",
        )
    if len(plain.keys) > len(plain.source.by):
        raise ArgumentError(
            "group",
            [key for key in plain.keys if key not in plain.source.by],
            "on a stream windows with groups inside cannot be filled by a stream; make the groups "
            "keys (by=), or fill from a table",
        )


def _stored(segments: Segments, shards: int) -> Stored:
    """Return frames or windows of a batch as stored frames, in the shards of the filling stream."""
    if isinstance(segments, Stored):
        return replace(segments, source=replace(segments.source, shards=shards))
    plain = segments.bare
    framing = plain.spec
    if isinstance(framing, Framing) and framing.fragments is not None:
        raise ArgumentError(
            "fragments", str(framing.fragments), "these frames come from a batch, and all are whole"
        )
    names = [name for name in plain.naming.bounds if name not in ("n", "n_missing")]
    along = plain.region_bounds or ()
    start, end = FillPlan(plain, ()).bounds
    columns = (*plain.keys, *(plain.prefix + name for name in names))
    frames = Plan(plain).df.select(*(named(name) for name in columns))
    bounds = plain.prefix + start, plain.prefix + end
    regions = (plain.prefix + along[0], plain.prefix + along[1]) if along else None
    spec = StoredFramesSpec(*bounds, FillPlan(plain, ()).edge, (start, end), columns, regions)
    return Stored(StreamInput(frames, bounds[0], plain.keys, shards=shards), plain.prefix, spec)


def returned(df: DataFrame, schema: object) -> spark_types.StructType:
    """Return the columns of a schema that is DDL text or a schema already."""
    if isinstance(schema, spark_types.StructType):
        return schema
    if not isinstance(schema, str):
        raise ArgumentError("schema", schema, "it is DDL text such as 'n BIGINT, mean DOUBLE'")
    try:
        return df.sparkSession.createDataFrame([], schema).schema
    except PySparkException as error:
        raise ArgumentError("schema", schema, f"Spark says: {problem(error)}") from error


def _condition(where: object) -> str | SparkColumn | None:
    if where is None or isinstance(where, SparkColumn):
        return where
    if not isinstance(where, str):
        raise ArgumentError("where", where, "it is SQL text or a PySpark column")
    return parse_condition(where)


@dataclass(frozen=True, eq=False, repr=False)
class Windowed(Segments, DrawnResult):
    """Windows over a stream, in which aggregates are computed."""

    spec: AnySpec
    unfinished: Unfinished
    details: WindowDetails = field(default_factory=WindowDetails)

    def plan(
        self,
        *aggregates: Given | Column,
        emit: Emit = "final",
        every: Every = None,
        confidence: float | None = None,
    ) -> Plan:
        """Return the same as :meth:`agg`, but a plan: for :func:`muntin.write`, refused rows."""
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, such as 'count(*) AS n'")
        return self._checked_plan(aggregates, Emission(emit, every, confidence))

    @property
    def drawn_names(self) -> tuple[Sequence[str], str]:
        return self.bare.keys, self.prefix

    def shown_lines(self) -> Sequence[Line]:
        return self.plan("count(*)").shown_lines()

    def rows(self, *, explode: bool = False) -> DataFrame:
        """Return every input row with ``first_wid`` and ``last_wid``, the windows it is in.

        For windows over values, whose edges are known ahead of the rows. Rows in no window (no
        ``on``, before the origin, between windows) have null there. ``explode=True`` gives one
        row per row and window, with ``wid``, ``window_start`` and ``window_end``. Works on
        streams without any state.
        """
        return rows_with_windows(self.bare, explode=explode)

    def explain(self, *aggregates: Given, measured: bool = False) -> None:
        """Print panes, shards, state and cost; with ``measured`` look at some of the rows."""
        plan = self.plan(*(aggregates or ("count(*)",)))
        if measured and plan.is_streaming:
            raise ArgumentError("measured", True, "only a batch DataFrame can be looked at ahead")
        assert isinstance(plan.parts, WindowPlan)
        print(explained(plan.parts, measure(plan.parts) if measured else None))

    @cached_property
    def bare(self) -> WindowPlan:
        return WindowPlan(self.source, self.spec, (), self.unfinished, self.prefix, self.details)


Windows = Windowed
"""Another name of :class:`Windowed`."""
