"""Frames of a batch whose tasks hold stretches of time: runs meet instead of rows.

Where nothing changes from one row of a key to the next, no frame ends between them. So a task also
sends its runs: their first and last row, and how many there are. Where the runs of a key do not
overlap they are all that is looked at. Otherwise, and to find ties, the rows are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.frames.records import BREAKS, INTERVAL, NEVER, REAL, fresh
from muntin.kernels.grouping import by_key_and_order, key_and_pane, key_codes
from muntin.kernels.stretches import find_runs
from muntin.operators.common.arrow_columns import ints, key_fields
from muntin.operators.common.keys import KeyedTables
from muntin.operators.frames.operator import FrameOperator, walked
from muntin.operators.frames.ordered_rows import OrderedRows, lacking
from muntin.operators.protocol import InputBatch, Operator, Routed, RowCounts, State, Step

#: Runs of fewer rows than this do not pay.
_ROWS_PER_RUN = 4


def in_batch(operator: Operator) -> Operator:
    """Return the operator that frames a batch: by runs where those are enough."""
    if type(operator) is not FrameOperator or not by_runs(operator):
        return operator
    return BatchRuns(**{part.name: getattr(operator, part.name) for part in fields(operator)})


def by_runs(operator: FrameOperator) -> bool:
    """Return True if frames depend on nothing of a run but its ends and how many rows it has."""
    asked = operator.record[0]
    of_equals = operator.kind.compares_neighbours and not operator.kind.by_code
    each_counts = asked["cut"] or asked["fragments"] >= 0 or asked["reading"] == INTERVAL
    alone = operator.missing == "break" and operator.slots is None and not operator.calls
    failing = operator.ties.how == "fail" and operator.combined is None
    return bool(of_equals and not each_counts and alone and failing)


@dataclass(frozen=True)
class BatchRuns(FrameOperator):
    """Threshold and boundary frames of a batch.

    Partial tables have runs: the keys, ``first`` and ``last`` as orders, ``n``, and what all rows
    of a run read, ``lacks`` and ``whole``. Beside them travel all rows as they came.
    """

    @cached_property
    def run_schema(self) -> pa.Schema:
        whole = [pa.field(name, pa.int64()) for name in ("first", "last", "n", "whole")]
        return pa.schema([*key_fields(self.keys), *whole, pa.field("lacks", pa.bool_())])

    def route(self, rows: pa.Table) -> Routed:
        admitted = self.admission.admit(rows)
        runs = self._runs(admitted.rows, admitted.order)
        return replace(admitted.routed(runs, None), rows=admitted.rows)

    def _runs(self, rows: pa.Table, order: Ints) -> pa.Table:
        """The runs of some rows; where they are not in order, or change too often, only their keys.

        Such a key has a run of no rows, so its rows have to be looked at.
        """
        keys = [rows[name].combine_chunks() for name in self.key_names]
        code, size = key_codes(keys, rows.num_rows)
        read = pa.table(self.kind.read(rows))
        whole, lacks = ints(read["whole"]), lacking(read)
        first, last, count = np.empty((3, rows.num_rows // _ROWS_PER_RUN + size), np.int64)
        found = find_runs(code, size, order, whole, lacks.view(np.uint8), first, last, count)
        if found < 0:
            first = last = key_and_pane(code, size, np.zeros(len(code), np.int64)).member
            found, count = len(first), np.zeros(len(first), np.int64)
        first, last, count = first[:found], last[:found], count[:found]
        made = [key.take(pa.array(first)) for key in keys]
        made += [pa.array(one) for one in (order[first], order[last], count, whole[first])]
        return pa.Table.from_arrays([*made, pa.array(lacks[first])], schema=self.run_schema)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables([self.run_schema.empty_table(), *partials])

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        """To the end of input; ``rows`` are read only where runs do not say enough."""
        (only,) = inputs
        assert only.punctuation.ended
        runs = self.merge(only.partials)
        keyed = KeyedTables.of(self.key_names, [runs])
        key = keyed.numbers[0]
        place, starts = by_key_and_order(key, ints(runs["first"]), len(keyed))
        runs, key = runs.take(pa.array(place)), key[place]
        if not _apart(runs, key):
            plain = self.by_rows()
            partials = [plain.route(table).partial for table in only.rows]
            return plain.step(state, [InputBatch(partials, only.punctuation)])
        found = self._found(runs, starts, only.punctuation.largest)
        counts = RowCounts(int(ints(runs["n"]).sum()))
        return Step(self._results(keyed, found, None), {}, (counts,))

    def by_rows(self) -> FrameOperator:
        """Return the operator that looks at every row."""
        return FrameOperator(**{part.name: getattr(self, part.name) for part in fields(self)})

    def _found(self, runs: pa.Table, starts: Ints, largest: int | None) -> np.ndarray:
        """The frames of runs, of which the framing function is shown the first and the last row."""
        first, last, count, whole = (ints(runs[name]) for name in _NUMBERS)
        shown = np.where(count > 1, 2, 1)
        ends = np.concatenate([[0], np.cumsum(shown)])
        run = np.repeat(np.arange(len(count)), shown)
        is_first = np.zeros(len(run), np.bool_)
        is_first[ends[:-1]] = True
        order = np.where(is_first, first[run], last[run])
        what = np.where(lacking(runs)[run], BREAKS, REAL).astype(np.uint8)
        rows = OrderedRows(ends[starts], order, what, pa.table({}), columns={"whole": whole[run]})
        keys = len(starts) - 1
        rows = self.certainty.held_to(rows, np.full(keys, NEVER), largest)
        asked = self.record.copy()
        asked["min_count"] = asked["max_count"] = -1  # of all rows, which are counted here
        found = walked(asked, rows, fresh(keys), True)
        before = np.concatenate([[0], np.cumsum(np.where(is_first, count[run], 0))])
        found["n"] = before[rows.places[found["high"]]] - before[rows.places[found["low"]]]
        least, most = int(self.record["min_count"][0]), int(self.record["max_count"][0])
        found = found[(found["n"] >= least) & ((most < 0) | (found["n"] <= most))]
        found["id"] = np.arange(len(found)) - np.searchsorted(found["key"], found["key"])
        return found


_NUMBERS = ("first", "last", "n", "whole")


def _apart(runs: pa.Table, key: Ints) -> bool:
    """Return True if sorted runs hold all rows, and no two of a key share a stretch of it."""
    first, last = ints(runs["first"]), ints(runs["last"])
    shared = (key[1:] == key[:-1]) & (first[1:] <= last[:-1])
    return not shared.any() and bool(np.all(ints(runs["n"]) > 0))
