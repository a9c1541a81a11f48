"""Windows that end where an attribute beside ``on`` passes an edge [Window-ids 3.2]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.row_windows import never_falling
from muntin.kernels.ticks import shift_order, to_ticks
from muntin.operators.common.admission import Reasons
from muntin.operators.rows.cut import Cut, Cutting, HeldRows, Progressed, Run, greatest_of_ties
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class SlideCut(Cut):
    """A window ``(v - range, v]`` where the slide attribute passes an edge.

    Marks: the order of the slide attribute, and in which of its slides it lies.
    """

    range: int
    axis: Axis
    slide: int
    slide_origin: int
    slide_axis: Axis

    @property
    def memory(self) -> tuple[str, ...]:
        return ("risen", "slide", "last")

    @property
    def marks(self) -> int:
        return 2

    def mark(self, rows: pa.Table) -> tuple[pa.Table, Reasons | None]:
        """Where the slide attribute stands; a row without one is refused."""
        ticks = to_ticks(rows["slide_on"].combine_chunks(), self.slide_axis)
        stretch = (ticks.tick - self.slide_origin) // self.slide
        rows = rows.append_column("m0", pa.array(ticks.order))
        rows = rows.append_column("m1", pa.array(stretch))
        return rows, np.where(ticks.refusal == 0, "", "null_slide_on").astype(object)

    @property
    def may_refuse(self) -> bool:
        return True

    def refuse(self, run: Run, keys: Progressed) -> Mask | None:
        """A slide attribute that falls while the range attribute rises."""
        kept = np.empty(len(run), np.int64)
        never_falling(run.key, run.order, run.marks[0], keys.memory["risen"], kept)
        fallen: Mask = kept == 0
        return fallen

    def number(self, run: Run, keys: Progressed) -> Ints:
        return run.order

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        last = run.last_of_ties()
        risen, slide = keys.memory["risen"].copy(), keys.memory["slide"].copy()
        latest = keys.memory["last"].copy()
        # Of rows with equal `on` the greatest slide attribute counts.
        np.maximum.at(risen, run.key, run.marks[0])
        known = np.flatnonzero(latest != NEVER)
        key = np.concatenate([known, run.key[last]])
        order = np.concatenate([latest[known], run.order[last]])
        stretch = np.concatenate([slide[known], greatest_of_ties(run, run.marks[1])])
        place = np.lexsort((order, key))
        key, order, stretch = key[place], order[place], stretch[place]
        ends = np.zeros(len(key), np.bool_)
        ends[:-1] = (key[1:] == key[:-1]) & (stretch[1:] > stretch[:-1])
        final = np.ones(len(key), np.bool_)
        final[:-1] = key[1:] != key[:-1]
        slide[key[final]], latest[key[final]] = stretch[final], order[final]
        complete = ends.copy()
        if keys.ended:
            ends |= final
        end = order[ends]
        start = shift_order(end, self.axis, -self.range)
        known = latest != NEVER
        back = shift_order(np.where(known, latest, 0), self.axis, -self.range)
        needed = np.where(known, back, NEVER)
        return Cutting(
            key=key[ends],
            low=start + 1,
            high=end + 1,
            start=start,
            end=end,
            complete=complete[ends],
            needed=np.full(len(needed), EVER) if keys.ended else needed,
            memory={"risen": risen, "slide": slide, "last": latest},
        )
