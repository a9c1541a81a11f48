"""The expressions that make the columns that travel, before anybody has evaluated them.

They are evaluated before the exchange, so that only the columns that an operator needs travel:
natively by Spark, or on Arrow by a worker that reads files itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Name:
    """A column by its name, taken literally."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Sql:
    """SQL text that the parser has read and written out again."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Native:
    """A PySpark Column. Equal only to itself: two different functions may print alike."""

    column: object

    def __str__(self) -> str:
        return str(self.column).removeprefix("Column<'").removesuffix("'>")


@dataclass(frozen=True)
class Where:
    """``value`` where ``condition`` is true, else null."""

    condition: Expression
    value: Expression | None  # None counts rows: the value is 1

    def __str__(self) -> str:
        return f"{self.value or '*'} WHERE {self.condition}"


@dataclass(frozen=True)
class NotNull:
    """Whether every operand has a value."""

    operands: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.operands))} IS NOT NULL"


@dataclass(frozen=True)
class Both:
    """Whether two conditions are both true."""

    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} AND {self.right}"


@dataclass(frozen=True)
class Times:
    """A product of doubles."""

    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} * {self.right}"


@dataclass(frozen=True)
class AsDouble:
    """The operand as a double, cast by Spark and therefore rounded as Spark rounds."""

    operand: Expression

    def __str__(self) -> str:
        return f"{self.operand}"


@dataclass(frozen=True)
class Hashed:
    """A hash of the operand as a whole double below 2**53, null where it is null."""

    operand: Expression

    def __str__(self) -> str:
        return f"{self.operand}"


@dataclass(frozen=True)
class KeyOf:
    """A float or double column as a key: -0.0 is 0.0 and NaN is one value, as in GROUP BY."""

    name: str
    type: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class CastTo:
    """The operand in another type, which is written as in SQL."""

    operand: Expression
    type: str

    def __str__(self) -> str:
        return f"CAST({self.operand} AS {self.type})"


@dataclass(frozen=True)
class Lacking:
    """Whether an operand is null, or NaN if it is one of ``floating``."""

    operands: tuple[Expression, ...]
    floating: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.operands))} IS NULL"


Expression = (
    Name
    | Sql
    | Native
    | Where
    | NotNull
    | Both
    | Times
    | AsDouble
    | Hashed
    | KeyOf
    | CastTo
    | Lacking
)
#: A column that travels: its name, and what it is made of.
Travelling = tuple[str, Expression]
