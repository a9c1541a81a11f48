"""Between frames on Arrow columns: from a row of one condition to a row of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from muntin.kernels.frames import records
from muntin.operators.frames.arrow_kind import ArrowKind, check_condition, holding
from muntin.specs.frames.kinds import Between


@dataclass(frozen=True)
class ArrowBetween(ArrowKind):
    """Reads two conditions as the bits of one number: 1 starts a frame, 2 ends one."""

    number: ClassVar[int] = records.BETWEEN

    @classmethod
    def check_types(cls, kind: Between, types: Sequence[pa.DataType]) -> None:
        for type_ in types:
            check_condition(kind, type_)

    @property
    def value_names(self) -> Sequence[str]:
        return ("whole",)

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        starts, ends = (holding(column).astype(np.int64) for column in operands)
        return {"whole": pa.array(starts + 2 * ends)}

    def record_fields(self, kind: Between) -> dict[str, int | float]:
        return {
            "with_start": kind.inclusive in ("both", "start"),
            "with_end": kind.inclusive in ("both", "end"),
            "unended": records.PARTIAL,
        }
