"""The plan of early answers: that of windows or frames, with what is open reported as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError
from muntin.operators.build import early
from muntin.operators.common.early_answers import EarlyAnswers
from muntin.operators.protocol import Operator
from muntin.spark.plan.inputs import PlanInput, StreamInput
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.results import ResultNames
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.axis import Axis
from muntin.specs.emission import CHANGE, FINAL, Emission
from muntin.specs.fill import StoredFramesSpec
from muntin.specs.lengths import parse_length
from muntin.specs.resample import Instants


@dataclass(frozen=True, eq=False)
class EarlyPlan(PlanParts):
    """Windows or frames whose answers are reported before they are final, with their changes."""

    plain: WindowPlan
    emission: Emission

    @property
    def stream(self) -> StreamInput:
        return self.plain.stream

    @property
    def inputs(self) -> Sequence[PlanInput]:
        return self.plain.inputs

    @cached_property
    def operator(self) -> EarlyAnswers:
        return early_operator(self.plain, self.plain.operator, self.emission)

    @cached_property
    def batch_operator(self) -> EarlyAnswers:
        return early_operator(self.plain, self.plain.batch_operator, self.emission)

    @cached_property
    def finisher(self) -> ResultNames:
        names = self.plain.finisher
        return replace(names, bounds=(*names.bounds, CHANGE, FINAL))

    @cached_property
    def identity(self) -> Mapping[str, str]:
        return {**self.plain.identity, "answers": str(self.emission)}

    @property
    def zone(self) -> str:
        return self.plain.zone

    def read_in(self, zone: str) -> object:
        return self.plain.read_in(zone)

    @property
    def shards(self) -> int:
        return self.plain.shards

    @property
    def _digested(self) -> tuple[tuple[str, ...], str]:
        kind, text = self.plain._digested
        return (*kind, "early"), f"{text}, {self.emission}"

    def check_streams(self) -> None:
        self.plain.check_streams()


def early_operator(plain: WindowPlan, operator: Operator, emission: Emission) -> EarlyAnswers:
    """Return the operator of a plan with early answers; raise if these have no meaning."""
    assert not isinstance(plain.spec, StoredFramesSpec | Instants)  # they have no aggregates
    return early(plain.spec, operator, ticks_between(plain.axis, emission))


def ticks_between(axis: Axis, emission: Emission) -> int | None:
    """Return the ticks between two reports of what is open; None for every micro-batch."""
    if emission.every is None:
        return None
    return axis.length("every", parse_length("every", emission.every))


def with_intervals(columns: Sequence[Column], confidence: float | None) -> list[Column]:
    """Return the columns, each average followed by the ends of its confidence interval."""
    if confidence is None:
        return [*columns]
    together: list[Column] = []
    for column in columns:
        together.append(column)
        if is_average(column):
            (mean,) = column.aggregates
            together += [_end_of(column, mean, f"avg_{end}", confidence) for end in ("low", "high")]
    if len(together) == len(columns):
        reason = "no column is an average; name one, such as 'avg(speed) AS mean'"
        raise ArgumentError("confidence", confidence, reason)
    return together


def is_average(column: Column) -> bool:
    """Return whether a column is an average and nothing else."""
    averages = [aggregate.function == "avg" for aggregate in column.aggregates]
    return column.outer is None and averages == [True]


def _end_of(column: Column, mean: Aggregate, function: str, confidence: float) -> Column:
    name = f"{column.name}_{function.removeprefix('avg_')}"
    end = replace(mean, function=function, options=(float(confidence),), name=name)
    return Column(name, (end,))
