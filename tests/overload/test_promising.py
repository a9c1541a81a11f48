"""The stores of the benchmark of preferences, and what it finds on a few minutes of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.overload.promising import FULL, SELECTIVITY, Found, Sizes, Sold, measure


@pytest.fixture(scope="module")
def found() -> Found:
    return measure(Sizes(hours=0.03))


def test_the_stores_are_as_selective_as_those_of_the_paper() -> None:
    assert abs(Sold(FULL).selectivity - SELECTIVITY) < 0.005


def test_enough_units_are_exact(found: Found) -> None:
    assert found.share("enough") == 1
    assert found.hist_mse("enough") == 0


@pytest.mark.parametrize("name", ["arrival order", "random", "desc", "weighted", "asc"])
def test_what_is_found_is_a_part_of_the_exact_output(found: Found, name: str) -> None:
    items, counts = np.unique(found.exact.of_items, return_counts=True)
    own, of_own = np.unique(found.runs[name].of_items, return_counts=True)
    assert np.isin(own, items).all()
    assert (of_own <= counts[np.searchsorted(items, own)]).all()


def test_what_is_preferred_is_found(found: Found) -> None:
    runs = found.runs
    assert runs["desc"].rows > 2 * runs["arrival order"].rows
    assert runs["weighted"].rows > 2 * runs["arrival order"].rows
    assert found.outliers("asc") >= found.outliers("desc")
    most = [np.bincount(runs[name].of_items).max() / runs[name].rows for name in ("asc", "desc")]
    assert most[0] != most[1]
