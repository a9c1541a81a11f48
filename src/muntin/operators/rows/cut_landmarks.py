"""A cut for windows that begin at the latest landmark [CA-3], given or found in the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.numbers.order_keys import doubles_order, order_doubles
from muntin.kernels.ticks import order_of_ticks
from muntin.operators.common.admission import Reasons
from muntin.operators.rows.cut import Cut, Cutting, HeldRows, Progressed, Run, first_of_each, spread
from muntin.specs.axis import Axis, Domain

Values = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Segments:
    """Segments from a landmark to the next one, sorted by key.

    ``until`` is the next landmark; EVER if it is not known.
    """

    key: Ints
    landmark: Ints
    until: Ints
    first: Ints  # the first window not reported yet


@dataclass(frozen=True)
class LandmarkCut(Cut):
    """Windows from a landmark up to the next one: one per slide, or a single one.

    ``points`` are given landmarks in ticks. Without them, the ``first`` row of each key is its
    landmark, or the column ``starts`` marks the rows that are landmarks. A key remembers its
    landmark, the next window to report and its last row. Rows are cut once punctuation has passed
    them, so no row comes before the first one.
    """

    points: tuple[int, ...]
    slide: int | None
    axis: Axis
    first: bool = False

    @property
    def memory(self) -> tuple[str, ...]:
        return ("landmark", "next", "last")

    @property
    def marks(self) -> int:
        return 0 if self.points or self.first else 1

    def mark(self, rows: pa.Table) -> tuple[pa.Table, Reasons | None]:
        """Add a mark to rows that are landmarks, unless landmarks are given."""
        if not self.marks:
            return rows, None
        starts = rows["starts"].combine_chunks().fill_null(False)
        return rows.append_column("m0", starts.cast(pa.int64())), None

    def number(self, run: Run, keys: Progressed) -> Ints:
        """Return the order of each row; rows before the first landmark are in no window."""
        return np.where(self._landmark_of(run, keys) == NEVER, NEVER, run.order)

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        segments = self._segments(run, keys)
        latest = keys.memory["last"].copy()
        np.maximum.at(latest, run.key, run.order)
        # The largest value is exact to a tick only, so a double of this key may exceed it.
        largest = np.maximum(latest, keys.largest)[segments.key]
        closed = segments.until <= order_of_ticks(keys.complete, self.axis)[segments.key]
        if keys.ended:
            closed |= segments.until <= largest
        first, last = segments.first, self._last_window(segments, keys, closed, largest)
        place, wid = spread(first, last)
        landmark, until = segments.landmark[place], segments.until[place]
        end = np.minimum(self._ends(landmark, wid), until)
        still = ~closed
        needed = np.full(len(keys.counted), EVER)
        settled = np.full(len(keys.counted), NEVER)
        memory = {name: np.full(len(keys.counted), NEVER) for name in self.memory}
        if not keys.ended:
            key = segments.key[still]
            needed[key] = memory["landmark"][key] = segments.landmark[still]
            memory["next"][key] = np.maximum(last, first - 1)[still] + 1
            settled[key] = self._settled(segments, memory["next"], still, keys)
            memory["last"] = latest
        return Cutting(
            key=segments.key[place],
            low=landmark,
            high=end,
            start=landmark,
            end=end,
            complete=closed[place] | (end <= largest[place]) if keys.ended else end < EVER,
            needed=needed,
            settled=settled,
            done=memory["landmark"] == NEVER,
            memory=memory,
            since=np.where(memory["landmark"] == NEVER, EVER, memory["landmark"]),
        )

    def _landmark_of(self, run: Run, keys: Progressed) -> Ints:
        """Return the latest landmark at or before each row; NEVER if there is none."""
        if self.points:
            points = order_of_ticks(np.array(self.points, np.int64), self.axis)
            place = np.searchsorted(points, run.order, side="right") - 1
            return np.where(place < 0, NEVER, points[np.maximum(place, 0)])
        if not len(run):
            return run.order
        if self.first:
            known = keys.memory["landmark"][run.key]
            first_row = np.searchsorted(run.key, run.key)  # rows are sorted by key, then by order
            return np.where(known == NEVER, run.order[first_row], known)
        row = np.arange(len(run))
        start = np.maximum.accumulate(np.where(run.marks[0] == 1, row, -1))
        # A landmark also applies to rows with the same `on` that are sorted before it.
        last_of_tie = np.flatnonzero(run.last_of_ties())
        start = start[last_of_tie[np.searchsorted(last_of_tie, row)]]
        same_key = (start >= 0) & (run.key[start] == run.key)
        return np.where(same_key, run.order[start], keys.memory["landmark"][run.key])

    def _segments(self, run: Run, keys: Progressed) -> _Segments:
        """Return the segments that are open from earlier steps, and those that the rows begin."""
        known = np.flatnonzero(keys.memory["landmark"] != NEVER)
        landmark = self._landmark_of(run, keys)
        opens = first_of_each(run.key, landmark) & (landmark != NEVER)
        opens &= landmark != keys.memory["landmark"][run.key]
        key = np.concatenate([known, run.key[opens]])
        place = np.argsort(key, kind="stable")
        landmarks = np.concatenate([keys.memory["landmark"][known], landmark[opens]])[place]
        first = np.concatenate(
            [keys.memory["next"][known], self._window_of(landmark[opens], run.order[opens])]
        )[place]
        key = key[place]
        if self.points:
            points = np.append(order_of_ticks(np.array(self.points, np.int64), self.axis), EVER)
            until = points[np.searchsorted(points, landmarks, side="right")]
        else:
            until = np.full(len(key), EVER)
            until[:-1] = np.where(key[1:] == key[:-1], landmarks[1:], EVER)
        return _Segments(key, landmarks, until, first)

    def _last_window(
        self, segments: _Segments, keys: Progressed, closed: Mask, largest: Ints
    ) -> Ints:
        """Return the last window of each segment that can be reported."""
        if self.slide is None:
            reported = closed | keys.ended
            last: Ints = np.where(reported, 0, -1)
            return last
        if keys.ended:
            whole = self._window_of(segments.landmark, largest)
        else:
            complete = order_of_ticks(keys.complete, self.axis)[segments.key]
            reached = np.maximum(complete, segments.landmark)
            whole = self._window_of(segments.landmark, reached) - 1
        # The next landmark cuts the last window before it, unless that window ends exactly there.
        cut = self._window_of(
            segments.landmark, np.where(closed, segments.until, segments.landmark)
        )
        exact = self._ends(segments.landmark, cut - 1) == segments.until
        at_next = np.where(exact, cut - 1, cut)
        return np.where(closed, at_next, whole)

    def _settled(self, segments: _Segments, following: Ints, still: Mask, keys: Progressed) -> Ints:
        """Return the order below which rows of an open segment are in all its later windows."""
        key = segments.key[still]
        if self.slide is None:
            return order_of_ticks(keys.complete, self.axis)[key]
        return self._ends(segments.landmark[still], following[key] - 1)

    def _values(self, order: Ints) -> Values:
        return order_doubles(order) if self.axis.domain is Domain.DOUBLE else order

    def _length(self) -> float:
        """Return the slide in ticks, or on doubles the nearest double."""
        assert self.slide is not None
        length: float = self.slide / 10**self.axis.digits
        return length if self.axis.domain is Domain.DOUBLE else self.slide

    def _window_of(self, landmark: Ints, order: Ints) -> Ints:
        """Return the first window of a segment that holds a value."""
        if self.slide is None:
            return np.zeros(len(landmark), np.int64)
        quotient = (self._values(order) - self._values(landmark)) // self._length()
        wid = quotient.astype(np.int64)
        if self.axis.domain is not Domain.DOUBLE:
            return wid
        # The quotient of doubles is rounded and may be off by one, so compare with window ends.
        wid = np.where(self._ends(landmark, wid) <= order, wid + 1, wid)
        return np.where(self._ends(landmark, wid - 1) > order, wid - 1, wid)

    def _ends(self, landmark: Ints, wid: Ints) -> Ints:
        if self.slide is None:
            return np.full(len(landmark), EVER)
        ends = self._values(landmark) + (wid + 1) * self._length()
        return doubles_order(ends) if self.axis.domain is Domain.DOUBLE else ends.astype(np.int64)
