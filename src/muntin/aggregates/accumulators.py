"""Accumulators: what a pane keeps of its rows.

Aggregates share a few kinds of accumulator: ``avg(x)``, ``sum(x)`` and ``count(x)`` of one query
share one sum of ``x`` and one count. An accumulator names its physical columns and computes them
for single rows (it *lifts* the rows). The operator combines the columns of many panes; it only
needs the accumulator's kind for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.own_aggregate import CheckedAggregate
from muntin.expressions.nodes import KeptRowsType
from muntin.kernels.arrays import Ints
from muntin.kernels.numbers import double_double
from muntin.kernels.numbers.decimals import (
    limbs_of_decimals,
    limbs_of_integers,
    magnitudes,
    squared,
)
from muntin.kernels.value_counts import lists


class AccumulatorKind(StrEnum):
    """How the columns of several panes are combined."""

    ADD = "add"  # integers in limbs of 32 bits
    ADD_EXACTLY = "add exactly"  # double-doubles
    LEAST = "least"
    GREATEST = "greatest"
    EARLIEST = "earliest"
    LATEST = "latest"
    COUNTED = "counted"  # lists of distinct values, and lists of how often each occurs
    COLLECTED = "collected"  # lists of places along ``on``, and lists of the values there
    ROWS = "rows"  # lists of places along ``on``, and a list for each slot


#: How the columns of several panes are combined: by a kind, a user's aggregate, or kept rows.
Merging = AccumulatorKind | CheckedAggregate | KeptRowsType


@dataclass(frozen=True)
class Accumulator:
    """What a pane keeps of the columns in ``slots``; subclasses define it by ``lift``."""

    slots: tuple[int, ...]
    type: pa.DataType | None = None

    @property
    def kind(self) -> Merging:
        """How the columns of several panes are combined."""
        raise NotImplementedError

    @property
    def columns(self) -> list[pa.DataType]:
        """The physical columns in which a pane keeps it."""
        raise NotImplementedError

    @property
    def bounded(self) -> bool:
        """Whether its size is the same for any number of rows in a pane [Panes 3.2]."""
        return True

    @property
    def needs_order(self) -> bool:
        """Whether it depends on the order of the rows of a pane along ``on``."""
        return False

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        """Return the columns of panes of one row each; ``order`` has the rows' places in ``on``."""
        raise NotImplementedError


@dataclass(frozen=True)
class Count(Accumulator):
    """The number of rows, or of rows that have a value in the slot."""

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.ADD

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.int64()]

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        if not self.slots or slots[self.slots[0]].null_count == 0:
            return [pa.array(np.ones(len(order), np.int64))]
        valid = pc.is_valid(slots[self.slots[0]]).to_numpy(zero_copy_only=False)
        return [pa.array(valid.astype(np.int64))]


@dataclass(frozen=True)
class WholeSum(Accumulator):
    """The exact sum of integers or decimals."""

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.ADD

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.int64()] * (4 if pa.types.is_decimal(self.type) else 2)

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        column = slots[self.slots[0]]
        if pa.types.is_decimal(column.type):
            return [pa.array(limb) for limb in limbs_of_decimals(column)]
        values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return [pa.array(limb) for limb in limbs_of_integers(values)]


@dataclass(frozen=True)
class WholeSquares(Accumulator):
    """The exact sum of the squares of integers or decimals."""

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.ADD

    @property
    def columns(self) -> list[pa.DataType]:
        assert self.type is not None  # it has a default only because of other accumulators
        wide = pa.types.is_decimal(self.type) and self.type.precision > 18
        return [pa.int64()] * (8 if wide else 4)

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        return [pa.array(limb) for limb in squared(magnitudes(slots[self.slots[0]]))]


@dataclass(frozen=True)
class DoubleSum(Accumulator):
    """The sum of doubles, or of their squares, in double-double."""

    squares: bool = False

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.ADD_EXACTLY

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.float64(), pa.float64()]

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        column = slots[self.slots[0]].cast(pa.float64())
        values = column.fill_null(0.0).to_numpy(zero_copy_only=False)
        if not self.squares:
            return [pa.array(values), pa.array(np.zeros(len(values)))]
        high, low = double_double.square(values)
        return [pa.array(high), pa.array(low)]


@dataclass(frozen=True)
class ProductSum(Accumulator):
    """The sum of the products of the slots, in double-double; a slot may stand twice."""

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.ADD_EXACTLY

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.float64(), pa.float64()]

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        first, second, *others = (
            slots[slot].fill_null(0.0).to_numpy(zero_copy_only=False) for slot in self.slots
        )
        pair = double_double.two_product(first, second)
        for other in others:
            pair = double_double.times(pair, other)
        return [pa.array(part) for part in pair]


