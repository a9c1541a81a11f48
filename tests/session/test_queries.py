"""Queries over small tables, each with its rows or its error in the fixture files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from tests.parser.cases import Case, cases_of
from tests.session.tables import tables

FOLDER = Path(__file__).with_name("fixtures")
CASES = [case for path in sorted(FOLDER.glob("*.sql")) for case in cases_of(path)]


def shown(df: DataFrame) -> str:
    """Return the names of columns, then the rows, sorted unless the query sorts them."""
    lines = [" | ".join(map(_cell, row)) for row in df.collect()]
    return "\n".join([" | ".join(df.columns), *lines])


def _cell(value: Any) -> str:
    return value.strftime("%H:%M:%S") if hasattr(value, "strftime") else str(value)


def answered(text: str, given: dict[str, Any]) -> str:
    try:
        made = mt.sql(text, **given)
    except mt.SqlError as error:
        return str(error)
    head, *rows = shown(made).split("\n")
    ordered = "ORDER BY" in text.upper()
    return "\n".join([head, *(rows if ordered else sorted(rows))])


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> dict[str, Any]:
    return tables(spark)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_query_answers(given: dict[str, Any], case: Case) -> None:
    assert answered(case.text, given) == case.expected


def test_there_are_cases() -> None:
    assert len(CASES) > 40
