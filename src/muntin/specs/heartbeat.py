"""A heartbeat: control rows that a clock makes for streams that go silent."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.errors import ArgumentError
from muntin.specs.lengths import Duration, LengthLike, parse_length


@dataclass(frozen=True)
class Heartbeat:
    """How often a clock makes a row, and how far behind the clock its punctuation is."""

    every: LengthLike = "5 seconds"
    behind: LengthLike = "30 seconds"

    def __post_init__(self) -> None:
        length = parse_length("every", self.every)
        whole = isinstance(length, Duration) and length.micros % 1_000_000 == 0
        if not whole or not length.positive:
            expected = "it is a number of whole seconds, such as '5 seconds'"
            raise ArgumentError("every", self.every, expected)
        late = parse_length("behind", self.behind)
        if not isinstance(late, Duration) or late.negative:
            expected = "it is a length of time such as '30 seconds'"
            raise ArgumentError("behind", self.behind, expected)

    @property
    def seconds(self) -> int:
        """The number of seconds between two rows."""
        return _micros(self.every) // 1_000_000

    @property
    def behind_micros(self) -> int:
        return _micros(self.behind)

    def __str__(self) -> str:
        return f"every {self.every} behind {self.behind}"


def _micros(length: object) -> int:
    duration = parse_length("length", length)
    assert isinstance(duration, Duration)  # it was checked
    return duration.micros
