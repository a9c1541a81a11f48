"""Refused rows of one input or several, as one DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from muntin.spark.columns import named

#: What is said of a refused row beside its columns.
_SAID = ("reason", "lateness")


@dataclass(frozen=True)
class RefusedColumns:
    """The columns that refused rows of each input have; a plain value, sent to sinks.

    Those of one input are its own. Those of several stand in one DataFrame with the column
    ``input``, which names theirs; a column that an input does not have is null.
    """

    names: tuple[str, ...]
    schemas: tuple[StructType, ...]

    def together(self, rows: Sequence[DataFrame]) -> DataFrame:
        """The refused rows of all inputs, in their order."""
        if len(rows) == 1:
            return rows[0]
        made = [
            df.select(F.lit(name).alias("input"), *self._columns(schema))
            for name, schema, df in zip(self.names, self.schemas, rows, strict=True)
        ]
        return reduce(DataFrame.unionByName, made)

    def _columns(self, schema: StructType) -> list[Column]:
        return [
            (named(field.name) if field.name in schema.names else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in self._fields
        ]

    @property
    def _fields(self) -> list[StructField]:
        """Every column once, as text where two inputs have it with different types."""
        found: dict[str, StructField] = {}
        for schema in self.schemas:
            for field in schema.fields:
                known = found.setdefault(field.name, StructField(field.name, field.dataType))
                if known.dataType != field.dataType:
                    found[field.name] = StructField(field.name, StringType())
        said = [found.pop(name) for name in _SAID]
        return [*found.values(), *said]
