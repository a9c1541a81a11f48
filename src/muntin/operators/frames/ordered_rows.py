"""The rows of each key in their order, with the missing ones among them: what framing looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import Bytes, Ints
from muntin.kernels.frames.records import BREAKS
from muntin.operators.common.columns import ints
from muntin.operators.frames.kind_columns import COLUMNS

_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0)
_NO_BYTES = np.empty(0, np.uint8)


@dataclass(frozen=True)
class OrderedRows:
    """Rows key by key in order, missing ones among them.

    ``starts`` has where each key begins and, last, how many rows there are. ``source`` tells
    which row of ``table`` a row is, -1 for one that never came; where all came it is None.
    """

    starts: Ints
    order: Ints
    what: Bytes
    table: pa.Table
    source: Ints | None = None
    gap: Bytes = field(default_factory=lambda: _NO_BYTES)
    columns: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.order)

    def read(self, name: str) -> npt.NDArray[np.generic]:
        """A column that kernels look at; an empty one where the kind has none."""
        if name in self.columns:
            return self.columns[name]
        if name not in self.table.column_names:
            return _NO_FLOATS if name in ("real", "weight") else _empty(name)
        return _numbers(self.table[name], COLUMNS[name], self.source)

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any]:
        """The columns in the order in which kernels take them."""
        flags = self.read("opens"), self.read("counts")
        values = self.read("whole"), self.read("real"), self.read("weight")
        return self.starts, self.order, self.what, *flags, *values, self.read("reach"), self.gap

    @property
    def places(self) -> Ints:
        """For each row, and behind the last, how many rows of the table come before it."""
        if self.source is None:
            return np.arange(len(self.order) + 1)
        counted = np.zeros(len(self.order) + 1, np.int64)
        np.cumsum(self.source >= 0, out=counted[1:])
        return counted


def held_until(rows: OrderedRows, until: Ints) -> OrderedRows:
    """The rows, and behind those of each key a missing one that ends what the last of them holds.

    ``until`` says where; it lies no earlier than the last row.
    """
    last = rows.starts[1:]
    source = np.arange(len(rows)) if rows.source is None else rows.source
    return replace(
        rows,
        starts=rows.starts + np.arange(len(rows.starts)),
        order=np.insert(rows.order, last, until),
        what=np.insert(rows.what, last, BREAKS),
        source=np.insert(source, last, -1),
        gap=np.insert(rows.gap, last, BREAKS) if len(rows.gap) else rows.gap,
        columns={name: np.insert(column, last, 0) for name, column in rows.columns.items()},
    )


def _empty(name: str) -> npt.NDArray[np.generic]:
    return _NO_BYTES if name in ("opens", "counts") else _NO_INTS


def _numbers(
    column: pa.ChunkedArray, type_: pa.DataType, source: Ints | None
) -> npt.NDArray[np.generic]:
    values = column.to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(type_):
        values = values.astype(np.uint8)
    if source is None:
        return np.ascontiguousarray(values)
    if not len(values):
        return np.zeros(len(source), values.dtype)
    found: npt.NDArray[np.generic] = np.where(source >= 0, values[np.maximum(source, 0)], 0)
    return found.astype(values.dtype, copy=False)


def spread(table: pa.Table, source: Ints) -> pa.Table:
    """The rows of a table where they belong, nulls where a row never came."""
    return table.take(pa.array(source, pa.int64(), mask=source < 0))


def lacking(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows miss the value that their kind reads."""
    if "lacks" not in table.column_names:
        return np.zeros(table.num_rows, np.bool_)
    lacks: npt.NDArray[np.bool_] = table["lacks"].to_numpy(zero_copy_only=False)
    return lacks


def orders(table: pa.Table) -> Ints:
    """Where rows lie along ``on``."""
    return ints(table["order"])
