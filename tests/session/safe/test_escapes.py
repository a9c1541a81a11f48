"""Known ways out of a database that runs strangers' SQL, each refused before anything is opened.

No Spark is needed: what is refused is refused from the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import ArgumentError, MuntinError
from muntin.parser.errors import SqlError
from muntin.parser.parse import parse
from muntin.session.safe.root_folder import check_apart, outside
from muntin.session.safe.safe_mode import SafeMode
from tests.parser.cases import cases

SAFE = SafeMode()
CALLS = [
    "reflect('java.lang.Runtime', 'getRuntime')",
    "java_method('java.lang.System', 'getenv', 'HOME')",
    "try_reflect('java.util.UUID', 'randomUUID')",
]
#: Ways of writing a call, in which CALL stands for one.
WRITTEN = [
    *("SELECT CALL", "SELECT 1, (CALL) AS x FROM t", "SELECT -- x\n CALL", "SELECT /* a */ CALL"),
    *("SELECT * FROM t WHERE x = CALL", "SELECT (SELECT CALL)", "SELECT * FROM (SELECT CALL) q"),
    *("WITH a AS (SELECT CALL) SELECT * FROM a", "SELECT * FROM t JOIN u ON t.x = CALL"),
    *("SELECT x FROM t GROUP BY x HAVING max(y) = CALL", "SELECT x FROM t ORDER BY CALL"),
    *("SELECT * FROM t LATERAL VIEW explode(array(CALL)) e AS z", "SELECT * FROM VALUES (CALL) v"),
    *("SELECT * FROM t, LATERAL (SELECT CALL) z", "SELECT CASE WHEN x THEN CALL END FROM t"),
    *("SELECT transform(a, y -> CALL) FROM t", "SELECT 1 IN (SELECT CALL)", "SELECT ARRAY(CALL)"),
    *("SELECT EXISTS (SELECT CALL)", "SELECT count(*) FILTER (WHERE CALL = '') FROM t"),
    *("SELECT sum(x) OVER (ORDER BY CALL) FROM t", "SELECT named_struct('a', CALL).a"),
    *("SELECT concat(x, CALL) FROM t UNION ALL SELECT 1", "SELECT x FROM t QUALIFY CALL = ''"),
    *("SELECT CAST(CALL AS STRING)", "SELECT x[CALL] FROM t", "SELECT 1 LIMIT length(CALL)"),
    "SELECT max(v) AS hi FROM t [RANGE 5 SLIDE 1 WATTR x] WHERE CALL = ''",
    "SELECT max(CALL) AS hi FROM t [RANGE 5 SLIDE 1 WATTR x]",
    "SELECT * FROM t [FRAME THRESHOLD length(CALL) > 3 WATTR ts]",
    "SELECT * FROM frames(t, kind => THRESHOLD v > 3, on => ts, missing => 'CALL > prev.v')",
    "SELECT * FROM (SELECT CALL AS v, ts FROM t) [RANGE 5 SLIDE 1 WATTR ts]",
    "CREATE QUERY q AS SELECT CALL INTO memory('m')",
    "EXPLAIN SELECT CALL",
    "ALTER QUERY q AS SELECT CALL",
]
#: Ways of writing the name of a function, which Spark reads as the same.
NAMED = [
    *(str.upper, str.title, lambda call: call.replace("(", " /* x */ (", 1)),
    *(lambda call: f"`{call.split('(')[0]}`({call.split('(', 1)[1]}",),
    *(lambda call: f"system.builtin.{call}", lambda call: f"`a`.`b`.{call}"),
    *(lambda call: f"main.{call}", lambda call: call.replace("(", "\n(", 1)),
]
OTHERS = {
    "scripts": [
        "SELECT TRANSFORM(a) USING 'cat /etc/passwd' AS (b) FROM t",
        "SELECT TRANSFORM (a, b) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING 'id' FROM t",
        "FROM t SELECT TRANSFORM(a) USING 'cat'",
        "FROM t MAP a USING 'cat'",
        "FROM t REDUCE a USING 'cat'",
        "SELECT MAP a USING 'cat' FROM t",
    ],
    "paths": [
        "SELECT * FROM parquet.`/etc`",
        "SELECT * FROM `text`.`/etc/passwd`",
        "SELECT * FROM text.`file:///etc/passwd`",
        "SELECT * FROM binaryFile.`/etc/passwd`",
        "SELECT * FROM csv.`/etc/passwd` [RANGE 5 SLIDE 1 WATTR x]",
        "SELECT * FROM window(json.`/x`, length => 5 MINUTES)",
        "SELECT * FROM TABLE json.`/etc/x`",
        "WITH `text./etc/passwd` AS (SELECT 1) SELECT * FROM text.`/etc/passwd`",
        "SELECT * FROM spark_catalog.default.users",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM asof(t, parquet.`/etc`, on => ts)",
        "SELECT * FROM t [RANGE 5 SLIDE 1 WATTR x] FILL json.`/etc/x` ON ts",
        "SELECT * FROM read_files('/etc/passwd')",
        "SELECT * FROM IDENTIFIER('text.`/etc/passwd`')",
        "SELECT * FROM IDENTIFIER('text' || '.`/etc/passwd`')",
        "SELECT * FROM t VERSION AS OF 1",
        "SELECT * FROM t TIMESTAMP AS OF '2020-01-01'",
    ],
    "functions": [
        "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv')",
        "SELECT input_file_name() FROM t",
        "SELECT from_protobuf(x, 'm', '/etc/passwd') FROM t",
        "SELECT from_xml(x, 'a INT', map('rowValidationXSDPath', '/etc/x')) FROM t",
        "SELECT xpath(x, '/a') FROM t",
        "SELECT * FROM python_worker_logs()",
        "SELECT somebodys_own(x) FROM t",
        "SELECT r\u0435flect('a', 'b')",  # a Cyrillic letter
        "SELECT * FROM sql('SELECT 1')",
        "SELECT current_schema()",
        "SELECT /*+ REPARTITION(100000) */ x FROM t",
    ],
    "variables": [
        "SELECT '${env:AWS_SECRET_ACCESS_KEY}'",
        "SELECT '${spark.hadoop.fs.s3a.secret.key}'",
        "SELECT \"${system:user.home}\"",
        "SELECT ${spark.app.name}",
        "SELECT `${env:HOME}` FROM t",
        "SELECT 1 AS `${env:HOME}`",
        "SELECT r'${env:HOME}'",
        "SELECT '$' '{env:HOME}', concat('a', '${env:HOME}')",
        "SELECT :x",
        "SELECT ?",
        "SELECT * FROM t [FRAME THRESHOLD v > length('${env:HOME}') WATTR ts]",
    ],
    "statements": [
        "SET spark.sql.variable.substitute = true",
        "RESET",
        "ADD JAR '/tmp/x.jar'",
        "ADD FILE '/etc/passwd'",
        "LIST FILES",
        "CREATE FUNCTION f AS 'x.Y' USING JAR '/tmp/x.jar'",
        "CREATE TEMPORARY FUNCTION f AS 'x.Y'",
        "CREATE OR REPLACE TEMP VIEW v AS SELECT 1",
        "CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/etc/passwd')",
        "CREATE TABLE t USING csv LOCATION '/etc'",
        "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT 1",
        "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' SELECT 1",
        "INSERT INTO t VALUES (1)",
        "EXECUTE IMMEDIATE 'SELECT reflect(1)'",
        "CACHE TABLE t AS SELECT reflect('a', 'b')",
        "UNCACHE TABLE t",
        "LOAD DATA INPATH '/etc/passwd' INTO TABLE t",
        "EXPORT TABLE t TO '/tmp/x'",
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "DESCRIBE EXTENDED t",
        "DESCRIBE FUNCTION abs",
        "SHOW CREATE TABLE t",
        "USE other",
        "TRUNCATE TABLE t",
        "REFRESH 'file:///etc'",
        "CALL system.x()",
        "DECLARE VARIABLE x INT DEFAULT 1",
        "BEGIN SELECT 1; END",
        "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE",
        "SELECT 1; SET x = 1",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "EXPLAIN EXTENDED SELECT reflect('a')",
        "$$ SELECT 1 $$",
        "SELECT $$reflect$$",
        "SELECT * FROM t |> SELECT reflect('a', 'b')",
    ],
    "connectors": [
        "CREATE TABLE t FROM postgres('t', url => 'postgresql://localhost/db')",
        "CREATE STREAM s FROM kafka('t', servers => 'localhost:9092') (x INT) ON x",
        "CREATE STREAM s FROM socket('localhost', 22) (x INT) ON x",
        "CREATE STREAM s FROM `SOCKET`('localhost', 22) (x INT) ON x",
        "CREATE TABLE t FROM delta('/etc')",
        "CREATE TABLE t FROM parquet('data')",
        "CREATE QUERY q AS SELECT 1 INTO csv('/tmp/x')",
        "CREATE QUERY q AS SELECT 1 LATE INTO json('/tmp/x')",
        "CREATE TRIGGER t ON q DO command('id')",
        "CREATE TRIGGER t ON q DO COMMAND('id')",
        "CREATE TRIGGER t ON q DO webhook('http://169.254.169.254/latest')",
        "CREATE TRIGGER t ON q DO postgres('t', url => 'postgresql://localhost/db')",
        "CREATE TABLE t FROM simulate('freeway') (ts TIMESTAMP DEFAULT reflect('a', 'b'))",
        "CREATE TABLE t FROM simulate('freeway') (a INT GENERATED ALWAYS AS (reflect('a')))",
    ],
}  # fmt: skip


def refused(text: str, mode: SafeMode = SAFE) -> list[str]:
    """What is wrong with a text: that it is no SQL of Muntin's, or what safe mode refuses."""
    try:
        statements = parse(text)
    except SqlError as error:
        return [error.problem]
    return [error.problem for error in mode.refused(text, statements)]


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("call", CALLS, ids=["reflect", "java_method", "try_reflect"])
def test_programs_are_refused_wherever_they_are_called(text: str, call: str) -> None:
    inside = call.replace("'", "''") if "missing => '" in text else call
    assert refused(text.replace("CALL", inside))
    for change in NAMED:
        assert refused(text.replace("CALL", change(inside)))


