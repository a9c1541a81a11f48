"""Random cases on Spark: drawn first, then run several at a time, because much of it is waiting."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy

Drawn = TypeVar("Drawn")
#: Cases of each property.
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


def _drawn(cases: SearchStrategy[Drawn]) -> list[Drawn]:
    found: list[Drawn] = []

    @settings(max_examples=EXAMPLES, phases=[Phase.generate])
    @given(cases)
    def draw(case: Drawn) -> None:
        found.append(case)

    draw()
    assert len(found) == EXAMPLES
    return found
