"""Calendar units of many ticks at once: the same as :class:`~muntin.specs.calendar.CalendarEdges`.

Clocks are asked once for each unit that occurs, and not once for each row.
"""

from __future__ import annotations

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.specs.axis import Domain
from muntin.specs.calendar import DAY_MICROS, CalendarEdges, number_of_day
from muntin.specs.edges import Edges

#: Units after the one that holds the day before a tick, in which the tick may lie.
_NEAR = 3


def on_line(edges: Edges, ticks: Ints) -> Ints:
    """Return ticks on the line on which range, slide and origin of windows are measured."""
    return unit_numbers(edges, ticks) if isinstance(edges, CalendarEdges) else ticks


def ticks_at(edges: Edges, points: Ints) -> Ints:
    """Return the ticks of points of the line on which edges lie."""
    return unit_starts(edges, points) if isinstance(edges, CalendarEdges) else points


def unit_numbers(edges: CalendarEdges, ticks: Ints) -> Ints:
    """Return the number of the unit that holds each tick."""
    on_dates = edges.axis.domain is Domain.DATE
    days, place = np.unique(ticks if on_dates else ticks // DAY_MICROS - 1, return_inverse=True)
    numbers = np.array([number_of_day(edges.unit, day) for day in days.tolist()], np.int64)
    if on_dates or not len(numbers):
        return numbers[place]
    near = np.unique(np.concatenate([numbers + step for step in range(_NEAR + 1)]))
    starts = unit_starts(edges, near)
    found: Ints = near[np.searchsorted(starts, ticks, side="right") - 1]
    return found


def unit_starts(edges: CalendarEdges, numbers: Ints) -> Ints:
    """Return the tick at which each unit begins."""
    units, place = np.unique(numbers, return_inverse=True)
    starts: Ints = np.array([edges.unit_start(unit) for unit in units.tolist()], np.int64)[place]
    return starts