@pytest.mark.parametrize("text", [text for texts in OTHERS.values() for text in texts])
def test_other_ways_out_are_refused(text: str) -> None:
    assert refused(text)


def test_the_first_refusal_is_raised_at_its_place() -> None:
    text = "SELECT x,\n  java_method('a', 'b') FROM t"
    with pytest.raises(SqlError, match=r"line 2, column 3: java_method is not allowed.*program"):
        SAFE.check(text, parse(text))


WORKS = [
    "SELECT station, max(speed) AS hi FROM t [RANGE 5 MINUTES SLIDE 1 MINUTE WATTR ts] GROUP BY 1",
    "SELECT * FROM t WHERE upper(a) LIKE 'X%' AND b BETWEEN 1 AND 2 ORDER BY c LIMIT 3",
    "SELECT approx_quantile(v, 0.9) FROM t [FRAME THRESHOLD abs(v) > 3 WATTR ts]",
    "WITH a AS (SELECT x FROM t) SELECT count(*) FILTER (WHERE x > 1) FROM a JOIN u USING (x)",
    "SELECT explode(sequence(1, 3)), CAST(a AS DECIMAL(10, 2)), x IS NULL, s.f, m['k'] FROM t",
    "SELECT * FROM range(10), VALUES (1, 2) AS v(a, b)",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t",
    "CREATE STREAM s FROM simulate('freeway', hours => 1) ON ts BY station",
    "CREATE QUERY q DESCRIPTION 'what (it) is for' OWNER 'a(b)' AS SELECT 1 AS x INTO memory('m')",
    "CREATE STREAM s FROM stdin('json') (ts TIMESTAMP, v DECIMAL(10, 2), a ARRAY<INT>) ON ts",
    "SHOW STREAMS; DROP QUERY q; EXPLAIN SELECT 1",
]


