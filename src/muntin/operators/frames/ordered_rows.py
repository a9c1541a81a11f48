"""The rows of each key in their order, with the missing rows among them, as framing reads them.

Rows that tie become one row, with a value for each column [Frames, appendix C].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Inner, Node, Slot
from muntin.expressions.values import Truth, Value, from_arrow, truth
from muntin.kernels.arrays import Bytes, Ints, Mask
from muntin.kernels.frames import records
from muntin.kernels.frames.records import BREAKS, RowColumns, row_columns
from muntin.kernels.grouping import Groups
from muntin.kernels.numbers.order_keys import tie_ranks
from muntin.operators.aggregation.combine_accumulators import gather
from muntin.operators.protocol import ints


@dataclass(frozen=True)
class Ties:
    """What happens to rows that tie; the columns ``t0..``, of these ``types``, order them."""

    how: str = "fail"
    types: tuple[pa.DataType, ...] = ()

    @property
    def refuses(self) -> bool:
        return self.how in ("refuse", "first", "last")

    @property
    def names(self) -> list[str]:
        return [f"t{place}" for place in range(len(self.types))]

    def kept(self, rows: pa.Table, ties: Mask) -> Ints | None:
        """Return the rows that stay, None if all do; ``ties`` marks all but the first of ties."""
        if not ties.any():
            return None
        group = np.cumsum(~ties)
        if self.how == "refuse":
            return np.flatnonzero(np.bincount(group)[group] == 1)
        orders = [tie_ranks(rows[name].combine_chunks()) for name in self.names]
        place = np.lexsort((*reversed(orders), group))
        first = np.diff(group[place], prepend=0) > 0
        edge = first if self.how == "first" else np.append(first[1:], True)
        return np.sort(place[edge])


def same_as_before(*columns: npt.NDArray[np.generic]) -> Mask:
    """Return which rows equal the row before them in all columns."""
    ties = np.zeros(len(columns[0]), np.bool_)
    if len(ties):
        ties[1:] = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    return ties


@dataclass(frozen=True)
class CombinedTies:
    """Combine columns ``c0..`` by ``calls``, then derive the columns that frames read.

    Spark evaluates such columns elsewhere, but here it cannot do so before rows are combined. Each
    of ``derived`` is a name, and a column (:class:`Slot`) or a condition on columns.
    """

    calls: tuple[AggregateCall, ...]
    derived: tuple[tuple[str, Node], ...]

    @property
    def fields(self) -> list[pa.Field]:
        """The columns that travel."""
        return [pa.field(f"c{place}", call.types[0]) for place, call in enumerate(self.calls)]

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        """The types of the combined columns."""
        return tuple(bind(call).type for call in self.calls)

    def one_each(self, rows: pa.Table, ties: Mask) -> pa.Table:
        """Return one row for all rows that tie, with the columns that are derived from them."""
        number = np.cumsum(~ties) - 1
        groups = Groups(number.astype(np.int64), np.flatnonzero(~ties).astype(np.int64))
        combined = rows.take(pa.array(groups.member))
        order = orders(rows)
        for place, call in enumerate(self.calls):
            bound = bind(call)
            column = [rows[f"c{place}"].combine_chunks()]
            kept = [gather(a, column, order, groups) for a in bound.accumulators]
            name = f"v{place}"
            combined = combined.append_column(name, bound.finish(kept))
        for name, node in self.derived:
            combined = combined.append_column(name, self._column(combined, node))
        return combined

    def _column(self, rows: pa.Table, node: Node) -> pa.Array:
        if isinstance(node, Slot):
            return rows[f"v{node.place}"].combine_chunks()

        def slot(place: int) -> Value:
            return from_arrow(rows[f"v{place}"].combine_chunks())

        def inner(inner: Inner) -> Value:
            raise AssertionError(inner)  # the parser accepts no aggregate

        answer = truth(evaluate(node, slot, inner))
        true, valid = np.broadcast_arrays(answer.true, answer.valid, np.empty(rows.num_rows))[:2]
        return pa.array(true, pa.bool_(), mask=~valid)


#: The columns that kernels read, and their types.
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
_NO_INTS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0)
_NO_BYTES = np.empty(0, np.uint8)


@dataclass(frozen=True)
class OrderedRows:
    """Rows key by key in order, with the missing rows among them.

    ``starts`` has the first row of each key and, last, the number of rows. ``source`` is the row of
    ``table`` for each row, or -1 for a row that never came; it is None if all rows came.
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
        """Return a column that kernels read; an empty one if the kind does not have it."""
        if name in self.columns:
            return self.columns[name]
        if name not in self.table.column_names:
            return _NO_FLOATS if name in ("real", "weight") else _empty(name)
        return _numbers(self.table[name], COLUMNS[name], self.source)

    @property
    def kernel_columns(self) -> RowColumns:
        """The columns in the form that kernels take."""
        names = ("opens", "counts", "whole", "real", "weight", "reach")
        read = (self.read(name) for name in names)
        return row_columns(self.starts, self.order, self.what, *read, self.gap)

    @property
    def places(self) -> Ints:
        """For each row, and after the last, the number of rows of the table before it."""
        if self.source is None:
            return np.arange(len(self.order) + 1)
        counted = np.zeros(len(self.order) + 1, np.int64)
        np.cumsum(self.source >= 0, out=counted[1:])
        return counted


