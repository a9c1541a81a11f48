"""Cut the user's text into tokens that know their places, and list the words that end FROM.

sqlglot's tokenizer cuts the text. This module adds names with hyphens, which the papers write
(``seg-id``): two words with a hyphen and no blanks between them are a column if such a column is
known, and a subtraction otherwise.
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
#: Texts nested deeper are refused here, before sqlglot's parser overflows.
MOST_DEEP = 100
#: Words that end the list of relations in FROM.
ENDS_FROM = ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT")
#: Words that end it or follow one relation, so none of them is its alias.
AFTER_RELATION = (
    *ENDS_FROM,
    *("JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ON", "USING"),
    *("LATERAL", "WINDOW", "CLUSTER", "DISTRIBUTE", "SORT", "TABLESAMPLE", "PIVOT", "UNPIVOT"),
    *("QUALIFY", "FILL", "BEGIN", "WITH", "INTO", "PER"),
)


@dataclass(frozen=True)
class Lexed:
    """Tokens of a text, and the words with hyphens that were read as subtractions."""

    text: str
    tokens: tuple[Token, ...]
    hyphenated: frozenset[str]


def lex(text: str, columns: Collection[str] = ()) -> Lexed:
    """Cut a text into tokens; ``columns`` are the known names with hyphens.

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


def ends_statement(text: str) -> bool:
    """Return whether a text ends with the semicolon of a statement, right or wrong.

    >>> ends_statement("SELECT (1;"), ends_statement("SELECT ';'"), ends_statement("SELECT 1 -- ;")
    (True, False, False)
    """
    try:
        tokens = _cut(text)
    except SqlError:
        return False  # a quote or a comment that is still open
    return bool(tokens) and tokens[-1].token_type is TokenType.SEMICOLON


def is_word(token: Token, *words: str) -> bool:
    """Return whether a token is an unquoted word, and one of these if some are given."""
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER):
        return False
    if not words:
        return _WORD.fullmatch(token.text) is not None
    return token.text.upper().split(" ")[0] in words  # GROUP BY is one token


def is_name(token: Token) -> bool:
    """Return whether a token can be a name: a word, or anything in backticks."""
    return token.token_type is TokenType.IDENTIFIER or is_word(token)


def closing(text: str, tokens: Sequence[Token], opening: int) -> int:
    """Return the index of the bracket that closes the one at index ``opening``."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += tokens[place].token_type in _OPENING
        depth -= tokens[place].token_type in _CLOSING
        if not depth:
            return place
    raise SqlError(f"{tokens[opening].text} is never closed", text, tokens[opening].start)


def _cut(text: str) -> list[Token]:
    try:
        return [_plain(token) for token in SQL().tokenize(text)]
    except SqlglotError:
        start = _open_quote(text)
        problem = "a quoted text or a comment that begins here has no end"
        raise SqlError(problem, text, start) from None
    except (IndexError, KeyError, ValueError, TypeError):
        # The tokenizer trips over some broken text itself.
        raise SqlError("this is not SQL that can be read", text, 0) from None


def _plain(token: Token) -> Token:
    r"""Return a raw text, such as ``r'a\d'``, as the plain text that it means."""
    if token.token_type is not TokenType.RAW_STRING:
        return token
    return Token(
        TokenType.STRING,
        token.text,
        line=token.line,
        col=token.col,
        start=token.start,
        end=token.end,
    )


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
    """Return the index of the last token of a word with hyphens; ``place`` if it has none."""
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
    """Return a quoted name at the place of other tokens."""
    end = first if last is None else last
    return Token(
        TokenType.IDENTIFIER, name, line=end.line, col=end.col, start=first.start, end=end.end
    )


def _spelt(text: str, tokens: Sequence[Token], first: int, last: int) -> str:
    return text[tokens[first].start : tokens[last].end + 1]


def _check_depth(text: str, tokens: Sequence[Token]) -> None:
    """Raise unless brackets pair up and are not nested too deeply."""
    open_brackets: list[Token] = []
    for token in tokens:
        if token.token_type in _OPENING:
            open_brackets.append(token)
            if len(open_brackets) > MOST_DEEP:
                raise SqlError("this is nested too deeply to be read", text, token.start)
        elif token.token_type in _CLOSING:
            opened = open_brackets.pop() if open_brackets else None
            if opened is None or opened.token_type is not _CLOSING[token.token_type]:
                problem = f"{token.text} closes no open bracket"
                raise SqlError(problem, text, token.start)
        elif token.token_type is TokenType.SEMICOLON and open_brackets:
            break
    if open_brackets:
        raise SqlError(f"{open_brackets[-1].text} is never closed", text, open_brackets[-1].start)


def _open_quote(text: str) -> int:
    """Return the offset of the quote or comment that never ends."""
    place = 0
    pattern = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.S)
    while place < len(text):
        match = pattern.match(text, place)
        if match is None and (text[place] in "'\"`" or text.startswith("/*", place)):
            return place
        place = match.end() if match else place + 1
    return max(0, len(text) - 1)
