"""Names of rooms, files and classes: each tells what is there, and nothing else has it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import muntin as mt
from tests.house.source_tree import ROOT, SOURCE, modules

#: A room with more files than this holds a second idea.
MOST_FILES = 25
#: Stems that recur because several rooms have a part of the same feature. (The names of rooms, such
#: as ``windows`` and ``frames``, are features too and may recur.)
FEATURES = {
    *("check", "correlated", "density", "disorder", "doctor", "held_rows", "ordered_rows", "own"),
    *("own_aggregate", "pattern", "psoup", "regions", "relations", "row_windows", "schemes"),
    *("segments", "spark_session", "sql", "value_counts"),
    *("files", "kafka", "postgres"),
}
#: Stems that say what a file is to its room, whatever the room.
PARTS = {
    *("build", "dialect", "errors", "functions", "operator", "parse", "protocol", "registry"),
}


def test_no_room_has_the_name_of_a_public_function() -> None:
    """Else importing the room would take the place of the function."""
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    rooms |= {path.stem for path in SOURCE.glob("*.py")}
    assert rooms & {*mt.__all__} == set()


def test_no_folder_is_too_full() -> None:
    counts: defaultdict[Path, int] = defaultdict(int)
    for room in ("src", "tests", "benchmarks", "examples"):
        for path in (ROOT / room).rglob("*.py"):
            counts[path.parent] += path.name != "__init__.py"
    assert {
        str(folder.relative_to(ROOT)): count
        for folder, count in counts.items()
        if count > MOST_FILES
    } == {}


def test_no_class_name_occurs_twice() -> None:
    places = classes()
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def classes() -> Mapping[str, list[str]]:
    """Every class at the top of a module, with the modules that define one of its name."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module, path in modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    return places


def test_a_stem_recurs_only_for_the_same_feature() -> None:
    stems: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules():
        stems[module.rpartition(".")[2]].append(module)
    rooms = {path.name for path in SOURCE.rglob("*") if path.is_dir()}
    recurring = {stem for stem, found in stems.items() if len(found) > 1} - rooms
    assert recurring == FEATURES | PARTS
