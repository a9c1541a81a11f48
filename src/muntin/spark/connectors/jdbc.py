"""A PostgreSQL that Spark reads and writes, and a connection for what Spark cannot do."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from muntin.errors import ArgumentError, RequirementError
from muntin.spark.connectors.signature import BoundCall, Parameter

_DRIVER = "org.postgresql.Driver"
#: How a database is named; who asks is taken from the environment, as psql does, unless it is said.
PLACE = (
    Parameter("url", str, required=True),
    Parameter("user", str),
    Parameter("password", str, secret=True),
)


@dataclass(frozen=True)
class Database:
    """Where a database is, and who asks; the password is not shown."""

    url: str
    user: str | None
    password: str | None = field(repr=False)

    @classmethod
    def of(cls, bound: BoundCall) -> Database:
        """The database that a call names."""
        url = bound.text("url").removeprefix("jdbc:")
        if not url.startswith("postgresql://"):
            expected = "it is such as 'postgresql://localhost:5432/mydb'"
            raise ArgumentError("url", bound.text("url"), expected)
        user = bound.maybe("user") or os.environ.get("PGUSER")
        return cls(f"jdbc:{url}", user, bound.maybe("password") or os.environ.get("PGPASSWORD"))

    def options(self, table: str) -> dict[str, str]:
        """For Spark's reader and writer of a table."""
        return {"url": self.url, "dbtable": quoted(table), "driver": _DRIVER, **self._who()}

    def _who(self) -> dict[str, str]:
        said = {"user": self.user, "password": self.password}
        return {name: value for name, value in said.items() if value is not None}

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Statements that happen together or not at all."""
        psycopg = driver()
        with psycopg.connect(self.url.removeprefix("jdbc:"), **self._who()) as connection:
            yield Transaction(connection)


@dataclass(frozen=True, eq=False)
class Transaction:
    """An open transaction."""

    connection: Any

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement with values at its ``%s``; how many rows it changed."""
        return int(self.connection.execute(statement, values or None).rowcount)


def driver() -> Any:
    """Python's driver of PostgreSQL: Spark reads and writes tables, and knows no transactions."""
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise RequirementError(
            'writing to PostgreSQL needs the package psycopg; run: pip install "muntin[postgres]"'
        ) from error


def quoted(table: str) -> str:
    """A table's name, with its schema or without, as an identifier and nothing else.

    >>> quoted('public.loss')
    '"public"."loss"'
    >>> quoted('x"; DROP TABLE y')
    '"x""; DROP TABLE y"'
    """
    parts = table.split(".")
    if len(parts) > 2 or not all(parts):
        raise ArgumentError("table", table, "it is a table, or a schema, a dot and a table")
    return ".".join(map(identifier, parts))


def identifier(name: str) -> str:
    """A name as PostgreSQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def first_line(error: Exception) -> str:
    """What Java or Spark complains of, without the stack."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    return text.strip().split("\n")[0]
