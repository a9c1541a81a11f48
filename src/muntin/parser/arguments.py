"""The arguments of stream clauses, each described once.

A clause gives an argument by a word, as in ``BEFORE 30 SECONDS``, or a table function gives it by
its name, as in ``before => 30 SECONDS``. One function reads the value in both forms, and the
argument has the name that the Python method has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import TokenType

from muntin.errors import Mention
from muntin.parser.cursor import Cursor
from muntin.parser.disorder_clause import read_disorder
from muntin.parser.errors import Position, SqlError
from muntin.parser.expressions import (
    read_constant,
    read_count,
    read_expression,
    read_length,
    read_measure,
    read_text,
)
from muntin.parser.lexer import is_name, is_word
from muntin.parser.statements import FillClause, Method, PsoupInterval, Query, Windowing
from muntin.specs.disorder import Disorder


@dataclass(frozen=True)
class Form:
    """How a clause gives its arguments: by words that end a value, or by name where it has none."""

    words: tuple[str, ...] = ()

    @property
    def by_name(self) -> bool:
        return not self.words

    def ends(self, cursor: Cursor) -> bool:
        """Return whether the next word begins another argument."""
        return bool(self.words) and cursor.next_is(*self.words)


BY_NAME = Form()
#: Reads a value; in some words it returns a `Together`.
Reader = Callable[[Cursor, Form], object]
#: Reads a query in parentheses.
Subquery = Callable[[Cursor], Query]


class Together(dict[str, object]):
    """The values of several arguments that one word gives, as ``TIES FIRST BY seq`` does."""


@dataclass(frozen=True)
class Argument:
    """An argument of a method, how its value is read, and the words that give it in a clause.

    ``inside`` is the word that gives it within the value of another argument, as BY does in
    ``TIES FIRST BY seq``.
    """

    name: str
    read: Reader
    words: tuple[str, ...] = ()
    inside: str = ""


@dataclass
class Draft:
    """The arguments of a clause that have been read: values, places, and the words used."""

    text: str
    values: dict[str, object] = field(default_factory=dict)
    places: dict[str, Position] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: object, place: Position, word: str) -> None:
        """Add an argument; raise if it is there already."""
        if name in self.places:
            raise SqlError(f"{word} is given twice", self.text, place)
        self.values[name] = value
        self.places[name] = place
        self.words[name] = word

    def take(self, name: str) -> object:
        """Remove and return the value of an argument; None if it is not given."""
        return self.values.pop(name, None)

    def take_roles(self) -> tuple[str | None, tuple[str, ...] | None, Disorder | None]:
        """Remove and return what describes the relation: ``on``, ``by`` and ``disorder``."""
        on, by, disorder = (self.take(role.name) for role in ROLES)
        assert on is None or isinstance(on, str)
        assert by is None or isinstance(by, tuple)
        assert disorder is None or isinstance(disorder, Disorder)
        return on, by, disorder

    def clause(self, method: Method, *, by_name: bool = False) -> Clause:
        """Return the clause: the roles, and what is left as arguments of the method."""
        on, by, disorder = self.take_roles()
        return Clause(method, self.values, self.places, on, by, disorder, by_name=by_name)


@dataclass(frozen=True)
class Clause:
    """A stream clause: a method of ``mt.stream``, its arguments, and the roles of columns."""

    method: Method
    arguments: Mapping[str, object]
    places: Mapping[str, Position]
    on: str | None = None
    by: tuple[str, ...] | None = None
    disorder: Disorder | None = None
    interval: PsoupInterval | None = None
    by_name: bool = False

    def of(
        self, table: str | Query, alias: str, fills: tuple[FillClause, ...], place: Position
    ) -> Windowing:
        """Return the windows that the clause asks of a relation."""
        return Windowing(table, alias, fills=fills, place=place, **vars(self))


def read_word_argument(
    cursor: Cursor, arguments: Sequence[Argument], form: Form, draft: Draft
) -> bool:
    """Read one argument by its word; return False, with nothing read, if none begins here."""
    phrases = [(phrase.split(), argument) for argument in arguments for phrase in argument.words]
    fitting = [(words, argument) for words, argument in phrases if cursor.next_are(*words)]
    if not fitting:
        return False
    words, argument = max(fitting, key=lambda pair: len(pair[0]))
    place = cursor.place
    cursor.at += len(words)
    value = argument.read(cursor, form)
    values = value if isinstance(value, Together) else {argument.name: value}
    for name, part in values.items():
        draft.put(name, part, place, words[0])
    return True


def first_words(arguments: Iterable[Argument]) -> tuple[str, ...]:
    """Return the words that begin an argument."""
    return tuple(
        dict.fromkeys(words.split()[0] for argument in arguments for words in argument.words)
    )


def read_named_arguments(
    cursor: Cursor, arguments: Sequence[Argument], required: Sequence[str] = ()
) -> Draft:
    """Read ``, name => value`` up to the end; the ``required`` arguments must be among them."""
    known = {argument.name: argument for argument in arguments}
    draft = Draft(cursor.text)
    while not cursor.done:
        cursor.expect_type(TokenType.COMMA, ",")
        place, token = cursor.place, cursor.peek
        if token is None or token.text.lower() not in known:
            problem = None if token is None else f"there is no argument {token.text}"
            cursor.fail(problem, expected=f"one of {', '.join(known)}", known=known)
        word = cursor.take().text
        cursor.expect_type(TokenType.FARROW, "=>")
        name = word.lower()
        draft.put(name, known[name].read(cursor, BY_NAME), place, word)
    for name in required:
        if name not in draft.values:
            cursor.fail(f"{name} is missing", expected=f", {name} => ...")
    return draft


def read_relation(cursor: Cursor, subquery: Subquery, what: str) -> tuple[str | Query, str]:
    """Read a relation and its alias: a name, ``TABLE name`` or a query in parentheses."""
    cursor.accept("TABLE")
    if cursor.opens():
        query = subquery(cursor.enclosed())
        return query, read_alias(cursor) or "subquery"
    table = read_table(cursor, what)
    return table, read_alias(cursor) or table.split(".")[-1]


def read_table(cursor: Cursor, what: str) -> str:
    """Read the name of a table, with its catalog and schema if they are given."""
    parts = [cursor.name(what)]
    while cursor.accept_type(TokenType.DOT):
        parts.append(cursor.name(what))
    return ".".join(parts)


def read_alias(cursor: Cursor, following: tuple[str, ...] = ()) -> str | None:
    """Read an alias, if there is one; without AS it is none of the ``following`` words."""
    if cursor.accept("AS"):
        return cursor.name("a name")
    token = cursor.peek
    plain = token is not None and token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    ends = bool(following) and cursor.next_is(*following)
    if token is None or not plain or not is_name(token) or ends:
        return None
    return cursor.name("a name")


def length(cursor: Cursor, form: Form) -> object:
    """Read a length along ``on``."""
    return read_length(cursor)


def lengths(cursor: Cursor, form: Form) -> object:
    """Read a length or several: with commas between them, by name in parentheses."""
    if not form.by_name:
        return _lengths(cursor)
    if not cursor.opens():
        return read_length(cursor)
    inner = cursor.enclosed()
    values = _lengths(inner)
    inner.finish(", or )")
    return values


def _lengths(cursor: Cursor) -> object:
    values = [read_length(cursor)]
    while cursor.accept_type(TokenType.COMMA):
        values.append(read_length(cursor))
    return values[0] if len(values) == 1 else values


def rows(cursor: Cursor, form: Form) -> object:
    """Read a number of rows, ``10`` or ``10 ROWS``."""
    measure = read_measure(cursor)
    return measure.length if measure.number is None else measure.number


def row_count(cursor: Cursor, form: Form) -> object:
    """Read a whole number, after a word with ROWS."""
    if form.by_name:
        return read_count(cursor, "a whole number")
    count = read_count(cursor, "a number of rows")
    cursor.expect("ROW" if cursor.next_is("ROW") else "ROWS")
    return count


def column(cursor: Cursor, form: Form) -> object:
    """Read a column."""
    return cursor.name("a column")


def columns(cursor: Cursor, form: Form) -> object:
    """Read a column or several: with commas between them, by name in parentheses."""
    if not form.by_name or cursor.opens():
        return cursor.names("a column, or several")
    return (cursor.name("a column, or several in parentheses"),)


def keys(cursor: Cursor, form: Form) -> object:
    """Read the columns of a partition; after a word NONE is an empty list of them."""
    return () if not form.by_name and cursor.accept("NONE") else columns(cursor, form)


def matching(cursor: Cursor, form: Form) -> object:
    """Read which columns match the keys: ``(own = other)``, ``(other)``, or none at all."""
    if not cursor.opens():
        if form.by_name:
            return columns(cursor, form)
        if cursor.accept("NONE"):
            return ()
        cursor.fail(expected="(own = other, ...) or NONE")
    inner = cursor.enclosed()
    pairs: dict[str, str] = {}
    names: list[str] = []
    while not inner.done:
        own = inner.name("a column")
        if inner.accept_type(TokenType.EQ):
            pairs[own] = inner.name("a column of the other rows")
        else:
            names.append(own)
        if not inner.done:
            inner.expect_type(TokenType.COMMA, ",")
    if pairs and names:
        inner.fail("some columns are paired and others are not", expected="own = other for each")
    return pairs or tuple(names)


def one_of(*choices: str) -> Reader:
    """Return a reader of one of some words, as it is or as a text."""

    def read(cursor: Cursor, form: Form) -> object:
        token = cursor.peek
        if token is None or token.text.lower() not in choices:
            cursor.fail_choice([choice.upper() for choice in choices])
        return cursor.take().text.lower()

    return read


def condition(cursor: Cursor, form: Form) -> object:
    """Read a condition in Spark's SQL."""
    return read_expression(cursor.until(form.ends), "a condition such as kind = 'update'")


