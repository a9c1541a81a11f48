"""The as-of join: every left row with the one right row that was valid when it came.

The specification is a frozen value that checks itself; :class:`AsofReference` is its meaning, by
looking at every right row for every left row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from muntin.errors import ArgumentError
from muntin.specs.join.distance import distance
from muntin.specs.join.how import checked
from muntin.specs.lengths import Length

#: On which side of a left row its partner lies.
Towards = Literal["backward", "forward", "nearest"]


@dataclass(frozen=True)
class Asof:
    """The nearest right row at or before a left row, at or after it, or on either side.

    Where both sides are equally near it is the one before. A partner is at most ``tolerance``
    away, if that is given; unless ``exact`` it never lies where the left row lies.

    >>> print(Asof("5 minutes", "nearest", exact=False))
    ASOF NEAREST TOLERANCE 5 minutes NOT EXACT
    """

    tolerance: Length | None
    direction: Towards
    exact: bool

    def __init__(
        self, tolerance: object = None, direction: object = "backward", exact: bool = True
    ) -> None:
        given = None if tolerance is None else distance("tolerance", tolerance)
        object.__setattr__(self, "tolerance", given)
        object.__setattr__(self, "direction", checked("direction", direction, get_args(Towards)))
        if not isinstance(exact, bool):
            raise ArgumentError("exact", exact, "it is True or False")
        object.__setattr__(self, "exact", exact)
        if given is not None and not given.positive and not exact:
            raise ArgumentError(
                "tolerance", tolerance, "with exact=False nothing is so near; it is more than zero"
            )

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length that an axis must reach."""
        return () if self.tolerance is None else (self.tolerance,)

    @property
    def backward(self) -> bool:
        """Whether it looks at rows before a left row."""
        return self.direction != "forward"

    @property
    def forward(self) -> bool:
        """Whether it looks at rows behind a left row."""
        return self.direction != "backward"

    @property
    def waits_for_ever(self) -> bool:
        """Whether a row may wait as long as its key is silent, because nothing ends its look."""
        return self.forward and self.tolerance is None

    def __str__(self) -> str:
        within = "" if self.tolerance is None else f" TOLERANCE {self.tolerance}"
        return f"ASOF {self.direction.upper()}{within}{'' if self.exact else ' NOT EXACT'}"
