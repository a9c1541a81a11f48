"""Feeds two streams of whole numbers to a join, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from muntin.operators.join.side import SideRows
from muntin.operators.protocol import InputBatch, MemoryState, Operator, Punctuation, Step
from muntin.specs.axis import Axis, Domain

WHOLE = Axis(Domain.INTEGER)
#: Rows have a key, a place (``on``) and a name, which breaks ties.
SIDE = SideRows(WHOLE, (pa.string(),), (pa.int64(), pa.string()), pa.int64())
Given = tuple[str | None, int | None, str]


@dataclass
class Fed:
    """A join and its state between steps."""

    work: Operator
    state: MemoryState = field(default_factory=MemoryState)
    before: list[int | None] = field(default_factory=lambda: [None, None])
    over: list[bool] = field(default_factory=lambda: [False, False])

    def step(
        self,
        left: Sequence[Given] = (),
        right: Sequence[Given] = (),
        *,
        complete: tuple[int | None, int | None] = (None, None),
        ended: tuple[bool, bool] = (False, False),
    ) -> Step:
        """Run one micro-batch; None in ``complete`` leaves an input complete up to where it was."""
        arrived = []
        for place, rows in enumerate((left, right)):
            now = self.before[place] if complete[place] is None else complete[place]
            over = self.over[place]
            punctuation = Punctuation(self.before[place], now, None, ended[place] or over, over)
            routed = self.work.map_sides[place].route(table(rows))
            arrived.append(InputBatch([routed.partial], punctuation))
            self.before[place], self.over[place] = now, ended[place] or over
        step = self.work.step(self.state, arrived)
        self.state.apply(step.changes)
        return step

    def held(self, place: int) -> list[str]:
        """Return the names of the held rows of a side."""
        table = f"side{place}:rows"
        chunks = [self.state.read(table, chunk) for chunk in self.state.buckets(table)]
        return sorted(name for chunk in chunks for name in chunk["c1"].to_pylist())


def table(rows: Sequence[Given]) -> pa.Table:
    keys, on, names = ([row[place] for row in rows] for place in range(3))
    return pa.table(
        {
            "k0": pa.array(keys, pa.string()),
            "on": pa.array(on, pa.int64()),
            "c0": pa.array(on, pa.int64()),
            "c1": pa.array(names, pa.string()),
            "t0": pa.array(names, pa.string()),
        }
    )


def names(step: Step) -> list[tuple[Any, Any]]:
    """Return the pairs of names that a step reports."""
    rows = step.results.to_pylist()
    return sorted(((row["left1"], row.get("right1")) for row in rows), key=str)
