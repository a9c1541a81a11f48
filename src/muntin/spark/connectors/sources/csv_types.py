"""Which type the texts of a CSV column have, as Spark's own reader reads them.

A number that begins with a zero, such as ``00123``, is a text: as a number it would lose its zeros.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_REAL = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NO_NUMBERS = ("NaN", "Inf", "-Inf")
_DAY = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_DATE = re.compile(_DAY)
_TIMESTAMP = re.compile(
    _DAY + r"[ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]{1,9})?)?"
    r" ?(Z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)?"
)
_LEAST, _GREATEST = -(2**63), 2**63 - 1
#: So many digits has the longest decimal.
_MOST_DIGITS = 38


def _is_long(text: str) -> bool:
    return bool(_WHOLE.fullmatch(text)) and _LEAST <= int(text) <= _GREATEST


def _is_decimal(text: str) -> bool:
    return bool(_WHOLE.fullmatch(text)) and len(text.lstrip("+-")) <= _MOST_DIGITS


def _is_real(text: str) -> bool:
    return text in _NO_NUMBERS or bool(_REAL.fullmatch(text))


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text))


def _is_timestamp(text: str) -> bool:
    return bool(_DATE.fullmatch(text) or _TIMESTAMP.fullmatch(text))


def _is_truth(text: str) -> bool:
    return text.lower() in ("true", "false")


#: The types in the order in which they are tried; a column has the first that all its texts have.
_TYPES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("BIGINT", _is_long),
    ("DECIMAL(38,0)", _is_decimal),
    ("DOUBLE", _is_real),
    ("DATE", _is_date),
    ("TIMESTAMP", _is_timestamp),
    ("BOOLEAN", _is_truth),
)
TEXT = "STRING"


def type_of(texts: Iterable[str]) -> str:
    """Return the type that all texts have; without any it is a text.

    >>> type_of(["1", "-20"]), type_of(["1", "2.5"]), type_of(["00123", "4"]), type_of([])
    ('BIGINT', 'DOUBLE', 'STRING', 'STRING')
    >>> type_of(["2026-03-02"]), type_of(["2026-03-02", "2026-03-02 23:56:00"])
    ('DATE', 'TIMESTAMP')
    """
    distinct = set(texts)
    if not distinct or distinct <= set(_NO_NUMBERS):
        return TEXT
    for name, fits in _TYPES:
        if all(map(fits, distinct)):
            return name
    return TEXT
