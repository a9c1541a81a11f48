"""Pattern frames by their definition: the text of a pattern, its matches, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import ArgumentError, ExpressionError
from muntin.reference.frames.pattern import ends
from muntin.reference.windows import Row
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.pattern import Pattern, parse_pattern
from muntin.specs.frames.schemes import Schedule
from tests.frames.definitions.timelines import counted, framed, spans
from tests.thorough import examples


def pattern(text: str, **conditions: Any) -> Pattern:
    """Return a pattern in which every name has a condition."""
    names = dict.fromkeys(parse_pattern(text).names)
    return Pattern(text, {name: conditions.get(name, f"is_{name}") for name in names})


def letters(row: Row) -> frozenset[str] | None:
    """Return the names that a drawn row satisfies: its letters; ``-`` has none, ``?`` is null."""
    return None if row["x"] is None else frozenset(row["x"]) - {"-"}


def found(text: str, line: str, **choices: Any) -> list[tuple[Any, Any]]:
    return spans(framed(pattern(text), line, reading=letters, **choices))


@pytest.mark.parametrize(
    ("given_text", "written"),
    [
        ("a", "a"),
        (" rise+  flat{2,5}\tfall ", "rise+ flat{2,5} fall"),
        ("a*b?c{3}", "a* b? c{3}"),
        ("a{0,1} b{0,} c{1,}", "a? b* c+"),
        ("a{ 2 , 3 } b{1}", "a{2,3} b{1}"),
        ("(a)", "a"),
        ("((a b))", "a b"),
        ("(a | b c)+ d", "(a | b c)+ d"),
        ("a|b|c", "a | b | c"),
        ("(a+)? b", "(a+)? b"),
        ("größe+ _1", "größe+ _1"),
    ],
)
def test_a_pattern_is_read_and_written(given_text: str, written: str) -> None:
    assert str(parse_pattern(given_text)) == written
    assert parse_pattern(written) == parse_pattern(given_text)


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("a (b c", "this ( is never closed", 2),
        ("a b)", "this ) closes no group", 3),
        ("a || b", "a name or a group is missing here", 3),
        ("a |", "a name or a group is missing here", 3),
        ("()", "a name or a group is missing here", 1),
        ("+ a", "nothing is before this that could be repeated", 0),
        ("a {2}{3}", "this repeats a repetition; put parentheses around what is repeated", 5),
        ("a+? b", "the longest match is taken, so nothing is repeated reluctantly", 2),
        ("a++", "this repeats a repetition; put parentheses around what is repeated", 2),
        ("a{3,2}", "it must end at one or more, and not below where it begins", 1),
        ("a{0} b", "it must end at one or more, and not below where it begins", 1),
        ("a{x}", "a repetition is written {m}, {m,} or {m,n}", 1),
        ("a{2", "a repetition is written {m}, {m,} or {m,n}", 1),
        ("a, b", "',' is not part of a pattern; names, ? * + {m,n}, ( ) and | are", 1),
        ("2a", "'2' is not part of a pattern; names, ? * + {m,n}, ( ) and | are", 0),
        ("(" * 51 + "a" + ")" * 51, "this is nested too deeply to be read", 50),
    ],
)
def test_an_error_shows_the_place_in_the_pattern(text: str, problem: str, place: int) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse_pattern(text)
    assert str(raised.value) == f"{problem}\n  {text}\n  {' ' * place}^"


@pytest.mark.parametrize("text", ["a?", "a* b*", "(a | b?)", "(a?)+", "(a b){0,3}"])
def test_a_pattern_that_may_be_empty_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="the pattern matches without any row; let one part"):
        parse_pattern(text)


def test_a_pattern_that_is_too_long_is_refused() -> None:
    assert parse_pattern("a{1000}").steps == 1000
    with pytest.raises(ExpressionError, match="written out, the pattern has 1,001 names; 1,000"):
        parse_pattern("a{1000} b")
    many = [f"n{place}" for place in range(63)]
    with pytest.raises(ArgumentError, match="it has 63 conditions; 62 are allowed"):
        pattern(" ".join(many))


@pytest.mark.parametrize("text", [None, "", "  ", 3])
def test_a_pattern_is_text(text: object) -> None:
    with pytest.raises(ArgumentError, match="it is text such as 'rise"):
        parse_pattern(text)


def test_every_name_has_one_condition() -> None:
    with pytest.raises(ExpressionError) as raised:
        Pattern("rise+ fall", {"rise": "x > 1", "fal": "x < 1"})
    assert str(raised.value) == (
        "fall has no condition (did you mean 'fal'?); give it one, such as fall='TRUE'\n"
        "  rise+ fall\n        ^"
    )
    with pytest.raises(ArgumentError, match="the pattern 'a' has no such name"):
        Pattern("a", {"a": "x > 1", "b": "x < 1"})
    with pytest.raises(ArgumentError, match="b='' cannot be used: it is SQL text or a PySpark"):
        Pattern("a b", {"a": "x > 1", "b": ""})


def test_every_argument_is_in_the_label() -> None:
    kind = Pattern("a+ b", {"b": "x < 1", "a": "x > 1"})
    assert kind.label == "pattern(a+ b, a=x > 1, b=x < 1)"
    assert kind == Pattern("(a{1,}) b", {"a": "x > 1", "b": "x < 1"})
    assert kind != Pattern("a+ b", {"b": "x < 2", "a": "x > 1"})
    assert kind != Pattern("a* b", {"b": "x < 1", "a": "x > 1"})


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("a b{2,5} c?", 3, 7), ("a+ b", 2, None), ("(a | b c){2}", 2, 4), ("a{3,}", 3, None)],
)
def test_the_rows_of_a_match_are_counted(text: str, least: int, most: int | None) -> None:
    tree = parse_pattern(text)
    assert (tree.least, tree.most) == (least, most)


# -- Matches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a+ b", "a a b - b a b", [(0, 2), (5, 6)]),
        ("a b | a", "a b a a b", [(0, 1), (2, 2), (3, 4)]),
        ("a (b c)?", "a b c a b b", [(0, 2), (3, 3)]),
        ("a{2,3}", "a a a a a a a", [(0, 2), (3, 5)]),
        ("a{2,3}", "a a a a a a a a", [(0, 2), (3, 5), (6, 7)]),
        # Any assignment counts: the second row is a or b, whatever makes the match longer.
        ("a b a", "a ab a", [(0, 2)]),
        ("a+ b+", "a ab ab b", [(0, 3)]),
        ("(a b)+ c?", "ab ab ab abc", [(0, 3)]),
        # Leftmost comes before longest.
        ("a a b | b c c c", "a ab b c c c", [(0, 2)]),
        # The search goes on after the last row of a match.
        ("a b a", "a b a b a", [(0, 2)]),
        # A longer match that never comes leaves the shorter one, and the rows after it.
        ("a (b+ c)?", "a b b a b c", [(0, 0), (3, 5)]),
        # A row that satisfies none ends every match.
        ("a+ b", "a - b a a", []),
    ],
)
def test_matches_are_leftmost_then_longest(
    text: str, line: str, expected: list[tuple[int, int]]
) -> None:
    assert found(text, line) == expected


def test_local_conditions_limit_the_match_itself() -> None:
    assert found("a+ b*", "a a a b b b", max_count=4) == [(0, 3)]
    assert found("a+ b", "a a a a b", max_count=3) == [(2, 4)]
    assert found("a+ b*", "a a a b b b", max_duration=1) == [(0, 1), (2, 3)]
    assert found("a b?", "a b a a b", min_count=2) == [(0, 1), (3, 4)]
    assert found("a+", "a a - a a a", min_duration=2) == [(3, 5)]
    assert found("a+", "a a - a a a", longest=True) == [(3, 5)]


def test_missing_rows_satisfy_every_condition_if_they_are_bridged() -> None:
    line = "a ? b a ? . a ? b"

    def frames(missing: str) -> list[tuple[Any, ...]]:
        choices = {"missing": missing, "schedule": Schedule(1), "reading": letters}
        return counted(framed(pattern("a b+"), line, **choices))

    assert frames("break") == []
    assert frames("satisfy") == [(0, 2, 2, 1), (3, 5, 1, 2), (6, 8, 2, 1)]
    assert frames("carry") == [(0, 2, 2, 1), (6, 8, 2, 1)]
    # Each of them counts as one row of the pattern, and none is the first row of a match.
    three = framed(pattern("a{3}"), "a ? ? ? ? a", missing="satisfy", reading=letters)
    assert counted(three) == [(0, 2, 1, 2)]
    carried = framed(pattern("a{3}"), "a ? a a", missing="carry", reading=letters)
    assert counted(carried) == [(0, 2, 2, 1)]


def test_a_condition_may_read_the_row_before() -> None:
    def read(before: Row | None, row: Row) -> frozenset[str] | None:
        if row["x"] is None or before is None or before["x"] is None:
            return None
        return frozenset("a" if row["x"] > before["x"] else "b")

    kind = pattern("a+ b+", a="x > prev.x", b="x <= prev.x")
    rows = "1 2 3 2 1 5 4"
    assert spans(framed(kind, rows, reading_after=read)) == [(1, 4), (5, 6)]
    # A row whose value is null is missing, and so is the row after it.
    assert spans(framed(kind, "1 2 ? 3 2 3 2", reading_after=read)) == [(5, 6)]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"cut": True, "max_count": 5}, "pattern decides itself where a frame ends"),
        ({"fragments": 5}, "such a frame is certain only when it is over"),
        ({"readings": "until_next"}, "it takes rows as points"),
        ({"bounds": "liberal"}, "its frames are bounded by their own rows"),
        ({"scheme": "partition"}, "its frames are disjoint"),
        ({"max_count": 2}, "its shortest match has 3 rows"),
        ({"min_count": 5}, "its longest match has 4 rows"),
    ],
)
def test_properties_that_contradict_a_pattern_are_refused(
    choices: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        Framing(pattern("a b{2,3}"), "on", **choices)


def test_rows_kept_are_bounded_if_the_match_is() -> None:
    def bounded(text: str, **choices: Any) -> bool:
        framing = Framing(pattern(text), "on", **choices)
        return pattern(text).held_rows(framing)[1]

    assert bounded("a b{2,3}")
    assert not bounded("a b+")
    assert bounded("a b+", max_count=10)
    assert bounded("a b+", max_duration=10)


@st.composite
def greedy_patterns(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a pattern without groups and alternatives, and the same for Python's ``re``."""
    sign = st.sampled_from(["", "?", "*", "+", "{2}", "{1,3}", "{2,}"])
    names = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=4, unique=True))
    signs = [draw(sign) for _ in names]
    if all(each in ("?", "*") for each in signs):
        signs[0] = "+"
    pairs = [*zip(names, signs, strict=True)]
    return " ".join(map("".join, pairs)), "".join(map("".join, pairs))


