"""How far the rows of an answer lie from its bounds, so that rows that are missing are noticed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.ticks import to_ticks
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class ExtentReach:
    """How far rows beyond the bounds of an answer count, in ticks; None is any distance.

    A filled frame also has rows up to ``before`` its start and up to ``after`` its end. The bounds
    of an answer that is ``joined`` are the places of its two rows, and only a row without a partner
    reaches farther: to where one might have been. With ``pairs`` two rows that met are an answer by
    themselves, to which no other row belongs.
    """

    before: int | None = 0
    after: int | None = 0
    joined: bool = False
    pairs: bool = False

    def ticks(self, bounds: tuple[str, str], results: pa.Table, axis: Axis) -> tuple[Ints, Ints]:
        """Return the first and the last tick at which each answer may have rows."""
        first, last = (results[name].combine_chunks() for name in bounds)
        if not self.joined:
            start, end = to_ticks(first, axis).tick, to_ticks(last, axis).tick
            return _moved(start, self.before, -1), _moved(end, self.after, 1)
        both = np.asarray(pc.and_(pc.is_valid(first), pc.is_valid(last)))
        here = to_ticks(pc.coalesce(first, last), axis).tick
        there = to_ticks(pc.coalesce(last, first), axis).tick
        start = np.where(both, np.minimum(here, there), _moved(here, self.before, -1))
        end = np.where(both, np.maximum(here, there), _moved(here, self.after, 1))
        if self.pairs:  # they are there, whatever other rows are
            start[both], end[both] = EVER, NEVER
        return start, end


def _moved(ticks: Ints, by: int | None, sign: int) -> Ints:
    """Return ticks that are moved; without a length, beyond all others."""
    if by is None:
        return np.full(len(ticks), EVER if sign > 0 else NEVER)
    return ticks + sign * by if by else ticks
