"""A user's own function over the last stretch, by buckets of sketches [EH-11]."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from muntin.aggregates.synopses.exponential_histogram import checked_k
from muntin.aggregates.synopses.plain_values import (
    plain_from_json,
    plain_to_json,
    reading_dump,
    refuse_pickle,
)
from muntin.aggregates.synopses.protocol import BOUNDED, KeptRowsSynopsis
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Floats, Ints


class Composable(Protocol):
    """A function f of rows with a sketch [Exponential histograms 5, properties P1 to P5].

    f is never negative, grows at most like a power of the number of rows, and for two adjacent
    stretches ``f(a) + f(b) <= f(a + b) <= constant * (f(a) + f(b))``. An object of the class must
    be picklable, because it is sent to workers, and ``compose`` must leave its arguments as they
    are. A stream keeps sketches in its checkpoint, where nothing is pickled: a sketch is made of
    numbers, texts, bytes, None, lists, tuples, dictionaries and arrays of numbers. A function with
    sketches of a class of its own has two methods more, ``to_bytes(sketch)``, which returns bytes,
    and ``from_bytes(data)``, which returns an equal sketch.

    >>> class Pairs:  # how many pairs of rows there are
    ...     constant = 2.0
    ...     def init(self, x): return 1
    ...     def compose(self, older, newer): return older + newer
    ...     def value(self, sketch): return sketch * sketch
    >>> histogram = Composed(Pairs(), eps=0.1).new()
    >>> ticks = np.arange(100)
    >>> histogram.run(ticks, [np.ones(100)], np.array([0]), np.array([100]))
    [array([10000.])]
    """

    @property
    def constant(self) -> float:
        """``C_f``, at least 1."""

    @property
    def init(self) -> Callable[..., Any]:
        """A method that makes the sketch of one row, given its values."""

    def compose(self, older: Any, newer: Any) -> Any:
        """Return the sketch of two adjacent stretches."""

    def value(self, sketch: Any) -> float:
        """Return the function's value for the rows in the sketch."""


@dataclass(frozen=True)
class Composed:
    """f of the rows, never above the truth; null if there are none.

    The estimate is at most ``eps + constant - 1`` (relative) below the truth: with
    k = ceil(constant^2 / eps) this is Theorem 6. With ``bounds`` the answer has ``low``, which is
    the estimate, and ``high``; they are certain where ``value`` is exact. ``power`` is applied to
    every answer: a norm is the root of the f that is maintained.
    """

    function: Composable
    eps: float
    bounds: bool = False
    power: float = 1.0

    def __post_init__(self) -> None:
        checked_k(self.eps)
        missing = [
            part
            for part in ("constant", "init", "compose", "value")
            if not hasattr(self.function, part)
        ]
        if missing:
            raise ArgumentError(
                "function", self.function, f"it must have {', '.join(missing)} (mt.Composable)"
            )
        if hasattr(self.function, "to_bytes") != hasattr(self.function, "from_bytes"):
            expected = "it has one of to_bytes and from_bytes, and a checkpoint needs both or none"
            raise ArgumentError("function", self.function, expected)
        if not self.function.constant >= 1:
            raise ArgumentError("constant", self.function.constant, "C_f is at least 1")

    @property
    def k(self) -> int:
        """Buckets are merged while their sum is at most 1/k of the sum of all newer buckets."""
        return math.ceil(self.function.constant**2 / self.eps)

    @property
    def result(self) -> pa.DataType:
        return BOUNDED if self.bounds else pa.float64()

    def exactly(self, values: Sequence[Floats]) -> Sequence[float]:
        columns = np.stack(values)
        rows = columns[:, ~np.isnan(columns).any(axis=0)].T.tolist()
        answer = math.nan
        if rows:
            sketches = [self.function.init(*row) for row in rows]
            answer = self.function.value(reduce(self.function.compose, sketches)) ** self.power
        return [answer] * max(1, self.result.num_fields)

    def new(self) -> ComposedHistogram:
        return ComposedHistogram(self)

    def load(self, dumped: bytes) -> ComposedHistogram:
        refuse_pickle(dumped)
        histogram = ComposedHistogram(self)
        with reading_dump():
            *buckets, limit = plain_from_json(dumped)
            histogram.limit = int(limit)
            histogram.buckets = [
                ComposedBucket(int(first), int(last), self.sketch_of(kept), value)
                for first, last, kept, value in buckets
            ]
        return histogram

    def kept(self, sketch: Any) -> Any:
        """Return a sketch as a plain value, for a checkpoint."""
        own = getattr(self.function, "to_bytes", None)
        if own is None:
            return sketch
        data = own(sketch)
        if not isinstance(data, bytes):
            raise ArgumentError("to_bytes", data, "it returns bytes")
        return data

    def sketch_of(self, kept: Any) -> Any:
        """Return the sketch that was kept."""
        own = getattr(self.function, "from_bytes", None)
        return kept if own is None else own(kept)


