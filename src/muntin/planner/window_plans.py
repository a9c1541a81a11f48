"""Call the Python API for a stream clause: streams, windows, what fills them, and their plans.

PATTR partitions the stream before windows are made; GROUP BY tells rows apart inside a window
[Window-ids 3.2]. For windows over values both are the same. Where rows are counted they differ, and
frames and sessions are always made for each key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from muntin.aggregates.parse import Column, read_column
from muntin.parser.errors import SqlError, closest
from muntin.parser.statements import Expression, FillClause, KindOfFrame, Query, Windowing
from muntin.planner.aggregates import name_of, replaced
from muntin.planner.errors import located, unknown_column
from muntin.planner.relations import Columns, Scope, Table, rows_of
from muntin.planner.select import SelectParts
from muntin.planner.spark_sql import SparkPart
from muntin.spark.api.combine import combine
from muntin.spark.api.control import heartbeat
from muntin.spark.api.frame_kinds import KINDS
from muntin.spark.api.frames import Frames
from muntin.spark.api.plan import Plan
from muntin.spark.api.segments import Filled, Segments, Stored, Windowed
from muntin.spark.api.stored_frames import stored_frames
from muntin.spark.api.stream import Stream, stream
from muntin.spark.columns import DataFrame, column, condition
from muntin.spark.plan.window_ids import with_wid
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.disorder import Disorder
from muntin.specs.frames.own_function import OwnFraming
from muntin.specs.frames.schemes import Schedule


@dataclass(frozen=True, eq=False)
class PlannedWindows:
    """Results of windows, and their plan; rows with their windows have none.

    ``numbered`` says that the results also have the numbers of windows. ``before`` is what Spark
    does with rows before windows are made.
    """

    df: DataFrame
    plan: Plan | None
    numbered: bool = False
    before: SparkPart | None = None

    @staticmethod
    def of(plan: Plan, *, numbered: bool = False) -> PlannedWindows:
        return PlannedWindows(
            with_wid(plan.parts, plan.df) if numbered else plan.df, plan, numbered
        )


@dataclass(frozen=True)
class _Source:
    """Rows that aggregates take: the stream's own, or those that fill its windows."""

    columns: Columns
    windows: Windowed | Frames | Stored | Filled


def planned(
    query: Query,
    windowing: Windowing,
    source: Stream,
    roles: Roles,
    parts: SelectParts,
    scope: Scope,
) -> PlannedWindows:
    """Return the results of windows for a SELECT."""
    if windowing.method == "stored_frames" and not windowing.fills:
        problem = "nothing fills these frames, and they have no rows of their own"
        expected = "FILL and a stream or table after the bracket"
        raise SqlError(problem, query.text, windowing.place, expected=expected)
    segments = segmented(query, windowing, source, roles.group, scope)
    own = _Source(Columns(windowing.alias, source.df.columns), segments)
    fills = [
        _Source(Columns(fill.alias, columns_of(fill, scope)), filled(query, fill, segments, scope))
        for fill in windowing.fills
    ]
    with located(query, windowing, parts.aggregates):
        if not parts.aggregates:
            return _rows(query, windowing, own, fills, parts)
        plan = _plan(query, windowing, own, fills, parts)
        numbered = "wid" in parts.names() and "wid" not in source.df.columns
        return PlannedWindows.of(plan, numbered=numbered)


