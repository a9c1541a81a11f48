"""Cuts: where windows over rows begin and end, for each kind of window.

An operator (:mod:`muntin.operators.rows.operator`) gives a cut the rows that have become final, in
order. The cut numbers the rows: rows with equal numbers are always in the same windows. It returns
the windows that are now known, as stretches of numbers.
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
from muntin.operators.common.listed_places import check_listed
from muntin.specs.axis import Axis
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class Run:
    """Rows that became final in a step, sorted by key and by order within a key.

    ``key`` is an index into arrays with one entry per key. ``marks`` are the columns ``m0..`` that
    the cut added on the map side.
    """

    key: Ints
    order: Ints
    rank: Ints
    tick: Ints
    marks: tuple[Ints, ...] = ()

    def __len__(self) -> int:
        return len(self.key)

    def last_of_ties(self) -> Mask:
        """Mask of the rows before a row with another key or order."""
        last: Mask = np.ones(len(self), np.bool_)
        last[:-1] = (self.key[1:] != self.key[:-1]) | (self.order[1:] != self.order[:-1])
        return last


@dataclass(frozen=True)
class Progressed:
    """For every key: how many rows it has had, and up to where it is complete.

    ``memory`` has the memory of each key before this step, with its count of rows as ``n``.
    ``largest`` is the order of the largest value of the whole input, ``largest_tick`` its tick.
    """

    counted: Ints
    memory: Mapping[str, Ints]
    complete: Ints
    ended: bool
    largest: int
    largest_tick: int


@dataclass(frozen=True)
class HeldRows:
    """Rows of this and earlier steps that are still needed, sorted by key and rank."""

    key_starts: Ints
    rank: Ints
    order: Ints


@dataclass(frozen=True)
class Cutting:
    """The windows that a cut found, sorted by key, and what the cut remembers.

    Window ``i`` of key ``key[i]`` holds the cells numbered ``[low, high)`` and is reported with the
    bounds ``start`` and ``end``. Cells of a key below ``needed`` are deleted. Cells below
    ``settled`` will be in the same windows from now on. Keys that are ``done`` can be deleted.
    ``since`` has the order at which the next window of a key may begin; EVER if that is known from
    where the key is complete.
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
    since: Ints | None = None


class Cut(ABC):
    """A kind of window over rows."""

    @property
    def memory(self) -> tuple[str, ...]:
        """The names of the integers that are remembered per key; each is NEVER at first."""
        return ()

    @property
    def remembers(self) -> bool:
        """True if a key is remembered after its last cell is deleted."""
        return True

    @property
    def marks(self) -> int:
        """How many columns ``m0..`` the cut adds to rows."""
        return 0

    def mark(self, rows: pa.Table) -> tuple[pa.Table, Reasons | None]:
        """Map side: return rows with the columns ``m0..``, and the reasons for refusing rows."""
        return rows, None

    @property
    def may_refuse(self) -> bool:
        """True if :meth:`refuse` may refuse rows."""
        return False

    def refuse(self, run: Run, keys: Progressed) -> Mask | None:
        """Return a mask of the rows that break the order which the windows rely on."""
        return None

    @property
    def holds_rows(self) -> bool:
        """True if :meth:`windows` uses the held rows."""
        return False

    @abstractmethod
    def number(self, run: Run, keys: Progressed) -> Ints:
        """Return the cell of each row; NEVER for a row in no window."""

    @abstractmethod
    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        """Return the windows that are known now and were not known before."""


