"""Kinds of frames as users write them: ``mt.threshold("loss_rate > 0.3")`` and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import Column as SparkColumn

from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.parse import own_functions
from muntin.aggregates.parse_conditions import (
    FrameCondition,
    parse_comparison,
    parse_frame_condition,
)
from muntin.errors import ArgumentError
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import (
    AggregateCondition,
    Between,
    Boundary,
    Crossing,
    Delta,
    Threshold,
    Trend,
    TrendRuns,
)
from muntin.specs.frames.pattern import Pattern
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.lengths import LengthLike


def threshold(where: str | SparkColumn) -> FrameKind:
    """Find maximal runs of rows for which a condition holds [Frames 4.3].

    >>> print(threshold("loss_rate > 0.3").label)
    threshold(loss_rate > 0.3)

    Args:
        where: SQL text, or a PySpark column. A row for which it is null is a missing row.
    """
    return Threshold(_nonempty("where", where))


def boundary(value: str | SparkColumn, every: LengthLike | None = None) -> FrameKind:
    """Make a frame of every stretch in which a value stays the same, or in a step of ``every``.

    ``boundary("status")`` ends a frame where the status changes, ``boundary("depth", every=1.0)``
    where the depth crosses a whole metre, ``boundary("due", every="1 hour")`` where a timestamp
    passes a full hour. Every row lies in one frame.

    >>> print(boundary("depth", every=0.5).label)
    boundary(depth, every=0.5)

    Args:
        value: The name of a column, SQL text or a PySpark column.
        every: A number; for a timestamp or a date a duration such as ``"1 hour"``, counted as that
            of windows: from the Unix epoch, for whole days from its midnight in the session's zone.
    """
    return Boundary(_nonempty("value", value), every)


def delta(
    value: str | SparkColumn,
    size: LengthLike,
    against: str = "range",
    span: str = "maximal",
    start: object = None,
    restart: str | None = None,
) -> FrameKind:
    """Find frames in which a value moves by less than ``size`` [Frames 4.3].

    >>> print(delta("temperature", 0.5, span="minimal").label)
    delta(temperature, 0.5, span=minimal)

    Args:
        value: A number, a timestamp or a date: the name of a column, SQL text or a PySpark column.
        size: How far it may move: a number, or of a timestamp or date a duration such as
            ``"5 minutes"``.
        against: ``"range"`` compares the greatest with the least value of the frame, ``"first"``
            each value with that of the first row.
        span: ``"maximal"`` frames end before the row that moves too far, which opens the next
            (with ``start``, if it is one); ``"minimal"`` ones end with the first row that has
            moved by more than ``size``.
        start: A condition; frames open only where it holds.
        restart: What happens when such a row falls inside an open frame, which would have taken
            it: ``"close"`` it there (the default), ``"drop"`` it, or ``"continue"`` it beside the
            new one.
    """
    return Delta(_nonempty("value", value), size, against, span, start, restart)


def aggregate(
    condition: str,
    span: str | None = None,
    start: object = None,
    restart: str | None = None,
    functions: Mapping[str, OwnAggregate] | None = None,
) -> FrameKind:
    """End frames by an aggregate of their rows: a running sum that resets.

    ``"sum(vehicles) >= 100"`` gives minimal frames: the row that brings the sum to 100 is the last
    inside, and the next frame starts after it. ``"sum(vehicles) <= 100"`` gives maximal ones: the
    row that would bring it above 100 opens the next. A row that alone breaks the condition of a
    maximal frame lies in none.

    The condition may be any expression of aggregates, such as ``"max(x) - min(x) > 5"`` or
    ``"sum(v) >= 100 AND count(*) >= 5"``; ``duration`` in it is the last ``on`` of the frame minus
    the first, in seconds (days of a date column, else the column's own unit). If all comparisons
    are > or >=, frames are minimal; if all are < or <=, maximal; otherwise give ``span``. Null is
    not true. A maximal frame grows while the condition holds row by row.

    Such conditions, sketches, exact quantiles and your own aggregates are computed row by row in
    Python, which is slower, and their frames do not overlap; on a stream what they keep has to be
    bounded.

    >>> print(aggregate("sum(vehicles) >= 100").label)
    aggregate(sum(vehicles) >= 100, span=minimal)
    >>> print(aggregate("count(*) / duration < 2").label)
    aggregate(count(*) / duration < 2, span=maximal)

    Args:
        condition: An aggregate compared with a number by <, <=, > or >=, or any condition on
            aggregates and ``duration``.
        span: ``"minimal"`` or ``"maximal"``, if the comparison should not decide.
        start: A condition on rows; frames open only where it holds.
        restart: As for :func:`delta`.
        functions: Your own aggregates by the names that the condition calls them, as for a stream.
    """
    parsed = parse_frame_condition(condition, own_functions(functions or {}))
    if not isinstance(parsed, FrameCondition):
        return Crossing(*parsed, span, start, restart)
    deciding = parsed.text, parsed.aggregates, parsed.where, parsed.signs
    return AggregateCondition(*deciding, span, start, restart)


def trend(value: str | SparkColumn, direction: str | None = None, strict: bool = True) -> FrameKind:
    """Find maximal runs of rows in which a value rises, falls or stays.

    With a direction, runs have at least two rows. Without one, every row lies in a run: that of the
    step from the row before it to it (the first row in that of the second), and frames have a
    column ``direction``.

    >>> print(trend("temp", "increasing").label)
    trend(temp, increasing)
    >>> print(trend("temp").label)
    trend(temp)

    Args:
        value: A number, a date or a timestamp.
        direction: ``"increasing"``, ``"decreasing"`` or ``"flat"``; None for all three.
        strict: Whether equal neighbours end a rise or a fall. Without a direction they always do.
    """
    if direction is None:
        if strict is not True:
            raise ArgumentError("strict", strict, "without a direction equal rows are flat runs")
        return TrendRuns(_nonempty("value", value))
    return Trend(_nonempty("value", value), direction, strict)


def between(start: str | SparkColumn, end: str | SparkColumn, inclusive: str = "both") -> FrameKind:
    """Find frames from a row where ``start`` holds to the next row where ``end`` holds.

    A missing row (an empty slot of a schedule) breaks such a frame, which is then ``partial``,
    unless ``missing`` is ``"satisfy"`` or ``"carry"``.

    >>> print(between(start="door = 'open'", end="door = 'closed'").label)
    between(door = 'open', door = 'closed')

    Args:
        start: A condition; SQL text or a PySpark column.
        end: Another condition.
        inclusive: Which of these two rows belong to the frame: ``"both"``, ``"start"``,
            ``"end"`` or ``"neither"``.
    """
    return Between(_nonempty("start", start), _nonempty("end", end), inclusive)


def density(
    condition: str | None = None,
    per: LengthLike | None = None,
    *,
    p: float | None = None,
    rate: float | None = None,
    weight: str | SparkColumn | None = None,
    functions: Mapping[str, OwnAggregate] | None = None,
) -> FrameKind:
    """Find stretches in which much happens in little time [Frames, appendix H].

    ``density("sum(volume) > 30", per="1 minute")`` is the union of the windows of a minute, one
    that ends with every row, in which the condition holds.
    ``density(p=0.05, rate=2, per="1 minute")`` finds clusters of rows that a Poisson process of
    two rows a minute would bring with a chance below 0.05, the least likely of overlapping ones;
    such frames need ``max_duration`` or ``max_count``, and have a column ``chance``. With a
    ``weight`` a row counts as that many events.

    >>> print(density("sum(volume) > 30", per="1 minute").label)
    density(sum(volume) > 30, per=1 minute)
    >>> print(density(p=0.05, rate=30, per="1 minute", weight="vehicles").label)
    density(p=0.05, rate=30.0, per=1 minute, weight=vehicles)

    Args:
        condition: An aggregate compared with a number by <, <=, > or >=.
        per: How long the windows are, or the stretch for which ``rate`` is given.
        p: The chance below which a cluster is a frame.
        rate: How many rows, or events, chance brings in ``per``.
        weight: How many events a row counts as: a whole number, the name of a column, SQL text or a
            PySpark column. Null and numbers below zero count as 0.
        functions: Your own aggregates by the names that the condition calls them.
    """
    if condition is None:
        if p is None or rate is None or per is None:
            raise ArgumentError("density", None, "give a condition and per=, or p=, rate= and per=")
        return Cluster(p, rate, per, None if weight is None else _nonempty("weight", weight))
    if p is not None or rate is not None:
        raise ArgumentError("p", p, "density takes a condition or p= and rate=, not both")
    if weight is not None:
        raise ArgumentError("weight", weight, "it goes with p= and rate=; a condition has its sum")
    if per is None:
        raise ArgumentError("per", None, "say over how long: per='1 minute'")
    measured, sign, limit = parse_comparison(condition, own_functions(functions or {}))
    return Density(measured, sign, limit, per)


def region(
    where: str | SparkColumn,
    along: str,
    min_extent: LengthLike | None = None,
    prefer: str = "longest",
) -> FrameKind:
    """Find maximal stretches in ``on`` and along a second attribute where a condition holds.

    >>> print(region("speed < 30", along="milepost", min_extent=2).label)
    region(speed < 30, along=milepost, min_extent=2, prefer=longest)

    Args:
        where: A condition; SQL text or a PySpark column.
        along: The name of a number column, such as a milepost.
        min_extent: The least extent of a region along that column.
        prefer: Regions overlap. ``"longest"`` reports the one that lasts longest and leaves out
            what shares a row with it, ``"widest"`` the one that reaches farthest, ``"all"`` every
            one.
    """
    return Region(_nonempty("where", where), along, min_extent, prefer)


def pattern(pattern: str, /, **conditions: object) -> FrameKind:
    """Find stretches of rows that match a pattern of conditions [Frames, appendix E].

    The leftmost match is taken, and of the matches from its first row the longest; the search goes
    on after its last row. A row may satisfy several conditions, and any assignment of names to
    rows counts. A row that satisfies none ends every match.

    >>> print(pattern("rise+ flat{2,5} fall", rise="x > prev.x", flat="x = prev.x",
    ...               fall="x < prev.x").label)
    pattern(rise+ flat{2,5} fall, rise=x > prev.x, flat=x = prev.x, fall=x < prev.x)

    Args:
        pattern: Names of conditions, each or a group ``( )`` of them followed by ``?``, ``*``,
            ``+``, ``{m}``, ``{m,}`` or ``{m,n}``, and ``|`` between alternatives. It must not match
            without a row.
        conditions: The condition of each name: SQL text or a PySpark column. SQL text may read
            ``prev.x``, the column ``x`` of the row before. A row that satisfies no condition is a
            missing row if one of them is null.
    """
    return Pattern(pattern, conditions)


#: The functions by their names, which are also the words of SQL's ``FRAME`` clause.
KINDS: Mapping[str, Callable[..., FrameKind]] = {
    function.__name__: function
    for function in (
        threshold,
        boundary,
        delta,
        aggregate,
        trend,
        between,
        density,
        region,
        pattern,
    )
}


def _nonempty(argument: str, expression: object) -> object:
    """Return a condition or a value; raise if it is empty."""
    text = isinstance(expression, str) and bool(expression.strip())
    if not text and not isinstance(expression, Column):
        raise ArgumentError(argument, expression, "it is SQL text or a PySpark column")
    return expression
