"""Streams out of order in the two ways of [Window-ids 7.1], the same for every seed.

A row has a time of its own, ``on``, and a time at which it arrives, ``clock``; rows are in the
order of their arrival. All times are whole microseconds, all parameters seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
SECOND = 1_000_000


@dataclass(frozen=True)
class Arrivals:
    """Rows in the order in which they arrive; no row arrives before its own time."""

    on: Ints
    value: Floats
    clock: Ints

    def __len__(self) -> int:
        return len(self.on)


@dataclass(frozen=True)
class Network:
    """Bounded disorder, as packets have that TCP sends again.

    A packet needs up to ``jitter``. One that is lost is sent again after ``timeout``, then after
    twice that, and so on; after ``losses`` of them it gets through. Few are lost while the network
    is calm and many while it is congested; both last exponentially distributed times.
    """

    rate: int = 50
    jitter: float = 0.04
    timeout: float = 0.2
    losses: int = 4
    loss_calm: float = 0.001
    loss_congested: float = 0.5
    calm: float = 20.0
    congested: float = 1.0

    @property
    def bound(self) -> float:
        """No row comes longer than this after its own time."""
        return self.jitter + self.timeout * ((1 << self.losses) - 1)

    def arrivals(self, seconds: int, seed: int) -> Arrivals:
        """Speeds that rise and fall every four minutes, as rows that the network carried."""
        random = np.random.default_rng(seed)
        on = np.arange(seconds * self.rate, dtype=np.int64) * SECOND // self.rate
        loss = np.where(self._congested(on, random), self.loss_congested, self.loss_calm)
        lost = random.random((len(on), self.losses)) < loss[:, np.newaxis]
        # Only losses in a row count: what got through is not sent again.
        times = np.cumprod(lost, axis=1).sum(axis=1)
        waited = self.timeout * (2**times - 1) + random.uniform(0, self.jitter, len(on))
        clock = on + np.floor(waited * SECOND).astype(np.int64)
        wave = np.sin(on * (2 * np.pi / (240 * SECOND)))
        speed = 55 + 15 * wave + random.normal(0, 8, len(on))
        order = np.argsort(clock, kind="stable")
        return Arrivals(on[order], speed[order], clock[order])

    def _congested(self, on: Ints, random: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Whether each time lies in a congested stretch; stretches of both kinds take turns."""
        pairs = 10 + int(2 * on[-1] / SECOND / (self.calm + self.congested))
        lasting = random.exponential((self.calm, self.congested), (pairs, 2)).ravel()
        stretch = np.searchsorted(np.cumsum(lasting) * SECOND, on, side="right")
        congested: npt.NDArray[np.bool_] = stretch % 2 == 1
        return congested


@dataclass(frozen=True)
class Router:
    """Block-sorted disorder [Window-ids, Figure 7]: a router that empties its cache.

    The records of a block arrive all together when the block is over, in any order. Blocks
    start at ``start`` and last ``block`` each.
    """

    rate: int = 20
    block: float = 490.0
    # Half a second before a window's end, so that some window ends just after a block's start.
    start: float = -0.5

    def arrivals(self, blocks: int, seed: int) -> Arrivals:
        random = np.random.default_rng(seed)
        size = int(self.block * self.rate)
        place = random.permuted(np.tile(np.arange(size), (blocks, 1)), axis=1)
        first = np.arange(blocks)[:, np.newaxis] * size
        began = int(self.start * SECOND)
        on = (first + place) * SECOND // self.rate + began
        over = (first + size) * SECOND // self.rate + began
        clock = np.broadcast_to(over, on.shape)
        return Arrivals(on.ravel(), np.ones(on.size), clock.ravel())

    def into_block(self, times: Ints) -> Floats:
        """How long after the start of their block some times are, in seconds."""
        offsets: Floats = (times / SECOND - self.start) % self.block
        return offsets
