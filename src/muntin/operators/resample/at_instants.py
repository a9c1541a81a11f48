"""Instants that another stream gives: each is told once, when the rows around it are certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, Ints, Mask
from muntin.kernels.grouping import key_and_pane
from muntin.kernels.ticks import from_order
from muntin.operators.common.columns import key_fields
from muntin.operators.common.completeness import Front
from muntin.operators.fill.held_rows import reached
from muntin.operators.join.asof import AsofJoinOperator, RightRows
from muntin.operators.join.held_rows import GONE, HeldSide, Pool
from muntin.operators.resample.at_grid import value_fields
from muntin.operators.resample.neighbours import Neighbours


@dataclass(frozen=True)
class Given(AsofJoinOperator):
    """Left rows are instants, of which one in each place is told; right rows have the values.

    Results have the keys ``k0..``, the instant ``at``, values ``r0..`` and ``gap``.
    """

    values: Neighbours
    bound_type: pa.DataType

    @cached_property
    def result_schema(self) -> pa.Schema:
        return pa.schema(
            [*key_fields(self.sides[0].keys), *value_fields(self.bound_type, self.values)]
        )

    @property
    def patient(self) -> bool:
        return True

    def _due(self, waiting: HeldSide, fronts: Sequence[Front]) -> Mask:
        """An instant waits for what is before and behind it, and for others in its place."""
        least, most = waiting.held.bounds
        low, high = fronts[0].lifted()
        some = low < high
        return super()._due(waiting, fronts) | reached(least, most, low[some], high[some] - 1)

    def _results(
        self, known: RightRows, asking: Pool, fronts: Sequence[Front]
    ) -> tuple[Mask, pa.Table]:
        certain = self._certain(known, asking, fronts)
        first = _first_in_place(known, asking, np.flatnonzero(certain))
        before, behind = known.around(self.look, asking.order)
        place = np.append(known.succession.place, -1)
        around = place[before[first]], place[behind[first]]
        order = asking.order[first]
        columns = list(asking.rows.select(self.key_names).take(pa.array(first)).columns)
        columns.append(from_order(order, self.look.axis, self.bound_type))
        columns += self.values.made(known.rows, *around, order)
        return certain, pa.Table.from_arrays(columns, schema=self.result_schema)

    def _certain(self, known: RightRows, asking: Pool, fronts: Sequence[Front]) -> Mask:
        """Nobody else comes to the instant's place, and its values are known."""
        order = asking.order
        alone = order < fronts[0].after(asking.rows.select(self.key_names))
        alone &= asking.mark != GONE
        if self.values.how != "linear":
            return alone & known.answer(self.look, asking, fronts[1])[1]
        complete = known.complete(fronts[1])
        before, behind = known.around(self.look, order)
        place = np.append(known.succession.order, 0)
        between = (behind >= 0) & (place[behind] < complete)
        # With nothing before it, whatever is behind makes no line.
        known_now = (order < complete) & (between | (before < 0))
        certain: Mask = alone & (known_now | (complete == EVER))
        return certain


def _first_in_place(known: RightRows, asking: Pool, chosen: Ints) -> Ints:
    """Of the chosen instants one for each key and order."""
    key = known.keyed.numbers[1][chosen]
    groups = key_and_pane(key, len(known.keyed), asking.order[chosen])
    return chosen[groups.member]
