"""The page is built from its sources alone, is small, and asks no other host for anything."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.page.building import ROOT, WEB, npm

#: Bytes that all of the page may have, compressed.
LIMIT = 250_000


def test_the_logic_of_the_page_passes_its_own_tests(page_folder: Path) -> None:
    printed = npm("test")
    passed = re.search(r"^# pass (\d+)$", printed, re.MULTILINE)
    assert passed is not None and int(passed[1]) >= 44
    assert re.search(r"^# fail 0$", printed, re.MULTILINE)


def test_the_page_is_small(page_folder: Path) -> None:
    files = [path for path in page_folder.rglob("*") if path.suffix in {".js", ".css", ".html"}]
    weight = sum(len(gzip.compress(path.read_bytes(), mtime=0)) for path in files)
    assert 100_000 < weight < LIMIT


def test_the_page_fetches_from_no_other_host(page_folder: Path) -> None:
    """The tests in a browser see its requests; this one reads what is written."""
    for path in [*page_folder.rglob("*.css"), page_folder / "index.html"]:
        assert "://" not in path.read_text()
    fetched = re.compile(r"(?:import|fetch|src=|href=)\s*\(?[\"'`](https?:)?//")
    for path in page_folder.rglob("*.js"):
        assert fetched.search(path.read_text()) is None


def test_the_first_file_names_what_was_built(page_folder: Path) -> None:
    text = (page_folder / "index.html").read_text()
    named = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert len(named) == 3
    assert all((page_folder / name).is_file() for name in named)
    assert "{" not in text


def test_licenses_of_the_packages_come_with_them(page_folder: Path) -> None:
    licenses = (page_folder / "licenses.txt").read_text()
    needed = json.loads((WEB / "package.json").read_text())["dependencies"]
    for name in ("preact", "uplot", "@codemirror/view", "@dagrejs/dagre", "@lezer/highlight"):
        assert name in needed
        assert re.search(rf"^{re.escape(name)} [\d.]+ \(MIT\)$", licenses, re.MULTILINE)


def test_the_lock_file_names_no_host() -> None:
    text = (WEB / "package-lock.json").read_text()
    assert "://" not in text
    packages = json.loads(text)["packages"]
    assert all("integrity" in own for name, own in packages.items() if name)
    assert "omit-lockfile-registry-resolved=true" in (WEB / ".npmrc").read_text()


def test_a_wheel_brings_the_page(page_folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    built = {
        f"muntin/server/static/{path.relative_to(page_folder)}"
        for path in page_folder.rglob("*")
        if path.is_file()
    }
    assert built <= names
    assert not any(name.startswith("web/") for name in names)
