"""A field of sensors that sends what somebody needs, and nothing else [FJ-27, FJ-28].

Sending a reading costs a sensor far more energy than making it. A field that is told what the live
queries need leaves out readings and values that no query would use. Sensors go on reporting how far
they are, with a row that has only the time and the sensor, because windows close by it.

>>> field = SensorField(seconds=60, sensors=2, rate=1)
>>> field.measured().num_rows
120
>>> warm = {"queries": ["warm"], "columns": ["ts", "sensor", "temperature"],
...         "alternatives": [{"temperature": {"ranges": [
...             {"low": 24.0, "high": None, "with_low": False, "with_high": False}],
...             "null": False}}]}
>>> sent = field.sent(warm)
>>> sent.num_rows < 120 and sent["light"].null_count == sent.num_rows
True
>>> field.sent({"queries": [], "columns": [], "alternatives": []}).num_rows
0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.errors import ArgumentError
from muntin.simulate.model import StreamModel

#: The columns that say when and where; they are never left out.
_PLACE = ("ts", "sensor")
_READ = ("temperature", "humidity", "light")

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Savings:
    """What a field did not have to send.

    Attributes:
        measured: The readings that were made.
        sent: The rows that were sent, those that only say how far a sensor is among them.
        values_measured: The values of all readings, without time and sensor.
        values_sent: Those that were sent.
    """

    measured: int
    sent: int
    values_measured: int
    values_sent: int

    @property
    def rows_saved(self) -> float:
        """The share of readings that were not sent."""
        return 1 - self.sent / self.measured if self.measured else 0.0

    @property
    def values_saved(self) -> float:
        """The share of values that were not sent."""
        return 1 - self.values_sent / self.values_measured if self.values_measured else 0.0


@dataclass(frozen=True)
class SensorField(StreamModel):
    """Sensors for temperature, humidity and light; the same arguments give the same tables.

    Args:
        seconds: How long, from ``start``.
        start: The first reading, in UTC.
        seed: Of everything that is random.
        sensors: How many there are.
        rate: Readings of each sensor a second.
        alive: Seconds after which a sensor reports how far it is, if it sends nothing else.
        disordered: The share of rows that come late, by no more than ``disorder_seconds``.
        disorder_seconds: A stream with this slack loses nothing.
    """

    seconds: float = 600
    start: datetime = datetime(2026, 3, 3, tzinfo=UTC)
    seed: int = 7
    sensors: int = 20
    rate: float = 10
    alive: float = 5
    disordered: float = 0.0
    disorder_seconds: float = 2

    def __post_init__(self) -> None:
        self._check(above_zero=("seconds", "sensors", "rate", "alive"))

    @cached_property
    def _micros(self) -> NDArray[np.int64]:
        each = np.arange(int(self.seconds * self.rate)) * (1_000_000 / self.rate)
        return np.repeat(each.astype(np.int64), self.sensors)

    @cached_property
    def _in_order(self) -> pa.Table:
        """All readings in the order in which they are made."""
        moments = len(self._micros) // self.sensors
        number = np.tile(np.arange(self.sensors), moments)
        seconds = self._micros / 1e6
        rng = self._rng("readings")
        base = rng.uniform(18, 24, self.sensors)[number]
        noise = rng.normal(0, 0.4, (3, len(number)))
        warm = base + 3 * np.sin(seconds / 97 + number) + noise[0]
        columns = {
            "ts": self._timestamps(self._micros),
            "sensor": pa.array([f"s{n}" for n in range(self.sensors)]).take(pa.array(number)),
            "temperature": pa.array(np.round(warm, 2)),
            "humidity": pa.array(np.round(45 - 1.5 * (warm - base) + noise[1], 2)),
            "light": pa.array(np.round(300 + 200 * np.cos(seconds / 53 + number) + noise[2], 1)),
        }
        return pa.table(columns)

    def measured(self) -> pa.Table:
        """Return all readings, as sensors send them that know of no demand."""
        return self._arrived("readings", self._in_order, self._micros)

    def sent(self, demand: Mapping[str, Any], *, samples: int | None = None) -> pa.Table:
        """Return what sensors send that obey a demand; ``StreamDemand.json`` is one.

        Args:
            demand: Who needs something, which columns, and which values of them.
            samples: How many readings of each sensor are sent for each stretch of the demand's
                ``granularity``, evenly over it; all by default. Averages are then approximate.
        """
        rows, chosen = self._in_order, self._chosen(demand, samples)
        alive, micros = self._alive(demand, chosen, samples), self._micros
        kept = chosen | alive
        sent = rows.filter(pa.array(kept))
        # A row that only says how far a sensor is has no values, unless somebody would use that.
        filled = np.ones(int(kept.sum()), np.bool_) if _uses_blank(rows, demand) else chosen[kept]
        for name in _READ:
            place, column = sent.schema.get_field_index(name), sent[name]
            shown = pc.if_else(pa.array(filled), column, pa.scalar(None, column.type))
            if name not in demand["columns"]:
                shown = pa.nulls(len(column), column.type)
            sent = sent.set_column(place, name, shown)
        return self._arrived("readings", sent, micros[kept])

    def savings(self, demand: Mapping[str, Any], *, samples: int | None = None) -> Savings:
        """Return what is not sent when the field obeys a demand."""
        sent = self.sent(demand, samples=samples)
        values = sum(len(sent) - sent[name].null_count for name in _READ)
        everything = self._in_order.num_rows
        return Savings(everything, sent.num_rows, everything * len(_READ), values)

    def _chosen(self, demand: Mapping[str, Any], samples: int | None) -> Mask:
        """Return a mask of the readings that somebody needs."""
        rows = self._in_order
        chosen: Mask = np.zeros(rows.num_rows, np.bool_)
        if demand["queries"]:
            for alternative in demand["alternatives"]:
                chosen |= _meets(rows, alternative)
        return chosen if samples is None else chosen & self._sampled(demand, samples)

    def _sampled(self, demand: Mapping[str, Any], samples: int) -> Mask:
        """Return a mask of some readings, the same number in each stretch of the granularity."""
        stretch = demand.get("granularity")
        if samples < 1:
            raise ArgumentError("samples", samples, "it is a whole number above 0")
        if stretch is None:
            reason = "some query uses single rows, so none can be left out"
            raise ArgumentError("samples", samples, reason)
        slot = (self._micros * samples) // int(stretch * 1_000_000)
        moment = slot[:: self.sensors]
        first = np.diff(moment, prepend=-1) > 0
        return np.repeat(first, self.sensors)

    def _alive(self, demand: Mapping[str, Any], chosen: Mask, samples: int | None) -> Mask:
        """Return a mask of the rows with which quiet sensors report how far they are."""
        quiet: Mask = np.zeros(len(chosen), np.bool_)
        if not demand["queries"] or samples is not None:  # what is sampled is never quiet
            return quiet
        every = max(1, int(self.alive * self.rate))
        by_moment = chosen.reshape(-1, self.sensors)
        since = np.zeros(self.sensors, np.int64)
        alive = np.zeros_like(by_moment)
        for moment, own in enumerate(by_moment):
            since = np.where(own, 0, since + 1)
            alive[moment] = (since >= every) | (~own & (moment == len(by_moment) - 1))
            since[alive[moment]] = 0
        return alive.ravel()


def _uses_blank(rows: pa.Table, demand: Mapping[str, Any]) -> bool:
    """Return whether somebody would use a row without values, such as a query for NULL."""
    blank = _blank(rows)
    return any(_meets(blank, alternative).any() for alternative in demand["alternatives"])


def _blank(rows: pa.Table) -> pa.Table:
    """Return a row of a sensor that has no values."""
    first = rows.slice(0, 1)
    columns = {name: first[name] for name in _PLACE}
    return pa.table({**columns, **{n: pa.nulls(1, rows.schema.field(n).type) for n in _READ}})


def _meets(rows: pa.Table, alternative: Mapping[str, Any]) -> Mask:
    """Return a mask of the rows in which each limited column has a needed value."""
    mask: Mask = np.ones(rows.num_rows, np.bool_)
    for name, values in alternative.items():
        mask &= _needed(rows[name], values["ranges"], null=bool(values["null"]))
    return mask


def _needed(column: pa.ChunkedArray, ranges: Sequence[Mapping[str, Any]], *, null: bool) -> Mask:
    needed = pc.is_null(column) if null else pc.and_(pc.is_null(column), False)
    for own in ranges:
        inside = pc.is_valid(column)
        if own["low"] is not None:
            compare = pc.greater_equal if own["with_low"] else pc.greater
            inside = pc.and_(inside, compare(column, own["low"]))
        if own["high"] is not None:
            compare = pc.less_equal if own["with_high"] else pc.less
            inside = pc.and_(inside, compare(column, own["high"]))
        needed = pc.or_(needed, pc.fill_null(inside, False))
    mask: Mask = needed.to_numpy().astype(np.bool_)
    return mask
