"""Frames at the limits of types, where 64 bits or doubles are not enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from muntin.errors import TieError, UnsupportedTypeError
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.reference import aggregates
from muntin.reference.frames.frames import FrameReference
from muntin.reference.windows import END, MicroBatch
from muntin.spark.api.frame_kinds import aggregate, boundary, delta, region, trend
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.boundary_levels import level
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Boundary, Crossing
from muntin.specs.frames.row_kinds import Region

INTEGER = Axis(Domain.INTEGER)
LONG = pa.int64()
DOUBLE = pa.float64()
#: The type that Spark gives Python's Decimal.
WIDE = pa.decimal128(38, 18)


def decimals(*written: str, scale: int = 18) -> list[Decimal]:
    return [Decimal(one).quantize(Decimal(1).scaleb(-scale)) for one in written]


def _operator(kind: FrameKind, type_: pa.DataType) -> Any:
    read = (pa.bool_(), type_) if isinstance(kind, Region) else (type_,)
    return build(
        Framing(kind, "on"), FrameOperatorInputs(INTEGER, (pa.string(),), (), LONG, LONG, read)
    )


def _table(kind: FrameKind, type_: pa.DataType, rows: Sequence[dict[str, Any]]) -> pa.Table:
    values = pa.array([row["x"] for row in rows], type_)
    made = {
        "on": pa.array([row["on"] for row in rows], LONG),
        "k0": pa.array(["a"] * len(rows)),
        "lacks": values.is_null(nan_is_null=True),
    }
    if isinstance(kind, Region):
        return pa.table({**made, "f0": pa.array([True] * len(rows)), "f1": values})
    return pa.table({**made, "f0": values})


def _frames(told: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("frame_start", "frame_end", "along_start", "along_end")
    return [tuple(row[name] for name in names if name in row) for row in told]


def _reference(
    kind: FrameKind, rows: Sequence[dict[str, Any]], scale: int
) -> list[tuple[Any, ...]]:
    def measured(held: Sequence[Any]) -> Any:
        assert isinstance(kind, Crossing)
        function, values = kind.aggregate.function, [row["x"] for row in held]  # type: ignore[attr-defined]
        if function == "avg":
            return aggregates.mean(values, scale + 4)
        return aggregates.FUNCTIONS[function](values)

    def read(row: Any) -> Any:
        if isinstance(kind, Region):
            return True
        if isinstance(kind, Boundary) and kind.every is not None:
            return level(row["x"], kind.every.value)
        return row["x"]

    reference = FrameReference(
        Framing(kind, "on"),
        INTEGER,
        ["k"],
        read,
        aggregate=measured,
        along=lambda row: row["x"],
    )
    return _frames(reference.run([MicroBatch(rows, END)]).results)


def framed(kind: FrameKind, values: Sequence[Any], type_: pa.DataType) -> list[tuple[Any, ...]]:
    """Return the frames of values at 0, 1, 2..., the same by reference, at once and row by row."""
    rows = [{"on": on, "k": "a", "x": value} for on, value in enumerate(values)]
    work = _operator(kind, type_)
    routed = work.route(_table(kind, type_, rows))
    end = Punctuation(None, None, routed.progress, ended=True)
    found = _frames(
        work.step(MemoryState(), [InputBatch([routed.partial], end)]).results.to_pylist()
    )
    state, told = MemoryState(), []
    for row in rows:
        one = work.route(_table(kind, type_, [row]))
        now = Punctuation(row["on"], row["on"] + 1, row["on"])
        step = work.step(state, [InputBatch([one.partial], now)])
        state.apply(step.changes)
        told += step.results.to_pylist()
    told += work.step(state, [InputBatch([], end)]).results.to_pylist()
    assert found == _frames(told)
    scale = type_.scale if pa.types.is_decimal(type_) else 0
    assert found == _reference(kind, rows, scale)
    return found


# A decimal(38, 18) of 10 takes 64 bits and a half.
#   8  9 10 11 12 11
#   [-----------)
def test_a_trend_of_wide_decimals() -> None:
    rising = decimals("8", "9", "10", "11", "12", "11")
    assert framed(trend("x", "increasing"), rising, WIDE) == [(0, 4)]
    falling = [-value for value in rising]
    assert framed(trend("x", "decreasing"), falling, WIDE) == [(0, 4)]
    same = decimals("20", "20", "20.000000000000000001")
    assert framed(trend("x", "flat"), same, WIDE) == [(0, 1)]
    assert framed(trend("x", "increasing", strict=False), same, WIDE) == [(0, 2)]


# every 1:  0.5 | 3.2 | 4.5 4.7 | 5.5 | 6.5
def test_a_boundary_of_wide_decimals() -> None:
    values = decimals("0.5", "3.2", "4.5", "4.7", "5.5", "6.5", "-0.5", "-1", "-0.1")
    steps = [(0, 0), (1, 1), (2, 3), (4, 4), (5, 5), (6, 8)]
    assert framed(boundary("x", every=1), values, WIDE) == steps
    most = [Decimal(10**38 - 1), Decimal(10**38 - 2), Decimal(1 - 10**38)]
    assert framed(boundary("x", every="0.001"), most, pa.decimal128(38, 0)) == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]
    assert framed(boundary("x", every=7), most, pa.decimal128(38, 0)) == [(0, 1), (2, 2)]


def test_a_boundary_at_the_ends_of_integers() -> None:
    values = [2**62, 2**62 + 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 3, 4]
    assert framed(boundary("x", every=10), values, LONG) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert framed(boundary("x", every=0.5), values[:3], LONG) == [(0, 0), (1, 1), (2, 2)]


# Every row with a value lies in one frame; beyond the levels each value is its own level.
#   1.2 1.9 | 1e300 1e300 | 1.1e300 | inf inf | -inf | 2.0 |   | 2.1
def test_a_boundary_of_doubles_far_out() -> None:
    values = [1.2, 1.9, 1e300, 1e300, 1.1e300, math.inf, math.inf, -math.inf, 2.0, math.nan, 2.1]
    steps = [(0, 1), (2, 3), (4, 4), (5, 6), (7, 7), (8, 8), (10, 10)]
    assert framed(boundary("x", every=1), values, DOUBLE) == steps
    # 1e13 is ten million million, which is also the number of the level of 1e10.
    assert framed(boundary("x", every="0.001"), [1e10, 1e13], DOUBLE) == [(0, 0), (1, 1)]


# 2763 and 99 zeros have the mean 27.63, which is no double; one zero more is below it.
@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([2763] + [0] * 100, LONG),
        (decimals("2763", *["0"] * 100, scale=2), pa.decimal128(10, 2)),
        (decimals("-2763", *["0"] * 100, scale=2), pa.decimal128(10, 2)),
    ],
    ids=["integers", "decimals", "negative"],
)
def test_an_average_that_equals_its_limit(values: list[Any], type_: pa.DataType) -> None:
    sign, limit = ("<=", "-27.63") if values[0] < 0 else (">=", "27.63")
    met = aggregate(f"avg(x) {sign} {limit}", span="maximal")
    assert framed(met, values, type_) == [(0, 99)]
    passed = aggregate(f"avg(x) {sign[0]} {limit}", span="maximal")
    assert framed(passed, values, type_) == [(0, 98)]


# An average of decimals is rounded to four decimals more: 1/3 is 0.333333 of a decimal(10, 2).
@pytest.mark.parametrize(
    ("condition", "last"),
    [
        ("avg(x) <= 0.333333", 2),
        ("avg(x) < 0.333333", None),
        ("avg(x) >= 0.333333", 2),
        ("avg(x) > 0.333333", 1),
        ("avg(x) > 0.3333325", 2),
        ("avg(x) >= 0.3333331", 1),
    ],
)
@pytest.mark.parametrize("negative", [False, True])
def test_an_average_of_decimals_is_compared_as_it_is_shown(
    condition: str, last: int | None, negative: bool
) -> None:
    if "<" in condition:
        values = decimals("0", "0", "1", "9", scale=2)
    else:
        values = decimals("1", "0", "0", scale=2)
    if negative:
        turned = str.maketrans("<>", "><")
        function, sign, limit = condition.split()
        condition = f"{function} {sign.translate(turned)} -{limit}"
        values = [-value for value in values]
    found = framed(aggregate(condition, span="maximal"), values, pa.decimal128(10, 2))
    assert found[0] == (0, 1 if last is None else last)


MOST = 2**63 - 1


@pytest.mark.parametrize(
    ("condition", "values", "frames"),
    [
        ("max(x) > 9200000000000000000", [1, 9200000000000000001, 2], [(0, 1)]),
        ("max(x) >= 9223372036854775807", [1, MOST - 1, MOST], [(0, 2)]),
        ("max(x) > 9223372036854775807", [1, MOST - 1, MOST], []),
        ("min(x) > -9223372036854775808", [-MOST, -MOST - 1, 1], [(0, 0)]),
        ("sum(x) > 9223372036854775807", [MOST, 0, 1, 5], [(0, 2)]),
        ("sum(x) <= 18446744073709551614", [MOST, MOST, 1, MOST], [(0, 1), (2, 3)]),
        ("sum(x) >= -9223372036854775808", [-MOST, -1, -1, 5], [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ("count(x) <= 1.5", [1, 2, 3], [(0, 0), (1, 1), (2, 2)]),
        ("sum(x) <= 1e300", [MOST, MOST], [(0, 1)]),
    ],
)
def test_integers_near_the_end_of_64_bits(
    condition: str, values: list[int], frames: list[tuple[int, int]]
) -> None:
    assert framed(aggregate(condition), values, LONG) == frames


#  -2^62        2^62
#  [--------------]   apart by 2^63, which is less than 10^19
def test_a_delta_wider_than_half_of_64_bits() -> None:
    assert framed(delta("x", 10**19), [-(2**62), 2**62], LONG) == [(0, 1)]
    ends = [-MOST - 1, MOST, -MOST - 1]
    assert framed(delta("x", 2**64), ends, LONG) == [(0, 2)]
    assert framed(delta("x", 2**64 - 1), ends, LONG) == [(0, 0), (1, 1), (2, 2)]
    assert framed(delta("x", 2**64 - 2, span="minimal"), ends, LONG) == [(0, 1)]
    assert framed(delta("x", 2**64 - 1, span="minimal"), ends, LONG) == []


def _of_one_column(
    kind: FrameKind, values: Sequence[Any], type_: pa.DataType
) -> list[tuple[Any, ...]]:
    """Return the regions of rows that all lie at 0."""
    rows = [{"on": 0, "k": "a", "x": value} for value in values]
    work = _operator(kind, type_)
    routed = work.route(_table(kind, type_, rows))
    end = Punctuation(None, None, routed.progress, ended=True)
    found = _frames(
        work.step(MemoryState(), [InputBatch([routed.partial], end)]).results.to_pylist()
    )
    assert found == _reference(kind, rows, 0)
    return found


def test_positions_beyond_doubles_lie_apart() -> None:
    found = _of_one_column(region("b", along="x"), [2**53, 2**53 + 1], LONG)
    assert found == [(0, 0, 2**53, 2**53 + 1)]


def test_positions_of_decimals_and_extents_between_their_units() -> None:
    narrow = pa.decimal128(18, 2)
    most = decimals("9999999999999999.98", "9999999999999999.99", scale=2)
    assert _of_one_column(region("b", along="x", min_extent="0.005"), most, narrow) == [
        (0, 0, *most)
    ]
    assert _of_one_column(region("b", along="x", min_extent="0.015"), most, narrow) == []
    ends = [-(2**63), 2**63 - 1]
    assert _of_one_column(region("b", along="x", min_extent=2**64 - 1), ends, LONG) == [
        (0, 0, *ends)
    ]
    assert _of_one_column(region("b", along="x", min_extent=2**64), ends, LONG) == []


def test_positions_may_be_infinite() -> None:
    ends = [-math.inf, math.inf]
    for least in (None, 1e30):
        kind = region("b", along="x", min_extent=least)
        assert _of_one_column(kind, ends, DOUBLE) == [(0, 0, *ends)]
    found = framed(region("b", along="x"), [math.inf, 1.0, math.inf], DOUBLE)
    assert found == [(0, 0, math.inf, math.inf), (1, 1, 1.0, 1.0), (2, 2, math.inf, math.inf)]


@pytest.mark.parametrize(
    "kind",
    [delta("x", 5), region("b", along="x")],
    ids=lambda kind: kind.word,
)
def test_differences_of_wide_decimals_are_refused(kind: FrameKind) -> None:
    says = (
        rf"{kind.word}\(.* computes with decimals of up to 18 digits, and this is "
        r"decimal128\(38, 18\); cast it to decimal\(18, 9\) or double"
    )
    with pytest.raises(UnsupportedTypeError, match=says):
        _operator(kind, WIDE)


def test_a_tie_on_a_grid_says_what_a_region_can_do() -> None:
    kind = region("b", along="x")
    work = _operator(kind, LONG)
    routed = work.route(_table(kind, LONG, [{"on": 3, "x": 7}, {"on": 3, "x": 7}]))
    end = Punctuation(None, None, routed.progress, ended=True)
    with pytest.raises(
        TieError, match=r"'a' has more than one row at 3 and 7 along; .*tie_order=$"
    ):
        work.step(MemoryState(), [InputBatch([routed.partial], end)])
