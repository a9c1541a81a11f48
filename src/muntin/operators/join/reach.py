"""How far a left row looks for partners among right rows, as orders.

Both bounds rise with the left row, on doubles too, where sums are rounded. So what is complete on
one side says by the same functions what may be let go on the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from muntin.kernels.arrays import Ints
from muntin.kernels.ticks import order_of_ticks, shift_order, ticks_of_order
from muntin.specs.axis import Axis
from muntin.specs.join import Distance, Zipper


class JoinReach(Protocol):
    """From where to where partners of left rows lie, bounds inside."""

    @property
    def axis(self) -> Axis: ...

    def low(self, order: Ints) -> Ints:
        """The least order of a right row that a left row with this order may match."""

    def high(self, order: Ints) -> Ints:
        """The greatest one."""


@dataclass(frozen=True)
class Around:
    """So many ticks before the left row, and so many behind it."""

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
    """The interval of ``every`` ticks in which the left row lies; one of them begins at origin."""

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
