"""What ``explain`` says of plans that take rows in their order: windows over rows, and frames."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.spark.explain.state import said_bounded
from muntin.spark.plan.windows import WindowPlan

#: What all of them keep.
PENDING = "rows that punctuation has not passed"


@dataclass(frozen=True)
class OrderedExplanation:
    """The lines that say what is looked for, and what every such plan has."""

    looked_for: tuple[str, ...]
    aggregates: str
    order: str
    shards: int
    disorder: str | None
    state: str

    @property
    def bounded(self) -> bool:
        """Whether the state has the same size however many rows there are."""
        return said_bounded(self.state)

    def __str__(self) -> str:
        shards = f"{self.shards} shard{'s' * (self.shards > 1)}"
        return "\n".join(
            [
                *self.looked_for,
                *([f"aggregates  {self.aggregates}"] if self.aggregates else []),
                f"order       {self.order}",
                f"exchange    rows travel as they are, once each; {shards}",
                *([f"disorder    {self.disorder}"] if self.disorder else []),
                f"state       {self.state}",
            ]
        )


def ordered_explanation(
    compiled: WindowPlan, *looked_for: str, order: str, disorder: str | None, state: str | None
) -> OrderedExplanation:
    """``state`` is what a stream keeps, None for a batch."""
    by = ", ".join(compiled.source.by) or "the whole stream"
    return OrderedExplanation(
        looked_for=looked_for,
        aggregates=", ".join(str(a) for column in compiled.columns for a in column.aggregates),
        order=f"{order}, within {by}",
        shards=compiled.shards,
        disorder=disorder,
        state=state or "none: a batch is one pass",
    )
