"""Arguments by name, as table functions take them: ``range => '5 minutes', by => (a, b)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot.tokenizer_core import TokenType

from muntin.parser.clause import Draft
from muntin.parser.cursor import Cursor
from muntin.parser.disorder_clause import read_disorder
from muntin.parser.expressions import read_expression
from muntin.parser.fill_clause import read_alias, read_matching, read_table
from muntin.parser.lexer import is_word
from muntin.parser.literals import read_constant, read_count, read_length, read_measure, read_text
from muntin.parser.statements import Query

#: Reads a query in parentheses.
Subquery = Callable[[Cursor], Query]
Reader = Callable[[Cursor], object]


def read_arguments(
    cursor: Cursor, readers: Mapping[str, Reader], needed: Sequence[str] = ()
) -> Draft:
    """``, name => value`` to the end; those that are ``needed`` must be among them."""
    draft = Draft(cursor.text)
    while not cursor.done:
        cursor.expect_type(TokenType.COMMA, ",")
        place, token = cursor.place, cursor.peek
        if token is None or token.text.lower() not in readers:
            known = ", ".join(readers)
            problem = None if token is None else f"there is no argument {token.text}"
            cursor.fail(problem, expected=f"one of {known}", known=readers)
        name = cursor.take().text.lower()
        cursor.expect_type(TokenType.FARROW, "=>")
        value = readers[name](cursor)
        draft.put(
            name, list(value) if name == "origin" and isinstance(value, tuple) else value, place
        )
    for name in needed:
        if name not in draft.values:
            cursor.fail(f"{name} is missing", expected=f", {name} => ...")
    return draft


def read_relation(cursor: Cursor, subquery: Subquery, what: str) -> tuple[str | Query, str]:
    """A relation and its alias: a name, ``TABLE name`` or a query in parentheses."""
    cursor.accept("TABLE")
    token = cursor.peek
    if token is not None and token.token_type is TokenType.L_PAREN:
        query = subquery(cursor.enclosed())
        return query, read_alias(cursor, ()) or "subquery"
    table = read_table(cursor, what)
    return table, read_alias(cursor, ()) or table.split(".")[-1]


def length(argument: str) -> Reader:
    """A length along ``on``, for the argument of this name."""
    return lambda cursor: read_length(cursor, argument)


def rows(cursor: Cursor) -> object:
    """A number of rows."""
    measure = read_measure(cursor, "rows")
    return measure.length if measure.number is None else measure.number


def columns(cursor: Cursor) -> object:
    """A column, or several in parentheses."""
    if opens(cursor):
        return cursor.names("a column")
    return (cursor.name("a column, or several in parentheses"),)


def column(cursor: Cursor) -> object:
    """A column."""
    return cursor.name("a column")


def key(cursor: Cursor) -> object:
    """Which columns match keys: a column, several in parentheses, or ``(own = other)``."""
    return read_matching(cursor) if opens(cursor) else columns(cursor)


def word(*words: str) -> Reader:
    """One of some words, as it is or as a text."""

    def read(cursor: Cursor) -> object:
        token = cursor.peek
        if token is None or token.text.lower() not in words:
            cursor.fail(expected=" or ".join(f"'{word}'" for word in words), known=words)
        return cursor.take().text.lower()

    return read


def condition(cursor: Cursor) -> object:
    """An expression of Spark's SQL."""
    return read_expression(cursor.until(lambda c: False), "a condition")


def flag(cursor: Cursor) -> object:
    """TRUE or FALSE."""
    return cursor.choice("TRUE", "FALSE") == "TRUE"


def count(cursor: Cursor) -> object:
    """A whole number."""
    return read_count(cursor, "a whole number")


def constant(cursor: Cursor) -> object:
    """A constant, or an array of such."""
    return read_constant(cursor, "a constant such as '2026-01-01'")


def text(cursor: Cursor) -> object:
    """A text."""
    return read_text(cursor, "a text such as 'right_'")


def size(cursor: Cursor) -> object:
    """How many bytes: ``'100 MB'``, ``100 MB`` or a number."""
    token = cursor.peek
    if token is not None and token.token_type is TokenType.STRING:
        return cursor.take().text
    number = read_count(cursor, "a size such as '100 MB'")
    unit = cursor.peek
    return f"{number} {cursor.take().text}" if unit is not None and is_word(unit) else number


def opens(cursor: Cursor) -> bool:
    """Whether a parenthesis opens here."""
    token = cursor.peek
    return token is not None and token.token_type is TokenType.L_PAREN


#: What every function says of its relation.
ROLES: Mapping[str, Reader] = {
    "on": column,
    "by": columns,
    "disorder": lambda cursor: read_disorder(cursor, lambda c: False),
}
