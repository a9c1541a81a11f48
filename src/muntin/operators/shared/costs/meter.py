"""Meters: the network names the part that works, and whoever runs it may measure how long.

The network itself reads no clock, because nothing that it returns may depend on one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

#: Parts of a network that are no groups: reading rows and their predicates, and chosen rows.
READING, CHOSEN_ROWS = "reading", "chosen"


class Meter(Protocol):
    """Measures the work of parts, by their names."""

    def work(self, part: str) -> AbstractContextManager[None]:
        """Measure what is done inside of a ``with`` block as work of a part."""


@dataclass(frozen=True)
class NoMeter:
    """Measures nothing."""

    def work(self, part: str) -> AbstractContextManager[None]:
        return nullcontext()


NO_METER = NoMeter()
