"""The queries and figures of [Window-ids], computed by hand: by definition and step by step.

Every stream goes through the reference and through the step function of the operator, and both must
agree. The expected values are printed in the paper, or follow from its definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from muntin.aggregates.definition import AggregateCall
from muntin.operators.windows.operator import WindowOperator
from muntin.reference.definitions import extent, wids
from muntin.reference.rows import SequenceReference
from muntin.reference.windows import END, MicroBatch, Reference
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import RowWindow, SequenceSpec, SlideOnWindow, TupleWindow
from muntin.specs.windows import Context, Window
from muntin.testing import assert_same_rows
from tests.operators.stepping import INTEGER, Stepping, ordered
from tests.properties.arriving import renamed

Row = Mapping[str, Any]
Step = tuple[Sequence[Row], int | None]

#: The five queries as in the paper, their text, and their class (section 4). Row windows by
#: row-num are context free in the paper, where each row has its number. Here rows are counted, so
#: they depend on earlier rows. A specification does not include grouping or partitioning.
QUERIES = [
    pytest.param(
        Window("300 seconds", "60 seconds", "ts"),
        "RANGE 5 minutes SLIDE 1 minute WATTR ts",
        Context.CF,
        id="Q1",
    ),
    pytest.param(
        RowWindow(1000, 10, "ts", order="arrival"),
        "RANGE 1000 rows SLIDE 10 rows WATTR row-num",
        Context.FCF,
        id="Q2 and Q4",
    ),
    pytest.param(
        RowWindow(1000, 10, "ts"),
        "RANGE 1000 rows SLIDE 10 rows WATTR rank(ts)",
        Context.FCU,
        id="Q2 and Q4 by rank",
    ),
    pytest.param(
        TupleWindow("300 seconds", "ts", order="arrival"),
        "RANGE 5 minutes RATTR ts SLIDE 1 row SATTR row-num",
        Context.FCB,
        id="Q3",
    ),
    pytest.param(
        TupleWindow("300 seconds", "ts", every=5, order="arrival"),
        "RANGE 5 minutes RATTR ts SLIDE 5 rows SATTR row-num",
        Context.FCB,
        id="the first variation of Q3",
    ),
    pytest.param(
        TupleWindow("300 seconds", "ts", every=5),
        "RANGE 5 minutes RATTR ts SLIDE 5 rows SATTR rank(ts)",
        Context.FCU,
        id="Q5",
    ),
    pytest.param(
        SlideOnWindow("300 seconds", 100, "ts", "mile"),
        "RANGE 5 minutes RATTR ts SLIDE 100 SATTR mile",
        Context.FCB,
        id="RATTR and SATTR",
    ),
]


@pytest.mark.parametrize(("spec", "text", "context"), QUERIES)
def test_a_query_and_its_class(spec: Any, text: str, context: Context) -> None:
    assert str(spec) == text
    assert spec.context is context
    assert spec.context.forward_context_free == (context in (Context.CF, Context.FCF))


def rows(*pairs: tuple[int, str]) -> list[Row]:
    """Return rows with values of ``ts`` and segments; arrival breaks ties."""
    return [{"on": on, "k": k, "tie": place} for place, (on, k) in enumerate(pairs)]


def played(spec: SequenceSpec, *steps: Step, grouped: bool = False) -> list[list[tuple[Any, ...]]]:
    """Return the results of each step and of the end, as (segment, start, end, count)."""
    stepping = Stepping(ordered(spec, grouped=grouped))  # type: ignore[arg-type]
    reported = [stepping.step(arrived, upto) for arrived, upto in steps]
    reported.append(stepping.step(end=True))
    reference = SequenceReference(
        spec,
        INTEGER,
        by=[] if grouped else ["k"],
        group=["k"] if grouped else [],
        aggregates={"r0": len},
        tie=lambda row: row["tie"],
    )
    outcome = reference.run([MicroBatch(arrived, upto) for arrived, upto in steps])
    assert not outcome.refused
    assert_same_rows([renamed(row) for step in reported for row in step], outcome.results)
    return [
        sorted((r["k0"], r["window_start"], r["window_end"], r["r0"]) for r in step)
        for step in reported
    ]


# -- Section 2: the running example ----------------------------------------------------------------

MINUTE = 60
Q1 = Window(300, 60, "ts", origin=0)  # seconds since 12:00:00PM
EDGES = Q1.edges(INTEGER)


@pytest.mark.parametrize(("wid", "starts", "ends"), [(10, 6, 11), (11, 7, 12)])
def test_window_extents_of_the_running_example(wid: int, starts: int, ends: int) -> None:
    assert (EDGES.start(wid), EDGES.end(wid)) == (starts * MINUTE, ends * MINUTE)


def test_t1_belongs_to_window_extents_10_through_14() -> None:
    t1 = 10 * MINUTE + 10
    assert list(wids(t1, INTEGER, EDGES)) == [10, 11, 12, 13, 14]
    assert [w for w in range(20) if extent(w, [t1], INTEGER, EDGES)] == [10, 11, 12, 13, 14]


def test_window_extents_0_through_3_are_partial() -> None:
    assert [(EDGES.end(w) - EDGES.start(w)) // MINUTE for w in range(6)] == [1, 2, 3, 4, 5, 5]


#    12:05          12:06 ... 12:09 12:10  12:11  12:12
#      |              |         |     |      |      |
#  s6                         51 |  48      p1     p2      t1 is the row of speed 48
#  s7                            |     60         p3
#  window 9  [12:05, 12:10)      ]
#  window 10 [12:06, 12:11)                 ]
#  window 11 [12:07, 12:12)                        ]
READINGS = [
    {"on": 9 * MINUTE + 30, "k": "s6", "speed": 51},
    {"on": 10 * MINUTE + 10, "k": "s6", "speed": 48},
    {"on": 10 * MINUTE + 20, "k": "s7", "speed": 60},
]
P1, P2, P3 = {"s6": 11 * MINUTE}, {"s6": 12 * MINUTE}, {"s7": 12 * MINUTE}
#: After each punctuation: segment, window, max(speed), min(speed).
CLOSED = [
    (P1, [("s6", 9, 51, 51), ("s6", 10, 51, 48)]),
    (P2, [("s6", 11, 51, 48)]),
    (P3, [("s7", 10, 60, 60), ("s7", 11, 60, 60)]),
]


def test_q1_closes_a_window_for_a_segment_at_its_punctuation() -> None:
    calls = [
        AggregateCall(f, f"{f}(speed)", (0,), (pa.int64(),), ansi=True) for f in ("max", "min")
    ]
    work = WindowOperator(INTEGER, EDGES, (pa.string(),), tuple(calls), pa.int64())
    stepping = Stepping(work, slot="speed")
    aggregates = {
        "r0": lambda held: max(row["speed"] for row in held),
        "r1": lambda held: min(row["speed"] for row in held),
    }
    reference = Reference(EDGES, INTEGER, "on", ["k"], aggregates)
    batches: list[MicroBatch] = []
    so_far: list[dict[str, Any]] = []
    for arrived, (punctuation, closed) in zip([READINGS, [], []], CLOSED, strict=True):
        results = stepping.step(arrived, upto_of=punctuation)
        reported = [(r["k0"], r["window_end"] // MINUTE - 1, r["r0"], r["r1"]) for r in results]
        assert sorted(reported) == closed
        assert all(r["window_start"] == EDGES.start(r["window_end"] // MINUTE - 1) for r in results)
        batches.append(MicroBatch(arrived, keys={(k,): tick for k, tick in punctuation.items()}))
        so_far += [renamed(row) for row in results]
        assert_same_rows(so_far, reference.run(batches).results)


# -- Section 3.2: Q2 against Q4, the same text but for one word ------------------------------------

#   row-num    0  1  2  3  4  5
#   seg-id     a  a  b  a  b  b
#   Q2         [---)              window 0: a a
#              [---------)        window 1: a a b a
#                    [---------)  window 2: b a b b
#                          [----  window 3, which the input leaves unfinished: b b
#   Q4  a      0  1     2         window 0: a a; window 1 lacks one: a a a
#       b            0     1  2   window 0: b b; window 1 lacks one: b b b
ARRIVED = rows((7, "a"), (3, "a"), (9, "b"), (1, "a"), (8, "b"), (2, "b"))
BY_ROW_NUM = RowWindow(4, 2, "on", order="arrival")


def test_q2_first_takes_the_rows_of_a_window_then_groups_them() -> None:
    assert played(BY_ROW_NUM, (ARRIVED[:3], None), (ARRIVED[3:], None), grouped=True) == [
        [("a", 0, 2, 2)],
        [("a", 0, 4, 3), ("a", 2, 6, 1), ("b", 0, 4, 1), ("b", 2, 6, 3)],
        [("b", 4, 8, 2)],
    ]


def test_q4_first_divides_the_stream_then_takes_the_rows_of_windows() -> None:
    assert played(BY_ROW_NUM, (ARRIVED[:3], None), (ARRIVED[3:], None)) == [
        [("a", 0, 2, 2)],
        [("b", 0, 2, 2)],
        [("a", 0, 4, 3), ("a", 2, 6, 1), ("b", 0, 4, 3), ("b", 2, 6, 1)],
    ]


#   by rank(ts)   1  2  3  7  8  9      a punctuation of 8 makes four ranks final
#   seg-id        a  b  a  a  b  b
def test_q2_by_rank_waits_for_punctuation() -> None:
    spec = RowWindow(4, 2, "on")
    assert played(spec, (ARRIVED[:3], None), (ARRIVED[3:], 8), grouped=True) == [
        [],
        [("a", 0, 2, 1), ("a", 0, 4, 3), ("b", 0, 2, 1), ("b", 0, 4, 1)],
        [("a", 2, 6, 2), ("b", 2, 6, 2), ("b", 4, 8, 2)],
    ]


# -- Section 3.2: Q3 and Q5, a window that ends at a row -------------------------------------------


#   ts       0       100          300 350
#   s6       x        x            x   x
#      (----]                             holds 1
#          (---------]                    2
#               (-----------------]       2: the row at 0 = 300 - 300 is outside
#                   (------------------]  3
def test_q3_a_window_ends_at_each_tuple() -> None:
    stream = rows((0, "s6"), (100, "s6"), (300, "s6"), (350, "s6"))
    q3 = TupleWindow(300, "on", order="arrival")
    assert played(q3, (stream[:2], 100), (stream[2:], 351)) == [
        [("s6", -300, 0, 1)],
        [("s6", -200, 100, 2), ("s6", 0, 300, 2), ("s6", 50, 350, 3)],
        [],
    ]


#   arrival          1   2   3   4   5  |  6
#   ts              10  50  20  40  30  |  60
#   by row-num the fifth is at 30 and ends (-270, 30]: 10, 20, 30
#   by rank the fifth is at 50 and ends (-250, 50]: all five
@pytest.mark.parametrize(
    ("order", "window"), [("arrival", ("a", -270, 30, 3)), ("on", ("a", -250, 50, 5))]
)
def test_q5_slides_over_the_logical_order(order: str, window: tuple[Any, ...]) -> None:
    stream = rows(*((ts, "a") for ts in (10, 50, 20, 40, 30, 60)))
    q5 = TupleWindow(300, "on", every=5, order=order)
    assert played(q5, (stream[:5], None), (stream[5:], 60)) == [[], [window], []]


# -- Section 6.1: Figure 4 -------------------------------------------------------------------------

RANGE = 20
#: A of t1 to t5: s1 < s5 < s2 < s3 < s1 + RANGE < s5 + RANGE < s4 < s2 + RANGE.
A = {"t1": 0, "t2": 6, "t3": 10, "t4": 23, "t5": 2}
#: The bins after each arrival, (a) to (e), in the order of their window-ids.
FIGURE_4 = {
    "t1": "init=0 Ss1=1 Es1=0",
    "t2": "init=0 Ss1=1 Ss2=2 Es1=1 Es2=0",
    "t3": "init=0 Ss1=1 Ss2=2 Ss3=3 Es1=2 Es2=1 Es3=0",
    "t4": "init=0 Ss1=1 Ss2=2 Ss3=3 Es1=2 Ss4=3 Es2=2 Es3=1 Es4=0",
    "t5": "init=0 Ss1=1 Ss5=2 Ss2=3 Ss3=4 Es1=3 Es5=2 Ss4=3 Es2=2 Es3=1 Es4=0",
}


def bins(names: Sequence[str]) -> dict[str, tuple[float, int]]:
    """Return the bins of Figure 6 with count: window-id and value (the end bin goes to E)."""
    by_name: dict[str, tuple[float, int]] = {"init": (float("-inf"), 0)}
    for name in names:
        start, end = A[name], A[name] + RANGE
        for kind, wid in (("S", start), ("E", end)):
            _, value = max(bin_ for bin_ in by_name.values() if bin_[0] < wid)
            by_name[f"{kind}s{name[1]}"] = wid, value
        by_name = {b: (w, pa_ + (start <= w < end)) for b, (w, pa_) in by_name.items()}
    return by_name


@pytest.mark.parametrize("last", FIGURE_4)
def test_figure_4_bins(last: str) -> None:
    arrived = list(A)[: list(A).index(last) + 1]
    by_name = bins(arrived)
    drawn = sorted(by_name, key=lambda name: by_name[name][0])
    assert " ".join(f"{name}={by_name[name][1]}" for name in drawn) == FIGURE_4[last]
    # Start bins are the windows of the tuples so far.
    (_, windows) = played(TupleWindow(RANGE, "on"), (rows(*((A[t], "a") for t in arrived)), None))
    starts = [by_name[name] for name in drawn if name.startswith("S")]
    assert windows == [("a", s - RANGE, s, count) for s, count in starts]


#   A      0   2       6       10            20  22 23       26
#          t1  t5      t2      t3            Es1 Es5 t4      Es2
#                       |<- punctuation: what comes is greater than s2
def test_figure_4_punctuation_emits_ss1_ss5_and_ss2() -> None:
    stream = [rows((on, "a")) for on in A.values()]
    steps: list[Step] = [(arrived, None) for arrived in stream]
    reported = played(TupleWindow(RANGE, "on"), *steps, ([], A["t2"] + 1))
    assert reported[:5] == [[]] * 5
    assert [(end, count) for _, _, end, count in reported[5]] == [(0, 1), (2, 2), (6, 3)]
    assert [(end, count) for _, _, end, count in reported[6]] == [(10, 4), (23, 3)]


# -- Section 7.2: a late tuple ---------------------------------------------------------------------


#   a punctuation of 7, then a tuple at 3, which breaks it, and one at 7, which does not
def test_a_tuple_behind_the_punctuation_is_in_no_window() -> None:
    spec = TupleWindow(RANGE, "on")
    late, fine = rows((3, "a"))[0], rows((7, "a"))[0]
    stepping = Stepping(ordered(spec))
    assert [r["r0"] for r in stepping.step(rows((0, "a"), (6, "a")), 7)] == [1, 2]
    assert [r["r0"] for r in stepping.step([late, fine], 8)] == [3]
    assert stepping.last is not None and stepping.last.rows[0].late == 1
    assert stepping.last.rows[0].late_rows is not None
    assert stepping.last.rows[0].late_rows["lateness"].to_pylist() == [4]
    reference = SequenceReference(spec, INTEGER, ["k"], [], {"n": len})
    outcome = reference.run(
        [MicroBatch(rows((0, "a"), (6, "a")), 7), MicroBatch([late, fine], 8), MicroBatch([], END)]
    )
    assert [r["n"] for r in outcome.results] == [1, 2, 3]
    assert outcome.refused == [(late, "late")]


def test_a_timestamp_axis_has_the_same_windows() -> None:
    q1 = Window("300 seconds", "60 seconds", "ts", origin="2026-01-01 12:00:00")
    axis = q1.axis(Domain.TIMESTAMP, scale=0, zone="UTC")
    edges = q1.edges(axis)
    assert axis == Axis(Domain.TIMESTAMP)
    assert [str(axis.value(edges.start(w)))[11:16] for w in (10, 11)] == ["12:06", "12:07"]
    assert [str(axis.value(edges.end(w)))[11:16] for w in (10, 11)] == ["12:11", "12:12"]
