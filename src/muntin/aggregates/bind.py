"""Aggregates with types: which accumulators a pane keeps, and how results are made of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import holistic
from muntin.aggregates.accumulators import (
    Accumulator,
    Collected,
    Count,
    Counted,
    DoubleSum,
    Extreme,
    FirstOrLast,
    KeptRows,
    OwnAccumulator,
    WholeSum,
)
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.own_aggregate import OwnAggregate, checked
from muntin.aggregates.synopses.protocol import SYNOPSES
from muntin.errors import SumOverflowError, UnsupportedTypeError
from muntin.expressions.nodes import Correlation, KeptRowsType
from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    Expression,
    Hashed,
    NotNull,
    Times,
    Where,
)
from muntin.expressions.types import check
from muntin.kernels.arrays import Ints
from muntin.kernels.numbers import decimals, double_double
from muntin.kernels.numbers.order_keys import orderable

Columns = Sequence[Sequence[pa.Array]]
Finish = Callable[[Columns], pa.Array]


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate with its types known, in a form that can be shipped to workers.

    ``slots`` are the places of the expressions of :func:`slots_of` among all slots of the query,
    ``types`` their types, ``label`` what messages call it, ``options`` its constants.
    """

    function: str
    label: str
    slots: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    ansi: bool
    options: tuple[object, ...] = ()


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate ready to run: ``finish`` takes what each accumulator slid to, in turn.

    That is its columns, one row per window; of a ``Counted`` one ``holistic.Bags``.
    """

    accumulators: tuple[Accumulator, ...]
    type: pa.DataType
    finish: Finish


def slot_types(calls: Sequence[AggregateCall]) -> dict[int, pa.DataType]:
    """The types of the slots that some calls look at, in order of their places."""
    found = {
        slot: type_ for call in calls for slot, type_ in zip(call.slots, call.types, strict=True)
    }
    return dict(sorted(found.items()))


def slots_of(aggregate: Aggregate) -> list[Expression]:
    """The native expressions an aggregate needs evaluated, its condition already applied."""
    condition, arguments = aggregate.condition, aggregate.arguments
    match aggregate.function:
        case "count" if not arguments:
            return [] if condition is None else [Where(condition, None)]
        case "count_if":
            counted = arguments[0] if condition is None else Both(condition, arguments[0])
            return [Where(counted, None)]
        case "first" | "last":
            return [arguments[0]] if condition is None else [arguments[0], condition]
        case "weighted_avg":
            value, weight = AsDouble(arguments[0]), AsDouble(arguments[1])
            complete: Expression = NotNull((value, weight))
            if condition is not None:
                complete = Both(condition, complete)
            return [Where(complete, Times(value, weight)), Where(complete, weight)]
        case "correlated":
            return [*arguments, *([] if condition is None else [condition])]
        case "focused":
            return [arguments[0], _where(condition, arguments[1])]
        case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return [_where(condition, AsDouble(arguments[0]))]
        case "own":
            return [_where(condition, argument) for argument in arguments]
        case synopsis if synopsis in SYNOPSES:
            return _synopsis_slots(aggregate)
        case _:
            return [_where(condition, arguments[0])]


def _synopsis_slots(aggregate: Aggregate) -> list[Expression]:
    """Synopses are fed doubles: numbers as they are, what is only told apart as a hash."""
    condition, arguments = aggregate.condition, aggregate.arguments
    if aggregate.function == "approx_count":
        present: Expression | None = NotNull(arguments) if arguments else None
        if present is not None and condition is not None:
            present = Both(condition, present)
        counted = condition if present is None else present
        return [] if counted is None else [AsDouble(Where(counted, None))]
    hashed = {"approx_distinct_window": 1, "hash_counts": 1, "lp_norm": 1}
    told_apart = hashed.get(aggregate.function, 0)
    made: list[Expression] = [Hashed(argument) for argument in arguments[:told_apart]]
    made += [AsDouble(argument) for argument in arguments[told_apart:]]
    return [_where(condition, slot) for slot in made]


def bind(call: AggregateCall) -> BoundAggregate:
    """The accumulators and the result of a call, or an error where a type does not suit."""
    function, slots = call.function, call.slots
    place = slots[:1]
    type_ = call.types[0] if call.types else pa.int64()
    match function:
        case "count" | "count_if":
            return BoundAggregate((Count(place),), pa.int64(), lambda given: given[0][0])
        case "min" | "max":
            _require(call, type_, orderable(type_), "a type that has an order")
            extreme = Extreme(place, type_, function == "max")
            return BoundAggregate((extreme,), type_, lambda given: given[0][0])
        case "any" | "all":
            _require(call, type_, pa.types.is_boolean(type_), "a condition (boolean)")
            extreme = Extreme(place, type_, function == "any")
            return BoundAggregate((extreme,), type_, lambda given: given[0][0])
        case "first" | "last":
            _require(call, type_, orderable(type_), "a type that has an order, to break ties")
            edge = FirstOrLast(slots, type_, function == "last")
            return BoundAggregate((edge,), type_, lambda given: given[0][1])
        case "sum":
            return _sum(call, place, type_)
        case "avg":
            return _avg(call, place, type_)
        case "correlated":
            return _correlated(call)
        case "weighted_avg":
            sums = (DoubleSum(place), DoubleSum(slots[1:2]), Count(place))
            return BoundAggregate(sums, pa.float64(), _finish_weighted)
        case "collect":
            _require(call, type_, orderable(type_), "a type that has an order, to break ties")
            collected = Collected(place, type_)
            return BoundAggregate((collected,), pa.list_(type_), lambda given: given[0][1])
        case holistic_ if holistic_ in holistic.NAMES:
            return _holistic(call, place, type_)
        case "own":
            return _own(call)
        case _:
            moments = (Count(place), DoubleSum(place), DoubleSum(place, squares=True))
            return BoundAggregate(moments, pa.float64(), _finish_moments(function))


def _own(call: AggregateCall) -> BoundAggregate:
    (given,) = call.options
    assert isinstance(given, OwnAggregate)
    own = checked(given, call.label, call.types)
    return BoundAggregate(
        (OwnAccumulator(call.slots, None, own),), own.type, lambda kept: own.finish(kept[0])
    )


def _where(condition: Expression | None, value: Expression) -> Expression:
    return value if condition is None else Where(condition, value)


def _require(call: AggregateCall, type_: pa.DataType, holds: bool, wanted: str) -> None:
    if not holds:
        raise UnsupportedTypeError(f"{call.label} needs {wanted}, but its argument is {type_}")


def _holistic(call: AggregateCall, place: tuple[int, ...], type_: pa.DataType) -> BoundAggregate:
    if call.function in holistic.OF_NUMBERS:
        _require(call, type_, _is_number(type_), "a number")
    _require(call, type_, orderable(type_), "a type that has an order")
    result, finish = holistic.answer(call.function, type_, call.options)
    return BoundAggregate((Counted(place, type_),), result, finish)


def _is_number(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )


def _sum(call: AggregateCall, place: tuple[int, ...], type_: pa.DataType) -> BoundAggregate:
    if pa.types.is_floating(type_):
        kept: tuple[Accumulator, ...] = (DoubleSum(place), Count(place))
        return BoundAggregate(kept, pa.float64(), _finish_double_sum)
    kept = (WholeSum(place, type_), Count(place))
    if pa.types.is_decimal(type_):
        wider = pa.decimal128(builtins.min(38, type_.precision + 10), type_.scale)
        return BoundAggregate(kept, wider, _finish_decimal_sum(call, wider))
    _require(call, type_, pa.types.is_integer(type_), "a number")
    return BoundAggregate(kept, pa.int64(), _finish_integer_sum(call))


def _avg(call: AggregateCall, place: tuple[int, ...], type_: pa.DataType) -> BoundAggregate:
    if pa.types.is_floating(type_):
        kept: tuple[Accumulator, ...] = (DoubleSum(place), Count(place))
        return BoundAggregate(kept, pa.float64(), _finish_double_avg)
    kept = (WholeSum(place, type_), Count(place))
    if pa.types.is_decimal(type_):
        finer = _decimal_type(type_.precision + 4, type_.scale + 4)
        return BoundAggregate(kept, finer, _finish_decimal_avg(call, type_.scale, finer))
    _require(call, type_, pa.types.is_integer(type_), "a number")
    return BoundAggregate(kept, pa.float64(), _finish_integer_avg)


def _correlated(call: AggregateCall) -> BoundAggregate:
    (correlation,) = call.options
    assert isinstance(correlation, Correlation)  # made so by the parser alone
    kept = KeptRowsType(correlation, call.types, call.ansi)

    def result(function: str, argument: int | None) -> pa.DataType:
        types = () if argument is None else (call.types[argument],)
        return bind(AggregateCall(function, call.label, (0,) * len(types), types, call.ansi)).type

    check(kept.where, call.types, result, call.label)
    type_ = result(correlation.function, correlation.argument)
    # The operator evaluates the condition where it makes windows; what it hands over is final.
    return BoundAggregate((KeptRows(call.slots, None, kept),), type_, lambda given: given[0][0])


def _decimal_type(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(builtins.min(38, precision), builtins.min(38, scale))


def _ints(columns: Sequence[pa.Array]) -> list[Ints]:
    return [column.to_numpy(zero_copy_only=False) for column in columns]


def _pair(columns: Sequence[pa.Array]) -> double_double.Pair:
    high, low = columns
    return high.to_numpy(zero_copy_only=False), low.to_numpy(zero_copy_only=False)


def _counts(columns: Sequence[pa.Array]) -> Ints:
    return _ints(columns)[0]


def _doubles(values: npt.NDArray[np.float64], valid: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, pa.float64(), mask=None if valid.all() else ~valid)


def _finish_double_sum(given: Columns) -> pa.Array:
    high, low = _pair(given[0])
    return _doubles(high + low, _counts(given[1]) > 0)


def _finish_double_avg(given: Columns) -> pa.Array:
    counts = _counts(given[1])
    return _doubles(double_double.divide(_pair(given[0]), counts.astype(np.float64)), counts > 0)


def _finish_integer_sum(call: AggregateCall) -> Finish:
    def finish(given: Columns) -> pa.Array:
        sums, overflow = decimals.wrapped(_ints(given[0]))
        if call.ansi and overflow.any():
            raise _overflow(call, "bigint", "cast its argument to decimal(38, 0)")
        return pa.array(sums, pa.int64(), mask=_counts(given[1]) == 0)

    return finish


def _finish_decimal_sum(call: AggregateCall, type_: pa.DataType) -> Finish:
    def finish(given: Columns) -> pa.Array:
        low, high, overflow = decimals.as_words(_ints(given[0]), type_.precision)
        if call.ansi and overflow.any():
            raise _overflow(call, str(type_), "cast its argument to double")
        return decimals.from_words(low, high, type_, (_counts(given[1]) > 0) & ~overflow)

    return finish


def _overflow(call: AggregateCall, type_: str, instead: str) -> SumOverflowError:
    return SumOverflowError(
        f"{call.label} left the range of {type_} (ARITHMETIC_OVERFLOW); {instead}, "
        "or set spark.sql.ansi.enabled to false to let it behave as before ANSI mode"
    )


def _finish_integer_avg(given: Columns) -> pa.Array:
    low, high = _ints(given[0])
    counts = _counts(given[1])
    sums = double_double.of_integers(high, low)
    return _doubles(double_double.divide(sums, counts.astype(np.float64)), counts > 0)


def _finish_decimal_avg(call: AggregateCall, scale: int, type_: pa.DataType) -> Finish:
    shift = 10 ** (type_.scale - scale)

    def finish(given: Columns) -> pa.Array:
        sums = decimals.as_integers(_ints(given[0]))
        counts = _counts(given[1]).tolist()
        limit = 10**type_.precision
        made: list[Decimal | None] = []
        for total, count in zip(sums, counts, strict=True):
            unscaled = _half_up(total * shift, count) if count else limit
            fits = abs(unscaled) < limit
            if call.ansi and count and not fits:
                raise _overflow(call, str(type_), "cast its argument to double")
            sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
            made.append(Decimal((sign, digits, -type_.scale)) if fits else None)
        return pa.array(made, type_)

    return finish


def _half_up(numerator: int, denominator: int) -> int:
    quotient = (2 * abs(numerator) + denominator) // (2 * denominator)
    return quotient if numerator >= 0 else -quotient


def _finish_weighted(given: Columns) -> pa.Array:
    products, weights = _pair(given[0]), _pair(given[1])
    weight = weights[0] + weights[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (products[0] + products[1]) / weight
    return _doubles(means, (_counts(given[2]) > 0) & (weight != 0))


def _finish_moments(function: str) -> Finish:
    sample, root = function.endswith("_samp"), function.startswith("stddev")

    def finish(given: Columns) -> pa.Array:
        counts = _counts(given[0])
        n = counts.astype(np.float64)
        # n * sum(x^2) - sum(x)^2 in double-double, so that a large mean does not drown it.
        spread = double_double.minus_square(
            double_double.times(_pair(given[2]), n), _pair(given[1])
        )
        free = n * (n - 1) if sample else n * n
        variance = np.maximum(double_double.divide(spread, free), 0.0)
        values = np.sqrt(variance) if root else variance
        finite = np.isfinite(_pair(given[1])[0]) & np.isfinite(_pair(given[2])[0])
        return _doubles(np.where(finite, values, np.nan), counts > int(sample))

    return finish
