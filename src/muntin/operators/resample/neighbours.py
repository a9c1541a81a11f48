"""Values at instants, computed from the rows before and after them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Floats, Ints, Mask
from muntin.kernels.numbers.order_keys import order_doubles
from muntin.operators.protocol import ints
from muntin.specs.axis import Axis, Domain
from muntin.specs.resample import Method

#: Positions on an axis: whole numbers, or doubles on an axis of doubles.
Places = Ints | Floats


def numeric(type_: pa.DataType) -> bool:
    """True if values of a type are numbers, so that they can be interpolated."""
    return bool(
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )


@dataclass(frozen=True)
class Neighbours:
    """Computes values ``r0..`` at instants from the columns ``c0..`` of the rows around them.

    ``max_gap`` is in ticks.
    """

    how: Method
    axis: Axis
    max_gap: int | None
    columns: tuple[pa.DataType, ...]

    @property
    def types(self) -> list[pa.DataType]:
        """The types of the values; interpolated values are doubles."""
        return [pa.float64() if self._interpolates(type_) else type_ for type_ in self.columns]

    def _interpolates(self, type_: pa.DataType) -> bool:
        return self.how == "linear" and numeric(type_)

    def made(self, rows: pa.Table, before: Ints, after: Ints, order: Ints) -> list[pa.Array]:
        """Return the columns of values, and last the mask of instants that are gaps.

        ``before`` and ``after`` have the row before and the row after each instant, -1 if there is
        none; ``order`` has the instants.
        """
        at = self._places(order)
        # Index -1 finds the appended 0, which is not used.
        place = self._places(np.append(ints(rows["order"]), 0))
        low, high = place[before], place[after]
        gap = self._gaps(at, low, high, before, after)
        used = before
        if self.how == "nearest":
            closer = (after >= 0) & ((before < 0) | (high - at < at - low))
            used = np.where(closer, after, before)
        taken = pa.array(np.where(gap, -1, used), mask=gap)
        values = []
        for number, type_ in enumerate(self.columns):
            column = rows[f"c{number}"].combine_chunks()
            if self._interpolates(type_):
                values.append(_interpolated(column, before, after, at, low, high, gap))
            else:
                values.append(column.take(taken))
        return [*values, pa.array(gap)]

    def _gaps(self, at: Places, low: Places, high: Places, before: Ints, after: Ints) -> Mask:
        far = None if self.max_gap is None else self._length(self.max_gap)
        if self.how == "linear":
            gap: Mask = (before < 0) | (after < 0)
            return gap if far is None else gap | (high - low > far)
        back, ahead = (before >= 0), np.full(len(before), self.how == "nearest") & (after >= 0)
        if far is not None:
            back, ahead = back & (at - low <= far), ahead & (high - at <= far)
        return ~(back | ahead)

    def _places(self, order: Ints) -> Places:
        return order_doubles(order) if self.axis.domain is Domain.DOUBLE else order

    def _length(self, ticks: int) -> float:
        return ticks / 10**self.axis.digits if self.axis.domain is Domain.DOUBLE else ticks


def _interpolated(
    column: pa.Array,
    before: Ints,
    after: Ints,
    at: Places,
    low: Places,
    high: Places,
    gap: Mask,
) -> pa.Array:
    """Return values at instants on the line from the row before to the row after."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # a string becomes the nearest double
    values = column.cast(pa.float64(), safe=False)
    known = np.append(pc.is_valid(values).to_numpy(zero_copy_only=False), False)
    value = np.append(values.fill_null(0.0).to_numpy(zero_copy_only=False), 0.0)
    exact = before == after
    length = np.where(gap | exact, 1, high - low).astype(np.float64)
    share = np.where(gap | exact, 0, at - low).astype(np.float64) / length
    with np.errstate(invalid="ignore", over="ignore"):
        result = value[before] + (value[after] - value[before]) * share
    result = np.where(exact, value[before], result)
    missing = gap | ~known[before] | ~known[after]
    return pa.array(result, pa.float64(), mask=missing)
