"""The table of docs/concepts/synopses.md: buckets and bytes while a window slides."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from muntin.aggregates.synopses.count_sum_avg import ApproxCount
from muntin.aggregates.synopses.exponential_histogram import bucket_bound

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "synopses.md"
SECOND = 10**6
EPS = (0.1, 0.05, 0.01)


def documented() -> dict[tuple[int, float], tuple[int, int, int]]:
    """(rows in the window, eps): buckets, their bound, bytes."""
    table = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace(",", "") for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].isdigit():
            for eps, cell in zip(EPS, cells[1:], strict=True):
                buckets, bound, size = map(int, re.findall(r"\d+", cell))
                table[int(cells[0]), eps] = (buckets, bound, size)
    return table


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("rows", [10**3, 10**4, 10**5, 10**6])
def test_the_documented_table(rows: int, eps: float) -> None:
    """A row comes every second, in microseconds; the stream is twice as long as the window."""
    synopsis = ApproxCount(eps).new()
    buckets = size = 0
    for begin in range(0, 2 * rows, rows // 50):
        ticks = np.arange(begin, begin + rows // 50) * SECOND
        synopsis.forget(int(ticks[0]) + 1 - rows * SECOND)
        (estimate,) = synopsis.run(ticks, [], ticks + 1 - rows * SECOND, ticks + 1)
        truth = np.minimum(rows, ticks // SECOND + 1)
        assert (np.abs(estimate - truth) <= eps * truth).all()
        buckets = max(buckets, len(synopsis.buckets.stamps))
        size = max(size, len(synopsis.dump()))
    assert documented()[rows, eps][0] == buckets
    assert documented()[rows, eps][1] == bucket_bound(rows, synopsis.buckets.l) >= buckets
    assert documented()[rows, eps][2] == size
