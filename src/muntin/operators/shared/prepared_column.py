"""Columns that Spark prepares: what workers cannot evaluate, or what is not carried."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyarrow as pa

from muntin.expressions.spark_expressions import Expression, Name

#: How the names of columns begin that Spark evaluates.
_PREFIX = "_spark_"


@dataclass(frozen=True)
class PreparedColumn:
    """A column of an input of a stream that Spark makes of the input's own columns.

    Args:
        of: The number of the input.
        name: Its name; equal expressions have equal names.
        expression: What Spark evaluates.
        type: Its type, as workers get it.
    """

    of: int
    name: str
    expression: Expression
    type: pa.DataType

    @classmethod
    def evaluated(cls, of: int, expression: Expression, type_: pa.DataType) -> PreparedColumn:
        """Return a column for an expression."""
        digest = hashlib.sha256(f"{expression!r} {type_}".encode()).hexdigest()
        return cls(of, _PREFIX + digest[:16], expression, type_)

    @classmethod
    def carried(cls, of: int, name: str, type_: pa.DataType) -> PreparedColumn:
        """Return a column of the source that the stream did not carry."""
        return cls(of, name, Name(name), type_)

    @property
    def is_evaluated(self) -> bool:
        """True if Spark evaluates it; false if it is a column of the source."""
        return self.expression != Name(self.name)
