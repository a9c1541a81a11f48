"""Delta frames on Arrow columns: a value stays within a size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pyarrow as pa

from muntin.kernels.frames import records
from muntin.kernels.ticks import to_ticks
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    check_digits,
    check_length,
    is_time,
    is_whole,
    missing_values,
    number_columns,
    scale_of,
    signed,
    time_axis,
)
from muntin.specs.frames.kinds import Delta
from muntin.specs.lengths import Number


@dataclass(frozen=True)
class ArrowDelta(ArrowKind):
    """Reads a number or a time, as an exact integer or as a double."""

    number: ClassVar[int] = records.DELTA

    @classmethod
    def check_types(cls, kind: Delta, types: Sequence[pa.DataType]) -> None:
        check_length(kind, "size", kind.size, types[0])
        check_digits(kind, types[0])

    @property
    def value_names(self) -> Sequence[str]:
        type_ = self.types[0]
        return ("lacks", "whole" if is_time(type_) or is_whole(type_) else "real")

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        (column,), lacks = operands, pa.array(missing_values(operands[0]))
        if not is_time(column.type):
            return {"lacks": lacks, **number_columns(column)}
        return {"lacks": lacks, "whole": pa.array(to_ticks(column, time_axis(column.type)).tick)}

    def record_fields(self, kind: Delta) -> dict[str, int | float]:
        (type_,), from_first = self.types, kind.against == "first"
        if not isinstance(kind.size, Number):
            exact = Fraction(time_axis(type_).length("size", kind.size))
        elif is_whole(type_):
            exact = Fraction(kind.size.value) * 10 ** scale_of(type_)
        else:
            return {"from_first": from_first, "size_real": float(kind.size.value)}
        # How far integers may be apart: "less than 2.5" and "at most 2.5" are both "at most 2".
        size = math.floor(exact) if kind.span == "minimal" else math.ceil(exact) - 1
        return {"from_first": from_first, "whole": 1, "size": signed(min(size, 2**64 - 1))}
