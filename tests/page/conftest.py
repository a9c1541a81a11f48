"""The page, built once for all of its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.building import build


@pytest.fixture(scope="session")
def page_folder() -> Path:
    return build()
