"""What a kind of frame reads of a row: a truth, a value, or that there is none.

Spark has evaluated conditions and values; here they become the few plain columns that kernels look
at, on the map side, so that no more than those travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.numbers.decimals import from_words, words
from muntin.kernels.numbers.order_keys import order_doubles, order_keys
from muntin.kernels.ticks import to_ticks
from muntin.operators.frames import levels
from muntin.specs.axis import Axis
from muntin.specs.lengths import Number

#: Decimals of so many digits are integers of 64 bits.
WHOLE_DIGITS = 18
#: The columns that kernels look at, and their types.
COLUMNS = {
    "lacks": pa.bool_(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "weight": pa.float64(),
    "along": pa.int64(),
    "counts": pa.bool_(),
    "opens": pa.bool_(),
    "reach": pa.int64(),
}


@dataclass(frozen=True)
class KindColumns:
    """How rows of a kind are read.

    Rows come with ``f0..`` (what Spark evaluated for the kind, of these ``types``), and where the
    kind has them ``lacks`` (an argument is missing), ``opens`` (a frame may start here), ``until``.
    ``function`` is the aggregate that decides, where kernels know it; else its arguments travel.
    """

    kind: str
    types: tuple[pa.DataType, ...]
    function: str = ""
    every: Number | None = None  # how far boundaries lie apart
    starts: bool = False
    until: Axis | None = None

    @property
    def by_code(self) -> bool:
        """Whether values do not fit 64 bits, so that they are numbered where they meet."""
        return self.kind in ("boundary", "trend") and not _has_order(self.types[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Which of :data:`COLUMNS` rows have; ``code`` is the value itself (:attr:`by_code`)."""
        made: list[str] = []
        match self.kind:
            case "threshold" | "region":
                made = ["lacks", "whole"]
            case "boundary" | "trend":
                made = ["lacks", "code" if self.by_code else "whole"]
            case "between":
                made = ["whole"]
            case "delta":
                made = ["lacks", "whole" if is_whole(self.types[0]) else "real"]
            case "aggregate":
                made = ["lacks", *self._measured]
            case "own":
                made = ["lacks", *(f"f{place}" for place in range(len(self.types)))]
        made += ["along"] if self.kind == "region" else []
        made += ["opens"] if self.starts else []
        return (*made, "reach") if self.until is not None else tuple(made)

    def type_of(self, name: str) -> pa.DataType:
        """The type of one of :attr:`names`."""
        if name in COLUMNS:
            return COLUMNS[name]
        if name == "code":
            return self.types[0] if self.every is None else levels.WIDE
        return self.types[int(name[1:])]

    @property
    def _measured(self) -> list[str]:
        if not self.types:
            return []
        if not self.function:
            return [f"f{place}" for place in range(len(self.types))]
        if self.function in ("count", "count_if"):
            return ["counts"]
        value = "whole" if self.measures_whole else "real"
        return ["counts", value, *(["weight"] if self.function == "weighted_avg" else [])]

    @property
    def measures_whole(self) -> bool:
        """Whether the aggregate that decides about frames is one of exact integers."""
        exact = ("sum", "avg", "min", "max", "first", "last", "any", "all")
        return self.function in exact and bool(self.types) and is_whole(self.types[0])

    def read(self, rows: pa.Table) -> dict[str, pa.Array]:
        """The columns that kernels look at."""
        given = [rows[f"f{place}"].combine_chunks() for place in range(len(self.types))]
        made = self._values(given)
        if self.kind == "aggregate":
            made["lacks"] = self._lacks(rows, given)
        if self.starts:
            made["opens"] = rows["opens"].combine_chunks().fill_null(False)
        if self.until is not None:
            made["reach"] = pa.array(to_ticks(rows["until"].combine_chunks(), self.until).order)
        return {name: made[name] for name in self.names}

    def _lacks(self, rows: pa.Table, given: list[pa.Array]) -> pa.Array:
        """Whether an argument is missing, where Spark has not said so already."""
        if "lacks" in rows.column_names:
            return rows["lacks"].combine_chunks().fill_null(False)
        none = np.zeros(rows.num_rows, np.bool_)
        return pa.array(np.logical_or.reduce([none, *(_lacking(column) for column in given)]))

    def _values(self, given: list[pa.Array]) -> dict[str, pa.Array]:
        match self.kind:
            case "threshold":
                return _truth(given[0])
            case "region":
                return {**_truth(given[0]), "along": pa.array(_in_order(given[1]))}
            case "boundary" | "trend":
                lacks = _lacking(given[0])
                if self.by_code:
                    return {"lacks": pa.array(lacks), "code": self._code(given[0])}
                whole = _in_order(given[0]) if self.every is None else _levels(given[0], self.every)
                return {"lacks": pa.array(lacks), "whole": pa.array(np.where(lacks, 0, whole))}
            case "between":
                starts, ends = (_true(column).astype(np.int64) for column in given)
                return {"whole": pa.array(starts + 2 * ends)}
            case "delta":
                return {"lacks": pa.array(_lacking(given[0])), **_number(given[0])}
            case "aggregate" if self.function and given:
                return self._measures(given)
            case "aggregate":
                return {f"f{place}": column for place, column in enumerate(given)}
            case "own":
                lacks = np.logical_or.reduce([_lacking(column) for column in given])
                return {"lacks": pa.array(lacks), **{f"f{p}": c for p, c in enumerate(given)}}
        return {}

    @property
    def place_type(self) -> pa.DataType:
        """The type in which the bounds of a region along a column are reported."""
        type_ = self.types[1]
        if pa.types.is_decimal(type_):
            return pa.decimal128(38, type_.scale)
        return pa.float64() if pa.types.is_floating(type_) else pa.int64()

    def place(self, along: Ints) -> pa.Array:
        """Where along a region rows lie, from what :meth:`read` made of it."""
        if pa.types.is_floating(self.place_type):
            return pa.array(order_doubles(along))
        if pa.types.is_integer(self.place_type):
            return pa.array(along)
        words_ = along.view(np.uint64), along >> np.int64(63)
        return from_words(*words_, self.place_type, np.ones(len(along), np.bool_))

    def _code(self, column: pa.Array) -> pa.Array:
        if self.every is None:
            return column
        return levels.of_wide_decimals(column, _each(self.every, column.type))

    def _measures(self, given: list[pa.Array]) -> dict[str, pa.Array]:
        counts = pc.is_valid(given[0])
        if self.function in ("first", "last") and len(given) == 2:
            counts = given[1].fill_null(False)
        weight = given[1] if self.function == "weighted_avg" else None
        number = {} if self._measured[-1] == "counts" else _number(given[0])
        more = {} if weight is None else {"weight": weight.cast(pa.float64()).fill_null(0.0)}
        return {"counts": counts, **number, **more}


