"""One input of a join: which columns of its rows travel, and which rows are in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import pyarrow as pa

from muntin.operators.common.admission import Admission
from muntin.operators.common.completeness import in_time
from muntin.operators.protocol import InputBatch, MapSide, Routed, RowCounts, key_fields
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class SideRows:
    """Rows with ``on``, the keys ``k0..``, the columns ``c0..`` of these types, and ties ``t0..``.

    Where refused rows are wanted, their original columns ``o0..`` come along.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    columns: tuple[pa.DataType, ...]
    lateness_type: pa.DataType
    ties: tuple[pa.DataType, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    @cached_property
    def column_names(self) -> list[str]:
        return [f"c{place}" for place in range(len(self.columns))]

    @cached_property
    def tie_names(self) -> list[str]:
        return [f"t{place}" for place in range(len(self.ties))]

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.axis, self.lateness_type)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a row as it travels and as it is held."""
        columns = zip(self.column_names, self.columns, strict=True)
        ties = zip(self.tie_names, self.ties, strict=True)
        own = [pa.field(name, type_) for name, type_ in (*columns, *ties)]
        return pa.schema([*key_fields(self.keys), pa.field("order", pa.int64()), *own])

    def route(self, rows: pa.Table) -> Routed:
        admitted = self.admission.admit(rows)
        partial = admitted.partial(self.schema, {}, with_originals=False)
        return admitted.routed(partial, admitted.originals(self.key_names))

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables([self.schema.empty_table(), *partials])

    def in_time(self, arrived: InputBatch) -> tuple[pa.Table, RowCounts]:
        """Return the rows that are not late, and the counts of all rows."""
        return in_time(self.merge(arrived.partials), arrived, self.key_names, self.admission)

    def result_fields(self, name: str) -> list[pa.Field]:
        """Return the columns as results have them: ``left0..`` if ``name`` is ``left``."""
        return [pa.field(f"{name}{place}", type_) for place, type_ in enumerate(self.columns)]


class TwoSides:
    """The inputs of a join operator: ``sides`` is a field of every operator that has them."""

    sides: tuple[SideRows, SideRows]

    @property
    def map_sides(self) -> Sequence[MapSide]:
        return self.sides

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return [side.key_names for side in self.sides]

    @property
    def may_refuse(self) -> bool:
        return False
