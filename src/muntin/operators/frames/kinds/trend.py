"""Trend frames on Arrow columns: runs of rows in which a value rises, falls or stays.

Runs of any direction leave no row out and have their direction as a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from muntin.errors import UnsupportedTypeError
from muntin.kernels.frames import records
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    has_order,
    in_order,
    is_number,
    missing_values,
)
from muntin.specs.frames.kinds import Trend, TrendRuns

_DIRECTIONS = {
    "increasing": records.INCREASING,
    "decreasing": records.DECREASING,
    "flat": records.FLAT,
}


@dataclass(frozen=True)
class ArrowTrend(ArrowKind):
    """Reads a value as an integer with the same order, or numbers it where values meet."""

    number: ClassVar[int] = records.TREND

    @classmethod
    def check_types(cls, kind: Trend | TrendRuns, types: Sequence[pa.DataType]) -> None:
        (type_,) = types
        other = pa.types.is_temporal(type_) or pa.types.is_boolean(type_)
        if not is_number(type_) and not other:
            raise UnsupportedTypeError(
                f"{kind.label} needs a number, a date or a timestamp, but its value is {type_}"
            )

    @property
    def by_code(self) -> bool:
        return not has_order(self.types[0])

    @property
    def value_names(self) -> Sequence[str]:
        return ("lacks", "code" if self.by_code else "whole")

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        lacks = missing_values(operands[0])
        if self.by_code:
            return {"lacks": pa.array(lacks), "code": operands[0]}
        whole = np.where(lacks, 0, in_order(operands[0]))
        return {"lacks": pa.array(lacks), "whole": pa.array(whole)}

    def record_fields(self, kind: Trend) -> dict[str, int | float]:
        return {"direction": _DIRECTIONS[kind.direction], "strict": kind.strict}


#: The direction of a frame by its number; one that stays unknown is null.
_WORDS = ("increasing", "decreasing", "flat")


@dataclass(frozen=True)
class ArrowTrendRuns(ArrowTrend):
    """Reads a value as a trend does; a frame has a direction."""

    def record_fields(self, kind: TrendRuns) -> dict[str, int | float]:  # type: ignore[override]
        return {"direction": records.ANY, "strict": 1}

    @property
    def own_fields(self) -> Sequence[pa.Field]:
        return (pa.field("direction", pa.string()),)

    def own_columns(self, frames: np.ndarray) -> list[pa.Array]:
        number = np.ascontiguousarray(frames["direction"])
        return [pa.array(_WORDS).take(pa.array(number, mask=number == records.NO_DIRECTION))]
