"""The rows that arrived in time until a stream ends, and how far the stream was complete."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin.reference.windows import END, Key, MicroBatch, Outcome, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import Length

#: Returns why a row is refused, whenever it comes; None if it is not.
Refuse = Callable[[Row], str | None]


@dataclass
class Arrivals:
    """The rows of each key that were in time, in the order they came."""

    held: dict[Key, list[Row]] = field(default_factory=dict)
    punctuation: dict[Key | None, int] = field(default_factory=dict)  # None is for all keys
    largest: int | None = None  # tick of the whole input, including late rows
    #: The punctuation after each micro-batch.
    steps: list[Mapping[Key | None, int]] = field(default_factory=list)

    def complete(self, key: Key) -> int | None:
        """Return the tick up to which a key is complete, by its own or the stream's punctuation."""
        return _complete(self.punctuation, key)

    def completed(self, key: Key) -> list[int]:
        """Return up to which tick a key was complete after each micro-batch, if that was known."""
        known = [_complete(punctuation, key) for punctuation in self.steps]
        return [tick for tick in known if tick is not None]


def arrive(
    outcome: Outcome,
    batches: Sequence[MicroBatch],
    axis: Axis,
    on: str,
    by: Sequence[str],
    refuse: Refuse,
    *,
    may_be_late: bool = True,
) -> Arrivals:
    """Take in micro-batches; add refused rows and the number of used rows to the outcome."""
    arrivals = Arrivals()
    for batch in batches:
        outcome.used += batch.punctuations
        outcome.refused += [(row, "ahead") for row in batch.ahead]
        for row in batch.rows:
            key = tuple(row[name] for name in by)
            tick = _tick(axis, row[on])
            arrivals.largest = max(
                (t for t in (tick, arrivals.largest) if t is not None), default=None
            )
            complete = arrivals.complete(key) if may_be_late else None
            reason = without_place(axis, row[on]) or refuse(row)
            if reason is None and tick is not None and complete is not None and tick < complete:
                reason = "late"
            if reason:
                outcome.refused.append((row, reason))
            else:
                outcome.used += 1
                arrivals.held.setdefault(key, []).append(row)
        arrivals.punctuation = _after(arrivals.punctuation, batch, axis)
        arrivals.steps.append(arrivals.punctuation)
    return arrivals


def _complete(punctuation: Mapping[Key | None, int], key: Key) -> int | None:
    return max((punctuation[name] for name in (None, key) if name in punctuation), default=None)


def lives(rows: Sequence[Row], axis: Axis, on: str, forget: Length | None) -> list[list[Row]]:
    """Return the rows of a key as parts with no gap above ``forget``, one after the other.

    Rows of a part are in the order they came.
    """
    if forget is None or not rows:
        return [list(rows)]
    ends: list[Any] = []  # the last value of each part but the last one
    values = sorted(row[on] for row in rows)
    for value, following in itertools.pairwise(values):
        if following > shifted(axis, value, forget, 1):
            ends.append(value)
    parts: list[list[Row]] = [[] for _ in range(len(ends) + 1)]
    for row in rows:
        parts[sum(row[on] > end for end in ends)].append(row)
    return parts


def shifted(axis: Axis, value: Any, length: Any, times: int) -> Any:
    """Return a value moved by a length; on doubles with double arithmetic, as Spark's."""
    ticks = axis.length("length", length)
    if axis.domain is Domain.DOUBLE:
        return value + times * (ticks / 10**axis.digits)
    tick = axis.tick(value)
    assert tick is not None
    return axis.value(tick + times * ticks)


def without_place(axis: Axis, value: Any) -> str | None:
    """Return why a value of ``on`` has no place on the axis; None if it has one."""
    if value is None:
        return "null_on"
    if value != value:
        return "nan_on"
    return "out_of_range" if axis.tick(value) is None else None


def _tick(axis: Axis, value: Any) -> int | None:
    return None if without_place(axis, value) else axis.tick(value)


def _after(
    before: Mapping[Key | None, int], batch: MicroBatch, axis: Axis
) -> dict[Key | None, int]:
    """Return punctuation after a micro-batch; it never goes back."""
    after = dict(before)
    ends = isinstance(batch.punctuation, str) and batch.punctuation == END
    stream: list[tuple[Key | None, Any]] = [(None, None if ends else batch.punctuation)]
    for name, punctuation in [*stream, *batch.keys.items()]:
        tick = None if punctuation is None else axis.tick(punctuation)
        if tick is not None:
            after[name] = max(tick, after.get(name, tick))
    return after
