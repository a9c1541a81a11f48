"""Walk-in freezers: temperatures, and doors that somebody opens [Frames 3, Example 2].

A freezer keeps its temperature by cooling. It defrosts a few times a day, at the same hours, and
is then too warm for a few minutes. It also becomes warm when its door stays open: not for the
minute of a visit, but when somebody forgets to close it.

>>> cold = Freezers(days=0.25, freezers=1, left_open=0)
>>> cold.readings().column_names
['ts', 'freezer', 'temperature']
>>> cold.doors().column_names
['ts', 'freezer', 'door']
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.simulate.model import Floats, Integers, StreamModel

#: Degrees Fahrenheit: what a freezer is set to, the room around it, and where it is too warm.
SET_TO, ROOM, TOO_WARM = 0.0, 70.0, 32.0
#: Minutes in which a difference of temperatures falls to a third, by cooling and by an open door.
_COOLING, _DOOR = 20.0, 14.0
#: Degrees a minute while it defrosts, and for how many minutes.
_DEFROST_RATE, _DEFROST_MINUTES = 1.45, 25
#: Shortest and longest: seconds of a visit, minutes until an open door is found.
_VISIT_SECONDS, _FOUND_MINUTES = (20.0, 90.0), (18.0, 40.0)
_NOISE = 0.3


@dataclass(frozen=True)
class Forgotten:
    """A door that nobody closed for some minutes."""

    freezer: str
    start: datetime
    minutes: float


@dataclass(frozen=True)
class Freezers(StreamModel):
    """Some freezers over some days; the same arguments give the same tables.

    Args:
        days: How long, from ``start``.
        start: The first reading, in UTC.
        seed: Of everything that is random.
        freezers: How many there are.
        visits_a_day: How often somebody goes in and closes the door.
        left_open: How often a door is forgotten, over all freezers and days.
        defrosts_a_day: Of each freezer, evenly over the day and at the same times every day.
        missing: The share of readings that never come.
        gaps: How often each freezer sends nothing for ``gap_minutes``. Doors report on their own.
        gap_minutes: How long such a gap is.
        disordered: The share of rows that come late, by no more than ``disorder_seconds``.
        disorder_seconds: A stream with this slack loses nothing.
    """

    days: float = 2
    start: datetime = datetime(2026, 3, 3, tzinfo=UTC)
    seed: int = 7
    freezers: int = 3
    visits_a_day: float = 30
    left_open: int = 4
    defrosts_a_day: int = 3
    missing: float = 0.02
    gaps: int = 1
    gap_minutes: float = 15
    disordered: float = 0.05
    disorder_seconds: float = 150

    def __post_init__(self) -> None:
        self._check(
            above_zero=("days", "freezers"),
            not_negative=("visits_a_day", "left_open", "defrosts_a_day", "gaps", "gap_minutes"),
            shares=("missing",),
        )
        if self.days * 24 * 60 < self.gaps * self.gap_minutes:
            expected = "the gaps must leave some of the days"
            raise ArgumentError("gap_minutes", self.gap_minutes, expected)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the freezers.

        >>> Freezers(freezers=2).names
        ('F1', 'F2')
        """
        return tuple(f"F{number + 1}" for number in range(self.freezers))

    def readings(self) -> pa.Table:
        """Return a temperature in degrees Fahrenheit every minute, in the order of arrival."""
        time, freezer = np.divmod(np.arange(self._minutes * self.freezers), self.freezers)
        noise = self._rng("noise").normal(0, _NOISE, len(time))
        sent = self._sends.reshape(-1)
        micros = (time * 60_000_000)[sent]
        rows = pa.table(
            {
                "ts": self._timestamps(micros),
                "freezer": pa.array(self.names).take(pa.array(freezer[sent])),
                "temperature": pa.array((self._temperatures.reshape(-1) + noise).round(1)[sent]),
            }
        )
        return self._arrived("readings", rows, micros, self.missing)

    def doors(self) -> pa.Table:
        """Return when doors were opened or closed, in the order of arrival; no row is lost."""
        seconds = np.concatenate([self._opened.start, self._opened.end])
        freezer = np.tile(self._opened.freezer, 2)
        closed = np.repeat([0, 1], len(self._opened.start))
        micros = np.round(seconds * 1e6).astype(np.int64)
        order = np.lexsort((closed, freezer, micros))
        rows = pa.table(
            {
                "ts": self._timestamps(micros),
                "freezer": pa.array(self.names).take(pa.array(freezer)),
                "door": pa.array(["open", "closed"]).take(pa.array(closed)),
            }
        ).take(pa.array(order))
        return self._arrived("doors", rows, micros[order])

    @cached_property
    def happened(self) -> tuple[Forgotten, ...]:
        """The doors that were left open, in order of time.

        >>> [(door.freezer, door.minutes) for door in Freezers(left_open=2).happened]
        [('F3', 24.0), ('F2', 40.0)]
        """
        rng, doors = self._rng("forgotten"), []
        # One in each part of the time, so that they do not run together.
        part = self.days * 24 * 60 / max(1, self.left_open)
        for number in range(self.left_open):
            minutes = min(round(rng.uniform(*_FOUND_MINUTES)), part / 2)
            begins = number * part + rng.uniform(0.1, 0.9) * (part - minutes)
            moment = self.start + timedelta(seconds=round(60 * begins))
            name = self.names[int(rng.integers(self.freezers))]
            doors.append(Forgotten(name, moment, float(minutes)))
        return tuple(doors)

    @cached_property
    def defrosts(self) -> dict[str, tuple[float, ...]]:
        """When each freezer begins to defrost, in hours of the day.

        >>> Freezers(freezers=2, defrosts_a_day=2).defrosts
        {'F1': (11.0, 23.0), 'F2': (5.5, 17.5)}
        """
        every = 24 / max(1, self.defrosts_a_day)
        phases = self._rng("defrosts").integers(int(4 * every), size=self.freezers) / 4
        return {
            name: tuple(float(phase + n * every) for n in range(self.defrosts_a_day))
            for name, phase in zip(self.names, phases, strict=True)
        }

    @cached_property
    def _opened(self) -> _Opened:
        """When doors were open, without visits that would overlap or touch another."""
        rng = self._rng("visits")
        whole = self.days * 86_400
        spans = [
            (self._second(door.start), 60 * door.minutes, self.names.index(door.freezer))
            for door in self.happened
        ]
        visits = rng.poisson(self.visits_a_day * self.days, self.freezers)
        for freezer, n in enumerate(visits):
            starts, lengths = rng.uniform(0, whole, n), rng.uniform(*_VISIT_SECONDS, n)
            spans += [
                (round(float(start)), round(float(length)), freezer)
                for start, length in zip(starts, lengths, strict=True)
            ]
        kept: list[tuple[float, float, int]] = []
        for start, length, freezer in spans:
            free = all(f != freezer or start > e + 5 or start + length < s - 5 for s, e, f in kept)
            if free and start + length < whole:
                kept.append((start, start + length, freezer))
        columns = [np.array(column) for column in zip(*kept, strict=True)] if kept else []
        if not columns:
            return _Opened(np.empty(0), np.empty(0), np.empty(0, np.int64))
        return _Opened(columns[0].astype(float), columns[1].astype(float), columns[2])

    @cached_property
    def _open_share(self) -> Floats:
        """The share of every minute (down) in which a door (across) was open."""
        share = np.zeros((self._minutes, self.freezers))
        for start, end, freezer in zip(
            self._opened.start, self._opened.end, self._opened.freezer, strict=True
        ):
            for minute in range(int(start // 60), min(math.ceil(end / 60), self._minutes)):
                seconds = min(end, 60 * (minute + 1)) - max(start, 60 * minute)
                share[minute, freezer] += seconds / 60
        return share

    @cached_property
    def _defrosting(self) -> NDBool:
        """Whether a freezer defrosts, by minute and freezer."""
        first = (self.start.hour * 60) + self.start.minute
        minute = (first + np.arange(self._minutes)) % (24 * 60)
        on = np.zeros((self._minutes, self.freezers), np.bool_)
        for place, hours in enumerate(self.defrosts.values()):
            for hour in hours:
                on[:, place] |= (minute - round(60 * hour)) % (24 * 60) < _DEFROST_MINUTES
        return on

    @cached_property
    def _temperatures(self) -> Floats:
        """Temperatures at the start of each minute (down), of each freezer (across)."""
        temperatures = np.empty((self._minutes, self.freezers))
        now = np.full(self.freezers, SET_TO)
        for minute in range(self._minutes):
            temperatures[minute] = now
            defrosting = self._defrosting[minute]
            cooled = np.where(defrosting, _DEFROST_RATE, (SET_TO - now) / _COOLING)
            now = now + cooled + self._open_share[minute] * (ROOM - now) / _DOOR
        return temperatures

    @cached_property
    def _sends(self) -> NDBool:
        """Whether a freezer sends at all, by minute and freezer."""
        rng = self._rng("gaps")
        sends = np.ones((self._minutes, self.freezers), np.bool_)
        length = round(self.gap_minutes)
        for freezer in range(self.freezers):
            for _ in range(self.gaps):
                first = int(rng.integers(max(1, self._minutes - length)))
                sends[first : first + length, freezer] = False
        return sends

    @property
    def _minutes(self) -> int:
        return math.ceil(self.days * 24 * 60)


NDBool = np.ndarray[tuple[int, int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class _Opened:
    """Doors that were open: from when to when, in seconds since the start, and of which freezer."""

    start: Floats
    end: Floats
    freezer: Integers
