"""The worker side of the bucket operator; nothing here starts Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from muntin.reference.definitions import bounds, wids
from muntin.spark.plan import window_ids
from muntin.spark.plan.window_ids import WindowTags, tag
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Window

AXIS = Axis(Domain.INTEGER)


def exploded(window: Window, *values: int | None) -> list[pa.RecordBatch]:
    work = WindowTags(AXIS, window.edges(AXIS), "x", pa.int64(), explode=True)
    batch = pa.RecordBatch.from_pydict({"x": pa.array(values, pa.int64())})
    return list(tag(work, ["wid", "start", "end"], iter([batch])))


def expected(window: Window, *values: int | None) -> list[dict[str, Any]]:
    edges = window.edges(AXIS)
    copies = []
    for x in values:
        if x is not None and not (edges.clipped and x < edges.origin):
            for wid in wids(x, AXIS, edges):
                start, end = bounds(wid, AXIS, edges)
                copies.append({"x": x, "wid": wid, "start": start, "end": end})
    return copies


@pytest.mark.parametrize("origin", [None, 4])
@pytest.mark.parametrize(("range_", "slide"), [(10, 1), (7, 3), (3, 7)])
@pytest.mark.parametrize("at_once", [1, 4, 100_000])
def test_copies_come_in_slices(
    monkeypatch: pytest.MonkeyPatch, range_: int, slide: int, origin: int | None, at_once: int
) -> None:
    monkeypatch.setattr(window_ids, "ROWS_AT_ONCE", at_once)
    window = Window(range_, slide, "x", origin)
    values = (None, 0, 3, 3, 29, None, -8, 12, None)
    copies = exploded(window, *values)
    assert [row for batch in copies for row in batch.to_pylist()] == expected(window, *values)
    assert all(0 < batch.num_rows <= at_once for batch in copies)


def test_one_row_in_many_windows_is_never_copied_at_once() -> None:
    batches = exploded(Window(250_000, 1, "x"), 5)
    assert [batch.num_rows for batch in batches] == [100_000, 100_000, 50_000]
    assert batches[-1].to_pylist()[-1] == {"x": 5, "wid": 250_004, "start": 5, "end": 250_005}


def test_no_rows_no_copies() -> None:
    assert exploded(Window(10, 1, "x")) == exploded(Window(10, 1, "x"), None) == []
