"""The audit log: who changed or asked what, and what was refused; a line of JSON each.

It never has a token, a cookie, or a secret of a text. It is kept in the home, for its owner, in
five files of 10 MB at most.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from muntin.parser.hidden_secrets import without_secrets
from muntin.server.security.roles import Caller

FILE = "audit.log"
_MOST_BYTES, _FILES = 10_000_000, 4
#: The longest text that is noted.
_LONGEST = 4_000
#: What of a request is noted; everything else could be anything.
_NOTED = ("name", "text", "on", "at", "where", "into", "start", "ttl", "owner")


class AuditLog:
    """Writes lines to a file in a folder; from any thread.

    Args:
        folder: The home.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / FILE
        os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
        self._handler = RotatingFileHandler(path, maxBytes=_MOST_BYTES, backupCount=_FILES)
        self._handler.setFormatter(logging.Formatter("%(message)s"))

    def close(self) -> None:
        self._handler.close()

    def note(
        self, caller: Caller | None, address: str, method: str, path: str, status: int, body: bytes
    ) -> None:
        """Note a request and the status of its answer."""
        line: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "address": address,
            "who": None if caller is None else caller.name,
            "role": None if caller is None or caller.role is None else caller.role.word,
            "method": method,
            "path": path[:_LONGEST],
            "status": status,
            **noted(body),
        }
        text = json.dumps(line, ensure_ascii=False)
        record = logging.LogRecord("muntin.audit", logging.INFO, "", 0, text, None, None)
        self._handler.handle(record)


def noted(body: bytes) -> Mapping[str, object]:
    r"""Return what is noted of the body of a request, without secrets.

    >>> noted(b'{"text": "SELECT 1", "token": "muntin_x"}')
    {'text': 'SELECT 1'}
    """
    try:
        given = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {"unreadable": len(body)}
    if not isinstance(given, dict):
        return {"unreadable": len(body)}
    arguments = given.get("arguments")
    flat = {**(arguments if isinstance(arguments, dict) else {}), **given}
    return {
        name: without_secrets(str(flat[name]))[:_LONGEST]
        for name in _NOTED
        if flat.get(name) is not None
    }
