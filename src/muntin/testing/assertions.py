"""Assertions about rows: exact, and readable when they fail."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


def assert_same_rows(
    actual: Iterable[Mapping[str, Any] | Any], expected: Iterable[Mapping[str, Any] | Any]
) -> None:
    """Assert that both have the same rows, each as often, in any order. NaN equals NaN.

    Rows are mappings or PySpark rows. Values must be equal: there is no tolerance.

    >>> assert_same_rows([{"n": 1}], [{"n": 2}])
    Traceback (most recent call last):
    ...
    AssertionError: 1 row missing, 1 row too many
      missing   n=2
      too many  n=1
    """
    counted, wanted = Counter(map(_frozen, actual)), Counter(map(_frozen, expected))
    missing, extra = list((wanted - counted).elements()), list((counted - wanted).elements())
    if missing or extra:
        lines = [f"{_count(missing)} missing, {_count(extra)} too many"]
        lines += [f"  missing   {_shown(row)}" for row in sorted(missing, key=str)[:20]]
        lines += [f"  too many  {_shown(row)}" for row in sorted(extra, key=str)[:20]]
        raise AssertionError("\n".join(lines))


def _frozen(row: Mapping[str, Any] | Any) -> tuple[tuple[str, Any], ...]:
    fields = row if isinstance(row, Mapping) else row.asDict()
    return tuple((name, _comparable(value)) for name, value in fields.items())


def _comparable(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, Mapping) or hasattr(value, "asDict"):
        return ("struct", _frozen(value))
    if isinstance(value, list):
        return ("array", tuple(map(_comparable, value)))
    # True == 1 and 1 == 1.0 in Python, but not in a typed column.
    return (type(value).__name__, value)


def _count(rows: list[Any]) -> str:
    return f"{len(rows)} row{'' if len(rows) == 1 else 's'}"


def _shown(row: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"{name}={value[1] if value != 'NaN' else value}" for name, value in row)
