"""A kind of frame on Arrow columns: the base class of ``operators/frames/kinds``.

Spark has evaluated the conditions and values of a kind. On the map side they become the few plain
columns that kernels look at, so that only those travel. The arguments of the kind become fields of
the record that kernels take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.definition import AggregateCall, BoundAggregate
from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames import records
from muntin.kernels.numbers.decimals import as_doubles, words
from muntin.kernels.numbers.order_keys import order_keys
from muntin.kernels.ticks import to_ticks
from muntin.operators.frames.ordered_rows import COLUMNS, Bridge, CombinedTies, RowCondition
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Crossing
from muntin.specs.frames.row_kinds import Density
from muntin.specs.lengths import Length, Number

#: Decimals of at most this many digits are 64-bit integers.
WHOLE_DIGITS = 18
#: The fields of the kernels' record that a framing sets; the others are 0, or -1 for "no limit".
Fields = tuple[tuple[str, int | float], ...]
_NO_LIMIT = ("min_count", "max_count", "min_duration", "max_duration", "fragments")
_READINGS = {
    "point": records.POINT,
    "until_next": records.UNTIL_NEXT,
    "interval": records.INTERVAL,
}
_RESTARTS = {"close": records.CLOSE, "drop": records.DROP}


@dataclass(frozen=True)
class FrameOperatorInputs:
    """Facts that an operator needs besides its framing: the axis and the types of columns.

    ``read`` are the types of the kind's operands. ``ties`` are the types of the columns that order
    rows that tie. ``bridge`` is the condition on missing rows, if there is one. ``digest``
    identifies the code of a user's own framing function. ``combined`` turns rows that tie into one.
    ``row_conditions`` are the conditions of a kind that looks back, in the order of its operands.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    read: tuple[pa.DataType, ...]
    ties: tuple[pa.DataType, ...] = ()
    bridge: Bridge | None = None
    digest: str = ""
    combined: CombinedTies | None = None
    row_conditions: tuple[RowCondition, ...] = ()


