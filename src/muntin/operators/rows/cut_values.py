"""Windows over values for operators that take the rows of a key in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.ticks import order_of_ticks
from muntin.operators.rows.cut import Cut, Cutting, HeldRows, Progressed, Run, spread
from muntin.specs.axis import Axis
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class ValueCut(Cut):
    """Sliding, tumbling and landmark windows, told once all their rows are final.

    Cells are numbered by ticks. What is remembered of a key is the next window to report and
    its last row, whose windows may still be to come.
    """

    edges: Edges
    axis: Axis

    @property
    def memory(self) -> tuple[str, ...]:
        return ("next", "last")

    def number(self, run: Run, keys: Progressed) -> Ints:
        return run.tick

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        edges = self.edges
        key, first, last = self._windows_of_rows(run, keys)
        closing = self._closing(keys)
        place, wid = spread(first, np.minimum(last, closing[key]))
        key = key[place]
        end = edges.origin + (wid + 1) * edges.slide
        low = self._low(end)
        latest = keys.memory["last"].copy()
        np.maximum.at(latest, run.key, run.tick)
        told = (closing != NEVER) & (closing != EVER)
        following = np.where(told, closing + told, closing)  # EVER has none
        needed = self._low(edges.origin + (np.where(told, following, 0) + 1) * edges.slide)
        needed = np.where(told, needed, closing)
        if keys.ended:
            needed = np.full(len(closing), EVER)
        return Cutting(
            key=key,
            low=low,
            high=end,
            start=order_of_ticks(low, self.axis),
            end=order_of_ticks(end, self.axis),
            complete=end <= keys.largest_tick if keys.ended else np.ones(len(end), np.bool_),
            needed=needed,
            # Rows to come are in later windows than those of a last row that nobody needs.
            done=latest < needed,
            memory={"next": following, "last": latest},
        )

    def _closing(self, keys: Progressed) -> Ints:
        """The last window of each key that can be told."""
        if keys.ended:
            last = EVER
            if self.edges.landmark and keys.largest_tick != NEVER:
                last = self.edges.last_closed(keys.largest_tick) + 1
            return np.full(len(keys.complete), last, np.int64)
        told = keys.complete != NEVER
        reached = np.where(told, keys.complete, 0) - self.edges.origin
        closing = reached // self.edges.slide - 1
        following = keys.memory["next"]
        reported = np.where(following == NEVER, NEVER, following - 1)
        return np.where(told, np.maximum(closing, reported), NEVER)

    def _low(self, end: Ints) -> Ints:
        if self.edges.landmark:
            return np.full(len(end), self.edges.origin)
        low: Ints = end - self.edges.range
        return np.maximum(low, self.edges.origin) if self.edges.clipped else low

    def _windows_of_rows(self, run: Run, keys: Progressed) -> tuple[Ints, Ints, Ints]:
        """For each row the windows that hold it and no earlier row of its key.

        Windows never end before those of an earlier row, so every window is told once. The last
        row of an earlier step comes first, with its windows that are still to come.
        """
        edges = self.edges
        known = np.flatnonzero(keys.memory["last"] != NEVER)
        key = np.concatenate([known, run.key])
        tick = np.concatenate([keys.memory["last"][known], run.tick])
        place = np.lexsort((tick, key))
        key, tick = key[place], tick[place]
        first, offset = np.divmod(tick - edges.origin, edges.slide)
        if edges.landmark:
            last = np.full(len(tick), EVER)
        else:
            last = first + (offset + edges.range) // edges.slide - 1
        same = np.zeros(len(key), np.bool_)
        same[1:] = key[1:] == key[:-1]
        before = np.where(same, np.roll(last, 1), NEVER)
        first = np.maximum(first, np.where(before == EVER, EVER, before + 1))
        following = keys.memory["next"][key]
        return key, np.maximum(first, following), last
