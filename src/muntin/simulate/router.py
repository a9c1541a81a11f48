"""Routers that lose packets, and the routing messages that reach them [Frames 1].

A router reports its loss rate on a schedule. Now and then it loses much for some minutes. Most of
these troubles have a reason: a burst of routing updates (BGP) begins shortly before, and a router
that is busy with updates forwards less. The others have no reason in the messages.

>>> network = Network(hours=1, routers=2, troubles=1)
>>> network.losses().column_names
['ts', 'router', 'loss_rate']
>>> network.messages().column_names
['at', 'router_id', 'kind', 'routes']
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.simulate.model import Floats, Integers, StreamModel

#: The kinds of messages, in the order of their numbers.
KINDS = ("keepalive", "update", "withdraw")
_KEEPALIVE, _UPDATE, _WITHDRAW = range(len(KINDS))
#: Percent; a router without trouble stays below, one in trouble above.
HIGH_LOSS = 0.3
#: The least and the most seconds from the beginning of a burst to the loss.
_AHEAD_SECONDS = (8.0, 25.0)
#: The share of a burst that withdraws routes.
_WITHDRAWN = 0.25


@dataclass(frozen=True)
class Trouble:
    """A router loses much for some minutes; a burst of updates may explain it."""

    router: str
    start: datetime
    minutes: float
    burst: bool


@dataclass(frozen=True)
class Network(StreamModel):
    """Some routers over some hours; the same arguments give the same tables.

    Args:
        hours: How long, from ``start``.
        start: The first report, in UTC.
        seed: Of everything that is random.
        routers: How many there are.
        every: Seconds from one loss rate of a router to the next.
        troubles: How many periods of high loss there are, over all routers.
        explained: The share of them that come with a burst of updates.
        keepalive_seconds: From one keepalive of a router to the next.
        updates_per_hour: Of a router without trouble.
        burst_per_minute: Updates and withdrawals of a router in an explained trouble.
        missing: The share of loss rates that never come; messages are not lost.
        disordered: The share of rows that come late, by no more than ``disorder_seconds``.
        disorder_seconds: A stream with this slack loses nothing.
    """

    hours: float = 4
    start: datetime = datetime(2026, 3, 3, 8, tzinfo=UTC)
    seed: int = 7
    routers: int = 4
    every: int = 10
    troubles: int = 6
    explained: float = 0.7
    keepalive_seconds: float = 30
    updates_per_hour: float = 20
    burst_per_minute: float = 30
    missing: float = 0.01
    disordered: float = 0.05
    disorder_seconds: float = 30

    def __post_init__(self) -> None:
        self._check(
            above_zero=("hours", "routers", "every", "keepalive_seconds"),
            not_negative=("troubles", "updates_per_hour", "burst_per_minute"),
            shares=("explained", "missing"),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the routers.

        >>> Network(routers=2).names
        ('r1', 'r2')
        """
        return tuple(f"r{number + 1}" for number in range(self.routers))

    @cached_property
    def happened(self) -> tuple[Trouble, ...]:
        """The periods of high loss, in order of time.

        >>> [(trouble.router, trouble.burst) for trouble in Network(troubles=3).happened]
        [('r4', True), ('r1', False), ('r4', True)]
        """
        rng = self._rng("troubles")
        bursts = np.arange(self.troubles) < round(self.explained * self.troubles)
        rng.shuffle(bursts)
        # One in each part of the time, so that two of one router do not run together.
        part = self.hours * 60 / max(1, self.troubles)
        troubles = []
        for number, burst in enumerate(bursts):
            minutes = min(rng.uniform(6, 14), part / 2)
            begins = number * part + rng.uniform(0.1, 0.9) * (part - minutes)
            troubles.append(
                Trouble(
                    self.names[int(rng.integers(self.routers))],
                    self.start + timedelta(seconds=round(60 * begins)),
                    round(float(minutes), 1),
                    bool(burst),
                )
            )
        return tuple(troubles)

    def losses(self) -> pa.Table:
        """Return loss rates, in percent of packets, in the order in which they arrive."""
        seconds = np.arange(0, self.hours * 3600, self.every, dtype=float)
        time, router = np.divmod(np.arange(len(seconds) * self.routers), self.routers)
        rate = self._loss_rates(seconds).reshape(-1)
        micros = (seconds[time] * 1e6).astype(np.int64)
        rows = pa.table(
            {
                "ts": self._timestamps(micros),
                "router": pa.array(self.names).take(pa.array(router)),
                "loss_rate": pa.array(rate.round(3)),
            }
        )
        return self._arrived("losses", rows, micros, self.missing)

    def messages(self) -> pa.Table:
        """Return routing messages in the order in which they arrive; a keepalive has no routes."""
        parts = [self._keepalives(), self._usual_updates(), *self._bursts()]
        at, router, kind, routes = (np.concatenate(column) for column in zip(*parts, strict=True))
        micros = (at * 1e6).astype(np.int64)
        order = np.lexsort((kind, router, micros))
        rows = pa.table(
            {
                "at": self._timestamps(micros),
                "router_id": pa.array(self.names).take(pa.array(router)),
                "kind": pa.array(KINDS).take(pa.array(kind)),
                "routes": pa.array(routes, pa.int32()),
            }
        ).take(pa.array(order))
        return self._arrived("messages", rows, micros[order])

    def _loss_rates(self, seconds: Floats) -> Floats:
        """Return loss rates by time (down) and router (across)."""
        rng = self._rng("loss rates")
        shape = (len(seconds), self.routers)
        rates = rng.gamma(4, 0.02, shape).clip(0, 0.9 * HIGH_LOSS)
        bad = rng.uniform(1.2 * HIGH_LOSS, 6 * HIGH_LOSS, shape)
        for trouble in self.happened:
            since = seconds - self._second(trouble.start)
            during = (since >= 0) & (since <= 60 * trouble.minutes)
            place = self.names.index(trouble.router)
            rates[during, place] = bad[during, place]
        return rates

    def _keepalives(self) -> _Messages:
        rng = self._rng("keepalives")
        n = int(self.hours * 3600 / self.keepalive_seconds)
        phase = rng.uniform(0, self.keepalive_seconds, self.routers)
        at = (np.arange(n)[:, None] * self.keepalive_seconds + phase).ravel()
        router = np.tile(np.arange(self.routers), n)
        inside = at < self.hours * 3600
        return self._messages(rng, at[inside], router[inside], _KEEPALIVE)

    def _usual_updates(self) -> _Messages:
        rng = self._rng("updates")
        n = int(rng.poisson(self.updates_per_hour * self.hours * self.routers))
        at = rng.uniform(0, self.hours * 3600, n)
        return self._messages(rng, at, rng.integers(self.routers, size=n), _UPDATE)

    def _bursts(self) -> list[_Messages]:
        rng, bursts = self._rng("bursts"), []
        for trouble in self.happened:
            ahead = rng.uniform(*_AHEAD_SECONDS)
            lasts = 60 * trouble.minutes + ahead
            n = int(rng.poisson(self.burst_per_minute * lasts / 60))
            # Most come at its beginning.
            at = self._second(trouble.start) - ahead + lasts * rng.random(n) ** 1.5
            kind = np.where(rng.random(n) < _WITHDRAWN, _WITHDRAW, _UPDATE)
            router = np.full(n, self.names.index(trouble.router))
            inside = (at >= 0) & (at < self.hours * 3600)
            if trouble.burst:
                bursts.append(self._messages(rng, at[inside], router[inside], kind[inside]))
        return bursts

    def _messages(
        self, rng: np.random.Generator, at: Floats, router: Integers, kind: Integers | int
    ) -> _Messages:
        kinds = np.broadcast_to(np.asarray(kind, np.int64), at.shape)
        routes = np.where(kinds == _KEEPALIVE, 0, rng.geometric(0.1, at.shape))
        return at, router, kinds, routes


#: Seconds since the start, numbers of routers and of kinds, and how many routes they are about.
_Messages = tuple[Floats, Integers, Integers, Integers]
