"""The plan of frames that were found before, which rows of other inputs fill."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column as SparkColumn

from muntin.operators.fill.stored_frames import StoredFrameSegments
from muntin.spark.columns import named
from muntin.spark.plan.results import ResultNames
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.types import to_arrow
from muntin.specs.fill import StoredFramesSpec


@dataclass(frozen=True, eq=False)
class StoredFramesPlan(WindowPlan):
    """Stored frames; their other columns come back in the results."""

    @property
    def stored(self) -> StoredFramesSpec:
        assert isinstance(self.spec, StoredFramesSpec)
        return self.spec

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The columns that are neither keys nor bounds."""
        own = {*self.source.by, self.source.on, self.stored.end}
        return tuple(name for name in self.schema.names if name not in own)

    @property
    def region_bounds(self) -> tuple[str, str] | None:
        if self.stored.along is None:
            return None
        low, high = (f"r{self.kept.index(name)}" for name in self.stored.along)
        return low, high

    def _for_the_window(self) -> list[SparkColumn]:
        kept = [named(name).alias(f"r{place}") for place, name in enumerate(self.kept)]
        return [named(self.stored.end).alias("until"), *kept]

    @cached_property
    def operator(self) -> StoredFrameSegments:
        return StoredFrameSegments(
            axis=self.axis,
            keys=self.key_types,
            kept=tuple(to_arrow(self.schema[name].dataType, name) for name in self.kept),
            bound_type=self.on_type,
            lateness_type=self.lateness_type,
            names=self.stored.names,
        )

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        return self.stored.names

    @cached_property
    def naming(self) -> ResultNames:
        kept = tuple((name, 1, None) for name in self.kept)
        return ResultNames(self.keys, self.bounds, self.prefix, kept, first=self.stored.first)
