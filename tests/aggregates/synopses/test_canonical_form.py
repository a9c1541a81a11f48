from __future__ import annotations

import numpy as np
import pytest

from muntin.aggregates.synopses.exponential_histogram import (
    bucket_bound,
    canonical,
    checked_k,
    half_k,
    head_ages,
    sizes,
)
from muntin.errors import ArgumentError
from tests.aggregates.synopses.streams import StepByStep


@pytest.mark.parametrize("l", [1, 2, 3, 5])
def test_canonical_is_what_step_by_step_insertion_leaves(l: int) -> None:  # noqa: E741
    steps = StepByStep(l)
    for total in range(1, 600):
        steps.insert(total)
        expected = [size for _, size in reversed(steps.buckets)]
        assert sizes(total, l).tolist() == expected
        assert len(expected) <= bucket_bound(total, l)


@pytest.mark.parametrize("l", [1, 2, 3, 5, 50])
def test_canonical_form_keeps_its_definition(l: int) -> None:  # noqa: E741
    for total in [*range(1, 300), 10**6, 2**40 + 12345, 2**53]:
        counts = canonical(total, l)
        assert sum(count << level for level, count in enumerate(counts)) == total
        assert all(l <= count <= l + 1 for count in counts[:-1])
        assert 1 <= counts[-1] <= l + 1


@pytest.mark.parametrize("l", [1, 2, 3, 5, 50])
def test_heads_lie_where_the_sizes_say(l: int) -> None:  # noqa: E741
    for total in [*range(300), 10**6, 2**40 + 12345, 2**53]:
        bucket_sizes = sizes(total, l)
        assert head_ages(total, l).tolist() == (np.cumsum(bucket_sizes) - bucket_sizes).tolist()


def test_k_is_one_over_eps_rounded_up_and_its_half_too() -> None:
    assert [checked_k(eps) for eps in (1, 0.5, 0.3, 0.1, 0.05, 0.01)] == [1, 2, 4, 10, 20, 100]
    assert [half_k(eps) for eps in (1, 0.5, 0.4, 0.3, 0.1)] == [1, 1, 2, 2, 5]


@pytest.mark.parametrize("eps", [0, -0.1, 1.5, float("nan"), "0.1", True, None])
def test_an_eps_that_cannot_be(eps: object) -> None:
    with pytest.raises(ArgumentError, match=r"eps=.* above 0 and at most 1 such as 0\.05"):
        checked_k(eps)
