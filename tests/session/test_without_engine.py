"""What only an engine does is refused with a sentence wherever there is none, and never ignored."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.parser.engine_clause import QUERY_WORDS, STREAM_WORDS
from muntin.session.check import Check
from muntin.session.pipeline import Pipeline

STREAM = "CREATE STREAM line FROM csv('{file}') (x INT) ON x {words};"
QUERY = "CREATE QUERY q {words} AS SELECT count(*) AS n FROM line [TUMBLING 5]"
WORDS = {
    "START": "START NOW",
    "UNTIL": "UNTIL 10",
    "OWNER": "OWNER 'ada'",
    "TAGS": "TAGS ('a')",
    "EVERY": "EVERY 10 SECONDS",
    "EMIT": "EMIT FINAL",
    "DESCRIPTION": "DESCRIPTION 'all'",
    "KEEP": "KEEP 10",
    "GRAIN": "GRAIN 5",
    "RETAIN": "RETAIN '7 days'",
    "CARRY": "CARRY (x)",
}
TEXTS = {
    **{word: STREAM.format(file="{file}", words=WORDS[word]) for word in STREAM_WORDS},
    **{word: STREAM + QUERY.replace("{words}", WORDS[word]) for word in QUERY_WORDS},
    "ALTER": STREAM + QUERY + "; ALTER QUERY q AS SELECT x FROM line",
    "PAUSE": STREAM + QUERY + "; PAUSE QUERY q",
    "RESUME": STREAM + QUERY + "; RESUME QUERY q",
    "INVOKE": STREAM + QUERY + "; INVOKE QUERY q",
    "START HISTORY": STREAM + "EXPLAIN CREATE QUERY q START HISTORY AS SELECT x FROM line",
    "SUMMARY": STREAM + "CREATE SUMMARY s ON line(x) WITH GRANULARITY 5 AND COLLAPSE(4, 3)",
    "QOS": STREAM + "CREATE QUERY q AS SELECT x FROM line WITH QOS (SHARE 1 1.0)",
    "PREFERENCE": STREAM + "SELECT x FROM line WITH PREFERENCE asc SUMMARY.Estimate.Count(x)",
    "AS OF": STREAM + "SELECT count(*) AS n FROM line AS OF 5 [TUMBLING 5]",
}


def run_sql(spark: SparkSession, text: str, folder: Path) -> None:
    mt.sql(text)


def run_pipeline(spark: SparkSession, text: str, folder: Path) -> None:
    Pipeline(spark, folder, False, lambda *_: lambda *_: None, lambda _: None).run(text)


def run_check(spark: SparkSession, text: str, folder: Path) -> None:
    check = Check(spark, folder, False)
    check.check(text)
    for mistake in check.mistakes:
        raise mistake


@pytest.mark.parametrize("run", [run_sql, run_pipeline, run_check])
@pytest.mark.parametrize("word", TEXTS)
def test_words_for_an_engine_are_refused(
    spark: SparkSession, tmp_path: Path, word: str, run: object
) -> None:
    file = tmp_path / "line.csv"
    file.write_text("1\n2\n")
    text = TEXTS[word].format(file=file, words="")
    assert callable(run)
    with pytest.raises(mt.SqlError) as caught:
        run(spark, text, tmp_path / "run")
    assert caught.value.problem.startswith(f"{word.removesuffix(' HISTORY')} says ")
    assert caught.value.problem.endswith(", and there is no engine here")
    assert caught.value.expected == "mt.Engine in Python, or muntin engine on the command line"
    assert text[caught.value.place.offset :].startswith(word)


def test_there_is_a_text_for_every_word() -> None:
    assert {*QUERY_WORDS, *STREAM_WORDS} == {*WORDS}
