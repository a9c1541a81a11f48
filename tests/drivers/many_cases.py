"""Random cases on Spark: all are drawn first, and then run in parallel, as they mostly wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

import muntin as mt
from muntin.testing import Played, Replay
from tests.drivers.streams import play
from tests.thorough import share

Drawn = TypeVar("Drawn")
#: How many cases each property has in ``make soak``.
EXAMPLES = 20
_AT_A_TIME = 4


def check_each(check: Callable[[Drawn], None], cases: SearchStrategy[Drawn]) -> None:
    """Check the cases of a property on Spark; raise the error of the first that fails.

    Cases are not shrunk, which would take minutes: the step property finds the small example.
    """
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        checks = [(case, pool.submit(check, case)) for case in _drawn(cases)]
    for case, done in checks:
        if (error := done.exception()) is not None:
            error.add_note(f"Falsifying example: {case!r}")
            raise error


@dataclass(frozen=True)
class Streamed:
    """A case as a stream: its plan, and the replays that feed it."""

    plan: mt.Plan
    replays: Sequence[Replay]


def check_streams(
    prepare: Callable[[Drawn], Streamed],
    check: Callable[[Drawn, Played], None],
    cases: SearchStrategy[Drawn],
) -> None:
    """Play the cases of a property as streams, and check their output."""

    def stream(case: Drawn) -> None:
        streamed = prepare(case)
        try:
            check(case, play(streamed.plan, spread=2))
        finally:
            for replay in streamed.replays:
                replay.remove()

    check_each(stream, cases)


def _drawn(cases: SearchStrategy[Drawn]) -> list[Drawn]:
    drawn: list[Drawn] = []

    # What is drawn depends on the modules that other tests have imported, as Hypothesis tries their
    # constants; that enough cases are drawn is asserted below.
    @settings(
        max_examples=share(EXAMPLES),
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.filter_too_much],
    )
    @given(cases)
    def draw(case: Drawn) -> None:
        drawn.append(case)

    draw()
    assert len(drawn) == share(EXAMPLES)
    return drawn