def _plan(
    query: Query, windowing: Windowing, own: _Source, fills: Sequence[_Source], parts: SelectParts
) -> Plan:
    """Return one plan of all aggregates, each over the rows that it takes."""
    results: dict[int, list[Column]] = {}
    sources = [own, *fills]
    for number, aggregate in enumerate(parts.aggregates):
        place = _source_of(query, aggregate, sources)
        _check_own_rows(query, aggregate, sources, place)
        result = _result(query, aggregate, sources[place], name_of(number))
        results.setdefault(place, []).append(result)
    for place, fill in enumerate(windowing.fills, 1):
        if place not in results:
            problem = f"no aggregate takes the rows of {fill.alias}, so it would fill nothing"
            expected = f"an aggregate of its rows such as count({fill.alias}.x), or no FILL"
            raise SqlError(problem, query.text, fill.place, expected=expected)
    windows = [(sources[place].windows, columns) for place, columns in sorted(results.items())]
    plans = [rows.plan(*columns) for rows, columns in windows if not isinstance(rows, Stored)]
    return plans[0] if len(plans) == 1 else combine(*plans)


def _check_own_rows(
    query: Query, aggregate: exp.Expr, sources: Sequence[_Source], place: int
) -> None:
    """Raise if an aggregate takes the rows of stored frames, which have none."""
    if isinstance(sources[place].windows, Stored):
        problem = "a stored frame has no rows of its own that could be aggregated"
        filling = sources[-1].columns.alias
        expected = f"an aggregate of the rows that fill, such as count({filling}.x)"
        raise SqlError(problem, query.text, query.at(aggregate), expected=expected)


def _source_of(query: Query, aggregate: exp.Expr, sources: Sequence[_Source]) -> int:
    """Return the rows that an aggregate takes: those of its alias, else those that fill."""
    aliases = [source.columns.alias.casefold() for source in sources]
    named = {
        aliases.index(column.parts[0].name.casefold())
        for column in aggregate.find_all(exp.Column)
        if len(column.parts) > 1 and column.parts[0].name.casefold() in aliases
    }
    for place in named:
        if aliases.count(aliases[place]) > 1:
            name = sources[place].columns.alias
            problem = f"{name} is the name of two relations here, so it is not clear whose rows"
            expected = f"an alias of its own: FILL {name} AS other"
            raise SqlError(problem, query.text, query.at(aggregate), expected=expected)
    if len(named) > 1:
        problem = "an aggregate takes the rows of one relation"
        raise SqlError(problem, query.text, query.at(aggregate))
    return named.pop() if named else len(sources) - 1


def _result(query: Query, aggregate: exp.Expr, source: _Source, name: str) -> Column:
    """Return the result column of an aggregate; raise if it or one of its columns is unknown."""
    columns = source.columns
    for mention in aggregate.find_all(exp.Column):
        if columns.own(mention) is None and mention.find_ancestor(exp.Lambda) is None:
            raise unknown_column(query, mention.name, query.at(mention), columns.names)
    bare = replaced(aggregate, columns.bare)
    windows = source.windows
    segments = windows.segments if isinstance(windows, Filled) else windows
    with located(query, query.at(aggregate)):
        return read_column(bare, name, segments.beside_aggregates, windows.source.functions)


def _rows(
    query: Query, windowing: Windowing, own: _Source, fills: Sequence[_Source], parts: SelectParts
) -> PlannedWindows:
    """Return the results without aggregates: frames, what fills them, or rows with windows."""
    if len(fills) > 1:
        problem = "without an aggregate the rows that fill are selected, and two relations fill"
        expected = "one FILL, or an aggregate of each such as count(a.x) and count(b.x)"
        raise SqlError(problem, query.text, windowing.fills[1].place, expected=expected)
    if fills:
        filled_windows = fills[-1].windows
        assert isinstance(filled_windows, Filled)
        return PlannedWindows.of(filled_windows.rows_plan())
    if isinstance(own.windows, Frames):
        return PlannedWindows.of(own.windows.plan())
    if windowing.method not in ("window", "tumbling"):
        problem = "nothing is computed in these windows"
        expected = "an aggregate such as count(*)"
        raise SqlError(problem, query.text, windowing.place, expected=expected)
    assert isinstance(own.windows, Windowed)
    return PlannedWindows(own.windows.rows(explode=True), None)


#: Windows in which GROUP BY tells rows apart after they are taken, and PATTR before.
_GROUPS_INSIDE = ("rows", "by_tuple")


