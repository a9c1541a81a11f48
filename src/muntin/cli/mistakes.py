"""An error as machines read it, the same from every command."""

from __future__ import annotations

import json


def as_json(error: Exception, told: str | None = None) -> str:
    """What went wrong, its kind, and the place in the text if it has one.

    >>> as_json(ValueError("no"))
    '{"error": "no", "kind": "ValueError"}'
    """
    place = getattr(error, "place", None)
    where = {} if place is None else {"line": place.line, "column": place.column}
    said = str(error) if told is None else told
    return json.dumps({"error": said, "kind": type(error).__name__, **where})
