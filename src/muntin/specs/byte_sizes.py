"""Sizes in bytes, as users write and read them."""

from __future__ import annotations

import re

from muntin.errors import ArgumentError

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def size_in_bytes(argument: str, given: object) -> int | None:
    """Return the bytes of a size such as ``"100 MB"``; None stays None.

    >>> size_in_bytes("limit", "1.5 kB")
    1500
    """
    if given is None:
        return None
    if isinstance(given, str):
        match = _SIZE.fullmatch(given)
        unit = "b" if match is None else (match.group(2).lower() or "b")
        size = 0 if match is None else int(float(match.group(1)) * _UNITS.get(unit, 0))
        if size > 0:
            return size
    elif type(given) is int and given > 0:
        return given
    raise ArgumentError(argument, given, "it is a size such as '100 MB', or a number of bytes")


def written_bytes(size: int) -> str:
    """Return a number of bytes with the unit that suits it.

    >>> written_bytes(1500), written_bytes(512_000_000), written_bytes(17)
    ('1.5 kB', '512 MB', '17 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size < 1000 * unit else f"{size // unit:,} {name}"
    return f"{size} bytes"
