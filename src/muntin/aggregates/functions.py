"""The aggregates that users write: ``mt.max("speed").alias("hi")``.

An :class:`Aggregate` is a frozen description. Its :class:`~muntin.aggregates.definition.Definition`
turns it into accumulators and a result column once its types are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from muntin.aggregates.bind import definition_of, parse_condition
from muntin.aggregates.holistic import positive_count, positive_share, quantile_shares
from muntin.aggregates.order import delimiter_text
from muntin.aggregates.own_aggregate import OwnAggregate, described
from muntin.errors import ArgumentError
from muntin.expressions.nodes import Correlation
from muntin.expressions.spark_expressions import Both, Expression, Name, Native, NotNull, Sql
from muntin.specs.emission import checked_confidence
from muntin.specs.may_change import MAY_CHANGE


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function, what it is applied to, and which rows it counts.

    ``options`` are its constants, such as the share of a quantile.
    """

    function: str
    arguments: tuple[Expression, ...]
    condition: Expression | None = None
    name: str | None = field(default=None, metadata=MAY_CHANGE)
    options: tuple[object, ...] = ()

    def alias(self, name: str) -> Aggregate:
        """Name the result column, as ``Column.alias`` does."""
        return replace(self, name=name)

    def filter(self, condition: object) -> Aggregate:
        """Count only rows where a condition is true: ``FILTER (WHERE ...)``.

        >>> print(avg("speed").filter("lane = 1").alias("left_lane").column_name)
        left_lane
        """
        return self.filter_by(_condition_expression("condition", condition))

    def filter_by(self, condition: Expression) -> Aggregate:
        """Count only rows where a parsed condition is true; see :meth:`filter`."""
        both = condition if self.condition is None else Both(self.condition, condition)
        return replace(self, condition=both)

    @property
    def column_name(self) -> str:
        """The result column: the alias, or the call as Spark would print it."""
        return self.name if self.name is not None else str(self)

    def __str__(self) -> str:
        # An option that is not set is not shown.
        options = [option for option in self.options if option is not None and option is not False]
        constant = definition_of(self.function).constant
        is_text = constant is not None and constant.text
        constants = [f"'{option}'" if is_text else _shown(option) for option in options]
        inside = ", ".join([*(map(str, self.arguments or ("*",))), *constants])
        suffix = "" if self.condition is None else f" FILTER (WHERE {self.condition})"
        if self.options and isinstance(self.options[0], OwnAggregate):
            return described(self.options[0], [str(a) for a in self.arguments]) + suffix
        return f"{self.function}({inside}){suffix}"


@dataclass(frozen=True)
class Correlated(Aggregate):
    """An aggregate over rows that meet a condition on the whole window.

    Its one option is that condition: a ``Correlation``, or the ``Focus`` of a focused histogram.
    """

    @property
    def correlation(self) -> Correlation:
        (correlation,) = self.options
        assert isinstance(correlation, Correlation)  # only the parser makes a Correlated
        return correlation

    def __str__(self) -> str:
        suffix = "" if self.condition is None else f" FILTER (WHERE {self.condition})"
        return f"{self.options[0]}{suffix}"


Column = object  # a column name or a PySpark Column; this package does not import PySpark


def count(column: Column = "*") -> Aggregate:
    """How many rows a window holds, or how many have a value in ``column``.

    >>> print(count(), count("speed"))
    count(*) count(speed)
    """
    # The type is checked first, because == on a PySpark Column returns a Column.
    if (isinstance(column, str) and column == "*") or (isinstance(column, int) and column == 1):
        return Aggregate("count", ())
    return _of("count", column)


def sum(column: Column) -> Aggregate:
    """The sum: exact for integers and decimals; for doubles correctly rounded, order-free."""
    return _of("sum", column)


def min(column: Column) -> Aggregate:
    """The least value of any ordered type; NaN is greater than every number, as in Spark."""
    return _of("min", column)


def max(column: Column) -> Aggregate:
    """The greatest value of any ordered type; NaN is greater than every number, as in Spark."""
    return _of("max", column)


def avg(column: Column) -> Aggregate:
    """The mean: a double, or for decimals a decimal with four more digits, as in Spark."""
    return _of("avg", column)


