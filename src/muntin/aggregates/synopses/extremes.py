"""The exact least or greatest value of every later stretch, by a monotone list [EH-15]."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Floats, Ints


@dataclass(frozen=True)
class SlidingExtreme:
    """The least value, or with ``greatest`` the greatest; null if there are no values."""

    greatest: bool = False

    @property
    def result(self) -> pa.DataType:
        return pa.float64()

    def new(self) -> MonotoneList:
        return MonotoneList(self.greatest)

    def load(self, dumped: bytes) -> MonotoneList:
        extremes = MonotoneList(self.greatest)
        half = len(dumped) // 2
        extremes.ticks = np.frombuffer(dumped[:half], np.int64).tolist()
        extremes.values = np.frombuffer(dumped[half:], np.float64).tolist()
        return extremes


class MonotoneList:
    """Values that no newer one beats: ticks and values both rise (for the greatest, fall).

    A row can be the answer to a later question only while no newer row is as small. So a new row
    drops all rows that are not smaller. Answers are exact. In the worst case the list is as long as
    the stretch has rows; in random order it is as long as the logarithm of that
    [Exponential histograms 6, Min and Max].
    """

    def __init__(self, greatest: bool) -> None:
        self.sign = -1.0 if greatest else 1.0
        self.ticks: list[int] = []
        self.values: list[float] = []

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        rows = ~np.isnan(values[0])
        kept = ticks[rows]
        fed, signed = 0, (self.sign * values[0][rows]).tolist()
        answers = np.full(len(starts), np.nan)
        stops = np.searchsorted(kept, ends).tolist()
        known = kept.tolist()
        for question, (start, stop) in enumerate(zip(starts.tolist(), stops, strict=True)):
            self._feed(known[fed:stop], signed[fed:stop])
            fed = max(fed, stop)
            place = bisect_left(self.ticks, start)
            if place < len(self.ticks):
                answers[question] = self.sign * self.values[place]
        self._feed(known[fed:], signed[fed:])
        return [answers]

    def _feed(self, ticks: list[int], values: list[float]) -> None:
        for tick, value in zip(ticks, values, strict=True):
            while self.values and self.values[-1] >= value:
                self.values.pop()
                self.ticks.pop()
            self.values.append(value)
            self.ticks.append(tick)

    def forget(self, below: int) -> None:
        gone = bisect_left(self.ticks, below)
        del self.ticks[:gone], self.values[:gone]

    def dump(self) -> bytes:
        return np.array(self.ticks, np.int64).tobytes() + np.array(self.values).tobytes()