@pytest.mark.parametrize("text", WORKS)
def test_what_only_computes_is_allowed(text: str) -> None:
    functions = SafeMode(functions=frozenset({"approx_quantile"}))
    assert refused(text, functions) == []


def test_most_of_the_language_is_allowed() -> None:
    """Of the texts in the parser's tests, only connectors and versions of tables are refused."""
    reasons = {problem for case in cases() for problem in refused(case.text)}
    in_safe_mode = {problem.split(":")[0] for problem in reasons if "safe mode" in problem}
    assert in_safe_mode == {
        *("call jdbc", "call kafka", "call webhook", "path"),
        *("VERSION after a relation is not allowed in safe mode",),
        *("VERSION is not allowed in safe mode",),
    }


# Files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "data").mkdir(parents=True)
    (tmp_path / "root" / "data" / "a.csv").write_text("1\n")
    (tmp_path / "root-of-others").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.csv").write_text("1\n")
    return tmp_path / "root"


def test_files_below_the_root_are_allowed(root: Path) -> None:
    mode = SafeMode(root)
    for path in (f"{root}/data", f"{root}/data/a.csv", f"{root}/new/x", f"{root}/data/../data"):
        assert refused(f"CREATE TABLE t FROM csv('{path}') (x INT)", mode) == []
        assert refused(f"CREATE QUERY q AS SELECT 1 AS x INTO parquet('{path}')", mode) == []
    assert refused("CREATE TABLE t FROM csv('data') (x INT)", mode)  # relative to another folder


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "{root}/../secret", "{root}/data/../../secret/s.csv", "{root}"),
        *("{root}-of-others", "{root}/{{data,../secret}}", "{root}/*", "{root}/data/[a]", ""),
        *("file:{root}/data", "file:///etc", "hdfs:///x", "s3a://bucket/x", "~/x", "//host/share"),
        *("{root}/data,/etc/passwd", "{root}/data%2F..", "{root}/data\\\\..\\\\x", "{root}/link"),
        *("{root}/folder", "{root}/link/s.csv", "{root}/missing/../../secret", "./../x", "/"),
    ],
)
def test_other_files_are_refused_wherever_links_lead(root: Path, path: str) -> None:
    (root / "link").symlink_to(root.parent / "secret")
    (root / "folder").mkdir()
    (root / "folder" / "deep").mkdir()
    (root / "folder" / "deep" / "link.csv").symlink_to(root.parent / "secret" / "s.csv")
    written = path.format(root=root)
    mode = SafeMode(root)
    assert refused(f"CREATE TABLE t FROM csv('{written}') (x INT)", mode)
    assert refused(f"CREATE TABLE t FROM json(path => '{written}') (x INT)", mode)
    assert refused(f"CREATE QUERY q AS SELECT 1 AS x INTO parquet('{written}')", mode)


