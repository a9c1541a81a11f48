"""Figure 10 of [Window-ids]: wrong answers and latency where disorder comes in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt
import pandas as pd

from benchmarks.measure import Report, Table, Target, say
from benchmarks.section8.disorder import SECOND, Router
from benchmarks.section8.policies import Quality, Query, judge, truth, with_external, with_slack

ALL, AFTER_START = "all windows", "windows that end just after a block's start"
COLOURS = {ALL: "#1f6fb4", AFTER_START: "#7570b3"}


@dataclass(frozen=True)
class Case:
    """A router, windows in seconds, and the slacks that are tried on how many blocks."""

    router: Router
    range: int
    slide: int
    slacks: tuple[int, ...]
    blocks: int

    @property
    def query(self) -> Query:
        return Query("count", self.range * SECOND, self.slide * SECOND, "consistent")


@dataclass(frozen=True)
class Outcome:
    """The quality of all answers, and the latency of windows that end after a block's start."""

    all: Quality
    after_start: Quality


@dataclass(frozen=True)
class Found:
    """The results by slack, and for punctuation from the source."""

    windows: int
    rows: int
    slack: Mapping[int, Outcome]
    external: Outcome

    @property
    def best(self) -> int:
        """The least slack of those with the fewest wrong answers."""
        return min(self.slack, key=lambda slack: (self.slack[slack].all.wrong, slack))


_SLACKS = (*range(0, 480, 60), 450, 470, 480, 485, 488, 489, 490, 491, 492, 500, 540, 600)
FULL = Case(Router(), 600, 60, tuple(sorted(_SLACKS)), blocks=60)
QUICK = Case(Router(rate=4), 600, 60, (0, 240, 480, 489, 490, 491, 600), blocks=12)


def run(quick: bool) -> Report:
    case = QUICK if quick else FULL
    return report(case, measured(case))


def measured(case: Case, seed: int = 10) -> Found:
    """Every slack on the same rows and for the same windows."""
    rows = case.router.arrivals(case.blocks, seed)
    right = truth(case.query, rows)
    # The last windows are left out: at the greatest slack no block would come to close them.
    reach = int((max(case.slacks) + case.router.block) * SECOND)
    ends = case.query.ends(int(rows.on.min()), int(rows.on.max()) - reach)
    after_start = ends[case.router.into_block(ends) < 1]
    slack = {}
    for size in case.slacks:
        answers = with_slack(case.query, rows, size * SECOND)
        slack[size] = Outcome(judge(answers, right, ends), judge(answers, right, after_start))
        say(f"slack {size} s: {slack[size].all.wrong:.1f} % wrong")
    answers = with_external(case.query, rows)
    external = Outcome(judge(answers, right, ends), judge(answers, right, after_start))
    return Found(len(ends), len(rows), slack, external)


def report(case: Case, found: Found) -> Report:
    router = case.router
    about = (
        f"`count` over RANGE {case.range} s SLIDE {case.slide} s, {found.windows:,} windows of "
        f"{found.rows:,} rows, {router.rate} a second, consistent slack. A router keeps records "
        f"for {router.block:g} s and then sends them at once, in any order. Blocks start "
        f"{-router.start:g} s before a multiple of 10 s, so that every 49th window ends "
        f"{-router.start:g} s after the start of one. An answer is wrong when it differs at all; "
        "latency is the mean time from a window's end to its answer."
    )
    return Report(
        name="section8-blocks",
        title="Block-sorted disorder: wrong answers and latency",
        about=about,
        tables=[table(found)],
        targets=[
            Target(
                "best slack over the block's length",
                found.best / router.block,
                at_least=1,
                at_most=1,
            ),
            Target("wrong with external punctuation, %", found.external.all.wrong, at_most=0),
            Target(
                "latency, external over the best slack",
                found.external.all.latency / found.slack[found.best].all.latency,
                at_most=1,
            ),
        ],
        chart=drawn(found),
    )


def table(found: Found) -> Table:
    columns = [
        "punctuation",
        "wrong answers, %",
        "mean error, %",
        "latency, s",
        "latency just after a block's start, s",
    ]
    named = {"external": found.external}
    for slack, outcome in found.slack.items():
        named[f"slack {slack} s{' (best)' * (slack == found.best)}"] = outcome
    rows = [
        [
            name,
            f"{outcome.all.wrong:.1f}",
            f"{outcome.all.error:.3f}",
            f"{outcome.all.latency:.0f}",
            f"{outcome.after_start.latency:.0f}",
        ]
        for name, outcome in named.items()
    ]
    return Table(columns, rows)


def drawn(found: Found) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"slack": slack, "windows": windows, "latency": quality.latency, "wrong": quality.wrong}
            for slack, outcome in found.slack.items()
            for windows, quality in ((ALL, outcome.all), (AFTER_START, outcome.after_start))
        ]
    )
    return alt.hconcat(accuracy(points, found), latency(points, found), spacing=24)


def accuracy(points: pd.DataFrame, found: Found) -> alt.LayerChart | alt.FacetChart:
    """The paper's figure: one point for each slack."""
    points = points[points.windows == ALL]
    marked = pd.DataFrame(
        [
            {"latency": quality.latency, "wrong": quality.wrong, "label": label}
            for label, quality in (
                ("external", found.external.all),
                (f"slack {found.best} s", found.slack[found.best].all),
            )
        ]
    )
    title = alt.Title("Wrong answers by latency", subtitle="one point for each slack")
    x = alt.X("latency:Q", title="latency, s", scale=alt.Scale(zero=True))
    y = alt.Y("wrong:Q", title="wrong answers, %", scale=alt.Scale(domain=[0, 105]))
    line = alt.Chart(points, width=330, height=260, title=title).encode(x=x, y=y, order="slack:Q")
    labelled = alt.Chart(marked).encode(x=x, y=y)
    return alt.layer(
        line.mark_line(color=COLOURS[ALL], point=alt.OverlayMarkDef(color=COLOURS[ALL], size=45)),
        labelled.mark_point(filled=True, size=90, color="#1b9e77", opacity=1),
        labelled.mark_text(align="right", dx=-8, dy=-10, fontSize=12).encode(text="label:N"),
    )


def latency(points: pd.DataFrame, found: Found) -> alt.LayerChart | alt.FacetChart:
    """Latency by slack: a line for all windows, a step for those that end at one place."""
    title = alt.Title("Latency by slack", subtitle=f"the best slack is {found.best} s")
    lines = (
        alt.Chart(points, width=330, height=260, title=title)
        .mark_line(point=alt.OverlayMarkDef(size=45))
        .encode(
            x=alt.X("slack:Q", title="slack, s"),
            y=alt.Y("latency:Q", title="latency, s"),
            color=alt.Color(
                "windows:N",
                title=None,
                scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
                legend=alt.Legend(orient="bottom", labelLimit=300),
            ),
        )
    )
    best = alt.Chart(pd.DataFrame({"slack": [found.best]}))
    rule = best.mark_rule(strokeDash=[4, 4], color="#888888").encode(x="slack:Q")
    return alt.layer(lines, rule)
