from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muntin.operators.progress.progress import Progress, ProgressMessages, Punctuator
from muntin.operators.protocol import MemoryState, Punctuation

TICK = st.one_of(st.none(), st.integers(-100, 100))
Ticks = list[int | None]


def advance(
    slack: int | None,
    progress: Progress,
    seen: Ticks,
    told: Ticks | None = None,
    ended: bool = False,
) -> tuple[Progress, Punctuation]:
    heard = ProgressMessages(seen=seen, announced=told or [], ended=ended)
    advanced = Punctuator(slack).advance(MemoryState(), progress, heard)
    assert advanced.changes == {}
    return advanced.progress, advanced.punctuation


def test_punctuation_is_slack_behind_the_largest_value() -> None:
    progress, punctuation = advance(10, Progress(), [5, None, 42, 7])
    assert progress == Progress(largest=42, lead=32, reached=32)
    assert punctuation == Punctuation(before=None, after=32, largest=42)


#   batch          1     2     3
#   largest seen   42    40    50
#   punctuation    32    32    40    never goes back
def test_a_smaller_value_takes_nothing_back() -> None:
    progress, _ = advance(10, Progress(), [42])
    progress, second = advance(10, progress, [40])
    assert second == Punctuation(before=32, after=32, largest=42)
    progress, third = advance(10, progress, [50])
    assert third == Punctuation(before=32, after=40, largest=50)


def test_a_larger_slack_after_a_restart_takes_nothing_back() -> None:
    progress, _ = advance(10, Progress(), [42])
    progress, after = advance(30, progress, [45])
    assert (after.before, after.after) == (32, 32)
    _, later = advance(30, progress, [70])
    assert (later.before, later.after) == (32, 40)


def test_ordered_is_slack_zero() -> None:
    _, punctuation = advance(0, Progress(), [42])
    assert punctuation.after == 42


def test_without_slack_only_control_messages_count() -> None:
    progress, punctuation = advance(None, Progress(), [42])
    assert punctuation == Punctuation(before=None, after=None, largest=42)
    progress, punctuation = advance(None, progress, [], [30, 20])
    assert punctuation == Punctuation(before=None, after=30, largest=42)
    assert progress == Progress(largest=42, reached=30)


def test_the_greater_of_what_is_seen_and_told() -> None:
    progress, ahead = advance(10, Progress(), [42], [40])
    assert ahead.after == 40
    _, behind = advance(10, progress, [60], [41])
    assert (behind.before, behind.after) == (40, 50)


def test_nothing_seen_and_nothing_told() -> None:
    nothing = Punctuation(before=None, after=None, largest=None)
    assert advance(10, Progress(), [None], [None]) == (Progress(), nothing)


def test_the_end_is_remembered() -> None:
    progress, last = advance(10, Progress(), [42], ended=True)
    assert last == Punctuation(before=None, after=32, largest=42, ended=True, over=False)
    progress, after = advance(10, progress, [50])
    assert after == Punctuation(before=32, after=40, largest=50, ended=True, over=True)
    assert progress.ended


@given(
    st.one_of(st.none(), st.integers(0, 20)),
    st.lists(st.tuples(st.lists(TICK, max_size=3), st.lists(TICK, max_size=2)), max_size=6),
)
def test_punctuation_only_moves_forward(
    slack: int | None, batches: list[tuple[Ticks, Ticks]]
) -> None:
    progress = Progress()
    last: int | None = None
    for seen, controlled in batches:
        progress, punctuation = advance(slack, progress, seen, controlled)
        assert punctuation.before == last
        assert last is None or (punctuation.after is not None and punctuation.after >= last)
        last = punctuation.after
    everything = [t for _, controlled in batches for t in controlled]
    if slack is not None:
        everything += [t - slack for seen, _ in batches for t in seen if t is not None]
    assert last == max((t for t in everything if t is not None), default=None)
