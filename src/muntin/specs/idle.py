"""What becomes of a key, or a value, from which nothing comes any more.

Where order holds within each key (or sensor, or partition), a quiet one says nothing of how far
it has come. Somebody has to decide whether its windows wait.
"""

from __future__ import annotations

from dataclasses import dataclass

from muntin.errors import ArgumentError
from muntin.specs.lengths import Duration, Length, parse_length


@dataclass(frozen=True)
class Wait:
    """A quiet one is waited for, as long as it takes."""

    def __str__(self) -> str:
        return "wait"


@dataclass(frozen=True)
class Follow:
    """Nobody stays more than ``length`` behind the furthest."""

    length: Length

    def __str__(self) -> str:
        return f"follow within {self.length}"


@dataclass(frozen=True)
class Clock:
    """Who is silent for ``length`` by the clock follows the furthest from then on."""

    length: Duration

    def __str__(self) -> str:
        return f"follow after {self.length} by the clock"


Idle = Wait | Follow | Clock


def wait() -> Wait:
    """Return the windows of a quiet key stay open until it speaks again.

    >>> print(wait())
    wait
    """
    return Wait()


def follow(length: object) -> Follow:
    """Follow the furthest key: no key stays more than ``length`` (in units of ``on``) behind it.

    >>> print(follow("5 minutes"))
    follow within 5 minutes
    """
    parsed = parse_length("follow", length)
    if parsed.negative:
        raise ArgumentError("follow", length, "it must not be negative, such as '5 minutes'")
    return Follow(parsed)


def clock(length: object) -> Clock:
    """Let a key from which nothing came for ``length`` by the clock follow the furthest key.

    The clock comes as rows (``mt.heartbeat``), so that a stream can be replayed.

    >>> print(clock("30 seconds"))
    follow after 30 seconds by the clock
    """
    parsed = parse_length("clock", length)
    if not isinstance(parsed, Duration) or not parsed.positive:
        raise ArgumentError("clock", length, "it is a length of time such as '30 seconds'")
    return Clock(parsed)


def idle_rule(given: object) -> Idle:
    """Return what ``per_key`` and ``each`` take as ``idle``."""
    if isinstance(given, Wait | Follow | Clock):
        return given
    raise ArgumentError(
        "idle", given, "it is mt.wait(), mt.follow('5 minutes') or mt.clock('30 seconds')"
    )
