"""Density frames on Arrow columns: much happens in little time [Frames, appendix H].

For a density by a condition, a row is decided when no later window can reach it. Until then rows
are held; then they are framed like the rows of a threshold. Clusters (a density by chance) are
found among the held rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from muntin.aggregates.bind import bind
from muntin.errors import UnsupportedTypeError
from muntin.kernels.arrays import EVER, Ints, Mask
from muntin.kernels.frames import records
from muntin.kernels.frames.clusters import Scan, chance_of, clusters
from muntin.kernels.frames.density import decided, flag, needed, over, windows_of
from muntin.kernels.frames.records import FINAL, FOUND, NEVER, OPEN, POINT, UNTIL_NEXT, is_open
from muntin.kernels.grouping import KeyedTables, find_keys
from muntin.kernels.ticks import shift_order
from muntin.operators.frames.arrow_kind import (
    ArrowKind,
    FrameOperatorInputs,
    check_result,
    local_conditions,
)
from muntin.operators.frames.frame_aggregates import (
    OPEN_CELLS,
    FrameAggregates,
    JoinedCells,
    meets,
)
from muntin.operators.frames.held_rows import HELD, FoundFrames, HeldRowFrames
from muntin.operators.frames.key_memory import KEYS, KeyBuckets, StepContext
from muntin.operators.frames.operator import FrameOperator, walked
from muntin.operators.frames.ordered_rows import OrderedRows
from muntin.operators.protocol import Changes, forget
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.row_kinds import Cluster, Density


@dataclass(frozen=True)
class ArrowDensity(ArrowKind):
    """Reads nothing of a row itself: the first aggregate of the operator decides about it."""

    number: ClassVar[int] = records.DENSITY

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[FrameOperator], dict[str, Any]]:
        kind = framing.kind
        assert isinstance(kind, Density)
        check_result(kind, bind(inputs.calls[0]))
        per = inputs.axis.length("per", kind.per)
        return DensityFrames, {"per": per, "sign": kind.sign, "limit": kind.limit}


#: The largest weight of a row, so that sums of many fit 64 bits.
_HEAVIEST = 2**40


@dataclass(frozen=True)
class ArrowCluster(ArrowKind):
    """Reads the weight of a row, if rows have one, besides its place."""

    number: ClassVar[int] = records.DENSITY

    @classmethod
    def check_types(cls, kind: Cluster, types: Sequence[pa.DataType]) -> None:
        for type_ in types:
            if not pa.types.is_integer(type_):
                raise UnsupportedTypeError(
                    f"{kind.label} counts events, so a weight is a whole number, but it is "
                    f"{type_}; cast it to bigint"
                )

    @property
    def value_names(self) -> Sequence[str]:
        return ("whole",) if self.types else ()

    def values(self, operands: list[pa.Array]) -> dict[str, pa.Array]:
        if not operands:
            return {}
        whole = operands[0].cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return {"whole": pa.array(np.clip(whole, 0, _HEAVIEST))}

    @property
    def own_fields(self) -> Sequence[pa.Field]:
        return (pa.field("chance", pa.float64()),)

    def own_columns(self, frames: np.ndarray) -> list[pa.Array]:
        return [pa.array(np.ascontiguousarray(frames["chance"]))]

    def own_operator(
        self, framing: Framing, inputs: FrameOperatorInputs
    ) -> tuple[type[FrameOperator], dict[str, Any]]:
        kind = framing.kind
        assert isinstance(kind, Cluster)
        per = inputs.axis.length("per", kind.per)
        scan = Scan(kind.p, kind.rate, per, *local_conditions(framing, inputs.axis))
        return ClusterFrames, {"scan": scan}


@dataclass(frozen=True)
class DensityFrames(HeldRowFrames):
    """Density frames; the first call is the aggregate of each window of ``per`` ticks."""

    per: int = 1
    sign: str = ">"
    limit: Decimal = Decimal(0)

    @property
    def hidden(self) -> int:
        return 1

    @property
    def remembered_names(self) -> tuple[str, ...]:
        """The number of held rows that have been framed already."""
        return ("framed",)

    def _framed(self, now: StepContext) -> tuple[pa.Table, Changes, Ints]:
        both, key, rows = self._gathered(now)
        complete = self.certainty.complete(now)
        known = rows.starts, rows.order, complete, now.ended, self.axis, self.per
        certain = decided(*known)
        framed = self.memory.whole(now.keyed, now.remembered, "framed")
        new = self._newly_decided(rows, np.where(framed == NEVER, 0, framed), certain)
        records = self.memory.records(now.keyed, now.remembered)
        new = self.certainty.to_the_end(now, new, records)
        frames = walked(self.record, new, records, now.ended)
        if not now.ended:
            horizon = self._next_undecided(rows, certain, complete)
            frames, _ = self.certainty.with_quiet(now, frames, records, horizon)
            frames = self._with_over(frames, new, records, over(*known), horizon)
        joined = self._joined(now, new)
        results = self._results(now.keyed, frames, joined)
        first = needed(*known)
        since = np.minimum(self._since(records), self._held_since(rows, first))
        if now.ended:
            return results, forget(now.state, KEYS, OPEN_CELLS, HELD), since
        changed = (np.diff(now.arranged.rows.starts) > 0) | (first > rows.starts[:-1])
        changed |= np.isin(np.arange(len(now.keyed)), frames["key"])
        buckets = KeyBuckets.of(now.keyed, self.key_names, changed, self.buckets)
        cells, opened = self.contents.kept(joined, records)
        changes = buckets.write(now.state, OPEN_CELLS, cells, opened)
        records["low"] = records["high"] = np.where(is_open(records), -1, 0)
        held = np.arange(both.num_rows) >= first[key]
        changes |= buckets.write(now.state, HELD, both.filter(pa.array(held)), key[held])
        seen = np.maximum(0, rows.starts[:-1] + certain - first)
        table = self.memory.table(now.keyed, records, {"framed": pa.array(seen)})
        changes |= buckets.write(now.state, KEYS, table, np.arange(len(now.keyed)))
        return results, changes, since

    def _joined(self, now: StepContext, rows: OrderedRows) -> JoinedCells:
        """Return the kept cells of open frames, and the rows that are framed now."""
        kept = self.contents.load(now.state)
        key = find_keys(kept.select(self.key_names), now.keyed.keys)
        return JoinedCells.of(self.contents, len(now.keyed), kept, key, rows)

    def _newly_decided(self, rows: OrderedRows, framed: Ints, certain: Ints) -> OrderedRows:
        """Return the rows for which it is now known whether they lie in a satisfying window."""
        low = windows_of(rows.starts, rows.order, self.axis, self.per)
        reach_back = shift_order(rows.order, self.axis, -self.per)
        action = flag(rows.starts, rows.order, reach_back, self._satisfied(rows, low))
        place = np.arange(len(rows)) - np.repeat(rows.starts[:-1], np.diff(rows.starts))
        counts = np.diff(rows.starts)
        new = (place >= np.repeat(framed, counts)) & (place < np.repeat(certain, counts))
        key = np.repeat(np.arange(len(counts)), counts)[new]
        return OrderedRows(
            starts=np.searchsorted(key, np.arange(len(counts) + 1)).astype(np.int64),
            order=rows.order[new],
            what=rows.what[new],
            table=rows.table.filter(pa.array(new)),
            gap=rows.gap[new] if len(rows.gap) else rows.gap,
            columns={"whole": action[new]},
        )

    def _satisfied(self, rows: OrderedRows, low: Ints) -> Mask:
        """Return for each row whether the window that ends with it meets the condition."""
        measured = FrameAggregates(self.axis, self.keys, self.calls[:1], self.lateness_type)
        high = np.arange(len(rows)) + 1
        (values,) = measured.of_stretches(measured.lifted(rows.table), low, high)
        return meets(values, self.sign, self.limit)

    def _next_undecided(self, rows: OrderedRows, certain: Ints, complete: Ints) -> Ints:
        """Return where the next row to frame may lie: the first undecided row, or punctuation."""
        first = rows.starts[:-1] + certain
        held = np.append(rows.order, EVER)[np.minimum(first, len(rows))]
        return np.minimum(complete, np.where(first < rows.starts[1:], held, EVER))

    @property
    def _reports_between_rows(self) -> bool:
        """False: later windows decide about rows, so punctuation says little about open frames."""
        return False

    def _with_over(
        self, frames: np.ndarray, rows: OrderedRows, records: np.ndarray, quiet: Mask, horizon: Ints
    ) -> np.ndarray:
        """Add the open frames that no later row can join, if nothing else about them is unknown."""
        record = self.record[0]
        if record["reading"] == UNTIL_NEXT or record["liberal"]:
            return frames
        ends = (record["reading"] == POINT) | (records["reach"] <= horizon)
        keys = np.flatnonzero(quiet & ends & (records["mode"] == OPEN))
        if not len(keys):
            return frames
        none = OrderedRows(
            np.zeros(len(keys) + 1, np.int64), rows.order[:0], rows.what[:0], rows.table
        )
        quiet_records = records[keys]
        more = walked(self.record, none, quiet_records, True)
        records[keys] = quiet_records
        more["key"] = keys[more["key"]]
        both = np.concatenate([frames, more])
        return both[np.argsort(both["key"], kind="stable")]


@dataclass(frozen=True)
class ClusterFrames(HeldRowFrames):
    """Rows that are closer together than chance would bring them."""

    scan: Scan = field(default_factory=lambda: Scan(0.05, 1.0, 1))

    def find_frames(
        self,
        rows: OrderedRows,
        memory: dict[str, Ints],
        keys: KeyedTables,
        complete: Ints,
        ended: bool,
    ) -> FoundFrames:
        weight = np.ascontiguousarray(rows.read("whole")) if self.kind.types else None
        known = rows.starts, rows.order, complete, ended
        scanned = clusters(*known, self.axis, self.scan, weight)
        frames = np.zeros(len(scanned.key), FOUND)
        frames["key"], frames["low"], frames["high"] = scanned.key, scanned.low, scanned.high + 1
        for name in ("start", "held_from"):
            frames[name] = rows.order[scanned.low]
        for name in ("end", "held_to"):
            frames[name] = rows.order[scanned.high]
        frames["n"], frames["status"] = scanned.high - scanned.low + 1, FINAL
        frames["chance"] = [chance_of(log) for log in scanned.log_chance.tolist()]
        return FoundFrames(frames, scanned.needed, {})