def is_whole(type_: pa.DataType) -> bool:
    """Whether numbers of a type are computed with as integers, scaled for decimals."""
    narrow = pa.types.is_decimal(type_) and not is_wide(type_)
    return bool(narrow or pa.types.is_integer(type_) or pa.types.is_boolean(type_))


def is_wide(type_: pa.DataType) -> bool:
    """Whether a type is one of decimals that may not fit 64 bits."""
    return bool(pa.types.is_decimal(type_) and type_.precision > WHOLE_DIGITS)


def scale_of(type_: pa.DataType) -> int:
    """How many decimals the integers of a type stand for."""
    return int(type_.scale) if pa.types.is_decimal(type_) else 0


def _has_order(type_: pa.DataType) -> bool:
    """Whether values are integers or doubles, which have an order wherever they are."""
    texts = pa.types.is_string(type_) or pa.types.is_binary(type_)
    return not (is_wide(type_) or texts)


def _in_order(column: pa.Array) -> Ints:
    """Integers in the order of the values; decimals are those that they are."""
    return order_keys(_scaled(column) if pa.types.is_decimal(column.type) else column).key


def _scaled(column: pa.Array) -> pa.Array:
    low, _ = words(column)
    return pa.array(low.view(np.int64), mask=~pc.is_valid(column).to_numpy(zero_copy_only=False))


def _lacking(column: pa.Array) -> Mask:
    lacks: Mask = pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)
    return lacks


def _true(column: pa.Array) -> Mask:
    truth: Mask = column.fill_null(False).to_numpy(zero_copy_only=False)
    return truth


def _truth(column: pa.Array) -> dict[str, pa.Array]:
    return {"lacks": pc.is_null(column), "whole": pa.array(_true(column).astype(np.int64))}


def _number(column: pa.Array) -> dict[str, pa.Array]:
    """A number as an exact integer or as a double; what is missing is 0."""
    if is_whole(column.type):
        whole = _scaled(column) if pa.types.is_decimal(column.type) else column.cast(pa.int64())
        return {"whole": whole.fill_null(0)}
    return {"real": column.cast(pa.float64()).fill_null(0.0)}


def _levels(column: pa.Array, every: Number) -> Ints:
    """Between which multiples of ``every`` values lie."""
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return levels.of_doubles(values, Fraction(every.value), every.digits)
    whole = _number(column)["whole"].to_numpy(zero_copy_only=False)
    return levels.of_integers(whole, _each(every, column.type))


def _each(every: Number, type_: pa.DataType) -> Fraction:
    """``every`` in the integers that numbers of a type are."""
    return Fraction(every.value) * Fraction(10 ** scale_of(type_))
