"""Mark fields that may change between two runs on one checkpoint.

All other fields of specifications, aggregates and plans are in the fingerprint of a checkpoint:
whoever adds a field need not think of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEY = "checkpoint"
#: The metadata of a field that results and state do not depend on, or that has its own rule.
MAY_CHANGE: Mapping[str, str] = {_KEY: "may change"}


def may_change(field: Any) -> bool:
    """Return True if a field of a dataclass is not part of a checkpoint's fingerprint."""
    return field.metadata.get(_KEY) == MAY_CHANGE[_KEY] or not field.compare
