from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.protocol import Punctuation, original_names
from muntin.specs.axis import Axis, Domain

DOUBLES = Axis(Domain.DOUBLE, 1)
ADMISSION = Admission(DOUBLES, pa.float64(), origin=10)


def rows(*on: float | None, originals: bool = True) -> pa.Table:
    table = pa.table({"on": pa.array(on, pa.float64()), "k0": pa.array(["a"] * len(on))})
    return table.append_column("o0", pa.array(range(len(on)))) if originals else table


#   0.5 is before the origin (tick 10), 3.07 lies in tick 30
def test_rows_are_refused_for_the_first_reason_that_holds() -> None:
    arrived = rows(1.0, 0.5, None, math.nan, math.inf, 3.07, 2.0)
    also = np.array(["", "", "no_gap", "", "", "", "no_gap"], object)
    admitted = ADMISSION.admit(arrived, also)
    assert admitted.tick.tolist() == [10, 30]
    assert admitted.rows["o0"].to_pylist() == [0, 5]
    assert admitted.progress == 30
    assert admitted.counts == {
        "before_origin": 1,
        "null_on": 1,
        "nan_on": 1,
        "out_of_range": 1,
        "no_gap": 1,
    }
    assert admitted.refused_rows is not None
    refused = admitted.refused_rows.to_pylist()
    assert [(row["o0"], row["reason"]) for row in refused] == [
        (1, "before_origin"),
        (2, "null_on"),
        (3, "nan_on"),
        (4, "out_of_range"),
        (6, "no_gap"),
    ]
    assert admitted.refused_rows["lateness"].type == pa.float64()


def test_progress_counts_rows_that_are_refused_but_placed() -> None:
    assert ADMISSION.admit(rows(0.5)).progress == 5
    assert ADMISSION.admit(rows(None)).progress is None
    assert ADMISSION.admit(rows()).progress is None


def test_originals_travel_only_where_they_are_wanted() -> None:
    admitted = ADMISSION.admit(rows(None, 2.0, originals=False))
    assert admitted.refused_rows is None
    assert admitted.originals(["k0"]) is None
    kept = ADMISSION.admit(rows(None, 2.0)).originals(["k0"])
    assert kept is not None
    assert kept.to_pylist() == [{"k0": "a", "o0": 1, "tick": 20}]


def test_original_columns_are_told_from_others_by_their_number() -> None:
    named = pa.table({name: [1] for name in ("on", "o0", "order", "o12", "o")})
    assert original_names(named) == ["o0", "o12"]


#   key a is complete up to 20; key b up to 5, like the whole stream
def test_late_is_below_the_punctuation_of_the_key() -> None:
    by_key = pa.table({"k0": ["a"], "before": [20], "after": [30]})
    table = pa.table({"k0": ["a", "a", "b", "b"], "tick": [19, 20, 4, 5], "o0": [1, 2, 3, 4]})
    punctuation = Punctuation(5, 5, 40, by_key=by_key)
    late = is_late(table, ["k0"], punctuation)
    assert late.tolist() == [True, False, True, False]
    before, _ = punctuation.of(table.select(["k0"]))
    refused = Admission(Axis(Domain.INTEGER), pa.int64()).late_rows(table, late, before)
    assert refused.to_pylist() == [
        {"o0": 1, "reason": "late", "lateness": 1},
        {"o0": 3, "reason": "late", "lateness": 1},
    ]
    assert not is_late(table, ["k0"], Punctuation(None, None, None)).any()


def test_behind_the_end_every_row_is_late_however_far_it_is() -> None:
    table = pa.table({"k0": ["a", "a"], "tick": [3, 2**61], "o0": [1, 2]})
    over = Punctuation(5, 5, 9, ended=True, over=True)
    late = is_late(table, ["k0"], over)
    assert late.all()
    admission = Admission(Axis(Domain.INTEGER), pa.int64())
    refused = admission.late_rows(table, late, np.array([5, 5]))
    assert refused["lateness"].to_pylist() == [2, None]
    never = admission.late_rows(table, late, np.array([NEVER, NEVER]))
    assert never["lateness"].to_pylist() == [None, None]
