"""Frames and windows, filled: bounds from one input, rows from others [Frames 4.5].

Segments come from an operator of their own, inside the same step. Each waits until every source
has all rows that it asks for, is filled with them, and is reported once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import key_codes
from muntin.operators.common.arrow_columns import ints, numbered
from muntin.operators.fill.between_join import BetweenJoin, MatchedRows, Probes
from muntin.operators.fill.fragments import Fragments, OpenFills
from muntin.operators.fill.segments import Horizon, OperatorSegments
from muntin.operators.fill.source import FillInput
from muntin.operators.protocol import Changes, InputBatch, MapSide, ScopedState, State, Step, forget

WAITING = "segments"
#: What is known of a segment beside the result it is: where it lies, how it is moved, and more.
_OWN = {"start": pa.int64(), "end": pa.int64(), "shifted": pa.int64(), "since": pa.int64()}


@dataclass(frozen=True)
class FillOperator:
    """Segments and what they are filled with.

    Results have the columns of the segments; ``shifted``, which of several shifts a row is of; and
    behind the segment's own aggregates those of every filling, ``r0..``.
    """

    segments: OperatorSegments
    fills: tuple[FillInput, ...]
    shards: tuple[str, ...]

    def __getstate__(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def map_sides(self) -> Sequence[MapSide]:
        return (*self.segments.operator.map_sides, *self.fills)

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.shards, *(fill.shards for fill in self.fills))

    @property
    def may_refuse(self) -> bool:
        return self.segments.operator.may_refuse

    @cached_property
    def told(self) -> pa.Schema:
        """The columns of a segment as its operator reports it."""
        return self.segments.operator.result_schema

    @cached_property
    def result_schema(self) -> pa.Schema:
        own = len(numbered(self.told.names, "r"))
        types = [type_ for fill in self.fills for type_ in fill.types]
        filled = [pa.field(f"r{own + place}", type_) for place, type_ in enumerate(types)]
        return pa.schema([*self.told, pa.field("shifted", pa.int64()), *filled])

    @cached_property
    def waiting_schema(self) -> pa.Schema:
        own = [pa.field(name, type_) for name, type_ in _OWN.items()]
        return pa.schema([*self.told, *own, pa.field("whole", pa.bool_())])

    @property
    def shifts(self) -> int:
        """How many results there are of each segment."""
        return max(len(fill.shifts) for fill in self.fills)

    @cached_property
    def betweens(self) -> tuple[BetweenJoin, ...]:
        return tuple(
            BetweenJoin(f"fill{place}:", tuple(fill.key_names), fill.schema)
            for place, fill in enumerate(self.fills)
        )

    @property
    def frame_names(self) -> list[str]:
        """The columns that tell frames apart."""
        return [*self.segments.key_names, "frame_id"]

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        first, *others = inputs
        inner = self.segments.operator.step(state, [first])
        fresh, changes, fragments = self._fresh(state, inner)
        changes |= inner.changes
        waiting = [state.read(WAITING, bucket) for bucket in state.buckets(WAITING)]
        everything = pa.concat_tables([self.waiting_schema.empty_table(), *waiting, fresh])
        probes = [self._probes(fill, everything) for fill in self.fills]
        ready = np.ones(everything.num_rows, np.bool_)
        for fill, probe, other in zip(self.fills, probes, others, strict=True):
            if not other.punctuation.ended:
                ready &= fill.complete(probe.keys, other.punctuation) > probe.high
        came = [fill.in_time(other) for fill, other in zip(self.fills, others, strict=True)]
        horizon = self.segments.horizon(first.punctuation, inner)
        default = self.segments.default_before(first.punctuation)
        matches = []
        for place, (fill, (rows, _)) in enumerate(zip(self.fills, came, strict=True)):
            found, held = self.betweens[place].step(
                state,
                rows,
                probes[place],
                ready,
                self._horizon_of(fill, horizon, fragments),
                self._default_of(fill, default),
            )
            matches.append(found)
            changes |= held
        done, left = everything.filter(pa.array(ready)), everything.filter(pa.array(~ready))
        if not left.num_rows:
            changes |= forget(state, WAITING)
        elif fresh.num_rows or done.num_rows:
            changes[WAITING, 0] = left
        results, more = self._results(state, done, matches, self._going_on(left, fragments))
        counts = [*inner.rows, *(filling for _, filling in came)]
        return Step(results, changes | more, counts, open_counts=inner.open_counts)

    def _fresh(self, state: State, inner: Step) -> tuple[pa.Table, Changes, Fragments | None]:
        """New segments, once for each shift; and where fragments of open frames ended."""
        results = inner.results
        start, end = self.segments.bounds(results)
        whole = self.segments.whole(results)
        since = np.full(results.num_rows, NEVER)
        changes: Changes = {}
        fragments = None
        if self.segments.fragments:
            before = Fragments.load(state, self.frame_names, self.told)
            since = before.since(results, end)
            fragments = before.after(results, end, whole).only(inner.open)
            changes = fragments.changes(state)
        own = {"start": start, "end": end, "shifted": np.zeros(len(end), np.int64), "since": since}
        made = results
        for name, values in own.items():
            made = made.append_column(name, pa.array(values))
        made = made.append_column("whole", pa.array(whole))
        place = made.column_names.index("shifted")
        copies = [
            made.set_column(place, "shifted", pa.array(np.full(made.num_rows, number)))
            for number in range(self.shifts)
        ]
        return pa.concat_tables(copies), changes, fragments

    def _probes(self, fill: FillInput, segments: pa.Table) -> Probes:
        start, end, shifted, since = (ints(segments[name]) for name in _OWN)
        whole = segments["whole"].to_numpy(zero_copy_only=False)
        shift = self._shift(fill, shifted)
        low = fill.reach.low(start, shift)
        on = since != NEVER
        if on.any():
            joined = fill.reach.high(np.where(on, since, end), shift, np.zeros(len(on), np.bool_))
            low = np.where(on, np.maximum(low, joined + 1), low)
        return Probes(fill.keys_of(segments), low, fill.reach.high(end, shift, whole))

    def _shift(self, fill: FillInput, shifted: Ints) -> Ints:
        """In ticks; a filling with one shift has the same in all results."""
        shifts: Ints = np.array(fill.shifts, np.int64)
        return shifts[shifted if len(shifts) > 1 else np.zeros(len(shifted), np.int64)]

    def _horizon_of(
        self, fill: FillInput, horizon: Horizon, fragments: Fragments | None
    ) -> Horizon:
        """Below which orders no segment to come will ask for rows of a source."""
        moved = horizon.moved(lambda order: self._earliest(fill, order))
        if fragments is not None and fragments.known.num_rows:
            # Of an open frame only what is behind its last fragment will be asked for.
            keys = fragments.known.select(self.segments.key_names)
            none = np.zeros(keys.num_rows, np.bool_)
            end = ints(fragments.known["end"])
            reach = [
                fill.reach.high(end, np.full(len(end), shift), none) + 1 for shift in fill.shifts
            ]
            moved = moved.replaced(keys, np.minimum.reduce(reach))
        fewer = moved.of_fewer(fill.names)
        return Horizon(fewer.default, fewer.keys.rename_columns(fill.key_names), fewer.own)

    def _earliest(self, fill: FillInput, order: Ints) -> Ints:
        reach = [fill.reach.low(order, np.full(len(order), shift)) for shift in fill.shifts]
        least: Ints = np.minimum.reduce(reach)
        return least

    def _default_of(self, fill: FillInput, default: int) -> int:
        none = Horizon(default, pa.table({}), np.empty(0, np.int64))
        return none.moved(lambda order: self._earliest(fill, order)).default

    def _results(
        self,
        state: State,
        segments: pa.Table,
        matches: Sequence[MatchedRows],
        going_on: pa.Table | None,
    ) -> tuple[pa.Table, Changes]:
        """Segments with what they are filled with."""
        if self.fills[0].columns and self.fills[0].mapped is None:
            return self._pairs(segments, matches[0]), {}
        columns = [segments[field.name] for field in self.told]
        columns.append(segments["shifted"])
        some, drops = np.zeros(segments.num_rows, np.bool_), False
        changes: Changes = {}
        for place, (fill, matched) in enumerate(zip(self.fills, matches, strict=True)):
            filled, counts, more = self._aggregated(state, place, segments, matched, going_on)
            columns += filled
            some |= counts > 0
            drops |= fill.drops_empty
            changes |= more
        made = pa.Table.from_arrays(columns, schema=self.result_schema)
        return (made.filter(pa.array(some)) if drops else made), changes

    def _aggregated(
        self,
        state: State,
        place: int,
        segments: pa.Table,
        matched: MatchedRows,
        going_on: pa.Table | None,
    ) -> tuple[list[pa.Array], Ints, Changes]:
        fill = self.fills[place]
        if fill.mapped is not None:
            return fill.mapped.of(matched), matched.counts, {}
        if going_on is None:
            cells = fill.contents.lifted(matched.rows)
            made = fill.contents.of_stretches(cells, matched.first, matched.behind)
            return made, matched.counts, {}
        scope = ScopedState(state, f"fill{place}:")
        names = [*self.frame_names, "shifted"]
        running = OpenFills.load(
            scope, fill.contents, pa.schema([segments.field(n) for n in names])
        )
        # Those of one frame together; they are in the order in which they were reported.
        order = self._by_frame(segments.select(names))
        frames = segments.select(names).take(pa.array(order))
        mine = MatchedRows(matched.rows, matched.first[order], matched.behind[order])
        whole = segments["whole"].to_numpy(zero_copy_only=False)[order]
        made, counts, after = running.fill(frames, mine, whole)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        filled = [column.take(pa.array(back)) for column in made]
        return filled, counts[back], scope.named(after.only(going_on).changes(scope))

    def _by_frame(self, frames: pa.Table) -> Ints:
        codes, _ = key_codes([c.combine_chunks() for c in frames.columns], frames.num_rows)
        return np.argsort(codes, kind="stable")

    def _going_on(self, waiting: pa.Table, fragments: Fragments | None) -> pa.Table | None:
        """The frames of which more will be reported, or waits to be; None without fragments."""
        if fragments is None:
            return None
        names = self.frame_names
        return pa.concat_tables([fragments.known.select(names), waiting.select(names)])

    def _pairs(self, segments: pa.Table, matched: MatchedRows) -> pa.Table:
        """Every row with the segment that it fills; a segment without rows has nulls for one."""
        fill = self.fills[0]
        segment, row = matched.pairs()
        if not fill.drops_empty:
            empty = np.flatnonzero(matched.counts == 0)
            segment, row = np.append(segment, empty), np.append(row, np.full(len(empty), -1))
        told = segments.select([*self.told.names, "shifted"]).take(pa.array(segment))
        rows = matched.rows.take(pa.array(row, pa.int64(), mask=row < 0))
        columns = [*told.columns, *(rows[column.name] for column in fill.columns)]
        return pa.Table.from_arrays(columns, schema=self.result_schema)
