"""Synopses without Spark: insert rows, and ask about the last stretch of the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from muntin.aggregates.synopses.count_sum_avg import ApproxSum, SumSynopsis
from muntin.aggregates.synopses.exponential_histogram import (
    LARGEST,
    HistogramBuckets,
    bucket_bound,
    units,
)
from muntin.aggregates.synopses.protocol import Synopsis, SynopsisKind, result_column
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Floats, Ints
from muntin.specs.axis import TICK_LIMIT

#: Rows that wait to be fed in one run [EH-9]; a question feeds them at once.
_BUFFER = 1024
_NONE: Ints = np.empty(0, np.int64)


def _check_window(window: object) -> None:
    if not isinstance(window, int) or not 1 <= window < TICK_LIMIT:
        raise ArgumentError("window", window, "it must be a number of ticks, at least 1")


class Summary:
    """A synopsis of any kind, fed row by row.

    ``window`` is the longest stretch that a question may cover, in ticks; older rows are forgotten.
    Without it a question may reach back to the first row.

    >>> from muntin.aggregates.synopses.extremes import SlidingExtreme
    >>> least = Summary(SlidingExtreme())
    >>> for tick, value in enumerate([3, 1, 4, 1, 5, 9, 2, 6]):
    ...     least.insert(tick, value)
    >>> least.estimate(last=4), least.estimate(last=1)
    (2.0, 6.0)
    """

    def __init__(self, kind: SynopsisKind, *, window: int | None = None) -> None:
        if window is not None:
            _check_window(window)
        self.kind = kind
        self.window = window
        self.synopsis: Synopsis = kind.new()
        self.now: int | None = None
        self._ticks: list[int] = []
        self._rows: list[tuple[float, ...]] = []
        self._no_rows: list[Floats] = []

    def insert(self, tick: int, *values: float | None) -> None:
        """Add a row. Ticks are whole numbers and never fall; None is no value."""
        if self.now is not None and tick < self.now:
            raise ArgumentError("tick", tick, f"ticks never fall, and the last was {self.now}")
        self.now = tick
        self._ticks.append(tick)
        self._rows.append(tuple(np.nan if value is None else value for value in values))
        if len(self._rows) >= _BUFFER:
            self.flush()

    def extend(self, ticks: npt.ArrayLike, *columns: npt.ArrayLike) -> None:
        """Add many rows at once; NaN is no value."""
        self.flush()
        fed = np.asarray(ticks, np.int64)
        if not len(fed):
            return
        order = np.diff(fed, prepend=fed[0] if self.now is None else self.now)
        if (order < 0).any():
            raise ArgumentError("tick", int(fed[np.argmax(order < 0)]), "ticks never fall")
        self._feed(fed, [np.asarray(column, np.float64) for column in columns])

    def estimate(self, *, last: int | None = None) -> Any:
        """Return the answer for the newest ``last`` ticks, or for all that is remembered.

        It is a number, None for null, a dict for a struct, or a list.
        """
        answers = self.ask(last)
        return result_column(self.kind.result, answers)[0].as_py()

    def ask(self, last: int | None) -> Sequence[Floats]:
        """Return the columns of the answer, like :meth:`Synopsis.run`."""
        if last is not None and (last < 1 or (self.window is not None and last > self.window)):
            longest = "" if self.window is None else f" and at most {self.window}, the window"
            raise ArgumentError("last", last, f"it must be a number of ticks, at least 1{longest}")
        self.flush()
        if self.now is None:
            raise ArgumentError("last", last, "there is no row yet to ask about")
        reach = self.window if last is None else last
        start = np.iinfo(np.int64).min if reach is None else self.now - reach + 1
        end = np.array([self.now + 1])
        return self.synopsis.run(_NONE, self._no_rows, np.array([start]), end)

    def flush(self) -> None:
        """Feed the rows that wait."""
        if self._rows:
            columns = list(np.array(self._rows, np.float64).T.copy())
            ticks = np.array(self._ticks, np.int64)
            self._ticks, self._rows = [], []
            self._feed(ticks, columns)

    def _feed(self, ticks: Ints, columns: list[Floats]) -> None:
        self.now = int(ticks[-1])
        self._no_rows = [column[:0] for column in columns]
        if self.window is not None:
            self.synopsis.forget(self.now - self.window + 1)
        self.synopsis.run(ticks, columns, _NONE, _NONE)
        if self.window is not None:
            self.synopsis.forget(self.now - self.window + 1)


class Bucket(NamedTuple):
    """The tick of a bucket's newest unit, and how many units it holds."""

    tick: int
    size: int


class ExponentialHistogram:
    """The count, or the sum of whole numbers, of the last stretch of a stream, at most eps off.

    It keeps O(1/eps log N) buckets for N units, whatever the number of rows (Datar et al.).

    >>> histogram = ExponentialHistogram(eps=0.1)
    >>> for tick in range(100_000):
    ...     histogram.insert(tick)
    >>> histogram.estimate(last=600), histogram.bounds(last=600)
    (576.5, (545.0, 608.0))
    >>> len(histogram.buckets)
    77
    """

    def __init__(self, eps: float, *, window: int | None = None) -> None:
        self._summary = Summary(ApproxSum(eps, bounds=True), window=window)

    def insert(self, tick: int, value: float = 1) -> None:
        """Add a row; a value of 0 only advances the time."""
        if not 0 <= value <= LARGEST or value % 1:
            units(np.array([value], np.float64))  # raises now and not when it is fed
        self._summary.insert(tick, value)

    def extend(self, ticks: npt.ArrayLike, values: npt.ArrayLike | None = None) -> None:
        """Add many rows at once, with a value of 1 each if there are no ``values``."""
        fed = np.asarray(ticks, np.int64)
        self._summary.extend(fed, np.ones(len(fed)) if values is None else values)

    def estimate(self, *, last: int | None = None) -> float:
        """Return the sum over the newest ``last`` ticks, at most eps (relative) off."""
        return self._answer(last)[0]

    def bounds(self, *, last: int | None = None) -> tuple[float, float]:
        """Return the certain lower and upper bound of the sum."""
        _, low, high = self._answer(last)
        return low, high

    def _answer(self, last: int | None) -> tuple[float, float, float]:
        if self._summary.now is None:
            return 0.0, 0.0, 0.0
        estimate, low, high = (float(np.nan_to_num(part[0])) for part in self._summary.ask(last))
        return estimate, low, high

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets, the oldest first."""
        kept = self._kept
        pairs = zip(kept.stamps[::-1].tolist(), kept.sizes[::-1].tolist(), strict=True)
        return [Bucket(tick, size) for tick, size in pairs]

    @property
    def bucket_bound(self) -> int:
        """The largest number of buckets for a sum S: (k/2 + 1)(log2(2S/k + 1) + 1)."""
        kept = self._kept
        return bucket_bound(kept.total, kept.l)

    @property
    def _kept(self) -> HistogramBuckets:
        self._summary.flush()
        synopsis = self._summary.synopsis
        assert isinstance(synopsis, SumSynopsis)
        return synopsis.buckets
