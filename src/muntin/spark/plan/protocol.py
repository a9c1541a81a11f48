"""What a plan is made of, whatever it computes: inputs, an operator, names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from muntin.operators.progress.slack import Punctuator
from muntin.operators.protocol import Operator
from muntin.spark.types import to_spark
from muntin.specs.axis import Axis


@dataclass(frozen=True, eq=False)
class PlanInput:
    """One input of a plan, as far as an operator does not know it.

    ``prepared`` makes the columns that travel, with the original ones if they are wanted; ``name``
    is what refused rows call the input, and ``schema`` has its columns. Of a streaming plan some
    inputs may be ``preset``: batches that are complete when it starts.
    """

    name: str
    prepared: Callable[[bool], DataFrame]
    schema: StructType
    lateness_type: pa.DataType
    punctuator: Punctuator
    axis: Axis
    control: DataFrame | None = None
    everywhere: bool = False
    preset: bool = False
    may_refuse: bool = False

    @property
    def refused_schema(self) -> StructType:
        """The original columns, why a row was refused, and how late it was."""
        late = to_spark(self.lateness_type)
        said = [StructField("reason", StringType()), StructField("lateness", late)]
        return StructType([*self.schema.fields, *said])


class Finisher(Protocol):
    """What makes results of what the operator reports."""

    def apply(self, flat: DataFrame) -> DataFrame:
        """The results, under the names that the user knows."""


class PlanParts(Protocol):
    """Everything that drivers and sinks ask for."""

    @property
    def feeds(self) -> Sequence[PlanInput]:
        """The inputs, in the order in which the operator numbers them."""

    @property
    def operator(self) -> Operator:
        """The operator that streams run."""

    @property
    def batch_operator(self) -> Operator:
        """The operator that batches run, which may know a shorter way."""

    @property
    def shards(self) -> int:
        """How many parts the work has."""

    @property
    def is_streaming(self) -> bool:
        """Whether the inputs are streams."""

    @property
    def flat_schema(self) -> StructType:
        """The operator's result schema in Spark's types."""

    @property
    def finisher(self) -> Finisher:
        """What makes results of what the operator reports."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What must not change between runs on one checkpoint, in words."""

    @property
    def label(self) -> str:
        """What the plan is about: under this the counts stand in a query's progress."""

    def explained(self) -> object:
        """What ``explain`` prints, as data."""