def flag(cursor: Cursor, form: Form) -> object:
    """Read TRUE or FALSE by name; a word alone is true."""
    return not form.by_name or cursor.choice("TRUE", "FALSE") == "TRUE"


def constant(cursor: Cursor, form: Form) -> object:
    """Read a constant or an array of constants."""
    value = read_constant(cursor, "a constant such as '2026-01-01'")
    return list(value) if isinstance(value, tuple) else value


def text(cursor: Cursor, form: Form) -> object:
    """Read a text."""
    return read_text(cursor, "a text such as 'mt_'")


def size(cursor: Cursor, form: Form) -> object:
    """Read a number of bytes: ``'100 MB'``, ``100 MB`` or a number."""
    if cursor.next_is_text():
        return cursor.take().text
    number = read_count(cursor, "a size such as '100 MB'")
    unit = cursor.peek
    return f"{number} {cursor.take().text}" if unit is not None and is_word(unit) else number


def disorder(cursor: Cursor, form: Form) -> object:
    """Read how disordered a stream is."""
    return read_disorder(cursor, form.ends)


#: The arguments that describe a relation: what ``mt.stream`` takes.
ROLES = (
    Argument("on", column, ("WATTR", "RATTR")),
    Argument("by", keys, ("PATTR",)),
    Argument("disorder", disorder, ("DISORDER",)),
)
PREFIX = Argument("prefix", text, ("PREFIX",))
FORGET = Argument("forget", length, ("FORGET AFTER", "FORGET"))


def written_mention(mention: Mention, arguments: Sequence[Argument], *, by_name: bool) -> str:
    """Return how a clause writes an argument that an error mentions.

    >>> cut = Argument("cut", flag, ("CUT",))
    >>> written_mention(Mention("cut", True), [cut], by_name=False)
    'CUT'
    >>> written_mention(Mention("prefix", "mt_"), [PREFIX], by_name=True)
    "prefix => 'mt_'"
    """
    known = next((argument for argument in arguments if argument.name == mention.argument), None)
    if known is None:
        return str(mention)
    value = mention.value
    quoted = known.read is text or by_name
    shown = _shown(value, quoted=quoted)
    word = known.words[0] if known.words else known.inside
    if by_name or not word:
        return known.name if value is None or value is ... else f"{known.name} => {shown}"
    return word if value is None or value is ... or value is True else f"{word} {shown}"


def _shown(value: object, *, quoted: bool) -> str:
    if isinstance(value, Mapping):
        return f"({', '.join(f'{own} = {other}' for own, other in value.items())})"
    if isinstance(value, str):
        return f"'{value}'" if quoted else value.upper()
    return str(value)
