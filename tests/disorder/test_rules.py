"""Each disorder rule on a timeline; tests/properties compares the rules with their definitions."""

from __future__ import annotations

import pytest

from muntin.errors import ArgumentError
from muntin.specs.disorder import each, per_key, punctuated, slack
from muntin.specs.idle import clock, follow
from tests.disorder.timelines import before_of_keys, of_keys, row, rule_of, shard

# -- slack by rows ---------------------------------------------------------------------------------


#   slack(rows=2)   seen so far             third largest
#   batch 1         1 5                     not yet
#   batch 2         1 3 5                   1
#   batch 3         1 3 5 90 (a wrong clock)  3
#   batch 4         1 3 5 6 6 90            6    equal values are rows like any others
def test_the_punctuation_is_the_third_largest() -> None:
    shard_ = shard(slack(rows=2))
    assert shard_.hears(row(5), row(1), row(None)).after is None
    assert shard_.hears(row(3)).after == 1
    assert shard_.hears(row(90)).after == 3
    assert shard_.hears(row(6), row(6)).after == 6
    assert shard_.remembered == 3


def test_no_slack_by_rows_is_order() -> None:
    shard_ = shard(slack(rows=0))
    assert shard_.hears(row(5), row(9)).after == 9
    assert shard_.hears(row(7)).after == 9


def test_more_rows_of_slack_after_a_restart_take_nothing_back() -> None:
    shard_ = shard(slack(rows=1))
    assert shard_.hears(row(5), row(6), row(7)).after == 6
    shard_ = shard_.restarted(slack(rows=3))
    assert shard_.hears(row(8)).after == 6
    assert shard_.hears(row(9), row(10)).after == 7


# -- rows that are punctuation ---------------------------------------------------------------------


#   a   1      (4)            a mark is in brackets: no more rows below 4
#   b     2        8
def test_a_mark_speaks_for_all_keys() -> None:
    shard_ = shard(punctuated("p"))
    assert shard_.hears(row(1), row(2, "b")).after is None
    punctuation = shard_.hears(row(4, mark=True), row(8, "b"))
    assert (punctuation.before, punctuation.after, punctuation.largest) == (None, 4, 8)
    assert punctuation.by_key is None
    assert shard_.hears(row(3, mark=True)).after == 4
    assert (shard_.data, shard_.punctuations) == (3, 2)


def test_a_mark_speaks_for_its_own_key() -> None:
    shard_ = shard(punctuated("p", key=True))
    shard_.hears(row(1), row(2, "b"))
    punctuation = shard_.hears(row(4, mark=True), row(8, "b"))
    assert punctuation.after is None
    assert of_keys(punctuation, "a", "b") == [4, None]
    assert before_of_keys(punctuation, "a", "b") == [None, None]
    punctuation = shard_.hears(row(3, mark=True), row(5, "b", mark=True))
    assert before_of_keys(punctuation, "a", "b") == [4, None]
    assert of_keys(punctuation, "a", "b") == [4, 5]
    assert (shard_.data, shard_.punctuations) == (3, 3)


def test_a_mark_without_a_value_is_left_to_be_refused() -> None:
    shard_ = shard(punctuated("p"))
    assert shard_.hears(row(None, mark=True), row(7, mark=True)).after == 7
    assert (shard_.data, shard_.punctuations) == (1, 1)


def test_a_batch_leaves_marks_out_and_needs_no_other_rule() -> None:
    assert rule_of(punctuated("p")).in_batch == rule_of(punctuated("p"))
    assert rule_of(punctuated("p", key=True)).in_batch == rule_of(punctuated("p", key=True))
    others = [slack(3), slack(rows=3), per_key(3), each("q", 3)]
    assert len({rule_of(rule).in_batch for rule in others}) == 1


# -- each key for itself ---------------------------------------------------------------------------


#   slack 2    1         2         3
#   a          10        -         4      a's rows make no row of b late
#   b          3         6         -
#   a is at    8         8         8      never goes back
#   b is at    1         4         4
def test_keys_move_by_their_own_rows() -> None:
    shard_ = shard(per_key(2))
    assert of_keys(shard_.hears(row(10), row(3, "b")), "a", "b", "c") == [8, 1, None]
    punctuation = shard_.hears(row(6, "b"))
    assert before_of_keys(punctuation, "a", "b") == [8, 1]
    assert of_keys(punctuation, "a", "b") == [8, 4]
    assert punctuation.after is None
    assert of_keys(shard_.hears(row(4)), "a", "b") == [8, 4]
    assert of_keys(shard_.hears(), "a", "b") == [8, 4]


