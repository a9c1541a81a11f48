"""Checkpoints of an older commit are read, and their queries go on as if nothing had happened.

The archives beside this file were made by ``make_checkpoints.py`` with the code before modules were
moved and renamed. Whatever a checkpoint holds must not depend on where code lives.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from muntin.testing import assert_same_rows
from tests.checkpoints.archives import archive, unpack
from tests.checkpoints.queries import QUERIES, Row

#: Queries whose state was a pickle at that time; reading one would run what is in it.
PICKLED = ("approx_sum",)


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in PICKLED])
def test_a_query_goes_on(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """First run (stored), then second run: together what a batch of all rows gives.

    rows       |--- before ---|--- after ---| end
    reported   stored rows    rows of this run
    """
    query = QUERIES[name]
    unpack(archive(name), tmp_path)
    played = query.run(spark, tmp_path, go_on=True)
    before, after = query.rows(query.reported_before), query.rows(query.reported_after)
    assert_same_rows([row.asDict(recursive=True) for row in played.results], after)
    assert [row.reason for row in played.refused] == ["late"] * query.late()[1]

    def exact(rows: list[Row]) -> list[Row]:
        return [{n: value for n, value in row.items() if n not in query.estimates} for row in rows]

    assert_same_rows(exact(query.batch(spark)), exact([*before, *after]))


@pytest.mark.parametrize("name", PICKLED)
def test_a_pickle_of_an_older_version_is_refused_in_words(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    unpack(archive(name), tmp_path)
    with pytest.raises(StreamingQueryException, match=r"synopsis as a pickle.* is not read"):
        QUERIES[name].run(spark, tmp_path, go_on=True)
