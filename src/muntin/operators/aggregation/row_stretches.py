"""The rows that panes keep in order, as stretches of them need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Floats, Ints
from muntin.kernels.value_counts import lengths


@dataclass(frozen=True)
class RowStretches:
    """The rows of stretches of panes; implements ``RowsOfSegments`` of the synopses.

    ``columns`` are lists: the places of rows along ``on``, and then the slots.
    """

    columns: Sequence[pa.Array]
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def _flat(self) -> list[Floats]:
        return [column.flatten().to_numpy(zero_copy_only=False) for column in self.columns]

    @cached_property
    def _ends(self) -> Ints:
        return np.append(0, np.cumsum(lengths(self.columns[0])))

    def rows(self, segment: int) -> list[Floats]:
        """Return the slots of a stretch in order of ``on``; rows that tie are sorted by value."""
        inside = slice(self._ends[self.low[segment]], self._ends[self.high[segment]])
        place, *values = (column[inside] for column in self._flat)
        order = np.lexsort((*reversed(values), place))
        return [column[order] for column in values]