def avg_low(column: Column, confidence: float = 0.95) -> Aggregate:
    """The lower end of a confidence interval of the mean; null for fewer than two values.

    The mean less z s / sqrt(n), where s is the standard deviation of the n values, which are taken
    for a random sample: of a window that is still open, as if its rows came in random order.

    >>> print(avg_low("speed"), avg_high("speed", 0.99))
    avg_low(speed, 0.95) avg_high(speed, 0.99)
    """
    return replace(_of("avg_low", column), options=(checked_confidence("confidence", confidence),))


def avg_high(column: Column, confidence: float = 0.95) -> Aggregate:
    """The upper end of a confidence interval of the mean, as :func:`avg_low`."""
    return replace(_of("avg_high", column), options=(checked_confidence("confidence", confidence),))


def var_samp(column: Column) -> Aggregate:
    """The variance of a sample (divided by n - 1); null for a single value."""
    return _of("var_samp", column)


def var_pop(column: Column) -> Aggregate:
    """The variance of a population (divided by n)."""
    return _of("var_pop", column)


def stddev_samp(column: Column) -> Aggregate:
    """The standard deviation of a sample."""
    return _of("stddev_samp", column)


def stddev_pop(column: Column) -> Aggregate:
    """The standard deviation of a population."""
    return _of("stddev_pop", column)


def first(column: Column, *, ignore_nulls: bool = False) -> Aggregate:
    """The value at the least ``on`` of the window; for equal ``on`` the least value, null first."""
    return _edge("first", column, ignore_nulls)


def last(column: Column, *, ignore_nulls: bool = False) -> Aggregate:
    """The value at the greatest ``on`` of the window; for equal ``on`` the greatest value."""
    return _edge("last", column, ignore_nulls)


def weighted_avg(value: Column, weight: Column) -> Aggregate:
    """``sum(value * weight) / sum(weight)`` over rows that have both; null if weights add to 0.

    >>> print(weighted_avg("speed", "volume"))
    weighted_avg(speed, volume)
    """
    return Aggregate(
        "weighted_avg", (column_expression("value", value), column_expression("weight", weight))
    )


def median(column: Column) -> Aggregate:
    """The middle value, or the mean of the two middle values: ``quantile(column, 0.5)``."""
    return _of("median", column)


def quantile(column: Column, share: float | Sequence[float]) -> Aggregate:
    """The number below which a share of the values lies; exact, like Spark's ``percentile``.

    The result is interpolated linearly between two values. NaN is greater than every number.
    Several shares give an array of doubles.

    >>> print(quantile("speed", 0.95), quantile("speed", [0.5, 0.95]))
    quantile(speed, 0.95) quantile(speed, array(0.5, 0.95))
    """
    return replace(_of("quantile", column), options=(quantile_shares("share", share),))


def mode(column: Column) -> Aggregate:
    """The most frequent value of any ordered type; the least of equally frequent values."""
    return _of("mode", column)


def count_distinct(column: Column) -> Aggregate:
    """How many different values there are; nulls do not count, NaN is one value, -0.0 is 0.0."""
    return _of("count_distinct", column)


def collect(column: Column) -> Aggregate:
    """The values as an array in order of ``on``; values with equal ``on`` are sorted.

    Nulls are left out, as in Spark's ``collect_list``, which keeps the order of arrival.
    """
    return _of("collect", column)


def collect_set(column: Column) -> Aggregate:
    """The different values as a sorted array; nulls are left out."""
    return _of("collect_set", column)


def heavy_hitters(column: Column, share: float = 0.05) -> Aggregate:
    """The values that at least a share of the rows have [Panes, Query 4], with their counts.

    The result is an array of structs ``item``, ``count``, the most frequent first; equally frequent
    items are sorted. Rows without a value are ignored.

    >>> print(heavy_hitters("item"))
    heavy_hitters(item, 0.05)
    """
    return replace(_of("heavy_hitters", column), options=(positive_share("share", share),))


def top_k(column: Column, k: int) -> Aggregate:
    """The k most frequent values with their counts, in the form of :func:`heavy_hitters`.

    >>> print(top_k("item", 3))
    top_k(item, 3)
    """
    return replace(_of("top_k", column), options=(positive_count("k", k),))


def any(condition: object) -> Aggregate:
    """Whether a condition is true for some row; nulls do not count."""
    return Aggregate("any", (_condition_expression("condition", condition),))