class ComposedBucket(NamedTuple):
    """A bucket: the ticks of its first and last row, its sketch, and f of it.

    The paper keeps the last tick only. The first tick shows whether a question cuts the bucket: a
    bucket inside the stretch is counted, so a row that outweighs all others is never left out.
    """

    first: int
    last: int
    sketch: Any
    value: float


class ComposedHistogram:
    """Buckets, the oldest first.

    Invariant 3, f(B[n+1]) <= C_f/k * sum of f(B[i]) for i <= n, holds for every bucket of more
    than one row from when it is merged, because the newer ones only grow. Invariant 4 bounds the
    number of buckets only, so it is restored when their number has doubled, not at every row.
    """

    def __init__(self, kind: Composed) -> None:
        self.kind = kind
        self.buckets: list[ComposedBucket] = []
        self.limit = 32

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        rows = np.ones(len(ticks), np.bool_)
        for column in values:
            rows &= ~np.isnan(column)
        kept, columns = ticks[rows], [column[rows].tolist() for column in values]
        known = list(zip(kept.tolist(), *columns, strict=True))
        answers = np.full((2, len(starts)), np.nan)
        fed = 0
        for question, stop in enumerate(np.searchsorted(kept, ends).tolist()):
            self._feed(known[fed:stop])
            fed = max(fed, stop)
            answers[:, question] = self._answer(int(starts[question]))
        self._feed(known[fed:])
        low, high = answers**self.kind.power
        return [low, low, high] if self.kind.bounds else [low]

    def _feed(self, rows: Sequence[tuple[int, *tuple[float, ...]]]) -> None:
        function = self.kind.function
        for tick, *values in rows:
            sketch = function.init(*values)
            self.buckets.append(ComposedBucket(tick, tick, sketch, function.value(sketch)))
            if len(self.buckets) >= self.limit:
                self.merge()
                self.limit = 2 * len(self.buckets) + 32

    def merge(self) -> None:
        """Merge the pairs that violate Invariant 4, walking from the newest to the oldest."""
        function, k = self.kind.function, self.kind.k
        merged: list[ComposedBucket] = []
        newer, current = 0.0, self.buckets[-1]
        for older in reversed(self.buckets[:-1]):
            if older.value + current.value <= newer / k:
                sketch = function.compose(older.sketch, current.sketch)
                current = ComposedBucket(older.first, current.last, sketch, function.value(sketch))
            else:
                merged.append(current)
                newer += current.value
                current = older
        merged.append(current)
        self.buckets = merged[::-1]

    def _answer(self, start: int) -> tuple[float, float]:
        place = bisect_left(self.buckets, start, key=lambda bucket: bucket.last)
        reaching = self.buckets[place:]
        if not reaching:
            return math.nan, math.nan
        function = self.kind.function
        if reaching[0].first >= start:
            exact = function.value(reduce(function.compose, [part.sketch for part in reaching]))
            return exact, exact
        cut, inside = reaching[0], [part.sketch for part in reaching[1:]]
        if not inside:
            return 0.0, cut.value
        whole = reduce(function.compose, inside)
        return function.value(whole), function.value(function.compose(cut.sketch, whole))

    def forget(self, below: int) -> None:
        del self.buckets[: bisect_left(self.buckets, below, key=lambda bucket: bucket.last)]

    def dump(self) -> bytes:
        buckets = [
            [first, last, self.kind.kept(sketch), value]
            for first, last, sketch, value in self.buckets
        ]
        return plain_to_json([*buckets, self.limit]).encode()


@dataclass(frozen=True)
class OwnFunctionOption:
    """A user's function among the options; its text is its class name, the same in every run."""

    function: Composable

    def __str__(self) -> str:
        return f"{type(self.function).__module__}.{type(self.function).__qualname__}"


def _kind(own: OwnFunctionOption, eps: float, bounds: bool) -> Composed:
    return Composed(own.function, eps, bounds)


DEFINITIONS = (KeptRowsSynopsis("own_synopsis", make=_kind),)
