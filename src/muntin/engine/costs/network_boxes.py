"""Boxes of a network and the arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class NetworkBox:
    """A box of a network.

    Attributes:
        id: Its name among the boxes.
        kind: ``source``, ``connection point``, ``part``, ``query``, ``sink`` or ``tap``.
        title: What it is.
        figures: What was counted there.
    """

    id: str
    kind: str
    title: str
    figures: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkArrow:
    """An arrow from one box to another, by their ids, and the rows that took it, if counted."""

    start: str
    end: str
    rows: int | None
