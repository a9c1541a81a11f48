from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.accumulators import (
    Accumulator,
    AccumulatorKind,
    Collected,
    Count,
    Counted,
    DoubleSum,
    Extreme,
    FirstOrLast,
    WholeSum,
)

TICKS = np.array([5, 6, 7])
INTS = pa.array([1, None, -1], pa.int32())
DECIMALS = pa.array([Decimal("1.50"), None, Decimal("-1.50")])
DOUBLES = pa.array([1.5, None, 0.1])
FLAGS = pa.array([True, None, False])
WORDS = pa.array(["a", None, "b"])
SLOTS = [INTS, DECIMALS, DOUBLES, FLAGS, WORDS]


def lifted(accumulator: Accumulator) -> list[list[object]]:
    columns = accumulator.lift(SLOTS, TICKS)
    assert [column.type for column in columns] == accumulator.columns
    return [column.to_pylist() for column in columns]


@pytest.mark.parametrize(
    ("accumulator", "kind", "columns"),
    [
        (Count(()), AccumulatorKind.ADD, [[1, 1, 1]]),
        (Count((0,)), AccumulatorKind.ADD, [[1, 0, 1]]),
        (WholeSum((0,), INTS.type), AccumulatorKind.ADD, [[1, 0, 2**32 - 1], [0, 0, -1]]),
        (
            WholeSum((1,), DECIMALS.type),
            AccumulatorKind.ADD,
            [[150, 0, 2**32 - 150], [0, 0, 2**32 - 1], [0, 0, 2**32 - 1], [0, 0, -1]],
        ),
        (DoubleSum((2,)), AccumulatorKind.ADD_EXACTLY, [[1.5, 0.0, 0.1], [0.0, 0.0, 0.0]]),
        (DoubleSum((0,)), AccumulatorKind.ADD_EXACTLY, [[1.0, 0.0, -1.0], [0.0, 0.0, 0.0]]),
        (Extreme((4,), pa.string()), AccumulatorKind.LEAST, [["a", None, "b"]]),
        (Extreme((4,), pa.string(), greatest=True), AccumulatorKind.GREATEST, [["a", None, "b"]]),
        (FirstOrLast((4,), pa.string()), AccumulatorKind.EARLIEST, [[5, 6, 7], ["a", None, "b"]]),
        (
            FirstOrLast((4,), pa.string(), latest=True),
            AccumulatorKind.LATEST,
            [[5, 6, 7], ["a", None, "b"]],
        ),
        (
            FirstOrLast((4, 3), pa.string()),
            AccumulatorKind.EARLIEST,
            [[5, None, None], ["a", None, "b"]],
        ),
        (Counted((4,), pa.string()), AccumulatorKind.COUNTED, [[["a"], [], ["b"]], [[1], [], [1]]]),
        (
            Collected((4,), pa.string()),
            AccumulatorKind.COLLECTED,
            [[[5], [], [7]], [["a"], [], ["b"]]],
        ),
        (Counted((0,), pa.int32()), AccumulatorKind.COUNTED, [[[1], [], [-1]], [[1], [], [1]]]),
    ],
)
def test_rows_become_panes_of_one_row(
    accumulator: Accumulator, kind: AccumulatorKind, columns: list[list[object]]
) -> None:
    assert accumulator.kind is kind
    assert lifted(accumulator) == columns


def test_what_the_accumulators_say_of_themselves() -> None:
    bounded = [Count(()), Extreme((0,), pa.int32()), FirstOrLast((0,), pa.int32())]
    assert all(accumulator.bounded for accumulator in bounded)
    assert not Counted((0,), pa.int32()).bounded
    assert not Collected((0,), pa.int32()).bounded
    assert [a.needs_order for a in bounded] == [False, False, True]
    assert Collected((0,), pa.int32()).needs_order
    assert not Counted((0,), pa.int32()).needs_order


def test_squares_are_exact() -> None:
    high, low = DoubleSum((2,), squares=True).lift(SLOTS, TICKS)
    pairs = zip(high.to_pylist(), low.to_pylist(), strict=True)
    exact = [Fraction(first) + Fraction(rest) for first, rest in pairs]
    assert exact == [Fraction(1.5) ** 2, 0, Fraction(0.1) ** 2]


def test_equal_accumulators_are_kept_once() -> None:
    kept = {
        DoubleSum((0,)),
        DoubleSum((0,)),
        DoubleSum((0,), squares=True),
        Count((0,)),
        Count((0,)),
        Count(()),
        WholeSum((0,), pa.int64()),
        Extreme((0,), pa.int64()),
        Extreme((0,), pa.int64(), greatest=True),
    }
    assert len(kept) == 7


def test_the_base_is_only_a_shape() -> None:
    bare = Accumulator(())
    with pytest.raises(NotImplementedError):
        _ = bare.kind
    with pytest.raises(NotImplementedError):
        _ = bare.columns
    with pytest.raises(NotImplementedError):
        bare.lift([], TICKS)
