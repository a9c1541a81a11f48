"""The expressions that an aggregate is applied to, before Spark has seen them.

Muntin never evaluates them: they are given to Spark, which computes them natively before the
exchange, so that only the columns an aggregate needs travel.
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


Expression = Name | Sql | Native | Where | NotNull | Both | Times | AsDouble | Hashed
