"""Which windows a punctuation has closed: of the whole stream, and of the keys ahead of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.operators.protocol import Punctuation
from muntin.specs.axis import TICK_LIMIT
from muntin.specs.windows import Edges

#: The last closed window of every row, or one for all of them.
Last = int | Ints
#: Beyond every window; small enough that panes of it fit 64 bits.
FOREVER = 2**60


@dataclass(frozen=True)
class Closing:
    """The last windows closed before and after a step; far below all windows where none is.

    As long as no key is ahead of the stream these are two numbers, and cost nothing per row.
    """

    edges: Edges
    punctuation: Punctuation

    @cached_property
    def by_key(self) -> bool:
        """Whether some key is ahead of the stream."""
        keys = self.punctuation.by_key
        return keys is not None and keys.num_rows > 0 and not self.punctuation.over

    @cached_property
    def closed(self) -> int:
        """Of the whole stream, before the step."""
        if self.punctuation.over:
            return self._last_of_all(None)
        return self._last(self.punctuation.before)

    @cached_property
    def closing(self) -> int:
        """Of the whole stream, after the step."""
        if self.punctuation.ended:
            return max(self.closed, self._last_of_all(self.punctuation.largest))
        return max(self.closed, self._last(self.punctuation.after))

    def of(self, rows: pa.Table) -> tuple[Last, Last]:
        """Before and after the step, for each row of a table that has the keys."""
        if not self.by_key:
            return self.closed, self.closing
        return self._of_ticks(*self.punctuation.of(rows.select(self._names.column_names)))

    def panes(self) -> Sequence[tuple[int, int]]:
        """Stretches of panes that hold what the step closes or no longer needs."""
        found = [(self.closed, self.closing)] if self.closing > self.closed else []
        if self.by_key:
            closed, closing = self._of_ticks(*self.punctuation.of(self._names))
            moved = closing > closed
            pairs = {*zip(closed[moved].tolist(), closing[moved].tolist(), strict=True)}
            found += sorted(pairs)
        return [(self._start(closed), self._end(closing)) for closed, closing in found]

    @property
    def _names(self) -> pa.Table:
        assert self.punctuation.by_key is not None  # asked only where there are keys
        return self.punctuation.by_key.drop_columns(["before", "after"])

    def _of_ticks(self, before: Ints, after: Ints) -> tuple[Ints, Ints]:
        closed = self._lasts(before)
        closing = np.maximum(closed, self._lasts(after))
        return closed, np.maximum(closing, self.closing) if self.punctuation.ended else closing

    def _last_of_all(self, largest: int | None) -> int:
        """At the end: landmark windows are reported up to the first that ends beyond the input."""
        if self.edges.landmark and largest is not None:
            return self.edges.last_closed(largest) + 1
        return FOREVER

    def _last(self, tick: int | None) -> int:
        return -FOREVER if tick is None else self.edges.last_closed(tick)

    def _lasts(self, ticks: Ints) -> Ints:
        # No row is below the least tick, so what is complete there need not be told apart.
        wids = (np.maximum(ticks, -TICK_LIMIT) - self.edges.origin) // self.edges.slide - 1
        return np.where(ticks == NEVER, -FOREVER, wids)

    def _start(self, closed: int) -> int:
        """The first pane that a window behind ``closed`` needs."""
        return closed if self.edges.landmark else self.edges.start_pane(closed + 1)

    def _end(self, closing: int) -> int:
        return min(self.edges.end_pane(closing), 2 * FOREVER)
