"""The controller on simulated times: when it sheds, how much, and when it stops [AU-37, AU-40]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest

from muntin.engine.overload.batch_times import BatchTimes, TimedBatch
from muntin.engine.overload.controller import Control, ControlLimits, Measured, controlled


@dataclass
class Simulation:
    """A stream whose micro-batches take ``fixed`` and ``per_row`` seconds, with some noise."""

    rate: Callable[[float], float]
    limits: ControlLimits
    random: Random
    fixed: float = 0.2
    per_row: float = 0.8e-4
    noise: float = 0.08
    hiccups: float = 0.0
    controls: list[Control] = field(default_factory=list)
    began: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    @property
    def capacity(self) -> float:
        """The rows a second with which micro-batches take just the time between two."""
        return (self.limits.interval - self.fixed) / (self.per_row * self.limits.interval)

    def run(self, seconds: float) -> Simulation:
        control, times = Control(), BatchTimes()
        now, before = 0.0, -self.limits.interval
        while now < seconds:
            rows = round(self._arrived(before, now))
            took = self.fixed + self.per_row * rows * control.rate
            took *= 1 + self.random.uniform(-self.noise, self.noise)
            if self.random.random() < self.hiccups:
                took *= 2
            self.began.append(now)
            times.take(TimedBatch(len(self.began), round(rows * control.rate), took))
            self.delays.append(took + now - before)
            measured = Measured(rows, took, now - before, delay=self.delays[-1])
            control = controlled(control, self.limits, measured, times.line)
            self.controls.append(control)
            interval = control.interval or self.limits.interval
            before, now = now, now + max(took, interval)
        return self

    def _arrived(self, start: float, end: float) -> float:
        steps = 50
        width = (end - start) / steps
        return sum(self.rate(start + (place + 0.5) * width) for place in range(steps)) * width

    @property
    def shed(self) -> list[int]:
        """The micro-batches after which rows are shed."""
        return [place for place, control in enumerate(self.controls) if control.shedding]

    def first_after(self, time: float) -> int:
        return next(place for place, began in enumerate(self.began) if began >= time)


TOLERANT = ControlLimits(interval=1.0, good_delay=10.0, least_rate=0.05, longest=4.0)
STEP, OVER, END = 40.0, 160.0, 220.0


@pytest.mark.parametrize("seed", range(100))
def test_a_step_of_three_times_capacity_is_shed_and_forgotten(seed: int) -> None:
    random = Random(seed)
    below = random.uniform(0.2, 0.7)
    run = Simulation(lambda _: 0.0, TOLERANT, random)
    run.rate = lambda now: run.capacity * (3 if STEP <= now < OVER else below)
    run.run(END)
    # The first micro-batch that read any of the step is the one that begins after it.
    begins, ends = run.first_after(STEP), run.first_after(OVER)
    assert begins <= run.shed[0] < begins + 3
    assert run.shed[-1] < ends + 5
    # While it lasts, micro-batches keep up once those are over that had grown before.
    settled = range(run.first_after(STEP + 12), ends)
    assert max(run.delays[place] for place in settled) < 3.5
    assert 0.2 < run.controls[ends - 1].rate < 0.34
    assert run.controls[-1].steps == ()


@pytest.mark.parametrize("seed", range(100))
def test_below_capacity_nothing_is_ever_shed(seed: int) -> None:
    random = Random(seed)
    share = random.uniform(0.2, 0.9)
    run = Simulation(lambda _: 0.0, TOLERANT, random, hiccups=0.02)
    run.rate = lambda _: run.capacity * share
    run.run(300)
    assert run.shed == []


def test_micro_batches_become_larger_before_anything_is_shed() -> None:
    run = Simulation(lambda _: 0.0, TOLERANT, Random(1), fixed=0.6, per_row=0.4e-4)
    # Too much for a second, and not for two: what a micro-batch costs by itself counts half.
    run.rate = lambda now: run.capacity * (1.2 if 40 <= now < 120 else 0.5)
    run.run(200)
    assert run.shed == []
    assert max(control.interval or 1.0 for control in run.controls) == 2.0
    assert run.controls[-1] == Control(why="there is room again", delay=run.delays[-1])


def test_what_was_done_last_is_undone_first() -> None:
    limits = ControlLimits(interval=1.0, good_delay=10.0, least_rate=0.05, longest=2.0)
    run = Simulation(lambda _: 0.0, limits, Random(2), fixed=0.5, per_row=0.5e-4, noise=0.01)
    rates = {30: 0.5, 80: 1.2, 150: 5.0, 400: 0.3}
    run.rate = lambda now: run.capacity * next(r for end, r in rates.items() if now < end)
    run.run(300)
    both = next(c for c in run.controls if len(c.steps) == 2)
    assert both.steps == ("larger micro-batches", "shed")
    seen = [c.steps for c in run.controls]
    changes = [after for before, after in pairwise(seen) if after != before]
    assert changes == [both.steps[:1], both.steps, both.steps[:1], ()]


def test_queries_that_tolerate_nothing_lose_nothing() -> None:
    run = Simulation(lambda _: 0.0, ControlLimits(1.0, 10.0, least_rate=1.0), Random(3))
    run.rate = lambda _: run.capacity * 3
    assert run.run(15).shed == []


def test_no_more_is_shed_than_queries_tolerate() -> None:
    run = Simulation(lambda _: 0.0, ControlLimits(1.0, 10.0, least_rate=0.6), Random(3))
    run.rate = lambda _: run.capacity * 3
    assert {control.rate for control in run.run(15).controls} == {1.0, 0.6}


def test_input_that_waits_more_and_more_is_overload() -> None:
    limits = ControlLimits(interval=1.0, least_rate=0.1)
    control, line = Control(), None
    kept = []
    for waiting in (5, 10, 20, 40, 80, 160):
        measured = Measured(rows=1000, seconds=0.95, gap=1.0, waiting=waiting)
        control = controlled(control, limits, measured, line)
        kept.append(control.rate)
    assert kept[:4] == [1.0] * 4
    assert kept[-1] < 1
    assert control.why == "what waits in the source rose to 80"


def test_a_delay_outside_the_good_zone_is_overload() -> None:
    limits = ControlLimits(interval=1.0, good_delay=2.0, least_rate=0.1)
    control = Control()
    for delay in (1.9, 2.5, 3.0):
        measured = Measured(rows=1000, seconds=0.95, gap=1.0, delay=delay)
        control = controlled(control, limits, measured, None)
    assert 0.8 < control.rate < 1
    assert control.why == "answers came 3.00 s after their rows, good are 2.00 s"


def test_equal_numbers_decide_the_same() -> None:
    def rates(seed: int) -> list[float]:
        run = Simulation(lambda _: 30_000.0, TOLERANT, Random(seed))
        return [control.rate for control in run.run(60).controls]

    assert rates(7) == rates(7)
