"""A histogram as a running total with certain bounds, and how its edges move [CA-14 to CA-16].

For each bucket edge it has the measure of the rows below: an estimate, and bounds that are
certain. Between edges the estimate is linear, which is the paper's uniformity inside a bucket, and
the bounds are those of the edges around. Moving, splitting and cutting buckets are then one and
the same: asking for the running total at other edges. What was cut through becomes an estimate;
what was known at an edge that stays, stays known.

When the region of interest has moved, wholesale strategies lay all edges anew. Piecemeal ones keep
the edges that are still of use and spend the freed buckets by splitting, so that little is ever
interpolated twice. Uniform strategies go by the width of buckets, quantile ones by their rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Floats

#: What is summed: rows, positive values, negative values with their sign turned.
MEASURES = 3
#: In the last axis of a total.
ESTIMATE, LOW, HIGH = 0, 1, 2
_NORMAL = NormalDist()


@dataclass
class Cumulative:
    """``below[j]`` is the measure of rows below ``edges[j]``, and at the last edge of all rows.

    Rows at the last edge itself count if it is ``closed``.
    """

    edges: Floats
    below: npt.NDArray[np.float64]
    closed: bool

    @classmethod
    def empty(cls, edges: Floats, closed: bool) -> Cumulative:
        return cls(edges, np.zeros((len(edges), MEASURES, 3)), closed)

    @property
    def frequencies(self) -> Floats:
        """The estimated number of rows of each bucket."""
        return np.diff(self.below[:, 0, ESTIMATE])

    def add(self, x: float, weight: Floats) -> None:
        place = int(np.searchsorted(self.edges, x, "right"))
        self.below[min(place, len(self.edges) - 1) :] += weight[:, None]

    def at(self, points: Floats, inclusive: bool) -> npt.NDArray[np.float64]:
        """The measure of rows below each point, or up to it where ``inclusive``."""
        last = len(self.edges) - 1
        found = np.searchsorted(self.edges, points, "right") - 1
        lower = np.clip(found, 0, last)
        upper = np.minimum(lower + 1, last)
        start, width = self.edges[lower], self.edges[upper] - self.edges[lower]
        share = (points - start) / np.where(width > 0, width, 1.0)
        made = self.below[lower].copy()
        made[:, :, ESTIMATE] += share[:, None] * (
            self.below[upper, :, ESTIMATE] - self.below[lower, :, ESTIMATE]
        )
        between = (points > start) | (inclusive & (points == start))
        made[between, :, HIGH] = self.below[upper[between], :, HIGH]
        if not inclusive and self.closed:
            # Rows at the last edge are part of its total, but not below it.
            before = np.searchsorted(self.edges, points, "left") - 1
            on_last = points == self.edges[last]
            made[on_last, :, LOW] = self.below[np.maximum(before, 0)[on_last], :, LOW]
            made[on_last & (before < 0)] = 0.0
        made[found < 0] = 0.0
        return made

    def with_edges(self, edges: Floats) -> Cumulative:
        """The same rows in other buckets; what lies above the last edge is cut off."""
        below = np.empty((len(edges), MEASURES, 3))
        below[:-1] = self.at(edges[:-1], inclusive=False)
        below[-1] = self.at(edges[-1:], inclusive=self.closed)[0]
        return Cumulative(edges, below, self.closed)


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
