"""Where the rows of a continuous query go, and whether what is kept is bounded [CQ-1, CQ-6]."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Storage:
    """The four places of a query's rows [CQ-6], in words."""

    stream: str
    store: str
    scratch: str
    throw: str

    def __str__(self) -> str:
        return "\n".join(
            f"{name:<12}{text}"
            for name, text in (
                ("Stream", self.stream),
                ("Store", self.store),
                ("Scratch", self.scratch),
                ("Throw", self.throw),
            )
        )


@dataclass(frozen=True)
class StateVerdict:
    """Whether state is bounded, and why; ``for_ever`` if it grows as long as the query runs.

    ``remedy`` is what would bound it.
    """

    bounded: bool
    for_ever: bool
    why: str
    remedy: str = "a window that ends"

    def __str__(self) -> str:
        if self.bounded:
            return f"bounded: {self.why}"
        return f"{'unbounded' if self.for_ever else 'bounded if'}: {self.why}"
