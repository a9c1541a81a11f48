"""Each part of the page as a person uses it, in a real browser over a real engine."""

from __future__ import annotations

import re

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from tests.page.building import WEB
from tests.page.conftest import PATIENCE, Visit, rows_of

expect.set_options(timeout=PATIENCE)

#: Every place of the page, and its heading.
PLACES = {
    "queries": "Queries",
    "query/q1": "speeds",
    "query/q4": "jams",
    "query/q1/time": "speeds",
    "query/q1/refused": "speeds",
    "query/q1/change": "speeds",
    "editor": "Editor",
    "network": "Network",
    "overload": "Too much",
}


def test_queries_are_found_sorted_and_paused(visit: Visit) -> None:
    page = visit.page
    visit.go("queries", "Queries")
    table = page.get_by_role("region", name="Table of queries")
    expect(table.get_by_role("link")).to_have_count(6)
    visit.picture("queries")
    page.keyboard.press("/")
    page.keyboard.type("owner:bo")
    expect(table.get_by_role("link")).to_have_text(["vehicles"])
    page.keyboard.press("Escape")
    expect(table.get_by_role("link")).to_have_count(6)
    page.get_by_role("button", name="Share").click()
    expect(page.locator("th[aria-sort]")).to_contain_text("Share")
    row = table.get_by_role("row").filter(has_text="crawling")
    row.get_by_role("button", name="Pause crawling").click()
    visit.desk.engine.process_available()
    expect(row.get_by_text("paused")).to_be_visible()
    row.get_by_role("button", name="Resume crawling").click()
    visit.desk.engine.process_available()
    expect(row.get_by_text("active")).to_be_visible()


def test_a_query_is_written_previewed_and_kept(visit: Visit) -> None:
    page = visit.page
    visit.go("editor", "Editor")
    text = page.get_by_role("textbox", name="SQL of the query")
    text.click()
    page.keyboard.type("SELECT station, avg(sped) AS s FROM traffic [TUMBLING 5 MINUTES]")
    cost = page.get_by_role("complementary", name="Cost before it starts")
    expect(cost.get_by_role("alert")).to_contain_text("sped")
    expect(page.locator(".cm-lintRange-error")).to_be_visible()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.get_by_role("button", name="Take the example").click()
    expect(cost).to_contain_text("Shared with")
    expect(cost).to_contain_text("speeds")
    visit.picture("editor")
    page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("region", name="Preview", exact=True)
    expect(preview.get_by_role("timer")).to_contain_text("expires in")
    visit.desk.engine.process_available()
    visit.desk.arrive(3)
    expect(preview.get_by_role("region", name="Answers of the preview")).to_contain_text("I5-0")
    preview.get_by_label("Keep it as").fill("means")
    preview.get_by_role("button", name="Keep", exact=True).click()
    page.get_by_role("heading", level=1, name="means", exact=True).wait_for()
    kept = visit.desk.engine["means"]
    assert kept.results().num_rows > 0
    page.get_by_role("button", name="Drop").click()
    page.get_by_role("button", name="Drop it").click()
    page.get_by_role("heading", level=1, name="Queries").wait_for()
    assert "means" not in {record.name for record in visit.desk.engine.queries()}


def test_results_are_drawn_listed_and_taken_along(visit: Visit) -> None:
    page = visit.page
    visit.go("query/q1", "speeds")
    chart = page.locator(".chart-frame canvas").first
    chart.wait_for()
    expect(page.get_by_text(re.compile("Windows as steps, over the rows"))).to_be_visible()
    answers = visit.desk.engine["speeds"].results()
    expect(page.get_by_role("status").filter(has_text="so far")).to_contain_text(
        f"{answers.num_rows} rows"
    )
    visit.picture("results")
    assert drawn_colours(visit) > 5
    with page.expect_download() as taken:
        page.get_by_role("link", name="Parquet").click()
    assert rows_of(pq.read_table(taken.value.path())) == rows_of(answers)
    page.get_by_role("button", name="Copy as …").click()
    page.get_by_role("button", name="Copy Python").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "mt.connect(" in copied and visit.desk.address in copied


def test_frames_are_rectangles_over_the_series(visit: Visit) -> None:
    page = visit.page
    visit.go("query/q4", "jams")
    expect(page.get_by_text(re.compile("Frames as shaded rectangles"))).to_be_visible()
    assert visit.desk.engine["jams"].results().num_rows > 0
    expect(page.get_by_text("3 of 6 keys")).to_be_visible()  # those of the series, too
    page.locator(".chart-frame canvas").first.wait_for()
    page.wait_for_timeout(500)
    visit.picture("frames")
    assert drawn_colours(visit) > 5


