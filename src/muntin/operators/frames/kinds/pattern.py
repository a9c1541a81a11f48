"""Pattern frames on Arrow columns: stretches of rows that match a pattern of conditions.

Spark evaluates the conditions that read their own row, and a row travels as one number with a bit
for each condition that it satisfies. If a condition reads ``prev``, the row before it, the values
that conditions need travel, and the conditions are evaluated once rows are in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.nodes import Slot
from muntin.kernels.arrays import EVER, Ints
from muntin.kernels.frames import records
from muntin.kernels.frames.pattern import Automaton, automaton, choose_matches, match_ends
from muntin.kernels.frames.records import FINAL, FOUND, REAL
from muntin.kernels.grouping import KeyedTables
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    FrameOperatorInputs,
    check_condition,
    holding,
)
from muntin.operators.frames.held_rows import FoundFrames, HeldRowFrames
from muntin.operators.frames.key_memory import KeyMemory, StepContext
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import OrderedRows, RowCondition
from muntin.operators.protocol import key_fields
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.pattern import Pattern, PatternNode


@dataclass(frozen=True)
class ArrowPattern(ArrowKind):
    """Reads conditions as the bits of ``whole``.

    A row that satisfies none is missing if it is not known whether it satisfies one: a condition
    is null.
    """

    conditions: tuple[RowCondition, ...] = ()
    number: ClassVar[int] = records.PATTERN

    @classmethod
    def arguments(cls, framing: Framing, inputs: FrameOperatorInputs) -> dict[str, Any]:
        assert isinstance(framing.kind, Pattern)
        native = map(RowCondition.native, range(len(framing.kind.names)))
        conditions = inputs.row_conditions or tuple(native)
        return {**super().arguments(framing, inputs), "conditions": conditions}

    @classmethod
    def of(cls, framing: Framing, inputs: FrameOperatorInputs) -> ArrowPattern:
        kind = super().of(framing, inputs)
        for condition in kind.conditions:
            if isinstance(condition.where, Slot):
                check_condition(framing.kind, inputs.read[condition.slots[0][1]])
        return kind

    @property
    def looks_back(self) -> bool:
        """True if a condition reads the row before."""
        return any(condition.looks_back for condition in self.conditions)

    @property
    def previous_columns(self) -> tuple[int, ...]:
        """The numbers of the columns that conditions read of the row before."""
        slots = [slot for condition in self.conditions for slot in condition.slots]
        return tuple(sorted({column for row, column in slots if row == "prev"}))

    @property
    def value_names(self) -> Sequence[str]:
        if self.looks_back:
            return tuple(f"f{place}" for place in range(len(self.types)))
        return ("lacks", "whole")

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        columns = {f"f{place}": column for place, column in enumerate(operands)}
        return columns if self.looks_back else self._bits(pa.table(columns), pa.table(columns))

    def after_rows(self, rows: pa.Table, key: Ints, before: pa.Table | None) -> pa.Table:
        """Add ``lacks`` and ``whole``; ``before`` has the last row of each key of earlier steps."""
        if not self.looks_back:
            return rows
        assert before is not None
        is_first = np.diff(key, prepend=-1) > 0
        # In ``both`` the last rows of earlier micro-batches come after those of this one.
        row = np.where(is_first, len(key) + key, np.arange(len(key)) - 1)
        names = [f"f{column}" for column in self.previous_columns]
        both = pa.concat_tables([rows.select(names), before.rename_columns(_renamed(before))])
        for name, column in self._bits(rows, both.take(pa.array(row))).items():
            rows = rows.append_column(name, column)
        return rows

    def _bits(self, this: pa.Table, prev: pa.Table) -> dict[str, pa.Array]:
        whole = np.zeros(this.num_rows, np.int64)
        unknown = np.zeros(this.num_rows, np.bool_)
        for bit, condition in enumerate(self.conditions):
            if isinstance(condition.where, Slot):
                row, place = condition.slots[0]
                column = (this if row == "this" else prev)[f"f{place}"].combine_chunks()
                true, null = holding(column), pc.is_null(column).to_numpy(zero_copy_only=False)
            else:
                answer = condition.holds(this, prev)
                true, null = answer.true, ~answer.valid
            whole |= np.where(true, np.int64(1) << bit, 0)
            unknown |= null
        return {"lacks": pa.array(unknown & (whole == 0)), "whole": pa.array(whole)}

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[FrameOperator], dict[str, Any]]:
        kind = framing.kind
        assert isinstance(kind, Pattern)
        return PatternFrames, {"tree": kind.tree, "names": kind.names}


def _renamed(before: pa.Table) -> list[str]:
    return [name.replace("before", "f") for name in before.column_names]


@dataclass(frozen=True)
class PatternFrames(HeldRowFrames):
    """Frames that match the pattern ``tree``; bit i of a row is the i-th of the ``names``."""

    tree: PatternNode | None = None
    names: tuple[str, ...] = ()

    @cached_property
    def automaton(self) -> Automaton:
        assert self.tree is not None
        return automaton(self.tree, self.names)

    @property
    def _reads(self) -> ArrowPattern:
        assert isinstance(self.kind, ArrowPattern)
        return self.kind

    @property
    def _lead(self) -> int:
        """Every missing row that is bridged is a row of the pattern, so each counts alone."""
        return 1 if self.missing == "break" else EVER

    # -- The row before ----------------------------------------------------------------------------

    @property
    def _previous_fields(self) -> list[pa.Field]:
        """What is remembered of the last row of each key."""
        columns = self._reads.previous_columns if self._reads.looks_back else ()
        return [pa.field(f"before{column}", self.kind.types[column]) for column in columns]

    @cached_property
    def memory(self) -> KeyMemory:
        also = super().memory.also
        return KeyMemory(tuple(key_fields(self.keys)), (*also, *self._previous_fields))

    @cached_property
    def held_schema(self) -> pa.Schema:
        """Held rows have their bits, not the values from which these were computed."""
        if not self._reads.looks_back:
            return super().held_schema
        kept = [f for f in super().held_schema if f.name not in self.kind.value_names]
        return pa.schema([*kept, pa.field("whole", pa.int64())])

    def _rows_before(self, keyed: KeyedTables, remembered: pa.Table) -> pa.Table | None:
        if not self._reads.looks_back:
            return None
        return pa.table(
            {
                field.name: self.memory.spread(keyed, remembered, field.name)
                for field in self._previous_fields
            }
        )

    def _also(self, now: StepContext) -> dict[str, pa.Array]:
        also = super()._also(now)
        rows = now.arranged.rows
        key = np.repeat(np.arange(len(now.keyed)), np.diff(rows.starts))
        source = np.arange(len(rows)) if rows.source is None else rows.source
        last = np.full(len(now.keyed), -1, np.int64)
        np.maximum.at(last, key, source)
        row = np.where(last >= 0, last + len(now.keyed), np.arange(len(now.keyed)))
        for field in self._previous_fields:
            old = self.memory.spread(now.keyed, now.remembered, field.name)
            new = rows.table[field.name.replace("before", "f")].combine_chunks()
            also[field.name] = pa.concat_arrays([old, new]).take(pa.array(row))
        return also

    # -- Matches -----------------------------------------------------------------------------------

    def _next_rows_from(self, now: StepContext) -> Ints:
        """Return where the next row that may be part of a match lies at the earliest."""
        horizon = now.arranged.horizon
        # The missing rows that wait are carried only by a real row, which lies after punctuation.
        carried = self.missing == "carry"
        return np.maximum(horizon, self.certainty.complete(now)) if carried else horizon

    def find_frames(
        self,
        rows: OrderedRows,
        memory: dict[str, Ints],
        keys: KeyedTables,
        complete: Ints,
        ended: bool,
    ) -> FoundFrames:
        satisfied = np.ascontiguousarray(rows.read("whole"))
        limited = self.record["max_count"][0] >= 0 or self.record["max_duration"][0] >= 0
        farthest = np.empty(len(rows), np.int64)
        nearest = np.empty(len(rows) if limited else 0, np.int64)
        columns = rows.what, satisfied, self.automaton, int(ended)
        match_ends(rows.starts, *columns, farthest, nearest)
        low, high = np.empty((2, len(rows)), np.int64)
        needed = np.empty(len(keys), np.int64)
        ends = complete, farthest, nearest
        n = choose_matches(self.record, rows.starts, rows.order, *columns, *ends, low, high, needed)
        return FoundFrames(_frames(rows, low[:n], high[:n]), needed, {})


def _frames(rows: OrderedRows, low: Ints, high: Ints) -> np.ndarray:
    """Return the frames with these first and last rows."""
    frames = np.zeros(len(low), FOUND)
    real = np.concatenate([[0], np.cumsum(rows.what == REAL)])
    frames["key"] = np.searchsorted(rows.starts, low, side="right") - 1
    frames["low"], frames["high"] = low, high + 1
    frames["start"] = frames["held_from"] = rows.order[low]
    frames["end"] = frames["held_to"] = rows.order[high]
    frames["n"] = real[high + 1] - real[low]
    frames["missed"] = high + 1 - low - frames["n"]
    frames["status"] = FINAL
    return frames
