"""Frames of a stream, straight from the definitions [Frames 4 and appendices].

All rows of a key that are not late are taken at once: put in order, framed, and every frame is
reported. This is the oracle of the operators that find these frames as rows arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin.reference.arrivals import arrive, lives
from muntin.reference.frames.candidates import Frame, Line
from muntin.reference.frames.kinds import by_chance, frames_of
from muntin.reference.frames.places import Layout, LocalConditions, OnNumbers, RowPlace
from muntin.reference.frames.regions import RegionGrid, RegionReference
from muntin.reference.windows import Evaluate, Key, MicroBatch, Outcome, Row
from muntin.specs.axis import Axis
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import TrendRuns
from muntin.specs.frames.row_kinds import Cluster, Region


def growing(
    places: Sequence[RowPlace], line: Line, steps: Sequence[int]
) -> Iterator[tuple[Sequence[RowPlace], Any]]:
    """Yield the state of a frame at each of its places and after each punctuation while it is open.

    Each state has the places that the frame holds by then, and the least end that it can have.
    ``steps`` are the punctuations, in ticks; a place is read when one has passed it.
    """
    taken = 0
    for upto in [*steps, None]:
        passed = len(line.places) if upto is None else _passed(line, upto)
        holds = sum(place.index + _is_gap(place, line) < passed for place in places)
        for count in range(taken + 1, holds + 1):
            # A carried row is taken together with the real row after it.
            if places[count - 1].real or line.framing.missing != "carry":
                yield places[:count], line.local.end_so_far(places[:count])
        taken = max(taken, holds)
        if upto is not None and taken and places[-1].index + 1 >= passed:
            known = line.local.measure.axis.value(upto)
            ahead = [known, *(place.on for place in line.places[passed : passed + 1])]
            known = min(ahead, key=line.local.measure.at)
            yield places[:taken], line.local.end_so_far(places[:taken], known)


def _is_gap(place: RowPlace, line: Line) -> bool:
    """Return True if a place is known only when the next row is."""
    return place.row is None and line.framing.readings == "interval"


def _passed(line: Line, upto: int) -> int:
    """Return how many places are read: those below a punctuation.

    If the next real row decides about missing rows, these wait for it.
    """
    axis, missing = line.local.measure.axis, line.framing.missing
    ticks = [axis.tick(place.on) for place in line.places]
    passed = sum(tick is not None and tick < upto for tick in ticks)
    waits = missing not in ("break", "satisfy")
    while waits and passed and not line.places[passed - 1].real:
        passed -= 1
    return passed


#: The columns of a frame in results after its id, and the rows that it aggregates.
Found = tuple[dict[str, Any], list[Row]]


@dataclass(frozen=True)
class FrameReference:
    """The frames of ``framing``, per value of the ``by`` columns.

    ``reading`` is the value that the kind reads from a row: the condition of a threshold or a
    region; the value of a boundary (with ``every``, its floored quotient), a delta or a trend;
    whether start and end of a between hold; null if a row lacks a value that the kind's aggregate
    needs, else true. For a pattern it is the set of names whose conditions hold, null if none holds
    and one is null; ``reading_after`` is the same given the row before it, if there is one, and the
    row. ``aggregate`` is the kind's aggregate, or the truth of a condition on several aggregates;
    ``aggregates`` are computed for each frame.
    """

    framing: Framing
    axis: Axis
    by: Sequence[str]
    reading: Callable[[Row], Any] = lambda row: True
    reading_after: Callable[[Row | None, Row], Any] | None = None
    aggregate: Evaluate | None = None
    starts: Callable[[Row], bool] = lambda row: True
    along: Callable[[Row], Any] = lambda row: 0
    until: Callable[[Row], Any] = lambda row: None
    bridged: Callable[[Row, Row], bool | None] = lambda before, after: None
    tie: Callable[[Row], Any] = lambda row: 0
    combine: Callable[[Sequence[Row]], Row] = lambda rows: rows[0]
    aggregates: Mapping[str, Evaluate] = field(default_factory=dict)

    def run(self, batches: Sequence[MicroBatch]) -> Outcome:
        """Return the results and refused rows of a stream that ends after these batches."""
        outcome = Outcome()
        came = arrive(outcome, batches, self.axis, self.framing.on, self.by, self._refusal)
        for key, arrived in came.held.items():
            assert came.largest is not None  # a row that is held has a place
            for life in lives(arrived, self.axis, self.framing.on, self.framing.forget):
                rows, left_out = self._layout.one_each(key, life)
                outcome.refused += [(row, "tie") for row in left_out]
                outcome.used -= len(left_out)
                frames = self._found(rows, came.largest, came.complete(key), came.completed(key))
                self._report(outcome, key, frames)
        return outcome

    def _refusal(self, row: Row) -> str | None:
        """Return why a framing refuses a row that has a place on the axis; None if it does not."""
        if self.framing.readings == "interval":
            until = self.until(row)
            if self.axis.tick(until) is None or until < row[self.framing.on]:
                return "no_until"
        if self.framing.kind.second_axis is not None:
            along = self.along(row)
            if along is None or along != along:
                return "no_along"
        return None

    @property
    def _layout(self) -> Layout:
        along = None if self.framing.kind.second_axis is None else self.along
        return Layout(
            self.framing,
            self.axis,
            self.reading,
            self.until,
            along,
            self.tie,
            self.combine,
            self.reading_after,
        )

    @property
    def _local(self) -> LocalConditions:
        return LocalConditions(self.framing, OnNumbers(self.axis))

    def _found(
        self, rows: Sequence[Row], largest: int, complete: int | None, steps: Sequence[int]
    ) -> list[list[Found]]:
        """Return the frames of a key in order, each with its fragments.

        ``steps`` are the punctuations of the micro-batches, ``complete`` the last of them.
        """
        if isinstance(self.framing.kind, Region):
            return [[region] for region in self._regions(self.framing.kind, rows)]
        places = self._layout.places(rows, largest, complete)
        line = self._line(places)
        frames = frames_of(self.framing.kind, line, self.aggregate)
        frames = [frame for frame in frames if self._local.met(frame.places)]
        if self.framing.longest and frames:
            # max returns the first of the longest frames.
            frames = [max(frames, key=lambda frame: self._local.duration(frame.places))]
        return [list(self._rows_of(frame, line, steps)) for frame in frames]

    def _line(self, places: Sequence[RowPlace]) -> Line:
        return Line(self.framing, self._local, places, self.starts, self.bridged)

    def _rows_of(self, frame: Frame, line: Line, steps: Sequence[int]) -> Iterator[Found]:
        """Yield the reports of a frame: its fragments while it was open, then the whole frame."""
        first, last = frame.places[0], frame.places[-1]
        start, end = first.on, self._local.end(frame.places)
        if self.framing.bounds == "liberal":
            before = [place for place in line.places[: first.index] if line.bounds(place)]
            after = [place for place in line.places[last.index + 1 :] if line.bounds(place)]
            start = before[-1].on if before else start
            end = after[0].on if after else end
        for held, so_far in self._fragments(frame.places, line, steps):
            yield _report_of(held, start, so_far, "partial")
        yield _report_of(frame.places, start, end, frame.status, self._own_columns(frame))

    def _own_columns(self, frame: Frame) -> dict[str, Any]:
        """Return the columns of a frame that only its kind has."""
        kind = self.framing.kind
        if isinstance(kind, Cluster):
            return {"chance": float(f"{by_chance(kind, self._local, frame.places):.5e}")}
        return {"direction": frame.places[0].reading} if isinstance(kind, TrendRuns) else {}

    def _fragments(
        self, places: Sequence[RowPlace], line: Line, steps: Sequence[int]
    ) -> Iterator[tuple[Sequence[RowPlace], Any]]:
        """Yield the frame when it becomes certain, and each time it has grown enough."""
        if self.framing.fragments is None:
            return
        local, every = self._local, self._local.measure.length(self.framing.fragments)
        reported = None
        for held, end in growing(places, line, steps if self._grows_by_punctuation else ()):
            if reported is None:
                due = local.at_least(held, end)
            else:
                due = local.measure.distance(reported, end) >= every
            if due:
                reported = end
                yield held, end

    @property
    def _grows_by_punctuation(self) -> bool:
        """True if punctuation alone decides how long an open frame lasts at least.

        Rows of a schedule come soon enough. Later windows decide about the rows of a density.
        """
        holding = self.framing.readings != "point" and self.framing.schedule is None
        return holding and self.framing.kind.window_aggregate is None

    def _regions(self, kind: Region, rows: Sequence[Row]) -> Iterator[Found]:
        grid = RegionGrid(self.framing, rows, self.reading, self.along)
        regions = RegionReference(self.framing, kind, self._local.measure, grid)
        chosen = regions.chosen()
        for r in [max(chosen, key=regions.duration)] if self.framing.longest and chosen else chosen:
            real, bridged = grid.counted(r)
            columns = {
                "frame_start": grid.columns[r.left],
                "frame_end": grid.columns[r.right],
                "along_start": grid.positions[r.low],
                "along_end": grid.positions[r.high],
                "n": real,
                "n_missing": bridged,
                "status": "final",
            }
            yield columns, grid.held(r)

    def _report(self, outcome: Outcome, key: Key, frames: Sequence[Sequence[Found]]) -> None:
        for number, reports in enumerate(frames):
            for columns, rows in reports:
                result = {**dict(zip(self.by, key, strict=True)), "frame_id": number, **columns}
                for name, evaluate in self.aggregates.items():
                    result[name] = evaluate(rows)
                outcome.results.append(result)


def _report_of(
    places: Sequence[RowPlace],
    start: Any,
    end: Any,
    status: str,
    own: Mapping[str, Any] | None = None,
) -> Found:
    real = sum(place.real for place in places)
    columns = {
        "frame_start": start,
        "frame_end": end,
        **(own or {}),
        "n": real,
        "n_missing": len(places) - real,
        "status": status,
    }
    return columns, [place.row for place in places if place.row is not None]
