"""A cut for windows over values, for operators that take the rows of a key in order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.ticks import order_of_ticks
from muntin.operators.rows.cut import Cut, Cutting, HeldRows, Progressed, Run, spread
from muntin.operators.windows.panes import PaneEdges
from muntin.specs.axis import Axis
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class ValueCut(Cut):
    """Sliding, tumbling and landmark windows, reported once all their rows are final.

    Cells are numbered by ticks. A key remembers the next window to report and its last row, because
    some windows of that row may not be reported yet.
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
        known = (closing != NEVER) & (closing != EVER)
        following = np.where(known, closing + known, closing)  # nothing follows EVER
        needed = self._low(edges.origin + (np.where(known, following, 0) + 1) * edges.slide)
        needed = np.where(known, needed, closing)
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
            # If the last row is not needed, later rows are in later windows only.
            done=latest < needed,
            memory={"next": following, "last": latest},
        )

    def _closing(self, keys: Progressed) -> Ints:
        """Return the last window of each key that can be reported."""
        if keys.ended:
            last = EVER
            if self.edges.landmark and keys.largest_tick != NEVER:
                last = self.edges.last_closed(keys.largest_tick) + 1
            return np.full(len(keys.complete), last, np.int64)
        known = keys.complete != NEVER
        reached = np.where(known, keys.complete, 0) - self.edges.origin
        closing = reached // self.edges.slide - 1
        following = keys.memory["next"]
        reported = np.where(following == NEVER, NEVER, following - 1)
        return np.where(known, np.maximum(closing, reported), NEVER)

    def _low(self, end: Ints) -> Ints:
        if self.edges.landmark:
            return np.full(len(end), self.edges.origin)
        low: Ints = end - self.edges.range
        return np.maximum(low, self.edges.origin) if self.edges.clipped else low

    def _windows_of_rows(self, run: Run, keys: Progressed) -> tuple[Ints, Ints, Ints]:
        """For each row, return the windows that hold it and no earlier row of its key.

        Windows of a row never end before those of an earlier row, so each window is found once. The
        last row of an earlier step comes first, with those of its windows that are not reported
        yet.
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


@dataclass(frozen=True)
class PaneCut(ValueCut):
    """The same windows over cells that are panes: rows between two edges share a cell."""

    def number(self, run: Run, keys: Progressed) -> Ints:
        return self.panes(run.tick)

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        cutting = super().windows(run, keys, held)
        settled = None
        if self.edges.landmark:
            following = cutting.memory["next"]
            known = (following != NEVER) & (following != EVER)
            settled = np.where(known, self.edges.origin + following * known * self.edges.slide, 0)
            settled = np.where(known, self.panes(settled), NEVER)
        low, high, needed = map(self.panes, (cutting.low, cutting.high, cutting.needed))
        return replace(cutting, low=low, high=high, needed=needed, settled=settled)

    def panes(self, tick: Ints) -> Ints:
        """Return the pane that begins at or before each tick; NEVER and EVER stay."""
        inside = (tick != NEVER) & (tick != EVER)
        pane = PaneEdges((self.edges,)).panes_of(np.where(inside, tick, self.edges.origin))
        return np.where(inside, pane, tick)
