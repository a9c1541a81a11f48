"""What must not change between runs on one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from muntin.specs.frames.framing import Framing
from muntin.specs.frames.schemes import Schedule
from muntin.specs.resample import Instants
from muntin.specs.row_windows import Landmarks, SlideOnWindow
from muntin.specs.windows import Landmark, Latch, Window

if TYPE_CHECKING:
    from muntin.spark.plan.windows import WindowPlan


def fingerprint(compiled: WindowPlan) -> Mapping[str, str]:
    """What state means, in words for the message that refuses another query."""
    schema, source = compiled.schema, compiled.source
    by = [f"{n} {schema[n].dataType.simpleString()}" for n in compiled.keys]
    arguments = [str(t) for call in compiled.calls for t in call.types]
    return {
        "window": f"{compiled.spec} ({compiled.axis.domain}{_days(compiled)})",
        "aggregates": ", ".join(call.label for call in compiled.calls),
        "schema": f"on {schema[source.on].dataType.simpleString()}; by "
        f"{', '.join(by) or 'nothing'}; arguments {', '.join(arguments) or 'none'}",
        "resolution": f"{compiled.axis.digits} decimals",
        "shard count": str(compiled.shards),
        "unfinished": compiled.unfinished,
        "disorder": source.disorder.state_kind if source.disorder else "told",
    }


def _days(compiled: WindowPlan) -> str:
    """The time zone, only if windows lie elsewhere by it: another machine may have another."""
    zone = compiled.axis.zone
    return "" if _anchors(compiled, zone) == _anchors(compiled, "UTC") else f", days in {zone}"


def _anchors(compiled: WindowPlan, zone: str) -> tuple[int, ...]:
    """The ticks that windows are counted from."""
    axis, spec = replace(compiled.axis, zone=zone), compiled.spec
    match spec:
        case Window() | Landmark() | Latch():
            return (spec.edges(axis).origin,)
        case Landmarks(origins=origins):
            return tuple(axis.point("origin", origin) for origin in origins)
        case Framing(schedule=Schedule() as schedule):
            return (schedule.start(axis),)
        case Instants():
            grid = spec.grid(axis)
            return () if grid is None else (grid.origin,)
        case SlideOnWindow():
            return (spec.slide_origin(replace(compiled.slide_axis, zone=zone)),)
    return ()
