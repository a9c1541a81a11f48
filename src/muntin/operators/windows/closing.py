"""Closing: the windows that punctuation closes in a step, for the whole stream and for each key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.calendar_units import on_line
from muntin.operators.protocol import Punctuation
from muntin.specs.axis import TICK_LIMIT
from muntin.specs.windows import Edges

#: The last closed window: one number per row, or one number for all rows.
Last = int | Ints
#: A number above every window; it is small enough that the numbers of its panes fit 64 bits.
FOREVER = 2**60


@dataclass(frozen=True)
class Closing:
    """The last windows that are closed before and after a step; ``-FOREVER`` if none is closed.

    If no key is ahead of the stream, these are two numbers and need no work per row.
    """

    edges: Edges
    punctuation: Punctuation

    @cached_property
    def by_key(self) -> bool:
        """True if some key is ahead of the stream."""
        keys = self.punctuation.by_key
        return keys is not None and keys.num_rows > 0 and not self.punctuation.over

    @cached_property
    def closed(self) -> int:
        """The last window of the whole stream that was closed before the step."""
        if self.punctuation.over:
            return self._last_of_all(None)
        return self._last(self.punctuation.before)

    @cached_property
    def closing(self) -> int:
        """The last window of the whole stream that is closed after the step."""
        if self.punctuation.ended:
            return max(self.closed, self._last_of_all(self.punctuation.largest))
        return max(self.closed, self._last(self.punctuation.after))

    def of(self, rows: pa.Table) -> tuple[Last, Last]:
        """Return the last window closed before and after the step, for each row of a table."""
        if not self.by_key:
            return self.closed, self.closing
        return self.of_ticks(*self.punctuation.of(rows.select(self.key_names)))

    def of_ticks(self, before: Ints, after: Ints) -> tuple[Ints, Ints]:
        """Return the last window closed before and after the step, for keys complete up to ticks.

        ``before`` holds before the step and ``after`` after it.
        """
        closed = self._lasts(before)
        closing = np.maximum(closed, self._lasts(after))
        return closed, np.maximum(closing, self.closing) if self.punctuation.ended else closing

    @property
    def key_names(self) -> list[str]:
        """The key columns of the keys ahead of the stream."""
        assert self.punctuation.by_key is not None  # used only if some key is ahead
        return [name for name in self.punctuation.by_key.column_names if name.startswith("k")]

    def _last_of_all(self, largest: int | None) -> int:
        """Return the last window to close at the end of input.

        Landmark windows are reported up to the first that ends after the largest value.
        """
        if self.edges.landmark and largest is not None:
            return self.edges.last_closed(largest) + 1
        return FOREVER

    def _last(self, tick: int | None) -> int:
        return -FOREVER if tick is None else self.edges.last_closed(tick)

    def _lasts(self, ticks: Ints) -> Ints:
        # No row lies below the least tick, so lower punctuations all have the same effect.
        reached = on_line(self.edges, np.maximum(ticks, -TICK_LIMIT))
        wids = (reached - self.edges.origin) // self.edges.slide - 1
        return np.where(ticks == NEVER, -FOREVER, wids)
