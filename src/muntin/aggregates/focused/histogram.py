"""One focused histogram, to which rows are only added [CA-13, CA-14, CA-16]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates.focused.cumulative import (
    ESTIMATE,
    HIGH,
    LOW,
    MEASURES,
    Cumulative,
    ValueRange,
    partition,
    reallocate,
    swapped,
)
from muntin.aggregates.focused.question import HEURISTICS, Focus, Limit
from muntin.kernels.arrays import Floats

_NUMBERS = ("start", "end", "n", "total", "squares", "low", "high", "least", "most")


class Block:
    """Rows from ``start`` to ``end``: their moments, their extremes, and their histogram.

    The algorithm is Figure 1 of the paper. The first rows are kept one by one until there are as
    many as buckets. ``weight`` has the measures of all rows, ``running`` those that a heuristic
    counts.
    """

    def __init__(self, focus: Focus, start: float, end: float) -> None:
        self.focus, self.start, self.end = focus, start, end
        self.n = self.total = self.squares = 0.0
        self.low, self.high = math.inf, -math.inf
        self.least, self.most = math.inf, -math.inf
        self.weight = np.zeros(MEASURES)
        self.running = np.zeros(MEASURES)
        self.first: list[tuple[float, Floats]] | None = []
        self.histogram: Cumulative | None = None
        limits = focus.own_limits
        self.lower = next((limit for limit in limits if not limit.upper), None)
        self.upper = next((limit for limit in limits if limit.upper), None)

    def feed(self, x: float, weight: Floats, y: float, mean: float, error: float) -> None:
        """Add a row; ``mean`` and its standard ``error`` are those of the window with this row."""
        before = self.low
        self.n, self.total, self.squares = self.n + 1, self.total + x, self.squares + x * x
        self.low, self.high = min(self.low, x), max(self.high, x)
        self.weight += weight
        if y == y:
            self.least, self.most = min(self.least, y), max(self.most, y)
        if self.focus.strategy in HEURISTICS:
            self._run(x, weight, before, mean)
        elif self.focus.aggregate == "avg":
            self._around_mean(x, weight, mean, error)
        else:
            self._around_minimum(x, weight, before)

    def _run(self, x: float, weight: Floats, before: float, mean: float) -> None:
        """Count rows that meet the condition; ``lower`` restarts at a new extremum [CA-13]."""
        around_mean = self.focus.aggregate == "avg"
        if x < before and self.focus.strategy == "lower" and not around_mean:
            self.running[:] = 0.0
        middle = mean if around_mean else self.low
        if all(_meets(limit, x, middle) for limit in self.focus.own_limits):
            self.running += weight

    # -- around a minimum -----------------------------------------------------------------------

    def _top(self) -> Limit:
        """Return the highest limit; rows above it are of no interest."""
        return max(self.focus.own_limits, key=lambda limit: limit.at(self.low))

    def _around_minimum(self, x: float, weight: Floats, before: float) -> None:
        top = self._top()
        reach = top.at(self.low)
        if x < before:
            if reach < before or (reach == before and not top.inclusive):
                # Condition 1: no earlier row is of interest; start again without error.
                self.first, self.histogram = [], None
            elif self.first is not None:
                self.first = [row for row in self.first if _within(row[0], reach, top)]
            elif self.histogram is not None:
                # Condition 2: some earlier rows are still of interest.
                self._reallocate(ValueRange(self.low, reach, ((self.low, reach),)))
        if not _within(x, reach, top):
            return
        if self.first is not None:
            self.first.append((x, weight))
            if len(self.first) >= self.focus.buckets:
                closed = any(limit.inclusive for limit in self.focus.own_limits)
                self._begin(ValueRange(self.low, reach, ((self.low, reach),)), closed)
        else:
            self._add(x, weight, ValueRange(self.low, reach, ((self.low, reach),)))

    # -- around a mean --------------------------------------------------------------------------

    def _around_mean(self, x: float, weight: Floats, mean: float, error: float) -> None:
        if self.first is not None:
            self.first.append((x, weight))
            if len(self.first) >= self.focus.buckets:
                self._begin(self._mean_region(mean, error), closed=True)
            return
        assert self.histogram is not None
        self.histogram.edges[0], self.histogram.edges[-1] = self.low, self.high
        region = self._mean_region(mean, error)
        self._reallocate(region)
        self._add(x, weight, region)

    def _mean_region(self, mean: float, error: float) -> ValueRange:
        """Return the region: ``width`` standard errors to both sides of each limit [CA-17]."""
        spread = self.focus.width * error
        focus = tuple(
            (
                limit.at(mean) - abs(limit.factor) * spread,
                limit.at(mean) + abs(limit.factor) * spread,
            )
            for limit in self.focus.own_limits
        )
        return ValueRange(self.low, self.high, focus)

    # -- the histogram --------------------------------------------------------------------------

    def _begin(self, region: ValueRange, closed: bool) -> None:
        """Make the buckets from the first rows, which were kept one by one."""
        assert self.first is not None
        focus = self.focus
        edges = partition(region, focus.buckets, focus.strategy, focus.width)
        if focus.aggregate != "avg" and focus.strategy.endswith("quantile"):
            inner = sorted(x for x, _ in self.first)[1:]
            edges = np.array([region.low, *inner, region.high])
        self.histogram = Cumulative.empty(edges, closed)
        for x, weight in self.first:
            self.histogram.add(x, weight)
        self.first = None

    def _reallocate(self, region: ValueRange) -> None:
        assert self.histogram is not None
        focus = self.focus
        self.histogram = reallocate(
            self.histogram, region, focus.buckets, focus.strategy, focus.width
        )

    def _add(self, x: float, weight: Floats, region: ValueRange) -> None:
        assert self.histogram is not None
        self.histogram.add(x, weight)
        if self.focus.strategy == "piecemeal-quantile" and self.n % self.focus.buckets == 0:
            self.histogram = swapped(self.histogram, region)

    # -- answers --------------------------------------------------------------------------------

    def between(self, least: float, most: float) -> npt.NDArray[np.float64]:
        """Return measures of the rows within the limits.

        The independent aggregate lies between ``least`` and ``most``.
        """
        if self.focus.strategy in HEURISTICS:
            return self._heuristic()
        measures = np.zeros((MEASURES, 3))
        measures += self.weight[:, None]
        if self.upper is not None:
            at_least, at_most = self._below(self.upper, least), self._below(self.upper, most)
            measures[:, ESTIMATE], measures[:, LOW] = at_least[:, ESTIMATE], at_least[:, LOW]
            measures[:, HIGH] = at_most[:, HIGH]
        if self.lower is not None:
            at_least, at_most = self._below(self.lower, least), self._below(self.lower, most)
            measures[:, ESTIMATE] -= at_least[:, ESTIMATE]
            measures[:, LOW] -= at_most[:, HIGH]
            measures[:, HIGH] -= at_least[:, LOW]
        return np.maximum(measures, 0.0)

    def _below(self, limit: Limit, aggregate: float) -> npt.NDArray[np.float64]:
        """Return measures of the rows below a limit, or up to it if it is inclusive."""
        point = limit.at(aggregate)
        if self.first is not None:
            measures = np.zeros((MEASURES, 3))
            for x, weight in self.first:
                if x < point or (limit.inclusive and x == point):
                    measures += weight[:, None]
            return measures
        assert self.histogram is not None
        (totals,) = self.histogram.at(np.array([point]), limit.inclusive)
        below: npt.NDArray[np.float64] = totals
        return below

    def _heuristic(self) -> npt.NDArray[np.float64]:
        """Return the heuristic's count as the estimate and, where it is certain, as a bound.

        The other bound is all rows or none.
        """
        measures = np.zeros((MEASURES, 3))
        measures[:, ESTIMATE] = self.running
        certain = self.focus.aggregate != "avg" and self.lower is None
        if certain and self.focus.strategy == "lower":
            measures[:, LOW] = self.running
        if certain and self.focus.strategy == "upper":
            measures[:, HIGH] = self.running
        else:
            measures[:, HIGH] = self.weight
        return measures

    # -- state ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        histogram = self.histogram
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            "weight": self.weight.tolist(),
            "running": self.running.tolist(),
            "first": None if self.first is None else [[x, w.tolist()] for x, w in self.first],
            "edges": None if histogram is None else histogram.edges.tolist(),
            "below": None if histogram is None else histogram.below.tolist(),
            "closed": None if histogram is None else histogram.closed,
        }

    @classmethod
    def from_state(cls, focus: Focus, state: Mapping[str, Any]) -> Block:
        block = cls(focus, state["start"], state["end"])
        for name in _NUMBERS:
            setattr(block, name, state[name])
        block.weight, block.running = np.array(state["weight"]), np.array(state["running"])
        first = state["first"]
        block.first = None if first is None else [(x, np.array(w)) for x, w in first]
        if state["edges"] is not None:
            edges, below = np.array(state["edges"]), np.array(state["below"])
            block.histogram = Cumulative(edges, below, state["closed"])
        return block


def _within(x: float, reach: float, top: Limit) -> bool:
    return x < reach or (x == reach and top.inclusive)


def _meets(limit: Limit, x: float, aggregate: float) -> bool:
    point = limit.at(aggregate)
    if limit.upper:
        return x < point or (x == point and limit.sign == "<=")
    return x > point or (x == point and limit.sign == ">=")
