"""Frames of a batch whose tasks hold stretches of time, found from runs instead of rows.

A run is a stretch of rows of a key in which nothing changes, so no frame ends inside it. A task
also sends its runs: the first and the last row of each, and the number of its rows. If the runs of
a key do not overlap, the rows are not read. Otherwise, and to find ties, they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.frames.records import BREAKS, INTERVAL, NEVER, REAL, fresh
from muntin.kernels.grouping import KeyedTables, by_key_and_order, key_and_pane, key_codes
from muntin.kernels.stretches import find_runs
from muntin.operators.frames.operator import FrameOperator, walked
from muntin.operators.frames.ordered_rows import OrderedRows, lacking
from muntin.operators.protocol import (
    InputBatch,
    Operator,
    Routed,
    RowCounts,
    State,
    Step,
    ints,
    key_fields,
)

#: Runs are not worth sending if they have fewer rows than this on average.
_ROWS_PER_RUN = 4


def in_batch(operator: Operator) -> Operator:
    """Return the operator that frames a batch; it uses runs if those are enough."""
    if type(operator) is not FrameOperator or not by_runs(operator):
        return operator
    return BatchRuns(**{part.name: getattr(operator, part.name) for part in fields(operator)})


def by_runs(operator: FrameOperator) -> bool:
    """Return True if the frames of runs depend only on their ends and their numbers of rows."""
    record = operator.record[0]
    of_equals = operator.kind.compares_neighbours and not operator.kind.by_code
    each_counts = record["cut"] or record["fragments"] >= 0 or record["reading"] == INTERVAL
    alone = operator.missing == "break" and operator.slots is None and not operator.calls
    failing = operator.ties.how == "fail" and operator.combined is None
    return bool(of_equals and not each_counts and alone and failing)


@dataclass(frozen=True)
class BatchRuns(FrameOperator):
    """Threshold and boundary frames of a batch.

    Partial tables have runs: the keys, ``first`` and ``last`` as orders, the number of rows ``n``,
    and the columns ``lacks`` and ``whole`` that all rows of a run share. All rows travel beside
    them, unchanged.
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
        """Return the runs of some rows.

        If the rows are not in order, or change too often, each key has one run of no rows, which
        says that its rows must be read.
        """
        keys = [rows[name].combine_chunks() for name in self.key_names]
        code, size = key_codes(keys, rows.num_rows)
        read = pa.table(self.kind.read(rows))
        whole, lacks = ints(read["whole"]), lacking(read)
        first, last, count = np.empty((3, rows.num_rows // _ROWS_PER_RUN + size), np.int64)
        n = find_runs(code, size, order, whole, lacks.view(np.uint8), first, last, count)
        if n < 0:
            first = last = key_and_pane(code, size, np.zeros(len(code), np.int64)).member
            n, count = len(first), np.zeros(len(first), np.int64)
        first, last, count = first[:n], last[:n], count[:n]
        columns = [key.take(pa.array(first)) for key in keys]
        columns += [pa.array(part) for part in (order[first], order[last], count, whole[first])]
        return pa.Table.from_arrays([*columns, pa.array(lacks[first])], schema=self.run_schema)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables([self.run_schema.empty_table(), *partials])

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        """Report all frames; ``rows`` are read only if the runs are not enough."""
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
        frames = self._found(runs, starts, only.punctuation.largest)
        counts = RowCounts(int(ints(runs["n"]).sum()))
        results = self._results(keyed, frames, None).select(self.result_schema.names)
        return Step(results, {}, (counts,))

    def by_rows(self) -> FrameOperator:
        """Return the operator that looks at every row."""
        return FrameOperator(**{part.name: getattr(self, part.name) for part in fields(self)})

    def _found(self, runs: pa.Table, starts: Ints, largest: int | None) -> np.ndarray:
        """Return the frames of runs; the framing function sees the first and last row of each."""
        first, last, count, whole = (ints(runs[name]) for name in _NUMBERS)
        shown = np.where(count > 1, 2, 1)
        ends = np.concatenate([[0], np.cumsum(shown)])
        run = np.repeat(np.arange(len(count)), shown)
        is_first = np.zeros(len(run), np.bool_)
        is_first[ends[:-1]] = True
        order = np.where(is_first, first[run], last[run])
        row_kind = np.where(lacking(runs)[run], BREAKS, REAL).astype(np.uint8)
        rows = OrderedRows(
            ends[starts], order, row_kind, pa.table({}), columns={"whole": whole[run]}
        )
        keys = len(starts) - 1
        rows = self.certainty.held_to(rows, np.full(keys, NEVER), largest)
        record = self.record.copy()
        record["min_count"] = record["max_count"] = -1  # all rows are counted below
        frames = walked(record, rows, fresh(keys), True)
        before = np.concatenate([[0], np.cumsum(np.where(is_first, count[run], 0))])
        frames["n"] = before[rows.places[frames["high"]]] - before[rows.places[frames["low"]]]
        least, most = int(self.record["min_count"][0]), int(self.record["max_count"][0])
        frames = frames[(frames["n"] >= least) & ((most < 0) | (frames["n"] <= most))]
        frames["id"] = np.arange(len(frames)) - np.searchsorted(frames["key"], frames["key"])
        return frames


_NUMBERS = ("first", "last", "n", "whole")


def _apart(runs: pa.Table, key: Ints) -> bool:
    """Return True if runs hold all rows and no two runs of a key overlap; they come sorted."""
    first, last = ints(runs["first"]), ints(runs["last"])
    shared = (key[1:] == key[:-1]) & (first[1:] <= last[:-1])
    return not shared.any() and bool(np.all(ints(runs["n"]) > 0))
