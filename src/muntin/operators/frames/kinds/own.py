"""Frames of a user's own framing function on Arrow columns, run row by row or compiled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from muntin.errors import UnsupportedTypeError
from muntin.kernels.frames import records
from muntin.kernels.frames.own import (
    Answers,
    compiled_walk,
    decide_row,
    end_key,
    settle_row,
)
from muntin.kernels.frames.records import (
    COMPLETE,
    EXTENDS,
    EXTENDS_LAST,
    FOUND,
    INTERVAL,
    OPEN,
    OPENS,
    OPENS_LAST,
    REAL,
)
from muntin.kernels.frames.step import MOST
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    FrameOperatorInputs,
    any_missing,
    is_number,
)
from muntin.operators.frames.key_memory import KeyMemory, StepContext
from muntin.operators.frames.kinds.own_overlapping import OverlappingOwnFrames
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import OrderedRows
from muntin.operators.frames.own_calls import OwnCalls, compiled_errors, matrix
from muntin.operators.protocol import key_fields
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.own_function import (
    CompiledFraming,
    FramingFunction,
    OwnFraming,
    OwnKind,
)


@dataclass(frozen=True)
class ArrowOwn(ArrowKind):
    """Reads the columns that the function names; a row that lacks one of them is missing."""

    number: ClassVar[int] = records.OWN

    @classmethod
    def check_types(cls, kind: OwnKind, types: Sequence[pa.DataType]) -> None:
        if not isinstance(kind.framing, CompiledFraming):
            return
        for type_ in types:
            if not (pa.types.is_boolean(type_) or is_number(type_)):
                raise UnsupportedTypeError(
                    f"{kind.label} is compiled and takes numbers, but a column is {type_}"
                )

    @property
    def value_names(self) -> Sequence[str]:
        return ("lacks", *(f"f{place}" for place in range(len(self.types))))

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        columns = {f"f{place}": column for place, column in enumerate(operands)}
        return {"lacks": any_missing(operands, len(operands[0])), **columns}

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[FrameOperator], dict[str, Any]]:
        assert isinstance(framing.kind, OwnKind)
        own = {"own": framing.kind.framing, "digest": inputs.digest}
        return (OverlappingOwnFrames if framing.overlapping else OwnFrames), own


@dataclass(frozen=True)
class OwnFrames(FrameOperator):
    """``own`` decides what opens, extends and closes a frame; ``digest`` identifies its code."""

    own: OwnFraming | None = None
    digest: str = ""

    @property
    def compiled(self) -> CompiledFraming | None:
        return self.own if isinstance(self.own, CompiledFraming) else None

    @cached_property
    def memory(self) -> KeyMemory:
        base = super().memory
        if self.compiled is None:
            own = [pa.field("own", pa.string())]
        else:
            own = [pa.field(f"own{n}", pa.float64()) for n in range(self.compiled.numbers)]
        return KeyMemory(tuple(key_fields(self.keys)), (*base.also, *own))

    def _walk(
        self, now: StepContext, rows: OrderedRows, records: np.ndarray
    ) -> tuple[np.ndarray, dict[str, pa.Array]]:
        if self.compiled is not None:
            return self._walk_compiled(self.compiled, now, rows, records)
        assert isinstance(self.own, FramingFunction)
        kept = self.memory.spread(now.keyed, now.remembered, "own").to_pylist()
        states = [json.loads(text) if text else {} for text in kept]
        frames = _FramingByRow(OwnCalls(self.own), self.record, rows, records).run(
            states, now.ended
        )
        written = [json.dumps(state) for state in states]
        return frames, {"own": pa.array(written, pa.string())}

    def _walk_compiled(
        self, own: CompiledFraming, now: StepContext, rows: OrderedRows, records: np.ndarray
    ) -> tuple[np.ndarray, dict[str, pa.Array]]:
        names = [f"own{n}" for n in range(own.numbers)]
        numbers = np.zeros((len(now.keyed), own.numbers))
        for place, name in enumerate(names):
            column = self.memory.spread(now.keyed, now.remembered, name).fill_null(0.0)
            numbers[:, place] = column.to_numpy(zero_copy_only=False)
        walk = compiled_walk(Answers(self.digest, own.open, own.update, own.close))
        values, place_ = matrix(rows, len(self.kind.types)), np.zeros(2, np.int64)
        columns = self.record, rows.starts, rows.order, rows.what, rows.read("reach"), rows.gap
        room, parts = np.zeros(max(1024, len(rows) // 8), FOUND), []
        while place_[0] < len(now.keyed):
            with compiled_errors(own):
                n = walk(*columns, values, int(now.ended), records, numbers, room, place_)
            parts.append(room[:n].copy())
        also = {name: pa.array(numbers[:, place].copy()) for place, name in enumerate(names)}
        return (np.concatenate(parts) if parts else room[:0]), also


@dataclass(frozen=True)
class _FramingByRow:
    """Calls a framing function in Python about one row after the other."""

    calls: OwnCalls
    asked: np.ndarray
    rows: OrderedRows
    records: np.ndarray

    def run(self, states: list[dict[str, Any]], ended: bool) -> np.ndarray:
        """Return the frames found; ``states`` is what the function remembers about each key."""
        room, parts = np.zeros(MOST, FOUND), [np.zeros(0, FOUND)]
        values, modes = self.calls.values(self.rows), self.records["mode"]
        rows, reach = self.rows, self.rows.read("reach").astype(np.int64)
        real = (rows.what == REAL).tolist()
        # A kernel call costs more than its work on one row, so calls without any work are left out.
        settles = bool(self.asked["reading"][0] == INTERVAL or self.asked["cut"][0])

        def keep(n: int) -> None:
            if n:
                parts.append(room[:n].copy())

        for key, state in enumerate(states):
            for row in range(int(rows.starts[key]), int(rows.starts[key + 1])):
                arguments = self.asked, self.records, key, row, rows.order
                if settles or not real[row] or modes[key] == COMPLETE:
                    keep(settle_row(*arguments, rows.what, reach, rows.gap, room))
                if real[row]:
                    opened = bool(modes[key] == OPEN)
                    answer = self._answer(opened, values[row], state)
                    keep(decide_row(*arguments, reach, answer, room))
            if ended:
                keep(end_key(self.asked, self.records, key, room))
        return np.concatenate(parts)

    def _answer(self, opened: bool, row: dict[str, Any], state: dict[str, Any]) -> int:
        if opened and self.calls.ask("update", row, state):
            return EXTENDS | (EXTENDS_LAST if self.calls.ask("close", row, state) else 0)
        state.clear()
        if self.calls.ask("open", row, state):
            return OPENS | (OPENS_LAST if self.calls.ask("close", row, state) else 0)
        return 0
