"""When to shed, and how much: a function of measured numbers, and of nothing else [AU-37, AU-40].

Overload has three signs: answers come outside the good zone of their delay graphs, micro-batches
take longer than the time between two of them, or what waits in the source rises over several
micro-batches. It must persist before anything is done. First micro-batches are made larger, because
a large one costs less for each row; only then rows are shed. What was done last is undone first,
after things were well for some time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from muntin.engine.overload.batch_times import TimeLine

#: What was done about overload; undone in the reverse order.
Step = Literal["larger micro-batches", "shed"]
#: Bad for so many micro-batches one after the other, something is done ...
_BAD = 2
#: ... and good for so many, something is undone.
_GOOD = 3
#: Input that waits is a sign if it rises over so many micro-batches.
_RISES = 3
#: Of the rate that fits, this much is used: more would be too much after the least disturbance.
_USED = 0.85
#: Rows are shed less only if this share of the capacity would do for them.
_ROOM = 0.95
#: The kept rate is changed if it would be at least so much more or less.
_CHANGE = 0.15
#: Against what all micro-batches before say, so many bad ones in a row are believed.
_CERTAIN = 5


@dataclass(frozen=True)
class ControlLimits:
    """What the controller may do.

    Attributes:
        interval: Seconds between two micro-batches; what micro-batches are to take at most.
        good_delay: The delay up to which no answer loses anything; None if no query states one.
        least_rate: The share of the rows that must be kept, because queries do not tolerate less;
            1 if none may be shed.
        longest: The longest micro-batch that is made on purpose, in seconds.
    """

    interval: float
    good_delay: float | None = None
    least_rate: float = 1.0
    longest: float = 0.0


@dataclass(frozen=True)
class Measured:
    """One micro-batch, as the controller sees it.

    Attributes:
        rows: The rows that it was offered, before any were shed.
        seconds: How long it took.
        gap: How many seconds after the one before it began: its rows came in this time.
        waiting: What waits in its source after it; None if the source does not tell.
        delay: The delay of its answers at delivery, the largest; None if it made none.
    """

    rows: int
    seconds: float
    gap: float
    waiting: int | None = None
    delay: float | None = None


@dataclass(frozen=True)
class Control:
    """What the controller has decided, and what it remembers.

    Attributes:
        rate: The share of rows that are kept; 1 if none is shed.
        interval: Seconds between two micro-batches that were chosen; None for those of the limits.
        steps: What was done, the last one last.
        bad: How many micro-batches in a row were bad.
        good: How many were good.
        waiting: What waited after the last micro-batches.
        delay: The delay of the last answers.
        why: Why the last decision was made.
    """

    rate: float = 1.0
    interval: float | None = None
    steps: tuple[Step, ...] = ()
    bad: int = 0
    good: int = 0
    waiting: tuple[int, ...] = ()
    delay: float = 0.0
    why: str = ""

    @property
    def shedding(self) -> bool:
        return self.rate < 1


def controlled(
    control: Control, limits: ControlLimits, measured: Measured, line: TimeLine | None
) -> Control:
    """Return what holds after a micro-batch; ``line`` says how long micro-batches take by rows."""
    interval = control.interval or limits.interval
    waiting = () if measured.waiting is None else (*control.waiting, measured.waiting)
    sign = _sign(control, limits, measured, interval)
    if sign is None and _rises(waiting):
        sign = f"what waits in the source rose to {waiting[-1]:,}"
    now = replace(
        control, waiting=waiting[-(_RISES + 1) :], delay=measured.delay or 0.0, good=control.good
    )
    if sign is not None:
        bad = replace(now, bad=now.bad + 1, good=0)
        return bad if bad.bad < _BAD else _more(bad, limits, measured, line, sign)
    return _less(replace(now, bad=0), limits, measured, line)


def _sign(
    control: Control, limits: ControlLimits, measured: Measured, interval: float
) -> str | None:
    """Return what is bad, in words; None if all is well.

    After a disturbance micro-batches are long and become shorter: that needs no help.
    """
    if measured.seconds > max(interval, measured.gap):
        return f"a micro-batch took {measured.seconds:.2f} s of {interval:.2f} s"
    delay, good = measured.delay, limits.good_delay
    if delay is not None and good is not None and delay > good and delay >= control.delay:
        return f"answers came {delay:.2f} s after their rows, good are {good:.2f} s"
    return None


def _rises(waiting: Sequence[int]) -> bool:
    rises = all(before < after for before, after in pairwise(waiting))
    return len(waiting) > _RISES and rises


def _more(
    control: Control, limits: ControlLimits, measured: Measured, line: TimeLine | None, sign: str
) -> Control:
    """Do one thing more about overload."""
    interval = control.interval or limits.interval
    arriving = _arriving(measured, interval)
    disturbed = line is not None and line.seconds(arriving * interval * control.rate) <= interval
    if disturbed and control.bad < _CERTAIN:
        return control
    longer = _longer(interval, limits, arriving * control.rate, line)
    if longer is not None and not control.shedding:
        steps: tuple[Step, ...] = (*control.steps, "larger micro-batches")
        return replace(control, interval=longer, steps=steps, bad=0, why=sign)
    rate = _fitting(arriving, interval, measured, control, line, _USED)
    kept = max(limits.least_rate, rate)
    least = _CHANGE if control.shedding else 0.0  # a small change is not worth a command
    if kept >= control.rate * (1 - least):
        return replace(control, why=sign)
    more: tuple[Step, ...] = () if control.shedding else ("shed",)
    return replace(control, rate=_rounded(kept), steps=(*control.steps, *more), bad=0, why=sign)


def _less(
    control: Control, limits: ControlLimits, measured: Measured, line: TimeLine | None
) -> Control:
    """Undo what was done last, if there was room for it for some time."""
    undone = _undone(control, limits, measured, line)
    if undone is None:
        return replace(control, good=0)
    if control.good + 1 < _GOOD:
        return replace(control, good=control.good + 1)
    return replace(undone, good=0)


def _undone(
    control: Control, limits: ControlLimits, measured: Measured, line: TimeLine | None
) -> Control | None:
    """Return the control with less done; None if there is no room, or nothing is done."""
    if not control.steps:
        return None
    interval = control.interval or limits.interval
    arriving = _arriving(measured, interval)
    if control.steps[-1] == "shed":
        rate = _fitting(arriving, interval, measured, control, line, _ROOM)
        if rate >= 1:
            why = "everything fits again"
            return replace(control, rate=1.0, steps=control.steps[:-1], why=why)
        return (
            replace(control, rate=_rounded(rate), why="more fits again")
            if rate > control.rate * (1 + _CHANGE)
            else None
        )
    shorter = interval / 2
    takes = None if line is None else line.seconds(arriving * shorter)
    if takes is None or takes > _ROOM * shorter:
        return None
    before = shorter if shorter > limits.interval else None
    return replace(control, interval=before, steps=control.steps[:-1], why="there is room again")


def _arriving(measured: Measured, interval: float) -> float:
    """Return the rows a second that arrive, as a micro-batch shows them."""
    return measured.rows / max(interval, measured.gap, 1e-9)


def _longer(
    interval: float, limits: ControlLimits, arriving: float, line: TimeLine | None
) -> float | None:
    """Return a longer time between micro-batches with which all rows fit; None if there is none."""
    if line is None:
        return None
    while 0 < interval * 2 <= limits.longest:
        interval *= 2
        if line.seconds(arriving * interval) <= _USED * interval:
            return interval
    return None


def _fitting(
    arriving: float,
    interval: float,
    measured: Measured,
    control: Control,
    line: TimeLine | None,
    used: float,
) -> float:
    """Return the share of arriving rows that a part of each interval is enough for.

    What waits in the source is to be gone in a few intervals, so it counts as arriving.
    """
    late = max(0.0, measured.seconds - interval)
    rows = max(1.0, arriving * (interval + late / _GOOD))
    room = used * interval
    if line is None or line.per_row <= 0:
        spent = measured.seconds / max(1e-9, measured.rows * control.rate)
        return min(1.0, room / (spent * rows)) if measured.rows else 1.0
    return min(1.0, max(0.0, room - line.fixed) / (line.per_row * rows))


def _rounded(rate: float) -> float:
    """Return a rate in steps of a thousandth, which is the same number everywhere."""
    return max(0.001, min(1.0, int(rate * 1000) / 1000))
