"""Which columns partition the stream, and which only group inside a window [Window-ids 3.2].

PATTR says what the stream is split by before windows are made. GROUP BY tells rows apart that lie
in one window. For windows over values both mean the same; where rows are counted they do not, and
frames and sessions are made for each key in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.parser.errors import SqlError
from muntin.parser.statements import Query, Windowing

#: Windows that first take rows and then tell them apart.
_GROUPS_INSIDE = ("rows", "by_tuple")


@dataclass(frozen=True)
class Roles:
    """``by`` of the stream and ``group`` of its windows."""

    by: tuple[str, ...]
    group: tuple[str, ...] = ()


def roles_of(
    query: Query,
    windowing: Windowing,
    partition: Sequence[str] | None,
    declared: Sequence[str],
    groups: Sequence[str],
) -> Roles:
    """From PATTR, the keys that a stream was declared with, and GROUP BY.

    Args:
        query: The query, for its text.
        windowing: The clause.
        partition: PATTR, if there is one.
        declared: BY of the stream.
        groups: GROUP BY, or the plain columns of a select list without one.
    """
    if windowing.method in _GROUPS_INSIDE:
        by = tuple(declared if partition is None else partition)
        return Roles(by, tuple(name for name in groups if name not in by))
    if windowing.method == "frames":
        by = tuple(partition if partition is not None else declared or groups)
        strange = [name for name in groups if name not in by]
        if strange:
            problem = f"frames are made for each {', '.join(by)}, so they cannot be grouped by"
            expected = f"{strange[0]} in PATTR, or in an aggregate"
            raise SqlError(
                f"{problem} {strange[0]}", query.text, windowing.place, expected=expected
            )
        return Roles(by)
    own = tuple(partition or ())
    return Roles((*own, *(name for name in groups if name not in own)))
