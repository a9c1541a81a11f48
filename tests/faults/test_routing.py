"""What the map side combines at once: rows up to a number, and up to a number of bytes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.spark.exchange.routing import gathered


def texts(*lengths: int) -> pa.Table:
    return pa.table({"n": range(len(lengths)), "s": ["x" * length for length in lengths]})


def gather(tables: list[pa.Table], rows: int = 1000, size: int = 1000) -> list[pa.Table]:
    return list(gathered(iter(tables), rows, size))


def test_rows_are_gathered_up_to_a_number() -> None:
    tables = [texts(1, 1), texts(), texts(1), texts(1, 1, 1), texts(1)]
    assert [table.num_rows for table in gather(tables, rows=3)] == [3, 3, 1]


def test_long_texts_are_gathered_up_to_a_number_of_bytes() -> None:
    tables = [texts(400), texts(400), texts(400), texts(10)]
    found = gather(tables)
    assert [table.num_rows for table in found] == [2, 2]
    assert all(table.nbytes <= 1000 for table in found)


def test_a_table_of_long_texts_is_cut() -> None:
    found = gather([texts(*[300] * 9)])
    assert [row for table in found for row in table["n"].to_pylist()] == list(range(9))
    assert all(table.nbytes <= 1000 for table in found)
    # A single row is not cut.
    assert [table.num_rows for table in gather([texts(5000, 1)])] == [1, 1]


@pytest.mark.slow
def test_more_text_than_offsets_reach() -> None:
    """Three gigabytes in 3,000 batches; gathered by rows alone they do not fit one text column."""
    batch = texts(*[2**20])
    seen = 0
    for table in gathered(batch for _ in range(3000)):
        seen += len(table.combine_chunks()["s"].chunk(0))
    assert seen == 3000
    whole = pa.concat_tables([batch] * 3000)["s"]
    with pytest.raises(pa.ArrowInvalid, match="offset overflow"):
        pa.concat_arrays(whole.chunks)
