"""The notebook magics: a cell that begins with ``%%muntin``, or a line with ``%muntin``, is SQL.

Names are the variables of the notebook, and what earlier cells have created. Nothing here imports
IPython: whoever loads an extension has it.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any, Protocol

from muntin.errors import ArgumentError, in_notebook
from muntin.session.catalog import Catalog
from muntin.session.session import SqlSession
from muntin.session.sources import Sources
from muntin.session.sql import session_of
from muntin.spark.api.stream import Stream
from muntin.spark.columns import DataFrame
from muntin.spark.queries.stop import SPARK_ERROR, reason
from muntin.spark.scan.file_source import FileSource

#: How many rows of an answer are shown.
_ROWS = 20


class NotebookShell(Protocol):
    """The part of IPython's shell that the magics need."""

    user_ns: dict[str, object]
    display_formatter: Any

    def register_magic_function(
        self, func: Callable[..., object], magic_kind: str, magic_name: str
    ) -> None:
        """Register a magic."""

    def set_custom_exc(
        self, exc_tuple: tuple[type[BaseException], ...], handler: Callable[..., object]
    ) -> None:
        """Show some errors by a function."""


@dataclass
class MagicOptions:
    """What stands after ``%%muntin``."""

    name: str | None = None
    rows: int = _ROWS

    @classmethod
    def read(cls, words: list[str]) -> tuple[MagicOptions, list[str]]:
        """Return the options at the beginning of some words, and the other words.

        >>> MagicOptions.read(["--rows", "5", "--name", "slow", "SELECT"])
        (MagicOptions(name='slow', rows=5), ['SELECT'])
        """
        options, rest = cls(), words
        while rest and rest[0].startswith("--"):
            word, value, rest = rest[0], rest[1] if len(rest) > 1 else "", rest[2:]
            if word == "--rows" and value.isdigit() and int(value) > 0:
                options.rows = int(value)
            elif word == "--name" and value.isidentifier():
                options.name = value
            else:
                given = f"{word} {value}".strip()
                raise ArgumentError(
                    "%muntin", given, "its options are --rows 20 and --name variable"
                )
        return options, rest


@dataclass
class Magic:
    """Runs the SQL of one notebook; ``catalog`` has what its cells have created."""

    shell: NotebookShell
    catalog: Catalog = field(default_factory=Catalog)
    #: How many rows are shown of an answer, by the answer's id. An answer is kept as long.
    answers: dict[int, tuple[DataFrame, int]] = field(default_factory=dict)

    def cell(self, line: str, cell: str) -> DataFrame:
        """Run a cell of SQL: ``%%muntin [--rows 20] [--name variable] [variable]``.

        Names in the SQL are the DataFrames and streams of the notebook, and what earlier cells
        have created by CREATE. The answer is a DataFrame, shown once as a table of ``--rows``
        rows, and kept in the variable that is named. ``%muntin SELECT ...`` is the same in a line:
        ``slow = %muntin SELECT ...``.

        Example::

            %%muntin slow
            SELECT station, avg(speed) AS mph
            FROM readings [RANGE 5 MINUTES SLIDE 1 MINUTE WATTR ts]
            GROUP BY station
        """
        options, rest = MagicOptions.read(shlex.split(line))
        if len(rest) > 1 or (rest and not rest[0].isidentifier()):
            expected = "a variable for the answer may follow; the SQL begins on the next line"
            raise ArgumentError("%%muntin", " ".join(rest), expected)
        return self._run(cell, options, rest[0] if rest else options.name)

    def line(self, line: str) -> DataFrame:
        """Run a line of SQL: ``%muntin [--rows 20] [--name variable] SELECT ...``.

        ``%%muntin?`` explains the options.
        """
        words = line.split()
        options, rest = MagicOptions.read(words)
        text = line.split(None, len(words) - len(rest))[-1] if rest else ""
        return self._run(text, options, options.name)

    def _run(self, text: str, options: MagicOptions, name: str | None) -> DataFrame:
        tables = tables_of(self.shell.user_ns)
        session = SqlSession(session_of(tables), tables, catalog=self.catalog)
        Sources.serving(session, text)
        answer = session.sql(text)
        if name is not None:
            self.shell.user_ns[name] = answer
        if not answer.isStreaming:
            self.answers[id(answer)] = (answer, options.rows)
            # IPython takes the printer of the first class that has a repr: Spark's own subclass.
            plain = self.shell.display_formatter.formatters["text/plain"]
            plain.for_type(type(answer), self._print)
        return answer

    def _print(self, df: DataFrame, printer: Any, _cycle: bool) -> None:
        printer.text(self.shown(df))

    def shown(self, df: DataFrame) -> str:
        """Return a DataFrame as IPython shows it: an answer is a table, any other is as before."""
        if id(df) not in self.answers:
            return repr(df)
        answer, rows = self.answers.pop(id(df))
        with redirect_stdout(io.StringIO()) as text:
            answer.show(rows, truncate=False)
        return text.getvalue().rstrip()


def register(shell: object) -> None:
    """Register the magics in a notebook, and show its errors as sentences."""
    if not hasattr(shell, "register_magic_function"):
        return
    notebook: NotebookShell = shell  # type: ignore[assignment]
    magic = Magic(notebook)
    notebook.register_magic_function(magic.cell, magic_kind="cell", magic_name="muntin")
    notebook.register_magic_function(magic.line, magic_kind="line", magic_name="muntin")
    notebook.set_custom_exc((SPARK_ERROR,), _shown_error)


def _shown_error(shell: Any, kind: object, error: Any, trace: object, **_: object) -> None:
    """Show an error of Spark's as a sentence: that of Muntin in it, or its own."""
    own, message = reason(str(error))
    sentence = f"{own or type(error).__name__}: {message}"
    error._render_traceback_ = lambda: in_notebook(error, sentence)
    shell.showtraceback((kind, error, trace))


def tables_of(names: Mapping[str, object]) -> dict[str, object]:
    """Return the variables that are DataFrames or streams."""
    return {
        name: value
        for name, value in names.items()
        if not name.startswith("_") and isinstance(value, Stream | DataFrame | FileSource)
    }
