"""``safe=True``: checks statements before anything of them is opened, planned or written.

A text of somebody who is not trusted may compute what it likes from the relations that it was
given, and read and write files below one folder if there is one. Everything else is refused: what
would run a program, reach the network, name a secret, read a table of Spark's by itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlglot import exp

from muntin.errors import ArgumentError
from muntin.parser.dialect import SQL, offset_of, parse_tree
from muntin.parser.engine_statements import EngineQueryClause
from muntin.parser.errors import Position, SqlError
from muntin.parser.statements import (
    ConnectorCall,
    Constant,
    CreateStream,
    CreateTable,
    KindOfFrame,
    Query,
    Statement,
)
from muntin.planner.aggregates import known_aggregates
from muntin.session.safe.query_trees import problems
from muntin.session.safe.root_folder import check_root, outside

#: Sources, sinks and actions that need nothing but the process, and those that need a file.
_HERE = ("stdin", "simulate", "stdout", "console", "memory", "insert")
_FILES = ("csv", "json", "parquet", "file")
#: Compressions that Spark knows by a name; any other text would be the name of a class.
_COMPRESSIONS = (
    *("none", "uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "lz4_raw", "zstd"),
    *("bzip2", "deflate"),
)
_RELATION = "a relation is a name that was given or created, not a path or a table of a catalog"
#: A text that Spark may read as SQL and that calls nothing.
_NO_CALL = re.compile(r"[^(`$\\]*")
_COMMENT = re.compile(r"--|/\*|[`\\$]")


@dataclass(frozen=True)
class SafeMode:
    """What a text may do.

    Args:
        root: The folder below which files are read and written; None if there are none.
        functions: Names of functions that the program gives to the text.
    """

    root: Path | None = None
    functions: frozenset[str] = frozenset()

    @classmethod
    def of(cls, safe: bool, root: object = None, functions: Iterable[str] = ()) -> SafeMode | None:
        """Return the mode that arguments ask for; None if it is not safe mode."""
        if safe is not True and safe is not False:
            raise ArgumentError("safe", safe, "it is True or False")
        if not safe:
            if root is not None:
                raise ArgumentError("root", root, "it is for safe=True; else any file can be read")
            return None
        place = None if root is None else check_root(root)
        return cls(place, frozenset(name.lower() for name in functions))

    def check(self, text: str, statements: Sequence[Statement]) -> None:
        """Raise the first thing in statements that is not allowed."""
        for refused in self.refused(text, statements):
            raise refused

    def refused(self, text: str, statements: Sequence[Statement]) -> Iterator[SqlError]:
        """Yield what in statements is not allowed."""
        check = _Check(self, text, frozenset((*known_aggregates(), *self.functions)))
        for statement in statements:
            yield from check.value(statement, statement.place)

    def check_call(
        self, name: str, arguments: Sequence[Constant], options: Mapping[str, Constant]
    ) -> None:
        """Raise if a source, a sink or an action is not allowed."""
        for argument, value, reason in self.problems_of_call(name, arguments, options):
            raise ArgumentError(argument, value, reason)

    def problems_of_call(
        self, name: str, arguments: Sequence[Constant], options: Mapping[str, Constant]
    ) -> Iterator[tuple[str, object, str]]:
        """Yield the arguments of a call that are not allowed, each with the reason."""
        for value in _plain([*arguments, *options.values()]):
            if not isinstance(value, str | int | float | bool | None):
                yield "secret", str(value), "a text has no secrets in safe mode"
                return
        if name.lower() in _HERE:
            return
        if name.lower() not in _FILES:
            known = ", ".join((*_FILES, *_HERE))
            yield "call", name, f"it is not allowed in safe mode; there are {known}"
            return
        if self.root is None:
            yield "path", None, "there are no files in safe mode without a root (--root DIR)"
            return
        given = {key.replace("_", "").lower(): value for key, value in options.items()}
        path = arguments[0] if arguments else given.get("path")
        why = "it is a text" if not isinstance(path, str) else outside(path, self.root)
        if why is not None:
            yield "path", path, why
        compression = given.get("compression")
        if compression is not None and str(compression).lower() not in _COMPRESSIONS:
            yield "compression", compression, f"it is one of {', '.join(_COMPRESSIONS)}"


@dataclass(frozen=True)
class _Check:
    """A walk through everything that statements hold; what is not known is refused."""

    mode: SafeMode
    text: str
    functions: frozenset[str]

    def value(self, value: object, place: Position) -> Iterator[SqlError]:
        place = getattr(value, "place", place)
        match value:
            case None | bool() | int() | float() | Decimal() | date() | Position():
                return
            case EngineQueryClause():
                return  # values of the column that progresses, and words for people
            case str():
                yield from self._words(value, place)
            case exp.Expr():
                yield from self._tree(value, place)
            case tuple() | list():
                for part in value:
                    yield from self.value(part, place)
            case Mapping():
                for part in value.values():
                    yield from self.value(part, place)
            case ConnectorCall():
                yield from self._call(value)
            case _ if _is_ours(value):
                yield from self._parts(value, place)
            case _:
                yield self._refusal(f"{type(value).__name__} is not known in safe mode", place)

    def _parts(self, value: Any, place: Position) -> Iterator[SqlError]:
        """Check the parts of a statement or a clause; texts of a query are in its tree."""
        skipped = (
            {"text", "hyphenated", "place", "places"}
            if isinstance(value, Query)
            else {"place", "places"}
        )
        if isinstance(value, CreateStream | CreateTable):
            skipped.add("schema")
            yield from self._schema(value.schema, place)
        if isinstance(value, KindOfFrame) and value.word == "pattern":
            skipped.add("unnamed")  # the pattern, written again from its parts
        relation = getattr(value, "table", None)
        if isinstance(relation, str) and "." in relation:
            yield self._refusal(f"{relation[:80]} is not allowed in safe mode: {_RELATION}", place)
        for part in dataclasses.fields(value):
            if part.name not in skipped:
                yield from self.value(getattr(value, part.name), place)

    def _tree(self, tree: exp.Expr, place: Position) -> Iterator[SqlError]:
        for problem, node in problems(tree, self.functions):
            offset = offset_of(node)
            yield self._refusal(problem, place if offset is None else offset)

    def _words(self, words: str, place: Position) -> Iterator[SqlError]:
        """Check a text that may be read as an expression: a condition in quotes, for example."""
        if _NO_CALL.fullmatch(words):
            return
        shown = words if len(words) < 40 else f"{words[:40]}..."
        if _COMMENT.search(words):
            yield self._refusal(f"{shown!r} is not read in safe mode", place)
            return
        try:
            tree = parse_tree(words, [*SQL().tokenize(f"SELECT 1, {words}")])
        except (SqlError, ValueError):
            yield self._refusal(f"{shown!r} is not read in safe mode", place)
            return
        yield from (self._refusal(problem, place) for problem, _ in problems(tree, self.functions))

    def _schema(self, schema: str | None, place: Position) -> Iterator[SqlError]:
        if schema is None:
            return
        created = f"CREATE TABLE t ({schema})"
        tree = parse_tree(created, [*SQL().tokenize(created)])
        for column in tree.this.expressions:
            for problem, _ in problems(column, columns=True):
                yield self._refusal(problem, place)

    def _call(self, call: ConnectorCall) -> Iterator[SqlError]:
        name, arguments, options = call.name, call.arguments, call.options
        for argument, value, reason in self.mode.problems_of_call(name, arguments, options):
            given = "" if value is None or argument == "secret" else f" {str(value)[:80]}"
            yield self._refusal(f"{argument}{given}: {reason}", call.place)

    def _refusal(self, problem: str, place: Position | int) -> SqlError:
        return SqlError(problem, self.text, place)


def _is_ours(value: object) -> bool:
    ours = type(value).__module__.startswith(("muntin.parser.", "muntin.specs."))
    return ours and dataclasses.is_dataclass(value) and not isinstance(value, type)


def _plain(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _plain(value)
        else:
            yield value
