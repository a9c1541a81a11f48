"""Reading tokens from left to right, with errors that say what was expected where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.errors import SqlError, closest
from muntin.parser.lexer import closing, hyphenated_at, is_name, is_word
from muntin.parser.positions import Position, place_at

#: Words behind which an expression goes on.
_CONNECTING = (
    *("AND", "OR", "NOT", "XOR", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS"),
    *("DISTINCT", "FROM", "ESCAPE", "DIV", "CASE", "WHEN", "THEN", "ELSE", "INTERVAL", "AS"),
)
_CLOSED = (
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
)
_PLAIN = (TokenType.NUMBER, TokenType.STRING)
_ENDING = (TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET)


class Cursor:
    """Some tokens of a text and how far they have been read.

    The only thing here that changes; a clause is read by handing one on from function to function.
    """

    def __init__(self, text: str, tokens: Sequence[Token], end: int | None = None) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        #: Where the text behind the last token begins, for what is missing there.
        self.end = end if end is not None else (tokens[-1].end + 1 if tokens else len(text))

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    @property
    def peek(self) -> Token | None:
        """The next token; None behind the last."""
        return None if self.done else self.tokens[self.at]

    @property
    def behind(self) -> Token | None:
        """The token behind the next one."""
        return self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None

    def calls(self) -> bool:
        """Whether a parenthesis opens behind the next token, as behind the name of a function."""
        return self.behind is not None and self.behind.token_type is TokenType.L_PAREN

    @property
    def offset(self) -> int:
        """Where the next token begins."""
        return self.end if self.done else self.tokens[self.at].start

    @property
    def place(self) -> Position:
        return place_at(self.text, self.offset)

    def take(self) -> Token:
        """The next token, which is there."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def next_is(self, *words: str) -> bool:
        """Whether the next token is one of these words."""
        return not self.done and is_word(self.tokens[self.at], *words)

    def next_are(self, *words: str) -> bool:
        """Whether these words come one after the other."""
        coming = self.tokens[self.at : self.at + len(words)]
        pairs = zip(coming, words, strict=False)
        return len(coming) == len(words) and all(is_word(token, word) for token, word in pairs)

    def accept(self, *words: str) -> bool:
        """Read these words, if all of them come."""
        found = self.next_are(*words)
        self.at += len(words) * found
        return found

    def accept_type(self, type_: TokenType) -> bool:
        found = not self.done and self.tokens[self.at].token_type is type_
        self.at += found
        return found

    def expect(self, *words: str) -> None:
        """Read these words, or say that they are missing."""
        for word in words:
            if not self.accept(word):
                self.fail(expected=word, known=[word])

    def expect_type(self, type_: TokenType, shown: str) -> None:
        if not self.accept_type(type_):
            self.fail(expected=shown)

    def choice(self, *words: str) -> str:
        """One of some words, in upper case."""
        if not self.next_is(*words):
            self.fail(expected=_listed(words), known=words)
        return self.take().text.upper()

    def name(self, what: str) -> str:
        """The name of a column or of something else, with hyphens if it has some."""
        token = self.peek
        if token is None or not is_name(token):
            self.fail(expected=what)
        last = hyphenated_at(self.tokens, self.at)
        if last == self.at:
            return self.take().text
        name = self.text[token.start : self.tokens[last].end + 1]
        self.at = last + 1
        return name

    def names(self, what: str) -> tuple[str, ...]:
        """One name or several, with or without parentheses around them."""
        enclosed = self.accept_type(TokenType.L_PAREN)
        if enclosed and self.accept_type(TokenType.R_PAREN):
            return ()
        found = [self.name(what)]
        while self.accept_type(TokenType.COMMA):
            found.append(self.name(what))
        if enclosed:
            self.expect_type(TokenType.R_PAREN, ")")
        return tuple(found)

    def enclosed(self) -> Cursor:
        """What stands in the bracket that opens here."""
        first = self.at
        last = closing(self.text, self.tokens, first)
        self.at = last + 1
        return Cursor(self.text, self.tokens[first + 1 : last], self.tokens[last].start)

    def until(self, stops: Callable[[Cursor], bool]) -> Cursor:
        """An expression: the tokens up to one that begins something new, or a comma."""
        first, depth = self.at, 0
        if self._begins_clause(stops):
            return Cursor(self.text, (), self.offset)
        while not self.done:
            token = self.tokens[self.at]
            before = self.tokens[self.at - 1] if self.at > first else None
            if not depth and before is not None and _may_end(before) and stops(self):
                break
            if not depth and token.token_type in _ENDING:
                break
            depth += token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET)
            depth -= token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)
            self.at += 1
        return Cursor(self.text, self.tokens[first : self.at], self.offset)

    def _begins_clause(self, stops: Callable[[Cursor], bool]) -> bool:
        """Whether the expression is missing: a word that stops one, and what goes with the word."""
        behind = self.behind
        if behind is None or not (is_name(behind) or behind.token_type in _PLAIN):
            return False
        return stops(self) and not is_word(behind, *_CONNECTING)

    def finish(self, expected: str, known: Iterable[str] = ()) -> None:
        """Say so if something is left that nobody reads."""
        if not self.done:
            self.fail(expected=expected, known=known)

    def fail(
        self, problem: str | None = None, *, expected: str, known: Iterable[str] = ()
    ) -> NoReturn:
        """The error that names the next token, or the end."""
        token = self.peek
        suggestion = closest(token.text, known) if token is not None else None
        if token is not None and suggestion == token.text.upper():
            suggestion = None  # the word is right, and in the wrong place
        raise SqlError(
            self._problem() if problem is None else problem,
            self.text,
            self.offset,
            expected=expected,
            suggestion=suggestion,
        )

    def _problem(self) -> str:
        token = self.peek
        if token is not None:
            return f"{_shown(token)} cannot stand here"
        ended = self.offset >= len(self.text.rstrip())
        return "the text ends too early" if ended else "something is missing"


def _may_end(token: Token) -> bool:
    """Whether an expression can end with a token: a word behind it then begins something new."""
    if token.token_type in _CLOSED:
        return True
    return is_word(token) and not is_word(token, *_CONNECTING)


def _shown(token: Token) -> str:
    return f"'{token.text}'" if token.token_type is TokenType.STRING else token.text


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
