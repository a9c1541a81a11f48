"""Where bucket edges go when the region of interest has moved [CA-16].

Wholesale strategies lay all edges anew. Piecemeal ones keep the edges that are still of use and
spend the freed buckets by splitting, so that little is ever interpolated twice. Uniform strategies
go by the width of buckets, quantile ones by the rows in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from muntin.aggregates.focused.cumulative import ESTIMATE, Cumulative
from muntin.kernels.arrays import Floats

_NORMAL = NormalDist()


@dataclass(frozen=True)
class ValueRange:
    """From ``low`` to ``high``, with the stretches inside it where answers will be cut.

    Around a minimum that is all of it; around a mean it is what the central limit theorem says.
    """

    low: float
    high: float
    focus: tuple[tuple[float, float], ...]

    @property
    def fixed(self) -> list[float]:
        """Edges that every strategy sets."""
        ends = itertools.chain.from_iterable(self.focus)
        return sorted({self.low, self.high, *(self.inside(end) for end in ends)})

    def inside(self, point: float) -> float:
        """The point, or the end of the region that it lies beyond."""
        return min(max(point, self.low), self.high)

    def contains(self, left: float, right: float) -> bool:
        """Whether a bucket lies in a stretch of focus."""
        return any(start <= left and right <= end for start, end in self.focus)


def partition(region: ValueRange, buckets: int, strategy: str, width: float) -> Floats:
    """Edges from nothing: even, or for a mean at the quantiles where it may be."""
    if len(region.focus) == 1 and region.focus[0] == (region.low, region.high):
        return np.linspace(region.low, region.high, buckets + 1)
    each = max(2, (buckets - 1) // len(region.focus))
    edges = [region.low, region.high]
    for start, end in region.focus:
        middle, spread = (start + end) / 2, (end - start) / 2
        edges += [region.inside(middle + spread * step) for step in _steps(each, strategy, width)]
    return np.array(sorted(edges))


def _steps(count: int, strategy: str, width: float) -> Sequence[float]:
    """From -1 to 1: evenly, or at equal chances of a normal distribution cut at ``width``."""
    if not strategy.endswith("quantile"):
        return [2 * place / (count - 1) - 1 for place in range(count)]
    least = _NORMAL.cdf(-width)
    inner = [
        _NORMAL.inv_cdf(least + (1 - 2 * least) * place / (count - 1)) / width
        for place in range(1, count - 1)
    ]
    return [-1.0, *inner, 1.0]


def reallocate(
    old: Cumulative, region: ValueRange, buckets: int, strategy: str, width: float
) -> Cumulative:
    """The histogram for a moved region [Correlated aggregates, Figure 3], with f_k put back."""
    if strategy.startswith("piecemeal"):
        return _piecemeal(old, region, buckets, strategy.endswith("quantile"))
    around_mean = region.focus != ((region.low, region.high),)
    if strategy == "wholesale-uniform" or around_mean:
        return old.with_edges(partition(region, buckets, strategy, width))
    cut = old.with_edges(np.array(_within(old, region)))
    return cut.with_edges(even_frequencies(cut, buckets))


def even_frequencies(histogram: Cumulative, buckets: int) -> Floats:
    """Edges between which the same estimated number of rows lies."""
    below = np.maximum.accumulate(histogram.below[:, 0, ESTIMATE])
    edges = np.interp(np.linspace(0, below[-1], buckets + 1), below, histogram.edges)
    edges[0], edges[-1] = histogram.edges[0], histogram.edges[-1]
    return np.maximum.accumulate(edges)


def _within(old: Cumulative, region: ValueRange) -> list[float]:
    kept = [edge for edge in old.edges.tolist() if region.low < edge < region.high]
    return [region.low, *kept, region.high]


def _piecemeal(old: Cumulative, region: ValueRange, buckets: int, quantile: bool) -> Cumulative:
    fixed = set(region.fixed)
    useful = [
        edge
        for edge in old.edges.tolist()
        if any(start < edge < end for start, end in region.focus)
    ]
    made = old.with_edges(np.array(sorted({*useful, *fixed})))
    while len(made.edges) > buckets + 1:
        least = _least_useful(made, fixed, quantile)
        if least is None:
            break
        made = made.with_edges(np.delete(made.edges, least))
    while len(made.edges) < buckets + 1:
        place = _most_needed(made, region, quantile)
        if place is None:
            break
        made = _split(made, place)
    return made


def _least_useful(made: Cumulative, fixed: set[float], quantile: bool) -> int | None:
    """The edge whose removal makes the narrowest bucket, or that with the fewest rows."""
    size = made.frequencies if quantile else np.diff(made.edges)
    merged = size[:-1] + size[1:]
    free = [place for place, edge in enumerate(made.edges[1:-1].tolist()) if edge not in fixed]
    return 1 + min(free, key=lambda place: merged[place]) if free else None


def _most_needed(made: Cumulative, region: ValueRange, quantile: bool) -> int | None:
    """The bucket in focus that is the widest, or that has the most rows."""
    edges = made.edges.tolist()
    size = made.frequencies if quantile else np.diff(made.edges)
    able = [
        place
        for place, (left, right) in enumerate(itertools.pairwise(edges))
        if region.contains(left, right) and left < (left + right) / 2 < right
    ]
    return max(able, key=lambda place: size[place]) if able else None


def _split(made: Cumulative, place: int) -> Cumulative:
    middle = (made.edges[place] + made.edges[place + 1]) / 2
    return made.with_edges(np.insert(made.edges, place + 1, middle))


def swapped(made: Cumulative, region: ValueRange) -> Cumulative:
    """Two neighbours merged and another bucket halved, if that evens out frequencies.

    The variance of the frequencies falls if their sum of squares does, since their mean stays.
    """
    place = _most_needed(made, region, quantile=True)
    least = _least_useful(made, set(region.fixed), quantile=True)
    if place is None or least is None or place in (least - 1, least):
        return made
    frequency = made.frequencies
    few, more, most = frequency[least - 1], frequency[least], frequency[place]
    if (few + more) ** 2 + most**2 / 2 >= few**2 + more**2 + most**2:
        return made
    edges = np.delete(made.edges, least)
    middle = (made.edges[place] + made.edges[place + 1]) / 2
    return made.with_edges(np.sort(np.append(edges, middle)))
