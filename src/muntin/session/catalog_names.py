"""Which names can be created: those of queries, triggers and sources become folders."""

from __future__ import annotations

import re

from muntin.parser.statements import Kept

#: What would lead out of a folder, or what Spark reads as a pattern or an address.
_NO_FOLDER = re.compile(r"[/\\:*?\[\]{}\x00-\x1f\x7f]|^\.")
#: What a SELECT is called that has no name.
_SELECT = re.compile(r"select_\d+", re.IGNORECASE)


def refusal(what: Kept, name: str) -> str | None:
    """Why a name cannot be used.

    >>> refusal("QUERY", "select_1")
    'select_1 cannot be a name: queries without one are called select_1, select_2, ...'
    >>> refusal("QUERY", "slow segments")
    """
    if _NO_FOLDER.search(name):
        rule = "it becomes a folder, so it has none of / \\ : * ? [ ] { } and no dot at its start"
        return f"{name!r} cannot be a name: {rule}"
    if what == "QUERY" and _SELECT.fullmatch(name):
        return f"{name} cannot be a name: queries without one are called select_1, select_2, ..."
    return None


def unnamed(number: int) -> str:
    """What the query without a name is called that came as this."""
    return f"select_{number}"
