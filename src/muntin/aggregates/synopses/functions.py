"""Synopses as aggregates that users write: ``mt.approx_count(eps=0.05, within="10 minutes")``."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.aggregates.bind import synopses
from muntin.aggregates.functions import Aggregate, Column, column_expression, count
from muntin.aggregates.synopses.composed import Composable, OwnFunctionOption
from muntin.errors import ArgumentError
from muntin.expressions.spark_expressions import Expression
from muntin.specs.lengths import positive_length


def approx_count(
    column: Column = "*", *, eps: float = 0.05, within: object = None, bounds: bool = False
) -> Aggregate:
    """About how many rows, or values in ``column``, a window holds: at most ``eps`` off (relative).

    ``within`` asks about the last part of the window only, such as ``"10 minutes"`` of an hour;
    one query can have several such aggregates. With ``bounds`` the result is a struct of
    ``estimate`` and the certain ``low`` and ``high``.

    >>> print(approx_count(eps=0.1).column_name, approx_count("speed").column_name)
    approx_count(*) approx_count(speed)
    """
    return _aggregate("approx_count", count(column).arguments, within, eps, bounds)


def approx_sum(
    column: Column, *, eps: float = 0.05, within: object = None, bounds: bool = False
) -> Aggregate:
    """The approximate sum of whole numbers from 0, at most ``eps`` off (relative).

    A negative or fractional value is an error: the structure counts units. Use the exact
    ``sum``, or scale to whole numbers.
    """
    return _aggregate("approx_sum", (column_expression("column", column),), within, eps, bounds)


def approx_avg(
    column: Column, *, eps: float = 0.05, within: object = None, bounds: bool = False
) -> Aggregate:
    """The approximate mean of whole numbers from 0, at most ``eps`` off (relative)."""
    return _aggregate("approx_avg", (column_expression("column", column),), within, eps, bounds)


def approx_distinct_window(
    column: Column, *, eps: float = 0.05, within: object = None
) -> Aggregate:
    """About how many different values there are, with a standard error of ``eps`` (not a bound).

    Unlike a sketch per pane it answers for any ``within``.
    """
    return _aggregate("approx_distinct_window", (column_expression("column", column),), within, eps)


def lp_norm(
    index: Column,
    amount: Column,
    *,
    p: float = 2,
    eps: float = 0.1,
    sketched: float | None = None,
    within: object = None,
    bounds: bool = False,
) -> Aggregate:
    """The L_p norm, p from 1 to 2, of the vector that adds ``amount`` at ``index`` for each row.

    Amounts are 0 or more. The result is never above the truth. For p = 1 it is below it by at most
    ``eps``; for larger p the proven bound on the norm's p-th power is eps + 2^(p-1) - 1, and
    measured errors are far smaller. ``sketched=0.1`` (p = 2 only) keeps a sketch of fixed size
    instead of each bucket's vector and adds an error of about 0.1.

    >>> print(lp_norm("item", "price", p=1.5).column_name)
    lp_norm(item, price, 1.5)
    """
    columns = (column_expression("index", index), column_expression("amount", amount))
    aggregate = _aggregate("lp_norm", columns, within, p, eps, sketched, bounds)
    return aggregate.alias(f"lp_norm({columns[0]}, {columns[1]}, {p})")


def own_synopsis(
    function: Composable,
    *columns: Column,
    eps: float = 0.05,
    within: object = None,
    bounds: bool = False,
) -> Aggregate:
    """A user's own function with a composable sketch (:class:`Composable`) over some columns.

    Rows in which a column is null are left out.
    """
    if not columns:
        raise ArgumentError("columns", columns, "name the columns that `init` takes")
    arguments = tuple(column_expression("columns", column) for column in columns)
    aggregate = _aggregate(
        "own_synopsis", arguments, within, OwnFunctionOption(function), eps, bounds
    )
    return aggregate.alias(f"{type(function).__name__}({', '.join(map(str, arguments))})")


def hash_counts(
    column: Column, *, buckets: int = 64, eps: float = 0.05, within: object = None
) -> Aggregate:
    """A list of how many values fall into each hash bucket, each count at most ``eps`` off."""
    return _aggregate("hash_counts", (column_expression("column", column),), within, buckets, eps)


def value_histogram(
    column: Column,
    edges: Sequence[float],
    *,
    eps: float = 0.05,
    of: str = "count",
    amount: Column | None = None,
    within: object = None,
) -> Aggregate:
    """A list with the count of values below the first edge, between edges, and from the last on.

    With ``of="sum"`` or ``of="avg"`` the ``amount`` of the rows in each range is added up instead.

    >>> print(value_histogram("speed", [30, 50, 70]).column_name)
    value_histogram(speed)
    """
    if (amount is None) != (of == "count"):
        raise ArgumentError(
            "amount", amount, 'give the column to add up for of="sum" or "avg" only'
        )
    columns = [column_expression("column", column)]
    if amount is not None:
        columns.append(column_expression("amount", amount))
    try:
        ranges = tuple(float(edge) for edge in edges)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("edges", edges, "it is a list of numbers, such as [30, 50]") from None
    return _aggregate("value_histogram", tuple(columns), within, ranges, eps, of)


def _aggregate(
    function: str, arguments: tuple[Expression, ...], within: object, *constants: object
) -> Aggregate:
    """Return the aggregate, named without its constants; raise if a constant is wrong."""
    length = None if within is None else positive_length("within", within)
    aggregate = Aggregate(function, arguments, options=(length, *constants))
    synopses()[function].kind(aggregate.options, None, 0)
    return aggregate.alias(str(Aggregate(function, arguments)))
