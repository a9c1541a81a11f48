"""Queries of an engine read its streams; a source in one is refused with what would work."""

from __future__ import annotations

import pytest

from muntin.engine.plan_query import check_no_sources
from muntin.errors import MuntinError
from muntin.parser.parse import parse_query


@pytest.mark.parametrize("source", ["'f.csv'", "csv('f.csv', sep => ';')"])
def test_a_source_in_a_query_is_refused(source: str) -> None:
    query = parse_query(f"SELECT count(*) FROM {source} [TUMBLING 5 MINUTES WATTR ts]")
    with pytest.raises(
        MuntinError, match=r"(?s)reads its streams.*CREATE STREAM name FROM"
    ) as error:
        check_no_sources(query)
    assert "line 1, column 22" in str(error.value)


def test_a_query_over_streams_is_not() -> None:
    check_no_sources(parse_query("SELECT count(*) FROM traffic [TUMBLING 5 MINUTES]"))
