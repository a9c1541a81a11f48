"""What is cited can be found: papers and codes in docs/papers.md, files in the repository.

A citation is ``[Frames 4.4]``, ``[Frames, Definition 5]`` or ``[CA-12]``; see docs/papers.md.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"
#: Where codes are cited.
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks")
#: Notes and papers that were read while Muntin was written, and are not part of it.
MISSING = re.compile(
    r"\b(?P<name>(?:frames|window-ids?|panes|prior-art|promising-tuples)\.txt|"
    r"prior-art-spec-\d\.md|(?:design|findings|engine|house|style)\.md)\b"
    r"|(?:\.\./|(?<!operators)/)shared/(?!data\b)"
)
CODE = r"(?<![\w-])(FJ|AU|CQ|EH|PS|AV|CA|CL|RW)-(\d+)\b"
RANGE = re.compile(rf"{CODE}\s+to\s+{CODE}")
#: In brackets: a key, which has a small letter (``[RANGE 300 SECONDS]`` is SQL), and a place.
CITATION = re.compile(
    r"(?<![\w\])])\[(?P<cited>[A-Z][\w-]*[a-z][\w-]*(?=[\s,;\]])[^\[\]]*)\](?![(\[])"
)
KEY = re.compile(r"[A-Z][\w-]*(?: [a-z]+)*")


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the repository: those that git knows, and new ones that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a git repository")
    files = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(path for path in files if path.is_file())


def texts(*folders: str) -> Iterator[tuple[Path, str]]:
    """The text files of the repository, or of some folders, without this one."""
    for path in tracked():
        relative = path.relative_to(ROOT)
        if (folders and relative.parts[0] not in folders) or path == Path(__file__):
            continue
        try:
            yield relative, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def missing_files(text: str, present: set[str]) -> Iterator[str]:
    """The citations of files that are not among those present."""
    for match in MISSING.finditer(text):
        if match["name"] not in present:
            yield match[0]


def codes(text: str) -> set[str]:
    """The codes that a text cites; ``CA-1 to CA-3`` cites three."""
    found = {f"{paper}-{number}" for paper, number in re.findall(CODE, text)}
    for first, low, last, high in RANGE.findall(text):
        assert first == last, f"{first}-{low} to {last}-{high} is no range"
        found |= {f"{first}-{number}" for number in range(int(low), int(high) + 1)}
    return found


def prose(source: str) -> Iterator[str]:
    """The comments and docstrings of a Python file."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def keys(text: str) -> set[str]:
    """The papers that a text cites: ``[Panes 3.1; Window-ids 5.2]`` cites two."""
    found = set()
    for match in CITATION.finditer(text):
        for part in match["cited"].split(";"):
            key = KEY.match(" ".join(part.split()))
            found.add(key[0] if key else part)
    return found


def defined_codes() -> set[str]:
    rows = re.findall(r'^\| <a id="([a-z]+-\d+)"></a>([A-Z]+-\d+) \| \S', PAGE.read_text(), re.M)
    assert all(anchor == code.lower() for anchor, code in rows)
    assert len(rows) == len(set(rows)), "a code is defined twice"
    return {code for _, code in rows}


def defined_keys() -> set[str]:
    return set(re.findall(r"^\| `\[([^\[\]]+)\]` \|", PAGE.read_text(), re.M))


def test_files_that_are_cited_are_in_the_repository() -> None:
    present = {path.name for path in tracked()}
    found = [f"{path}: {name}" for path, text in texts() for name in missing_files(text, present)]
    assert not found, "cite the paper as docs/papers.md says, or a page that exists"


def test_codes_that_are_cited_are_defined() -> None:
    known = defined_codes()
    found = {f"{path}: {code}" for path, text in texts(*FOLDERS) for code in codes(text) - known}
    assert not found, "define the code in docs/papers.md"


def test_papers_that_are_cited_are_listed() -> None:
    known = defined_keys()
    found = {
        f"{path}: [{key}]"
        for path, text in texts("src")
        if path.suffix == ".py"
        for part in prose(text)
        for key in keys(part) - known
    }
    assert not found, "list the paper in docs/papers.md"


def test_every_key_has_a_section() -> None:
    headings = set(re.findall(r"^## (.+)$", PAGE.read_text(), re.M))
    # Both papers about Aurora share a section.
    assert defined_keys() - {"Aurora report"} == headings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a row [CA-12], see (EH-3)", {"CA-12", "EH-3"}),
        ("[CA-7 to CA-9, FJ-5]", {"CA-7", "CA-8", "CA-9", "FJ-5"}),
        ("UTF-8, Q-FJ-1, MCA-3", set()),
    ],
)
def test_codes(text: str, expected: set[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("by panes [Panes 3.1; Window-ids 5.2].", {"Panes", "Window-ids"}),
        ("[Exponential\n    histograms 4, Lemma 2]", {"Exponential histograms"}),
        ("[Frames]: [Frames, Definition 5]", {"Frames"}),
        ("[RANGE 300 SECONDS], [CA-1], list[Frames], [a link](page.md), [0, 1]", set()),
    ],
)
def test_keys(text: str, expected: set[str]) -> None:
    assert keys(text) == expected


def test_missing_files() -> None:
    text = "(frames.txt 4.3), design.md, ../shared/house.md, ../shared/data/x.csv, myframes.txt"
    assert list(missing_files(text, {"design.md"})) == ["frames.txt", "../shared/", "house.md"]