def described(
    windowing: Windowing,
    table: Table,
    df: DataFrame | WorkerRows,
    on: str,
    by: Sequence[str],
    scope: Scope,
) -> Stream:
    """Return the stream of the windows: as it was declared, changed by the clause."""
    source = redescribed(table, df, on, by, windowing.disorder, scope)
    schedule = windowing.arguments.get("schedule", source.schedule)
    return replace(source, schedule=schedule if isinstance(schedule, Schedule) else None)


def redescribed(
    table: Table,
    df: DataFrame | WorkerRows,
    on: str,
    by: Sequence[str],
    disorder: Disorder | None,
    scope: Scope,
) -> Stream:
    """Return rows as a stream; what is not given here is as it was declared."""
    declared = table if isinstance(table, Stream) else None
    if declared is None:
        return with_clock(stream(df, on, tuple(by), disorder, functions=scope.functions))
    source = stream(
        df,
        on,
        tuple(by),
        disorder or declared.disorder,
        shards=declared.shards,
        functions={**scope.functions, **declared.functions},
        schedule=declared.schedule,
    )
    return with_clock(replace(source, control=declared.control, clock=declared.clock))


def with_clock(source: Stream) -> Stream:
    """Return the stream with a heartbeat if its disorder needs a clock and it has none."""
    needed = source.disorder is not None and source.disorder.needs_clock and not source.clock
    if not needed or not source.df.isStreaming:
        return source
    beats = heartbeat(source.df.sparkSession, punctuate=False)
    control = beats if source.control is None else source.control.unionByName(beats)
    return replace(source, control=control, clock=True)


def check_disorder(query: Query, windowing: Windowing, source: Stream) -> None:
    """Raise if a stream has no disorder, so that no window could be complete."""
    arriving = windowing.method == "rows" and windowing.arguments.get("order") == "arrival"
    declared = source.disorder is not None or source.control is not None
    if source.df.isStreaming and not declared and not arriving:
        problem = "this stream does not declare its disorder, so no window would ever close"
        expected = (
            "DISORDER ORDERED, DISORDER SLACK '10 seconds' or another, here or in CREATE STREAM"
        )
        raise SqlError(problem, query.text, windowing.place, expected=expected)


def segmented(
    query: Query, windowing: Windowing, source: Stream, group: Sequence[str], scope: Scope
) -> Windowed | Frames | Stored:
    """Return the windows or frames of a stream, still without aggregates."""
    if windowing.method == "stored_frames":
        return _stored(query, windowing, source)
    given = {name: value for name, value in windowing.arguments.items() if name != "schedule"}
    with located(query, windowing):
        arguments = {name: _value(name, value) for name, value in given.items()}
        if isinstance(kind := given.get("kind"), KindOfFrame) and kind.word == "function":
            arguments["kind"] = _framing(query, kind, scope)
        if group:
            arguments["group"] = tuple(group)
        windows = getattr(source, windowing.method)(**arguments)
    assert isinstance(windows, Windowed | Frames)
    return windows


def _stored(query: Query, windowing: Windowing, source: Stream) -> Stored:
    """Return frames that are rows of a relation."""
    given = dict(windowing.arguments)
    given.pop("start", None)
    columns = Columns(windowing.alias, source.df.columns)
    for name in ("end", "along"):
        match given.get(name):
            case str() as one:
                given[name] = columns.spelt(one) or one
            case tuple() as several:
                given[name] = tuple(columns.spelt(one) or one for one in several)
    with located(query, windowing):
        return stored_frames(replace(source, schedule=None), **given)  # type: ignore[arg-type]


def _framing(query: Query, kind: KindOfFrame, scope: Scope) -> OwnFraming:
    """Return the user's own framing function of a name."""
    name = str(kind.arguments["name"])
    if name in scope.framings:
        return scope.framings[name]
    known = ", ".join(scope.framings)
    expected = f"one of {known}" if known else "mt.sql(..., functions={'name': MyFraming()})"
    problem = f"there is no framing function {name}"
    suggestion = closest(name, scope.framings)
    raise SqlError(problem, query.text, kind.place, expected=expected, suggestion=suggestion)


