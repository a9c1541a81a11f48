"""No text whatever makes the parser raise anything but its own error."""

from __future__ import annotations

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st

from muntin.parser.errors import SqlError
from muntin.parser.lexer import lex
from muntin.parser.parse import parse
from tests.parser.cases import cases

TEXTS = [case.text for case in cases()]


def pieces(text: str) -> list[str]:
    """The tokens of a text as they were written; a text that has none is a piece."""
    try:
        tokens = lex(text).tokens
    except SqlError:
        return [text]
    return [text[token.start : token.end + 1] for token in tokens]


PIECES = sorted(set(itertools.chain.from_iterable(map(pieces, TEXTS))))


def survives(text: str) -> None:
    try:
        for statement in parse(text):
            assert str(statement)
    except SqlError as error:
        assert str(error).startswith(f"{error.place}: ")
        assert 0 <= error.place.offset <= len(text)
        assert error.place.line <= text.count("\n") + 1


@settings(max_examples=400)
@example("SELECT max(limit<sort FROM t [RANGE")
@example("[" * 5000)
@example("SELECT count(*) FROM fill(frames)")
@example("SELECT " + "(" * 90 + "1" + ")" * 90)
@example("SELECT " + "NOT " * 3000 + "x")
@example("SELECT ²² FROM t [RANGE ²]")
@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    survives(text)


@settings(max_examples=600)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_words_of_the_language(words: list[str]) -> None:
    survives(" ".join(words))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A text of the fixtures in which some words are gone, doubled, replaced or cut."""
    words = pieces(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(0, len(words) - 1)))
        other = draw(st.sampled_from(PIECES))
        how = draw(st.sampled_from(["drop", "double", "replace", "insert", "cut", "letter"]))
        match how:
            case "drop":
                del words[place : place + 1]
            case "double":
                words[place:place] = words[place : place + 1]
            case "replace":
                words[place : place + 1] = [other]
            case "insert":
                words[place:place] = [other]
            case "cut":
                words = words[:place]
            case _:
                words[place : place + 1] = [word[:-1] for word in words[place : place + 1]]
    return " ".join(words)


@settings(max_examples=1500)
@given(mutated())
def test_mutations_of_the_fixtures(text: str) -> None:
    survives(text)
