"""Arrows point one way (docs/architecture.md): who may import whom, read from the source itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "muntin"
#: The rooms that each room may import beside itself. A new room has no rule until it is given one.
ROOMS: dict[str, set[str]] = {
    "semantics": set(),
    "aggregates": {"semantics"},
    "operators": {"semantics", "aggregates"},
    "spark": {"semantics", "aggregates", "operators"},
    "sql": {"semantics"},
    "simulate": {"semantics"},
    "testing": {"semantics", "aggregates", "operators", "spark"},
    "engine": {"semantics", "aggregates", "operators", "spark", "sql", "simulate"},
    "server": {"semantics", "aggregates", "operators", "spark", "sql", "engine"},
    "cli": {
        "semantics",
        "aggregates",
        "operators",
        "spark",
        "sql",
        "engine",
        "server",
        "simulate",
        "testing",
    },
}
IMPORT_PYSPARK = {"spark", "testing"}
#: Ways into the JVM, which Spark Connect does not have.
INTERNAL = {
    "_jvm",
    "_gateway",
    "_sc",
    "_jsc",
    "_jsparkSession",
    "_jdf",
    "_jc",
    "_jreader",
    "_jwrite",
}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


def imported(code: str, package: str) -> Iterator[str]:
    """Full names of what some code imports, wherever in it; ``package`` is where the code lives."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def complaints(room: str, names: Iterator[str]) -> list[str]:
    """What of the imported names a room may not import, and why."""
    found = []
    for name in names:
        top, _, rest = name.partition(".")
        inner = rest.partition(".")[0]
        if top == "muntin":
            if inner not in ROOMS:
                found.append(f"{name}: the front door is for users, import from the room")
            elif inner != room and inner not in ROOMS[room]:
                found.append(f"{name}: {room} is below {inner}")
        elif top == "pyspark" and any(part.startswith("_") for part in rest.split(".")):
            found.append(f"{name}: not for PySpark's users")
        elif top in ("pyspark", "py4j") and room not in IMPORT_PYSPARK:
            found.append(f"{name}: only {', '.join(sorted(IMPORT_PYSPARK))} may")
        elif room == "semantics" and top not in sys.stdlib_module_names:
            found.append(f"{name}: not in the standard library")
    return found


def internals(code: str) -> list[str]:
    """What some code uses of PySpark that is not for its users."""
    attributes = (
        node.attr for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)
    )
    return sorted(INTERNAL.intersection(attributes))


def package_of(path: Path) -> str:
    return ".".join(["muntin", *path.relative_to(SOURCE).parts[:-1]])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_of_a_file(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0]
    assert room in ROOMS, f"say in ROOMS what {room} may import"
    code = path.read_text(encoding="utf-8")
    assert complaints(room, imported(code, package_of(path))) == []
    assert internals(code) == []


def test_internals_are_found() -> None:
    assert internals("jvm = spark._jvm\nspark.sparkContext._jsc.x(), frame.count()") == [
        "_jsc",
        "_jvm",
    ]


def test_the_front_door_is_the_only_module_outside_a_room() -> None:
    assert [path.name for path in SOURCE.glob("*.py")] == ["__init__.py"]


def test_every_file_is_looked_at() -> None:
    rooms = {path.relative_to(SOURCE).parts[0] for path in FILES}
    assert {"semantics", "aggregates", "operators", "spark", "testing", "simulate"} <= rooms


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a.b as c, d", ["a.b", "d"]),
        ("from a.b import c, d", ["a.b.c", "a.b.d"]),
        ("from . import x", ["muntin.operators.kernels.x"]),
        ("from .. import x", ["muntin.operators.x"]),
        ("from ...spark.batch import x", ["muntin.spark.exchange.batch_driver.x"]),
        ("def f():\n    if f:\n        import pyspark", ["pyspark"]),
        ("x = 'import pyspark'", []),
    ],
)
def test_names_are_found(code: str, names: list[str]) -> None:
    assert list(imported(code, "muntin.operators.kernels")) == names


@pytest.mark.parametrize(
    ("room", "name", "reason"),
    [
        ("semantics", "numpy", "not in the standard library"),
        ("semantics", "muntin.aggregates.parse", "semantics is below aggregates"),
        ("aggregates", "muntin.operators", "aggregates is below operators"),
        ("operators", "muntin.spark.types", "operators is below spark"),
        ("operators", "muntin.Window", "the front door is for users"),
        ("operators", "pyspark.sql", "only spark, testing may"),
        ("simulate", "muntin.spark.api.stream", "simulate is below spark"),
        ("simulate", "pyspark", "only spark, testing may"),
        ("engine", "pyspark.sql", "only spark, testing may"),
        ("sql", "muntin.aggregates.parse", "sql is below aggregates"),
        ("spark", "muntin.testing.replay", "spark is below testing"),
        ("spark", "pyspark.sql.types._parse", "not for PySpark's users"),
    ],
)
def test_what_is_refused(room: str, name: str, reason: str) -> None:
    (complaint,) = complaints(room, iter([name]))
    assert complaint.startswith(name)
    assert reason in complaint


@pytest.mark.parametrize(
    ("room", "name"),
    [
        ("semantics", "decimal.Decimal"),
        ("semantics", "__future__.annotations"),
        ("semantics", "muntin.specs.axis.Axis"),
        ("aggregates", "pyarrow"),
        ("operators", "muntin.kernels.numbers.order_keys"),
        ("spark", "pyspark.sql.DataFrame"),
        ("testing", "muntin.spark.plan.plan.Plan"),
    ],
)
def test_what_is_allowed(room: str, name: str) -> None:
    assert complaints(room, iter([name])) == []
