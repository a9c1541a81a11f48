"""The input of a plan: a DataFrame, the roles of its columns, and what travels of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.errors import ExpressionError
from muntin.operators.progress.build import punctuator
from muntin.operators.progress.slack import Punctuator
from muntin.spark.columns import condition, named, problem
from muntin.spark.requirements import setting
from muntin.spark.types import bound_type, to_arrow
from muntin.specs.axis import Axis
from muntin.specs.disorder import Disorder, Each, Punctuated


@dataclass(frozen=True, eq=False)
class Source:
    """The stream as the compiler needs it: a DataFrame and the roles of its columns.

    ``digits`` are decimals that its axis has to have beside those it needs itself.
    """

    df: DataFrame
    on: str
    by: tuple[str, ...]
    disorder: Disorder | None
    shards: int
    control: DataFrame | None = None
    clock: bool = False
    functions: Mapping[str, OwnAggregate] = field(default_factory=dict)
    digits: int = 0


@dataclass(frozen=True, eq=False)
class TypedInput:
    """Rows of a source, typed: what travels of them, and the rule of their disorder."""

    source: Source

    @cached_property
    def schema(self) -> spark_types.StructType:
        return self.source.df.schema

    @cached_property
    def axis(self) -> Axis:
        """The line that ``on`` progresses along."""
        raise NotImplementedError

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell rows apart that never meet."""
        return self.source.by

    @property
    def asked(self) -> str:
        """What was asked for, as far as it is text."""
        return ""

    @property
    def is_streaming(self) -> bool:
        return self.source.df.isStreaming

    def prepared(self, *, originals: bool = False) -> DataFrame:
        """What travels: ``on``, the keys and the slots, and the rows if wanted."""
        if not originals:
            return self._needed
        rows = [named(name).alias(f"o{place}") for place, name in enumerate(self.schema.names)]
        return self._analysed([*self._selected(), *rows])

    @cached_property
    def _needed(self) -> DataFrame:
        """What travels without the rows; asked for several times, and Spark analyses it anew."""
        return self._analysed(self._selected())

    def _selected(self) -> list[SparkColumn]:
        keys = [self._key(name).alias(f"k{place}") for place, name in enumerate(self.keys)]
        rows = [*self._evaluated(), *self._for_the_rule(), *self._for_the_window()]
        return [named(self.source.on).alias("on"), *keys, *rows]

    def _evaluated(self) -> list[SparkColumn]:
        """What aggregates look at."""
        return []

    def _for_the_rule(self) -> list[SparkColumn]:
        """What only the punctuator looks at: ``p``, or the columns ``v0..`` of ``mt.each``."""
        match self.source.disorder:
            case Punctuated(where=where):
                return [condition(where).alias("p")]
            case Each(columns=names):
                return [self._key(name).alias(f"v{place}") for place, name in enumerate(names)]
        return []

    def _for_the_window(self) -> list[SparkColumn]:
        """What else an operator looks at."""
        return []

    @cached_property
    def _hashable(self) -> list[str]:
        return [
            field.name
            for field in self.schema.fields
            if "map<" not in field.dataType.simpleString()
            and "variant" not in field.dataType.simpleString()
        ]

    def _key(self, name: str) -> SparkColumn:
        """A key column; -0.0 is 0.0 and NaN is one value, as in Spark's GROUP BY."""
        if not isinstance(self.schema[name].dataType, spark_types.FractionalType) or isinstance(
            self.schema[name].dataType, spark_types.DecimalType
        ):
            return named(name)
        nan = F.lit(float("nan")).cast(self.schema[name].dataType)
        return F.when(F.isnan(named(name)), nan).otherwise(
            named(name) + F.lit(0.0).cast(self.schema[name].dataType)
        )

    def _analysed(self, selected: Sequence[SparkColumn]) -> DataFrame:
        try:
            prepared = self.source.df.select(*selected)
            prepared.schema  # noqa: B018  (Spark Connect analyses only when asked)
        except AnalysisException as error:
            raise ExpressionError(
                f"Spark cannot evaluate this: {problem(error)}; "
                f"the columns are {', '.join(self.schema.names)}",
                self.asked,
            ) from error
        return prepared

    @property
    def ansi(self) -> bool:
        """Whether arithmetic that leaves its type is an error."""
        return setting(self.source.df.sparkSession, "spark.sql.ansi.enabled", "true") == "true"

    @cached_property
    def key_types(self) -> tuple[pa.DataType, ...]:
        return tuple(to_arrow(self.schema[n].dataType, f"by={n!r}") for n in self.keys)

    @property
    def on_type(self) -> pa.DataType:
        """The type of bounds that lie where values of ``on`` do."""
        return bound_type(self.schema[self.source.on].dataType, self.axis.digits)

    @property
    def lateness_type(self) -> pa.DataType:
        """The type of how late a row came."""
        return pa.duration("us") if self.axis.domain.temporal else self.on_type

    @cached_property
    def punctuator(self) -> Punctuator:
        disorder = self.source.disorder
        names = disorder.columns if isinstance(disorder, Each) else ()
        values = [to_arrow(self.schema[n].dataType, f"each={n!r}") for n in names]
        by = self.key_types[: len(self.source.by)]
        return punctuator(disorder, self.axis, by, values)