def filled(query: Query, fill: FillClause, segments: Segments, scope: Scope) -> Filled:
    """Return windows or frames with the rows that fill them."""
    other = scope.find(fill.table)
    if other is None:
        raise SqlError(f"there is no stream or table {fill.table}", query.text, fill.place)
    if not isinstance(other, Stream) and other.isStreaming:
        problem = f"{fill.table} does not declare its disorder, so no frame would ever be full"
        expected = "a stream that CREATE STREAM or mt.stream(...) describes"
        raise SqlError(problem, query.text, fill.place, expected=expected)
    if isinstance(other, Stream):
        other = with_clock(other)
    _check_keys(query, fill, segments, other)
    arguments = {name: _value(name, value) for name, value in fill.arguments.items()}
    with located(query, fill):
        return segments.fill(other, **arguments)  # type: ignore[arg-type]


def _check_keys(query: Query, fill: FillClause, segments: Segments, other: Table) -> None:
    """Raise if filling rows without keys of their own lack columns named as the keys."""
    if "key" in fill.arguments or isinstance(other, Stream):
        return
    missing = [key for key in segments.bare.keys if key not in other.columns]
    if missing:
        problem = f"{fill.table} has no column {missing[0]}, so it is not clear which rows match"
        expected = f"MATCHING ({missing[0]} = its column), or MATCHING NONE"
        raise SqlError(problem, query.text, fill.place, expected=expected)


def columns_of(fill: FillClause, scope: Scope) -> list[str]:
    """Return the columns of the filling rows."""
    other = scope.find(fill.table)
    return [] if other is None else rows_of(other).columns


def _value(name: str, value: object) -> object:
    """Return an argument as Python takes it: texts of expressions, a column for a gap."""
    if isinstance(value, Expression):
        return column(condition(value.text)) if name == "gap" else value.text
    if isinstance(value, KindOfFrame) and value.word in KINDS:
        arguments = {key: _value(key, inner) for key, inner in value.arguments.items()}
        return KINDS[value.word](*value.unnamed, **arguments)
    return value


@dataclass(frozen=True)
class Roles:
    """``by`` of the stream and ``group`` of its windows."""

    by: tuple[str, ...]
    group: tuple[str, ...] = ()


def roles_of(
    query: Query,
    windowing: Windowing,
    partition: Sequence[str] | None,
    declared: Sequence[str],
    groups: Sequence[str],
) -> Roles:
    """Return the roles of columns from PATTR, the declared keys, and GROUP BY.

    Args:
        query: The query, for its text.
        windowing: The clause.
        partition: PATTR, if there is one.
        declared: BY of the stream.
        groups: GROUP BY, or the plain columns of a select list without one.
    """
    inside = windowing.method in _GROUPS_INSIDE or windowing.arguments.get("slide_on") is not None
    if inside:
        by = tuple(declared if partition is None else partition)
        return Roles(by, tuple(name for name in groups if name not in by))
    if windowing.method == "stored_frames":
        # Results have every column of a stored frame, so groups add none.
        return Roles(tuple(declared if partition is None else partition))
    if windowing.method == "frames":
        by = tuple(partition if partition is not None else declared or groups)
        other_groups = [name for name in groups if name not in by]
        if other_groups:
            problem = f"frames are made for each {', '.join(by)}, so they cannot be grouped by"
            expected = f"{other_groups[0]} in PATTR, or in an aggregate"
            raise SqlError(
                f"{problem} {other_groups[0]}", query.text, windowing.place, expected=expected
            )
        return Roles(by)
    own = tuple(partition or ())
    return Roles((*own, *(name for name in groups if name not in own)))
