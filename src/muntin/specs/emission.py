"""When results are reported: once, when they are final, or early as well, with their changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from muntin.errors import ArgumentError
from muntin.specs.lengths import parse_length

#: When results are reported.
Emit = Literal["final", "early"]
#: A length along ``on``, or None for every micro-batch.
Every = str | int | float | None
#: The column with ``+`` for a first answer, ``u`` for one that replaces it, ``-`` if it is gone.
CHANGE = "change"
#: The column that is true where an answer will not change any more.
FINAL = "final"


@dataclass(frozen=True)
class Emission:
    """When results are reported.

    ``every`` is the distance along ``on`` between two reports of what is open, and None for every
    micro-batch. ``confidence`` asks for an interval around each average.

    >>> str(Emission("early", "1 minute"))
    'early, every 1 minute'
    """

    emit: Emit = "final"
    every: Every = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        if self.emit not in ("final", "early"):
            raise ArgumentError("emit", self.emit, "it is 'final' or 'early'")
        for name in ("every", "confidence"):
            if self.emit == "final" and getattr(self, name) is not None:
                reason = "it is about early answers; add emit='early'"
                raise ArgumentError(name, getattr(self, name), reason)
        if self.every is not None and not parse_length("every", self.every).positive:
            raise ArgumentError("every", self.every, "it is a length above 0")
        if self.confidence is not None:
            checked_confidence("confidence", self.confidence)

    @property
    def early(self) -> bool:
        return self.emit == "early"

    def __str__(self) -> str:
        return self.emit if self.every is None else f"{self.emit}, every {self.every}"


#: Each result once, when it is final.
FINALLY = Emission()


def checked_confidence(argument: str, value: object) -> float:
    """Return the share of intervals that hold the mean; raise if it is not between 0 and 1."""
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if not number or not 0 < float(value) < 1:  # type: ignore[arg-type]
        raise ArgumentError(argument, value, "it is a number between 0 and 1, such as 0.95")
    return float(value)  # type: ignore[arg-type]
