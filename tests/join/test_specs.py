"""Specifications of joins: which are valid, which raise an error, and which rows match."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta

import pytest

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.join import Distance, Zipper
from muntin.specs.lengths import Duration, Number, parse_length

WHOLE = Axis(Domain.INTEGER)


def test_a_distance_reads_its_length() -> None:
    spec = Distance(timedelta(minutes=5))
    assert spec.within == Duration(300_000_000)
    assert (spec.direction, spec.how) == ("both", "inner")
    assert str(spec) == "INNER JOIN WITHIN 5 minutes"
    assert spec == Distance("300 seconds", "both", "inner")
    with pytest.raises(FrozenInstanceError):
        spec.how = "left"  # type: ignore[misc]


def test_a_zipper_reads_its_length() -> None:
    spec = Zipper(0.5, origin=0.25, how="inner")
    assert spec.lengths == (parse_length("every", 0.5), parse_length("origin", 0.25))
    assert str(spec) == "INNER ZIPPER EVERY 0.5 ORIGIN 0.25"
    assert Zipper("1 day").how == "full"
    assert Distance(3).lengths == (Number(parse_length("x", 3).value),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"within": "-1 second"}, "within='-1 second' cannot be used: it is not negative"),
        ({"within": "soon"}, "within='soon' cannot be used"),
        ({"within": 1, "direction": "backwards"}, "did you mean 'backward'?"),
        ({"within": 1, "how": "outer"}, "'inner', 'left', 'right', 'full', 'semi' or 'anti'"),
        ({"within": 1, "how": None}, "how=None cannot be used"),
    ],
)
def test_a_distance_that_cannot_be(given: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        Distance(**given)  # type: ignore[arg-type]
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"every": 0}, "every=0 cannot be used: it must be longer than zero"),
        ({"every": 1, "how": "semi"}, "how='semi' cannot be used: it is 'full', 'inner'"),
    ],
)
def test_a_zipper_that_cannot_be(given: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        Zipper(**given)  # type: ignore[arg-type]
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("direction", "near"),
    [("both", [3, 4, 5, 6, 7]), ("backward", [3, 4, 5]), ("forward", [5, 6, 7])],
)
def test_bounds_are_inside(direction: str, near: list[int]) -> None:
    r"""
    right  1  2  3  4  5  6  7  8
    left               5
    both         |-----+-----|
    """
    spec = Distance(2, direction)
    assert [right for right in range(10) if spec.near(WHOLE, 5, right)] == near


def test_doubles_are_added_as_doubles() -> None:
    axis = Axis(Domain.DOUBLE, digits=1)
    assert 0.1 + 0.2 > 0.3
    assert Distance("0.2").near(axis, 0.1, 0.1 + 0.2)
    assert Distance("0.2").near(axis, 0.1, 0.3)
    assert not Distance("0.2").near(axis, 0.3, 0.09999999999999997)  # 0.3 - 0.2 is above it


def test_intervals_are_half_open_and_run_both_ways() -> None:
    spec = Zipper(10, origin=5)
    groups = [[5, 14], [-5, 4], [15, 24]]
    for group in groups:
        for other in groups:
            assert spec.near(WHOLE, group[0], other[1]) == (group == other)


def test_days_begin_at_midnight_of_the_session() -> None:
    berlin = Axis(Domain.TIMESTAMP, zone="Europe/Berlin")
    late, early = datetime(2026, 1, 1, 22, 30, tzinfo=UTC), datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
    assert not Zipper("1 day").near(berlin, late, early)
    assert Zipper("1 day").near(Axis(Domain.TIMESTAMP), late, early)
