"""Regions on Arrow columns: rectangles of ``on`` and a second attribute [Frames, appendix H]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from muntin.errors import UnsupportedTypeError
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames import records
from muntin.kernels.frames.records import FINAL, FOUND
from muntin.kernels.grouping import KeyedTables, find_keys
from muntin.kernels.numbers.decimals import from_words
from muntin.kernels.numbers.order_keys import order_doubles
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    FrameOperatorInputs,
    check_condition,
    check_digits,
    condition_columns,
    in_order,
    is_number,
    local_conditions,
    missing_values,
    scale_of,
)
from muntin.operators.frames.held_rows import HELD, HeldRowFrames
from muntin.operators.frames.key_memory import KEYS, KeyBuckets, StepContext
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.region_sweep import (
    Limits,
    Positions,
    Rectangles,
    RegionCells,
    RegionSweep,
    regions,
)
from muntin.operators.protocol import Changes, forget, key_fields
from muntin.specs.axis import Axis
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.row_kinds import Region

POSITIONS, WAITING = "positions", "waiting"
_NULL = 2


@dataclass(frozen=True)
class ArrowRegion(ArrowKind):
    """Reads a condition, and a number that is the place along the second axis."""

    number: ClassVar[int] = records.THRESHOLD
    has_second_axis: ClassVar[bool] = True

    @classmethod
    def check_types(cls, kind: Region, types: Sequence[pa.DataType]) -> None:
        where, along = types
        check_condition(kind, where)
        if not is_number(along):
            raise UnsupportedTypeError(f"{kind.label} needs a number along, but it is {along}")
        check_digits(kind, along)

    @property
    def value_names(self) -> Sequence[str]:
        return ("lacks", "whole", "along")

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        return {**condition_columns(operands[0]), "along": pa.array(in_order(operands[1]))}

    def without_place(self, rows: pa.Table) -> tuple[Mask, str]:
        return missing_values(rows["f1"].combine_chunks()), "no_along"

    @property
    def place_type(self) -> pa.DataType:
        type_ = self.types[1]
        if pa.types.is_decimal(type_):
            return pa.decimal128(38, type_.scale)
        return pa.float64() if pa.types.is_floating(type_) else pa.int64()

    def place(self, along: Ints) -> pa.Array:
        if pa.types.is_floating(self.place_type):
            return pa.array(order_doubles(along))
        if pa.types.is_integer(self.place_type):
            return pa.array(along)
        words = along.view(np.uint64), along >> np.int64(63)
        return from_words(*words, self.place_type, np.ones(len(along), np.bool_))

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[FrameOperator], dict[str, Any]]:
        assert isinstance(framing.kind, Region)
        return RegionFrames, {"limits": self._limits(framing.kind, framing, inputs.axis)}

    def _limits(self, kind: Region, framing: Framing, axis: Axis) -> Limits:
        along = self.types[1]
        extent: int | float | None = None
        if kind.min_extent is not None:
            extent = float(kind.min_extent.value)
            if not pa.types.is_floating(along):
                # Between integers "at least 2.5" is "at least 3"; 2**64 is beyond all of them.
                exact = Fraction(kind.min_extent.value) * 10 ** scale_of(along)
                extent = min(math.ceil(exact), 2**64)
        least, most, shortest, longest = local_conditions(framing, axis)
        return Limits(
            prefer=kind.prefer,
            doubles=bool(pa.types.is_floating(along)),
            bridged=framing.missing == "satisfy",
            min_extent=extent,
            min_duration=shortest,
            max_duration=longest,
            min_count=least,
            max_count=most,
        )


@dataclass(frozen=True)
class RegionFrames(HeldRowFrames):
    """Maximal rectangles of ``on`` and a second attribute."""

    limits: Limits = field(default_factory=Limits)

    @property
    def tables(self) -> tuple[str, ...]:
        return (*super().tables, POSITIONS, WAITING)

    @cached_property
    def result_schema(self) -> pa.Schema:
        plain = super().result_schema
        place = plain.get_field_index("frame_end") + 1
        along = [pa.field(name, self.kind.place_type) for name in ("along_start", "along_end")]
        return pa.schema([*list(plain)[:place], *along, *list(plain)[place:]])

    def _framed(self, now: StepContext) -> tuple[pa.Table, Changes, Ints]:
        both, key, rows = self._gathered(now)
        held = np.bincount(now.keyed.numbers[2], minlength=len(now.keyed)).astype(np.int64)
        condition = np.where(rows.what != 0, _NULL, rows.read("whole")).astype(np.uint8)
        position = rows.read("along").astype(np.int64)
        swept = regions(
            RegionCells(rows.starts, rows.order, position, condition, held),
            Positions(*self._load(now, POSITIONS, Positions.none())),
            Rectangles(*self._load(now, WAITING, Rectangles.none())),
            axis=self.axis,
            limits=self.limits,
            ended=now.ended,
        )
        records = self.memory.records(now.keyed, now.remembered)
        results = self._region_results(now.keyed, swept, records, both)
        since = self._held_since(rows, swept.needed)
        np.minimum.at(since, swept.waiting.key, swept.waiting.start)
        if now.ended:
            return results, forget(now.state, KEYS, HELD, POSITIONS, WAITING), since
        changed = np.diff(now.arranged.rows.starts) > 0
        buckets = KeyBuckets.of(now.keyed, self.key_names, changed, self.buckets)
        keep = np.arange(both.num_rows) >= swept.needed[key]
        changes = buckets.write(now.state, HELD, both.filter(pa.array(keep)), key[keep])
        for name, parts in ((POSITIONS, swept.positions), (WAITING, swept.waiting)):
            changes |= buckets.write(now.state, name, self._table(now.keyed, parts), parts.key)
        table = self.memory.table(now.keyed, records, {})
        changes |= buckets.write(now.state, KEYS, table, np.arange(len(now.keyed)))
        return results, changes, since

    def _load(self, now: StepContext, name: str, empty: Positions | Rectangles) -> list[Any]:
        """Return the columns of a table of state; keys are their numbers in this step."""
        chunks = [now.state.read(name, bucket) for bucket in sorted(now.state.buckets(name))]
        table = pa.concat_tables([self._table(now.keyed, empty).slice(0, 0), *chunks])
        key = find_keys(table.select(self.key_names), now.keyed.keys)
        place = np.argsort(key, kind="stable")
        names = [part.name for part in fields(empty)][1:]
        return [key[place], *(table[name].to_numpy()[place] for name in names)]

    def _table(self, keyed: KeyedTables, parts: Positions | Rectangles) -> pa.Table:
        keys = keyed.keys.take(pa.array(parts.key))
        names = [part.name for part in fields(parts)][1:]
        columns = [column.combine_chunks() for column in keys.columns]
        columns += [pa.array(np.ascontiguousarray(getattr(parts, name))) for name in names]
        return pa.table(columns, names=[f.name for f in key_fields(self.keys)] + names)

    def _region_results(
        self, keyed: KeyedTables, swept: RegionSweep, records: np.ndarray, rows: pa.Table
    ) -> pa.Table:
        certain = swept.found
        frames = np.zeros(len(certain), FOUND)
        frames["key"], frames["status"] = certain.key, FINAL
        frames["start"] = frames["held_from"] = certain.start
        frames["end"] = frames["held_to"] = certain.end
        frames["n"], frames["missed"] = certain.n, certain.n_missing
        frames["low"] = np.arange(len(certain))  # the number of the region
        frames = self._chosen(self._numbered(frames, records))
        results = self._bounds(keyed, frames)
        place = len(self.keys) + 3
        low, high = (edge[frames["low"]] for edge in (certain.low, certain.high))
        results[place:place] = [self.kind.place(low), self.kind.place(high)]
        if self.calls:
            order = np.argsort(swept.member_of, kind="stable")
            cells = self.contents.lifted(rows.take(pa.array(swept.member[order])))
            edges = np.searchsorted(swept.member_of[order], np.arange(len(certain) + 1))
            low_row, high_row = edges[:-1][frames["low"]], edges[1:][frames["low"]]
            results += self.contents.of_stretches(cells, low_row, high_row)
        return self._reported(results, frames)
