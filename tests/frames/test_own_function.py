"""A user's own framing function: what it remembers in a checkpoint, and frames that overlap."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from muntin.errors import ArgumentError, ContradictionError, OwnFramingError
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.own_function import FramingFunction, own_kind
from tests.frames.feeding import feeding, line

#: A list that is in a state twice.
ALIASED = [1]


@dataclass(frozen=True)
class Remembers(FramingFunction):
    """Frames of three rows that remember something, until a 0 comes."""

    columns = ("v",)
    made: Callable[[], Any]

    def open(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        if row["v"] == 0:
            return False
        state["n"] = 1
        return True

    def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["n"] += 1
        state["kept"] = self.made()
        return True

    def close(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        return bool(state["n"] == 3)


WHAT = "state keeps numbers, text, truths, None, and lists and dictionaries (keyed by text) of them"


# v     1 1 1 0            the frame is over, and nothing is remembered of it at the end; still a
#       [===]              stream that is cut in its midst would have had to write it down
@pytest.mark.parametrize("split", [4, 2], ids=["batch", "stream"])
@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: (1, 2), "a tuple in state['kept']"),
        (lambda: {1: "one"}, "a key 1 of type int in state['kept']"),
        (lambda: {"a": {True: 1}}, "a key True of type bool in state['kept']['a']"),
        (lambda: [1, {2}], "a set in state['kept'][1]"),
        (lambda: Decimal(1), "a Decimal in state['kept']"),
        (lambda: defaultdict(int), "a defaultdict in state['kept']"),
        (lambda: 10**5000, "a number of too many digits in state['kept']"),
        (
            lambda: [ALIASED, ALIASED],
            "in state['kept'][1] what is in state already, and would become two",
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_would_not_be_the_same_is_refused(
    made: Callable[[], Any], problem: str, split: int
) -> None:
    fed = feeding(own_kind(Remembers(made)))
    with pytest.raises(OwnFramingError) as refused:
        fed.step(line("1 1 1 0")[:split], upto=split)
        fed.step(line("1 1 1 0")[split:], end=True)
    assert str(refused.value) == f"Remembers: update leaves {problem}; {WHAT}"


@pytest.mark.parametrize(
    "made",
    [
        lambda: math.nan,
        lambda: [math.inf, -math.inf, -0.0, 0.1],
        lambda: 2**64 + 1,
        lambda: 10**4000,
        lambda: {"a": [1, [2.5, None]], "b": {"c": True}, "": "\ud800 é"},
    ],
)
def test_what_is_the_same_may_be_remembered(made: Callable[[], Any]) -> None:
    class Compares(Remembers):
        def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
            if "kept" in state:
                assert repr(state["kept"]) == repr(self.made())
            return super().update(row, state)

    fed = feeding(own_kind(Compares(made)))
    found = [
        frame for on in range(4) for frame in fed.frames(line("1 1 1 0")[on : on + 1], upto=on + 1)
    ]
    assert found == [(0, 0, 2, 3, 0, "final")]
    assert fed.frames(end=True) == []


class Followed(FramingFunction):
    """From a 1 to the second 0 after it, beside others."""

    columns = ("v",)
    overlapping = True

    def open(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["zeros"] = 0
        return bool(row["v"] == 1)

    def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["zeros"] += row["v"] == 0
        return True

    def close(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        return bool(state["zeros"] == 2)


# on  0 1 2 3 4 5 6
# v   1 0 1 1 0 0 1
#     [=======]
#         [=====]
#           [===]
#                 [=
@pytest.mark.parametrize("split", [1, 2, 7])
def test_frames_lie_beside_each_other(split: int) -> None:
    fed, rows = feeding(own_kind(Followed())), line("1 0 1 1 0 0 1")
    found = []
    for on in range(0, 7, split):
        found += fed.frames(rows[on : on + split], upto=on + split)
    found += fed.frames(end=True)
    assert found == [
        (0, 0, 4, 5, 0, "final"),
        (1, 2, 5, 4, 0, "final"),
        (2, 3, 5, 3, 0, "final"),
        (3, 6, 6, 1, 0, "final"),
    ]
    assert fed.kept == {}


def test_a_maximum_bounds_what_is_kept_of_frames_that_overlap() -> None:
    fed = feeding(own_kind(Followed()), max_count=3)
    for number in range(20):
        assert fed.frames(line("1 1 1", number * 3), upto=number * 3 + 3) == []
        assert fed.kept["held"] <= 3


# v   1 0 1 1 0 0 1        no frame has more than three rows, and each is cut by itself
#     [===]
#         [===]
#           [===]
@pytest.mark.parametrize("split", [1, 7])
def test_frames_that_overlap_are_cut_each_by_itself(split: int) -> None:
    fed, rows = feeding(own_kind(Followed()), max_count=3, cut=True), line("1 0 1 1 0 0 1")
    found = []
    for on in range(0, 7, split):
        found += fed.frames(rows[on : on + split], upto=on + split)
    found += fed.frames(end=True)
    assert [(start, end) for _, start, end, *_ in found] == [(0, 2), (2, 4), (3, 5), (6, 6)]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"fragments": 3}, "fragments and Followed.overlapping contradict each other"),
        ({"bounds": "liberal"}, "liberal and Followed.overlapping contradict each other"),
        ({"scheme": "disjoint"}, "own and scheme='disjoint' contradict .* its frames are unconstr"),
    ],
    ids=str,
)
def test_what_frames_that_overlap_cannot_have(properties: dict[str, Any], message: str) -> None:
    with pytest.raises(ContradictionError, match=message):
        Framing(own_kind(Followed()), "on", **properties)


def test_overlapping_is_true_or_false() -> None:
    class Unsure(Followed):
        overlapping = "often"  # type: ignore[assignment]

    with pytest.raises(ArgumentError, match=r"Unsure\.overlapping is True or False"):
        own_kind(Unsure())
