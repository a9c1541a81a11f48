"""Focused histograms: correlated aggregates in a few buckets [CA-13 to CA-19].

A landmark window has one :class:`Block`, the paper's algorithm. A sliding window has parts, and
each part has a block of its own. No row is ever taken out of a histogram, because the rows are not
kept (docs/decisions/0010).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.definition import where
from muntin.aggregates.focused.cumulative import ESTIMATE, HIGH, LOW
from muntin.aggregates.focused.histogram import Block
from muntin.aggregates.focused.question import HEURISTICS, Focus
from muntin.aggregates.synopses.protocol import BOUNDED, KeptRowsSynopsis
from muntin.errors import ArgumentError
from muntin.expressions.spark_expressions import Expression
from muntin.kernels.arrays import Floats, Ints
from muntin.specs.lengths import Length

#: Relative room for the rounding of a mean, where bounds must be certain.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FocusedKind:
    """Makes focused histograms; ``length`` is the window's, None for a window that only grows.

    Parts of sliding windows begin at ``origin`` plus multiples of their length. So a window that
    begins there cuts no part, and its answer needs no guess about a part.
    """

    focus: Focus
    length: int | None = None
    origin: int = 0

    def __post_init__(self) -> None:
        if self.length is not None and self.focus.strategy in HEURISTICS:
            raise ArgumentError(
                "strategy", self.focus.strategy, "the heuristics are for landmark windows only"
            )

    @property
    def result(self) -> pa.DataType:
        return BOUNDED if self.focus.bounds else pa.float64()

    def over(self, length: int | None, origin: int = 0) -> FocusedKind:
        """Return the same kind for windows of ``length`` ticks with this ``origin``."""
        return replace(self, length=length, origin=origin)

    def exactly(self, values: Sequence[Floats]) -> Sequence[float]:
        """Return the aggregate over the rows within the limits; infinite x count nowhere."""
        known = np.isfinite(values[0])
        x, y = values[0][known], values[1][known]
        inside = ~np.isnan(y)
        if len(x):
            reduced = {"min": x.min(), "max": x.max(), "avg": math.fsum(x.tolist()) / len(x)}
            for limit in self.focus.limits:
                inside &= limit.holds(x, reduced[self.focus.aggregate])
        rows, total = int(np.count_nonzero(inside)), math.fsum(y[inside].tolist())
        answers = {"count": float(rows), "sum": total, "avg": total / max(rows, 1)}
        null = rows == 0 and self.focus.dependent != "count"
        answer = math.nan if null else answers[self.focus.dependent]
        return [answer] * max(1, self.result.num_fields)

    def new(self) -> FocusedHistograms:
        return FocusedHistograms(self)

    def load(self, dumped: bytes) -> FocusedHistograms:
        blocks = [Block.from_state(self.focus, state) for state in json.loads(dumped)]
        histograms = FocusedHistograms(self, blocks)
        histograms.count_again()
        return histograms


@dataclass
class FocusedHistograms:
    """The synopsis of one key: the blocks that a window may still need, oldest first."""

    kind: FocusedKind
    blocks: list[Block] = field(default_factory=list)
    n: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        """Run as in ``Synopsis.run``; ``values`` are x and the value to count or add up."""
        stops = np.searchsorted(ticks, ends, "left").tolist()
        answers: list[tuple[float, float, float]] = []
        rows = zip(ticks.tolist(), values[0].tolist(), values[1].tolist(), strict=True)
        fed = 0
        for start, stop in zip(starts.tolist(), stops, strict=True):
            while fed < stop:
                self._feed(*next(rows))
                fed += 1
            answers.append(self.answer(start))
        for row in rows:
            self._feed(*row)
        columns = np.array(answers, np.float64).reshape(-1, 3)
        return [columns[:, place].copy() for place in range(3 if self.kind.focus.bounds else 1)]

    def forget(self, below: int) -> None:
        """Drop the blocks that end at this tick or before; no later question starts below it."""
        if self.kind.length is not None:
            self._keep([block for block in self.blocks if block.end > below])

    def dump(self) -> bytes:
        return json.dumps([block.state() for block in self.blocks]).encode()

    def _feed(self, tick: int, x: float, y: float) -> None:
        if not math.isfinite(x):
            return  # null or infinite, which no bucket can hold
        if self.kind.focus.mirrored:
            x = -x
        block = self._block(tick)
        self.n, self.total, self.squares = self.n + 1, self.total + x, self.squares + x * x
        weight = np.array([1.0, max(y, 0.0), max(-y, 0.0)]) if y == y else np.zeros(3)
        mean = self.total / self.n
        error = math.sqrt(max(self.squares / self.n - mean * mean, 0.0) / self.n)
        block.feed(x, weight, y, mean, error)

    def _block(self, tick: int) -> Block:
        """Return the block of a row; drop the blocks that no later window can reach."""
        length = self.kind.length
        if length is None:
            if not self.blocks:
                self.blocks.append(Block(self.kind.focus, -math.inf, math.inf))
            return self.blocks[-1]
        if not self.blocks or self.blocks[-1].end <= tick:
            size = -(-length // self.kind.focus.intervals)
            start = tick - (tick - self.kind.origin) % size
            alive = [block for block in self.blocks if block.end > tick - length]
            self._keep([*alive, Block(self.kind.focus, start, start + size)])
        return self.blocks[-1]

    def _keep(self, blocks: list[Block]) -> None:
        if len(blocks) != len(self.blocks) or blocks[-1:] != self.blocks[-1:]:
            self.blocks = blocks
            self.count_again()

    def count_again(self) -> None:
        """Sum the moments of all blocks again; subtraction would leave rounding errors."""
        self.n = sum(block.n for block in self.blocks)
        self.total = sum(block.total for block in self.blocks)
        self.squares = sum(block.squares for block in self.blocks)

    def answer(self, start: int) -> tuple[float, float, float]:
        """Return estimate, low and high for the rows from ``start`` on."""
        filled = [block for block in self.blocks if block.n]
        if self.kind.length is None:
            whole, broken = filled, []
        else:
            whole = [block for block in filled if block.start >= start]
            broken = [block for block in filled if block.start < start < block.end]
        parts = [(block, 1.0) for block in whole]
        parts += [(b, (b.end - start) / (b.end - b.start)) for b in broken]
        if not parts:
            return (0.0, 0.0, 0.0) if self.kind.focus.dependent == "count" else (math.nan,) * 3
        middle, least, most = self._independent(whole, broken, parts)
        measures = np.zeros((3, 3))
        for block, share in parts:
            measures[:, ESTIMATE] += share * block.between(middle, middle)[:, ESTIMATE]
        for block in whole:
            measures[:, LOW:] += block.between(least, most)[:, LOW:]
        for block in broken:
            measures[:, HIGH] += block.weight
        return self._dependent(measures, [block for block, _ in parts])

    def _independent(
        self, whole: list[Block], broken: list[Block], parts: list[tuple[Block, float]]
    ) -> tuple[float, float, float]:
        """Return the independent aggregate: an estimate, and its bounds [CA-18]."""
        if self.kind.focus.aggregate != "avg":
            low = min(block.low for block, _ in parts)
            return low, low, min((block.low for block in whole), default=math.inf)
        n = sum(share * block.n for block, share in parts)
        mean = sum(share * block.total for block, share in parts) / n
        room = _ROUNDING * max(max(abs(b.low), abs(b.high)) for b, _ in parts)
        count, total = sum(b.n for b in whole), sum(b.total for b in whole)
        least = most = total / count if count else mean
        for block in broken:
            # In the worst case the window has all of its rows, all at one end of their range.
            both = count + block.n
            least = min(
                least, (total + block.n * block.low) / both, block.low if not count else least
            )
            most = max(
                most, (total + block.n * block.high) / both, block.high if not count else most
            )
        return mean, least - room, most + room

    def _dependent(
        self, measures: npt.NDArray[np.float64], blocks: list[Block]
    ) -> tuple[float, float, float]:
        measures = np.maximum(measures, 0.0)
        measures[:, LOW] = np.minimum(measures[:, LOW], measures[:, HIGH])
        count, plus, minus = measures
        if self.kind.focus.dependent == "count":
            return float(count[0]), float(count[LOW]), float(count[HIGH])
        sums = plus[0] - minus[0], plus[LOW] - minus[HIGH], plus[HIGH] - minus[LOW]
        if count[HIGH] <= 0:
            return (math.nan,) * 3
        if self.kind.focus.dependent == "sum":
            return float(sums[0]), float(sums[1]), float(sums[2])
        least = min(block.least for block in blocks)
        most = max(block.most for block in blocks)
        low, high = _quotients(sums[1], sums[2], count[LOW], count[HIGH], least, most)
        mean = sums[0] / count[0] if count[0] > 0 else (low + high) / 2
        return float(min(max(mean, low), high)), float(low), float(high)


def _quotients(
    low: float, high: float, fewest: float, most: float, least: float, greatest: float
) -> tuple[float, float]:
    """Return the bounds of a mean, given bounds of its sum, of its count and of its values."""
    if fewest <= 0:
        return least, greatest
    return (
        max(least, low / (most if low >= 0 else fewest)),
        min(greatest, high / (fewest if high >= 0 else most)),
    )


class FocusedDefinition(KeptRowsSynopsis):
    """``mt.correlated(..., mode="focused")``; its one option is a ``Focus``."""

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        return [arguments[0], where(condition, arguments[1])]

    def kind(self, options: Sequence[object], length: int | None, origin: int) -> FocusedKind:
        (focus,) = options
        assert isinstance(focus, Focus)
        return FocusedKind(focus, length, origin)

    def within(self, options: Sequence[object]) -> Length | None:
        return None


DEFINITIONS = (FocusedDefinition("focused", make=FocusedKind),)
