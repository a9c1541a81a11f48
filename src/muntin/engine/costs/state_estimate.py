"""How many bytes a network of queries may come to keep, computed from the queries alone.

The estimate is the same for the same queries, whatever rows came: what is refused must not depend
on when it is asked for. The measured bytes (:mod:`muntin.engine.costs.stream_costs`) are reported
beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.operators.shared.base_panes import BasePanes
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import QueryGroup
from muntin.operators.shared.single_query import SingleQuery
from muntin.operators.shared.window_group import WindowGroup
from muntin.operators.windows.operator import WindowOperator
from muntin.operators.windows.sessions import SessionOperator

#: What a value counts whose size differs: a text, a list, a sketch.
_LOOSE_BYTES = 64
#: What a cell counts for its set and its pane.
_CELL_BYTES = 12


@dataclass(frozen=True)
class ExpectedSizes:
    """What is expected of a stream, for estimates of state.

    Attributes:
        keys: How many different keys are there at a time.
        rows: How many rows of a key an operator has to hold that keeps rows.
    """

    keys: int = 1_000
    rows: int = 100


def expected_sizes(keys: object, rows: object) -> ExpectedSizes:
    """Return what is expected of a stream; raise if it is no number above 0."""
    for argument, given in (("expect_keys", keys), ("expect_rows", rows)):
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise ArgumentError(argument, given, "it is a whole number above 0")
    assert isinstance(keys, int) and isinstance(rows, int)
    return ExpectedSizes(keys, rows)


@dataclass(frozen=True)
class PartEstimate:
    """What a part may come to keep.

    ``panes`` and ``sets`` are how many panes a key has, and how many predicate sets a pane; both
    are 0 where rows are kept instead of cells.
    """

    kind: str
    panes: int
    sets: int
    bytes_per_key: int
    keys: int

    @property
    def bytes(self) -> int:
        return self.bytes_per_key * self.keys


def estimated(network: QueryNetwork, sizes: ExpectedSizes) -> Mapping[str, PartEstimate]:
    """Return what each part of a network may come to keep, by its name.

    Queries that only choose rows keep nothing. Answers that are kept until somebody asks count
    with the part of their query.
    """
    parts = {name: _of_group(group, sizes) for name, group in network.groups.items()}
    for program in network.by_member.values():
        if program.answer == "partial" and program.answers is not None:
            name = next((n for n, g in network.groups.items() if program.member in g.members), "")
            extra = row_bytes(program.answers.schema)
            own = parts.get(name, PartEstimate("kept answers", 0, 0, 0, sizes.keys))
            kept = own.bytes_per_key + extra
            parts[name] = PartEstimate(own.kind, own.panes, own.sets, kept, own.keys)
    return parts


def total_bytes(network: QueryNetwork, sizes: ExpectedSizes) -> int:
    """Return the bytes that a network may come to keep."""
    return sum(part.bytes for part in estimated(network, sizes).values())


def row_bytes(schema: pa.Schema) -> int:
    """Return the bytes of a row with some columns.

    >>> row_bytes(pa.schema([("n", pa.int64()), ("station", pa.string())]))
    72
    """
    return sum(map(_width, schema.types))


def _width(type_: pa.DataType) -> int:
    if pa.types.is_dictionary(type_):
        return _CELL_BYTES - 8
    try:
        return max(1, int(type_.bit_width) // 8)
    except ValueError:
        return _LOOSE_BYTES


def _of_group(group: QueryGroup, sizes: ExpectedSizes) -> PartEstimate:
    match group:
        case WindowGroup():
            return _of_shared(group, sizes)
        case BasePanes(windows=windows):
            return replace(_of_shared(windows, sizes), kind="base panes")
        case SingleQuery(program=program):
            return _of_single(program, sizes)
    raise AssertionError(group)


def _keys(names: Sequence[object], sizes: ExpectedSizes) -> int:
    return sizes.keys if names else 1


def _of_shared(group: WindowGroup, sizes: ExpectedSizes) -> PartEstimate:
    windows = group.windows
    edges = windows.members.edges
    # Panes as far back as the longest window reaches, from edges that no two windows have alike.
    panes = sum(edges.longest // slide + 2 for slide, _ in edges.progressions)
    sets = min(_sets(group.programs), max(1, sizes.rows))
    cell = row_bytes(windows.layout.schema) + _CELL_BYTES
    return PartEstimate(
        "windows over shared panes", panes, sets, panes * sets * cell, _keys(windows.keys, sizes)
    )


def _sets(programs: Sequence[QueryProgram]) -> int:
    """Return how many predicate sets the rows of a pane may have.

    Of n ranges of one column there are at most 2 n + 1, with one alone 2 sets; each predicate is
    taken for such a range.
    """
    texts = {p.inputs[0].predicate.text for p in programs if p.inputs[0].predicate is not None}
    ranges = 2 * len(texts) + 1
    return ranges if len(texts) > 1 else 1 + len(texts)


def _of_single(program: QueryProgram, sizes: ExpectedSizes) -> PartEstimate:
    operator = program.operator
    keys = _keys([name for name in program.inputs[0].columns.schema.names if name[0] == "k"], sizes)
    kind = "an operator of its own"
    match operator:
        case WindowOperator(edges=edges):
            panes = 2 if edges.landmark else edges.panes_per_window + 2 * edges.panes_per_slide
            cell = row_bytes(operator.panes.schema) + _CELL_BYTES
            return PartEstimate(kind, panes, 1, panes * cell, keys)
        case SessionOperator():
            return PartEstimate(kind, 0, 0, 2 * row_bytes(operator.cells.schema), keys)
    rows = sum(row_bytes(own.columns.schema) for own in program.inputs) * sizes.rows
    return PartEstimate(kind, 0, 0, rows, keys)
