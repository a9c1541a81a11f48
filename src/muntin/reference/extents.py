"""``extent(w, T, S)`` and ``wids(t, T, S)`` for windows of every kind [Window-ids 3.3].

The values ``T`` are plain Python. Windows over values have their numbers from
:mod:`~muntin.reference.definitions`; those of other windows follow from the order of ``T``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from muntin.errors import ArgumentError
from muntin.reference import definitions
from muntin.reference.rows import SequenceReference
from muntin.reference.windows import END, MicroBatch
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import RowWindow, Session, TupleWindow
from muntin.specs.windows import Landmark, Latch, Window

Numbered = Window | Landmark | Latch | RowWindow | TupleWindow | Session


def extent(wid: Any, values: Sequence[Any], windows: object, zone: str = "UTC") -> list[Any]:
    """Return the values that lie in a window.

    Sliding, tumbling, landmark and latch windows, and windows over rows, have numbers. A window at
    every row is numbered by the value that it ends at, a session by its place among the sessions.

    Args:
        wid: The number of the window.
        values: The values of ``on`` of all rows of a key, in the order in which they arrive.
        windows: What ``stream.window(...)`` and the like return, or a specification.
        zone: The time zone of days.

    >>> from muntin import RowWindow, Window
    >>> extent(2, [0, 2, 3, 5, 6, 9, 11], Window(range=5, slide=2, on="n"))
    [2, 3, 5]
    >>> extent(1, [0, 2, 3, 5, 6, 9, 11], RowWindow(range=3, slide=2, on="n"))
    [2, 3, 5]
    """
    return _extents(values, windows, zone).get(wid, [])


def wids(value: Any, values: Sequence[Any], windows: object, zone: str = "UTC") -> list[Any]:
    """Return the numbers of the windows that hold a value, the inverse of :func:`extent`.

    Landmark windows never end, so those up to the first that holds all ``values`` are listed.

    Args:
        value: The value of a row.
        values: As for :func:`extent`.
        windows: As for :func:`extent`.
        zone: As for :func:`extent`.

    >>> from muntin import RowWindow, Window
    >>> wids(5, [0, 2, 3, 5, 6, 9, 11], Window(range=5, slide=2, on="n"))
    [2, 3, 4]
    >>> wids(5, [0, 2, 3, 5, 6, 9, 11], RowWindow(range=3, slide=2, on="n"))
    [1, 2]
    """
    return [wid for wid, held in _extents(values, windows, zone).items() if value in held]


def _extents(values: Sequence[Any], windows: object, zone: str) -> dict[Any, list[Any]]:
    """Return the values of every window that holds one, by its number and in order."""
    spec = _spec(windows)
    if not values:
        return {}
    axis = spec.axis(_domain(values[0]), scale=_scale(values), zone=zone)
    if isinstance(spec, Window | Landmark | Latch):
        return _over_values(spec, values, axis)
    return _over_rows(spec, values, axis)


def _over_values(
    spec: Window | Landmark | Latch, values: Sequence[Any], axis: Axis
) -> dict[Any, list[Any]]:
    edges = spec.edges(axis)
    last = edges.last_closed(axis.tick(max(values))) + 1  # type: ignore[arg-type]
    numbers = definitions.windows(values, axis, edges, until=last)
    return {wid: definitions.extent(wid, values, axis, edges) for wid in sorted(numbers)}


def _over_rows(
    spec: RowWindow | TupleWindow | Session, values: Sequence[Any], axis: Axis
) -> dict[Any, list[Any]]:
    def held(rows: Sequence[Any]) -> list[Any]:
        return [row[spec.on] for row in rows]

    reference = SequenceReference(spec, axis, (), (), {"held": held})
    batch = MicroBatch([{spec.on: value} for value in values], END)
    found = enumerate(reference.run([batch]).results)
    return {_number(spec, place, result): result["held"] for place, result in found}


def _number(spec: RowWindow | TupleWindow | Session, place: int, result: Any) -> Any:
    if isinstance(spec, RowWindow):
        return result["window_end"] // spec.slide - 1
    return result["window_end"] if isinstance(spec, TupleWindow) else place


def _spec(windows: object) -> Numbered:
    spec = getattr(windows, "spec", windows)
    by_row = isinstance(spec, Session) and spec.gap is None
    if isinstance(spec, Numbered) and not by_row:
        return spec
    raise ArgumentError(
        "windows",
        spec,
        "these windows depend on more than one column, or are no windows; sliding, tumbling, "
        "landmark, latch, row and tuple windows and sessions of one gap have extents",
    )


def _domain(value: object) -> Domain:
    if isinstance(value, datetime):
        return Domain.TIMESTAMP_NTZ if value.tzinfo is None else Domain.TIMESTAMP
    kinds = {
        date: Domain.DATE,
        int: Domain.INTEGER,
        Decimal: Domain.DECIMAL,
        float: Domain.DOUBLE,
    }
    domain = next((domain for kind, domain in kinds.items() if type(value) is kind), None)
    if domain is None:
        raise ArgumentError(
            "values", value, "they are datetimes, dates, integers, decimals or doubles"
        )
    return domain


def _scale(values: Sequence[Any]) -> int:
    """Return the decimals of decimal values."""
    exponents = [value.as_tuple().exponent for value in values if isinstance(value, Decimal)]
    return max([0, *(-exponent for exponent in exponents if isinstance(exponent, int))])
