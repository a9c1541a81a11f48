"""The records of framing kernels: the framing, the open frame of a key, and frames found.

Each is one record type, so that kernels name the fields that they read and write. The open frame of
a key is also kept as a record between micro-batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Bytes, Floats, Ints
from muntin.kernels.compile import BYTES, FLOATS, INTS, array_of, tuple_of

#: Below every order: no such row.
NEVER = -(2**63)

#: Kinds of frames (``Asked.kind``).
THRESHOLD, BOUNDARY, DELTA, AGGREGATE, TREND, BETWEEN, DENSITY, OWN, PATTERN = range(9)
#: The answer of a user's own framing function about a row, as bits of one number.
EXTENDS, OPENS, EXTENDS_LAST, OPENS_LAST = 1, 2, 4, 8
#: The kind of a row (``what``): real, or missing and how it counts.
REAL, BREAKS, SATISFIES, CARRIED = range(4)
#: How the end of a frame is read (``Asked.reading``).
POINT, UNTIL_NEXT, INTERVAL = range(3)
#: Restart policies (``Asked.restart``); NOWHERE: any row may open a frame.
NOWHERE, CLOSE, DROP = range(3)
#: Directions of a trend (``Asked.direction``).
INCREASING, DECREASING, FLAT, ANY = range(4)
#: What a trend in any direction remembers (``Open.greatest``) as long as its direction is unknown.
NO_DIRECTION = -1
#: Comparisons (``Asked.sign``).
LESS, AT_MOST, MORE, AT_LEAST = range(4)
#: Aggregates that decide about a frame (``Asked.function``).
COUNT, SUM, MIN, MAX, AVG, VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP, FIRST, LAST, WEIGHTED = (
    range(12)
)
#: Modes of a key (``Open.mode``): no frame, an open frame, a complete frame that waits for the row
#: after it, and a ``between`` whose start was seen but is not inside.
CLOSED, OPEN, COMPLETE, ARMED = range(4)
#: Status of a frame (``Found.status``).
FINAL, PARTIAL = range(2)

_WHOLE, _REAL = np.int64, np.float64

#: The framing. Lengths are in ticks, and as doubles for axes of doubles. An integer aggregate is
#: compared with ``least``, a 128-bit integer: the least one that is not below the limit. The
#: condition holds for values that reach it or, if ``below``, for those that do not. ``size`` is
#: unsigned. If rows are ``slotted``, their reach is the number of slots that they represent.
#: ``unended`` is the status of a frame that a missing row or the end of input ends.
ASKED = np.dtype(
    [
        *((name, _WHOLE) for name in ("kind", "minimal", "reading", "liberal", "cut", "restart")),
        *((name, _WHOLE) for name in ("doubles", "whole", "every_candidate", "slotted")),
        *((name, _WHOLE) for name in ("min_count", "max_count", "least_rows")),
        *((name, _WHOLE) for name in ("min_duration", "max_duration", "fragments")),
        *((name, _REAL) for name in ("min_length", "max_length", "fragment_length")),
        *(
            (name, _WHOLE)
            for name in ("direction", "strict", "from_first", "with_start", "with_end")
        ),
        *((name, _WHOLE) for name in ("function", "sign", "size")),
        *((name, _WHOLE) for name in ("least_upper", "least_lower", "below")),
        *((name, _WHOLE) for name in ("decimals", "offset", "share", "strictly", "unended")),
        *((name, _REAL) for name in ("size_real", "limit")),
    ]
)
#: A key between two rows: its open frame, and what its kind remembers about it. ``previous`` is the
#: last row, ``edge`` the last row that liberal bounds may reach.
STATE = np.dtype(
    [
        *((name, _WHOLE) for name in ("mode", "first", "last", "reach", "low", "high")),
        *(
            (name, _WHOLE)
            for name in ("before", "previous", "edge", "n", "missed", "pending", "gone", "ahead")
        ),
        *((name, _WHOLE) for name in ("reported", "id", "next_id")),
        *((name, _WHOLE) for name in ("count", "least", "greatest", "at_first", "at_last")),
        *((name, _WHOLE) for name in ("total_upper", "total_lower")),
        *((name, _REAL) for name in ("least_real", "greatest_real", "first_real", "last_real")),
        *((name, _REAL) for name in ("sum_high", "sum_low", "square_high", "square_low")),
        *((name, _REAL) for name in ("weight_high", "weight_low")),
    ]
)
#: A frame. Rows ``[low, high)`` are inside; ``low`` is -1 if it began before these rows. It holds
#: from ``held_from`` to ``held_to``, whatever bounds it is reported with. ``direction`` is that
#: of a trend in any direction, ``chance`` that of a cluster.
FOUND = np.dtype(
    [
        *((name, _WHOLE) for name in ("key", "low", "high", "start", "end", "n", "missed")),
        *((name, _WHOLE) for name in ("id", "status", "fits", "held_from", "held_to", "direction")),
        ("chance", _REAL),
    ]
)


class RowColumns(NamedTuple):
    """The columns of rows that kernels read, key by key; a column that a kind lacks is empty.

    ``starts`` has the first row of each key and, last, the number of rows. ``what`` is REAL, or how
    a missing row counts; ``gap`` is the same for the gap before a row, if rows hold until an end of
    their own. ``opens`` is 1 if a frame may open, ``counts`` is 1 if a row counts for the
    aggregate. ``whole``, ``real`` and ``weight`` are values, ``reach`` is how far a row holds.
    """

    starts: Ints
    order: Ints
    what: Bytes
    opens: Bytes
    counts: Bytes
    whole: Ints
    real: Floats
    weight: Floats
    reach: Ints
    gap: Bytes


def row_columns(*columns: npt.NDArray[Any]) -> RowColumns:
    """Return the columns in the form that kernels take: read-only, in the order of the fields."""
    views = [column.view() for column in columns]
    for view in views:
        view.flags.writeable = False
    return RowColumns(*views)


ASKED_ARRAY = array_of(ASKED, readonly=True)
ROW_COLUMNS = tuple_of(
    RowColumns, INTS, INTS, BYTES, BYTES, BYTES, INTS, FLOATS, FLOATS, INTS, BYTES
)
STATE_ARRAY = array_of(STATE)
FOUND_ARRAY = array_of(FOUND)


def fresh(keys: int) -> np.ndarray:
    """Return the state of keys about which nothing is known."""
    states = np.zeros(keys, STATE)
    for name in ("before", "previous", "edge", "reported"):
        states[name] = NEVER
    states["id"] = -1
    return states


def is_open(records: np.ndarray | Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
    """Return which keys have a frame with rows in it."""
    mode = records["mode"]
    opened: npt.NDArray[np.bool_] = (mode == OPEN) | (mode == COMPLETE)
    return opened
