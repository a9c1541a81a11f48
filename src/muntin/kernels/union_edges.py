"""The latest of several regular edges at or before each tick."""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INTS, NONE, OUT_INTS, kernel


@kernel(NONE, INTS, INTS, INTS, OUT_INTS)
def latest_edges(tick: Ints, slides: Ints, phases: Ints, out: Ints) -> None:
    """Find the latest edge ``phase + n * slide`` at or before each tick.

    Rows that follow each other often lie between the same two edges.
    """
    lower = upper = 0
    for row in range(len(tick)):
        own = tick[row]
        if own < lower or own >= upper:
            lower = own - (own - phases[0]) % slides[0]
            upper = lower + slides[0]
            for place in range(1, len(slides)):
                edge = own - (own - phases[place]) % slides[place]
                lower = max(lower, edge)
                upper = min(upper, edge + slides[place])
        out[row] = lower


@kernel(NONE, INTS, INTS, OUT_INTS)
def place_edges(tick: Ints, edges: Ints, out: Ints) -> None:
    """Find the place of the last edge at or before each tick; the first is before all ticks.

    A table of equal stretches has the place where the search begins.
    """
    shift = 0
    while (edges[-1] - edges[0]) >> shift >= 8192:
        shift += 1
    size = ((edges[-1] - edges[0]) >> shift) + 1
    table = np.empty(size, np.int64)
    place = 0
    for stretch in range(size):
        while place + 1 < len(edges) and edges[place + 1] <= edges[0] + (stretch << shift):
            place += 1
        table[stretch] = place
    for row in range(len(tick)):
        stretch = min(size - 1, (tick[row] - edges[0]) >> shift)
        place = table[stretch]
        while place + 1 < len(edges) and edges[place + 1] <= tick[row]:
            place += 1
        out[row] = place