def test_a_key_without_any_value_is_not_known() -> None:
    assert of_keys(shard(per_key(2)).hears(row(None), row(9, "b")), "a", "b") == [None, 7]


def test_what_is_told_goes_for_every_key() -> None:
    shard_ = shard(per_key(2))
    punctuation = shard_.hears(row(10), row(3, "b"), told=5)
    assert of_keys(punctuation, "a", "b", "c") == [8, 5, 5]
    assert shard_.remembered == 1  # b has the punctuation of the stream, so it is not stored


#   per_key(2)   a   1      (8)              told about a alone: not 8 minus the slack
#                b     2         9
def test_what_is_told_about_a_key_goes_for_it_alone() -> None:
    shard_ = shard(per_key(2))
    assert of_keys(shard_.hears(row(1), row(2, "b")), "a", "b") == [-1, 0]
    told = shard_.hears(row(9, "b"), keys={"a": 8, "c": 3})
    assert before_of_keys(told, "a", "b", "c") == [-1, 0, None]
    assert of_keys(told, "a", "b", "c", "d") == [8, 7, 3, None]
    assert of_keys(shard_.hears(row(5), keys={"b": 1}), "a", "b", "c") == [8, 7, 3]


def test_marks_and_what_is_told_go_together() -> None:
    shard_ = shard(punctuated("p", key=True))
    told = shard_.hears(row(4, mark=True), row(9, "b"), keys={"a": 3, "b": 6})
    assert of_keys(told, "a", "b") == [4, 6]
    assert shard_.punctuations == 1


def test_a_key_that_is_told_about_is_not_silent() -> None:
    shard_ = shard(per_key(idle=clock("5 seconds")))
    shard_.hears(row(1), row(9, "b"), clock=0)
    assert of_keys(shard_.hears(row(10, "b"), clock=4, keys={"a": 3}), "a", "b") == [3, 10]
    assert of_keys(shard_.hears(row(12, "b"), clock=8), "a", "b") == [3, 12]
    assert of_keys(shard_.hears(clock=9), "a", "b") == [12, 12]


def test_a_key_one_tick_ahead_is_not_forgotten() -> None:
    shard_ = shard(per_key(0))
    shard_.hears(row(6), told=5)
    assert before_of_keys(shard_.hears(row(9, "b")), "a") == [6]


def test_a_quiet_key_is_remembered_for_ever() -> None:
    shard_ = shard(per_key(2))
    shard_.hears(row(10), row(3, "b"))
    for on in range(20, 200, 10):
        punctuation = shard_.hears(row(on))
    assert of_keys(punctuation, "b") == [1]
    assert shard_.remembered == 2


#   per_key(1, idle=follow(5))   1        2         3
#   a                            10       30        -
#   b                            8        -         29
#   furthest - 1 - 5             4        24        24   also for keys never seen
#   b is at                      7        24        28
def test_nobody_stays_far_behind() -> None:
    shard_ = shard(per_key(1, idle=follow(5)))
    assert of_keys(shard_.hears(row(10), row(8, "b")), "a", "b", "c") == [9, 7, 4]
    punctuation = shard_.hears(row(30))
    assert before_of_keys(punctuation, "a", "b", "c") == [9, 7, 4]
    assert of_keys(punctuation, "a", "b", "c") == [29, 24, 24]
    assert shard_.remembered == 1  # b is forgotten: it has the punctuation of unknown keys
    punctuation = shard_.hears(row(29, "b"))
    assert before_of_keys(punctuation, "b") == [24]
    assert of_keys(punctuation, "a", "b") == [29, 28]


#   per_key(1, idle=clock("10 s"))
#   clock      0      5      10     12     13
#   a          10     20     30     -      -
#   b          8      -      -      -      25
#   b is at    7      7      29     29     29    b is silent for 10 s, moves to a, and stays there
def test_a_key_silent_by_the_clock_follows_the_furthest() -> None:
    shard_ = shard(per_key(1, idle=clock("10 s")))
    assert of_keys(shard_.hears(row(10), row(8, "b"), clock=0), "a", "b") == [9, 7]
    assert of_keys(shard_.hears(row(20), clock=5), "a", "b") == [19, 7]
    punctuation = shard_.hears(row(30), clock=10)
    assert before_of_keys(punctuation, "a", "b") == [19, 7]
    assert of_keys(punctuation, "a", "b") == [29, 29]
    assert of_keys(shard_.hears(clock=12), "a", "b", "c") == [29, 29, None]
    punctuation = shard_.hears(row(25, "b"), clock=13)
    assert before_of_keys(punctuation, "b") == [29]
    assert of_keys(punctuation, "b") == [29]
    # Its rows come again, so the stream waits for it again.
    assert of_keys(shard_.hears(row(50), clock=20), "b") == [29]
    assert of_keys(shard_.hears(clock=23), "b") == [49]


