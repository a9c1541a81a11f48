"""The reference driver: windows over a stream, straight from the definitions.

Every row is kept, every window is computed, and nothing is shared. This is the oracle that the
batch and the stream driver are compared with, and the page to read first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin.reference.definitions import bounds, wids
from muntin.specs.axis import Axis
from muntin.specs.disorder import Late
from muntin.specs.windows import Edges, Unfinished

Row = Mapping[str, Any]
#: The values of the ``by`` columns.
Key = tuple[Hashable, ...]
#: An aggregate over the rows of a window.
Evaluate = Callable[[Sequence[Row]], Any]
END = "end"
#: A number above that of every window.
_FOREVER = 10**30


@dataclass(frozen=True)
class MicroBatch:
    """Rows that arrive together, and their punctuation: a value, ``END``, or nothing.

    ``keys`` has the punctuation of single keys. ``punctuations`` counts the rows that arrived as
    punctuation and not as data. ``ahead`` are rows that are refused because they lie too far above
    the others.
    """

    rows: Sequence[Row]
    punctuation: Any = None
    keys: Mapping[Key, Any] = field(default_factory=dict)
    punctuations: int = 0
    ahead: Sequence[Row] = ()


@dataclass
class Outcome:
    """The results of a run: result rows, and refused rows with their reason."""

    results: list[dict[str, Any]] = field(default_factory=list)
    refused: list[tuple[Row, str]] = field(default_factory=list)
    used: int = 0


@dataclass
class Reference:
    """Windows of ``spec`` over the column ``on``, per value of the ``by`` columns."""

    spec: Edges
    axis: Axis
    on: str
    by: Sequence[str]
    aggregates: Mapping[str, Evaluate]
    late: Late = "generous"
    unfinished: Unfinished = "keep"

    def run(self, batches: Sequence[MicroBatch]) -> Outcome:
        outcome = Outcome()
        held: list[tuple[Row, int]] = []  # a row, and the first window that it may still enter
        closed: dict[Key | None, int] = {}  # the last closed window of a key; None is all keys
        largest: Any = None
        for batch in batches:
            outcome.used += batch.punctuations
            outcome.refused += [(row, "ahead") for row in batch.ahead]
            for row in batch.rows:
                value = row[self.on]
                if value is not None and self.axis.tick(value) is not None:
                    largest = value if largest is None else max(largest, value)
                verdict = self._admit(row, self._closed(closed, self._key(row)))
                if isinstance(verdict, str):
                    outcome.refused.append((row, verdict))
                    continue
                outcome.used += 1
                held.append((row, verdict))
            closed = self._close(outcome, held, closed, batch, largest)
        return outcome

    def _closed(self, closed: Mapping[Key | None, int], key: Key) -> int | None:
        """Return the last closed window of a key, by its own punctuation or the stream's."""
        known = [closed[name] for name in (None, key) if name in closed]
        return max(known, default=None)

    def _admit(self, row: Row, closed: int | None) -> int | str:
        """Return the first window that a row may enter, or the reason why it is refused."""
        value = row[self.on]
        if value is None:
            return "null_on"
        if value != value:
            return "nan_on"
        if self.axis.tick(value) is None:
            return "out_of_range"
        if self.spec.clipped and value < self.axis.value(self.spec.first_tick):
            return "before_origin"
        if closed is None:
            return -_FOREVER
        if closed == _FOREVER:
            return "late"  # the input has ended
        if self.spec.landmark:
            windows = wids(value, self.axis, self.spec, until=closed)
            return "late" if windows and self.late == "consistent" else closed + 1
        windows = wids(value, self.axis, self.spec)
        missed = [wid for wid in windows if wid <= closed]
        if missed and (self.late == "consistent" or len(missed) == len(windows)):
            return "late"
        return closed + 1

    def _close(
        self,
        outcome: Outcome,
        held: list[tuple[Row, int]],
        closed: Mapping[Key | None, int],
        batch: MicroBatch,
        largest: Any,
    ) -> dict[Key | None, int]:
        """Report the windows that a micro-batch closes; return the last closed one of each key."""
        after = dict(closed)
        ends = isinstance(batch.punctuation, str) and batch.punctuation == END
        stream: list[tuple[Key | None, Any]] = [(None, None if ends else batch.punctuation)]
        for name, punctuation in [*stream, *batch.keys.items()]:
            tick = None if punctuation is None else self.axis.tick(punctuation)
            if tick is not None:
                after[name] = max(self.spec.last_closed(tick), after.get(name, -_FOREVER))
        for key in dict.fromkeys(self._key(row) for row, _ in held):
            members = [(row, entry) for row, entry in held if self._key(row) == key]
            last = self._closed(closed, key)
            horizon = self._horizon(largest, last) if ends else self._closed(after, key)
            if horizon is not None:
                for wid in self._windows(members, last, horizon):
                    self._report(outcome, key, wid, members, largest, ends)
        return {None: _FOREVER} if ends else after

    def _horizon(self, largest: Any, closed: int | None) -> int:
        """Return the first window that ends beyond the largest value, at the end of input."""
        if largest is None:
            return -_FOREVER if closed is None else closed
        tick = self.axis.tick(largest)
        assert tick is not None  # rows without a tick are refused on arrival
        return self.spec.last_closed(tick) + 1 if self.spec.landmark else _FOREVER

    def _windows(
        self, members: Sequence[tuple[Row, int]], closed: int | None, horizon: int
    ) -> list[int]:
        if self.spec.latch:
            return self._latched(members, closed, horizon)
        values = [row[self.on] for row, _ in members]
        if self.spec.landmark:
            first = min(wids(value, self.axis, self.spec, until=10**6).start for value in values)
            return list(range(max(first, -1 if closed is None else closed + 1), horizon + 1))
        held_by = {wid for value in values for wid in wids(value, self.axis, self.spec)}
        return sorted(w for w in held_by if (closed is None or w > closed) and w <= horizon)

    def _latched(
        self, members: Sequence[tuple[Row, int]], closed: int | None, horizon: int
    ) -> list[int]:
        """Return the windows of a latch: the slides in which a row came in time."""
        gained = {
            first
            for row, entry in members
            if entry <= (first := wids(row[self.on], self.axis, self.spec, until=10**9).start)
        }
        return sorted(w for w in gained if (closed is None or w > closed) and w <= horizon)

    def _report(
        self,
        outcome: Outcome,
        key: Key,
        wid: int,
        members: Sequence[tuple[Row, int]],
        largest: Any,
        ends: bool,
    ) -> None:
        rows = [
            row
            for row, entry in members
            if entry <= wid and wid in wids(row[self.on], self.axis, self.spec, until=wid)
        ]
        if not rows:
            return
        start, end = bounds(wid, self.axis, self.spec)
        complete = not ends or bool(end <= largest)
        if self.unfinished == "drop" and not complete:
            return
        result = {**dict(zip(self.by, key, strict=True)), "window_start": start, "window_end": end}
        if self.unfinished == "flag":
            result["complete"] = complete
        for name, evaluate in self.aggregates.items():
            result[name] = evaluate(rows)
        outcome.results.append(result)

    def _key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.by)