def test_refused_rows_are_counted_by_reason(visit: Visit) -> None:
    visit.go("query/q2/refused", "vehicles")
    cost = visit.desk.engine["vehicles"].cost
    assert cost.late > 0
    reasons = visit.page.locator(".reasons")
    expect(reasons).to_contain_text("late")
    expect(reasons).to_contain_text(str(cost.late))
    visit.picture("refused")


def test_the_network_has_counters_and_taps(visit: Visit) -> None:
    page = visit.page
    visit.go("network", "Network")
    expect(page.locator(".saving")).to_contain_text("copies avoided")
    page.get_by_role("button", name=re.compile("^speeds .* answers, query")).click()
    about = page.get_by_role("complementary", name="query speeds")
    expect(about).to_contain_text("answers")
    about.get_by_label("Only where").fill("speed < 100")
    about.get_by_role("button", name="Tap 20 rows").click()
    expect(about.get_by_role("status")).to_contain_text("open")
    visit.desk.engine.process_available()
    visit.desk.arrive(4)
    expect(about.get_by_role("region", name="Rows of the tap")).to_contain_text("I5-0")
    visit.picture("network")


def test_an_earlier_answer_is_beside_now(visit: Visit) -> None:
    page = visit.page
    visit.go("query/q1/time", "speeds")
    slider = page.get_by_role("slider")
    slider.focus()
    for _ in range(40):
        page.keyboard.press("ArrowLeft")
    both = page.get_by_role("region", name="Then and now")
    expect(both).to_contain_text("I5-01")
    expect(page.get_by_text(re.compile("min .*back|h .*back"))).to_be_visible()
    assert both.locator(".differs").count() > 0
    visit.picture("time")


def test_load_and_budgets_are_there(visit: Visit) -> None:
    page = visit.page
    visit.go("overload", "Too much")
    expect(page.get_by_role("region", name="Load of the queries")).to_contain_text("speeds")
    expect(page.get_by_role("heading", name="Budgets")).to_be_visible()
    visit.picture("overload")


def test_a_change_is_compared_and_applied(visit: Visit) -> None:
    page, engine = visit.page, visit.desk.engine
    visit.go("query/q5/change", "fullest")
    page.get_by_role("textbox", name="New statement of fullest").click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.type(engine["fullest"].record.text.replace("15 MINUTES", "10 MINUTES"))
    expect(page.locator(".difference ins")).to_have_text(["10"])
    expect(page.locator(".difference del")).to_have_text(["15"])
    visit.picture("change")
    page.get_by_role("button", name="Run it beside").click()
    expect(page.get_by_role("heading", name="Beside: generation 2")).to_be_visible()
    engine.process_available()
    page.get_by_role("button", name="Apply at the next micro-batch").click()
    engine.process_available()
    expect(page.get_by_text("generation 2").first).to_be_visible()
    assert "10 MINUTES" in engine["fullest"].record.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_places_are_accessible_and_narrow(visit: Visit, scheme: str) -> None:
    """Check every place with axe, and that none is wider than a telephone."""
    page = visit.page
    axe = (WEB / "node_modules" / "axe-core" / "axe.min.js").read_text()
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for place, heading in PLACES.items():
        visit.go(place, heading)
        page.wait_for_timeout(300)
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(own["id"], own["nodes"][0]["html"]) for own in found["violations"]] == [], place
    page.set_viewport_size({"width": 360, "height": 740})
    for place, heading in PLACES.items():
        visit.go(place, heading)
        page.wait_for_timeout(200)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, f"{place} is {wide} pixels wide"
    visit.go("query/q1", "speeds")
    visit.picture(f"narrow-{scheme}")


def drawn_colours(visit: Visit) -> int:
    """Return how many colours the chart has: an empty one has two or three."""
    return int(
        visit.page.evaluate(
            """() => {
              const canvas = document.querySelector('.chart-frame canvas');
              const { width, height } = canvas;
              const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
              const found = new Set();
              for (let at = 0; at < data.length; at += 4)
                found.add(`${data[at]},${data[at + 1]},${data[at + 2]},${data[at + 3] >> 5}`);
              return found.size;
            }"""
        )
    )
