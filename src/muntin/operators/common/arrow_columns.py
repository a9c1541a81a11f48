"""Arrow columns as NumPy arrays and in the types of an operator, and names of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints


def ints(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Return an integer column without nulls as a contiguous array."""
    values: Ints = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
    return values


def typed(rows: pa.Table, name: str, type_: pa.DataType) -> pa.Array:
    """Return a column in a type.

    Spark labels timestamps with the time zone of the session; operators have them in UTC.
    """
    column = rows[name].combine_chunks()
    return column if column.type == type_ else column.cast(type_)


def original_names(rows: pa.Table) -> list[str]:
    """Return the names of the original columns ``o0..``, sent if refused rows are wanted."""
    return numbered(rows.column_names, "o")


def numbered(names: Sequence[str], letter: str) -> list[str]:
    """Return the names that consist of a letter and a number."""
    return [name for name in names if name.startswith(letter) and name[1:].isdigit()]


def key_fields(types: Sequence[pa.DataType]) -> list[pa.Field]:
    """Return the key columns ``k0..`` of a table."""
    return [pa.field(f"k{place}", type_) for place, type_ in enumerate(types)]
