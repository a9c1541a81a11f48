"""Arrow columns as the kernels take them, and in the types that an operator was told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints


def ints(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Whole numbers without nulls, side by side in memory."""
    values: Ints = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
    return values


def typed(rows: pa.Table, name: str, type_: pa.DataType) -> pa.Array:
    """One column; Spark labels timestamps with the session's zone, and here they are all UTC."""
    column = rows[name].combine_chunks()
    return column if column.type == type_ else column.cast(type_)


def original_names(rows: pa.Table) -> list[str]:
    """The original columns ``o0..``, which travel with rows when refused ones are wanted."""
    return numbered(rows.column_names, "o")


def numbered(names: Sequence[str], letter: str) -> list[str]:
    """Those of some columns that are a letter and a number."""
    return [name for name in names if name.startswith(letter) and name[1:].isdigit()]


def key_fields(types: Sequence[pa.DataType]) -> list[pa.Field]:
    """The key columns ``k0..`` of a table."""
    return [pa.field(f"k{place}", type_) for place, type_ in enumerate(types)]
