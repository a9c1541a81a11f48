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
from muntin.operators.frames.kinds.aggregate import refuse_unbounded
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
        (
            f"{DISTINCT} > 3",
            {"scheme": "advancing"},
            ArgumentError,
            "frames cannot overlap; leave out scheme= and restart='continue', or compare one of c",
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


# on     0 1 2 3 4 5 6 7 8 9 ...
# v      1 2 9 4 5 1 1 1 1 7 8 0 2
@pytest.mark.parametrize(
    ("condition", "span", "expected"),
    [
        ("max(v) - min(v) > 5", None, [(0, 2), (3, 9), (10, 11)]),
        ("sum(v) >= 10 AND 3 <= count(v)", None, [(0, 2), (3, 5), (6, 9), (10, 12)]),
        # A row that alone breaks the condition of a maximal frame lies in none.
        ("sum(v) / count(v) <= 3 AND duration < 4", None, [(0, 1), (5, 8), (11, 12)]),
        # One row has no duration, so nothing is divided, and null is not true.
        ("count(v) / duration >= 1", None, [(p, p + 1) for p in range(0, 12, 2)]),
        ("median(v) > 3", None, [(0, 4)]),
        ("sum(v) > 5 OR count(v) >= 3", "minimal", [(0, 2), (3, 4), (5, 7), (8, 9), (10, 10)]),
        ("sum(v) BETWEEN 3 AND 9", "maximal", [(2, 2), (3, 4), (9, 9), (10, 11)]),
        ("NOT sum(v) > 9", "maximal", [(0, 1), (2, 2), (3, 4), (5, 8), (9, 9), (10, 11), (12, 12)]),
    ],
)
@pytest.mark.parametrize("split", [1, 4, 13])
def test_conditions_on_several_aggregates(
    condition: str, span: str | None, expected: list[tuple[int, int]], split: int
) -> None:
    fed, rows = feeding(mt.aggregate(condition, span)), line("1 2 9 4 5 1 1 1 1 7 8 0 2")
    found = []
    for first in range(0, 13, split):
        found += fed.frames(rows[first : first + split], upto=min(first + split, 13))
    found += fed.frames(end=True)
    assert [row[1:3] for row in found] == expected


@pytest.mark.parametrize(
    ("signs", "span"),
    [
        ("sum(v) > 3 AND 2 <= max(v)", "minimal"),
        ("sum(v) < 3 AND min(v) <= 2 AND duration < 9", "maximal"),
        ("sum(v) > avg(v)", "minimal"),
    ],
)
def test_the_signs_of_a_condition_say_which_frames_it_makes(signs: str, span: str) -> None:
    assert mt.aggregate(signs).span == span


@pytest.mark.parametrize(
    "condition",
    [
        "sum(v) > 3 AND max(v) < 2",
        "sum(v) > 3 OR max(v) > 2",
        "NOT (sum(v) > 3 AND max(v) > 1)",
        "sum(v) BETWEEN 1 AND 5",
        "sum(v) = max(v)",
    ],
)
def test_other_conditions_need_a_span(condition: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        mt.aggregate(condition)
    assert str(refused.value) == (
        f"span=None cannot be used: {condition!r} does not say which frames it makes, as > and >= "
        "alone, or < and <= alone, joined by AND would; give span='minimal' (a frame ends with the "
        "first row that makes it true) or span='maximal' (it grows while it is true)"
    )
    assert mt.aggregate(condition, "maximal").label == f"aggregate({condition}, span=maximal)"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("sum(v) > v", "column 'v' stands outside an aggregate; of a frame as a whole there is"),
        ("sum(v) > 2 AND foo(v) > 3", r"'foo\(v\)' cannot be used; \+ - \* / abs, comparisons"),
        ("v > 3", "compare one aggregate with a number, .*, or several, such as 'sum"),
        ("count(*) FILTER (WHERE v > avg(v)) / count(*) > 2", "a correlated aggregate cannot"),
    ],
)
def test_conditions_that_cannot_be_read(condition: str, message: str) -> None:
    with pytest.raises(mt.ExpressionError, match=message):
        mt.aggregate(condition)


def test_a_condition_compares_what_can_be_compared() -> None:
    with pytest.raises(
        UnsupportedTypeError, match=r"aggregate\(max\(name\) - min.* needs a number"
    ):
        of("max(name) - min(name) > 3")
    with pytest.raises(ArgumentError, match="frames cannot overlap; leave out scheme="):
        of("max(v) - min(v) > 3", scheme="advancing")


@pytest.mark.parametrize("condition", ["median(v) > 3", "listed(v) > 3", "median(v) > avg(v)"])
def test_a_stream_keeps_the_values_of_frames_that_are_bounded(condition: str) -> None:
    def checked(**properties: Any) -> None:
        span = properties.pop("span", None)
        kind = mt.aggregate(condition, span, functions={"listed": Listed()})
        framing = Framing(kind, "on", **properties)
        refuse_unbounded(framing, of(condition, span=span, **properties))

    checked(max_count=9)
    checked(max_duration=9, cut=True, span="maximal")
    with pytest.raises(ArgumentError) as refused:
        checked()
    message = str(refused.value).replace("Listed", "listed")
    assert message.startswith(
        f"condition={condition!r} cannot be used: an open frame would have to keep all its "
        "values for it, and on a stream it may grow without end; give max_count= or "
        "max_duration=, or read a batch; these keep a few numbers: count, "
    )
    with pytest.raises(ArgumentError, match=r"max_duration= with cut=True, or read a batch"):
        checked(max_duration=9, span="maximal")  # it would go on until its condition breaks


def test_two_arguments() -> None:
    assert of("turned(v, w) > 3").measuring.types == [pa.float64()]


def test_an_unknown_function_is_not_found() -> None:
    with pytest.raises(mt.ExpressionError, match="compare one aggregate with a number"):
        mt.aggregate("turned(v, w) > 3")
    with pytest.raises(ArgumentError, match=r"turned must be an mt\.OwnAggregate"):
        mt.aggregate("turned(v, w) > 3", functions={"turned": Turned})  # type: ignore[dict-item]
