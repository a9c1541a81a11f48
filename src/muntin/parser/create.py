"""``CREATE STREAM | TABLE | QUERY | TRIGGER | SUMMARY``.

CREATE STREAM name FROM source(...) [(column type, ...)] ON column [BY column, ...]
              [DISORDER ...] [HEARTBEAT [EVERY length] [BEHIND length]]
              [SCHEDULE length [ORIGIN constant]]
              [KEEP length] [GRAIN length] [RETAIN length] [CARRY (column, ...)]
CREATE STREAM name (input AS source(...) [(column type, ...)] [ON column] ..., ...)
              [ON column] [BY column, ...] ... [KEEP length] [GRAIN length] [RETAIN length]
CREATE TABLE name FROM source(...) [(column type, ...)]
CREATE QUERY name [START ...] [UNTIL ...] [OWNER ...] [TAGS ...] [EVERY ...] [EMIT ...]
             [DESCRIPTION ...] AS query [WITH QOS (graph, ...)] [INTO sink(...)]
             [LATE INTO sink(...)]
CREATE TRIGGER name ON query DO action(...)
CREATE SUMMARY name ON stream(column) WITH GRANULARITY length AND COLLAPSE(rate, depth)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from muntin.errors import ArgumentError
from muntin.parser.cursor import Cursor
from muntin.parser.dialect import parse_tree, written
from muntin.parser.disorder_clause import read_disorder
from muntin.parser.engine_clause import (
    STREAM_WORDS,
    engine_stream,
    read_engine_query,
    read_engine_stream,
)
from muntin.parser.errors import Position, SqlError, argument_refused
from muntin.parser.expressions import read_length
from muntin.parser.frame_clause import read_schedule
from muntin.parser.inline_sources import read_call
from muntin.parser.lexer import is_word, name_token
from muntin.parser.preference_clause import read_create_summary
from muntin.parser.qos_clause import begins_qos, read_qos
from muntin.parser.query import check_continuous, read_query
from muntin.parser.statements import (
    ConnectorCall,
    CreateInputs,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Statement,
)
from muntin.specs.heartbeat import Heartbeat

STREAM_CLAUSES = ("ON", "BY", "DISORDER", "HEARTBEAT", "SCHEDULE", *STREAM_WORDS)
#: These are for all inputs of a stream together.
_TOGETHER = ("KEEP", "GRAIN", "RETAIN")
_INPUT_WORDS = tuple(word for word in STREAM_CLAUSES if word not in _TOGETHER)
_INPUT = "the first input, such as sales AS csv('sales') (ts TIMESTAMP, store STRING) ON ts"
_SOURCE = "a source such as csv('traffic.csv', header => true)"


def read_create(cursor: Cursor, hyphenated: frozenset[str]) -> Statement:
    """Read what follows the word CREATE."""
    match cursor.choice("STREAM", "TABLE", "QUERY", "TRIGGER", "SUMMARY"):
        case "SUMMARY":
            return read_create_summary(cursor)
        case "STREAM":
            return _stream(cursor)
        case "TABLE":
            return _table(cursor)
        case "QUERY":
            return _query(cursor, hyphenated)
        case _:
            return _trigger(cursor)


def _stream(cursor: Cursor) -> CreateStream | CreateInputs:
    place = cursor.place
    after = cursor.second
    if after is not None and after.token_type is TokenType.L_PAREN:
        return _inputs(cursor)
    name, source, schema = _sourced(cursor)
    given, places = _stream_words(cursor, STREAM_CLAUSES)
    return _created(cursor, place, (name, source, schema), given, places)


def _stream_words(
    cursor: Cursor, words: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Position]]:
    """Read what words say of a stream, in any order, and where."""
    given: dict[str, Any] = {}
    places: dict[str, Position] = {}
    while not cursor.done:
        at = cursor.place
        word = cursor.choice(*words)
        if word in places:
            raise SqlError(f"{word} is given twice", cursor.text, at)
        places[word] = at
        given[word] = _stream_value(cursor, word)
    return given, places


def _inputs(cursor: Cursor) -> CreateInputs:
    """Read a stream with several inputs; what follows them is for each that says nothing else."""
    place = cursor.place
    name = cursor.name("a name")
    inner = cursor.enclosed()
    shared, places = _stream_words(cursor, STREAM_CLAUSES)
    cuts = [at for at in range(inner.at, len(inner.tokens)) if _begins_input(inner, at)]
    if not cuts or cuts[0] != inner.at:
        inner.fail(expected=_INPUT)
    inputs = []
    for first, following in zip(cuts, [*cuts[1:], None], strict=True):
        # Without the comma before the next one.
        stop = len(inner.tokens) if following is None else following - 1
        end = inner.end if following is None else inner.tokens[stop].start
        own = Cursor(cursor.text, inner.tokens[first:stop], end)
        inputs.append(_input(own, shared, places))
    of_all = {word: value for word, value in shared.items() if word not in _INPUT_WORDS}
    return CreateInputs(name, tuple(inputs), place, engine_stream(of_all, places))


def _begins_input(inner: Cursor, at: int) -> bool:
    """Return whether ``name AS`` stands at the beginning or after a comma."""
    tokens = inner.tokens
    named = at + 1 < len(tokens) and is_word(tokens[at + 1], "AS")
    return named and (at == inner.at or tokens[at - 1].token_type is TokenType.COMMA)


def _input(
    cursor: Cursor, shared: Mapping[str, Any], of_all: Mapping[str, Position]
) -> CreateStream:
    place = cursor.place
    name = cursor.name("a name")
    cursor.expect("AS")
    source = read_call(cursor, _SOURCE, files=True)
    schema = _schema(cursor) if cursor.opens() else None
    given, places = _stream_words(cursor, _INPUT_WORDS)
    beside = {word: value for word, value in shared.items() if word in _INPUT_WORDS}
    places = {**{word: of_all[word] for word in beside}, **places}
    return _created(cursor, place, (name, source, schema), {**beside, **given}, places)


def _created(
    cursor: Cursor,
    place: Position,
    sourced: tuple[str, ConnectorCall, str | None],
    given: dict[str, Any],
    places: dict[str, Position],
) -> CreateStream:
    if "ON" not in given:
        cursor.fail(expected="ON and the column that progresses, such as ON ts")
    return CreateStream(
        *sourced,
        given["ON"],
        given.get("BY", ()),
        given.get("DISORDER"),
        given.get("SCHEDULE"),
        place,
        given.get("HEARTBEAT"),
        engine_stream(given, places),
    )


def _stream_value(cursor: Cursor, word: str) -> object:
    """Read what follows a word of a stream."""
    match word:
        case "ON":
            return cursor.name("the column that progresses")
        case "BY":
            return cursor.names("a key column")
        case "DISORDER":
            return read_disorder(cursor, lambda c: c.next_is(*STREAM_CLAUSES))
        case "HEARTBEAT":
            return _heartbeat(cursor)
        case "SCHEDULE":
            return read_schedule(cursor)
        case _:
            return read_engine_stream(cursor, word)


def _heartbeat(cursor: Cursor) -> Heartbeat:
    """Read how often the clock makes a row, and how far behind the clock the stream may be."""
    start, given = cursor.offset, dict[str, str]()
    while cursor.next_is("EVERY", "BEHIND"):
        at, word = cursor.offset, cursor.take().text
        if word.lower() in given:
            raise SqlError(f"{word} is given twice", cursor.text, at)
        given[word.lower()] = read_length(cursor)
    try:
        return Heartbeat(**given)
    except ArgumentError as error:
        raise argument_refused(error, cursor.text, start) from None


def _table(cursor: Cursor) -> CreateTable:
    place = cursor.place
    name, source, schema = _sourced(cursor)
    cursor.finish("the end of the statement")
    return CreateTable(name, source, schema, place)


def _sourced(cursor: Cursor) -> tuple[str, ConnectorCall, str | None]:
    name = cursor.name("a name")
    cursor.expect("FROM")
    source = read_call(cursor, _SOURCE, files=True)
    return name, source, _schema(cursor) if cursor.opens() else None


def _schema(cursor: Cursor) -> str:
    """Read columns and types as those of a table, and write them out again."""
    opening = cursor.tokens[cursor.at]
    first = cursor.at
    cursor.enclosed()
    words = ((TokenType.CREATE, "CREATE"), (TokenType.TABLE, "TABLE"))
    before = [Token(type_, text, 0, 0, 0, 0) for type_, text in words]
    tokens = [*before, name_token("t", opening), *cursor.tokens[first : cursor.at]]
    tree = parse_tree(cursor.text, tokens)
    columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    typed = [c for c in columns if isinstance(c, exp.ColumnDef) and c.args.get("kind") is not None]
    if not columns or len(typed) != len(columns):
        problem = "these are not columns with types"
        raise SqlError(problem, cursor.text, opening.start, expected="(ts TIMESTAMP, speed DOUBLE)")
    return ", ".join(map(written, typed))


def _query(cursor: Cursor, hyphenated: frozenset[str]) -> CreateQuery:
    place = cursor.place
    name = cursor.name("a name")
    engine = read_engine_query(cursor)
    cursor.expect("AS")
    tokens, depth, split = cursor.tokens, 0, len(cursor.tokens)
    for at in range(cursor.at, len(tokens)):
        depth += tokens[at].token_type is TokenType.L_PAREN
        depth -= tokens[at].token_type is TokenType.R_PAREN
        if not depth and (begins_qos(tokens, at) or _goes_into(tokens, at)):
            split = at
            break
    end = tokens[split].start if split < len(tokens) else cursor.end
    query = read_query(Cursor(cursor.text, tokens[cursor.at : split], end), hyphenated)
    check_continuous(query)
    cursor.at = split
    if not cursor.done and begins_qos(tokens, split):
        qos, named = read_qos(cursor)
        engine = replace(engine, qos=qos, places={**engine.places, "QOS": named})
    sinks: dict[str, ConnectorCall] = {}
    while not cursor.done:
        offset = cursor.offset
        word = cursor.choice("INTO", "LATE")
        if word == "LATE":
            cursor.expect("INTO")
        if word in sinks:
            raise SqlError(f"{word} is given twice", cursor.text, offset)
        sinks[word] = read_call(cursor, "a sink such as stdout('json')")
    return CreateQuery(name, query, sinks.get("INTO"), sinks.get("LATE"), place, engine)


def _goes_into(tokens: Sequence[Token], at: int) -> bool:
    """Return whether the query ends here, with INTO or LATE INTO."""
    late = is_word(tokens[at], "LATE") and at + 1 < len(tokens) and is_word(tokens[at + 1], "INTO")
    return late or is_word(tokens[at], "INTO")


def _trigger(cursor: Cursor) -> CreateTrigger:
    place = cursor.place
    name = cursor.name("a name")
    cursor.expect("ON")
    query = cursor.name("the name of a query")
    cursor.expect("DO")
    action = read_call(cursor, "an action such as webhook('http://...')")
    cursor.finish("the end of the statement")
    return CreateTrigger(name, query, action, place)
