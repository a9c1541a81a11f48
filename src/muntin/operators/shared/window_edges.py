"""The edges of many windows at once: where their panes begin, and what a pane is for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muntin.kernels.arrays import NEVER, Ints, Mask
from muntin.kernels.union_edges import latest_edges, place_edges
from muntin.operators.protocol import Punctuation
from muntin.operators.windows.closing import FOREVER
from muntin.specs.axis import TICK_LIMIT
from muntin.specs.windows import Edges

#: As many edges are listed and searched; where there are more, the pane of each row is computed.
_FEW = 4096


@dataclass(frozen=True)
class PlacedPanes:
    """Panes in order, and for each row the place of its own; panes without rows may be there."""

    distinct: Ints
    place: Ints


@dataclass(frozen=True)
class WindowEdges:
    """Distinct edges of windows that slide or tumble.

    Their panes lie between the edges of all windows, and the number of a pane is the tick at which
    it begins. Methods that take several ticks return a row for each window.

    >>> edges = WindowEdges((Edges(5, 2, 0, False), Edges(6, 6, 0, False)))
    >>> panes = edges.panes_of(np.array([0, 1, 2, 3, 4, 11]))
    >>> panes.distinct[panes.place].tolist()
    [0, 1, 2, 3, 4, 11]
    >>> edges.progressions
    [(2, 0), (2, 1)]
    """

    windows: tuple[Edges, ...]

    def __len__(self) -> int:
        return len(self.windows)

    @cached_property
    def progressions(self) -> list[tuple[int, int]]:
        """The distances and phases of all edges, without those that others contain."""
        found = set()
        for edges in self.windows:
            found.add((edges.slide, edges.origin % edges.slide))
            found.add((edges.slide, (edges.origin + edges.start_offset) % edges.slide))
        kept: list[tuple[int, int]] = []
        for slide, phase in sorted(found):
            if not any(slide % less == 0 and phase % less == rest for less, rest in kept):
                kept.append((slide, phase))
        return kept

    def panes_of(self, tick: Ints) -> PlacedPanes:
        """Return the pane of each tick."""
        place = np.empty(len(tick), np.int64)
        if not len(tick):
            return PlacedPanes(place, place)
        least, most = int(tick.min()), int(tick.max())
        tick = np.ascontiguousarray(tick)
        if (
            most - least < TICK_LIMIT
            and sum((most - least) // slide + 2 for slide, _ in self.progressions) <= _FEW
        ):
            edges = self._between(least, most)
            place_edges(tick, edges, place)
            return PlacedPanes(edges, place)
        slides, phases = (np.array(part, np.int64) for part in zip(*self.progressions, strict=True))
        latest_edges(tick, slides, phases, place)
        panes, place = np.unique(place, return_inverse=True)
        return PlacedPanes(panes, place.astype(np.int64))

    def _between(self, least: int, most: int) -> Ints:
        """Return the edges up to a tick, from the latest at or before another."""
        edges = [
            np.arange(least - (least - phase) % slide, most + 1, slide)
            for slide, phase in self.progressions
        ]
        distinct = np.unique(np.concatenate(edges))
        later: Ints = distinct[np.searchsorted(distinct, least, side="right") - 1 :]
        return later

    @cached_property
    def longest(self) -> int:
        return max((edges.range for edges in self.windows), default=1)

    @cached_property
    def ranges(self) -> Ints:
        return self._column("range")

    @cached_property
    def slides(self) -> Ints:
        return self._column("slide")

    @cached_property
    def origins(self) -> Ints:
        return self._column("origin")

    @cached_property
    def clipped(self) -> Mask:
        return self._column("clipped").astype(np.bool_)

    @cached_property
    def two(self) -> Mask:
        """Mask of the windows with two panes to a slide."""
        two: Mask = self._column("panes_per_slide") == 2
        return two

    def _column(self, name: str) -> Ints:
        return np.array([getattr(edges, name) for edges in self.windows], np.int64)

    def numbers(self, pane: Ints) -> Ints:
        """Return the number that each window gives to each pane."""
        slides, offset = np.divmod(pane - self.origins[:, None], self.slides[:, None])
        second = offset >= self._column("start_offset")[:, None]
        return np.where(self.two[:, None], 2 * slides + second, slides)

    def last_wids(self, number: Ints) -> Ints:
        """Return the last window with each pane, given the numbers of panes for each window."""
        whole = (self.ranges // self.slides)[:, None]
        return np.where(self.two[:, None], whole + (number - 1) // 2, number + whole - 1)

    def outside(self, number: Ints) -> Mask:
        """Mask of the panes before the origin of clipped windows."""
        outside: Mask = self.clipped[:, None] & (number < 0)
        return outside

    def in_no_window(self, number: Ints) -> Mask:
        """Mask of the panes in the gaps between windows that are shorter than a slide."""
        gaps: Mask = (self.ranges < self.slides)[:, None] & (number % 2 == 0)
        return gaps

    def last_closed(self, tick: Ints) -> Ints:
        """Return the last closed window where the input is complete up to each tick."""
        wids = np.maximum(tick, -TICK_LIMIT) - self.origins[:, None]
        wids = wids // self.slides[:, None] - 1
        return np.where(tick == NEVER, -FOREVER, wids)

    def closed_and_closing(self, punctuation: Punctuation) -> tuple[Ints, Ints]:
        """Return for each window the last one closed before and after a step, for the stream."""
        ticks = [NEVER if t is None else t for t in (punctuation.before, punctuation.after)]
        closed, closing = self.last_closed(np.array(ticks, np.int64)).T
        if punctuation.over:
            closed = np.full(len(self), FOREVER)
        if punctuation.ended:
            closing = np.full(len(self), FOREVER)
        return closed, np.maximum(closed, closing)