@dataclass(frozen=True)
class ArrowKind:
    """How a kind reads rows, and what kernels need to know about it.

    Rows come with the kind's operands ``f0..``, of these ``types``. Where the kind has them they
    also come with ``lacks`` (an operand is missing), ``opens`` (a frame may start here) and
    ``until``.
    """

    types: tuple[pa.DataType, ...]
    starts: bool = False
    until: Axis | None = None
    #: The number of the kind in the kernels' record.
    number: ClassVar[int] = records.THRESHOLD
    #: True if rows have a second place, ``along``.
    has_second_axis: ClassVar[bool] = False
    #: True if a row counts only by being equal to the row before it.
    compares_neighbours: ClassVar[bool] = False

    @classmethod
    def of(cls, framing: Framing, inputs: FrameOperatorInputs) -> Self:
        """Return the kind for columns of these types; raise if a type is not supported."""
        cls.check_types(framing.kind, inputs.read)
        return cls(**cls.arguments(framing, inputs))

    @classmethod
    def arguments(cls, framing: Framing, inputs: FrameOperatorInputs) -> dict[str, Any]:
        """Return the values of the dataclass fields."""
        return {
            "types": inputs.read,
            "starts": framing.kind.start_condition is not None,
            "until": inputs.axis if framing.until is not None else None,
        }

    @classmethod
    def check_types(cls, kind: Any, types: Sequence[pa.DataType]) -> None:
        """Raise if the kind cannot read a column of one of these types."""

    @property
    def value_names(self) -> Sequence[str]:
        """The columns that :meth:`values` makes."""
        return ()

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        """Return the columns that kernels look at."""
        return {}

    def record_fields(self, kind: Any) -> dict[str, int | float]:
        """Return the fields of the kernels' record that only this kind has."""
        return {}

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[Any], dict[str, Any]] | None:
        """Return the operator of this kind and its further fields; None for the usual one."""
        return None

    @property
    def own_fields(self) -> Sequence[pa.Field]:
        """The columns of a frame that only this kind has, after its bounds."""
        return ()

    def own_columns(self, frames: np.ndarray) -> list[pa.Array]:
        """Return the values of :attr:`own_fields`."""
        return []

    @property
    def by_code(self) -> bool:
        """True if values do not fit 64 bits, so that they are numbered when they are compared."""
        return False

    @property
    def code_type(self) -> pa.DataType:
        """The type of values that are numbered when they are compared."""
        return self.types[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of a row; ``code`` is the value itself (:attr:`by_code`)."""
        opens = ("opens",) if self.starts else ()
        return (*self.value_names, *opens, *(("reach",) if self.until is not None else ()))

    def type_of(self, name: str) -> pa.DataType:
        """Return the type of one of :attr:`names`."""
        if name in COLUMNS:
            return COLUMNS[name]
        return self.code_type if name == "code" else self.types[int(name[1:])]

    def read(self, rows: pa.Table) -> dict[str, pa.Array]:
        """Return the columns that kernels look at."""
        operands = [rows[f"f{place}"].combine_chunks() for place in range(len(self.types))]
        columns = self.values(operands)
        columns |= self.missing_rows(rows, operands)
        if self.starts:
            columns["opens"] = rows["opens"].combine_chunks().fill_null(False)
        if self.until is not None:
            columns["reach"] = pa.array(to_ticks(rows["until"].combine_chunks(), self.until).order)
        return {name: columns[name] for name in self.names}

    def missing_rows(self, rows: pa.Table, operands: list[pa.Array]) -> dict[str, pa.Array]:
        """Return the column ``lacks``, if it does not depend on the operands alone."""
        return {}

    def after_rows(self, rows: pa.Table, key: Ints, before: pa.Table | None) -> pa.Table:
        """Return rows in order with the columns that depend on the row before each."""
        return rows

    def without_place(self, rows: pa.Table) -> tuple[Mask, str] | None:
        """Return which rows have no place on the second axis, and the reason of their refusal."""
        return None

    @property
    def place_type(self) -> pa.DataType:
        """The type of places along the second axis."""
        raise NotImplementedError

    def place(self, along: Ints) -> pa.Array:
        """Return places along the second axis, made of the column ``along``."""
        raise NotImplementedError


def record_fields(framing: Framing, axis: Axis, kind: ArrowKind) -> Fields:
    """Return the fields of the kernels' record for a framing on an axis."""
    fields: dict[str, int | float] = {
        "kind": kind.number,
        "minimal": framing.kind.span == "minimal",
        "reading": _READINGS[framing.readings],
        "liberal": framing.bounds == "liberal",
        "cut": framing.cut,
        "doubles": axis.domain is Domain.DOUBLE,
        "every_candidate": framing.overlapping,
        "least_rows": framing.kind.least_rows,
    }
    for name in ("min_count", "max_count"):
        fields |= {} if getattr(framing, name) is None else {name: getattr(framing, name)}
    lengths = (("min_duration", "min_length"), ("max_duration", "max_length"))
    for name, real in (*lengths, ("fragments", "fragment_length")):
        length = getattr(framing, name)
        fields |= {} if length is None else _length(axis, name, real, length)
    if kind.starts:
        restart = getattr(framing.kind, "restart", None)
        fields["restart"] = _RESTARTS.get(str(restart), records.NOWHERE)
    return tuple((fields | kind.record_fields(framing.kind)).items())


def kernel_record(fields: Fields) -> np.ndarray:
    """Return the record that kernels take, as an array of one."""
    record = np.zeros(1, records.ASKED)
    for name in _NO_LIMIT:
        record[name] = -1
    for name, value in fields:
        record[name] = value
    return record


def _length(axis: Axis, name: str, real: str, length: Length) -> dict[str, int | float]:
    ticks = axis.length(name, length)
    return {name: ticks, real: ticks / 10**axis.digits}


def local_conditions(
    framing: Framing, axis: Axis
) -> tuple[int | None, int | None, int | None, int | None]:
    """Return the local conditions: least and most rows, least and most duration in ticks."""
    shortest, longest = framing.min_duration, framing.max_duration
    return (
        framing.min_count,
        framing.max_count,
        None if shortest is None else axis.length("min_duration", shortest),
        None if longest is None else axis.length("max_duration", longest),
    )


# -- Types -----------------------------------------------------------------------------------------


def is_number(type_: pa.DataType) -> bool:
    """Return True for integers, decimals and doubles."""
    return bool(pa.types.is_integer(type_) or is_real(type_))


def is_real(type_: pa.DataType) -> bool:
    """Return True for decimals and doubles."""
    return bool(pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def is_time(type_: pa.DataType) -> bool:
    """Return True for timestamps and dates."""
    return bool(pa.types.is_timestamp(type_) or pa.types.is_date(type_))


def time_axis(type_: pa.DataType) -> Axis:
    """Return the axis of a column of timestamps or dates."""
    if pa.types.is_date(type_):
        return Axis(Domain.DATE)
    return Axis(Domain.TIMESTAMP_NTZ if type_.tz is None else Domain.TIMESTAMP)


def is_whole(type_: pa.DataType) -> bool:
    """Return True if numbers of a type are computed with as integers, scaled for decimals."""
    narrow = pa.types.is_decimal(type_) and not is_wide(type_)
    return bool(narrow or pa.types.is_integer(type_) or pa.types.is_boolean(type_))


def is_wide(type_: pa.DataType) -> bool:
    """Return True for decimals that may not fit 64 bits."""
    return bool(pa.types.is_decimal(type_) and type_.precision > WHOLE_DIGITS)


def scale_of(type_: pa.DataType) -> int:
    """Return how many decimals the integers of a type have."""
    return int(type_.scale) if pa.types.is_decimal(type_) else 0


def has_order(type_: pa.DataType) -> bool:
    """Return True if values have a 64-bit key with the same order, wherever they are."""
    texts = pa.types.is_string(type_) or pa.types.is_binary(type_)
    return not (is_wide(type_) or texts)


def check_condition(kind: FrameKind, type_: pa.DataType) -> None:
    """Raise unless an operand is a condition."""
    if not pa.types.is_boolean(type_):
        raise UnsupportedTypeError(f"{kind.label} needs a condition, but it is {type_}")


def check_length(kind: FrameKind, argument: str, length: Length, type_: pa.DataType) -> None:
    """Raise unless an operand is a number or a time that can move by a length."""
    if is_time(type_):
        time_axis(type_).length(argument, length)
    elif not is_number(type_):
        raise UnsupportedTypeError(
            f"{kind.label} needs a number, a date or a timestamp, but its value is {type_}"
        )
    elif not isinstance(length, Number):
        raise ArgumentError(
            argument, str(length), f"the value is a number ({type_}), so it is a plain number: 10"
        )


def check_digits(kind: FrameKind, type_: pa.DataType) -> None:
    """Raise for decimals whose differences do not fit 64 bits."""
    if is_wide(type_):
        raise UnsupportedTypeError(
            f"{kind.label} computes with decimals of up to {WHOLE_DIGITS} digits, and this is "
            f"{type_}; cast it to decimal({WHOLE_DIGITS}, {min(type_.scale, 9)}) or double"
        )


def check_result(kind: Crossing | Density, bound: BoundAggregate) -> None:
    """Raise if an aggregate cannot be compared with a number; of booleans true is 1."""
    if not (is_number(bound.type) or pa.types.is_boolean(bound.type)):
        raise UnsupportedTypeError(
            f"{kind.label} compares with a number, but {kind.aggregate} is {bound.type}"
        )


# -- Columns ---------------------------------------------------------------------------------------


def missing_values(column: pa.Array) -> Mask:
    """Return which values are null or NaN."""
    lacks: Mask = pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)
    return lacks


def any_missing(columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """Return the rows in which a value is null or NaN."""
    none = np.zeros(rows, np.bool_)
    return pa.array(np.logical_or.reduce([none, *(missing_values(column) for column in columns)]))


def holding(column: pa.Array) -> Mask:
    """Return where a condition is true."""
    truth: Mask = column.fill_null(False).to_numpy(zero_copy_only=False)
    return truth


def condition_columns(column: pa.Array) -> dict[str, pa.Array]:
    """Return a condition as ``whole``, 1 or 0, and where it is null as ``lacks``."""
    return {"lacks": pc.is_null(column), "whole": pa.array(holding(column).astype(np.int64))}


def number_columns(column: pa.Array) -> dict[str, pa.Array]:
    """Return a number as an exact integer ``whole`` or as a double ``real``; 0 if missing."""
    if is_whole(column.type):
        whole = unscaled(column) if pa.types.is_decimal(column.type) else column.cast(pa.int64())
        return {"whole": whole.fill_null(0)}
    return {"real": column.cast(pa.float64()).fill_null(0.0)}


def nearest_doubles(column: pa.Array) -> pa.Array:
    """Return numbers as the nearest doubles, as Spark's cast does; 0 if missing."""
    if pa.types.is_decimal(column.type):
        return pa.array(as_doubles(column.fill_null(0)))
    return column.cast(pa.float64(), safe=False).fill_null(0.0)


def in_order(column: pa.Array) -> Ints:
    """Return integers in the order of the values; those of decimals are the unscaled numbers."""
    return order_keys(unscaled(column) if pa.types.is_decimal(column.type) else column).key


def unscaled(column: pa.Array) -> pa.Array:
    """Return decimals that fit 64 bits as integers."""
    low, _ = words(column)
    return pa.array(low.view(np.int64), mask=~pc.is_valid(column).to_numpy(zero_copy_only=False))


def signed(word: int) -> int:
    """Return 64 bits without a sign as the integer with a sign that has the same bits."""
    return word - 2**64 if word >= 2**63 else word