def test_a_key_counts_from_the_first_tick_of_the_clock() -> None:
    shard_ = shard(per_key(0, idle=clock("10 s")))
    shard_.hears(row(10), row(8, "b"))
    assert of_keys(shard_.hears(clock=1000), "b") == [8]
    assert of_keys(shard_.hears(row(12), clock=1009), "b") == [8]
    assert of_keys(shard_.hears(clock=1010), "b") == [12]


def test_a_new_key_has_not_been_silent() -> None:
    shard_ = shard(per_key(1, idle=clock("10 s")))
    shard_.hears(row(10), clock=0)
    shard_.hears(row(90), clock=50)
    punctuation = shard_.hears(row(5, "new"), clock=51)
    assert before_of_keys(punctuation, "new") == [None]
    assert of_keys(punctuation, "a", "new") == [89, 4]


def test_a_key_behind_what_was_told_is_kept_where_the_clock_counts() -> None:
    shard_ = shard(per_key(0, idle=clock("10 s")))
    shard_.hears(row(100), row(3, "b"), clock=0, told=50)
    punctuation = shard_.hears(clock=10)
    assert before_of_keys(punctuation, "a", "b") == [100, 50]
    assert of_keys(punctuation, "a", "b") == [100, 100]


def test_a_silent_key_costs_no_write() -> None:
    shard_ = shard(per_key(0, idle=clock("10 s")))
    shard_.hears(row(10), row(8, "b"), clock=0)
    before = dict(shard_.state.chunks)
    shard_.hears(clock=20)
    assert all(shard_.state.chunks[name] is chunk for name, chunk in before.items())


# -- each value of a column ------------------------------------------------------------------------


#   slack 1     1      2      3      4
#   x           10     20     -      -
#   y           -      6      15     -
#   z           -      -      -      2    seen for the first time: too late to hold anything back
#   stream      9      9      14     14
def test_the_stream_is_as_far_as_the_least_of_its_values() -> None:
    shard_ = shard(each("q", 1))
    assert shard_.hears(row(10)).after == 9
    assert shard_.hears(row(20), row(6, q="y")).after == 9
    assert shard_.hears(row(15, q="y")).after == 14
    assert shard_.hears(row(2, q="z")).after == 14
    assert shard_.hears(row(99), row(99, q="y")).after == 14
    assert shard_.hears(row(17, q="z")).after == 16


def test_nothing_closes_before_every_expected_value_has_spoken() -> None:
    shard_ = shard(each("q", 1, expect=["x", "never"]))
    assert shard_.hears(row(10)).after is None
    assert shard_.hears(row(1000)).after is None
    assert shard_.hears(row(50, q="never")).after == 49


def test_more_may_be_expected_after_a_restart() -> None:
    shard_ = shard(each("q", 1))
    assert shard_.hears(row(10)).after == 9
    shard_ = shard_.restarted(each("q", 1, expect=["late"]))
    assert shard_.hears(row(20)).after == 9
    assert shard_.hears(row(15, q="late")).after == 14


@pytest.mark.parametrize("heard", [True, False])
def test_a_value_that_never_speaks_may_follow(heard: bool) -> None:
    shard_ = shard(each("q", 1, idle=follow(5), expect=["x", "never"]))
    if heard:
        shard_.hears(row(3, q="never"))
    assert shard_.hears(row(10)).after == 4
    assert shard_.hears(row(100)).after == 94


def test_a_value_silent_by_the_clock_holds_nothing_back() -> None:
    shard_ = shard(each("q", 1, idle=clock("10 s"), expect=["x", "never"]))
    assert shard_.hears(row(10), clock=0).after is None
    assert shard_.hears(row(20), clock=9).after is None
    assert shard_.hears(row(30), clock=10).after == 29
    assert shard_.hears(row(20, q="never"), clock=11).after == 29
    assert shard_.hears(row(60), clock=12).after == 29  # waited for again
    assert shard_.hears(clock=21).after == 59


def test_expected_values_must_be_of_the_column() -> None:
    with pytest.raises(ArgumentError, match="values of the column, which has type string"):
        rule_of(each("q", expect=[7]))
