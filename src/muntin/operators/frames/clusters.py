"""Clusters of rows as frames [Frames, appendix H, scan statistics]."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.frames.clusters import Scan, clusters
from muntin.kernels.frames.records import FINAL, FOUND
from muntin.operators.common.keys import KeyedTables
from muntin.operators.frames.held_rows import FoundFrames, HeldRowFrames
from muntin.operators.frames.ordered_rows import OrderedRows


@dataclass(frozen=True)
class ClusterFrames(HeldRowFrames):
    """Rows that are closer together than chance would bring them."""

    scan: Scan = field(default_factory=lambda: Scan(0.05, 1.0, 1))

    def tell(
        self,
        rows: OrderedRows,
        memory: dict[str, Ints],
        keys: KeyedTables,
        complete: Ints,
        ended: bool,
    ) -> FoundFrames:
        found = clusters(rows.starts, rows.order, complete, ended, self.axis, self.scan)
        made = np.zeros(len(found.key), FOUND)
        made["key"], made["low"], made["high"] = found.key, found.low, found.high + 1
        for name in ("start", "held_from"):
            made[name] = rows.order[found.low]
        for name in ("end", "held_to"):
            made[name] = rows.order[found.high]
        made["n"], made["status"] = found.high - found.low + 1, FINAL
        return FoundFrames(made, found.needed, {})
