"""Draws the picture of docs/server/index.md: ``python scripts/draw_server.py``."""

from __future__ import annotations

from drawing import BLUE, GREEN, GREY, ORANGE, PLAIN, TEAL, Canvas, write

#: Who asks the service.
CALLERS = ["a browser's page", "mt.connect(...)", "muntin sql, run", "curl, Prometheus"]


def service() -> str:
    canvas = Canvas(
        "The service",
        "One process. The engine commits micro-batches to the result log in its home. Resources "
        "answer calls in threads. The hub wakes subscribers at each commit and sends events whose "
        "rows are written once. The guard stands before both, and notes changes and refusals.",
        860,
        360,
    )
    canvas.head("muntin serve HOME: one process", mono=False)
    for place, words in enumerate(CALLERS):
        y = 84 + place * 58
        canvas.box(24, y, 150, 40, PLAIN)
        canvas.text(99, y + 25, words, anchor="middle")
        canvas.line((174, y + 20), (228, y + 20), tip=True)
    canvas.box(230, 84, 100, 214, ORANGE)
    canvas.text(280, 180, "guard", size=14, bold=True, anchor="middle")
    canvas.text(280, 200, "host, origin,", anchor="middle", fill=GREY)
    canvas.text(280, 218, "token, limits", anchor="middle", fill=GREY)
    canvas.line((330, 130), (382, 130), tip=True)
    canvas.line((382, 250), (330, 250), tip=True)
    canvas.box(384, 84, 180, 92, BLUE)
    canvas.text(474, 116, "resources", size=14, bold=True, anchor="middle")
    canvas.text(474, 138, "calls, in threads", anchor="middle", fill=GREY)
    canvas.text(474, 156, "JSON, CSV, Arrow, Parquet", anchor="middle", fill=GREY)
    canvas.box(384, 206, 180, 92, TEAL)
    canvas.text(474, 238, "hub", size=14, bold=True, anchor="middle")
    canvas.text(474, 260, "events, each written once;", anchor="middle", fill=GREY)
    canvas.text(474, 278, "a subscriber is a place", anchor="middle", fill=GREY)
    canvas.line((564, 130), (636, 130), tip=True)
    canvas.box(638, 84, 198, 92, GREEN)
    canvas.text(737, 116, "engine", size=14, bold=True, anchor="middle")
    canvas.text(737, 138, "all queries of a stream", anchor="middle", fill=GREY)
    canvas.text(737, 156, "in one pass of Spark", anchor="middle", fill=GREY)
    canvas.line((737, 176), (737, 204), tip=True)
    canvas.text(749, 195, "commit", fill=GREY)
    canvas.box(638, 206, 198, 92, PLAIN)
    canvas.text(737, 238, "home", size=14, bold=True, anchor="middle")
    canvas.text(737, 260, "result log, registry,", anchor="middle", fill=GREY)
    canvas.text(737, 278, "checkpoints, audit log", anchor="middle", fill=GREY)
    canvas.line((638, 250), (566, 250), tip=True)
    canvas.text(
        24, 336, "An event's id is a place in the log: who comes back with it goes on there."
    )
    return canvas.svg()


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    return {"server-service": service()}


if __name__ == "__main__":
    write(pictures())
