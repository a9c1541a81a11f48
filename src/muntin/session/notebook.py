"""The notebook magic: a cell that begins with ``%%muntin`` is SQL, and its answer is shown.

Names are the variables of the notebook, and what earlier cells have created. Nothing here imports
IPython: whoever loads an extension has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muntin.session.catalog import Catalog
from muntin.session.session import SqlSession
from muntin.session.sources import Sources
from muntin.session.sql import session_of
from muntin.spark.api.stream import Stream
from muntin.spark.columns import DataFrame
from muntin.spark.scan.file_source import FileSource


class NotebookShell(Protocol):
    """The part of IPython's shell that the magic needs."""

    user_ns: dict[str, object]

    def register_magic_function(
        self, func: Callable[..., object], magic_kind: str, magic_name: str
    ) -> None:
        """Register a magic."""


@dataclass
class Magic:
    """Runs the cells of one notebook; ``catalog`` has what they have created."""

    shell: NotebookShell
    catalog: Catalog = field(default_factory=Catalog)

    def __call__(self, line: str, cell: str) -> DataFrame:
        """Run a cell that begins with ``%%muntin [name]``: show the answer, keep it as ``name``."""
        tables = tables_of(self.shell.user_ns)
        session = SqlSession(session_of(tables), tables, catalog=self.catalog)
        Sources.serving(session, cell)
        answer = session.sql(cell)
        if line.strip():
            self.shell.user_ns[line.strip()] = answer
        if not answer.isStreaming:
            answer.show(truncate=False)
        return answer


def register(shell: object) -> None:
    """Register ``%%muntin`` in a notebook."""
    register_ = getattr(shell, "register_magic_function", None)
    if register_ is not None:
        register_(Magic(shell), magic_kind="cell", magic_name="muntin")  # type: ignore[arg-type]


def tables_of(names: Mapping[str, object]) -> dict[str, object]:
    """Return the variables that are DataFrames or streams."""
    return {
        name: value
        for name, value in names.items()
        if not name.startswith("_") and isinstance(value, Stream | DataFrame | FileSource)
    }
