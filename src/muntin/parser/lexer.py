"""The user's text as tokens, every one of which knows its place.

sqlglot's tokenizer cuts the text. What is added here are names with hyphens, which the papers
write (``seg-id``): a hyphen without blanks around it joins two words to a column if somebody knows
such a column, and is a minus sign otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.dialect import SQL
from muntin.parser.errors import SqlError

_WORD = re.compile(r"[^\W\d]\w*")
_OPENING = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
_CLOSING = {close: opening for opening, close in _OPENING.items()}
#: Deeper texts would only be refused by the parser, less kindly.
MOST_DEEP = 100


@dataclass(frozen=True)
class Lexed:
    """Tokens of a text, and the words with hyphens that were read as subtractions."""

    text: str
    tokens: tuple[Token, ...]
    hyphenated: frozenset[str]


def lex(text: str, columns: Collection[str] = ()) -> Lexed:
    """Cut a text into tokens; ``columns`` are names with hyphens that are known.

    >>> [token.text for token in lex("max(bid-price)", ["bid-price"]).tokens]
    ['max', '(', 'bid-price', ')']
    >>> sorted(lex("max(bid-price)").hyphenated)
    ['bid-price']
    """
    known = {name.casefold(): name for name in columns}
    left: set[str] = set()
    tokens = tuple(_joined(text, _cut(text), known, left))
    _check_depth(text, tokens)
    return Lexed(text, tokens, frozenset(left))


def is_word(token: Token, *words: str) -> bool:
    """Whether a token is an unquoted word, and one of these if some are given."""
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER):
        return False
    if not words:
        return _WORD.fullmatch(token.text) is not None
    return token.text.upper().split(" ")[0] in words  # GROUP BY is one token


def is_name(token: Token) -> bool:
    """Whether a token can name something: a word, or anything in backticks."""
    return token.token_type is TokenType.IDENTIFIER or is_word(token)


def closing(text: str, tokens: Sequence[Token], opening: int) -> int:
    """The place in ``tokens`` of the bracket that closes the one at ``opening``."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += tokens[place].token_type in _OPENING
        depth -= tokens[place].token_type in _CLOSING
        if not depth:
            return place
    raise SqlError(f"{tokens[opening].text} is never closed", text, tokens[opening].start)


def _cut(text: str) -> list[Token]:
    try:
        return list(SQL().tokenize(text))
    except SqlglotError:
        start = _open_quote(text)
        what = "a quoted text or a comment that begins here has no end"
        raise SqlError(what, text, start) from None
    except (IndexError, KeyError, ValueError, TypeError):
        # The tokenizer trips over some broken text itself.
        raise SqlError("this is not SQL that can be read", text, 0) from None


def _joined(
    text: str, tokens: Sequence[Token], known: dict[str, str], left: set[str]
) -> Iterator[Token]:
    place = 0
    while place < len(tokens):
        stretch = hyphenated_at(tokens, place)
        end = stretch
        while end > place and _spelt(text, tokens, place, end).casefold() not in known:
            end -= 2
        if end > place:
            name = known[_spelt(text, tokens, place, end).casefold()]
            yield name_token(name, tokens[place], tokens[end])
            place = end + 1
            continue
        left |= {_spelt(text, tokens, place, last) for last in range(place + 2, stretch + 1, 2)}
        yield tokens[place]
        place += 1


def hyphenated_at(tokens: Sequence[Token], place: int) -> int:
    """Where a word with hyphens ends that begins here; here if there is none."""
    end = place
    if not is_word(tokens[place]):
        return end
    while end + 2 < len(tokens):
        dash, word = tokens[end + 1], tokens[end + 2]
        near = tokens[end].end + 1 == dash.start and dash.end + 1 == word.start
        wordlike = is_word(word) or (word.token_type is TokenType.NUMBER and word.text.isdigit())
        if dash.token_type is not TokenType.DASH or not near or not wordlike:
            break
        end += 2
    return end


def name_token(name: str, first: Token, last: Token | None = None) -> Token:
    """A quoted name that stands where other tokens stood."""
    end = first if last is None else last
    return Token(
        TokenType.IDENTIFIER, name, line=end.line, col=end.col, start=first.start, end=end.end
    )


def _spelt(text: str, tokens: Sequence[Token], first: int, last: int) -> str:
    return text[tokens[first].start : tokens[last].end + 1]


def _check_depth(text: str, tokens: Sequence[Token]) -> None:
    """Brackets pair up, and are not nested without end."""
    waiting: list[Token] = []
    for token in tokens:
        if token.token_type in _OPENING:
            waiting.append(token)
            if len(waiting) > MOST_DEEP:
                raise SqlError("this is nested too deeply to be read", text, token.start)
        elif token.token_type in _CLOSING:
            opened = waiting.pop() if waiting else None
            if opened is None or opened.token_type is not _CLOSING[token.token_type]:
                problem = f"{token.text} closes nothing that is open"
                raise SqlError(problem, text, token.start)
        elif token.token_type is TokenType.SEMICOLON and waiting:
            break
    if waiting:
        raise SqlError(f"{waiting[-1].text} is never closed", text, waiting[-1].start)


def _open_quote(text: str) -> int:
    """Where the quote or comment begins that never ends."""
    place = 0
    pattern = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.S)
    while place < len(text):
        match = pattern.match(text, place)
        if match is None and (text[place] in "'\"`" or text.startswith("/*", place)):
            return place
        place = match.end() if match else place + 1
    return max(0, len(text) - 1)
