"""A table with extreme values of every type, and random expressions over it.

An expression has two texts: in the first it raises where it fails, in the second it is null there,
with Spark's ``try_`` functions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

NAN, INF = float("nan"), float("inf")
MOMENT = datetime(2026, 3, 29, 0, 30)  # half an hour before clocks in Berlin go forward

#: Values of each column; None is added to all of them.
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "y": (pa.int8(), [0, 1, -1, 7, 127, -128]),
    "h": (pa.int16(), [0, 1, -7, 300, 2**15 - 1, -(2**15)]),
    "i": (pa.int32(), [0, 1, -1, 7, -7, 65536, 2**31 - 1, -(2**31)]),
    "k": (pa.int64(), [0, 1, -1, 7, 2**40, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "f": (pa.float32(), [0.0, -0.0, 1.5, -2.5, 0.1, 3e38, NAN, INF, -INF]),
    "x": (pa.float64(), [0.0, -0.0, 1.5, -2.5, 0.5, 0.1, 1e300, 5e-324, 2.0**53, NAN, INF, -INF]),
    "d": (
        pa.decimal128(10, 2),
        [Decimal(text) for text in ("0.00", "1.00", "-7.25", "2.50", "99999999.99", "-0.05")],
    ),
    "w": (
        pa.decimal128(30, 10),
        [Decimal(text) for text in ("0", "1.5", "-99999999999999999999.9999999999", "1e-10")],
    ),
    "s": (pa.string(), ["", "a", "ab", "B", "a%b", "a_b", " a ", "Zürich", "-7", " 3 ", "x1"]),
    "b": (pa.bool_(), [True, False]),
    "day": (
        pa.date32(),
        [date(2026, 3, 29), date(2026, 3, 28), date(1969, 12, 31), date(2000, 2, 29)],
    ),
    "ts": (
        pa.timestamp("us", tz="UTC"),
        [
            MOMENT,
            MOMENT + timedelta(hours=1, microseconds=1),
            MOMENT + timedelta(days=210, minutes=45),
            datetime(1969, 12, 31, 23, 59, 59, 999_999),
            datetime(1901, 1, 1, 12),
            datetime(2045, 7, 1, 22, 30),
        ],
    ),
    "tn": (
        pa.timestamp("us"),
        [
            datetime(2026, 3, 29, 2, 30),
            datetime(2026, 10, 25, 2, 30),
            datetime(1969, 12, 31, 23, 59, 59, 1),
            datetime(2000, 2, 29),
        ],
    ),
}
TYPES = {name: type_ for name, (type_, _) in VALUES.items()} | {
    "st": pa.struct([("Num", pa.int32()), ("Name", pa.string())])
}


def extreme_table(rows: int, seed: int) -> pa.Table:
    """Return random rows of these values; the first rows have every value at least once."""
    chance = random.Random(seed)
    columns = {}
    for name, (type_, values) in VALUES.items():
        every = [None, *values]
        drawn = [*every, *(chance.choice(every) for _ in range(rows - len(every)))]
        chance.shuffle(drawn)
        columns[name] = pa.array(drawn, type_)
    structs = [
        chance.choice([None, {"Num": None, "Name": "n"}, {"Num": 2**31 - 1, "Name": None}])
        for _ in range(rows)
    ]
    return pa.table({**columns, "st": pa.array(structs, TYPES["st"])})


@dataclass(frozen=True)
class Both:
    """The text of an expression that raises, and of the same with ``try_`` functions."""

    raising: str
    trying: str


def same(text: str) -> Both:
    return Both(text, text)


_SIGNS = {
    "+": "try_add",
    "-": "try_subtract",
    "*": "try_multiply",
    "/": "try_divide",
    "%": "try_mod",
}
_NUMBERS = ["y", "h", "i", "k", "f", "x", "d", "w"]
_LITERALS = ["0", "1", "-1", "7", "2.5", "0.05", "1e0", "3000000000", "-2147483648", "NULL", "100Y"]
_WHOLE = ["y", "h", "i", "k"]
_TARGETS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12,3)", "BOOLEAN"]


class Expressions:
    """Draws random expressions."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def condition(self, depth: int) -> Both:
        if depth == 0:
            return same(self.chance.choice(["b", "TRUE", "s = 'ab'", "i IS NULL", "b IS NOT TRUE"]))
        makers: list[Callable[[int], Both]] = [
            *(self._comparison,) * 4,
            *(self._logic,) * 2,
            self._among,
            self._between,
        ]
        return self.chance.choice(makers)(depth - 1)

    def number(self, depth: int) -> Both:
        if depth == 0:
            return same(self.chance.choice([*_NUMBERS * 2, *_LITERALS, "st.num"]))
        makers: list[Callable[[int], Both]] = [
            *(self._arithmetic,) * 5,
            self._cast,
            self._case,
            self._coalesce,
            self._least,
            self._div,
        ]
        return self.chance.choice(makers)(depth - 1)

    def _filled(self, form: str, *parts: Both) -> Both:
        return Both(
            form.format(*(part.raising for part in parts)),
            form.format(*(part.trying for part in parts)),
        )

    def _arithmetic(self, depth: int) -> Both:
        sign = self.chance.choice(list(_SIGNS))
        left, right = self.number(depth), self.number(self.chance.randint(0, depth))
        return Both(
            f"({left.raising} {sign} {right.raising})",
            f"{_SIGNS[sign]}({left.trying}, {right.trying})",
        )

    def _div(self, depth: int) -> Both:
        return same(f"({self.chance.choice(_WHOLE)} DIV {self.chance.choice(['3', '-7', '2Y'])})")

    def _cast(self, depth: int) -> Both:
        part, target = self.number(depth), self.chance.choice(_TARGETS[:-1])
        return Both(f"CAST({part.raising} AS {target})", f"try_cast({part.trying} AS {target})")

    def _case(self, depth: int) -> Both:
        form = "CASE WHEN {0} THEN {1} WHEN {2} THEN {3} ELSE {4} END"
        parts = [self.condition(depth), self.number(depth), self.condition(0), self.number(0)]
        return self._filled(form, *parts, self.number(depth))

    def _coalesce(self, depth: int) -> Both:
        return self._filled("coalesce({}, {}, {})", *(self.number(depth) for _ in range(3)))

    def _least(self, depth: int) -> Both:
        form = self.chance.choice(["least({}, {})", "greatest({}, {})"])
        return self._filled(form, self.number(depth), self.number(depth))

    def _comparison(self, depth: int) -> Both:
        sign = self.chance.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        return self._filled(f"({{}} {sign} {{}})", self.number(depth), self.number(depth))

    def _logic(self, depth: int) -> Both:
        form = self.chance.choice(["({} AND {})", "({} OR {})", "(NOT {} OR {})"])
        return self._filled(form, self.condition(depth), self.condition(depth))

    def _among(self, depth: int) -> Both:
        form = self.chance.choice(["({} IN ({}, {}))", "({} NOT IN ({}, {}))"])
        return self._filled(form, self.number(depth), self.number(0), self.number(0))

    def _between(self, depth: int) -> Both:
        return self._filled("({} BETWEEN {} AND {})", *(self.number(d) for d in (depth, 0, 0)))
