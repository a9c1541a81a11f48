"""A histogram as a running total with certain bounds [CA-14, CA-15].

For each bucket edge it has the measure of the rows below: an estimate, and bounds that are
certain. Between edges the estimate is linear, which is the paper's uniformity inside a bucket, and
the bounds are those of the edges around. Moving, splitting and cutting buckets are then one and
the same: asking for the running total at other edges. What was cut through becomes an estimate;
what was known at an edge that stays, stays known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Floats

#: What is summed: rows, positive values, negative values with their sign turned.
MEASURES = 3
#: In the last axis of a total.
ESTIMATE, LOW, HIGH = 0, 1, 2


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
