"""Missing rows: what they are taken for [Frames, appendix C, *Missing Data*]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Inner, Node
from muntin.expressions.values import Value, from_arrow, truth
from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames import records

_VERDICTS = {
    "break": records.BREAKS,
    "satisfy": records.SATISFIES,
    "carry": records.CARRIED,
}


@dataclass(frozen=True)
class Bridge:
    """A condition on the real rows before and behind a missing one.

    Slot ``p`` of the condition is a column ``m0..`` of the row before it or behind it, as ``slots``
    says. ``types`` are those of these columns.
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

    def holds(self, before: pa.Table, behind: pa.Table) -> Mask:
        """For pairs of rows whether the condition is true; a row that is not there has nulls."""

        def slot(place: int) -> Value:
            side, column = self.slots[place]
            rows = before if side == "prev" else behind
            return from_arrow(rows[f"m{column}"].combine_chunks())

        def inner(node: Inner) -> Value:
            raise AssertionError(node)  # the parser lets no aggregate in

        answer = truth(evaluate(self.where, slot, inner))
        return np.broadcast_to(answer.true & answer.valid, before.num_rows)


#: A policy by its name, or a condition.
Missing = str | Bridge


def verdict(missing: Missing) -> int:
    """What every missing row is taken for, unless a condition decides."""
    return _VERDICTS[missing] if isinstance(missing, str) else records.BREAKS


def waits(missing: Missing) -> bool:
    """Whether a missing row has to wait for the next real one."""
    return not isinstance(missing, str) or missing == "carry"


def around(starts: Ints, real: Mask) -> tuple[Ints, Ints]:
    """For each row the real row before it and the one at or behind it in its key, or -1.

    The row before it is -1 as well where it came with an earlier micro-batch.
    """
    rows = np.arange(len(real))
    key_start = np.repeat(starts[:-1], np.diff(starts))
    key_stop = np.repeat(starts[1:], np.diff(starts))
    last = np.maximum.accumulate(np.where(real, rows, -1)) if len(rows) else rows
    before = np.concatenate([[-1], last[:-1]]) if len(rows) else rows
    before = np.where(before >= key_start, before, -1)
    following = np.where(real, rows, len(rows))[::-1]
    behind = np.minimum.accumulate(following)[::-1] if len(rows) else rows
    behind = np.where(behind < key_stop, behind, -1)
    return before.astype(np.int64), behind.astype(np.int64)
