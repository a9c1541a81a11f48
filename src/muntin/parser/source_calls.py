"""Sources, sinks and actions: ``csv('path', header => true)``."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from muntin.parser.cursor import Cursor
from muntin.parser.errors import SqlError
from muntin.parser.literals import read_constant
from muntin.parser.statements import ConnectorCall, Constant

_VALUE = "a constant: a text, a number, TRUE, FALSE, NULL or ARRAY(...)"


def read_call(cursor: Cursor, what: str) -> ConnectorCall:
    """A name and constants in parentheses; arguments by name follow those without."""
    place = cursor.place
    name = cursor.name(what)
    token = cursor.peek
    if token is None or token.token_type is not TokenType.L_PAREN:
        cursor.fail(expected=f"( and the arguments of {name}")
    inner = cursor.enclosed()
    arguments: list[Constant] = []
    options: dict[str, Constant] = {}
    while not inner.done:
        option = _option(inner)
        if option is not None:
            if option in options:
                raise SqlError(f"{option} stands here twice", cursor.text, inner.offset)
            options[option] = read_constant(inner, _VALUE)
        elif options:
            inner.fail(expected="name => value, as before")
        else:
            arguments.append(read_constant(inner, _VALUE))
        if not inner.done:
            inner.expect_type(TokenType.COMMA, ", or )")
    return ConnectorCall(name.lower(), tuple(arguments), options, place)


def _option(cursor: Cursor) -> str | None:
    """The name of an argument, if this is one with a name."""
    if cursor.behind is None or cursor.behind.token_type is not TokenType.FARROW:
        return None
    name = cursor.name("the name of an option")
    cursor.take()
    return name
