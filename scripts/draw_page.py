"""Takes the pictures of the page that the documentation shows, in a real browser.

Run it with ``python scripts/draw_page.py``: the tests of the page take the pictures, and this
script puts them where the documentation has them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TAKEN = ROOT / "build" / "screenshots"
SHOWN = ROOT / "docs" / "img"
#: The places of the page that the documentation shows.
PLACES = ("queries", "editor", "results", "frames", "network", "time", "change", "overload")


def main() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "tests/page/test_pages.py"]
    subprocess.run(command, cwd=ROOT, check=True)
    for place in PLACES:
        print(shutil.copyfile(TAKEN / f"{place}.png", SHOWN / f"page-{place}.png"))


if __name__ == "__main__":
    main()
