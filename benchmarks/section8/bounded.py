"""Figure 9 of [Window-ids]: error against latency where disorder is bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

import altair as alt
import pandas as pd

from benchmarks.measure import Report, Table, Target, say
from benchmarks.section8.disorder import SECOND, Network
from benchmarks.section8.policies import Quality, Query, judge, truth, with_external, with_slack
from muntin.specs.disorder import Late

RANGE = 64 * SECOND
#: From 0.32 s to 3.2 s.
SLACKS = tuple(320_000 * times for times in range(1, 11))
POLICIES: tuple[Late, ...] = get_args(Late)
EXTERNAL = "external"
COLOURS = {"generous": "#1f6fb4", "consistent": "#d95f02", EXTERNAL: "#1b9e77"}
NETWORK = Network()


@dataclass(frozen=True)
class Case:
    """A slide in microseconds, and how many seconds of stream it is measured on."""

    slide: int
    seconds: int

    def __str__(self) -> str:
        return f"SLIDE {self.slide / SECOND:g} s"


@dataclass(frozen=True)
class Curves:
    """The results of one slide: by slack and policy, and for punctuation from the source."""

    windows: int
    rows: int
    slack: Mapping[tuple[int, Late], Quality]
    external: Quality

    @property
    def generous_over_consistent(self) -> float:
        """The greatest ratio of errors at one slack; 0 where neither has any."""
        pairs = [(self.slack[s, "generous"], self.slack[s, "consistent"]) for s in SLACKS]
        return max(g.error / c.error if c.error else float(g.error > 0) for g, c in pairs)


FULL = (Case(6_400_000, 6_400), Case(RANGE, 25_600))
QUICK = (Case(6_400_000, 640), Case(RANGE, 1_280))


def run(quick: bool) -> Report:
    return report({case: measured(case) for case in (QUICK if quick else FULL)})


def measured(case: Case, seed: int = 9) -> Curves:
    """Every slack with both policies, on the same rows and for the same windows."""
    rows = NETWORK.arrivals(case.seconds, seed)
    query = Query("avg", RANGE, case.slide)
    right = truth(query, rows)
    # The last windows are left out: at the greatest slack no row would come to close them.
    ends = query.ends(0, int(rows.on.max()) - SLACKS[-1] - SECOND)
    external = judge(with_external(query, rows), right, ends)
    slack = {}
    for size in SLACKS:
        for late in POLICIES:
            answers = with_slack(replace(query, late=late), rows, size)
            slack[size, late] = judge(answers, right, ends)
        errors = ", ".join(f"{late} {slack[size, late].error:.5f} %" for late in POLICIES)
        say(f"{case}, slack {size / SECOND:.2f} s: {errors}")
    return Curves(len(ends), len(rows), slack, external)


def report(found: Mapping[Case, Curves]) -> Report:
    sizes = "; ".join(
        f"{case}: {curves.windows:,} windows of {curves.rows:,} rows"
        for case, curves in found.items()
    )
    about = (
        f"`avg` over RANGE {RANGE // SECOND} s. {sizes}. Rows come {NETWORK.rate} a second "
        f"through a network as TCP sees it: up to {NETWORK.jitter:g} s on the way; a lost row is "
        f"sent again after {NETWORK.timeout:g} s, then after twice that, at most {NETWORK.losses} "
        f"times, so none comes more than {NETWORK.bound:g} s late; {NETWORK.loss_calm:.1%} are "
        f"lost while it is calm ({NETWORK.calm:g} s on average), {NETWORK.loss_congested:.0%} "
        f"while it is congested ({NETWORK.congested:g} s on average). Error is the mean of "
        "|answer - right answer| / right answer "
        "over all windows, latency the mean time from a window's end to its answer."
    )
    return Report(
        name="section8-bounded",
        title="Bounded disorder: error and latency",
        about=about,
        tables=[table(case, curves) for case, curves in found.items()],
        targets=[
            Target(
                "error with external punctuation, %",
                max(curves.external.error for curves in found.values()),
                at_most=0,
            ),
            Target(
                "generous error over consistent, any slack",
                max(curves.generous_over_consistent for curves in found.values()),
                at_most=1,
            ),
        ],
        chart=alt.hconcat(*(drawn(case, curves) for case, curves in found.items()), spacing=24),
    )


def table(case: Case, curves: Curves) -> Table:
    columns = ["punctuation", "latency, s", "generous, error %", "consistent, error %"]
    best = f"{curves.external.error:.5f}"
    rows = [["external", f"{curves.external.latency:.2f}", best, best]]
    for slack in SLACKS:
        generous, consistent = (curves.slack[slack, late] for late in POLICIES)
        # Both policies close windows at the same time.
        times = f"{generous.latency:.2f}"
        errors = [f"{quality.error:.5f}" for quality in (generous, consistent)]
        rows.append([f"slack {slack / SECOND:.2f} s", times, *errors])
    return Table(columns, rows, f"RANGE {RANGE // SECOND} s {case}:")


def drawn(case: Case, curves: Curves) -> alt.LayerChart | alt.FacetChart:
    """Error by latency; one point for each slack."""
    points = pd.DataFrame(
        [
            {"policy": late, "latency": quality.latency, "error": quality.error}
            for (_, late), quality in curves.slack.items()
        ]
        + [
            {
                "policy": EXTERNAL,
                "latency": curves.external.latency,
                "error": curves.external.error,
            }
        ]
    )
    title = alt.Title("Error by latency", subtitle=f"RANGE {RANGE // SECOND} s {case}")
    base = alt.Chart(points, width=330, height=260, title=title).encode(
        x=alt.X("latency:Q", title="latency, s"),
        y=alt.Y("error:Q", title="mean error, %"),
        color=alt.Color(
            "policy:N",
            title=None,
            scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
        ),
        shape=alt.Shape("policy:N", title=None, scale=alt.Scale(domain=list(COLOURS))),
    )
    # Where both policies give the same, the larger circles of one show behind the other's squares.
    circles, rest = (
        base.transform_filter(f"datum.policy {how} 'generous'") for how in ("==", "!=")
    )
    return alt.layer(
        base.transform_filter(alt.datum.policy != EXTERNAL).mark_line(),
        circles.mark_point(filled=True, size=130, opacity=1),
        rest.mark_point(filled=True, size=45, opacity=1),
    )
