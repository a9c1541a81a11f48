"""Whether a query on a stream keeps a bounded state (prior-art-spec-1.md, CQ-7)."""

from __future__ import annotations

from muntin.engine.translate import Answer


def check_bounded(answer: Answer) -> None:
    """X."""
