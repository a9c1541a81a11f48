"""Specifications of as-of joins: which are valid, and which row is the partner."""

from __future__ import annotations

import pytest

from muntin.errors import ArgumentError
from muntin.reference.join import AsofReference
from muntin.specs.axis import Axis, Domain
from muntin.specs.join import Asof
from muntin.specs.lengths import Duration

WHOLE = Axis(Domain.INTEGER)


def test_a_specification_reads_its_length() -> None:
    spec = Asof("90 seconds", "forward")
    assert spec.tolerance == Duration(90_000_000)
    assert spec.lengths == (Duration(90_000_000),)
    assert (str(spec), str(Asof())) == ("ASOF FORWARD TOLERANCE 90 seconds", "ASOF BACKWARD")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tolerance": -1}, "tolerance=-1 cannot be used: it is not negative"),
        ({"direction": "both"}, "it is 'backward', 'forward' or 'nearest'"),
        ({"exact": 1}, "exact=1 cannot be used: it is True or False"),
        ({"tolerance": 0, "exact": False}, "with exact=False nothing is so near"),
    ],
)
def test_what_cannot_be(given: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        Asof(**given)  # type: ignore[arg-type]
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("spec", "partner"),
    [
        (Asof(), 5),
        (Asof(exact=False), 3),
        (Asof(direction="forward", exact=False), 7),
        (Asof(direction="nearest", exact=False), 3),
        (Asof(1, "nearest", exact=False), None),
        (Asof(2, "nearest", exact=False), 3),
    ],
)
def test_the_nearest_row(spec: Asof, partner: int | None) -> None:
    r"""
    right  1     3     5     7
    left               5
    """
    right = [{"on": place} for place in (1, 3, 5, 7)]
    nearest = AsofReference(spec, WHOLE, "on", ()).partner({"on": 5}, right)
    assert nearest == (None if partner is None else {"on": partner})


def test_ties_are_broken_and_null_is_the_greatest() -> None:
    right = [{"on": 1, "t": tie} for tie in (2, None, 3)]
    reference = AsofReference(Asof(), WHOLE, "on", (), ("t",))
    assert reference.partner({"on": 1}, right) == {"on": 1, "t": None}
    assert reference.partner({"on": 1}, right[::2]) == {"on": 1, "t": 3}
