"""What the engine says of quality of service, budgets and summaries, as the API describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muntin.engine.engine import Engine


@dataclass(frozen=True)
class Measures:
    """Reads the engine's figures about too much; an engine that has none answers with none.

    Args:
        engine: The engine.
    """

    engine: Engine

    def budgets(self) -> list[dict[str, Any]]:
        """Return what is limited: state, if the engine was given a budget of memory."""
        if self.engine.memory is None:
            return []
        used = self.engine.estimated_bytes()
        return [
            {"name": "memory", "used": used, "limit": self.engine.memory, "unit": "bytes"},
        ]

    def qos(self) -> list[Mapping[str, Any]]:
        """Return where each query is on its graphs."""
        return []

    def summaries(self) -> list[Mapping[str, Any]]:
        """Return the summaries that the engine keeps."""
        return []
