"""Section 8 in small: the generators keep their promises, and the shapes of the figures hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.__main__ import matching
from benchmarks.section8 import blocks, bounded, execution
from benchmarks.section8.disorder import SECOND, Arrivals, Network, Router
from benchmarks.section8.policies import (
    Answers,
    Query,
    batches,
    judge,
    play,
    with_external,
    with_slack,
)
from muntin.operators.progress.progress import Punctuator
from tests.thorough import examples

SMALL = blocks.Case(Router(block=49.0), 60, 6, (0, 12, 24, 36, 47, 48, 49, 50, 60), blocks=30)


@pytest.mark.parametrize("network", [Network(), Network(losses=2, jitter=1.5, loss_calm=0.3)])
@pytest.mark.parametrize("seed", range(3))
def test_a_network_delays_no_row_beyond_its_bound(network: Network, seed: int) -> None:
    rows = network.arrivals(300, seed)
    late = rows.clock - rows.on
    assert late.min() >= 0
    assert late.max() <= network.bound * SECOND
    assert (np.diff(rows.clock) >= 0).all()
    behind = np.maximum.accumulate(rows.on) - rows.on
    assert 0 < behind.max() <= network.bound * SECOND
    assert sorted(rows.on) == [n * SECOND // network.rate for n in range(300 * network.rate)]


def test_a_network_loses_as_often_as_it_says() -> None:
    always = Network(loss_calm=1.0, loss_congested=1.0, jitter=0.0)
    assert set(always.arrivals(10, 1).clock - always.arrivals(10, 1).on) == {3 * SECOND}
    network = Network(jitter=0.0, loss_calm=0.0, loss_congested=0.5, calm=3.0, congested=1.0)
    rows = network.arrivals(40_000, 1)
    waited, counts = np.unique(rows.clock - rows.on, return_counts=True)
    assert waited.tolist() == [0, 200_000, 600_000, 1_400_000, 3_000_000]
    # A quarter of the time is congested, and half of what is sent then is lost, each time.
    shares = counts / len(rows)
    assert shares[1:] == pytest.approx([1 / 16, 1 / 32, 1 / 64, 1 / 64], rel=0.1)


def test_streams_are_the_same_for_the_same_seed() -> None:
    for stream in (Network().arrivals, Router(block=7.0).arrivals):
        one, same, other = stream(20, 1), stream(20, 1), stream(20, 2)
        assert np.array_equal(one.on, same.on) and np.array_equal(one.value, same.value)
        assert not np.array_equal(one.on, other.on)


def test_a_router_shuffles_inside_blocks_and_not_beyond() -> None:
    router = Router(rate=10, block=7.0, start=-0.5)
    rows = router.arrivals(20, 1)
    for number, block in enumerate(np.split(rows.on, 20)):
        began = int((7 * number - 0.5) * SECOND)
        assert sorted(block) == [began + n * SECOND // 10 for n in range(70)]
        assert list(block) != sorted(block)
        assert set(rows.clock[70 * number : 70 * number + 70]) == {began + 7 * SECOND}
    assert (rows.clock > rows.on).all()
    assert router.into_block(np.array([0, 6_400_000, 6_500_000])).tolist() == [0.5, 6.9, 0.0]


@pytest.mark.parametrize("slide", [4_000, 1_000, 40, 1])
@pytest.mark.parametrize("way", execution.WAYS)
def test_ways_to_execute_give_the_same_windows(way: str, slide: int) -> None:
    row_num, value = execution.readings(12_000)
    ends = range(slide, 12_001, slide)
    expected = [value[max(0, end - execution.RANGE) : end].max() for end in ends]
    assert execution.WAYS[way](row_num, value, slide).tolist() == expected


def arrivals(on: Sequence[int], waited: Sequence[int]) -> Arrivals:
    clock = np.array(on) + np.array(waited)
    order = np.argsort(clock, kind="stable")
    value = np.arange(1.0, len(on) + 1)
    return Arrivals(np.array(on)[order], value[order], clock[order])


@st.composite
def streams(draw: st.DrawFn) -> Arrivals:
    rows = draw(
        st.lists(st.tuples(st.integers(-20, 60), st.integers(0, 25)), min_size=1, max_size=20)
    )
    return arrivals([on for on, _ in rows], [waited for _, waited in rows])


queries = st.builds(
    Query,
    st.sampled_from(["avg", "count"]),
    st.integers(1, 20),
    st.integers(1, 12),
    st.sampled_from(["generous", "consistent"]),
)


def one_by_one(query: Query, rows: Arrivals, slack: int) -> dict[int, tuple[float, int]]:
    """Slack in plain Python: rows one after the other, each window a list of what it took."""
    taken: dict[int, list[float]] = {}
    given: dict[int, tuple[float, int]] = {}
    reached = None
    for on, value, clock in zip(rows.on, rows.value, rows.clock, strict=True):
        ends = [e for e in range(on + 1, on + query.range + 1) if e % query.slide == 0]
        open_ = [end for end in ends if reached is None or end > reached]
        if query.late == "generous" or open_ == ends:
            for end in open_:
                taken.setdefault(end, []).append(value)
        reached = on - slack if reached is None else max(reached, on - slack)
        for end in sorted(end for end in taken if end <= reached):
            values = taken.pop(end)
            count = query.function == "count"
            answer = len(values) if count else math.fsum(values) / len(values)
            given[end] = answer, max(clock, end)
    return given


def as_dict(answers: Answers) -> dict[int, tuple[Any, Any]]:
    pairs = zip(answers.value.tolist(), answers.clock.tolist(), strict=True)
    return dict(zip(answers.end.tolist(), pairs, strict=True))


@examples(700)
@given(queries, streams(), st.integers(0, 25))
def test_slack_answers_as_rows_that_come_one_by_one(
    query: Query, rows: Arrivals, slack: int
) -> None:
    assert as_dict(with_slack(query, rows, slack)) == one_by_one(query, rows, slack)


@examples(150)
@given(queries, streams(), st.integers(0, 25))
def test_micro_batches_of_one_row_answer_the_same(query: Query, rows: Arrivals, slack: int) -> None:
    stops = np.arange(1, len(rows) + 1)
    singly = play(query, rows, Punctuator(slack), batches(stops, [None] * len(rows)))
    assert as_dict(with_slack(query, rows, slack)) == as_dict(singly)


@examples(350)
@given(queries, streams())
def test_external_punctuation_is_exact_and_as_early_as_can_be(query: Query, rows: Arrivals) -> None:
    """Every window that rows reach beyond holds all its rows and is answered at its last one."""
    expected = {}
    for end in range(-20, 61):
        inside = (rows.on >= end - query.range) & (rows.on < end)
        if end % query.slide == 0 and inside.any() and end <= rows.on.max():
            values = rows.value[inside].tolist()
            count = query.function == "count"
            answer = len(values) if count else math.fsum(values) / len(values)
            expected[end] = answer, max(end, int(rows.clock[rows.on < end].max()))
    assert as_dict(with_external(query, rows)) == expected


def test_what_is_judged() -> None:
    """Windows end at 10, 20, 30, 40: right, half of it, never answered, right."""
    right = Answers(np.arange(10, 50, 10), np.array([2.0, 4.0, 6.0, 8.0]), np.arange(10, 50, 10))
    given_ = Answers(np.array([10, 20, 40]), np.array([2.0, 2.0, 8.0]), np.array([11, 22, 46]))
    quality = judge(given_, right, right.end)
    assert quality.error == pytest.approx(100 * (0 + 0.5 + 1 + 0) / 4)
    assert quality.wrong == 50
    assert quality.latency == pytest.approx((1 + 2 + 6) / 3 / SECOND)
    late = judge(given_, right, np.array([30, 40]))
    assert (late.wrong, late.latency) == (50, pytest.approx(6 / SECOND))


def test_only_whole_windows_are_judged() -> None:
    assert Query("avg", 10, 4).ends(1, 25).tolist() == [12, 16, 20, 24]
    assert Query("avg", 10, 5).ends(-5, 15).tolist() == [5, 10, 15]


@pytest.fixture(scope="module")
def sliding() -> bounded.Curves:
    return bounded.measured(bounded.Case(6_400_000, 640))


def test_figure_9(sliding: bounded.Curves) -> None:
    consistent = [sliding.slack[slack, "consistent"] for slack in bounded.SLACKS]
    generous = [sliding.slack[slack, "generous"] for slack in bounded.SLACKS]
    for ours, theirs in zip(generous, consistent, strict=True):
        assert ours.error <= theirs.error
        assert ours.latency == theirs.latency
    assert sliding.generous_over_consistent < 0.5
    assert np.diff([quality.latency for quality in generous]).min() > 0.3
    assert generous[0].error > generous[4].error > generous[-2].error > 0
    # The greatest slack is longer than the network ever delays.
    assert bounded.NETWORK.bound * SECOND < bounded.SLACKS[-1]
    assert generous[-1].error == consistent[-1].error == sliding.external.error == 0
    assert sliding.external.latency < generous[2].latency


def test_figure_9_with_windows_that_do_not_overlap() -> None:
    """A row lies in one window, so to be late for one is to be late for all."""
    curves = bounded.measured(bounded.Case(bounded.RANGE, 1_280))
    assert curves.external.error == 0
    for slack in bounded.SLACKS:
        assert curves.slack[slack, "generous"] == curves.slack[slack, "consistent"]
    assert curves.slack[bounded.SLACKS[0], "generous"].error > 0


@pytest.fixture(scope="module")
def small() -> blocks.Found:
    return blocks.measured(SMALL)


def test_the_best_slack_is_the_length_of_a_block(small: blocks.Found) -> None:
    assert small.best == SMALL.router.block == 49
    assert small.slack[48].all.wrong > 0
    for slack in (49, 50, 60):
        assert small.slack[slack].all.wrong == small.slack[slack].all.error == 0
    assert small.slack[0].all.wrong == small.slack[24].all.wrong == 100


def test_figure_10(small: blocks.Found) -> None:
    """Behind a block's start latency is level below the best slack and a block longer from it."""
    steps = [small.slack[slack].after_start.latency for slack in SMALL.slacks]
    assert steps == pytest.approx([48.5] * 6 + [97.5] * 3)
    assert np.diff([small.slack[slack].all.latency for slack in SMALL.slacks]).min() >= 0
    external = small.external.all
    assert external.wrong == 0
    assert external.latency == small.slack[0].all.latency < small.slack[49].all.latency / 2


def test_reports_say_what_was_found(sliding: bounded.Curves, small: blocks.Found) -> None:
    report = bounded.report({bounded.Case(6_400_000, 640): sliding})
    assert all(target.met for target in report.targets)
    assert "| external     |" in report.markdown()
    report = blocks.report(SMALL, small)
    assert all(target.met for target in report.targets)
    assert "| slack 49 s (best) |" in report.markdown()
    worse = replace(small, slack={slack: small.slack[slack] for slack in (0, 48, 50)})
    assert not blocks.report(SMALL, worse).targets[0].met


def test_section8_names_all_three() -> None:
    assert matching("section8") == ["section8-execution", "section8-bounded", "section8-blocks"]
    assert matching("section8-blocks") == ["section8-blocks"]
    assert matching("stream") == ["stream"]
    assert matching("section") == []
