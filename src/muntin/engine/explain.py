"""x."""

from __future__ import annotations

from muntin.engine.translate import Answer
from muntin.sql.statements import Format


def explained(answer: Answer, format_: Format) -> str:
    """X."""
    return "\n\n".join(str(plan.explanation) for plan in answer.plans.values())
