"""The form of CSV is found in its first 64 kB: header, delimiter, quotes, types."""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin.spark.connectors.sources.csv_form import SAMPLE_BYTES, find_form
from muntin.spark.connectors.sources.csv_types import type_of
from muntin.spark.connectors.sources.first_file import first_file, form_of

HEADER = {"header": "true"}


@pytest.mark.parametrize(
    ("text", "options", "schema"),
    [
        ("ts;v\n2026-03-02 23:56:00;1\n", {"header": "true", "sep": ";"}, "ts TIMESTAMP, v BIGINT"),
        ("code,v\n00123,1.5\n00007,2\n", {"header": "true"}, "code STRING, v DOUBLE"),
        ("1\t2\n3\t4\n", {"header": "false", "sep": "\t"}, "_c0 BIGINT, _c1 BIGINT"),
        ("k|ok\na|true\nb|FALSE\n", {"header": "true", "sep": "|"}, "k STRING, ok BOOLEAN"),
        ("k,v\n'a,b',1\n'c','2'\n", {"header": "true", "quote": "'"}, "k STRING, v BIGINT"),
        ('k,v\n"a \\"b",1\n', {"header": "true", "escape": "\\"}, "k STRING, v BIGINT"),
        ('k,v\n"a ""b",1\n"",2\n', {"header": "true"}, "k STRING, v BIGINT"),
        ('k,v\n"a\nb",1\n', {"header": "true", "multiLine": "true"}, "k STRING, v BIGINT"),
        ("k, v\na, 1\n", {**HEADER, "ignoreLeadingWhiteSpace": "true"}, "k STRING, v BIGINT"),
        ("a,a,\n1,2,3\n", {"header": "false"}, "_c0 STRING, _c1 STRING, _c2 BIGINT"),
        ("day,n\n2026-03-02,99999999999999999999\n", HEADER, "day DATE, n DECIMAL(38,0)"),
        ("v\n1\n2\n", {"header": "true"}, "v BIGINT"),
        ("v\r\n1\r\n", {"header": "true"}, "v BIGINT"),
        ("day,v\n2026-03-03,1\noops\n2026-03-04,2\n", HEADER, "day DATE, v BIGINT"),
    ],
)  # fmt: skip
def test_what_is_found(text: str, options: dict[str, str], schema: str) -> None:
    form = find_form(text, {})
    assert form is not None
    assert form.options == options
    assert form.schema.replace("`", "") == schema


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("name,town\nada,london\nalan,wilmslow\n", True),
        ("name,town\nada,town\n", False),  # it recurs below in its column
        ("name,name\nada,london\n", False),  # its values are not distinct
        ("name,\nada,london\n", False),  # one is empty
        ("I5,N/A,1\nI5,3,4\n", False),  # a row with a gap: its station recurs
        ("id,2020,2021\na,1,2\n", False),  # a number may be a value
        ("station,speed\n", True),
        ("1,2\n", False),
    ],
)
def test_when_the_first_line_is_a_header(text: str, header: bool) -> None:
    form = find_form(text, {})
    assert form is not None
    assert form.options["header"] == ("true" if header else "false")


def test_options_override_what_is_found() -> None:
    form = find_form("a;1,5\nb;2,5\n", {"sep": ",", "header": "true", "nullValue": "a;1"})
    assert form is not None
    assert "header" not in form.options
    assert form.columns == (("a;1", "STRING"), ("5", "BIGINT"))


def test_declared_columns_need_a_header_of_their_names() -> None:
    named = find_form("TS,K\nx,y\n", {}, ["ts", "k"])
    other = find_form("when,who\nx,y\n", {}, ["ts", "k"])
    assert named is not None
    assert other is not None
    assert (named.options["header"], other.options["header"]) == ("true", "false")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-2", "+3"], "BIGINT"),
        (["9223372036854775807"], "BIGINT"),
        (["1", "1e5", ".5", "NaN"], "DOUBLE"),
        (["NaN"], "STRING"),
        (["0", "0.50"], "DOUBLE"),
        (["007"], "STRING"),
        (["2026-03-02", "2026-3-2 7:00"], "TIMESTAMP"),
        (["2026-03-02T10:00:00.5+01:00", "2026-03-02 10:00:00Z"], "TIMESTAMP"),
        (["12:30:00"], "STRING"),
        (["1", "true"], "STRING"),
    ],
)
def test_types(texts: list[str], expected: str) -> None:
    assert type_of(texts) == expected


def test_the_first_file_by_name_decides_with_its_first_64_kb(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").write_text("hidden")
    (tmp_path / "a.csv").write_text("")
    many = "".join(f"{place},1\n" for place in range(SAMPLE_BYTES // 4))
    (tmp_path / "b.csv").write_text(f"k,v\n{many}late,2.5\n")
    (tmp_path / "c.csv").write_text("k;v\nx;y\n")
    assert first_file(str(tmp_path)) == tmp_path / "b.csv"
    form = form_of(str(tmp_path), {}, None, None)
    assert form is not None
    assert form.schema == "`k` BIGINT, `v` BIGINT"


def test_the_form_is_kept_for_the_next_run(tmp_path: Path) -> None:
    kept, data = tmp_path / "forms" / "t.json", tmp_path / "data"
    data.mkdir()
    (data / "b.csv").write_text("k;v\nx;1\n")
    first = form_of(str(data), {}, None, kept)
    (data / "a.csv").write_text("k,v\nx,1.5\n")
    assert first == form_of(str(data), {}, None, kept)
    changed = form_of(str(data), {"sep": ","}, None, kept)
    assert changed is not None
    assert changed.schema == "`k` STRING, `v` DOUBLE"
    assert form_of(str(tmp_path / "nothing"), {}, None, None) is None
    # Declared columns without a file yet: what comes later is read as it began.
    before = form_of(str(tmp_path / "later"), {}, ["k"], tmp_path / "later.json")
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "a.csv").write_text("k\nx\n")
    assert before == form_of(str(tmp_path / "later"), {}, ["k"], tmp_path / "later.json")
    assert before is not None
    assert before.options == {"header": "false"}
