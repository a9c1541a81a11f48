"""How much disorder a stream has, and what becomes of rows that come too late.

A punctuation ``x`` says that no more rows below ``x`` will come (window-id.txt 5.1). The
disorder of a stream is the rule that makes punctuation from the rows seen so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from muntin.semantics.errors import ArgumentError
from muntin.semantics.lengths import Length, parse_length

Late = Literal["generous", "consistent"]


@dataclass(frozen=True)
class Disorder:
    """Rows come at most ``slack`` behind the largest value seen; None means not behind at all.

    ``late`` says what a row may still do when some of its windows have closed: ``generous``
    counts it in those that are open, ``consistent`` in none.
    """

    slack: Length | None
    late: Late

    def __post_init__(self) -> None:
        if self.late not in ("generous", "consistent"):
            raise ArgumentError("late", self.late, "it is 'generous' or 'consistent'")

    def __str__(self) -> str:
        return "ordered" if self.slack is None else f"slack {self.slack}"


def ordered(*, late: Late = "generous") -> Disorder:
    """The stream comes in order of ``on``, across micro-batches.

    A row below the largest value of an earlier micro-batch is late; inside one micro-batch the
    order does not matter.

    >>> print(ordered())
    ordered
    """
    return Disorder(None, late)


def slack(length: object, *, late: Late = "generous") -> Disorder:
    """Rows come at most ``length`` behind the largest ``on`` of the stream so far.

    Windows close that much later. A row whose clock runs ahead moves the punctuation with it,
    so choose the slack by what the source promises and watch ``late`` in the query's progress.

    >>> print(slack("10 seconds"))
    slack 10 seconds
    """
    parsed = parse_length("slack", length)
    if parsed.negative:
        raise ArgumentError("slack", length, "it must not be negative, such as '10 seconds'")
    return Disorder(parsed, late)


def disorder_or_none(given: object) -> Disorder | None:
    """What ``mt.stream`` takes as ``disorder``."""
    if given is None or isinstance(given, Disorder):
        return given
    raise ArgumentError(
        "disorder", given, "it is mt.ordered() or mt.slack('10 seconds'), or None for batch"
    )
