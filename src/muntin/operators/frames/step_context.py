"""The data of a step once its rows are in order, and what its punctuation decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.frames.records import FOUND, NEVER, UNTIL_NEXT
from muntin.kernels.frames.walk import MOST_QUIET, look_at_quiet
from muntin.kernels.ticks import order_of_ticks
from muntin.operators.common.keys import KeyedTables
from muntin.operators.frames.ordered_rows import Missing, OrderedRows, held_until
from muntin.operators.frames.sequencer import OrderedBatch
from muntin.operators.protocol import Punctuation, State
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class StepContext:
    """The data that a step has read and put in order.

    ``keyed`` numbers the keys of ``remembered``, of the rows, and of the ``kept`` cells or rows.
    """

    state: State
    keyed: KeyedTables
    remembered: pa.Table
    kept: pa.Table
    arranged: OrderedBatch
    punctuation: Punctuation

    @property
    def ended(self) -> bool:
        return self.punctuation.ended


@dataclass(frozen=True)
class Certainty:
    """What punctuation alone decides: how far last rows hold, and which open frames are over.

    ``asked`` is the framing as a record of the kernels. If ``between_rows``, open frames are also
    reported when punctuation comes without a row.
    """

    axis: Axis
    asked: np.ndarray
    missing: Missing
    between_rows: bool

    def to_the_end(self, now: StepContext, rows: OrderedRows, records: np.ndarray) -> OrderedRows:
        """Return rows; at the end of input their last rows hold as far as the input is known."""
        if not now.ended:
            return rows
        known = np.maximum(records["previous"], self.complete(now))
        return self.held_to(rows, known, now.punctuation.largest)

    def held_to(self, rows: OrderedRows, known: Ints, largest: int | None) -> OrderedRows:
        """Let last rows that hold until the next one hold as far as the input is known to reach."""
        if self.asked["reading"][0] != UNTIL_NEXT:
            return rows
        if largest is not None:
            known = np.maximum(known, self._order(np.array([largest])))
        some = np.diff(rows.starts) > 0
        last = np.append(rows.order, NEVER)[np.where(some, rows.starts[1:] - 1, len(rows))]
        return held_until(rows, np.maximum(last, known))

    def complete(self, now: StepContext) -> Ints:
        """Return the order below which no row of a key will come; NEVER if nothing is known."""
        _, complete = now.punctuation.of(now.keyed.keys)
        known = np.where(complete == NEVER, 0, complete)
        return np.where(complete == NEVER, NEVER, self._order(known))

    def _order(self, tick: Ints) -> Ints:
        return order_of_ticks(np.maximum(tick, -self.axis.limit), self.axis)

    def with_quiet(
        self, now: StepContext, found: np.ndarray, records: np.ndarray, horizon: Ints
    ) -> tuple[np.ndarray, Mask]:
        """Add the reports that punctuation alone decides; also return the keys they are about."""
        if now.ended:
            return found, np.zeros(len(records), np.bool_)
        mode, reported = records["mode"].copy(), records["reported"].copy()
        joins = np.maximum(horizon, self.complete(now)) if self.missing == "carry" else horizon
        rules = int(self.missing == "break"), int(self.between_rows)
        room = np.zeros(MOST_QUIET * len(records), FOUND)
        n = look_at_quiet(self.asked, horizon, joins, *rules, records, room)
        both = np.concatenate([found, room[:n]])
        changed: Mask = (mode != records["mode"]) | (reported != records["reported"])
        return both[np.argsort(both["key"], kind="stable")], changed