@dataclass(frozen=True)
class Extreme(Accumulator):
    """The least or the greatest value."""

    greatest: bool = False

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.GREATEST if self.greatest else AccumulatorKind.LEAST

    @property
    def columns(self) -> list[pa.DataType]:
        return [self.type]

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        return [slots[self.slots[0]]]


@dataclass(frozen=True)
class FirstOrLast(Accumulator):
    """The value at the least or the greatest ``on``; a second slot is true for rows that count."""

    latest: bool = False

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.LATEST if self.latest else AccumulatorKind.EARLIEST

    @property
    def needs_order(self) -> bool:
        return True

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.int64(), self.type]

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        absent = None
        if len(self.slots) == 2:
            counts = slots[self.slots[1]].fill_null(False)
            absent = pc.invert(counts).to_numpy(zero_copy_only=False)
        return [pa.array(order, pa.int64(), mask=absent), slots[self.slots[0]]]


@dataclass(frozen=True)
class ValueAtExtreme(Accumulator):
    """The value of the first slot where the second has its least or its greatest value.

    Rows whose second slot is null do not count. Of rows that are equal there, the least or the
    greatest value is taken. ``by`` is the type of the second slot.
    """

    by: pa.DataType | None = None
    greatest: bool = False

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.LATEST if self.greatest else AccumulatorKind.EARLIEST

    @property
    def columns(self) -> list[pa.DataType]:
        return [self.by, self.type]

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        value, by = self.slots
        return [slots[by], slots[value]]


@dataclass(frozen=True)
class Counted(Accumulator):
    """Every distinct value and how often it occurs; nulls are left out [Panes 3.3.2]."""

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.COUNTED

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.list_(self.type), pa.list_(pa.int64())]

    @property
    def bounded(self) -> bool:
        return False

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        column = slots[self.slots[0]]
        ones = pa.array(np.ones(len(column) - column.null_count, np.int64))
        return _lists_of_present(column, [column.drop_null(), ones])


@dataclass(frozen=True)
class Collected(Accumulator):
    """Every value with its place along ``on``; nulls are left out."""

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.COLLECTED

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.list_(pa.int64()), pa.list_(self.type)]

    @property
    def bounded(self) -> bool:
        return False

    @property
    def needs_order(self) -> bool:
        return True

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        column = slots[self.slots[0]]
        places = pa.array(order[pc.is_valid(column).to_numpy(zero_copy_only=False)])
        return _lists_of_present(column, [places, column.drop_null()])


def _lists_of_present(column: pa.Array, parts: Sequence[pa.Array]) -> list[pa.Array]:
    """Return a list for each row: of one element if the row has a value, else empty."""
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return [lists(valid, part) for part in parts]


@dataclass(frozen=True)
class OwnAccumulator(Accumulator):
    """What a user's own aggregate keeps of the arguments in the slots."""

    own: CheckedAggregate | None = (
        None  # always set; a default only because the fields before it have one
    )

    @property
    def kind(self) -> CheckedAggregate:
        assert self.own is not None
        return self.own

    @property
    def columns(self) -> list[pa.DataType]:
        return list(self.kind.partials)

    @property
    def bounded(self) -> bool:
        return self.kind.own.bounded

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        arguments = [slots[slot] for slot in self.slots]
        return self.kind.partial(arguments, np.arange(len(order)), len(order))


@dataclass(frozen=True)
class RowsInOrder(Accumulator):
    """The rows themselves with their places along ``on``: slots are doubles, null is NaN."""

    @property
    def kind(self) -> AccumulatorKind:
        return AccumulatorKind.ROWS

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.large_list(pa.int64()), *[pa.large_list(pa.float64())] * len(self.slots)]

    @property
    def bounded(self) -> bool:
        return False

    @property
    def needs_order(self) -> bool:
        return True

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        single = pa.array(np.arange(len(order) + 1))
        columns = [slots[place].fill_null(np.nan) for place in self.slots]
        parts = [pa.array(order, pa.int64()), *columns]
        return [pa.LargeListArray.from_arrays(single, part) for part in parts]


@dataclass(frozen=True)
class KeptRows(Accumulator):
    """The rows themselves, as a list for each slot; a correlated aggregate needs them [CA-12]."""

    kept: KeptRowsType | None = None

    @property
    def kind(self) -> KeptRowsType:
        assert self.kept is not None  # it has a default only because the fields before it do
        return self.kept

    @property
    def columns(self) -> list[pa.DataType]:
        return [pa.large_list(type_) for type_ in self.kind.types]

    @property
    def bounded(self) -> bool:
        return False

    def lift(self, slots: Sequence[pa.Array], order: Ints) -> list[pa.Array]:
        single = pa.array(np.arange(len(order) + 1))
        return [pa.LargeListArray.from_arrays(single, slots[place]) for place in self.slots]
