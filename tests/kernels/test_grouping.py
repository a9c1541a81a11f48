from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.grouping import Groups, greatest_of_keys, key_and_pane, key_codes

VALUES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [True, False],
    pa.int32(): [0, -1, 2**31 - 1],
    pa.int64(): [0, -(2**63), 2**63 - 1],
    pa.float64(): [0.5, -1e300, float("inf")],
    pa.string(): ["", "a", "é"],
    pa.binary(): [b"", b"\x00", b"\xff"],
    pa.decimal128(38, 2): [Decimal("1.50"), Decimal("-1.50")],
    pa.date32(): [date(2026, 1, 1), date(1969, 12, 31)],
    pa.timestamp("us"): [datetime(2026, 1, 1), datetime(1969, 12, 31)],
    pa.timestamp("us", tz="UTC"): [datetime(2026, 1, 1), datetime(1969, 12, 31)],
    pa.duration("us"): [timedelta(0), timedelta(days=-1)],
}


def check_codes(rows: list[tuple[Any, ...]], columns: list[pa.Array]) -> None:
    """Check that codes are equal for equal rows and only for those, and below the size."""
    codes, size = key_codes(columns, len(rows))
    assert len(codes) == len(rows)
    assert all(0 <= code < size for code in codes.tolist())
    by_key: dict[tuple[Any, ...], set[int]] = {}
    for row, code in zip(rows, codes.tolist(), strict=True):
        by_key.setdefault(row, set()).add(code)
    assert all(len(codes_of_key) == 1 for codes_of_key in by_key.values())
    assert len(set(codes.tolist())) == len(by_key)


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_one_key_column_of_every_type(type_: pa.DataType) -> None:
    values = [*VALUES[type_], None, *reversed(VALUES[type_]), None]
    check_codes([(value,) for value in values], [pa.array(values, type_)])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "a", "b"]),
            st.sampled_from([None, 1, 2, 3]),
            st.sampled_from([None, True, False]),
        ),
        max_size=30,
    )
)
def test_several_key_columns(rows: list[tuple[Any, ...]]) -> None:
    types = [pa.string(), pa.int64(), pa.bool_()]
    columns = [pa.array([row[place] for row in rows], t) for place, t in enumerate(types)]
    check_codes(rows, columns)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 12), max_size=30))
def test_so_many_key_columns_that_their_combinations_are_counted_anew(
    rows: list[tuple[int, ...]],
) -> None:
    columns = [pa.array([row[place] for row in rows], pa.int64()) for place in range(12)]
    check_codes(rows, columns)
    _, size = key_codes(columns, len(rows))
    assert size <= 4 * len(rows) + 1024


def test_without_key_columns_all_rows_have_one_key() -> None:
    codes, size = key_codes([], 3)
    assert (codes.tolist(), size) == ([0, 0, 0], 1)


def check_groups(codes: list[int], panes: list[int], groups: Groups) -> None:
    """Check that groups are numbered in the order of key and pane, with a row of each."""
    cells = list(zip(codes, panes, strict=True))
    known = sorted(set(cells))
    assert groups.number.tolist() == [known.index(cell) for cell in cells]
    assert [cells[row] for row in groups.member.tolist()] == known
    assert len(groups) == len(known)


CELLS = st.lists(st.tuples(st.integers(0, 4), st.integers(-20, 20)), max_size=40)


@given(
    CELLS,
    # Near each other for a table, far apart for a sort, and too far to be multiplied.
    st.sampled_from([1, 10**4, 2**55]),
)
def test_groups_of_key_and_pane(cells: list[tuple[int, int]], step: int) -> None:
    codes = [code for code, _ in cells]
    panes = [pane * step for _, pane in cells]
    groups = key_and_pane(np.array(codes, np.int64), 5, np.array(panes, np.int64))
    check_groups(codes, panes, groups)


def test_panes_at_the_ends_of_the_axis() -> None:
    codes, panes = [1, 0, 1, 1], [2**61, -(2**61), -(2**61), 2**61]
    groups = key_and_pane(np.array(codes), 2, np.array(panes))
    check_groups(codes, panes, groups)


def test_groups_of_nothing() -> None:
    empty = np.empty(0, np.int64)
    assert len(key_and_pane(empty, 1, empty)) == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]),
            st.integers(0, 3),
            st.integers(-(2**63), 2**63 - 1),
        )
    )
)
def test_the_greatest_of_every_key(rows: list[tuple[str | None, int, int]]) -> None:
    keys = pa.table(
        {
            "k0": pa.array([k for k, _, _ in rows], pa.string()),
            "k1": pa.array([n for _, n, _ in rows], pa.int64()),
        }
    )
    names, greatest = greatest_of_keys(keys, np.array([t for _, _, t in rows], np.int64))
    triples = zip(names["k0"].to_pylist(), names["k1"].to_pylist(), greatest.tolist(), strict=True)
    wanted: dict[tuple[str | None, int], int] = {}
    for k, n, tick in rows:
        wanted[k, n] = max(tick, wanted.get((k, n), tick))
    assert sorted(triples, key=str) == sorted(((*key, t) for key, t in wanted.items()), key=str)
