"""What happens to the windows of a key, or a value, from which no more rows come.

Where order holds within each key (or sensor, or partition), a quiet key does not show how far it
has come. The user decides whether its windows wait.
"""

from __future__ import annotations

from dataclasses import dataclass

from muntin.errors import ArgumentError
from muntin.specs.lengths import Duration, Length, LengthLike, parse_length


@dataclass(frozen=True)
class Wait:
    """The stream waits for a quiet key, as long as it takes."""

    def __str__(self) -> str:
        return "wait"


@dataclass(frozen=True)
class Follow:
    """No key stays more than ``length`` behind the furthest key."""

    length: Length

    def __str__(self) -> str:
        return f"follow within {self.length}"


@dataclass(frozen=True)
class Clock:
    """A key that is silent for ``length`` by the clock follows the furthest key from then on."""

    length: Duration

    def __str__(self) -> str:
        return f"follow after {self.length} by the clock"


Idle = Wait | Follow | Clock


def wait() -> Wait:
    """Keep the windows of a quiet key open until its next row.

    >>> print(wait())
    wait
    """
    return Wait()


def follow(length: LengthLike) -> Follow:
    """Follow the furthest key: no key stays more than ``length`` (in units of ``on``) behind it.

    >>> print(follow("5 minutes"))
    follow within 5 minutes
    """
    parsed = parse_length("follow", length)
    if parsed.negative:
        raise ArgumentError("follow", length, "it must not be negative, such as '5 minutes'")
    return Follow(parsed)


def clock(length: LengthLike) -> Clock:
    """Let a key that is silent for ``length`` by the clock follow the furthest key.

    The clock comes as rows (``mt.heartbeat``), so that a stream can be replayed.

    >>> print(clock("30 seconds"))
    follow after 30 seconds by the clock
    """
    parsed = parse_length("clock", length)
    if not isinstance(parsed, Duration) or not parsed.positive:
        raise ArgumentError("clock", length, "it is a length of time such as '30 seconds'")
    return Clock(parsed)


def idle_rule(given: object) -> Idle:
    """Return the ``idle`` argument of ``per_key`` and ``each``; raise if it is not a rule."""
    if isinstance(given, Wait | Follow | Clock):
        return given
    raise ArgumentError(
        "idle", given, "it is mt.wait(), mt.follow('5 minutes') or mt.clock('30 seconds')"
    )
