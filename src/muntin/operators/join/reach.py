"""Where partners of a left row may lie: within a distance, in the same interval, or as of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.numbers.order_keys import order_doubles
from muntin.kernels.ticks import order_of_ticks, shift_order, ticks_of_order
from muntin.operators.common.completeness import careful
from muntin.specs.axis import Axis, Domain
from muntin.specs.join import Asof, Distance, Zipper


class JoinReach(Protocol):
    """The orders between which partners of a left row lie, both inside."""

    @property
    def axis(self) -> Axis: ...

    def low(self, order: Ints) -> Ints:
        """Return the least order of a right row that a left row with this order may match."""

    def high(self, order: Ints) -> Ints:
        """Return the greatest order of a right row that it may match."""


@dataclass(frozen=True)
class Around:
    """Partners lie up to ``before`` ticks before the left row and up to ``after`` ticks after."""

    axis: Axis
    before: int
    after: int

    @classmethod
    def of(cls, spec: Distance, axis: Axis) -> Around:
        within = axis.length("within", spec.within)
        before = within if spec.direction != "forward" else 0
        return cls(axis, before, within if spec.direction != "backward" else 0)

    def low(self, order: Ints) -> Ints:
        return shift_order(order, self.axis, -self.before) if self.before else order

    def high(self, order: Ints) -> Ints:
        return shift_order(order, self.axis, self.after) if self.after else order


@dataclass(frozen=True)
class IntervalReach:
    """Partners lie in the same interval of ``every`` ticks; one interval begins at ``origin``."""

    axis: Axis
    every: int
    origin: int

    @classmethod
    def of(cls, spec: Zipper, axis: Axis) -> IntervalReach:
        return cls(axis, *spec.intervals(axis))

    def low(self, order: Ints) -> Ints:
        return order_of_ticks(self._start(order), self.axis)

    def high(self, order: Ints) -> Ints:
        return order_of_ticks(self._start(order) + self.every, self.axis) - 1

    def _start(self, order: Ints) -> Ints:
        tick = ticks_of_order(order, self.axis)
        start: Ints = self.origin + (tick - self.origin) // self.every * self.every
        return start


#: Distances on an axis: whole numbers, or doubles on an axis of doubles.
Lengths = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class AsofReach:
    """Partners lie before the left row, after it or both, at most ``tolerance`` ticks away.

    With ``exact`` a partner may have the same order as the left row.
    """

    axis: Axis
    tolerance: int | None
    backward: bool
    forward: bool
    exact: bool

    @classmethod
    def of(cls, spec: Asof, axis: Axis) -> AsofReach:
        tolerance = spec.tolerance
        ticks = None if tolerance is None else axis.length("tolerance", tolerance)
        return cls(axis, ticks, spec.backward, spec.forward, spec.exact)

    def low(self, order: Ints) -> Ints:
        """Return the least order of a partner before a left row with this order."""
        return self._shifted(order, -1, NEVER)

    def last(self, order: Ints) -> Ints:
        """Return the greatest order of a partner before it."""
        return order if self.exact else order - 1

    def following(self, order: Ints) -> Ints:
        """Return the least order of a partner after it."""
        return order if self.exact else order + 1

    def high(self, order: Ints) -> Ints:
        """Return the greatest order of a partner after it."""
        return self._shifted(order, 1, EVER)

    def _shifted(self, order: Ints, sign: int, boundless: int) -> Ints:
        if self.tolerance is None:
            return np.full(len(order), boundless)
        return shift_order(order, self.axis, sign * self.tolerance)

    def distance(self, low: Ints, high: Ints) -> Lengths:
        """Return the distance between two orders."""
        if self.axis.domain is Domain.DOUBLE:
            return order_doubles(high) - order_doubles(low)
        return high - low

    @property
    def keeps(self) -> int:
        """The number of right rows of a key up to :meth:`cut` that may still be partners.

        It is the last row. A left row that waits for a row after it may need the one before the
        last, if a partner must not have its own order.
        """
        return 2 if self.backward and self.forward and not self.exact else 1

    def cut(self, left: Ints, right: Ints) -> Ints:
        """Return the order up to which only the last right rows of a key may still be partners.

        The inputs are complete up to ``left`` and ``right``. So later left rows lie after the cut,
        and waiting left rows have no right row between them and the cut.
        """
        if not self.backward:
            return np.full(len(left), NEVER)
        return np.minimum(careful(self.last, left), careful(lambda order: order - 1, right))

    def floor(self, left: Ints, right: Ints) -> Ints:
        """Return the order below which no right row may still be a partner."""
        if not self.backward:
            return np.minimum(careful(self.following, left), right)
        if self.tolerance is None:
            return np.full(len(left), NEVER)
        if not self.forward:
            return careful(self.low, np.minimum(left, right))
        # A left row that waits for the next right row lies at most the tolerance before the point
        # up to which the right side is complete, and looks back by the tolerance again. Each gets
        # one tick more, because doubles are rounded.
        far = 2 * self.tolerance + 2
        if far >= self.axis.limit:
            return np.full(len(left), NEVER)
        waiting = careful(lambda order: shift_order(order, self.axis, -far), right)
        return np.minimum(careful(self.low, left), waiting)
