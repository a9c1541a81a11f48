"""The zone in which a session reads and shows timestamps."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

from muntin.errors import ArgumentError, did_you_mean

_OFFSET = re.compile(r"[+-][0-9]{2}:[0-9]{2}")


def checked_zone(zone: str) -> str:
    """Return the name of a zone as Spark spells it.

    >>> checked_zone("europe/berlin"), checked_zone("+01:00")
    ('Europe/Berlin', '+01:00')
    """
    if _OFFSET.fullmatch(zone):
        return zone
    known = {name.casefold(): name for name in available_timezones()}
    if zone.casefold() not in known:
        hint = did_you_mean(zone.casefold(), known)
        raise ArgumentError("ZONE", zone, f"there is no such zone{hint}; 'Europe/Berlin' is one")
    return known[zone.casefold()]
