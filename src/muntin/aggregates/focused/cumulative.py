"""A histogram as a running total with certain bounds, and how its edges move [CA-14 to CA-16].

For each bucket edge the histogram has the measure of the rows below: an estimate, and certain
bounds. Between edges the estimate is linear, because the paper assumes uniform values inside a
bucket. The bounds there are those of the two edges around. So moving, splitting and cutting buckets
are the same operation: evaluating the running total at other edges. At a new edge the total is an
estimate; at an edge that stays, it stays as exact as it was.

When the region of interest has moved, wholesale strategies choose all edges anew. Piecemeal
strategies keep the edges that are still useful and split buckets to use the freed ones, so that
little is interpolated twice. Uniform strategies compare the widths of buckets, quantile strategies
their numbers of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Floats

#: The number of measures: the count of rows, the sum of positive values, the sum of negated
#: negative values.
MEASURES = 3
#: Places in the last axis of a total.
ESTIMATE, LOW, HIGH = 0, 1, 2
_NORMAL = NormalDist()


@dataclass
class Cumulative:
    """``below[j]`` is the measure of the rows below ``edges[j]``; the last one is that of all rows.

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
        """Return the measure of the rows below each point, or up to it if ``inclusive``."""
        last = len(self.edges) - 1
        places = np.searchsorted(self.edges, points, "right") - 1
        lower = np.clip(places, 0, last)
        upper = np.minimum(lower + 1, last)
        start, width = self.edges[lower], self.edges[upper] - self.edges[lower]
        share = (points - start) / np.where(width > 0, width, 1.0)
        totals = self.below[lower].copy()
        totals[:, :, ESTIMATE] += share[:, None] * (
            self.below[upper, :, ESTIMATE] - self.below[lower, :, ESTIMATE]
        )
        between = (points > start) | (inclusive & (points == start))
        totals[between, :, HIGH] = self.below[upper[between], :, HIGH]
        if not inclusive and self.closed:
            # The last total includes rows at the last edge, but these are not below it.
            before = np.searchsorted(self.edges, points, "left") - 1
            on_last = points == self.edges[last]
            totals[on_last, :, LOW] = self.below[np.maximum(before, 0)[on_last], :, LOW]
            totals[on_last & (before < 0)] = 0.0
        totals[places < 0] = 0.0
        return totals

    def with_edges(self, edges: Floats) -> Cumulative:
        """Return the same rows in other buckets; rows above the last edge are dropped."""
        below = np.empty((len(edges), MEASURES, 3))
        below[:-1] = self.at(edges[:-1], inclusive=False)
        below[-1] = self.at(edges[-1:], inclusive=self.closed)[0]
        return Cumulative(edges, below, self.closed)


@dataclass(frozen=True)
class ValueRange:
    """A region from ``low`` to ``high``; ``focus`` are the stretches in it that may hold a limit.

    Around a minimum the focus is the whole region; around a mean it follows from the central limit
    theorem.
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
        """Return the point, or the nearest end of the region if it is outside."""
        return min(max(point, self.low), self.high)

    def contains(self, left: float, right: float) -> bool:
        """Whether a bucket lies in a stretch of focus."""
        return any(start <= left and right <= end for start, end in self.focus)


def partition(region: ValueRange, buckets: int, strategy: str, width: float) -> Floats:
    """Return the first edges: evenly spaced, or around a mean with ``_steps`` in each focus."""
    if len(region.focus) == 1 and region.focus[0] == (region.low, region.high):
        return np.linspace(region.low, region.high, buckets + 1)
    each = max(2, (buckets - 1) // len(region.focus))
    edges = [region.low, region.high]
    for start, end in region.focus:
        middle, spread = (start + end) / 2, (end - start) / 2
        edges += [region.inside(middle + spread * step) for step in _steps(each, strategy, width)]
    return np.array(sorted(edges))


def _steps(count: int, strategy: str, width: float) -> Sequence[float]:
    """Return steps from -1 to 1: even, or quantiles of a normal distribution cut at ``width``."""
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
    """Return the histogram for a moved region [Correlated aggregates, Figure 3].

    The paper's formula lacks the factor f_k, the rows of the bucket that is cut; it is used here.
    """
    if strategy.startswith("piecemeal"):
        return _piecemeal(old, region, buckets, strategy.endswith("quantile"))
    around_mean = region.focus != ((region.low, region.high),)
    if strategy == "wholesale-uniform" or around_mean:
        return old.with_edges(partition(region, buckets, strategy, width))
    cut = old.with_edges(np.array(_within(old, region)))
    return cut.with_edges(even_frequencies(cut, buckets))


def even_frequencies(histogram: Cumulative, buckets: int) -> Floats:
    """Return edges with the same estimated number of rows between any two neighbours."""
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
    histogram = old.with_edges(np.array(sorted({*useful, *fixed})))
    while len(histogram.edges) > buckets + 1:
        least = _least_useful(histogram, fixed, quantile)
        if least is None:
            break
        histogram = histogram.with_edges(np.delete(histogram.edges, least))
    while len(histogram.edges) < buckets + 1:
        place = _most_needed(histogram, region, quantile)
        if place is None:
            break
        histogram = _split(histogram, place)
    return histogram


def _least_useful(histogram: Cumulative, fixed: set[float], quantile: bool) -> int | None:
    """Return the edge whose removal makes the bucket of least width, or of fewest rows."""
    size = histogram.frequencies if quantile else np.diff(histogram.edges)
    merged = size[:-1] + size[1:]
    free = [place for place, edge in enumerate(histogram.edges[1:-1].tolist()) if edge not in fixed]
    return 1 + min(free, key=lambda place: merged[place]) if free else None


def _most_needed(histogram: Cumulative, region: ValueRange, quantile: bool) -> int | None:
    """Return the bucket in focus that is the widest, or that has the most rows."""
    edges = histogram.edges.tolist()
    size = histogram.frequencies if quantile else np.diff(histogram.edges)
    able = [
        place
        for place, (left, right) in enumerate(itertools.pairwise(edges))
        if region.contains(left, right) and left < (left + right) / 2 < right
    ]
    return max(able, key=lambda place: size[place]) if able else None


def _split(histogram: Cumulative, place: int) -> Cumulative:
    middle = (histogram.edges[place] + histogram.edges[place + 1]) / 2
    return histogram.with_edges(np.insert(histogram.edges, place + 1, middle))


def swapped(made: Cumulative, region: ValueRange) -> Cumulative:
    """Merge two neighbours and halve another bucket, if that evens out the frequencies.

    The variance of the frequencies falls if their sum of squares falls, since their mean stays.
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
