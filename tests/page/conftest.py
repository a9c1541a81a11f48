"""The page, built once, and served over a real engine to a real browser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from pyspark.sql import SparkSession

import muntin as mt
from muntin.cli.commands.demo import text_of
from muntin.engine.sql import run_statements
from muntin.server.app import create_app
from muntin.server.http_server import HttpServer
from muntin.server.service import Service
from muntin.simulate.file_feed import FileFeed
from muntin.simulate.freeway import Freeway
from tests.page.building import ROOT, build

#: Flags of a Chromium that runs as root, without a display, and asks nobody for updates.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
#: Where pictures of the pages are kept, to be looked at.
PICTURES = ROOT / "build" / "screenshots"
#: Milliseconds that a step may take: a busy machine answers late.
PATIENCE = 20_000


@pytest.fixture(scope="session")
def page_folder() -> Path:
    return build()


@dataclass(frozen=True)
class ServedDesk:
    """The desk of six people: its engine, its address, and the readings that have not come."""

    engine: mt.Engine
    address: str
    feed: FileFeed

    def arrive(self, number: int) -> None:
        """Let a file of readings arrive, and wait until it is committed."""
        self.feed.write(number)
        self.engine.process_available()


@dataclass
class Visit:
    """A page that somebody has open, and what went wrong on it."""

    page: Page
    desk: ServedDesk
    wrong: list[str] = field(default_factory=list)

    def go(self, place: str, heading: str) -> None:
        """Open a place, and wait for its heading."""
        self.page.goto(f"{self.desk.address}/#/{place}")
        self.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    run = subprocess.run(
        ["bash", "scripts/ensure-chromium.sh"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=run.stdout.strip(), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(
    spark: SparkSession, page_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedDesk]:
    folder = tmp_path_factory.mktemp("desk")
    day = Freeway().start.replace(hour=7)
    freeway = Freeway(hours=1.5, start=day, stations=6, very_late=0.02, disordered=0)
    feed = FileFeed(list(freeway.batches(6)), folder / "readings")
    with mt.Engine(spark, folder / "home") as engine:
        rows = mt.parquet(spark, str(folder / "readings"), streaming=True)
        slack = mt.slack("1 minute")
        engine.stream("traffic", rows, on="ts", by="station", disorder=slack, keep="12 hours")
        run_statements(engine, text_of("desk"))
        engine.start()
        service = Service(engine)
        with HttpServer(create_app(service)) as server:
            desk = ServedDesk(engine, server.address, feed)
            for number in (1, 2):
                desk.arrive(number)
            yield desk
            service.close()


@pytest.fixture
def visit(chromium: Browser, served: ServedDesk, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Open the page, and check that it asked no other host and raised no error."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    own = Visit(context.new_page(), served)
    own.page.on("pageerror", lambda error: own.wrong.append(f"raised: {error}"))
    own.page.on(
        "request",
        lambda request: (
            None
            if re.match(rf"{served.address}/|data:|blob:", request.url)
            else own.wrong.append(f"asked another host: {request.url}")
        ),
    )
    yield own
    own.picture(f"last-{request.node.name}")
    context.close()
    assert own.wrong == []


def rows_of(table: pa.Table) -> list[dict[str, object]]:
    """Return the rows of a table without the number of the micro-batch."""
    return table.drop_columns(["micro_batch"]).to_pylist()
