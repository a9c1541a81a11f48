"""Frames by aggregates that kernels do not compute: sketches, and a user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.framing import Framing
from tests.frames.feeding import COUNT, feeding, line
from tests.properties.measures import Turned

DISTINCT = "approx_count_distinct(v)"


class Listed(mt.OwnAggregate):
    """Keeps every value."""

    partials = (pa.list_(pa.int64()),)
    bounded = False

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.int64()


# on     0 1 2 3 4 5 6 7 8 9
# v      1 1 2 2 1 3 3 4 5 5
#        [=======] [===] [=]       at most two different values
def test_at_most_two_different_values() -> None:
    for split in (1, 3, 10):
        fed = feeding(mt.aggregate(f"{DISTINCT} <= 2"), [COUNT])
        rows, found = line("1 1 2 2 1 3 3 4 5 5"), []
        for first in range(0, 10, split):
            found += fed.frames(rows[first : first + split], upto=first + split)
            assert fed.rows_of("keys") == 1
        found += fed.frames(end=True)
        assert [one[1:4] for one in found] == [(0, 4, 5), (5, 7, 3), (8, 9, 2)]
        assert fed.kept == {}


# on     0 1 2 3 4 5 6 7 8
# v      1 1 ? 2 3 1 2 4 4
#        [=======] [===]           three different values, the missing one carried
def test_until_there_are_three_different_values() -> None:
    kind = mt.aggregate(f"{DISTINCT} >= 3")
    carried = feeding(kind, missing="carry").frames(line("1 1 ? 2 3 1 2 4 4"), end=True)
    assert [one[1:5] for one in carried] == [(0, 4, 4, 1), (5, 7, 3, 0)]
    # A row without a value ends the open frame, which is no frame yet.
    broken = feeding(kind).frames(line("1 1 ? 2 3 1 2 4 4"), end=True)
    assert [one[1:5] for one in broken] == [(3, 5, 3, 0)]


# on     0 1 2 3 4 5 6
# v      2 1 3 1 4 4 4           frames start at 1 only; max_count cuts at three rows
#          [=] [===]
def test_starts_and_cuts() -> None:
    kind = mt.aggregate(f"{DISTINCT} <= 2", start="v = 1")
    found = feeding(kind, max_count=3, cut=True).frames(line("2 1 3 1 4 4 4"), end=True)
    assert [one[1:4] for one in found] == [(1, 2, 2), (3, 5, 3)]


# on     0 1 2 3 4 5 6 7
# v      9 1 2 8 8 8 1 9
#        []    [=======]         the middle value is above 3
def test_a_median_by_a_sketch() -> None:
    kind = mt.aggregate("approx_percentile(v, 0.5) > 3", span="maximal")
    found = feeding(kind).frames(line("9 1 2 8 8 8 1 9"), end=True)
    assert [one[1:3] for one in found] == [(0, 0), (3, 7)]


# A frame longer than the rows that are read ahead, in steps of one and of many rows.
@pytest.mark.parametrize("split", [7, 100, 500])
def test_long_frames(split: int) -> None:
    rows = line(" ".join(str(number // 100) for number in range(500)))
    fed, found = feeding(mt.aggregate(f"{DISTINCT} <= 2")), []
    for first in range(0, 500, split):
        found += fed.frames(rows[first : first + split], upto=first + split)
    found += fed.frames(end=True)
    assert [one[1:4] for one in found] == [(0, 199, 200), (200, 399, 200), (400, 499, 100)]


def of(condition: str, **properties: Any) -> Any:
    functions = {"listed": Listed(), "turned": Turned()}
    span = properties.pop("span", None)
    kind = mt.aggregate(condition, span, functions=functions)
    read = (pa.int64(),) * (2 if "turned" in condition else 1)
    read = (pa.string(),) if "(name)" in condition else read
    axis = Axis(Domain.INTEGER)
    return build(
        Framing(kind, "on", **properties),
        FrameOperatorInputs(axis, (pa.string(),), (), pa.int64(), pa.int64(), read),
    )


@pytest.mark.parametrize(
    ("condition", "properties", "error", "message"),
    [
        ("median(v) > 3", {}, ArgumentError, r"'median\(v\)' .*would have to keep all its rows"),
        (
            "median(v) > 3",
            {},
            ArgumentError,
            "these do not need that: count, .*, and those whose state is bounded: sketches and",
        ),
        ("listed(v) > 3", {}, ArgumentError, r"grows with the rows .*\(bounded = False\); these"),
        (
            f"{DISTINCT} > 3",
            {"scheme": "advancing"},
            ArgumentError,
            "frames cannot overlap; leave out scheme= and restart='continue', or use one of count",
        ),
        (
            "approx_top_k(v) > 3",
            {},
            UnsupportedTypeError,
            r"aggregate\(approx_top_k.* compares with a number, but approx_top_k.* is list",
        ),
        (
            "max(name) > 3",
            {},
            UnsupportedTypeError,
            r"compares with a number, but max\(name\) is string",
        ),
    ],
)
def test_aggregates_that_cannot_decide(
    condition: str, properties: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        of(condition, **properties)


def test_two_arguments() -> None:
    assert of("turned(v, w) > 3").measuring.types == [pa.float64()]


def test_an_unknown_function_is_not_found() -> None:
    with pytest.raises(mt.ExpressionError, match="compare one aggregate with a number"):
        mt.aggregate("turned(v, w) > 3")
    with pytest.raises(ArgumentError, match=r"turned must be an mt\.OwnAggregate"):
        mt.aggregate("turned(v, w) > 3", functions={"turned": Turned})  # type: ignore[dict-item]
