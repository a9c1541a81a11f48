"""How many different values the last stretch holds: Flajolet-Martin with timestamps [EH-16]."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.accumulators import Counted
from muntin.aggregates.definition import AggregateCall, BoundAggregate, Columns
from muntin.aggregates.synopses.exponential_histogram import checked_k
from muntin.aggregates.synopses.protocol import SynopsisDefinition
from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.hashing import hash_doubles

#: Bits of a bitmap: enough for 2^40 different values in each.
_WIDTH = 40
#: Flajolet and Martin's constant, and the exponent that corrects its bias for few values.
_PHI, _KAPPA = 0.77351, 1.75
#: Up to this many values per bitmap, the number of empty bitmaps gives the better estimate.
_FEW = 2
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True)
class DistinctValues:
    """The number of different values; its standard error is ``eps``, not its bound.

    Only an expected accuracy of 0.78 / sqrt(m) is known for m bitmaps
    [Exponential histograms 6, Distinct Values].
    """

    eps: float

    def __post_init__(self) -> None:
        checked_k(self.eps)

    @property
    def bitmaps(self) -> int:
        """m, a power of two."""
        return 1 << math.ceil(math.log2(max(1.0, (0.78 / self.eps) ** 2)))

    @property
    def result(self) -> pa.DataType:
        return pa.float64()

    def new(self) -> Bitmaps:
        return Bitmaps(np.full(self.bitmaps * _WIDTH, _NEVER))

    def load(self, dumped: bytes) -> Bitmaps:
        bitmaps = self.new()
        (filled,) = struct.unpack_from("<q", dumped)
        cells = np.frombuffer(dumped, "<i4", filled, offset=8)
        bitmaps.stamps[cells] = np.frombuffer(dumped, "<i8", offset=8 + 4 * filled)
        return bitmaps


class Bitmaps:
    """Bitmaps with a timestamp for each bit; a bit counts if it was last set inside the stretch.

    The low bits of a value's hash choose the bitmap; the number of zeros after them is the bit.
    """

    def __init__(self, stamps: Ints) -> None:
        self.stamps = stamps

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        rows = ~np.isnan(values[0])
        kept, cells = ticks[rows], self._cells(values[0][rows])
        answers = np.empty(len(starts))
        fed = 0
        for question, stop in enumerate(np.searchsorted(kept, ends).tolist()):
            self.stamps[cells[fed:stop]] = kept[fed:stop]  # for equal cells the last tick stays
            fed = max(fed, stop)
            answers[question] = self._estimate(self.stamps >= starts[question])
        self.stamps[cells[fed:]] = kept[fed:]
        return [answers]

    def _cells(self, values: Floats) -> npt.NDArray[np.intp]:
        bitmaps = len(self.stamps) // _WIDTH
        hashed = hash_doubles(values)
        above = hashed >> np.uint64(bitmaps.bit_length() - 1) | np.uint64(1 << (_WIDTH - 1))
        lowest = above & (~above + np.uint64(1))
        zeros = np.frexp(lowest.astype(np.float64))[1] - 1
        cells: npt.NDArray[np.intp] = (hashed & np.uint64(bitmaps - 1)).astype(np.intp)
        cells *= _WIDTH
        cells += zeros
        return cells

    def _estimate(self, active: npt.NDArray[np.bool_]) -> float:
        bits = active.reshape(-1, _WIDTH)
        unset = len(bits) - int(bits.any(axis=1).sum())
        few = len(bits) * math.log(len(bits) / unset) if unset else math.inf
        if few <= _FEW * len(bits):
            return few
        full = bits.all(axis=1)
        mean = float(np.where(full, _WIDTH, np.argmin(bits, axis=1)).mean())
        return len(bits) / _PHI * (math.pow(2, mean) - math.pow(2, -_KAPPA * mean))

    def forget(self, below: int) -> None:
        self.stamps[self.stamps < below] = _NEVER

    def dump(self) -> bytes:
        cells = np.flatnonzero(self.stamps != _NEVER)
        head = struct.pack("<q", len(cells)) + cells.astype("<i4").tobytes()
        return head + self.stamps[cells].astype("<i8").tobytes()


class ApproxDistinct(SynopsisDefinition):
    """``mt.approx_distinct_window``; the exact answer counts the different hashes."""

    def exact(self, call: AggregateCall) -> BoundAggregate:
        def finish(columns: Columns) -> pa.Array:
            return pa.array(columns[0][0].distinct_counts.astype(np.float64))

        return BoundAggregate((Counted(call.slots[:1], call.type),), pa.float64(), finish)


DEFINITIONS = (ApproxDistinct("approx_distinct_window", make=DistinctValues, hashed=1),)