def test_a_class_as_a_compression_is_refused(root: Path) -> None:
    text = f"CREATE QUERY q AS SELECT 1 AS x INTO csv('{root}/x', compression => 'java.lang.Run')"
    assert refused(text, SafeMode(root)) == [
        "compression java.lang.Run: it is one of none, uncompressed, snappy, gzip, lzo, brotli, "
        "lz4, lz4_raw, zstd, bzip2, deflate"
    ]


def test_the_home_of_an_engine_is_not_below_the_root(root: Path) -> None:
    for home in (root, root / "data", root.parent):
        with pytest.raises(ArgumentError, match=r"root=.*the home .* is in it or around it"):
            check_apart(root, home, "the home")
    check_apart(root, root.parent / "secret", "the home")
    check_apart(None, root, "the home")


@pytest.mark.parametrize(
    ("safe", "root", "message"),
    [
        (False, ".", "it is for safe=True"),
        (1, None, "it is True or False"),
        (True, "/nowhere", "must be there"),
        (True, 3, "must be there"),
    ],
)
def test_arguments_of_safe_mode(safe: bool, root: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        SafeMode.of(safe, root)


# Whatever is written


PIECES = st.sampled_from(
    [
        *("reflect", "java_method", "`reflect`", "REFLECT", "(", ")", "'a'", "'java.lang.Runtime'"),
        *("SELECT", "FROM", "t", ",", "x", "USING", "'cat'", "TRANSFORM", "WITH", "AS", "(SELECT"),
        *("parquet.`/etc`", ".", "`/etc`", "/*", "*/", "--", "\n", "\\", "'", '"', "`", "${env:X}"),
        *("LATERAL", "VIEW", "JOIN", "ON", "VALUES", "IDENTIFIER", "||", "->", "[", "]", "::", ":"),
        *("WHERE", "CASE", "WHEN", "END", "1", "=", "OVER", "UNION", "PIVOT", "FOR", "IN", "$$"),
    ]
)
DANGEROUS = ("reflect(", "java_method(", "`reflect`(", "using 'cat'", "${", "from parquet.`")


@settings(max_examples=1500)
@given(st.lists(PIECES, max_size=14))
def test_no_text_that_passes_would_send_a_way_out_to_spark(pieces: Sequence[str]) -> None:
    """Whatever is not refused is written for Spark without a word that opens a way out."""
    text = "SELECT " + " ".join(pieces)
    try:
        statements = parse(text)
        SAFE.check(text, statements)
    except MuntinError:
        return
    for statement in statements:
        sent = str(statement).lower().replace(" (", "(")
        outside_texts = "".join(sent.split("'")[::2])
        assert not [word for word in DANGEROUS if word in outside_texts]


@given(st.text(max_size=60))
def test_a_path_is_below_the_root_or_refused(path: str) -> None:
    root = Path("/srv/somewhere").resolve()
    if outside(path, root) is None:
        assert Path(path).resolve().is_relative_to(root)
