"""Levels over panes: partial aggregates of many panes, so that a long window reads few rows.

Panes are kept in chunks. A *node* of level 1 combines the panes of one chunk; a chunk of level 1
holds as many nodes as ``fanout``, and a node of level 2 combines these, and so on. A node is
numbered by the lower edge of its first pane, and a chunk by its place among chunks of its level:

    level 2   |               node 0                |
    level 1   |   node 0   |   node 4   |   node 8  |   ...
    panes     | 0  1  2  3 | 4  5  6  7 | 8  9 10 11|   ...

The windows that close in a step share most of their panes. :meth:`Levels.cover` takes panes at both
ends, and the fewest nodes for what all of these windows share [Panes 3.1; Window-ids 5.2].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muntin.kernels.arrays import Ints, Mask
from muntin.operators.windows.pane_reach import Span

#: No node is longer than this many panes, so that its edges fit 64 bits.
_LONGEST = 2**40


@dataclass(frozen=True)
class CoverNumbers:
    """Two stretches of numbers of a level, ``[start, stop)`` and ``[other_start, other_stop)``."""

    start: Ints
    stop: Ints
    other_start: Ints
    other_stop: Ints

    def hold(self, number: Ints) -> Mask:
        """Mask of the numbers that are in one of the stretches."""
        inside: Mask = (number >= self.start) & (number < self.stop)
        inside |= (number >= self.other_start) & (number < self.other_stop)
        return inside


@dataclass(frozen=True)
class Levels:
    """The sizes of panes' chunks and of the levels over them.

    ``fanout`` is 0 if there are no levels. ``longest`` is the number of panes of the longest
    window.

    >>> Levels(panes_per_bucket=16, longest=3600, fanout=16).count
    2
    >>> Levels(panes_per_bucket=4, longest=60).count
    0
    """

    panes_per_bucket: int
    longest: int
    fanout: int = 0

    @cached_property
    def count(self) -> int:
        """The number of levels: at the last, a window has at most twice ``fanout`` nodes."""
        if not self.fanout:
            return 0
        count = 1
        while 2 * self.width(count) < self.longest and self.width(count) < _LONGEST:
            count += 1
        return count

    def width(self, level: int) -> int:
        """Return how many panes a chunk of a level covers; level 0 has the panes themselves."""
        return self.panes_per_bucket * self.fanout**level if level else self.panes_per_bucket

    def length(self, level: int) -> int:
        """Return how many panes a row of a level covers."""
        return self.width(level - 1) if level else 1

    def cover(self, span: Span, sealed: Ints) -> list[CoverNumbers]:
        """Return for each level the numbers of the rows from which closing windows are made.

        Nodes that end at or below ``sealed`` are complete; later ones are not used.

        >>> span = Span(*(np.array([number]) for number in (1, 3, 13, 15)))
        >>> for level in Levels(4, longest=12, fanout=2).cover(span, np.array([13])):
        ...     print([int(stretch[0]) for stretch in vars(level).values()])
        [1, 4, 12, 15]
        [4, 12, 12, 12]
        """
        start, stop = span.low, span.high
        shared_start, shared_stop = span.shared_low, np.minimum(span.shared_high, sealed)
        covers = []
        for level in range(self.count + 1):
            if level == self.count:
                covers.append(CoverNumbers(start, stop, stop, stop))
                break
            width = self.width(level)
            # The nodes of the next level, if all windows share some.
            first, last = -(-shared_start // width) * width, shared_stop // width * width
            none = first >= last
            first, last = np.where(none, stop, first), np.where(none, stop, last)
            covers.append(CoverNumbers(start, first, last, stop))
            start, stop = first, last
            shared_start, shared_stop = first, last
        return covers

    def chunks(self, level: int, stored: Ints, start: Ints, stop: Ints) -> Mask:
        """Mask of the stored chunks of a level, sorted, with numbers in some ``[start, stop)``."""
        some = start < stop
        width = self.width(level)
        first = np.searchsorted(stored, start[some] // width)
        last = np.searchsorted(stored, -(-stop[some] // width))
        changes = np.zeros(len(stored) + 1, np.int64)
        np.add.at(changes, first, 1)
        np.add.at(changes, last, -1)
        chosen: Mask = np.cumsum(changes)[:-1] > 0
        return chosen
