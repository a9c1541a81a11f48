"""Tables of PostgreSQL: Spark reads them through JDBC, and a connection does what Spark cannot."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from muntin.errors import ArgumentError, RequirementError
from muntin.spark.connectors.signature import BoundCall, Parameter, Signature
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest
from muntin.specs.secrets import without, without_secrets_in

_DRIVER = "org.postgresql.Driver"
#: How a database is named; the default user and password are those of the environment, as in psql.
PLACE = (
    Parameter("url", str, required=True),
    Parameter("user", str),
    Parameter("password", str, secret=True),
)
POSTGRES = Signature(
    "postgres",
    (Parameter("table", str, required=True), *PLACE),
    ("fetchsize", "partitionColumn", "lowerBound", "upperBound", "numPartitions"),
)


def open_postgres(request: SourceRequest) -> OpenedSource:
    """Read a stored table as it is now."""
    request.batch_only()
    database, table = Database.of(request.bound), request.bound.text("table")
    reader = request.spark.read.format("jdbc").options(**database.options(table))
    try:
        return OpenedSource(reader.options(**request.bound.spark_options()).load())
    except (PySparkException, Py4JJavaError) as error:
        known = (database.password,) if database.password else ()
        expected = without(f"{database.url} says: {first_line(error)}", known)
        raise ArgumentError("table", table, expected) from error


@dataclass(frozen=True)
class Database:
    """The address of a database, and the user; no password is shown, nor that in the address."""

    url: str = field(repr=False)
    user: str | None
    password: str | None = field(repr=False)

    @classmethod
    def of(cls, bound: BoundCall) -> Database:
        """Return the database that a call names."""
        url = bound.text("url").removeprefix("jdbc:")
        if not url.startswith("postgresql://"):
            expected = "it is an address such as 'postgresql://localhost:5432/mydb'"
            raise ArgumentError("url", without_secrets_in(bound.text("url")), expected)
        user = bound.maybe("user") or os.environ.get("PGUSER")
        return cls(f"jdbc:{url}", user, bound.maybe("password") or os.environ.get("PGPASSWORD"))

    def options(self, table: str) -> dict[str, str]:
        """Return the options of Spark's reader and writer of a table."""
        return {"url": self.url, "dbtable": quoted(table), "driver": _DRIVER, **self._user()}

    def _user(self) -> dict[str, str]:
        options = {"user": self.user, "password": self.password}
        return {name: value for name, value in options.items() if value is not None}

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Run statements that take effect together or not at all."""
        psycopg = driver()
        with psycopg.connect(self.url.removeprefix("jdbc:"), **self._user()) as connection:
            yield Transaction(connection)


@dataclass(frozen=True, eq=False)
class Transaction:
    """An open transaction."""

    connection: Any

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement with values for its ``%s``; return how many rows it changed."""
        return int(self.connection.execute(statement, values or None).rowcount)


def driver() -> Any:
    """Return Python's driver of PostgreSQL, for transactions, which Spark does not have."""
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise RequirementError(
            'writing to PostgreSQL needs the package psycopg; run: pip install "muntin[postgres]"'
        ) from error


def quoted(table: str) -> str:
    """Return a table's name, with or without its schema, as an identifier and nothing else.

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
    """Return a name as PostgreSQL takes it, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def first_line(error: Exception) -> str:
    """Return the first line of an error of Java or Spark, without the stack."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    return text.strip().split("\n")[0]
