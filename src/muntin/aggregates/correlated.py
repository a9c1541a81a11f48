"""``mt.correlated``: an aggregate over rows that meet a condition on their window's aggregates."""

from __future__ import annotations

from typing import Literal

from muntin.aggregates import functions
from muntin.aggregates.focused.question import Focus, focus_of
from muntin.aggregates.functions import Aggregate, Column, Correlated
from muntin.aggregates.parse import parse_correlated
from muntin.errors import ArgumentError
from muntin.expressions.nodes import Correlation
from muntin.expressions.spark_expressions import AsDouble, Both, Expression, NotNull, Sql, Where

_DEPENDENTS = {
    "count": functions.count,
    "sum": functions.sum,
    "avg": functions.avg,
    "min": functions.min,
    "max": functions.max,
}


def correlated(
    dependent: str,
    column: Column = "*",
    *,
    where: str,
    mode: Literal["exact", "focused"] = "exact",
    buckets: int = 10,
    strategy: str = "piecemeal-uniform",
    bounds: bool = False,
    width: float = 1.0,
    intervals: int = 10,
) -> Aggregate:
    """An aggregate over the rows that meet a condition on their window as a whole.

    ``mode="exact"`` keeps the rows of open windows and takes any condition, nested ones too.
    ``mode="focused"`` keeps ``buckets`` buckets around the limit (for sliding windows in each of
    ``intervals`` parts of the window) and estimates; ``bounds=True`` makes the result a struct of
    ``estimate`` and the certain ``low`` and ``high``. ``strategy`` is how buckets move, ``width``
    is how many standard errors around a mean they cover.

    >>> print(correlated("count", where="duration >= avg(duration)"))
    count(*) FILTER (WHERE duration >= avg(duration))
    >>> print(correlated("sum", "bytes", where="bytes > 0.5 * max(bytes)", mode="focused"))
    sum(bytes) FILTER (WHERE bytes > 0.5 * max(bytes)) in 10 buckets (piecemeal-uniform)
    """
    if not _is_text(dependent) or dependent not in _DEPENDENTS:
        raise ArgumentError("dependent", dependent, f"give one of {', '.join(_DEPENDENTS)}")
    if not _is_text(where):
        raise ArgumentError("where", where, "it must be SQL text such as 'x >= avg(x)'")
    exact = parse_correlated(_DEPENDENTS[dependent](column), where)
    if mode == "exact":
        return exact
    if mode != "focused":
        raise ArgumentError("mode", mode, "give 'exact' or 'focused'")
    focused = focus_of(exact.correlation.where, where)
    focus = Focus(
        dependent=dependent,
        aggregate=focused.aggregate,
        limits=focused.limits,
        buckets=buckets,
        strategy=strategy,
        bounds=bounds,
        width=width,
        intervals=intervals,
        text=exact.correlation.text,
    )
    value = _value(exact, exact.correlation, [exact.arguments[place] for place in focused.plain])
    return Correlated(
        "focused", (AsDouble(exact.arguments[focused.slot]), value), None, None, (focus,)
    )


def _is_text(given: object) -> bool:
    return isinstance(given, str) and bool(given)


def _value(exact: Aggregate, correlation: Correlation, plain: list[Expression]) -> Expression:
    """Return what the histogram adds for a row: its value or 1; null if the row does not count."""
    value: Expression = AsDouble(Sql("1"))
    if correlation.argument is not None:
        column = exact.arguments[correlation.argument]
        if correlation.function == "count":
            plain = [*plain, NotNull((column,))]
        else:
            value = AsDouble(column)
    condition: Expression | None = None
    for part in plain:
        condition = part if condition is None else Both(condition, part)
    return value if condition is None else Where(condition, value)
