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
        """Return what is limited: state, and how long micro-batches may take."""
        return self.engine.spent()

    def qos(self) -> list[Mapping[str, Any]]:
        """Return where each query is on its graphs."""
        return [*self.engine.quality()]

    def summaries(self) -> list[Mapping[str, Any]]:
        """Return the summaries that were declared."""
        return [
            {
                "name": name,
                "stream": summary.stream,
                "attribute": summary.attribute,
                "text": str(summary),
            }
            for name, summary in self.engine.summaries().items()
        ]
