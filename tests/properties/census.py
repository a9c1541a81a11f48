"""What the strategies draw: in how many examples something happens that operators must get right.

A property says nothing about late rows if no example has one. So the examples are counted, and
``test_census.py`` keeps a least number for each event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muntin.reference.arrivals import arrive
from muntin.reference.windows import Outcome
from tests.properties.arriving import Arrivals
from tests.thorough import examples

#: Rows further ahead of all others than this, in units of the domain, are far ahead.
FAR = 100


def census(strategy: st.SearchStrategy[Sequence[Arrivals]], count: int) -> Counter[str]:
    """Return in how many examples each event happens, and ``examples``, how many there are."""
    happened: Counter[str] = Counter()

    @examples(count)
    @given(strategy)
    def look(inputs: Sequence[Arrivals]) -> None:
        happened.update({"examples"} | {event for case in inputs for event in events(case)})

    look()
    return happened


def events(case: Arrivals) -> Iterator[str]:
    """Yield what happens among the rows of an input."""
    yield from _lateness(case)
    if any(not rows for rows in case.batches[:-1]):
        yield "empty micro-batch"
    if any(case.told_keys(place) for place in range(len(case.batches))):
        yield "control row of a key"
    rows = [row for batch in case.batches for row in batch]
    if any(row["on"] is None for row in rows):
        yield "null on"
    if any(row[slot] is None for row in rows for slot in ("v", "i", "n") if slot in row):
        yield "missing value"
    placed = [(tuple(row[k] for k in case.by), row["on"]) for row in rows if _has_place(case, row)]
    if len(set(placed)) < len(placed):
        yield "tied rows"
    if 1 in Counter(key for key, _ in placed).values():
        yield "key with one row"
    ticks = sorted({case.axis.tick(on) for _, on in placed})  # type: ignore[type-var]
    if len(ticks) > 1 and ticks[-1] - ticks[-2] > FAR * case.unit:  # type: ignore[operator]
        yield "row far ahead"


def _has_place(case: Arrivals, row: dict[str, Any]) -> bool:
    return row["on"] is not None and case.axis.tick(row["on"]) is not None


def _lateness(case: Arrivals) -> Iterator[str]:
    """Yield where rows lie to the punctuation of the micro-batches before them."""
    batches = case.punctuated()
    for number, batch in enumerate(batches[:-1]):
        before = arrive(Outcome(), batches[:number], case.axis, "on", case.by, lambda row: None)
        for row in batch.rows:
            complete = before.complete(tuple(row[name] for name in case.by))
            if complete is None or not _has_place(case, dict(row)):
                continue
            tick = case.axis.tick(row["on"])
            assert tick is not None
            if tick < complete:
                yield f"below the punctuation, {case.late}"
            elif tick == complete:
                yield "at the punctuation"
