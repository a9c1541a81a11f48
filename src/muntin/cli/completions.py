"""What the tab key can complete besides names: words of the language, calls, options and files."""

from __future__ import annotations

from collections.abc import Iterator
from glob import escape, glob
from itertools import chain
from pathlib import Path

from muntin.parser.bracket import WINDOW_ARGUMENTS
from muntin.parser.create import STREAM_CLAUSES
from muntin.parser.expressions import UNITS
from muntin.parser.fill_clause import FILL_ARGUMENTS
from muntin.parser.frame_clause import FRAME_ARGUMENTS, FRAME_WORDS
from muntin.parser.inline_sources import SOURCE_NAMES
from muntin.parser.lexer import AFTER_RELATION
from muntin.parser.table_functions import JOIN_FUNCTIONS, WINDOW_FUNCTIONS, function_arguments

#: The words of statements, in the order in which they are offered.
_STATEMENTS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "WITH", "UNION ALL"),
    *("CREATE", "STREAM", "TABLE", "QUERY", "TRIGGER", "INTO", "LATE INTO", "DO", "EXPLAIN"),
    *("DROP", "IF EXISTS", "BY", "SLACK", "AHEAD", "ALTER", "PAUSE", "RESUME", "INVOKE"),
    *("DESCRIBE", "SHOW", "STREAMS", "TABLES", "QUERIES", "TRIGGERS", "FUNCTIONS", "SET", "ZONE"),
    *("FORMAT", "ROWS", "AS", "AND", "OR", "NOT", "NULL", "TRUE", "FALSE", "BETWEEN", "IN", "LIKE"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "FILTER", "OVER", "PARTITION BY"),
    *("UNBOUNDED STATE", "PER WINDOW", "CAST", "INTERVAL", "TIMESTAMP", "DATE"),
)
#: The shell's own commands that take a dot.
_DOTTED = (".read", ".output", ".help", ".tables", ".exit", ".quit")


def words() -> list[str]:
    """Return the words of statements and clauses, the kinds of frames, and the units of lengths."""
    clauses = (
        word
        for argument in (*WINDOW_ARGUMENTS, *FRAME_ARGUMENTS, *FILL_ARGUMENTS)
        for word in argument.words
    )
    every = (
        *_STATEMENTS,
        *("TUMBLING", "LATCH", "LANDMARK", "SESSION", "FRAME", "STORED FRAMES", "FILL"),
        *FRAME_WORDS,
        *clauses,
        *STREAM_CLAUSES,
        *AFTER_RELATION,
        *UNITS,
        *_DOTTED,
    )
    return list(dict.fromkeys(every))


def call_names() -> Iterator[str]:
    """Yield what can be called: functions, sources, sinks, and the options of both."""
    from muntin.planner.aggregates import known_aggregates
    from muntin.session.safe.spark_functions import ALLOWED
    from muntin.spark.connectors.sinks.registry import SINKS
    from muntin.spark.connectors.sources.registry import SOURCES

    yield from known_aggregates()
    yield from (name for name in ALLOWED if name.isidentifier())
    yield from chain(WINDOW_FUNCTIONS, JOIN_FUNCTIONS, SOURCE_NAMES, SINKS)
    for function in (*WINDOW_FUNCTIONS, *JOIN_FUNCTIONS):
        yield from (argument.name for argument in function_arguments(function))
    signatures = [source.signature for source in SOURCES.values()]
    for signature in (*signatures, *(sink.signature for sink in SINKS.values())):
        yield from (parameter.name for parameter in signature.parameters)
        yield from signature.passed


def paths(beginning: str) -> list[str]:
    """Return the files and folders that begin so; folders end with a slash."""
    found = sorted(glob(f"{escape(beginning)}*"))  # noqa: PTH207
    return [f"{name}/" if Path(name).is_dir() else name for name in found]