@examples(1000)
@given(greedy_patterns(), st.text("abcd", max_size=14))
def test_greedy_patterns_match_as_in_python(pair: tuple[str, str], row_letters: str) -> None:
    """With one letter a row and no letter twice, the greedy match is the longest one."""
    text, expression = pair
    spans_of_re = [match.span() for match in re.finditer(expression, row_letters)]
    line = " ".join("-" if letter == "d" else letter for letter in row_letters)
    assert [(start, end + 1) for start, end in found(text, line)] == spans_of_re


@examples(500)
@given(st.sampled_from(["a (b a)*", "(a | a b) c", "(a b?){2,3}", "(a | b)+ c?"]), st.data())
def test_ends_are_those_of_every_assignment(text: str, data: st.DataObject) -> None:
    """Python's ``fullmatch`` tries every assignment of one letter to each row."""
    row = st.sampled_from(["a", "b", "c", "ab", "bc", ""])
    names: Sequence[frozenset[str]] = [frozenset(r) for r in data.draw(st.lists(row, max_size=5))]
    tree = parse_pattern(text)
    expression = re.compile(text.replace(" ", ""))
    assert ends(tree, names, 0) == {
        count
        for count in range(len(names) + 1)
        if any(map(expression.fullmatch, _assignments(names[:count])))
    }


def _assignments(names: Sequence[frozenset[str]]) -> list[str]:
    words = [""]
    for choices in names:
        words = [word + letter for word in words for letter in choices]
    return words
