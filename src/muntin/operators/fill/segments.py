"""Where bounds come from: the results of an operator as segments that can be filled."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.ticks import order_of_ticks, to_ticks
from muntin.operators.common.columns import key_fields
from muntin.operators.fill.horizon import Horizon
from muntin.operators.protocol import Open, Operator, Punctuation, Step
from muntin.specs.axis import Axis
from muntin.specs.fill import CLOSED, Edge
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class OperatorSegments:
    """Results of ``operator``, from column ``start`` to column ``end``.

    ``edges`` are those of windows over values, whose next window begins before what is complete.
    ``fragments`` says that a segment may be reported several times, each time longer.
    """

    operator: Operator
    axis: Axis
    keys: tuple[pa.DataType, ...]
    start: str = "frame_start"
    end: str = "frame_end"
    edge: Edge = field(default_factory=lambda: CLOSED)
    edges: Edges | None = None
    fragments: bool = False

    @property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    def bounds(self, results: pa.Table) -> tuple[Ints, Ints]:
        """Where results begin and end, as orders."""
        start, end = (results[name].combine_chunks() for name in (self.start, self.end))
        return to_ticks(start, self.axis).order, to_ticks(end, self.axis).order

    def whole(self, results: pa.Table) -> npt.NDArray[np.bool_]:
        """Which results are not fragments, of which more will follow."""
        if not self.fragments:
            return np.ones(results.num_rows, np.bool_)
        final: npt.NDArray[np.bool_] = np.array(results["status"].to_pylist()) == "final"
        return final

    def horizon(self, punctuation: Punctuation, step: Step) -> Horizon:
        """No segment to come begins below this."""
        return Horizon.of(punctuation, step.open or self._nothing, self.reach)

    def default_before(self, punctuation: Punctuation) -> int:
        """The horizon of keys of which nothing was known before a step."""
        return Horizon.default_of(punctuation, self.reach, before=True)

    @property
    def _nothing(self) -> Open:
        none = pa.schema(key_fields(self.keys)).empty_table()
        return Open(none, np.empty(0, np.int64))

    def reach(self, ticks: Ints) -> Ints:
        """Where a segment can begin at the earliest when ticks are complete."""
        ticks = np.maximum(ticks, -self.axis.limit)
        if self.edges is None:
            return order_of_ticks(ticks, self.axis)
        edges = self.edges
        if edges.landmark:
            return order_of_ticks(np.full(len(ticks), edges.origin), self.axis)
        following = (ticks - edges.origin) // edges.slide
        start = edges.origin + (following + 1) * edges.slide - edges.range
        if edges.clipped:
            start = np.maximum(start, edges.origin)
        return order_of_ticks(start, self.axis)
