"""Delta frames on Arrow columns: a value stays within a size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pyarrow as pa

from muntin.kernels.frames import records
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    check_digits,
    check_number,
    is_whole,
    missing_values,
    number_columns,
    scale_of,
    signed,
)
from muntin.specs.frames.kinds import Delta


@dataclass(frozen=True)
class ArrowDelta(ArrowKind):
    """Reads a number, as an exact integer or as a double."""

    number: ClassVar[int] = records.DELTA

    @classmethod
    def check_types(cls, kind: Delta, types: Sequence[pa.DataType]) -> None:
        check_number(kind, types[0])
        check_digits(kind, types[0])

    @property
    def value_names(self) -> Sequence[str]:
        return ("lacks", "whole" if is_whole(self.types[0]) else "real")

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        return {"lacks": pa.array(missing_values(operands[0])), **number_columns(operands[0])}

    def record_fields(self, kind: Delta) -> dict[str, int | float]:
        (type_,), from_first = self.types, kind.against == "first"
        if not is_whole(type_):
            return {"from_first": from_first, "size_real": float(kind.size.value)}
        exact = Fraction(kind.size.value) * 10 ** scale_of(type_)
        # How far integers may be apart: "less than 2.5" and "at most 2.5" are both "at most 2".
        size = math.floor(exact) if kind.span == "minimal" else math.ceil(exact) - 1
        return {"from_first": from_first, "whole": 1, "size": signed(min(size, 2**64 - 1))}
