"""An action that could not be done."""

from __future__ import annotations

from muntin.errors import MuntinError


class ActionError(MuntinError, RuntimeError):
    """An action of a trigger failed: says which, and why."""
