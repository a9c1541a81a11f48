"""Random cases on Spark: drawn first, then run several at a time: much of it is waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy

import muntin as mt
from muntin.testing import Played, Replay
from tests.drivers.streams import play
from tests.thorough import share

Drawn = TypeVar("Drawn")
#: Cases of each property in ``make soak``.
EXAMPLES = 20
_AT_A_TIME = 4


def check_each(check: Callable[[Drawn], None], cases: SearchStrategy[Drawn]) -> None:
    """Check as many cases as a property on Spark has; of those that fail, the first is told.

    There is no shrinking, which would take minutes: the step property finds the small example.
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
    """The same for streams: prepared, played, and what they made checked."""

    def stream(case: Drawn) -> None:
        streamed = prepare(case)
        try:
            check(case, play(streamed.plan, spread=2))
        finally:
            for replay in streamed.replays:
                replay.remove()

    check_each(stream, cases)


def _drawn(cases: SearchStrategy[Drawn]) -> list[Drawn]:
    found: list[Drawn] = []

    @settings(max_examples=share(EXAMPLES), phases=[Phase.generate])
    @given(cases)
    def draw(case: Drawn) -> None:
        found.append(case)

    draw()
    assert len(found) == share(EXAMPLES)
    return found
