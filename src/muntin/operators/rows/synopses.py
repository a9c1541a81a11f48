"""Windows over the rows of a key in their order, by synopses [EH-1, CA-14].

The state has one synopsis per aggregate and key, not cells. A step feeds it the rows whose order is
final, and then asks it about every window that a cut returns. Exact aggregates of the same windows
are computed from cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall, slot_types
from muntin.aggregates.synopses.plain_values import reading_dump
from muntin.aggregates.synopses.protocol import SynopsisKind, result_column
from muntin.kernels.arrays import NEVER, Floats, Ints
from muntin.kernels.grouping import KeyedTables
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.protocol import Changes, State, ints
from muntin.operators.rows.cut import Cutting, Progressed, Run
from muntin.operators.rows.cut_values import PaneCut
from muntin.operators.rows.operator import RowWindowOperator
from muntin.operators.rows.ordered_rows import OrderedRowsOperator

T = TypeVar("T")
SYNOPSES = "synopses"


@dataclass(frozen=True)
class SynopsisOperator(OrderedRowsOperator):
    """Windows that a cut makes from the rows of each key, answered by synopses.

    ``kinds`` has the kind of synopsis of each call of a synopsis. ``within`` has, for each of these
    calls, how many ticks before the end of a window it covers; None covers the whole window. Their
    slots are doubles. ``exact`` computes the other calls.
    """

    kinds: tuple[SynopsisKind, ...] = ()
    within: tuple[int | None, ...] = ()
    exact: RowWindowOperator | None = None

    @cached_property
    def asked(self) -> list[AggregateCall]:
        """The calls of synopses."""
        exact = () if self.exact is None else self.exact.calls
        return [call for call in self.calls if call not in exact]

    @cached_property
    def result_types(self) -> list[pa.DataType]:
        exact = [] if self.exact is None else self.exact.result_types
        return self._in_order([kind.result for kind in self.kinds], exact)

    def _in_order(self, asked: Sequence[T], exact: Sequence[T]) -> list[T]:
        """Return something of each call in the order of the calls."""
        synopses, others = iter(asked), iter(exact)
        return [next(synopses if call in self.asked else others) for call in self.calls]

    @cached_property
    def _schema(self) -> pa.Schema:
        """The columns of the state: the key, the last row that was fed, and a dump per call."""
        dumps = [pa.field(f"d{place}", pa.binary()) for place in range(len(self.kinds))]
        return pa.schema([*self.key_fields, pa.field("fed", pa.int64()), *dumps])

    def kept(self, state: State) -> pa.Table:
        return self.read(state, SYNOPSES, self._schema)

    def kept_beside(self, state: State) -> Sequence[pa.Table]:
        return () if self.exact is None else (self.exact.kept(state),)

    def _report(
        self,
        state: State,
        keyed: KeyedTables,
        held: pa.Table,
        run: Run,
        final: pa.Table,
        keys: Progressed,
    ) -> tuple[pa.Table, Changes, Cutting, int]:
        cutting = self.cut.windows(run, keys, None)
        number = self.cut.number(run, keys)
        fed = keyed.spread(2, held["fed"], NEVER)
        np.maximum.at(fed, run.key, number)
        touched = np.union1d(run.key, cutting.key).astype(np.int64)
        columns = {
            slot: final[f"s{slot}"].to_numpy().astype(np.float64) for slot in slot_types(self.asked)
        }
        answers: list[pa.Array] = []
        dumps: dict[str, list[bytes]] = {}
        for place in range(len(self.kinds)):
            answered, dumped = self._ask(place, keyed, held, touched, run, number, columns, cutting)
            answers.append(result_column(self.kinds[place].result, answered))
            dumps[f"d{place}"] = dumped
        changes = self._remember(state, keyed, held, touched, fed, dumps, cutting)
        if self.exact is not None:
            exact, cells = self._exactly(self.exact, state, keyed, run, final, keys)
            answers, changes = self._in_order(answers, exact), changes | cells
        return self._results(keyed, cutting, answers), changes, cutting, 0

    @staticmethod
    def _exactly(
        exact: RowWindowOperator,
        state: State,
        keyed: KeyedTables,
        run: Run,
        final: pa.Table,
        keys: Progressed,
    ) -> tuple[list[pa.Array], Changes]:
        """Return the results of the exact calls for the same windows, and changes of the state."""
        remembered, pool, _, cells = keyed.numbers
        if isinstance(exact.cut, PaneCut):
            memory = {**keys.memory, "needed": exact.cut.panes(keys.memory["needed"])}
            keys = replace(keys, memory=memory)
        numbered = KeyedTables(keyed.keys, (remembered, pool, cells))
        return exact.answers(state, numbered, exact.kept(state), run, final, keys)

    def _ask(
        self,
        place: int,
        keyed: KeyedTables,
        held: pa.Table,
        touched: Ints,
        run: Run,
        number: Ints,
        columns: dict[int, Floats],
        cutting: Cutting,
    ) -> tuple[list[Floats], list[bytes]]:
        """Return the answers of one call for all windows, and the dumps of its synopses."""
        kind, values = self.kinds[place], [columns[slot] for slot in self.asked[place].slots]
        within = self.within[place]
        low = cutting.low if within is None else np.maximum(cutting.low, cutting.high - within)
        row_of = dict(zip(keyed.numbers[2].tolist(), range(held.num_rows), strict=True))
        stored = held[f"d{place}"]
        rows = np.searchsorted(run.key, np.append(touched, len(keyed)))
        rows_end = np.searchsorted(run.key, touched, side="right")
        asked = np.searchsorted(cutting.key, touched)
        asked_end = np.searchsorted(cutting.key, touched, side="right")
        pieces: list[list[Floats]] = []
        dumps: list[bytes] = []
        for turn, key in enumerate(touched.tolist()):
            old = row_of.get(key)
            with reading_dump():
                synopsis = kind.new() if old is None else kind.load(stored[old].as_py())
            fed_rows = slice(rows[turn], rows_end[turn])
            questions = slice(asked[turn], asked_end[turn])
            answer = synopsis.run(
                np.ascontiguousarray(number[fed_rows]),
                [column[fed_rows] for column in values],
                np.ascontiguousarray(low[questions]),
                np.ascontiguousarray(cutting.high[questions]),
            )
            pieces.append([np.asarray(part, np.float64) for part in answer])
            synopsis.forget(int(cutting.needed[key]))
            dumps.append(synopsis.dump())
        if not pieces:
            return [np.empty(0)] * max(1, kind.result.num_fields), dumps
        return [np.concatenate(parts) for parts in zip(*pieces, strict=True)], dumps

    def _results(self, keyed: KeyedTables, cutting: Cutting, answers: list[pa.Array]) -> pa.Table:
        row = pa.array(cutting.key)
        arrays = [keyed.keys[name].take(row).combine_chunks() for name in self.key_names]
        arrays += [self.bound(cutting.start), self.bound(cutting.end)]
        if self.unfinished == "flag":
            arrays.append(pa.array(cutting.complete))
        table = pa.Table.from_arrays([*arrays, *answers], schema=self.result_schema)
        return table.filter(pa.array(cutting.complete)) if self.unfinished == "drop" else table

    def _remember(
        self,
        state: State,
        keyed: KeyedTables,
        held: pa.Table,
        touched: Ints,
        fed: Ints,
        dumps: dict[str, list[bytes]],
        cutting: Cutting,
    ) -> Changes:
        """Write the synopses of keys with new rows or windows; others are not changed."""
        quiet = ~np.isin(keyed.numbers[2], touched)
        columns = {name: keyed.keys[name].take(pa.array(touched)) for name in self.key_names}
        columns["fed"] = pa.array(fed[touched])
        columns |= {name: pa.array(dumped, pa.binary()) for name, dumped in dumps.items()}
        old = held.drop_columns(["chunk"]).filter(pa.array(quiet))
        stacked = pa.concat_tables([old, pa.table(columns, schema=self._schema)])
        key = np.concatenate([keyed.numbers[2][quiet], touched])
        live = ints(stacked["fed"]) >= cutting.needed[key]
        bucket = key_buckets(stacked, self.key_names)
        changed = set(bucket[len(bucket) - len(touched) :].tolist())
        changed |= set(bucket[~live].tolist())
        return BucketedTable(state, SYNOPSES).write(stacked, bucket, changed, live)
