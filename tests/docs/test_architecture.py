"""The page about the architecture and CONTRIBUTING name rooms and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.scripts import ROOT, load_script

SOURCE = ROOT / "src" / "muntin"
PAGES = [ROOT / "docs" / "architecture.md"]


def exists(name: str) -> bool:
    return (SOURCE / name).exists() or (ROOT / name).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_of_a_page_exist(page: Path) -> None:
    named = re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", page.read_text())
    assert named
    assert [name for name in named if "/" in name and not exists(name)] == []


def test_the_files_of_the_drawing_exist() -> None:
    script = load_script("draw_architecture")
    files = [name for *_, names in script.WAY for name in names]
    assert [name for name in files if not exists(name)] == []


def test_the_drawing_has_every_room() -> None:
    script = load_script("draw_architecture")
    drawn = {name for name, *_ in [*script.ROOMS, *script.BESIDE]}
    rooms = {path.parent.name for path in SOURCE.glob("*/*.py") if path.parent.name[0] != "_"}
    assert drawn == rooms | {"errors"}


@pytest.mark.parametrize(("room", "drawn"), [("operators", "OPERATORS"), ("spark", "SPARK")])
def test_the_drawing_has_every_sub_room(room: str, drawn: str) -> None:
    names = {
        name
        for part in getattr(load_script("draw_architecture"), drawn)
        for name in part.split(", ")
    }
    folders = {
        path.name for path in (SOURCE / room).iterdir() if path.is_dir() and path.name[0] != "_"
    }
    assert folders <= names
    assert all(exists(f"{room}/{name}") or exists(f"{room}/{name}.py") for name in names)