def all(condition: object) -> Aggregate:
    """Whether a condition is true for every row that has a value."""
    return Aggregate("all", (_condition_expression("condition", condition),))


def count_if(condition: object) -> Aggregate:
    """How many rows a condition is true for.

    >>> print(count_if("speed < 30"))
    count_if(speed < 30)
    """
    return Aggregate("count_if", (_condition_expression("condition", condition),))


def any_value(column: Column, *, ignore_nulls: bool = False) -> Aggregate:
    """Some value: the first along ``on``, so that every run returns the same one."""
    return _edge("any_value", column, ignore_nulls)


def max_by(column: Column, by: Column) -> Aggregate:
    """The value of ``column`` in the row where ``by`` is greatest.

    Rows without ``by`` do not count. Of rows that are equal in ``by``, the one with the greatest
    value counts.

    >>> print(max_by("plate", "speed"))
    max_by(plate, speed)
    """
    return _of_two("max_by", column, by)


def min_by(column: Column, by: Column) -> Aggregate:
    """The value of ``column`` in the row where ``by`` is least; see :func:`max_by`.

    Of rows that are equal in ``by`` the one with the least value counts, null first.
    """
    return _of_two("min_by", column, by)


def listagg(column: Column, delimiter: str = "") -> Aggregate:
    """The texts of a window as one, in order of ``on``; texts with equal ``on`` are sorted.

    Nulls are left out. Without any text the result is null.

    >>> print(listagg("plate", ", "))
    listagg(plate, ', ')
    """
    return replace(_of("listagg", column), options=(delimiter_text("delimiter", delimiter),))


def sum_distinct(column: Column) -> Aggregate:
    """The sum of the different values: ``sum(DISTINCT x)`` in SQL."""
    return _of("sum_distinct", column)


def avg_distinct(column: Column) -> Aggregate:
    """The mean of the different values: ``avg(DISTINCT x)`` in SQL."""
    return _of("avg_distinct", column)


def bit_and(column: Column) -> Aggregate:
    """The bits that all integers of a window have."""
    return _of("bit_and", column)


def bit_or(column: Column) -> Aggregate:
    """The bits that some integer of a window has."""
    return _of("bit_or", column)


def bit_xor(column: Column) -> Aggregate:
    """The bits that an odd number of the integers of a window have."""
    return _of("bit_xor", column)


def covar_pop(x: Column, y: Column) -> Aggregate:
    """The covariance of a population, over rows that have both values."""
    return _of_two("covar_pop", x, y)


def covar_samp(x: Column, y: Column) -> Aggregate:
    """The covariance of a sample (divided by n - 1); null for a single row."""
    return _of_two("covar_samp", x, y)


def corr(x: Column, y: Column) -> Aggregate:
    """Pearson's correlation, from -1 to 1; null where one of the two does not vary.

    >>> print(corr("speed", "volume"))
    corr(speed, volume)
    """
    return _of_two("corr", x, y)


def skewness(column: Column) -> Aggregate:
    """How far a population leans to one side; null where all values are equal.

    It is made of sums of cubes with about 106 bits. Where the mean is a million times the
    deviation, 18 decimal digits of these cancel, and about 13 remain.
    """
    return _of("skewness", column)


def kurtosis(column: Column) -> Aggregate:
    """How heavy the tails of a population are, less the 3 of a normal one; null as `skewness`.

    It is made of sums of fourth powers with about 106 bits. Where the mean is ten thousand times
    the deviation, 16 decimal digits of these cancel, and about 15 remain.
    """
    return _of("kurtosis", column)


def own(aggregate: OwnAggregate, *columns: Column) -> Aggregate:
    """A user's own aggregate over its arguments: ``mt.own(GeometricMean(), "price")``."""
    candidate: object = aggregate
    if not isinstance(candidate, OwnAggregate):
        wanted = "an object, not the class" if isinstance(candidate, type) else "an object"
        raise ArgumentError("aggregate", candidate, f"give {wanted}; its base is mt.OwnAggregate")
    if not columns:
        raise ArgumentError("columns", columns, "name at least one column for it to look at")
    arguments = tuple(column_expression("columns", column) for column in columns)
    return Aggregate("own", arguments, options=(aggregate,))


