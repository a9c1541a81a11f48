"""Packages for a running session: each is fetched once, and an error tells what to do."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from muntin.errors import RequirementError
from muntin.spark.connectors.packages import packages_for
from muntin.spark.start.fetch_packages import FetchedPackages

POSTGRES = packages_for(["postgres"])


class Asked:
    """A fake session that records its statements, and may fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.statements: list[str] = []
        self.error = error

    def sql(self, statement: str) -> None:
        self.statements.append(statement)
        if self.error is not None:
            raise self.error


def fetching(session: Any, chosen: tuple[str, ...] = ()) -> FetchedPackages:
    return FetchedPackages(session, chosen)


def test_a_package_is_fetched_once() -> None:
    session = Asked()
    packages = fetching(session)
    assert packages.missing(["csv", "postgres"]) == [*POSTGRES]
    packages.fetch(POSTGRES[0])
    assert session.statements == [f"ADD JAR ivy://{POSTGRES[0]}"]
    assert packages.missing(["postgres"]) == []


def test_what_the_session_was_started_with_is_there() -> None:
    assert fetching(Asked(), ("org.postgresql:postgresql:42.7.9",)).missing(["postgres"]) == []


def test_what_cannot_be_fetched() -> None:
    packages = fetching(Asked(PySparkException("unresolved dependency: x\n\tat java")))
    with pytest.raises(RequirementError, match=r"unresolved dependency: x.*muntin sql --package"):
        packages.fetch(POSTGRES[0])
    assert packages.missing(["postgres"]) == [*POSTGRES]
