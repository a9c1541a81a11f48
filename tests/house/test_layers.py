"""Imports point one way, between rooms and inside the two large ones (docs/architecture.md)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.house.source_tree import (
    SOURCE,
    cycles,
    imported_names,
    imports,
    module_name,
    modules,
    package_of,
)

#: Each room may import those before it.
LAYERS = (
    *("errors", "specs", "kernels", "expressions", "aggregates", "operators"),
    *("spark", "planner", "session", "engine", "server"),
)
#: Rooms beside the layers, and the rooms that each may import.
BESIDE: dict[str, set[str]] = {
    "reference": {"errors", "specs"},
    "parser": {"errors", "specs"},
    "simulate": {"errors"},
    "testing": {*LAYERS[: LAYERS.index("spark") + 1]},
}
#: What a room may import in addition to the layers before it.
ALSO = {
    "planner": {"parser"},
    "session": {"parser", "simulate"},
    "engine": {"parser"},
    "server": {"parser"},
}
#: Inside a large room each sub-room, or file, may import those before it.
SUBROOMS = {
    "operators": (
        *("protocol", "common", "progress", "aggregation", "windows", "rows", "frames", "fill"),
        *("join", "resample", "build", "summaries", "preference", "shared"),
    ),
    "spark": (
        *(
            "columns",
            "described",
            "requirements",
            "spark_versions",
            "run_sql",
            "scan",
            "exchange",
            "plan",
            "explain",
            "plot",
        ),
        *("api", "queries", "connectors", "start"),
    ),
}
IMPORT_PYSPARK = {"spark", "testing"}
#: Ways into the JVM, which Spark Connect does not have.
INTERNAL = {
    *("_jvm", "_gateway", "_sc", "_jsc", "_jsparkSession", "_jdf", "_jc", "_jreader", "_jwrite"),
}
FILES = [path for path in modules().values() if path != SOURCE / "__init__.py"]


def complaints(module: str, names: list[str]) -> list[str]:
    """Return what a module imports against the rules, each with the rule."""
    room = module.split(".")[1]
    problems = []
    for name in names:
        top, _, rest = name.partition(".")
        if top == "muntin":
            problems += layer_complaints(module, name)
        elif top == "pyspark" and any(part.startswith("_") for part in rest.split(".")):
            problems.append(f"{name}: not for PySpark's users")
        elif top in ("pyspark", "py4j") and room not in IMPORT_PYSPARK:
            problems.append(f"{name}: only {', '.join(sorted(IMPORT_PYSPARK))} may")
        elif room in ("specs", "reference", "errors") and top not in sys.stdlib_module_names:
            problems.append(f"{name}: not in the standard library")
    return problems


def layer_complaints(module: str, name: str) -> list[str]:
    """Return why a module may not import a name of Muntin; nothing if it may."""
    room, other = module.split(".")[1], name.split(".")[1]
    if other not in (*LAYERS, *BESIDE, "cli"):
        return [f"{name}: the front door is for users, import from the room"]
    if room == other:
        return subroom_complaints(module, name)
    return [] if room == "cli" or other in allowed(room) else [f"{name}: {room} is below {other}"]


def allowed(room: str) -> set[str]:
    """Return the other rooms that a room may import."""
    if room in BESIDE:
        return BESIDE[room]
    return {*LAYERS[: LAYERS.index(room)], *ALSO.get(room, ())}


def subroom_complaints(module: str, name: str) -> list[str]:
    room, *inside = module.split(".")[1:]
    _, *there = name.split(".")[1:]
    if room not in SUBROOMS or not inside or not there or inside[0] == there[0]:
        return []
    order = SUBROOMS[room]
    if order.index(there[0]) < order.index(inside[0]):
        return []
    return [f"{name}: {room}.{inside[0]} is below {room}.{there[0]}"]


def internals(code: str) -> list[str]:
    """Return the names in some code that PySpark does not publish."""
    attributes = (
        node.attr for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)
    )
    return sorted(INTERNAL.intersection(attributes))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_of_a_file(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    names = [*imported_names(code, package_of(path))]
    assert complaints(module_name(path), names) == []
    assert internals(code) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        module: frozenset(target for target in targets if target != "muntin")
        for module, targets in imports().items()
        if module != "muntin"
    }
    assert cycles(graph) == []


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "f"}, "f": {"e"}}
    found = cycles({module: frozenset(targets) for module, targets in graph.items()})
    assert found == [["b", "c"], ["e", "f"]]


def test_every_subroom_has_a_layer() -> None:
    for room, order in SUBROOMS.items():
        folder = SOURCE / room
        inside = rooms_in(folder)
        assert inside <= {*order}, f"{room}: give {inside - {*order}} a place in SUBROOMS"


def test_every_room_has_a_layer() -> None:
    assert rooms_in(SOURCE) <= {*LAYERS, *BESIDE, "cli"}


def rooms_in(folder: Path) -> set[str]:
    """Return the names of what has Python in a folder; the page that is built has none."""
    return {
        path.stem
        for path in folder.iterdir()
        if not path.name.startswith("__") and (path.suffix == ".py" or any(path.rglob("*.py")))
    }


def test_internals_are_found() -> None:
    assert internals("jvm = spark._jvm\nspark.sparkContext._jsc.x(), frame.count()") == [
        "_jsc",
        "_jvm",
    ]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a.b as c, d", ["a.b", "d"]),
        ("from a.b import c, d", ["a.b.c", "a.b.d"]),
        ("from . import x", ["muntin.operators.windows.x"]),
        ("from .. import x", ["muntin.operators.x"]),
        ("from ...spark.plan import x", ["muntin.spark.plan.x"]),
        ("def f():\n    if f:\n        import pyspark", ["pyspark"]),
        ("if TYPE_CHECKING:\n    import pyspark", ["pyspark"]),
        ("x = 'import pyspark'", []),
    ],
)
def test_names_are_found(code: str, names: list[str]) -> None:
    assert list(imported_names(code, "muntin.operators.windows")) == names


@pytest.mark.parametrize(
    ("module", "name", "reason"),
    [
        ("specs.windows", "numpy", "not in the standard library"),
        ("specs.windows", "muntin.aggregates.parse", "specs is below aggregates"),
        ("specs.windows", "muntin.reference.windows", "specs is below reference"),
        ("kernels.ticks", "muntin.operators.protocol", "kernels is below operators"),
        ("expressions.read", "muntin.aggregates", "expressions is below aggregates"),
        ("aggregates.bind", "muntin.operators", "aggregates is below operators"),
        ("operators.windows.panes", "muntin.spark.columns", "operators is below spark"),
        ("operators.windows.panes", "muntin.Window", "the front door is for users"),
        ("operators.windows.panes", "pyspark.sql", "only spark, testing may"),
        ("operators.windows.panes", "muntin.operators.rows.cut", "windows is below operators.rows"),
        ("operators.protocol", "muntin.operators.common.buckets", "is below operators.common"),
        ("simulate.router", "muntin.spark.api.stream", "simulate is below spark"),
        ("simulate.router", "pyspark", "only spark, testing may"),
        ("planner.select", "pyspark.sql", "only spark, testing may"),
        ("planner.select", "muntin.session.session", "planner is below session"),
        ("parser.parse", "muntin.aggregates.parse", "parser is below aggregates"),
        ("spark.plan.plan", "muntin.testing.replay", "spark is below testing"),
        ("spark.plan.plan", "muntin.spark.api.stream", "spark.plan is below spark.api"),
        ("spark.columns", "pyspark.sql.types._parse", "not for PySpark's users"),
    ],
)
def test_what_is_refused(module: str, name: str, reason: str) -> None:
    (complaint,) = complaints(f"muntin.{module}", [name])
    assert complaint.startswith(name)
    assert reason in complaint


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("specs.windows", "decimal.Decimal"),
        ("specs.windows", "__future__.annotations"),
        ("specs.windows", "muntin.specs.axis.Axis"),
        ("aggregates.bind", "pyarrow"),
        ("operators.rows.cut", "muntin.kernels.grouping"),
        ("operators.rows.cut", "muntin.operators.windows.panes"),
        ("spark.columns", "pyspark.sql.DataFrame"),
        ("spark.api.stream", "muntin.spark.plan.plan.PlanParts"),
        ("testing.replay", "muntin.spark.api.plan.Plan"),
        ("planner.select", "muntin.parser.statements"),
        ("cli.main", "muntin.session.session"),
    ],
)
def test_what_is_allowed(module: str, name: str) -> None:
    assert complaints(f"muntin.{module}", [name]) == []
