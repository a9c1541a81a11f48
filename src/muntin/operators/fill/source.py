"""One source of filling rows: which rows a segment asks for, and what is computed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.definition import AggregateCall
from muntin.errors import OwnFunctionError
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.ticks import shift_order
from muntin.operators.common.admission import Admission, Reasons
from muntin.operators.common.completeness import Front, in_time
from muntin.operators.fill.between_join import MatchedRows
from muntin.operators.frames.frame_aggregates import FrameAggregates
from muntin.operators.protocol import InputBatch, Punctuation, Routed, RowCounts, key_fields
from muntin.specs.axis import Axis
from muntin.specs.fill import Edge

#: A user's function: takes rows in their order, returns a value for each result column.
Function = Callable[[pa.Table], Mapping[str, Any]]


@dataclass(frozen=True)
class UserFunction:
    """A user's function, the names of the columns that it sees, and the columns it returns."""

    function: Function
    names: tuple[str, ...]
    returns: pa.Schema

    @property
    def label(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def of(self, matched: MatchedRows) -> list[pa.Array]:
        """Return the result columns, with a row for each answered probe."""
        rows = [self._called(table) for table in self._tables(matched)]
        columns = []
        for field in self.returns:
            values = [row.get(field.name) for row in rows]
            try:
                columns.append(pa.array(values, field.type))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                problem = f"returned {field.name} that is no {field.type}: {error}"
                raise OwnFunctionError(self.label, problem) from error
        return columns

    def _tables(self, matched: MatchedRows) -> Iterator[pa.Table]:
        columns = [f"c{place}" for place in range(len(self.names))]
        rows = matched.rows.select(columns).rename_columns(list(self.names))
        for first, count in zip(matched.first.tolist(), matched.counts.tolist(), strict=True):
            yield rows.slice(first, count)

    def _called(self, table: pa.Table) -> Mapping[str, Any]:
        try:
            values = self.function(table)
        except Exception as error:
            problem = f"failed on {table.num_rows} rows: {type(error).__name__}: {error}"
            raise OwnFunctionError(self.label, problem) from error
        if not isinstance(values, Mapping):
            raise OwnFunctionError(self.label, f"returned {values!r}; it is to return a mapping")
        unknown = sorted({*values} - {*self.returns.names})
        if unknown:
            known = ", ".join(self.returns.names)
            raise OwnFunctionError(
                self.label, f"returned {', '.join(unknown)}, but the schema has {known}"
            )
        return values


@dataclass(frozen=True)
class FillReach:
    """How far beyond its bounds a segment asks for rows, in ticks."""

    axis: Axis
    edge: Edge
    before: int = 0
    after: int = 0
    shrink: int = 0

    def low(self, start: Ints, shift: Ints) -> Ints:
        """Return the least order that segments which begin at these orders ask for."""
        order = self._moved(start, self.shrink - self.before, shift)
        return order if self.edge.start else order + 1

    def high(self, end: Ints, shift: Ints, whole: Mask) -> Ints:
        """Return the greatest order asked for; ``after`` counts only for whole segments."""
        short = self._moved(end, -self.shrink, shift)
        full = self._moved(end, self.after - self.shrink, shift) if self.after else short
        order = np.where(whole, full, short)
        return order if self.edge.end else order - 1

    def _moved(self, order: Ints, ticks: int, shift: Ints) -> Ints:
        """Return orders moved by a length, then by a shift: for doubles the sequence matters."""
        moved = shift_order(order, self.axis, ticks) if ticks else order
        for length in np.unique(shift):
            if length:
                has_length = shift == length
                moved = np.where(has_length, shift_order(moved, self.axis, int(length)), moved)
        return moved


@dataclass(frozen=True)
class FillInput:
    """The filling rows of one input.

    Rows arrive with ``on``; the keys ``k0..``, which match the columns ``names`` of segments; the
    condition ``w`` if only ``chosen`` rows fill; the slots ``s0..`` of the calls; and ``c0..`` if
    results have whole rows or a function is ``mapped`` over them. ``shards`` are their shard keys.
    Rows that fill regions have ``along``, of this type: their place along the second attribute.
    """

    reach: FillReach
    names: tuple[str, ...]
    keys: tuple[pa.DataType, ...]
    shards: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    lateness_type: pa.DataType
    shifts: tuple[int, ...] = (0,)
    columns: tuple[pa.Field, ...] = ()
    chosen: bool = False
    drops_empty: bool = False
    mapped: UserFunction | None = None
    along: pa.DataType | None = None

    def __getstate__(self) -> dict[str, object]:
        # Cached properties hold closures, which cannot be pickled; workers compute them again.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    @cached_property
    def contents(self) -> FrameAggregates:
        """The aggregates, without keys: the between-join groups rows by key."""
        return FrameAggregates(self.reach.axis, (), self.calls, self.lateness_type)

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.reach.axis, self.lateness_type)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a row as it travels and as it is held."""
        slots = self.contents.cells.slot_types.items()
        slot_fields = [pa.field(f"s{place}", type_) for place, type_ in slots]
        order = pa.field("order", pa.int64())
        along = [] if self.along is None else [pa.field("along", self.along)]
        return pa.schema([*key_fields(self.keys), order, *slot_fields, *self.columns, *along])

    @property
    def types(self) -> list[pa.DataType]:
        """The types of the result columns."""
        if self.mapped is not None:
            return [field.type for field in self.mapped.returns]
        return [column.type for column in self.columns] or self.contents.types

    def route(self, rows: pa.Table) -> Routed:
        admitted = self.admission.admit(rows, self._without_place(rows))
        partial = admitted.partial(self.schema, {}, with_originals=False)
        originals = admitted.originals(self.key_names)
        if not self.chosen:
            return admitted.routed(partial, originals)
        fills = admitted.rows["w"].combine_chunks().fill_null(False)
        partial = partial.filter(fills)
        originals = None if originals is None else originals.filter(fills)
        passed = admitted.rows.num_rows - partial.num_rows
        routed = admitted.routed(partial, originals)
        return Routed(
            routed.partial,
            routed.progress,
            routed.refused,
            routed.rows,
            routed.refused_rows,
            passed,
        )

    def _without_place(self, rows: pa.Table) -> Reasons | None:
        """Return why rows have no place along the second attribute, "" where they have one."""
        if self.along is None:
            return None
        lacks = pc.is_null(rows["along"].combine_chunks(), nan_is_null=True)
        return np.where(lacks.to_numpy(zero_copy_only=False), "no_along", "").astype(object)

    def inside_along(self, matched: MatchedRows, low: pa.Array, high: pa.Array) -> MatchedRows:
        """Return the matches that lie between two bounds of their probe, along a region."""

        def inside(probe: Ints, rows: pa.Table) -> Mask:
            place, at = pa.array(probe), rows["along"]
            above = pc.greater_equal(at, low.cast(self.along).take(place))
            below = pc.less_equal(at, high.cast(self.along).take(place))
            mask: Mask = pc.fill_null(pc.and_(above, below), False).to_numpy()
            return mask

        return matched.only(inside)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables([self.schema.empty_table(), *partials])

    def in_time(self, arrived: InputBatch) -> tuple[pa.Table, RowCounts]:
        """Return the rows that are not late, and the counts of all rows."""
        return in_time(self.merge(arrived.partials), arrived, self.key_names, self.admission)

    def keys_of(self, segments: pa.Table) -> pa.Table:
        """Return the keys of segments that filling rows have, under the names of those rows."""
        return segments.select(self.names).rename_columns(self.key_names)

    def complete(self, keys: pa.Table, punctuation: Punctuation) -> Ints:
        """Return for each key the order below which no more rows will arrive."""
        return Front(self.reach.axis, punctuation).after(keys)
