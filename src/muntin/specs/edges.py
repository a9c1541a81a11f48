"""The edges of windows over values, in ticks, and the panes between them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edges:
    """The edges of a window specification in ticks, and the panes between them.

    Window ``w`` is ``[start(w), end(w))``. Pane edges are the windows' own edges, so a slide has
    one pane if SLIDE divides RANGE and two otherwise, and every row of a pane belongs to the same
    windows [Panes 3.1]. docs/decisions/0002 explains why panes are not cut by the gcd.

    A ``latch`` is a landmark window without a beginning: it holds all rows up to its end, and is
    reported if its last slide has a row.
    """

    range: int
    slide: int
    origin: int
    clipped: bool
    landmark: bool = False
    latch: bool = False

    @property
    def ticks_per_unit(self) -> int:
        """How many ticks a length of 1 has, at least."""
        return 1

    @property
    def first_tick(self) -> int:
        """The tick of the origin."""
        return self.origin

    @property
    def panes_per_slide(self) -> int:
        return 1 if self.landmark or self.range % self.slide == 0 else 2

    @property
    def whole_slides(self) -> int:
        """The number of whole slides that fit in the range."""
        return self.range // self.slide

    @property
    def panes_per_window(self) -> int:
        """The number of panes of a window; for a landmark window, those it gains per slide."""
        if self.landmark:
            return 1
        return self.end_pane(0) - self.start_pane(0)

    @property
    def start_offset(self) -> int:
        """The place in a slide where windows start; 0 if they start where others end."""
        return 0 if self.landmark else -self.range % self.slide

    def end(self, wid: int) -> int:
        return self.origin + (wid + 1) * self.slide

    def start(self, wid: int) -> int:
        if self.landmark and not self.latch:
            return self.origin
        start = self.end(wid) - self.range
        return max(start, self.origin) if self.clipped else start

    def pane(self, tick: int) -> int:
        slide, offset = divmod(tick - self.origin, self.slide)
        if self.panes_per_slide == 1:
            return slide
        return 2 * slide + (offset >= self.start_offset)

    def end_pane(self, wid: int) -> int:
        """Return the first pane after a window."""
        return (wid + 1) * self.panes_per_slide

    def start_pane(self, wid: int) -> int:
        """Return the first pane of a window."""
        if self.landmark:
            return 0
        if self.panes_per_slide == 1:
            return wid + 1 - self.whole_slides
        return 2 * (wid - self.whole_slides) + 1

    def first_wid(self, pane: int) -> int:
        """Return the first window that holds a pane."""
        return pane // self.panes_per_slide

    def last_wid(self, pane: int) -> int | None:
        """Return the last window with a pane: below the first if there is none, None if endless."""
        if self.landmark:
            return None
        if self.panes_per_slide == 1:
            return pane + self.whole_slides - 1
        return self.whole_slides + (pane - 1) // 2

    def last_closed(self, punctuation: int) -> int:
        """Return the last window that a punctuation closes: its end is at most the punctuation."""
        return (punctuation - self.origin) // self.slide - 1
