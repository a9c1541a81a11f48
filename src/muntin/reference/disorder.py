"""Every rule of disorder in plain Python: the punctuation that a stream derives from its rows.

This is the oracle of the punctuators, as slow and obvious as the rest of the reference. After each
micro-batch everything is computed anew from all rows so far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from muntin.reference.windows import END, Key, MicroBatch, Row
from muntin.specs.axis import Axis
from muntin.specs.disorder import Disorder, Each, PerKey, Punctuated, RowSlack, Slack
from muntin.specs.idle import Clock, Follow, Idle
from muntin.specs.lengths import Length

Who = tuple[Hashable, ...]


@dataclass(frozen=True)
class ArrivedRows:
    """A micro-batch without punctuation: its rows, and the clock in microseconds.

    ``announced`` are values of ``on`` up to which single keys are complete, from outside. ``now``
    is the time at which the micro-batch began, as a value of ``on``.
    """

    rows: Sequence[Row]
    clock: int | None = None
    announced: Mapping[Who, Any] = field(default_factory=dict)
    now: Any = None


@dataclass(frozen=True)
class Rule:
    """A disorder over the column ``on``; ``where`` is the condition of punctuation rows."""

    disorder: Disorder
    axis: Axis
    on: str
    by: Sequence[str] = ()
    where: Callable[[Row], bool] = lambda row: False

    def punctuate(
        self, batches: Sequence[Sequence[Row] | ArrivedRows], end: bool = True
    ) -> list[MicroBatch]:
        """Return micro-batches with the punctuation that the rule derives, then the end."""
        arrived = [b if isinstance(b, ArrivedRows) else ArrivedRows(b) for b in batches]
        punctuated = []
        for number, batch in enumerate(arrived):
            ahead = [row for row in batch.rows if self._is_ahead(row, arrived[:number], batch.now)]
            accepted = [row for row in batch.rows if row not in ahead]
            arrived[number] = replace(batch, rows=accepted)  # rows ahead move nothing
            punctuated.append(replace(self._micro_batch(arrived[: number + 1]), ahead=ahead))
        return [*punctuated, MicroBatch([], END)] if end else punctuated

    def _is_ahead(self, row: Row, earlier: Sequence[ArrivedRows], now: Any) -> bool:
        """Return whether a row lies too far above the clock, or above earlier rows on numbers."""
        if self.disorder.ahead is None or not self._placed(row):
            return False
        if self.axis.domain.temporal:
            start = self.axis.tick(now)
        else:
            start = max(self._ticks(earlier), default=None)
        return start is not None and self._tick(row) > start + self.axis.length(
            "ahead", self.disorder.ahead
        )

    def _micro_batch(self, so_far: Sequence[ArrivedRows]) -> MicroBatch:
        rows = so_far[-1].rows
        match self.disorder:
            case Slack(slack=slack):
                lead = self._lead(so_far, slack)
                return MicroBatch(rows, self._value(lead))
            case RowSlack(rows=positions):
                falling = sorted(self._ticks(so_far), reverse=True)
                return MicroBatch(rows, self._value(next(iter(falling[positions:]), None)))
            case Punctuated(key=key):
                return self._marked(so_far, key)
            case PerKey(slack=slack, idle=idle):
                reached = self._reached(so_far, self.by, slack, idle, {})
                keys = {k: self._value(tick) for k, tick in reached.items() if tick is not None}
                floor = None
                if isinstance(idle, Follow):  # also applies to keys that have never been seen
                    floor = _less(self._lead(so_far, slack), self._length(idle.length))
                return MicroBatch(rows, self._value(floor), keys)
            case Each(slack=slack, idle=idle, columns=columns, expect=expect):
                seen = self._reached(so_far, columns, slack, idle, dict.fromkeys(expect))
                known = [tick for tick in seen.values() if tick is not None]
                least = min(known) if known and len(known) == len(seen) else None
                return MicroBatch(rows, self._value(least))
        raise AssertionError(f"no such rule: {self.disorder}")

    def _marked(self, so_far: Sequence[ArrivedRows], key: bool) -> MicroBatch:
        """Return the batch; placed rows for which the condition holds are its punctuation."""
        marks = [row for row in so_far[-1].rows if self._is_mark(row)]
        data = [row for row in so_far[-1].rows if not self._is_mark(row)]
        batch = MicroBatch(data, punctuations=len(marks))
        greatest: dict[Key | None, int] = {}
        for row in marks:
            name = tuple(row[column] for column in self.by) if key else None
            greatest[name] = max(self._tick(row), greatest.get(name, self._tick(row)))
        for name, tick in self._announced(so_far[-1]) if key else ():
            greatest[name] = max(tick, greatest.get(name, tick))
        if not key:
            return replace(batch, punctuation=self._value(greatest.get(None)))
        return replace(
            batch, keys={k: self._value(t) for k, t in greatest.items() if k is not None}
        )

    def _announced(self, batch: ArrivedRows) -> list[tuple[Who, int]]:
        """Return the keys that were punctuated from outside, and up to which ticks."""
        told = batch.announced.items()
        return [(name, self.axis.floor("punctuation", value)) for name, value in told]

    def _is_mark(self, row: Row) -> bool:
        return self._placed(row) and self.where(row)

    def _reached(
        self,
        so_far: Sequence[ArrivedRows],
        columns: Sequence[str],
        slack: Length | None,
        idle: Idle,
        expected: Mapping[Any, None],
    ) -> dict[Who, int | None]:
        """Return the tick up to which each key or value is complete; it never goes back."""
        if not so_far:
            return dict(expected)
        reached = self._reached(so_far[:-1], columns, slack, idle, expected)
        batch = so_far[-1]
        for row in filter(self._placed, batch.rows):
            name = tuple(row[column] for column in columns)
            reached[name] = _later(reached.get(name), self._tick(row) - self._length(slack))
        for name, tick in self._announced(batch):
            reached[name] = _later(reached.get(name), tick)
        lead = self._lead(so_far, slack)
        for name in reached:
            if isinstance(idle, Follow):
                least = _less(lead, self._length(idle.length))
                reached[name] = _later(reached[name], least)
            elif isinstance(idle, Clock) and self._silent(so_far, columns, name, idle):
                reached[name] = _later(reached[name], lead)
        return reached

    def _silent(
        self, so_far: Sequence[ArrivedRows], columns: Sequence[str], name: Who, idle: Clock
    ) -> bool:
        """Return True if the clock has moved by the rule's length since the last such row."""
        clocks: list[int] = []
        last: int | None = None
        for batch in so_far:
            if batch.clock is not None:
                clocks.append(batch.clock)
            names = [tuple(r[c] for c in columns) for r in batch.rows if self._placed(r)]
            if name in names or name in batch.announced:
                last = max(clocks, default=None)
        if not clocks:
            return False
        return max(clocks) - (clocks[0] if last is None else last) >= idle.length.micros

    def _lead(self, so_far: Sequence[ArrivedRows], slack: Length | None) -> int | None:
        return _less(max(self._ticks(so_far), default=None), self._length(slack))

    def _ticks(self, so_far: Sequence[ArrivedRows]) -> list[int]:
        return [self._tick(row) for b in so_far for row in b.rows if self._placed(row)]

    def _placed(self, row: Row) -> bool:
        return row[self.on] is not None and self.axis.tick(row[self.on]) is not None

    def _tick(self, row: Row) -> int:
        tick = self.axis.tick(row[self.on])
        assert tick is not None  # called only for rows that have a place
        return tick

    def _length(self, length: Length | None) -> int:
        return 0 if length is None else self.axis.length("slack", length)

    def _value(self, tick: int | None) -> Any:
        return None if tick is None else self.axis.value(tick)


def _later(first: int | None, second: int | None) -> int | None:
    return max((tick for tick in (first, second) if tick is not None), default=None)


def _less(tick: int | None, length: int) -> int | None:
    return None if tick is None else tick - length
