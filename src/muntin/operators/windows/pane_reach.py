"""Reach: which panes the windows that close in a step use, and which panes are complete.

Everything is a number of a pane, for the whole stream or for each row of a table, because keys may
be ahead of the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.operators.windows.closing import FOREVER, Closing
from muntin.operators.windows.panes import PaneEdges
from muntin.specs.axis import TICK_LIMIT
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class Span:
    """The panes ``[low, high)`` of the windows of one specification that close in a step.

    The panes ``[shared_low, shared_high)`` are in all of these windows. A span may be empty.
    """

    low: Ints
    shared_low: Ints
    shared_high: Ints
    high: Ints


@dataclass(frozen=True)
class Reach:
    """The spans of all windows of a store, and what is complete and needed.

    Panes below ``before`` were complete before the step, and panes below ``after`` are complete
    after it. Open windows need no pane below ``needed``.
    """

    spans: tuple[Span, ...]
    before: Ints
    after: Ints
    needed: Ints


@dataclass(frozen=True)
class StepReach:
    """The reach of a step: of the stream, and of keys that are ahead of it.

    If ``leveled`` is false, the state has no levels yet, so nothing counts as complete before.
    """

    edges: PaneEdges
    closings: Sequence[Closing]
    leveled: bool = True

    @property
    def by_key(self) -> bool:
        """True if some key is ahead of the stream."""
        return self.closings[0].by_key

    def of(self, rows: pa.Table) -> Reach:
        """Return the reach for each row of a table, or the one that holds for all rows."""
        if not self.by_key:
            return self.stream
        keys = rows.select(self.closings[0].key_names)
        return self._of_ticks(*self.closings[0].punctuation.of(keys))

    @cached_property
    def stream(self) -> Reach:
        """The reach of keys that are not ahead of the stream."""
        punctuation = self.closings[0].punctuation
        ticks = [NEVER if t is None else t for t in (punctuation.before, punctuation.after)]
        lasts = [(np.array([c.closed]), np.array([c.closing])) for c in self.closings]
        return self._reach(np.array(ticks[:1]), np.array(ticks[1:]), lasts)

    @cached_property
    def all(self) -> Reach:
        """Every reach that occurs, once."""
        if not self.by_key:
            return self.stream
        punctuation = self.closings[0].punctuation
        assert punctuation.by_key is not None
        ahead = punctuation.by_key.select(self.closings[0].key_names)
        stream = [NEVER if t is None else t for t in (punctuation.before, punctuation.after)]
        pairs = np.unique(np.column_stack(punctuation.of(ahead)), axis=0)
        pairs = np.vstack([stream, pairs]).astype(np.int64)
        return self._of_ticks(pairs[:, 0], pairs[:, 1])

    def _of_ticks(self, before: Ints, after: Ints) -> Reach:
        return self._reach(before, after, [c.of_ticks(before, after) for c in self.closings])

    def _reach(self, before: Ints, after: Ints, lasts: Sequence[tuple[Ints, Ints]]) -> Reach:
        spans = [
            self._span(closing.edges, *last)
            for closing, last in zip(self.closings, lasts, strict=True)
        ]
        needed = [
            self.edges.needed(closing.edges, last)
            for closing, (_, last) in zip(self.closings, lasts, strict=True)
        ]
        complete = self._complete(before if self.leveled else np.full_like(before, NEVER))
        # At the end of input, all windows close and nothing will be read again.
        after = complete if self.closings[0].punctuation.ended else self._complete(after)
        return Reach(tuple(spans), complete, after, np.minimum.reduce(needed))

    def _span(self, edges: Edges, closed: Ints, closing: Ints) -> Span:
        if edges.landmark:
            # The pane of the last closed window holds everything that is closed.
            low, high = closed, (closing + 1) * edges.panes_per_slide
            return Span(low, low, low, np.where(closing > closed, high, low))
        if len(self.edges.windows) > 1:
            # No row is in other windows, and the ticks of these windows fit 64 bits.
            least, most = (
                (tick - edges.origin) // edges.slide for tick in (-TICK_LIMIT, TICK_LIMIT)
            )
            bounds = least - 1, most + edges.whole_slides + 1
            closed, closing = np.clip(closed, *bounds), np.clip(closing, *bounds)
        low, shared_low = (self._start(edges, wid) for wid in (closed + 1, closing))
        shared_high, high = (self._end(edges, wid) for wid in (closed + 1, closing))
        high = np.where(closing > closed, high, low)
        return Span(low, shared_low, np.minimum(shared_high, high), high)

    def _start(self, edges: Edges, wid: Ints) -> Ints:
        number = edges.start_pane(0) + wid * edges.panes_per_slide
        # A window that starts at the origin has no rows before it, and other windows may have some.
        return self.edges.first(edges, np.maximum(number, 0) if edges.clipped else number)

    def _end(self, edges: Edges, wid: Ints) -> Ints:
        return self.edges.first(edges, (wid + 1) * edges.panes_per_slide)

    def _complete(self, tick: Ints) -> Ints:
        """Return the first pane that is not complete if the input is complete up to a tick."""
        pane = self.edges.panes_of(np.maximum(tick, -TICK_LIMIT))
        return np.where(tick == NEVER, -4 * FOREVER, pane)
