"""A journey: steps of somebody who is new, each with the seconds that it took, printed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Journey:
    """The steps so far, and how long each took."""

    who: str
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, what: str, at_most: float = 60) -> Iterator[None]:
        """Run a step; it fails if it takes longer than anybody would wait."""
        began = time.monotonic()
        yield
        self.seconds[what] = time.monotonic() - began
        print(f"{self.who}: {what}: {self.seconds[what]:.1f} s")
        assert self.seconds[what] < at_most, what
