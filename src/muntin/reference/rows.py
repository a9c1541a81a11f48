"""Windows over rows, straight from the definitions [Window-ids 3.3].

All rows of a stream that are not late are taken at once: sorted, ranked, and every window is
computed on its own. This is the oracle of the operators that find these windows as rows arrive.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.reference.arrivals import arrive, lives, shifted
from muntin.reference.definitions import bounds, windows
from muntin.reference.windows import Evaluate, Key, MicroBatch, Outcome, Row
from muntin.specs.axis import Axis
from muntin.specs.row_windows import (
    Landmarks,
    RowWindow,
    SequenceSpec,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.specs.windows import Edges, Landmark, Unfinished, Window, WindowSpec

#: A window: its bounds in results, the rows it holds, and whether the input reached its end.
Found = tuple[dict[str, Any], list[Row], bool]


@dataclass(frozen=True)
class SequenceReference:
    """Windows of ``spec`` over rows of equal ``by``, with ``group`` inside each window.

    ``tie`` orders rows with equal ``on``; ``gap`` and ``landmark`` read those of a row.
    """

    spec: SequenceSpec | WindowSpec
    axis: Axis
    by: Sequence[str]
    group: Sequence[str]
    aggregates: Mapping[str, Evaluate]
    unfinished: Unfinished = "keep"
    tie: Callable[[Row], Any] = lambda row: 0
    landmark: Callable[[Row], bool] = lambda row: False
    gap: Callable[[Row], Any] | None = None
    slide_axis: Axis | None = None

    def run(self, batches: Sequence[MicroBatch]) -> Outcome:
        """Return the results and refused rows of a stream that ends after these batches."""
        outcome = Outcome()
        late = not (isinstance(self.spec, RowWindow) and self.spec.order == "arrival")
        known = self.axis, self.spec.on, self.by
        came = arrive(outcome, batches, *known, self._refusal, may_be_late=late)
        for key, rows in came.held.items():
            assert came.largest is not None  # a row that is held has a place
            forget = self.spec.forget if isinstance(self.spec, RowWindow) else None
            for life in lives(rows, self.axis, self.spec.on, forget):
                self._report(outcome, key, life, _Reached(came.largest, came.complete(key)))
        outcome.used -= sum(reason == "slide_on_fell" for _, reason in outcome.refused)
        return outcome

    def _refusal(self, row: Row) -> str | None:
        """Return why the windows refuse a row that has a place on the axis; None if they do not."""
        if self._before_all(row[self.spec.on]):
            return "before_origin"
        if isinstance(self.spec, SlideOnWindow) and self._stretch(row) is None:
            return "null_slide_on"
        if isinstance(self.spec, Session) and self.gap is not None:
            gap = self.gap(row)
            if gap is None or not gap > type(gap)():
                return "no_gap"
        return None

    def _before_all(self, value: Any) -> bool:
        """Return True if a value lies before the first landmark, or before a given origin."""
        if isinstance(self.spec, Landmarks):
            points = self.spec.points(self.axis)
        elif isinstance(self.spec, Window | Landmark) and self.spec.origin is not None:
            points = (self.spec.edges(self.axis).origin,)
        else:
            points = ()
        return bool(points) and bool(value < self.axis.value(points[0]))

    def _report(self, outcome: Outcome, key: Key, arrived: list[Row], reached: _Reached) -> None:
        on = self.spec.on
        ordered = sorted(arrived, key=lambda row: (row[on], self.tie(row)))
        match self.spec:
            case RowWindow():
                rows = arrived if self.spec.order == "arrival" else ordered
                found_windows = self._row_windows(self.spec, rows)
            case TupleWindow():
                rows = arrived if self.spec.order == "arrival" else ordered
                ends = {
                    row[on] for rank, row in enumerate(rows) if (rank + 1) % self.spec.every == 0
                }
                found_windows = self._backwards(
                    self.spec.range, ordered, [(v, True) for v in sorted(ends)]
                )
            case SlideOnWindow():
                rows = self._rising(outcome, ordered)
                found_windows = self._backwards(self.spec.range, rows, self._slide_ends(rows))
            case Landmarks():
                found_windows = self._landmark_windows(self.spec, ordered, reached)
            case Session():
                found_windows = self._sessions(self.spec, ordered)
            case Window() | Landmark():
                found_windows = self._value_windows(self.spec.edges(self.axis), ordered, reached)
        for reported, rows, complete in found_windows:
            self._add(outcome, key, reported, rows, complete)

    def _add(
        self, outcome: Outcome, key: Key, reported: dict[str, Any], rows: list[Row], complete: bool
    ) -> None:
        if self.unfinished == "drop" and not complete:
            return
        for group in dict.fromkeys(self._key(row, self.group) for row in rows):
            members = [row for row in rows if self._key(row, self.group) == group]
            result = dict(zip([*self.by, *self.group], [*key, *group], strict=True)) | reported
            if isinstance(self.spec, RowWindow):
                on = self.spec.on
                result |= {"on_start": members[0][on], "on_end": members[-1][on]}
            if self.unfinished == "flag":
                result["complete"] = complete
            for name, evaluate in self.aggregates.items():
                result[name] = evaluate(members)
            outcome.results.append(result)

    def _row_windows(self, spec: RowWindow, rows: list[Row]) -> Iterator[Found]:
        wid = 0
        while (wid + 1) * spec.slide - spec.range < len(rows):
            start, end = max(0, (wid + 1) * spec.slide - spec.range), (wid + 1) * spec.slide
            held = rows[start:end]
            if held and spec.within is not None:
                edge = self._shifted(held[-1][spec.on], spec.within, -1)
                held = [row for row in held if row[spec.on] > edge]
            if len(held) >= spec.min_rows:
                yield {"window_start": start, "window_end": end}, held, end <= len(rows)
            wid += 1

    def _backwards(
        self, length: Any, rows: list[Row], ends: Sequence[tuple[Any, bool]]
    ) -> Iterator[Found]:
        """Yield a window ``(v - length, v]`` for each end ``v``."""
        on = self.spec.on
        for end, complete in ends:
            start = self._shifted(end, length, -1)
            held = [row for row in rows if start < row[on] <= end]
            yield {"window_start": start, "window_end": end}, held, complete

    def _rising(self, outcome: Outcome, rows: list[Row]) -> list[Row]:
        """Return rows whose slide attribute is not below that of a kept row with a lower ``on``."""
        assert isinstance(self.spec, SlideOnWindow)
        on, slide_on = self.spec.on, self.spec.slide_on
        kept: list[Row] = []
        for row in rows:
            lower = [k[slide_on] for k in kept if k[on] < row[on]]
            if lower and row[slide_on] < max(lower):
                outcome.refused.append((row, "slide_on_fell"))
            else:
                kept.append(row)
        return kept

    def _slide_ends(self, rows: list[Row]) -> list[tuple[Any, bool]]:
        """Return the values of ``on`` after which the slide attribute is in another slide."""
        on = self.spec.on
        reached: dict[Any, int] = {}
        for row in rows:
            stretch = self._stretch(row)
            assert stretch is not None  # rows without a slide value are refused on arrival
            reached[row[on]] = max(stretch, reached.get(row[on], stretch))
        values = sorted(reached)
        ends = [(v, True) for v, w in itertools.pairwise(values) if reached[v] < reached[w]]
        return [*ends, (values[-1], False)] if values else []

    def _stretch(self, row: Row) -> int | None:
        assert isinstance(self.spec, SlideOnWindow) and self.slide_axis is not None
        axis = self.slide_axis
        tick = axis.tick(row[self.spec.slide_on])
        if tick is None:
            return None
        slide = axis.length("slide", self.spec.slide)
        return (tick - self.spec.slide_origin(axis)) // slide

    def _landmark_windows(
        self, spec: Landmarks, rows: list[Row], reached: _Reached
    ) -> Iterator[Found]:
        if spec.origins:
            landmarks = [self.axis.value(tick) for tick in spec.points(self.axis)]
        elif spec.first:
            landmarks = [min(row[spec.on] for row in rows)]
        else:
            landmarks = sorted({row[spec.on] for row in rows if self.landmark(row)})
        # The largest value is known only as a tick; on doubles a row may be beyond it.
        largest = max(self.axis.value(reached.largest), rows[-1][spec.on])
        complete = None if reached.complete is None else self.axis.value(reached.complete)
        for landmark, until in itertools.zip_longest(landmarks, landmarks[1:]):
            members = [
                row
                for row in rows
                if landmark <= row[spec.on] and (until is None or row[spec.on] < until)
            ]
            if members:
                yield from self._from_landmark(spec, landmark, until, members, largest, complete)

    def _from_landmark(
        self,
        spec: Landmarks,
        landmark: Any,
        until: Any,
        rows: list[Row],
        largest: Any,
        complete: Any,
    ) -> Iterator[Found]:
        """Yield a window for every complete slide, and the first that ends beyond the input."""
        horizon = largest if complete is None else max(largest, complete)
        closed = until is not None and until <= horizon
        if spec.slide is None:
            yield {"window_start": landmark, "window_end": until}, rows, closed
            return
        before = landmark
        for wid in itertools.count():
            end = self._shifted(landmark, spec.slide, wid + 1)
            end = end if until is None else min(end, until)
            held = [row for row in rows if row[spec.on] < end]
            if held and (end <= horizon or before <= largest):
                reported = {"window_start": landmark, "window_end": end}
                yield reported, held, bool(end <= horizon)
            if end > horizon or end == until:
                return
            before = end

    def _sessions(self, spec: Session, rows: list[Row]) -> Iterator[Found]:
        """Yield the sessions: a row joins the last session unless that ended before the row."""
        session: list[Row] = []
        end: Any = None
        for row in rows:
            if session and row[spec.on] > end:
                yield {"window_start": session[0][spec.on], "window_end": end}, session, True
                session = []
            reach = self._reach(spec, row)
            end = reach if not session else max(end, reach)
            session = [*session, row]
        if session:
            yield {"window_start": session[0][spec.on], "window_end": end}, session, True

    def _value_windows(self, edges: Edges, rows: list[Row], reached: _Reached) -> Iterator[Found]:
        """Yield windows over values, of rows that were in time for all of them."""
        horizon = edges.last_closed(reached.largest) + 1
        closed = horizon - 1
        if reached.complete is not None:
            closed = max(closed, edges.last_closed(reached.complete))
        values = [row[self.spec.on] for row in rows]
        for wid in sorted(windows(values, self.axis, edges, max(horizon, closed))):
            start, end = bounds(wid, self.axis, edges)
            held = [row for row in rows if start <= row[self.spec.on] < end]
            if held:
                yield {"window_start": start, "window_end": end}, held, wid <= closed

    def _reach(self, spec: Session, row: Row) -> Any:
        if self.gap is not None:
            return row[spec.on] + self.gap(row)
        return self._shifted(row[spec.on], spec.gap, 1)

    def _shifted(self, value: Any, length: Any, times: int) -> Any:
        """Return a value moved by a length; on doubles with double arithmetic, as Spark's."""
        return shifted(self.axis, value, length, times)

    @staticmethod
    def _key(row: Row, names: Sequence[str]) -> Key:
        return tuple(row[name] for name in names)


@dataclass(frozen=True)
class _Reached:
    """At the end of input: its largest tick, and up to where a key was complete before."""

    largest: int
    complete: int | None
