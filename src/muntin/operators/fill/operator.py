"""The fill operator: frames or windows from one input, filled with rows of others [Frames 4.5].

An inner operator reports the segments (frames or windows) in the same step. A segment waits until
all rows that it asks for have arrived from every source. Then it is filled and reported once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import key_codes
from muntin.operators.fill.between_join import BetweenJoin, MatchedRows, Probes
from muntin.operators.fill.fragments import Fragments, OpenFills
from muntin.operators.fill.segments import Horizon, OperatorSegments
from muntin.operators.fill.source import FillInput
from muntin.operators.protocol import (
    Changes,
    InputBatch,
    MapSide,
    ScopedState,
    State,
    Step,
    forget,
    ints,
    numbered,
)

WAITING = "segments"
#: The bounds of a waiting segment, the number of its shift, and the end of the fragment before it.
_PLACES = {"start": pa.int64(), "end": pa.int64(), "shifted": pa.int64(), "since": pa.int64()}


@dataclass(frozen=True)
class FillOperator:
    """Fills the results of ``segments`` with the rows of ``fills``.

    A result has the columns of its segment, ``shifted`` (the number of its shift), and after the
    segment's own aggregates those of every fill, numbered on as ``r0..``.
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
    def segment_schema(self) -> pa.Schema:
        """The columns of a segment as its operator reports it."""
        return self.segments.operator.result_schema

    @cached_property
    def result_schema(self) -> pa.Schema:
        own = len(numbered(self.segment_schema.names, "r"))
        types = [type_ for fill in self.fills for type_ in fill.types]
        filled = [pa.field(f"r{own + place}", type_) for place, type_ in enumerate(types)]
        return pa.schema([*self.segment_schema, pa.field("shifted", pa.int64()), *filled])

    @cached_property
    def waiting_schema(self) -> pa.Schema:
        own = [pa.field(name, type_) for name, type_ in _PLACES.items()]
        return pa.schema([*self.segment_schema, *own, pa.field("whole", pa.bool_())])

    @property
    def shifts(self) -> int:
        """The number of results of each segment: one per shift."""
        return max(len(fill.shifts) for fill in self.fills)

    @cached_property
    def betweens(self) -> tuple[BetweenJoin, ...]:
        return tuple(
            BetweenJoin(f"fill{place}:", tuple(fill.key_names), fill.schema)
            for place, fill in enumerate(self.fills)
        )

    @property
    def frame_names(self) -> list[str]:
        """The columns that identify a frame."""
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
        arrived = [fill.in_time(other) for fill, other in zip(self.fills, others, strict=True)]
        horizon = self.segments.horizon(first.punctuation, inner)
        default = self.segments.default_before(first.punctuation)
        matches = []
        for place, (fill, (rows, _)) in enumerate(zip(self.fills, arrived, strict=True)):
            matched, held = self.betweens[place].step(
                state,
                rows,
                probes[place],
                ready,
                self._horizon_of(fill, horizon, fragments),
                self._default_of(fill, default),
            )
            matches.append(matched)
            changes |= held
        done, left = everything.filter(pa.array(ready)), everything.filter(pa.array(~ready))
        if not left.num_rows:
            changes |= forget(state, WAITING)
        elif fresh.num_rows or done.num_rows:
            changes[WAITING, 0] = left
        if self.segments.along is not None:
            low, high = (done[name].combine_chunks() for name in self.segments.along)
            pairs = zip(self.fills, matches, strict=True)
            matches = [fill.inside_along(matched, low, high) for fill, matched in pairs]
        results, more = self._results(state, done, matches, self._unfinished(left, fragments))
        counts = [*inner.rows, *(filling for _, filling in arrived)]
        return Step(results, changes | more, counts, open_counts=inner.open_counts)

    def _fresh(self, state: State, inner: Step) -> tuple[pa.Table, Changes, Fragments | None]:
        """Return new segments, once for each shift, and the fragments reported of open frames."""
        results = inner.results
        start, end = self.segments.bounds(results)
        whole = self.segments.whole(results)
        since = np.full(results.num_rows, NEVER)
        changes: Changes = {}
        fragments = None
        if self.segments.fragments:
            before = Fragments.load(state, self.frame_names, self.segment_schema)
            since = before.since(results, end)
            fragments = before.after(results, end, whole).only(inner.open)
            changes = fragments.changes(state)
        own = {"start": start, "end": end, "shifted": np.zeros(len(end), np.int64), "since": since}
        segments = results
        for name, values in own.items():
            segments = segments.append_column(name, pa.array(values))
        segments = segments.append_column("whole", pa.array(whole))
        place = segments.column_names.index("shifted")
        copies = [
            segments.set_column(place, "shifted", pa.array(np.full(segments.num_rows, number)))
            for number in range(self.shifts)
        ]
        return pa.concat_tables(copies), changes, fragments

    def _probes(self, fill: FillInput, segments: pa.Table) -> Probes:
        start, end, shifted, since = (ints(segments[name]) for name in _PLACES)
        whole = segments["whole"].to_numpy(zero_copy_only=False)
        shift = self._shift(fill, shifted)
        low = fill.reach.low(start, shift)
        continues = since != NEVER
        if continues.any():
            filled_to = fill.reach.high(
                np.where(continues, since, end), shift, np.zeros(len(continues), np.bool_)
            )
            low = np.where(continues, np.maximum(low, filled_to + 1), low)
        return Probes(fill.keys_of(segments), low, fill.reach.high(end, shift, whole))

    def _shift(self, fill: FillInput, shifted: Ints) -> Ints:
        """Return the shift of each segment in ticks; a fill with one shift uses it for all."""
        shifts: Ints = np.array(fill.shifts, np.int64)
        return shifts[shifted if len(shifts) > 1 else np.zeros(len(shifted), np.int64)]

    def _horizon_of(
        self, fill: FillInput, horizon: Horizon, fragments: Fragments | None
    ) -> Horizon:
        """Return the orders below which no later segment asks for rows of a source."""
        moved = horizon.moved(lambda order: self._earliest(fill, order))
        known = fragments is not None and fragments.known.num_rows > 0
        if fragments is not None and known and not self.segments.overlapping:
            # An open frame only asks for rows after its last fragment, and the next frame of its
            # key for those around its own start: at the end of a half-open frame, else after it.
            keys = fragments.known.select(self.segments.key_names)
            not_whole = np.zeros(keys.num_rows, np.bool_)
            end = ints(fragments.known["end"])
            reach = [
                fill.reach.high(end, np.full(len(end), shift), not_whole) + 1
                for shift in fill.shifts
            ]
            moved = moved.replaced(
                keys,
                np.minimum(
                    np.minimum.reduce(reach), self._earliest(fill, end + self.segments.edge.end)
                ),
            )
        if not set(fill.names) <= set(moved.keys.column_names):
            # Windows with groups inside have no horizon of a group, so the least of all holds.
            return Horizon(
                int(min([moved.default, *moved.own])),
                fill.schema.empty_table().select(fill.key_names),
                np.empty(0, np.int64),
            )
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
        unfinished: pa.Table | None,
    ) -> tuple[pa.Table, Changes]:
        """Return the segments that are ready, with the values of every fill."""
        if self.fills[0].columns and self.fills[0].mapped is None:
            return self._pairs(segments, matches[0]), {}
        columns = [segments[field.name] for field in self.segment_schema]
        columns.append(segments["shifted"])
        has_rows, drops_empty = np.zeros(segments.num_rows, np.bool_), False
        changes: Changes = {}
        for place, (fill, matched) in enumerate(zip(self.fills, matches, strict=True)):
            filled, counts, more = self._aggregated(state, place, segments, matched, unfinished)
            columns += filled
            has_rows |= counts > 0
            drops_empty |= fill.drops_empty
            changes |= more
        table = pa.Table.from_arrays(columns, schema=self.result_schema)
        return (table.filter(pa.array(has_rows)) if drops_empty else table), changes

    def _aggregated(
        self,
        state: State,
        place: int,
        segments: pa.Table,
        matched: MatchedRows,
        unfinished: pa.Table | None,
    ) -> tuple[list[pa.Array], Ints, Changes]:
        fill = self.fills[place]
        if fill.mapped is not None:
            return fill.mapped.of(matched), matched.counts, {}
        if unfinished is None:
            cells = fill.contents.lifted(matched.rows)
            values = fill.contents.of_stretches(cells, matched.first, matched.stop)
            return values, matched.counts, {}
        scope = ScopedState(state, f"fill{place}:")
        names = [*self.frame_names, "shifted"]
        running = OpenFills.load(
            scope, fill.contents, pa.schema([segments.field(n) for n in names])
        )
        # Sort by frame. The sort is stable, so fragments stay in the order of their reports.
        order = self._by_frame(segments.select(names))
        frames = segments.select(names).take(pa.array(order))
        sorted_matches = MatchedRows(matched.rows, matched.first[order], matched.stop[order])
        whole = segments["whole"].to_numpy(zero_copy_only=False)[order]
        values, counts, after = running.fill(frames, sorted_matches, whole)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        filled = [column.take(pa.array(back)) for column in values]
        return filled, counts[back], scope.named(after.only(unfinished).changes(scope))

    def _by_frame(self, frames: pa.Table) -> Ints:
        codes, _ = key_codes([c.combine_chunks() for c in frames.columns], frames.num_rows)
        return np.argsort(codes, kind="stable")

    def _unfinished(self, waiting: pa.Table, fragments: Fragments | None) -> pa.Table | None:
        """Return the frames with more fragments to come or waiting; None without fragments."""
        if fragments is None:
            return None
        names = self.frame_names
        return pa.concat_tables([fragments.known.select(names), waiting.select(names)])

    def _pairs(self, segments: pa.Table, matched: MatchedRows) -> pa.Table:
        """Return each pair of segment and row; a segment without rows is paired with nulls."""
        fill = self.fills[0]
        segment, row = matched.pairs()
        if not fill.drops_empty:
            empty = np.flatnonzero(matched.counts == 0)
            segment, row = np.append(segment, empty), np.append(row, np.full(len(empty), -1))
        segment_columns = segments.select([*self.segment_schema.names, "shifted"]).take(
            pa.array(segment)
        )
        rows = matched.rows.take(pa.array(row, pa.int64(), mask=row < 0))
        columns = [*segment_columns.columns, *(rows[column.name] for column in fill.columns)]
        return pa.Table.from_arrays(columns, schema=self.result_schema)