def approx_count_distinct(column: Column, error: float = 0.02) -> Aggregate:
    """About how many different values there are: a HyperLogLog of at most 2.2/error^2 bytes.

    ``error`` is the relative standard error, from 0.0008 to 0.09: two answers in three are off by
    less than it, 95 in 100 by less than twice it, 997 in 1000 by less than three times it.
    Small counts (to about a tenth of the bytes) are all but exact. The answer depends on the
    values alone, not on how rows were split, ordered or repeated. Nulls do not count.

    >>> print(approx_count_distinct("user"))
    approx_count_distinct(user, error=0.02)
    """
    from muntin.aggregates.sketches import ApproxCountDistinct  # here, since it loads datasketches

    return own(ApproxCountDistinct(error), column)


def approx_quantile(column: Column, p: float | Sequence[float], error: float = 0.01) -> Aggregate:
    """A value of about rank ``p``, or an array of values if ``p`` is a list: a KLL sketch.

    ``error`` is a difference of ranks, from 0.00005 to 0.2: in a window of n values the answer for
    0.95 is one whose rank lies between 0.95 - error and 0.95 + error of n, in 99 of 100
    answers. It does not bound the difference between values. The sketch chooses at random
    which values it keeps, so two runs may differ within that bound. The answer is exact in a
    window of few values, and for ``p`` 0 and 1. The column must be a number; the answer is a
    double, without interpolation. NaN is greater than every number, as in Spark; nulls do not
    count.

    >>> print(approx_quantile("delay", 0.95))
    approx_percentile(delay, p=0.95, error=0.01)
    """
    from muntin.aggregates.sketches import ApproxQuantile, shares_of

    return own(ApproxQuantile(shares_of(p), error), column)


def approx_top_k(column: Column, k: int = 5, error: float = 0.001) -> Aggregate:
    """The ``k`` most frequent values: an array of (item, count, low, high), most frequent first.

    ``low`` and ``high`` are certain: the true count lies between them, and in a window of n values
    they are at most ``error`` times n apart (``error`` from 0.0000001 to 0.4). ``count``, the
    estimate, is never too small. A value that is left out occurs at most as often as the last
    ``count`` says, or ``error`` times n if that is more. While a window has few different values
    (below 2.6/error) counts are exact. How rows were split may change answers within these
    bounds. Nulls do not count.

    >>> print(approx_top_k("page", 3))
    approx_top_k(page, k=3, error=0.001)
    """
    from muntin.aggregates.sketches import ApproxTopK

    return own(ApproxTopK(k, error), column)


def slots_of(aggregate: Aggregate) -> list[Expression]:
    """Return what Spark evaluates for each row, with the aggregate's condition applied."""
    return definition_of(aggregate.function).slots(aggregate.arguments, aggregate.condition)


def ignoring_nulls(aggregate: Aggregate) -> Aggregate:
    """Return the same aggregate over rows whose first argument is not null."""
    return aggregate.filter_by(NotNull(aggregate.arguments[:1]))


def _shown(constant: object) -> str:
    """Return a constant as it is written in SQL."""
    if isinstance(constant, tuple):
        return f"array({', '.join(map(str, constant))})"
    return str(constant)


def _edge(function: str, column: Column, ignore_nulls: bool) -> Aggregate:
    plain = _of(function, column)
    return replace(ignoring_nulls(plain), name=str(plain)) if ignore_nulls else plain


def _of(function: str, column: Column) -> Aggregate:
    return Aggregate(function, (column_expression("column", column),))


def _of_two(function: str, first: Column, second: Column) -> Aggregate:
    given = zip(("first", "second"), (first, second), strict=True)
    return Aggregate(function, tuple(column_expression(name, each) for name, each in given))


def column_expression(argument: str, given: Column) -> Expression:
    if isinstance(given, str) and given and given != "*":
        return Name(given)
    if _is_native(given):
        return Native(given)
    raise ArgumentError(argument, given, "it must be a column name or a PySpark Column")


def _condition_expression(argument: str, condition: object) -> Expression:
    if isinstance(condition, str) and condition:
        return Sql(parse_condition(condition))
    if _is_native(condition):
        return Native(condition)
    raise ArgumentError(
        argument, condition, "it must be SQL text such as 'speed < 30', or a Column"
    )


def _is_native(value: object) -> bool:
    return type(value).__name__ == "Column" and callable(getattr(value, "alias", None))
