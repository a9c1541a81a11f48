"""Where windows over rows begin and end: the part that differs between their kinds.

An operator (:mod:`muntin.operators.rows.operator`) hands over the rows that have become final, in
order; a cut numbers them, so that rows with equal numbers are always in the same windows, and
tells the windows that are now known as stretches of numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.row_windows import first_beyond, never_falling
from muntin.kernels.ticks import order_of_ticks, shift_order, to_ticks
from muntin.operators.common.admission import Reasons
from muntin.specs.axis import Axis
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class Run:
    """Rows that became final in a step, key by key and in order within a key.

    ``key`` points into arrays that have one entry a key, ``marks`` are the columns that a cut
    asked the map side for.
    """

    key: Ints
    order: Ints
    rank: Ints
    tick: Ints
    marks: tuple[Ints, ...] = ()

    def __len__(self) -> int:
        return len(self.key)

    def last_of_ties(self) -> Mask:
        """Where the next row has another key or order."""
        last: Mask = np.ones(len(self), np.bool_)
        last[:-1] = (self.key[1:] != self.key[:-1]) | (self.order[1:] != self.order[:-1])
        return last


@dataclass(frozen=True)
class Progressed:
    """What is known of every key: how many rows it has had, and up to where it is complete.

    ``memory`` is what was remembered before this step, its count of rows as ``n``; ``largest`` is
    the order of the largest value of the whole input.
    """

    counted: Ints
    memory: Mapping[str, Ints]
    complete: Ints
    ended: bool
    largest: int
    largest_tick: int


@dataclass(frozen=True)
class HeldRows:
    """Rows of earlier steps that are still needed, and those of this one, key by key by rank."""

    key_starts: Ints
    rank: Ints
    order: Ints


@dataclass(frozen=True)
class Cutting:
    """Windows, key by key, and what a cut remembers.

    Window ``i`` of key ``key[i]`` holds the cells numbered ``[low, high)`` and is reported as
    ``start`` and ``end``. Cells below ``needed`` of a key are forgotten; those below ``settled``
    will always be together from now on. Keys that are ``done`` can be forgotten themselves.
    """

    key: Ints
    low: Ints
    high: Ints
    start: Ints
    end: Ints
    complete: Mask
    needed: Ints
    settled: Ints | None = None
    done: Mask | None = None
    memory: Mapping[str, Ints] = field(default_factory=dict)


class Cut(ABC):
    """A kind of window over rows."""

    @property
    def memory(self) -> tuple[str, ...]:
        """What is remembered of a key, as whole numbers; NEVER before there is anything."""
        return ()

    @property
    def remembers(self) -> bool:
        """Whether a key is remembered when it has no cells left."""
        return True

    @property
    def marks(self) -> int:
        """How many columns ``m0..`` rows bring for the cut."""
        return 0

    def mark(self, rows: pa.Table) -> tuple[pa.Table, Reasons | None]:
        """Map side: rows with those columns, and why some rows have no place."""
        return rows, None

    @property
    def may_refuse(self) -> bool:
        """Whether rows may turn out to break what the kind of window asks for."""
        return False

    def refuse(self, run: Run, keys: Progressed) -> Mask | None:
        """Rows that break what the kind of window asks for."""
        return None

    @property
    def holds_rows(self) -> bool:
        """Whether :meth:`windows` looks at the rows that are held."""
        return False

    @abstractmethod
    def number(self, run: Run, keys: Progressed) -> Ints:
        """The cell of each row; NEVER for a row in no window."""

    @abstractmethod
    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        """The windows that are known now and were not before."""


@dataclass(frozen=True)
class RankCut(Cut):
    """Row windows: RANGE and SLIDE counted in ranks, with panes of ranks."""

    edges: Edges
    axis: Axis
    within: int | None = None

    @property
    def holds_rows(self) -> bool:
        return self.within is not None

    def number(self, run: Run, keys: Progressed) -> Ints:
        """Panes; single rows where a window may begin anywhere."""
        if self.within is not None:
            return run.rank
        slides, offset = np.divmod(run.rank, self.edges.slide)
        if self.edges.panes_per_slide == 1:
            return slides
        numbers: Ints = 2 * slides + (offset >= self.edges.start_offset)
        return numbers

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        edges, slide = self.edges, self.edges.slide
        first = keys.memory["n"] // slide
        last = keys.counted // slide - 1
        if keys.ended:
            last = np.where(keys.counted > 0, self._last_window(keys.counted - 1), -1)
        key, wid = spread(first, last)
        end = (wid + 1) * slide
        start = np.maximum(end - edges.range, 0)
        needed = np.maximum((keys.counted // slide + 1) * slide - edges.range, 0)
        if held is not None:
            low, high = self._within(keys, held, key, start, end), end
        else:
            low, high = self._panes(start), self._panes(end)
            needed = self._panes(needed)
        if keys.ended:
            needed = np.full(len(keys.counted), EVER)
        return Cutting(key, low, high, start, end, end <= keys.counted[key], needed)

    def _last_window(self, rank: Ints) -> Ints:
        last: Ints = (rank + self.edges.range) // self.edges.slide - 1
        return last

    def _panes(self, edge: Ints) -> Ints:
        """The first pane at or behind an edge of a window, which is an edge of a pane."""
        slides, offset = np.divmod(edge, self.edges.slide)
        if self.edges.panes_per_slide == 1:
            return slides
        panes: Ints = 2 * slides + (offset > 0)
        return panes

    def _within(self, keys: Progressed, held: HeldRows, key: Ints, start: Ints, end: Ints) -> Ints:
        """The first rank of each window that is not too far behind its last row."""
        assert self.within is not None
        last = np.minimum(end, keys.counted[key]) - 1
        place = held.key_starts[key] + (last - held.rank[held.key_starts[key]])
        edge = shift_order(held.order[place], self.axis, -self.within)
        low = np.empty(len(key), np.int64)
        first_beyond(held.key_starts, held.rank, held.order, key, edge, low)
        return np.maximum(low, start)


@dataclass(frozen=True)
class TupleCut(Cut):
    """A window ``(v - range, v]`` at every n-th row; rows with equal ``on`` share one."""

    range: int
    every: int
    axis: Axis

    @property
    def remembers(self) -> bool:
        return self.every > 1

    def number(self, run: Run, keys: Progressed) -> Ints:
        return run.order

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        ends = (run.rank + 1) % self.every == 0
        chosen = first_of_each(run.key[ends], run.order[ends])
        key, end = run.key[ends][chosen], run.order[ends][chosen]
        start = shift_order(end, self.axis, -self.range)
        return Cutting(
            key=key,
            low=start + 1,
            high=end + 1,
            start=start,
            end=end,
            complete=np.ones(len(key), np.bool_),
            needed=reach_back(keys, self.axis, self.range),
        )


def spread(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Every whole number from ``first[k]`` to ``last[k]``, with its ``k``."""
    count = np.maximum(last - first + 1, 0)
    key = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(key)) - np.repeat(np.cumsum(count) - count, count)
    return key, first[key] + within


