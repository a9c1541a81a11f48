"""Windows over rows, straight from the definitions (window-id.txt, section 3.3).

The rows of a stream that are not late, all of them at once: sorted, ranked, and every window
looked at on its own. The oracle of the operators that make these windows as rows arrive.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.semantics.axis import Axis, Domain
from muntin.semantics.definitions import bounds, windows
from muntin.semantics.reference import Evaluate, Outcome, Row
from muntin.semantics.sequence import (
    Landmarks,
    RowWindow,
    SequenceSpec,
    Session,
    SlideOnWindow,
    TupleWindow,
)
from muntin.semantics.window import Edges, Landmark, Unfinished, Window, WindowSpec

Key = tuple[Hashable, ...]
#: A window: what it is reported with, the rows it holds, whether the input reached its end.
Found = tuple[dict[str, Any], list[Row], bool]


@dataclass(frozen=True)
class Arrived:
    """What arrives together, and up to where each key is complete afterwards, in ticks."""

    rows: Sequence[Row]
    complete: Callable[[Key], int | None]


@dataclass(frozen=True)
class SequenceReference:
    """Windows of ``spec`` over rows of equal ``by``, with ``group`` inside each window.

    ``tie`` orders rows with equal ``on``; ``gap`` and ``landmark`` are what a row says itself.
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

    def run(self, batches: Sequence[Arrived]) -> Outcome:
        """The results and refused rows of a stream that ends after these batches."""
        outcome = Outcome()
        held: dict[Key, list[Row]] = {}
        complete: Callable[[Key], int | None] = lambda key: None  # noqa: E731
        for batch in batches:
            for row in batch.rows:
                reason = self._refusal(row, complete(self._key(row, self.by)))
                if reason:
                    outcome.refused.append((row, reason))
                else:
                    held.setdefault(self._key(row, self.by), []).append(row)
            complete = batch.complete
        ticks = [self.axis.tick(row[self.spec.on]) for rows in held.values() for row in rows]
        largest = max((tick for tick in ticks if tick is not None), default=None)
        for key, rows in held.items():
            self._report(outcome, key, rows, None if largest is None else self.axis.value(largest))
        outcome.used = sum(map(len, held.values())) - sum(
            reason == "slide_on_fell" for _, reason in outcome.refused
        )
        return outcome

    def _refusal(self, row: Row, complete: int | None) -> str | None:
        value = row[self.spec.on]
        if value is None:
            return "null_on"
        if value != value:
            return "nan_on"
        tick = self.axis.tick(value)
        if tick is None:
            return "out_of_range"
        if self._before_all(value):
            return "before_origin"
        if isinstance(self.spec, SlideOnWindow) and self._stretch(row) is None:
            return "null_slide_on"
        if isinstance(self.spec, Session) and self.gap is not None:
            gap = self.gap(row)
            if gap is None or not gap > type(gap)():
                return "no_gap"
        if isinstance(self.spec, RowWindow) and self.spec.order == "arrival":
            return None
        return "late" if complete is not None and tick < complete else None

    def _before_all(self, value: Any) -> bool:
        """Whether a value lies before the first landmark, or before a given origin."""
        if isinstance(self.spec, Landmarks):
            points = self.spec.points(self.axis)
        elif isinstance(self.spec, Window | Landmark) and self.spec.origin is not None:
            points = (self.spec.edges(self.axis).origin,)
        else:
            points = ()
        return bool(points) and bool(value < self.axis.value(points[0]))

    def _report(self, outcome: Outcome, key: Key, arrived: list[Row], largest: Any) -> None:
        on = self.spec.on
        ordered = sorted(arrived, key=lambda row: (row[on], self.tie(row)))
        match self.spec:
            case RowWindow():
                rows = arrived if self.spec.order == "arrival" else ordered
                found = self._row_windows(self.spec, rows)
            case TupleWindow():
                rows = arrived if self.spec.order == "arrival" else ordered
                ends = {
                    row[on] for rank, row in enumerate(rows) if (rank + 1) % self.spec.every == 0
                }
                found = self._backwards(self.spec.range, ordered, [(v, True) for v in sorted(ends)])
            case SlideOnWindow():
                rows = self._rising(outcome, ordered)
                found = self._backwards(self.spec.range, rows, self._slide_ends(rows))
            case Landmarks():
                # The largest value is known to the tick; on doubles a row may be beyond it.
                horizon = max(largest, ordered[-1][on])
                found = self._landmark_windows(self.spec, ordered, horizon)
            case Session():
                found = self._sessions(self.spec, ordered)
            case Window() | Landmark():
                found = self._value_windows(self.spec.edges(self.axis), ordered, largest)
        for reported, rows, complete in found:
            self._add(outcome, key, reported, rows, complete)

    def _add(
        self, outcome: Outcome, key: Key, reported: dict[str, Any], rows: list[Row], complete: bool
    ) -> None:
        if self.unfinished == "drop" and not complete:
            return
        for group in dict.fromkeys(self._key(row, self.group) for row in rows):
            mine = [row for row in rows if self._key(row, self.group) == group]
            result = dict(zip([*self.by, *self.group], [*key, *group], strict=True)) | reported
            if isinstance(self.spec, RowWindow):
                on = self.spec.on
                result |= {"on_start": mine[0][on], "on_end": mine[-1][on]}
            if self.unfinished == "flag":
                result["complete"] = complete
            for name, evaluate in self.aggregates.items():
                result[name] = evaluate(mine)
            outcome.results.append(result)

    def _row_windows(self, spec: RowWindow, rows: list[Row]) -> Iterator[Found]:
        wid = 0
        while (wid + 1) * spec.slide - spec.range < len(rows):
            start, end = max(0, (wid + 1) * spec.slide - spec.range), (wid + 1) * spec.slide
            held = rows[start:end]
            if held and spec.within is not None:
                edge = self._shifted(held[-1][spec.on], spec.within, -1)
                held = [row for row in held if row[spec.on] > edge]
            if held:
                yield {"window_start": start, "window_end": end}, held, end <= len(rows)
            wid += 1

    def _backwards(
        self, length: Any, rows: list[Row], ends: Sequence[tuple[Any, bool]]
    ) -> Iterator[Found]:
        """The windows ``(v - length, v]``."""
        on = self.spec.on
        for end, complete in ends:
            start = self._shifted(end, length, -1)
            held = [row for row in rows if start < row[on] <= end]
            yield {"window_start": start, "window_end": end}, held, complete

    def _rising(self, outcome: Outcome, rows: list[Row]) -> list[Row]:
        """Rows whose slide attribute is not below that of a kept row with a lower ``on``."""
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
        """Values of ``on`` behind which the slide attribute is in another slide."""
        on = self.spec.on
        reached: dict[Any, int] = {}
        for row in rows:
            stretch = self._stretch(row)
            assert stretch is not None  # rows without one are refused on arrival
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

    def _landmark_windows(self, spec: Landmarks, rows: list[Row], largest: Any) -> Iterator[Found]:
        if spec.origins:
            landmarks = [self.axis.value(tick) for tick in spec.points(self.axis)]
        else:
            landmarks = sorted({row[spec.on] for row in rows if self.landmark(row)})
        for place, landmark in enumerate(landmarks):
            until = landmarks[place + 1] if place + 1 < len(landmarks) else None
            mine = [
                row
                for row in rows
                if landmark <= row[spec.on] and (until is None or row[spec.on] < until)
            ]
            if mine:
                yield from self._from_landmark(spec, landmark, until, mine, largest)

    def _from_landmark(
        self, spec: Landmarks, landmark: Any, until: Any, rows: list[Row], largest: Any
    ) -> Iterator[Found]:
        closed = until is not None and until <= largest
        if spec.slide is None:
            end = until if closed or until is not None else None
            yield {"window_start": landmark, "window_end": end}, rows, closed
            return
        wid = 0
        while True:
            end = self._shifted(landmark, spec.slide, wid + 1)
            last = end > largest or (until is not None and end >= until)
            end = end if until is None else min(end, until)
            held = [row for row in rows if row[spec.on] < end]
            if held:
                reported = {"window_start": landmark, "window_end": end}
                yield reported, held, closed or bool(end <= largest)
            if last:
                return
            wid += 1

    def _sessions(self, spec: Session, rows: list[Row]) -> Iterator[Found]:
        """A row joins the session before it unless that ended before the row."""
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

    def _value_windows(self, edges: Edges, rows: list[Row], largest: Any) -> Iterator[Found]:
        """Windows over values, of rows that were in time for all of them."""
        tick = self.axis.tick(largest)
        assert tick is not None
        horizon = edges.last_closed(tick) + 1
        values = [row[self.spec.on] for row in rows]
        for wid in sorted(windows(values, self.axis, edges, horizon)):
            start, end = bounds(wid, self.axis, edges)
            held = [row for row in rows if start <= row[self.spec.on] < end]
            if held:
                yield {"window_start": start, "window_end": end}, held, bool(end <= largest)

    def _reach(self, spec: Session, row: Row) -> Any:
        if self.gap is not None:
            return row[spec.on] + self.gap(row)
        return self._shifted(row[spec.on], spec.gap, 1)

    def _shifted(self, value: Any, length: Any, times: int) -> Any:
        """A value moved by a length; on doubles in double arithmetic, as Spark's."""
        ticks = self.axis.length("length", length)
        if self.axis.domain is Domain.DOUBLE:
            return value + times * (ticks / 10**self.axis.digits)
        tick = self.axis.tick(value)
        assert tick is not None
        return self.axis.value(tick + times * ticks)

    @staticmethod
    def _key(row: Row, names: Sequence[str]) -> Key:
        return tuple(row[name] for name in names)
