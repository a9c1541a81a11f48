"""Refused rows of one input or several, as one DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from muntin.spark.columns import named

#: The columns that refused rows have besides their own.
_SAID = ("reason", "lateness")


@dataclass(frozen=True)
class RefusedColumns:
    """The columns of the refused rows of each input; a plain value that is sent to sinks.

    The refused rows of one input have its own columns. Those of several inputs are in one
    DataFrame, whose column ``input`` has the name of the input. A column that an input does not
    have is null.
    """

    names: tuple[str, ...]
    schemas: tuple[StructType, ...]

    def together(self, rows: Sequence[DataFrame]) -> DataFrame:
        """Return the refused rows of all inputs as one DataFrame."""
        if len(rows) == 1:
            return rows[0]
        frames = [
            df.select(F.lit(name).alias("input"), *self._columns(schema))
            for name, schema, df in zip(self.names, self.schemas, rows, strict=True)
        ]
        return reduce(DataFrame.unionByName, frames)

    def _columns(self, schema: StructType) -> list[Column]:
        return [
            (named(field.name) if field.name in schema.names else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in self._fields
        ]

    @property
    def _fields(self) -> list[StructField]:
        """Every column once; as text if two inputs have it with different types."""
        by_name: dict[str, StructField] = {}
        for schema in self.schemas:
            for field in schema.fields:
                known = by_name.setdefault(field.name, StructField(field.name, field.dataType))
                if known.dataType != field.dataType:
                    by_name[field.name] = StructField(field.name, StringType())
        about_refusal = [by_name.pop(name) for name in _SAID]
        return [*by_name.values(), *about_refusal]
