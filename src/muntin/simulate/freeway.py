"""A freeway with loop detectors: rush hours, incidents, readings that come late or never.

The stations are along the mileposts, and traffic drives towards the higher ones. A slowdown has a
head, where the road is too narrow for the demand, and a queue that grows from there upstream and
shrinks again. Stop-and-go waves run backwards through the queue.

>>> quiet = Freeway(hours=0.5, stations=2, lanes=1, missing=0)
>>> quiet.readings().column_names
['ts', 'station', 'detector', 'lane', 'milepost', 'speed', 'volume', 'occupancy']
>>> [piece.num_rows for piece in quiet.batches(4)]
[45, 45, 45, 45]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.simulate.model import Floats, Integers, StreamModel

MILES_APART = 0.9
_FIRST_MILEPOST = 284.0
_FREE_SPEED, _JAM_SPEED = 68.0, 10.0
#: The length of a vehicle and of the loop in the road together: what keeps a detector occupied.
_FEET_DETECTED = 22.0
_FEET_PER_SECOND = 5280 / 3600
#: Vehicles per hour and lane over the hours of a day.
_DEMAND_HOURS = (0, 3, 5, 6.5, 8, 9.5, 12, 14.5, 16, 17.5, 19, 21, 24)
_DEMAND = (240, 150, 420, 1500, 1850, 1300, 1150, 1350, 1800, 1900, 1200, 620, 240)
#: Start and end, place of the head and reach of the queue (both as a share of the road).
_RUSH_HOURS = ((6.4, 9.8, 0.8, 0.7), (15.0, 19.0, 0.5, 0.44), (16.2, 18.6, 0.93, 0.2))
#: About how often a stop-and-go wave passes a place, and how fast it runs upstream.
_WAVE_HOURS, _WAVE_MPH = 0.25, 11.0
#: How long a reading takes from the roadside when nothing delays it.
_USUAL_DELAY_SECONDS = 2.0


@dataclass(frozen=True)
class Slowdown:
    """A queue: where its head is, from when to when, how far upstream and how deep it gets.

    Times are hours since the midnight before the simulation starts, places are mileposts.
    ``rise`` is the share of its time in which it builds up.
    """

    head: float
    start: float
    end: float
    reach: float
    depth: float
    rise: float

    def strength(self, hour: Floats, milepost: Floats) -> Floats:
        """Between 0, free flow, and ``depth``, for every hour (down) and milepost (across).

        >>> jam = Slowdown(head=10, start=7, end=9, reach=6, depth=0.8, rise=0.3)
        >>> jam.strength(np.array([5.0, 8.0]), np.array([1.0, 8.0, 13.0])).round(1).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.8, 0.0]]
        """
        phase = np.clip((hour - self.start) / (self.end - self.start), 0, 1)[:, None]
        built = np.clip(phase / self.rise, 0, 1) * np.clip((1 - phase) / 0.25, 0, 1)
        # It takes longer for a queue to grow than to dissolve.
        tail = self.head - self.reach * np.sin(math.pi * phase**1.3)
        # A queue begins gradually where cars brake and ends abruptly where they can leave.
        inside = _smooth_step((milepost - tail) / 0.5) * _smooth_step((self.head - milepost) / 0.15)
        strength: Floats = self.depth * built * inside
        return strength


@dataclass(frozen=True)
class Incident:
    """Something blocks a lane at a station; traffic slows there and upstream of it."""

    station: str
    milepost: float
    start: datetime
    minutes: int


@dataclass(frozen=True)
class Freeway(StreamModel):
    """A freeway over some hours; the same arguments give the same readings.

    Args:
        hours: How long, from ``start``.
        start: The first reading, in UTC; rush hours follow this clock.
        seed: Of everything that is random.
        stations: How many, along the road.
        lanes: Detectors at each station.
        every: Seconds from one reading of a detector to the next.
        incidents: How many there are.
        disordered: The share of readings that come late, by no more than
            ``disorder_seconds``.
        disorder_seconds: A stream with this slack loses only what is very late.
        very_late: The share of readings that come later still, up to half an hour.
        missing: The share of readings that never come.
        speedless: The share of readings without a speed. Readings of times in which no vehicle
            passed have none, either.
    """

    hours: float = 24
    start: datetime = datetime(2026, 3, 3, tzinfo=UTC)
    seed: int = 7
    stations: int = 24
    lanes: int = 3
    every: int = 20
    incidents: int = 4
    disordered: float = 0.05
    disorder_seconds: float = 60
    very_late: float = 0.002
    missing: float = 0.01
    speedless: float = 0.01

    def __post_init__(self) -> None:
        self._check(
            above_zero=("hours", "stations", "lanes", "every"),
            not_negative=("incidents",),
            shares=("very_late", "missing", "speedless"),
        )

    @property
    def expected(self) -> int:
        """How many readings there would be if none was missing.

        >>> Freeway().expected
        311040
        """
        return len(self._seconds) * self.stations * self.lanes

    @property
    def mileposts(self) -> dict[str, float]:
        """Where the stations are, upstream first.

        >>> Freeway(stations=3).mileposts
        {'I5-01': 284.0, 'I5-02': 284.9, 'I5-03': 285.8}
        """
        return {station_name(n): float(place) for n, place in enumerate(self._places.round(1))}

    def readings(self) -> pa.Table:
        """Return the readings in the order in which they arrive."""
        return self.arrivals().drop_columns(["arrival"])

    def arrivals(self) -> pa.Table:
        """Return :meth:`readings` with a column ``arrival``, the time at which each arrived."""
        rng = self._rng("arrivals")
        shape = (len(self._seconds), self.stations * self.lanes)
        came = np.flatnonzero(rng.random(shape).ravel() >= self.missing)
        arrival = (self._seconds[:, None] + self._delays(rng, shape)).ravel()[came]
        order = np.argsort(arrival, kind="stable")
        return self._table(came[order], arrival[order])

    def batches(self, n: int) -> Iterator[pa.Table]:
        """Yield the readings in ``n`` pieces that follow each other, of about equal size."""
        if n < 1:
            raise ArgumentError("n", n, "it must be a whole number above zero")
        readings = self.readings()
        cuts = np.linspace(0, readings.num_rows, n + 1).astype(int)
        for start, end in itertools.pairwise(cuts):
            yield readings.slice(start, end - start)

    @cached_property
    def happened(self) -> tuple[Incident, ...]:
        """The incidents, in order of time.

        >>> [incident.station for incident in Freeway(stations=9, incidents=2).happened]
        ['I5-05', 'I5-07']
        """
        rng = self._rng("incidents")
        # Where there are more vehicles there are more incidents; one in each part of the
        # traffic, so that they do not pile up.
        driven = np.cumsum(self._demand) / np.sum(self._demand)
        incidents = []
        for number in range(self.incidents):
            minutes = int(rng.integers(20, 41))
            begun = np.interp((number + rng.random()) / self.incidents, driven, self._seconds)
            # Not at the upstream end, where nobody would see the queue.
            station = int(rng.integers(self.stations // 4, self.stations))
            incidents.append(
                Incident(
                    station_name(station),
                    float(self._places[station]),
                    self.start + timedelta(minutes=int(begun // 60)),
                    minutes,
                )
            )
        return tuple(incidents)

    def _table(self, which: Integers, arrival: Floats) -> pa.Table:
        """Return the readings of these numbers, which count detectors first and then time."""
        time, detector = np.divmod(which, self.stations * self.lanes)
        station, lane = np.divmod(detector, self.lanes)
        volume, speed, occupancy = (values.reshape(-1)[which] for values in self._measured)
        names, places = pa.array(self.mileposts), np.array([*self.mileposts.values()])
        unread = np.isnan(speed)
        return pa.table(
            {
                "ts": self._times(self._seconds[time]),
                "station": names.take(pa.array(station)),
                "detector": pa.array(detector + 1, pa.int32()),
                "lane": pa.array(lane + 1, pa.int32()),
                "milepost": pa.array(places[station]),
                "speed": pa.array(speed.round(1), mask=unread),
                "volume": pa.array(volume, pa.int32()),
                "occupancy": pa.array(occupancy.round(2)),
                "arrival": self._times(arrival),
            }
        )

    @cached_property
    def _measured(self) -> tuple[Floats, Floats, Floats]:
        """Volume, speed and occupancy by time, station and lane; no speed is NaN."""
        rng = self._rng("traffic")
        jam = self._congestion[:, :, None]
        # The left lane is the fastest and the fullest.
        lane = np.linspace(1, -1, self.lanes) if self.lanes > 1 else np.zeros(1)
        # A queue lets fewer vehicles through than a free road could.
        flow = self._demand[:, None, None] * (1 + 0.12 * lane) * (1 - 0.3 * jam)
        volume = rng.poisson(flow * self.every / 3600).astype(float)
        # Even without a queue, the more vehicles there are, the slower they drive.
        free_speed = _FREE_SPEED - 3 * self._demand[:, None, None] / 1000
        speed = free_speed - (free_speed - _JAM_SPEED) * jam + 4 * lane * (1 - jam)
        speed = speed + rng.normal(0, 1, volume.shape) * (3.5 / np.sqrt(np.maximum(volume, 1)) + 1)
        speed = np.maximum(speed, 3)
        seconds_occupied = volume * _FEET_DETECTED / (speed * _FEET_PER_SECOND)
        occupancy = np.minimum(100 * seconds_occupied / self.every, 100)
        unread = (volume == 0) | (rng.random(volume.shape) < self.speedless)
        return volume, np.where(unread, np.nan, speed), occupancy

    @cached_property
    def _congestion(self) -> Floats:
        """From 0, free flow, to 1, for every time (down) and station (across)."""
        free = np.ones((len(self._seconds), self.stations))
        for slowdown in (*self._rush_hours(), *self._queues()):
            free *= 1 - slowdown.strength(self._hour, self._places)
        jam: Floats = np.clip((1 - free) * (1 + self._waves()), 0, 1)
        return jam

    def _waves(self) -> Floats:
        """Return stop and go: what a place has now, the next one upstream has a little later."""
        turns = (self._hour[:, None] + (self._places - self._places[0]) / _WAVE_MPH) / _WAVE_HOURS
        knots = np.arange(math.floor(turns[0, 0]), math.ceil(turns[-1, -1]) + 1)
        heights = self._rng("waves").uniform(-0.35, 0.25, len(knots))
        waves: Floats = np.interp(turns, knots, heights)
        return waves

    def _rush_hours(self) -> Iterator[Slowdown]:
        """Yield the rush hours, a little different every day."""
        rng = self._rng("rush hours")
        first, last = self._places[0], self._places[-1]
        for day in range(math.ceil(self._hour[-1] / 24)):
            for start, end, place, reach in _RUSH_HOURS:
                shift = 24 * day + rng.uniform(-0.2, 0.2)
                yield Slowdown(
                    head=first + place * (last - first),
                    start=start + shift,
                    end=end + shift,
                    reach=reach * (last - first) * rng.uniform(0.9, 1.1),
                    depth=rng.uniform(0.7, 0.85),
                    rise=0.3,
                )

    def _queues(self) -> Iterator[Slowdown]:
        """Yield the queues of the incidents."""
        for incident in self.happened:
            start = (incident.start - self._midnight) / timedelta(hours=1)
            yield Slowdown(
                # Just downstream of the station, which is in the queue itself.
                head=incident.milepost + MILES_APART / 2,
                start=start,
                end=start + incident.minutes / 60,
                reach=4 * MILES_APART,
                depth=0.85,
                rise=0.1,
            )

    def _delays(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """Return the seconds from measuring to arrival."""
        delays = rng.uniform(0, min(_USUAL_DELAY_SECONDS, self.disorder_seconds), shape)
        chance = rng.random(shape)
        late = chance < self.disordered
        delays[late] = rng.uniform(0, self.disorder_seconds, shape)[late]
        very_late = chance > 1 - self.very_late
        longest = max(1800.0, 2 * self.disorder_seconds)
        delays[very_late] = rng.uniform(self.disorder_seconds, longest, shape)[very_late]
        return delays

    @cached_property
    def _seconds(self) -> Floats:
        """When the detectors measure, in seconds since the start."""
        return np.arange(0, self.hours * 3600, self.every, dtype=float)

    @cached_property
    def _hour(self) -> Floats:
        """The same in hours since midnight."""
        since = (self.start - self._midnight) / timedelta(hours=1)
        return since + self._seconds / 3600

    @cached_property
    def _demand(self) -> Floats:
        """Vehicles per hour that want to pass in a lane, at the same times."""
        return np.interp(self._hour % 24, _DEMAND_HOURS, _DEMAND)

    @property
    def _midnight(self) -> datetime:
        return self.start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

    @cached_property
    def _places(self) -> Floats:
        return _FIRST_MILEPOST + MILES_APART * np.arange(self.stations, dtype=float)

    def _times(self, seconds: Floats) -> pa.Array:
        return self._timestamps(np.round(seconds * 1e6).astype(np.int64))


def station_name(number: int) -> str:
    """Return the name of a station, counted from 0 at the upstream end.

    >>> station_name(6)
    'I5-07'
    """
    return f"I5-{number + 1:02d}"


def _smooth_step(x: Floats) -> Floats:
    """Return a step from 0 to 1 around 0, without an overflow far from it."""
    step: Floats = 0.5 * (1 + np.tanh(x / 2))
    return step