def held_until(rows: OrderedRows, until: Ints) -> OrderedRows:
    """Add a missing row after the last row of each key, at ``until``, so that it holds no longer.

    ``until`` is not before the last row.
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
    spread_values: npt.NDArray[np.generic] = np.where(source >= 0, values[np.maximum(source, 0)], 0)
    return spread_values.astype(values.dtype, copy=False)


def spread(table: pa.Table, source: Ints) -> pa.Table:
    """Return the rows of a table at their places, with nulls where a row never came."""
    return table.take(pa.array(source, pa.int64(), mask=source < 0))


def lacking(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Return which rows lack the value that their kind reads."""
    if "lacks" not in table.column_names:
        return np.zeros(table.num_rows, np.bool_)
    lacks: npt.NDArray[np.bool_] = table["lacks"].to_numpy(zero_copy_only=False)
    return lacks


def orders(table: pa.Table) -> Ints:
    """Return where rows lie along ``on``."""
    return ints(table["order"])


_VERDICTS = {
    "break": records.BREAKS,
    "satisfy": records.SATISFIES,
    "carry": records.CARRIED,
}


@dataclass(frozen=True)
class Bridge:
    """A condition on the real rows before and after a missing one.

    Slot ``p`` of the condition is a column ``m0..`` of the row before it or after it; ``slots`` has
    the side and the column. ``types`` are the types of these columns.
    """

    where: Node
    slots: tuple[tuple[str, int], ...]  # ("prev" | "next", column)
    types: tuple[pa.DataType, ...]

    @property
    def names(self) -> list[str]:
        return [f"m{place}" for place in range(len(self.types))]

    @property
    def fields(self) -> list[pa.Field]:
        return [pa.field(f"m{place}", type_) for place, type_ in enumerate(self.types)]

    def holds(self, before: pa.Table, after: pa.Table) -> Mask:
        """Return for which pairs the condition is true; a row that does not exist has nulls."""

        def slot(place: int) -> Value:
            side, column = self.slots[place]
            rows = before if side == "prev" else after
            return from_arrow(rows[f"m{column}"].combine_chunks())

        def inner(node: Inner) -> Value:
            raise AssertionError(node)  # the parser accepts no aggregate

        answer = truth(evaluate(self.where, slot, inner))
        return np.broadcast_to(answer.true & answer.valid, before.num_rows)


#: The row that a condition reads: the one that it is about, or the one before.
Neighbour = Literal["this", "prev"]


@dataclass(frozen=True)
class RowCondition:
    """A condition on a row and the row before it.

    Slot ``p`` of the condition is a column ``f0..`` of one of the two rows; ``slots`` has the row
    and the number of the column.
    """

    where: Node
    slots: tuple[tuple[Neighbour, int], ...]

    @classmethod
    def native(cls, place: int) -> RowCondition:
        """Return the condition that Spark has evaluated as column ``f{place}``."""
        return cls(Slot(0), (("this", place),))

    @property
    def looks_back(self) -> bool:
        return any(row == "prev" for row, _ in self.slots)

    def holds(self, this: pa.Table, prev: pa.Table) -> Truth:
        """Return for which rows the condition is true, and for which it is known."""

        def slot(place: int) -> Value:
            row, column = self.slots[place]
            return from_arrow((this if row == "this" else prev)[f"f{column}"].combine_chunks())

        def inner(node: Inner) -> Value:
            raise AssertionError(node)  # the parser accepts no aggregate

        answer = truth(evaluate(self.where, slot, inner))
        true, valid = np.broadcast_arrays(answer.true, answer.valid, np.empty(this.num_rows))[:2]
        return Truth(true & valid, valid)


#: A policy by its name, or a condition.
Missing = str | Bridge


def verdict(missing: Missing) -> int:
    """Return how every missing row counts, unless a condition decides."""
    return _VERDICTS[missing] if isinstance(missing, str) else records.BREAKS


def waits(missing: Missing) -> bool:
    """Return True if a missing row has to wait for the next real row."""
    return not isinstance(missing, str) or missing == "carry"


def around(starts: Ints, real: Mask) -> tuple[Ints, Ints]:
    """Return for each row the real row before it and the one at or after it in its key, or -1.

    The row before it is also -1 if that row came with an earlier micro-batch.
    """
    rows = np.arange(len(real))
    key_start = np.repeat(starts[:-1], np.diff(starts))
    key_stop = np.repeat(starts[1:], np.diff(starts))
    last = np.maximum.accumulate(np.where(real, rows, -1)) if len(rows) else rows
    before = np.concatenate([[-1], last[:-1]]) if len(rows) else rows
    before = np.where(before >= key_start, before, -1)
    following = np.where(real, rows, len(rows))[::-1]
    after = np.minimum.accumulate(following)[::-1] if len(rows) else rows
    after = np.where(after < key_stop, after, -1)
    return before.astype(np.int64), after.astype(np.int64)
