from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from muntin.operators.punctuator import Progress, Punctuator

from muntin.operators.protocol import Punctuation

TICK = st.one_of(st.none(), st.integers(-100, 100))


def test_punctuation_is_slack_behind_the_largest_value() -> None:
    progress, punctuation = Punctuator(10).advance(Progress(), [5, None, 42, 7], [], False)
    assert progress == Progress(largest=42)
    assert punctuation == Punctuation(before=None, after=32, largest=42)


#   batch          1     2     3
#   largest seen   42    40    50
#   punctuation    32    32    40    never goes back
def test_a_smaller_value_takes_nothing_back() -> None:
    punctuator = Punctuator(10)
    progress, _ = punctuator.advance(Progress(), [42], [], False)
    progress, second = punctuator.advance(progress, [40], [], False)
    assert second == Punctuation(before=32, after=32, largest=42)
    progress, third = punctuator.advance(progress, [50], [], False)
    assert third == Punctuation(before=32, after=40, largest=50)
    assert progress == Progress(largest=50)


def test_ordered_is_slack_zero() -> None:
    _, punctuation = Punctuator(0).advance(Progress(), [42], [], False)
    assert punctuation.after == 42


def test_without_slack_only_control_messages_count() -> None:
    progress, punctuation = Punctuator(None).advance(Progress(), [42], [], False)
    assert punctuation == Punctuation(before=None, after=None, largest=42)
    progress, punctuation = Punctuator(None).advance(progress, [], [30, 20], False)
    assert punctuation == Punctuation(before=None, after=30, largest=42)
    assert progress == Progress(largest=42, told=30)


def test_the_greater_of_what_is_seen_and_told() -> None:
    punctuator = Punctuator(10)
    progress, ahead = punctuator.advance(Progress(), [42], [40], False)
    assert ahead.after == 40
    _, behind = punctuator.advance(progress, [60], [41], False)
    assert (behind.before, behind.after) == (40, 50)


def test_nothing_seen_and_nothing_told() -> None:
    assert Punctuator(10).advance(Progress(), [None], [None], False) == (
        Progress(),
        Punctuation(before=None, after=None, largest=None),
    )


def test_the_end_is_remembered() -> None:
    punctuator = Punctuator(10)
    progress, last = punctuator.advance(Progress(), [42], [], True)
    assert last == Punctuation(before=None, after=32, largest=42, ended=True, over=False)
    progress, after = punctuator.advance(progress, [50], [], False)
    assert after == Punctuation(before=32, after=40, largest=50, ended=True, over=True)
    assert progress == Progress(largest=50, ended=True)


@given(
    st.one_of(st.none(), st.integers(0, 20)),
    st.lists(st.tuples(st.lists(TICK, max_size=3), st.lists(TICK, max_size=2)), max_size=6),
)
def test_punctuation_only_moves_forward(
    slack: int | None, batches: list[tuple[list[int | None], list[int | None]]]
) -> None:
    progress = Progress()
    last: int | None = None
    for seen, told in batches:
        progress, punctuation = Punctuator(slack).advance(progress, seen, told, False)
        assert punctuation.before == last
        assert last is None or (punctuation.after is not None and punctuation.after >= last)
        last = punctuation.after
    everything = [t for _, told in batches for t in told]
    if slack is not None:
        everything += [t - slack for seen, _ in batches for t in seen if t is not None]
    assert last == max((t for t in everything if t is not None), default=None)