@dataclass(frozen=True)
class RankCut(Cut):
    """Row windows: RANGE and SLIDE count ranks, and panes are stretches of ranks."""

    edges: Edges
    axis: Axis
    within: int | None = None
    min_rows: int = 1

    @property
    def holds_rows(self) -> bool:
        return self.within is not None

    def number(self, run: Run, keys: Progressed) -> Ints:
        """Return the pane of each row, or its rank if a window may begin at any row."""
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
            first_rank = low
        else:
            first_rank = start
            low, high = self._panes(start), self._panes(end)
            needed = self._panes(needed)
        if keys.ended:
            needed = np.full(len(keys.counted), EVER)
        if self.min_rows > 1:
            enough = np.minimum(end, keys.counted[key]) - first_rank >= self.min_rows
            key, low, high, start, end = (x[enough] for x in (key, low, high, start, end))
        return Cutting(key, low, high, start, end, end <= keys.counted[key], needed)

    def _last_window(self, rank: Ints) -> Ints:
        last: Ints = (rank + self.edges.range) // self.edges.slide - 1
        return last

    def _panes(self, edge: Ints) -> Ints:
        """Return the first pane at or after a window edge, which is a pane edge."""
        slides, offset = np.divmod(edge, self.edges.slide)
        if self.edges.panes_per_slide == 1:
            return slides
        panes: Ints = 2 * slides + (offset > 0)
        return panes

    def _within(self, keys: Progressed, held: HeldRows, key: Ints, start: Ints, end: Ints) -> Ints:
        """Return the first rank of each window that is at most ``within`` before its end."""
        assert self.within is not None
        last = np.minimum(end, keys.counted[key]) - 1
        place = held.key_starts[key] + (last - held.rank[held.key_starts[key]])
        edge = shift_order(held.order[place], self.axis, -self.within)
        low = np.empty(len(key), np.int64)
        first_beyond(held.key_starts, held.rank, held.order, key, edge, low)
        return np.maximum(low, start)


@dataclass(frozen=True)
class TupleCut(Cut):
    """A window ``(v - range, v]`` at every n-th row; rows with equal ``on`` share one window."""

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
    """Return every integer from ``first[k]`` to ``last[k]``, with its ``k``."""
    count = np.maximum(last - first + 1, 0)
    check_listed(count, len(first), "windows")
    key = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(key)) - np.repeat(np.cumsum(count) - count, count)
    return key, first[key] + within


def first_of_each(key: Ints, order: Ints) -> Mask:
    """Mask of the first of each run of equal pairs; pairs are sorted."""
    first: Mask = np.ones(len(key), np.bool_)
    first[1:] = (key[1:] != key[:-1]) | (order[1:] != order[:-1])
    return first


def greatest_of_ties(run: Run, values: Ints) -> Ints:
    """Return the greatest value for each distinct pair of key and order."""
    if not len(run):
        return values
    first = np.flatnonzero(first_of_each(run.key, run.order))
    greatest: Ints = np.maximum.reduceat(values, first)
    return greatest


def reach_back(keys: Progressed, axis: Axis, length: int) -> Ints:
    """Return for each key the lowest order that windows of later rows can reach."""
    if keys.ended:
        return np.full(len(keys.complete), EVER)
    # Add two ticks, because a difference of doubles is rounded by less than that.
    length += 2
    return order_of_ticks(np.maximum(keys.complete, NEVER + length) - length, axis)


@dataclass(frozen=True)
class SlideCut(Cut):
    """A window ``(v - range, v]`` ends where the slide attribute passes a slide edge.

    The marks of a row are the order of its slide attribute, and the number of its slide.
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
        """Add the marks; refuse rows whose slide attribute is null."""
        ticks = to_ticks(rows["slide_on"].combine_chunks(), self.slide_axis)
        stretch = (ticks.tick - self.slide_origin) // self.slide
        rows = rows.append_column("m0", pa.array(ticks.order))
        rows = rows.append_column("m1", pa.array(stretch))
        return rows, np.where(ticks.refusal == 0, "", "null_slide_on").astype(object)

    @property
    def may_refuse(self) -> bool:
        return True

    def refuse(self, run: Run, keys: Progressed) -> Mask | None:
        """Return a mask of the rows whose slide attribute falls while ``on`` rises."""
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
        # Rows with equal `on` count with their greatest slide attribute.
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
            since=np.where(known, back, EVER),
        )
