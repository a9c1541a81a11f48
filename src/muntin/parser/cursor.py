"""Read tokens from left to right, with errors that say what was expected and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from muntin.parser.errors import Position, SqlError, closest, place_at
from muntin.parser.lexer import closing, hyphenated_at, is_name, is_word

#: Words after which an expression continues.
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
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_ENDING = (TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET)


class Cursor:
    """The tokens of a text, and how far they have been read.

    Functions that read a clause pass one cursor on and advance it.
    """

    def __init__(self, text: str, tokens: Sequence[Token], end: int | None = None) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        #: The offset after the last token, where errors show that something is missing.
        self.end = end if end is not None else (tokens[-1].end + 1 if tokens else len(text))

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    @property
    def peek(self) -> Token | None:
        """The next token; None after the last."""
        return None if self.done else self.tokens[self.at]

    @property
    def second(self) -> Token | None:
        """The token after the next one."""
        return self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None

    def calls(self) -> bool:
        """Return whether a parenthesis follows the next token, as after a function's name."""
        return self.second is not None and self.second.token_type is TokenType.L_PAREN

    def opens(self) -> bool:
        """Return whether a parenthesis opens here."""
        return not self.done and self.tokens[self.at].token_type is TokenType.L_PAREN

    @property
    def offset(self) -> int:
        """The offset of the next token."""
        return self.end if self.done else self.tokens[self.at].start

    @property
    def place(self) -> Position:
        return place_at(self.text, self.offset)

    def take(self) -> Token:
        """Read and return the next token, which must exist."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def next_is(self, *words: str) -> bool:
        """Return whether the next token is one of these words."""
        return not self.done and is_word(self.tokens[self.at], *words)

    def next_is_text(self) -> bool:
        """Return whether the next token is a text in quotes."""
        return not self.done and self.tokens[self.at].token_type is TokenType.STRING

    def next_are(self, *words: str) -> bool:
        """Return whether these words come next, one after the other."""
        coming = self.tokens[self.at : self.at + len(words)]
        pairs = zip(coming, words, strict=False)
        return len(coming) == len(words) and all(is_word(token, word) for token, word in pairs)

    def accept(self, *words: str) -> bool:
        """Read these words if all of them come next; return whether they do."""
        accepted = self.next_are(*words)
        self.at += len(words) * accepted
        return accepted

    def accept_type(self, type_: TokenType) -> bool:
        """Read a token if it has this type; return whether it has."""
        accepted = not self.done and self.tokens[self.at].token_type is type_
        self.at += accepted
        return accepted

    def expect(self, *words: str) -> None:
        """Read these words; raise if one is missing."""
        for word in words:
            if not self.accept(word):
                self.fail(expected=word, known=[word])

    def expect_type(self, type_: TokenType, shown: str) -> None:
        """Read a token of this type; raise if it is missing."""
        if not self.accept_type(type_):
            self.fail(expected=shown)

    def choice(self, *words: str) -> str:
        """Read one of these words, and return it in upper case."""
        if not self.next_is(*words):
            self.fail_choice(words)
        return self.take().text.upper()

    def fail_choice(self, words: Sequence[str]) -> NoReturn:
        """Raise the error that lists the words of which one was expected."""
        listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        self.fail(expected=listed, known=words)

    def name(self, what: str) -> str:
        """Read a name, such as that of a column; it may have hyphens."""
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
        """Read one name or several with commas, with or without parentheses around them."""
        enclosed = self.accept_type(TokenType.L_PAREN)
        if enclosed and self.accept_type(TokenType.R_PAREN):
            return ()
        names = [self.name(what)]
        while self.accept_type(TokenType.COMMA):
            names.append(self.name(what))
        if enclosed:
            self.expect_type(TokenType.R_PAREN, ")")
        return tuple(names)

    def enclosed(self) -> Cursor:
        """Read the bracket that opens here, and return a cursor over its inside."""
        if self.done or self.tokens[self.at].token_type not in _OPENING:
            self.fail(expected="(")
        first = self.at
        last = closing(self.text, self.tokens, first)
        self.at = last + 1
        return Cursor(self.text, self.tokens[first + 1 : last], self.tokens[last].start)

    def until(self, stops: Callable[[Cursor], bool]) -> Cursor:
        """Read an expression: the tokens up to a comma, a bracket or where ``stops`` holds."""
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
        """Return whether the expression is missing, so that the next clause begins here."""
        second = self.second
        if second is None or not (is_name(second) or second.token_type in _PLAIN):
            return False
        return stops(self) and not is_word(second, *_CONNECTING)

    def finish(self, expected: str, known: Iterable[str] = ()) -> None:
        """Raise if tokens are left."""
        if not self.done:
            self.fail(expected=expected, known=known)

    def fail(
        self, problem: str | None = None, *, expected: str, known: Iterable[str] = ()
    ) -> NoReturn:
        """Raise an error at the next token, or at the end."""
        token = self.peek
        suggestion = closest(token.text, known) if token is not None else None
        if token is not None and suggestion == token.text.upper():
            suggestion = None  # the word is right, but in the wrong place
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
            return f"{_shown(token)} is not allowed here"
        ended = self.offset >= len(self.text.rstrip())
        return "the text ends too early" if ended else "something is missing"


def _may_end(token: Token) -> bool:
    """Return whether an expression can end with a token; a word after it begins a clause."""
    if token.token_type in _CLOSED:
        return True
    return is_word(token) and not is_word(token, *_CONNECTING)


def _shown(token: Token) -> str:
    return f"'{token.text}'" if token.token_type is TokenType.STRING else token.text
