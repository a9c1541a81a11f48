"""Threshold frames on Arrow columns: maximal runs of rows for which a condition holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from muntin.kernels.frames import records
from muntin.operators.frames.arrow_kind import ArrowKind, check_condition, condition_columns
from muntin.specs.frames.kinds import Threshold


@dataclass(frozen=True)
class ArrowThreshold(ArrowKind):
    """Reads one condition; a row for which it is null is a missing row."""

    number: ClassVar[int] = records.THRESHOLD
    compares_neighbours: ClassVar[bool] = True

    @classmethod
    def check_types(cls, kind: Threshold, types: Sequence[pa.DataType]) -> None:
        check_condition(kind, types[0])

    @property
    def value_names(self) -> Sequence[str]:
        return ("lacks", "whole")

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        return condition_columns(operands[0])
