"""How long an open frame is known to last while rows and punctuation come [Frames, appendix F]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from muntin.reference.frames.candidates import Line
from muntin.reference.frames.places import RowPlace


def growing(
    places: Sequence[RowPlace], line: Line, steps: Sequence[int]
) -> Iterator[tuple[Sequence[RowPlace], Any]]:
    """A frame with each of its places, and after each punctuation that finds it open.

    Each time the places it holds by then, and where it ends at the least. ``steps`` are the
    punctuations, in ticks; a place is looked at when one has passed it.
    """
    taken = 0
    for upto in [*steps, None]:
        passed = len(line.places) if upto is None else _passed(line, upto)
        holds = sum(place.index + _is_gap(place, line) < passed for place in places)
        for count in range(taken + 1, holds + 1):
            # A carried row is taken together with the real row behind it.
            if places[count - 1].real or line.framing.missing != "carry":
                yield places[:count], line.local.end_so_far(places[:count])
        taken = max(taken, holds)
        if upto is not None and taken and places[-1].index + 1 >= passed:
            known = line.local.measure.axis.value(upto)
            ahead = [known, *(place.on for place in line.places[passed : passed + 1])]
            known = min(ahead, key=line.local.measure.at)
            yield places[:taken], line.local.end_so_far(places[:taken], known)


def _is_gap(place: RowPlace, line: Line) -> bool:
    """Whether a place is known only with the row behind it."""
    return place.row is None and line.framing.readings == "interval"


def _passed(line: Line, upto: int) -> int:
    """How many places are looked at: those below a punctuation.

    Missing rows wait for a real one behind them, where that decides what becomes of them.
    """
    axis, missing = line.local.measure.axis, line.framing.missing
    ticks = [axis.tick(place.on) for place in line.places]
    passed = sum(tick is not None and tick < upto for tick in ticks)
    waits = missing not in ("break", "satisfy")
    while waits and passed and not line.places[passed - 1].real:
        passed -= 1
    return passed
