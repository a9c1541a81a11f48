from __future__ import annotations

import pyarrow as pa

from muntin.kernels.arrays import NEVER
from muntin.operators.rows.cut import SlideCut
from muntin.specs.axis import Axis, Domain
from tests.operators.progressed import progressed, run, told

INTEGER = Axis(Domain.INTEGER)


#   on         1    4    6    8        slides of 10 of the mile
#   mile      12   18   25   31
#   windows        ends at 4, and at 6; the one at 8 waits for a later row
def slide_cut() -> SlideCut:
    return SlideCut(5, INTEGER, 10, 0, INTEGER)


def test_slide_windows_end_where_the_other_attribute_passes_an_edge() -> None:
    rows = run((0, 1), (0, 4), (0, 6), (0, 8), marks=[[12, 18, 25, 31], [1, 1, 2, 3]])
    cut = slide_cut()
    cutting = cut.windows(rows, progressed(), None)
    assert told(cutting) == [(0, -1, 4, True), (0, 1, 6, True)]
    assert {name: of.tolist() for name, of in cutting.memory.items()} == {
        "risen": [31],
        "slide": [3],
        "last": [8],
    }
    assert cutting.needed.tolist() == [3]
    ended = progressed(risen=[31], slide=[3], last=[8], ended=True)
    none = run(marks=[[], []])
    assert told(cut.windows(none, ended, None)) == [(0, 3, 8, False)]


def test_slide_windows_of_a_key_without_rows_need_nothing() -> None:
    cutting = slide_cut().windows(run(marks=[[], []]), progressed(), None)
    assert cutting.needed.tolist() == [NEVER]
    assert told(cutting) == []


def test_rows_whose_slide_attribute_falls_are_refused() -> None:
    rows = run((0, 1), (0, 4), (0, 4), (0, 6), marks=[[12, 11, 20, 19], [1, 1, 2, 1]])
    refused = slide_cut().refuse(rows, progressed(risen=[NEVER]))
    assert refused is not None
    assert refused.tolist() == [False, True, False, True]


def test_a_row_without_slide_attribute_is_refused() -> None:
    rows, reasons = slide_cut().mark(pa.table({"slide_on": pa.array([None, 25, -1], pa.int64())}))
    assert reasons is not None
    assert reasons.tolist() == ["null_slide_on", "", ""]
    assert rows["m1"].to_pylist()[1:] == [2, -1]
