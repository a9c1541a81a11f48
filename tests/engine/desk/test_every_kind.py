"""Many = each alone, through the whole engine but Spark: commands of all sorts at any moments.

Queries of every kind are registered, changed, paused, staged and dropped between micro-batches of
disordered rows, some of which run twice or after a restart. What the result log has of each
generation must be what the query answers alone (:mod:`tests.engine.desk.alone`), fed with the
micro-batches in which the commands say that it was there.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from pyspark.sql import SparkSession

from muntin.engine.plan_query import plan_query
from muntin.errors import EngineError, MuntinError
from tests.engine.desk.desk_cases import DISORDERS, DeskCase, desk_cases
from tests.engine.desk.kinds import KINDS, REFUSED, REFUSED_BY_KEY
from tests.engine.desk.random_desk import Streams, run_desk


@pytest.fixture(scope="module")
def streams(spark: SparkSession) -> Streams:
    return Streams(spark)


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_engine_cannot_run_is_refused_by_name(streams: Streams, text: str) -> None:
    network = streams.network("slack")
    with pytest.raises(MuntinError, match=REFUSED[text]):
        plan_query(text, {"s": (network.planning, network.axis)})


@pytest.mark.parametrize("text", REFUSED_BY_KEY)
def test_what_punctuation_of_keys_would_never_close_is_refused(streams: Streams, text: str) -> None:
    waiting = streams.network("per key, waiting")
    with pytest.raises(EngineError, match=REFUSED_BY_KEY[text]):
        plan_query(text, {"s": (waiting.planning, waiting.axis)})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_planned_for_workers(streams: Streams, kind: str) -> None:
    assert all(streams.planned("slack", text).program.inputs for text in KINDS[kind])


#: Each of them runs a whole engine.
QUICK = 40


@settings(max_examples=2000 if settings.get_current_profile_name() == "soak" else QUICK)
@given(desk_cases())
def test_many_queries_answer_as_each_alone(streams: Streams, case: DeskCase) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        run_desk(streams, case, folder)
    finally:
        shutil.rmtree(folder)


def test_every_disorder_is_drawn() -> None:
    assert set(DISORDERS) >= {"slack", "ordered", "rows", "marked", "per key", "consistent"}
