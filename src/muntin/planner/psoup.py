"""PSoup's ``BEGIN ... END ...`` as windows of the Python API [PS-5].

The ends belong to the window: on a column of whole numbers, dates or timestamps ``[a, b]`` is
``[a, b + 1)`` in units of the column.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from muntin.errors import ArgumentError
from muntin.parser.dialect import SQL
from muntin.parser.errors import SqlError, argument_refused
from muntin.parser.statements import Method, PsoupInterval, Query, Windowing
from muntin.planner.relations import Relation
from muntin.spark.columns import progressing
from muntin.specs.axis import Domain
from muntin.specs.lengths import Duration, Length, Number, parse_length

_UNIT: dict[Domain, Length] = {
    Domain.TIMESTAMP: Duration(1),
    Domain.TIMESTAMP_NTZ: Duration(1),
    Domain.DATE: Duration(86_400_000_000),
    Domain.INTEGER: Number(Decimal(1)),
}


def resolved(query: Query, windowing: Windowing, relation: Relation) -> Windowing:
    """Return the clause with a method and arguments; only PSoup's does not have them yet."""
    interval = windowing.interval
    if interval is None:
        return windowing
    domain, _ = progressing(relation.df.schema[relation.on].dataType, relation.on)
    method, arguments = _call(query, windowing, interval, domain)
    return replace(windowing, method=method, arguments=arguments)


def _call(
    query: Query, windowing: Windowing, interval: PsoupInterval, domain: Domain
) -> tuple[Method, dict[str, object]]:
    assert interval.end_back is not None  # else it only chooses rows
    lag = _length(query, windowing, interval.end_back)
    at_rows = interval.every is None and interval.begin_back is not None and not lag.positive
    if interval.every is None and not at_rows:
        problem = "the query does not say how NOW moves"
        expected = "EVERY and a length, such as EVERY 1 HOUR"
        raise SqlError(problem, query.text, windowing.place, expected=expected)
    if interval.begin_back is None:
        if lag.positive:
            problem = "a window since a constant ends at NOW"
            raise SqlError(problem, query.text, windowing.place, expected="END (NOW)")
        return "landmark", {"slide": interval.every, "origin": interval.begin}
    reach = _plus(_length(query, windowing, interval.begin_back), _UNIT.get(domain), 1)
    if at_rows:
        return "by_tuple", {"range": reach}
    return "window", {"range": _plus(reach, lag, -1), "slide": interval.every}


def _plus(length: Length, other: Length | None, sign: int) -> Length:
    """Add ``sign`` times a length of the same kind; another kind adds nothing."""
    if isinstance(length, Duration) and isinstance(other, Duration):
        return Duration(length.micros + sign * other.micros)
    if isinstance(length, Number) and isinstance(other, Number):
        return Number(length.value + sign * other.value)
    return length


def _length(query: Query, windowing: Windowing, text: str) -> Length:
    try:
        return parse_length("now", text)
    except ArgumentError as error:
        raise argument_refused(error, query.text, windowing.place) from None


def is_filter(windowing: Windowing, *, aggregated: bool) -> bool:
    """Return whether a window only chooses rows: its end is fixed, or it has no aggregate."""
    interval = windowing.interval
    return interval is not None and (interval.end_back is None or not aggregated)


def choose(query: Query, select: exp.Select, node: exp.Table, relation: Relation) -> None:
    """Add a window that only chooses rows to WHERE; NOW is the last row."""
    windowing = query.windowings[node.name]
    interval = windowing.interval
    assert interval is not None
    relative = interval.begin_back is not None or interval.end_back is not None
    if relative and relation.df.isStreaming:
        problem = "a stream has no last row that could be NOW"
        expected = "an aggregate, which is computed whenever NOW moves"
        raise SqlError(problem, query.text, windowing.place, expected=expected)
    on = exp.column(relation.on, node.alias, quoted=True)
    begin = _point(query, windowing, interval.begin, interval.begin_back, node, relation)
    end = _point(query, windowing, interval.end, interval.end_back, node, relation)
    select.where(exp.GTE(this=on.copy(), expression=begin), copy=False)
    select.where(exp.LTE(this=on.copy(), expression=end), copy=False)


def _point(
    query: Query,
    windowing: Windowing,
    constant: object,
    back: str | None,
    node: exp.Table,
    relation: Relation,
) -> exp.Expr:
    """Return an end of the window as an expression."""
    type_ = relation.df.schema[relation.on].dataType.simpleString()
    if back is None:
        return exp.cast(exp.convert(constant), type_, dialect=SQL)
    largest = exp.Anonymous(this="max", expressions=[exp.column(relation.on, quoted=True)])
    now = exp.select(largest).from_(exp.to_table(node.name)).subquery()
    length = _length(query, windowing, back)
    if not length.positive:
        return now
    if isinstance(length, Duration):
        micros = exp.Literal.string(str(length.micros))
        amount: exp.Expr = exp.Interval(this=micros, unit=exp.var("MICROSECOND"))
    else:
        amount = exp.Literal.number(str(length))
    return exp.Sub(this=now, expression=amount)
