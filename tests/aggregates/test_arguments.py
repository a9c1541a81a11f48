from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from muntin.aggregates.holistic import positive_count, positive_share, quantile_shares
from muntin.errors import ArgumentError

SHARE = "it must be a number from 0 to 1, or a list of them"
PART = "it must be a number above 0 and at most 1"
COUNT = "it must be a whole number from 1 up"


@pytest.mark.parametrize("given", [0, 1, 0.5, Decimal("0.5"), Fraction(1, 2), np.float32(0.5)])
def test_a_share_is_any_number(given: Any) -> None:
    share = quantile_shares("share", given)
    assert share == float(given)
    assert type(share) is float


def test_several_shares() -> None:
    assert quantile_shares("share", [0, 0.5]) == (0.0, 0.5)
    assert quantile_shares("share", (Decimal("0.95"),)) == (0.95,)


@pytest.mark.parametrize(
    "given", [-0.1, 1.1, float("nan"), True, None, "0.5", [], [0.5, 2], [[0.5]], {0.5}]
)
def test_what_is_no_share(given: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        quantile_shares("share", given)
    assert str(caught.value) == f"share={given!r} cannot be used: {SHARE}"


def test_a_part_is_more_than_nothing() -> None:
    assert positive_share("share", 1) == 1.0
    assert positive_share("share", Decimal("0.05")) == 0.05
    for given in (0, -1, 1.01, float("nan"), "0.1", True, [0.1]):
        with pytest.raises(ArgumentError) as caught:
            positive_share("share", given)
        assert str(caught.value) == f"share={given!r} cannot be used: {PART}"


def test_a_count_is_a_whole_number() -> None:
    assert positive_count("k", 1) == 1
    assert positive_count("k", 10**30) == 2**62
    for given in (0, -3, 2.0, "3", True, None):
        with pytest.raises(ArgumentError) as caught:
            positive_count("k", given)
        assert str(caught.value) == f"k={given!r} cannot be used: {COUNT}"
