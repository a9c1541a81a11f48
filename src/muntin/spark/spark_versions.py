"""The versions of Spark that Muntin runs on, and what differs between them, all in one place.

Muntin's own answers are the same on each. ``make test-spark SPARK=4.1`` runs the core of the tests
on another version than the one in constraints.txt.
"""

from __future__ import annotations

import re

#: The versions that the core of the tests runs on, the oldest first.
TESTED = ("4.1", "4.2", "4.3")
REQUIREMENT = "pyspark>=4.1,<4.4"
#: What a version lacks or does otherwise. Muntin's aggregates are not among it: they are its own.
_BEFORE_43 = (
    "Spark's own corr fails for a single row with spark.sql.ansi.enabled, where 4.3 and Muntin "
    "return null",
    "Spark's own percentile returns NaN beside infinities and may differ in the last digit",
)
_LACKS = {"4.1": _BEFORE_43, "4.2": _BEFORE_43}


def series(version: str) -> str:
    """Return the series of a version.

    >>> series("4.2.1")
    '4.2'
    """
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else version


def lacks(version: str) -> tuple[str, ...]:
    """Return what a version lacks, as sentences; nothing if it lacks nothing."""
    return _LACKS.get(series(version), ())
