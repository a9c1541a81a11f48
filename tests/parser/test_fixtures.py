"""The grammar: every pair of the fixture files. Adding one needs no Python."""

from __future__ import annotations

import pytest

from tests.parser.cases import FOLDER, Case, cases, read

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_text_is_read_as_expected(case: Case) -> None:
    assert read(case.text) == case.expected


def test_every_file_has_cases() -> None:
    with_cases = {case.name.split(":")[0] for case in CASES}
    assert {path.stem for path in FOLDER.glob("*.sql")} == with_cases
    assert len(CASES) > 100
