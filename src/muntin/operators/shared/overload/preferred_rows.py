"""Which rows a query prefers, by what summaries of its rows estimate [Promising tuples 4.1].

A gate summarizes the rows that come to it, as a CREATE SUMMARY statement asks for, and estimates
how often the value of a row came in each granularity. Estimates of older granularities fade. A row
that promises nothing comes after all that do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.row_expression import RowExpression
from muntin.kernels.arrays import Floats, Ints, Mask, Words
from muntin.kernels.hashing import value_hashes
from muntin.operators.protocol import Changes, State
from muntin.operators.shared.overload.waiting_rows import BESIDE, TICK, draws
from muntin.operators.summaries.cell_counts import HashedValues
from muntin.operators.summaries.zones import SummaryZones
from muntin.specs.preference import PreferenceOrder
from muntin.specs.summaries import StreamSummary, ZoneLengths

#: The hash of the value that is counted, and how the columns of expressions begin.
COUNTED, READ = BESIDE[3], BESIDE[4]
_FORGOTTEN = "forgotten"
#: What rows are sorted by: numbers, or a mask.
SortKey = Ints | Floats | Words | Mask


@dataclass(frozen=True)
class PreferredInput:
    """How the rows of an input are summarized.

    ``columns`` are those that expressions read of its rows.
    """

    summary: StreamSummary
    lengths: ZoneLengths
    columns: tuple[str, ...] = ()

    def beside(self, read: pa.Table) -> dict[str, pa.Array]:
        """Return what travels beside the rows: the hash of the counted value, and columns."""
        counted = read[_spelt(self.summary.attribute, read)].combine_chunks()
        hashes = value_hashes(counted).view(np.int64)
        found = {COUNTED: pa.array(hashes)}
        return found | {f"{READ}{name}": read[_spelt(name, read)] for name in self.columns}


@dataclass(frozen=True)
class PreferredValues:
    """An expression over columns and over ``estimate_0`` and so on.

    ``of`` has, for each of these, the input whose rows are counted.
    """

    expression: RowExpression
    of: tuple[int, ...]


@dataclass(frozen=True)
class PreferredRows:
    """What a query prefers.

    ``values`` are its expressions. ``first`` has, for each input, which of them says how much a row
    of that input promises; the other one decides between rows that promise the same.
    """

    order: PreferenceOrder
    fade: float
    inputs: tuple[PreferredInput, ...]
    values: tuple[PreferredValues, ...]
    first: tuple[int, ...]

    def summarized(
        self, state: State, tables: Sequence[pa.Table | None]
    ) -> tuple[list[SummaryZones], Changes]:
        """Return the summaries with new rows of each input, and the changes that keep them."""
        summaries, changes = [], {}
        for source, (own, rows) in enumerate(zip(self.inputs, tables, strict=True)):
            name = f"summary{source}"
            zones = SummaryZones(own.summary, own.lengths)
            if state.buckets(name):
                table = state.read(name, 0)
                forgotten = int((table.schema.metadata or {}).get(_FORGOTTEN.encode(), b"0"))
                zones = SummaryZones.of_table(own.summary, own.lengths, table, forgotten)
            placed = None if rows is None else rows.filter(pc.is_valid(rows[TICK]))
            if placed is not None and placed.num_rows:
                order = placed[TICK].to_numpy().astype(np.int64)
                zones.summarize(order, placed[COUNTED].fill_null(0).to_numpy().view(np.uint64))
                zones.collapse(max(zone.last for zone in zones.zones))
                kept = zones.table().replace_schema_metadata({_FORGOTTEN: str(zones.forgotten)})
                changes[name, 0] = kept
            summaries.append(zones)
        return summaries, changes

    def promises(
        self, summaries: Sequence[SummaryZones], sources: Sequence[int], tables: Sequence[pa.Table]
    ) -> list[Promise]:
        """Return what the rows of some inputs promise."""
        found = []
        for source, rows in zip(sources, tables, strict=True):
            if COUNTED not in rows.column_names:  # they waited for another policy
                nothing = np.zeros(rows.num_rows)
                rows = rows.append_column(COUNTED, pa.array(nothing.astype(np.int64)))
                found.append(Promise(rows, nothing, nothing))
                continue
            values = [self._value(own, summaries, rows) for own in self.values]
            first = values[self.first[source]]
            others = [value for place, value in enumerate(values) if place != self.first[source]]
            second = others[0] if others else np.zeros(rows.num_rows)
            found.append(Promise(rows, first, second))
        return found

    def _value(
        self, value: PreferredValues, summaries: Sequence[SummaryZones], rows: pa.Table
    ) -> Floats:
        columns: dict[str, pa.Array] = {
            name.removeprefix(READ): rows[name]
            for name in rows.column_names
            if name.startswith(READ)
        }
        for place, of in enumerate(value.of):
            columns[f"estimate_{place}"] = pa.array(self._estimates(summaries[of], rows))
        table = pa.table(columns) if columns else rows
        made = pc.cast(value.expression.evaluate(table), pa.float64())
        numbers: Floats = np.nan_to_num(np.asarray(pc.fill_null(made, 0.0)), nan=0.0)
        return numbers

    def _estimates(self, zones: SummaryZones, rows: pa.Table) -> Floats:
        """Return about how often the value of each row came; what is older counts less."""
        hashes, place = np.unique(rows[COUNTED].fill_null(0).to_numpy(), return_inverse=True)
        if not zones.zones or not len(hashes):
            return np.zeros(rows.num_rows)
        found = zones.estimates(HashedValues.of(hashes.view(np.uint64), zones.spec))
        faded = np.array([self.fade ** (zone.granularity - 1) for zone in zones.zones])
        estimates: Floats = (faded @ np.maximum(found, 0))[place]
        return estimates


@dataclass(frozen=True)
class Promise:
    """How much each row promises: ``first``, and among equal ones ``second``."""

    rows: pa.Table
    first: Floats
    second: Floats


def preferred_keys(order: PreferenceOrder, promises: Sequence[Promise]) -> list[SortKey]:
    """Return what rows of all inputs are sorted by, the last key first.

    ``weighted`` gives each value its turns in the ratio of what it promises: the n-th row of a
    value, counted from a draw between 0 and 1, comes at the time n over its promise.
    """
    first = np.concatenate([own.first for own in promises])
    second = np.concatenate([own.second for own in promises])
    draw = np.concatenate([draws(own.rows) for own in promises])
    nothing = first <= 0
    if order == "asc":
        return [draw, second, first, nothing]
    if order == "desc":
        return [draw, -second, -first, nothing]
    turn = np.concatenate([_turns(own) for own in promises])
    # A turn begins at a draw, so that a value which has less than one turn has it at times.
    begun = draw.astype(np.float64) / 2.0**64
    due = np.divide(turn + begun, first, out=np.full(len(first), np.inf), where=~nothing)
    return [draw, -second, due, nothing]


def _turns(promise: Promise) -> Ints:
    """Number the rows with the same value from 0, in the order of a draw."""
    value = promise.rows[COUNTED].fill_null(0).to_numpy()
    order = np.lexsort((draws(promise.rows), value))
    ordered = value[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if not len(ordered):
        return np.zeros(0, np.int64)
    counts = np.diff(np.append(starts, len(ordered)))
    turns = np.empty(len(ordered), np.int64)
    turns[order] = np.arange(len(ordered)) - np.repeat(starts, counts)
    return turns


def _spelt(name: str, read: pa.Table) -> str:
    known: Mapping[str, str] = {own.casefold(): own for own in read.column_names}
    return known[name.casefold()]