def first_of_each(key: Ints, order: Ints) -> Mask:
    """Where sorted pairs begin a new value."""
    first: Mask = np.ones(len(key), np.bool_)
    first[1:] = (key[1:] != key[:-1]) | (order[1:] != order[:-1])
    return first


def greatest_of_ties(run: Run, values: Ints) -> Ints:
    """The greatest value among rows of equal key and order, once for each such pair."""
    if not len(run):
        return values
    first = np.flatnonzero(first_of_each(run.key, run.order))
    greatest: Ints = np.maximum.reduceat(values, first)
    return greatest


def reach_back(keys: Progressed, axis: Axis, length: int) -> Ints:
    """How far back the windows of rows still to come can reach, per key."""
    if keys.ended:
        return np.full(len(keys.complete), EVER)
    # Two ticks to spare: on doubles a difference is rounded, by less than that.
    length += 2
    return order_of_ticks(np.maximum(keys.complete, NEVER + length) - length, axis)


@dataclass(frozen=True)
class SlideCut(Cut):
    """A window ``(v - range, v]`` where the slide attribute passes an edge.

    Marks: the order of the slide attribute, and in which of its slides it lies.
    """

    range: int
    axis: Axis
    slide: int
    slide_origin: int
    slide_axis: Axis

    @property
    def memory(self) -> tuple[str, ...]:
        return ("risen", "slide", "last")

    @property
    def marks(self) -> int:
        return 2

    def mark(self, rows: pa.Table) -> tuple[pa.Table, Reasons | None]:
        """Where the slide attribute stands; a row without one is refused."""
        ticks = to_ticks(rows["slide_on"].combine_chunks(), self.slide_axis)
        stretch = (ticks.tick - self.slide_origin) // self.slide
        rows = rows.append_column("m0", pa.array(ticks.order))
        rows = rows.append_column("m1", pa.array(stretch))
        return rows, np.where(ticks.refusal == 0, "", "null_slide_on").astype(object)

    @property
    def may_refuse(self) -> bool:
        return True

    def refuse(self, run: Run, keys: Progressed) -> Mask | None:
        """A slide attribute that falls while the range attribute rises."""
        kept = np.empty(len(run), np.int64)
        never_falling(run.key, run.order, run.marks[0], keys.memory["risen"], kept)
        fallen: Mask = kept == 0
        return fallen

    def number(self, run: Run, keys: Progressed) -> Ints:
        return run.order

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        last = run.last_of_ties()
        risen, slide = keys.memory["risen"].copy(), keys.memory["slide"].copy()
        latest = keys.memory["last"].copy()
        # Of rows with equal `on` the greatest slide attribute counts.
        np.maximum.at(risen, run.key, run.marks[0])
        known = np.flatnonzero(latest != NEVER)
        key = np.concatenate([known, run.key[last]])
        order = np.concatenate([latest[known], run.order[last]])
        stretch = np.concatenate([slide[known], greatest_of_ties(run, run.marks[1])])
        place = np.lexsort((order, key))
        key, order, stretch = key[place], order[place], stretch[place]
        ends = np.zeros(len(key), np.bool_)
        ends[:-1] = (key[1:] == key[:-1]) & (stretch[1:] > stretch[:-1])
        final = np.ones(len(key), np.bool_)
        final[:-1] = key[1:] != key[:-1]
        slide[key[final]], latest[key[final]] = stretch[final], order[final]
        complete = ends.copy()
        if keys.ended:
            ends |= final
        end = order[ends]
        start = shift_order(end, self.axis, -self.range)
        known = latest != NEVER
        back = shift_order(np.where(known, latest, 0), self.axis, -self.range)
        needed = np.where(known, back, NEVER)
        return Cutting(
            key=key[ends],
            low=start + 1,
            high=end + 1,
            start=start,
            end=end,
            complete=complete[ends],
            needed=np.full(len(needed), EVER) if keys.ended else needed,
            memory={"risen": risen, "slide": slide, "last": latest},
        )
