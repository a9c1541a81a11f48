"""Early answers: any operator that also reports what is open, and how that changes.

The operator inside does its steps as always. After a step this wrapper peeks at the results that
are open (:mod:`muntin.operators.common.peek`), compares them with those that it reported before,
and reports the difference (:mod:`muntin.operators.common.changes`). What it remembers are the open
answers that it reported, so its state is bounded by what is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from muntin.operators.common.changes import CHANGE_FIELDS, report
from muntin.operators.common.peek import open_results
from muntin.operators.protocol import Changes, InputBatch, MapSide, Operator, State, Step

#: The chunk of state with the open answers that were reported.
REPORTED = "early:reported"
#: The chunk of state with the largest tick when open answers were last reported.
ASKED = "early:asked"
_COMPLETE = "complete"


class Shown(Protocol):
    """Decides which results are answers: HAVING."""

    def mask(self, results: pa.Table) -> pa.Array:
        """Return a mask of the results that are answers, without nulls."""


@dataclass(frozen=True)
class EarlyAnswers:
    """An operator whose results are changes: with the columns ``change`` and ``final``.

    Args:
        operator: The operator inside.
        identity: Its columns that identify an answer: keys and bounds.
        every: How many ticks the stream progresses between two reports of open answers; None to
            report them in every micro-batch.
        shown: Which results are answers; None if all are.
        quiet: Whether nothing is reported, while the state of the operator inside goes on.
    """

    operator: Operator
    identity: tuple[str, ...]
    every: int | None = None
    shown: Shown | None = None
    quiet: bool = False

    @cached_property
    def result_schema(self) -> pa.Schema:
        return pa.schema([*self.operator.result_schema, *CHANGE_FIELDS])

    @property
    def map_sides(self) -> Sequence[MapSide]:
        return self.operator.map_sides

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return self.operator.shard_keys

    @property
    def may_refuse(self) -> bool:
        return self.operator.may_refuse

    def silenced(self) -> EarlyAnswers:
        """Return the same operator, which reports nothing."""
        return replace(self, quiet=True)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        """Take in new rows, and report how the answers change."""
        step = self.operator.step(state, inputs)
        if self.quiet:
            # Afterwards what is open is reported at once.
            again: Changes = {(ASKED, bucket): None for bucket in state.buckets(ASKED)}
            empty = self.result_schema.empty_table()
            return replace(step, results=empty, changes={**step.changes, **again})
        stored = [state.read(REPORTED, bucket) for bucket in state.buckets(REPORTED)]
        before = stored[0] if stored else self.operator.result_schema.empty_table()
        now_open, asked = self._now_open(state, inputs, step)
        final, hidden = self._split(step.results)
        if now_open is not None:
            now_open, _ = self._split(now_open)
        reported = report(before, final, hidden, now_open, self.identity)
        changes: Changes = {**step.changes, **asked}
        if reported.changes.num_rows:  # else what is open is what it was
            changes[REPORTED, 0] = reported.open if reported.open.num_rows else None
        return replace(step, results=reported.changes, changes=changes)

    def _now_open(
        self, state: State, inputs: Sequence[InputBatch], step: Step
    ) -> tuple[pa.Table | None, Changes]:
        """Return the open results if they are to be reported now, and what that is to remember."""
        asked = [_tick(state.read(ASKED, bucket)) for bucket in state.buckets(ASKED)]
        if all(batch.punctuation.ended for batch in inputs):
            gone: Changes = {(ASKED, 0): None} if asked else {}
            return self.operator.result_schema.empty_table(), gone
        largest = max(
            (b.punctuation.largest for b in inputs if b.punctuation.largest is not None),
            default=None,
        )
        if largest is None or not self._due(asked, largest, inputs, step):
            return None, {}
        opened = open_results(self.operator, state, inputs, step.changes)
        if _COMPLETE in opened.column_names:
            # Rows may still come, also where the end of the window has passed.
            place = opened.schema.get_field_index(_COMPLETE)
            opened = opened.set_column(place, _COMPLETE, pa.array(np.zeros(len(opened), np.bool_)))
        note: Changes = {(ASKED, 0): pa.table({"tick": pa.array([largest])})}
        return opened, note if asked != [largest] else {}

    def _due(
        self, asked: Sequence[int], largest: int, inputs: Sequence[InputBatch], step: Step
    ) -> bool:
        """Return whether open answers are to be reported after a step."""
        if not asked:
            return True
        if self.every is not None:
            return largest // self.every > asked[0] // self.every
        moved = any(batch.punctuation.before != batch.punctuation.after for batch in inputs)
        return bool(step.changes) or moved or largest != asked[0]

    def _split(self, results: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the results that are answers, and those that are not."""
        if self.shown is None:
            return results, results.slice(0, 0)
        mask = self.shown.mask(results).to_numpy(zero_copy_only=False)
        return results.filter(pa.array(mask)), results.filter(pa.array(~mask))


def _tick(asked: pa.Table) -> int:
    tick: int = asked["tick"][0].as_py()
    return tick
