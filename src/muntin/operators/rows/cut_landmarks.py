"""Windows from the latest landmark on [CA-3]: given or found in the data."""

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
    """Stretches from a landmark to the next, key by key; ``until`` is EVER where none is known."""

    key: Ints
    landmark: Ints
    until: Ints
    first: Ints  # the first window not reported yet


@dataclass(frozen=True)
class LandmarkCut(Cut):
    """From a landmark to the next: a window a slide, or one in all.

    ``points`` are landmarks given in ticks; without any the column ``starts`` says which rows are.
    What is remembered of a key is its landmark, the next window to report and its last row.
    """

    points: tuple[int, ...]
    slide: int | None
    axis: Axis

    @property
    def memory(self) -> tuple[str, ...]:
        return ("landmark", "next", "last")

    @property
    def marks(self) -> int:
        return 0 if self.points else 1

    def mark(self, rows: pa.Table) -> tuple[pa.Table, Reasons | None]:
        """Which rows are landmarks, where the data says."""
        if self.points:
            return rows, None
        starts = rows["starts"].combine_chunks().fill_null(False)
        return rows.append_column("m0", starts.cast(pa.int64())), None

    def number(self, run: Run, keys: Progressed) -> Ints:
        """Rows are told apart by ``on``; those before any landmark are in no window."""
        return np.where(self._landmark_of(run, keys) == NEVER, NEVER, run.order)

    def windows(self, run: Run, keys: Progressed, held: HeldRows | None) -> Cutting:
        segments = self._segments(run, keys)
        latest = keys.memory["last"].copy()
        np.maximum.at(latest, run.key, run.order)
        # The largest value is known to the tick; on doubles a key's own row may be beyond it.
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
        )

    def _landmark_of(self, run: Run, keys: Progressed) -> Ints:
        """The latest landmark at or before each row, NEVER where there is none."""
        if self.points:
            points = order_of_ticks(np.array(self.points, np.int64), self.axis)
            place = np.searchsorted(points, run.order, side="right") - 1
            return np.where(place < 0, NEVER, points[np.maximum(place, 0)])
        if not len(run):
            return run.order
        row = np.arange(len(run))
        start = np.maximum.accumulate(np.where(run.marks[0] == 1, row, -1))
        # A landmark also holds for rows with its own `on` that were sorted before it.
        behind = np.flatnonzero(run.last_of_ties())
        start = start[behind[np.searchsorted(behind, row)]]
        mine = (start >= 0) & (run.key[start] == run.key)
        return np.where(mine, run.order[start], keys.memory["landmark"][run.key])

    def _segments(self, run: Run, keys: Progressed) -> _Segments:
        """What is open from before, then what the rows open."""
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
        """The last window of each stretch that can be reported."""
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
        # The last window before the next landmark is cut there, unless one ends just there.
        cut = self._window_of(
            segments.landmark, np.where(closed, segments.until, segments.landmark)
        )
        exact = self._ends(segments.landmark, cut - 1) == segments.until
        at_next = np.where(exact, cut - 1, cut)
        return np.where(closed, at_next, whole)

    def _settled(self, segments: _Segments, following: Ints, still: Mask, keys: Progressed) -> Ints:
        """Up to where the rows of an open stretch are in all its windows to come."""
        key = segments.key[still]
        if self.slide is None:
            return order_of_ticks(keys.complete, self.axis)[key]
        return self._ends(segments.landmark[still], following[key] - 1)

    def _values(self, order: Ints) -> Values:
        return order_doubles(order) if self.axis.domain is Domain.DOUBLE else order

    def _length(self) -> float:
        """The slide: a whole number of ticks, or on doubles the double nearest to it."""
        assert self.slide is not None
        length: float = self.slide / 10**self.axis.digits
        return length if self.axis.domain is Domain.DOUBLE else self.slide

    def _window_of(self, landmark: Ints, order: Ints) -> Ints:
        """The window of a stretch in which a value comes in."""
        if self.slide is None:
            return np.zeros(len(landmark), np.int64)
        found = (self._values(order) - self._values(landmark)) // self._length()
        wid = found.astype(np.int64)
        if self.axis.domain is not Domain.DOUBLE:
            return wid
        # The quotient is rounded, so it may be one off; what counts is where windows end.
        wid = np.where(self._ends(landmark, wid) <= order, wid + 1, wid)
        return np.where(self._ends(landmark, wid - 1) > order, wid - 1, wid)

    def _ends(self, landmark: Ints, wid: Ints) -> Ints:
        if self.slide is None:
            return np.full(len(landmark), EVER)
        ends = self._values(landmark) + (wid + 1) * self._length()
        return doubles_order(ends) if self.axis.domain is Domain.DOUBLE else ends.astype(np.int64)
