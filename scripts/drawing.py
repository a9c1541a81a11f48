"""A canvas for the pictures of the documentation: shapes in, the text of an SVG file out.

The scripts ``draw_*.py`` use it. The same calls give the same bytes, so a test can compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs" / "img"
MONO = "Menlo, Consolas, DejaVu Sans Mono, monospace"
INK, GREY, PALE, RED = "#263238", "#607d8b", "#90a4ae", "#d84315"
#: Fill and stroke: blue, teal, green, orange, grey.
BLUE, TEAL, GREEN, ORANGE, PLAIN = (
    ("#bbdefb", "#1565c0"),
    ("#b2dfdb", "#00796b"),
    ("#c8e6c9", "#2e7d32"),
    ("#ffe0b2", "#ef6c00"),
    ("#eceff1", "#90a4ae"),
)
#: Colours of neighbours take turns.
TURNS = (BLUE, TEAL)


def number(value: float) -> str:
    """Write a coordinate without needless digits.

    >>> number(3.0), number(2.346)
    ('3', '2.35')
    """
    return f"{round(value, 2):g}" if abs(value) < 1e5 else str(value)


@dataclass
class Canvas:
    """A picture of a given size with a title and a description for those who cannot see it."""

    title: str
    says: str
    width: float
    height: float
    body: list[str] = field(default_factory=list)

    def add(self, tag: str, content: str | None = None, **attributes: object) -> None:
        """Add an element; ``stroke_width`` is written ``stroke-width``, None leaves one out."""
        written = " ".join(
            f'{name.rstrip("_").replace("_", "-")}="{_value(value)}"'
            for name, value in attributes.items()
            if value is not None
        )
        end = "/>" if content is None else f">{escape(content, quote=False)}</{tag}>"
        self.body.append(f"  <{tag} {written}{end}")

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 12,
        fill: str | None = None,
        anchor: str | None = None,
        bold: bool = False,
        mono: bool = False,
        italic: bool = False,
    ) -> None:
        self.add(
            "text",
            words,
            x=x,
            y=y,
            font_size=size,
            fill=fill,
            text_anchor=anchor,
            font_weight="bold" if bold else None,
            font_family=MONO if mono else None,
            font_style="italic" if italic else None,
        )

    def head(self, words: str, mono: bool = True) -> None:
        """Write the line at the top."""
        self.text(24, 32, words, size=15, bold=True, mono=mono)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colours: tuple[str, str] = PLAIN,
        stroke: bool = True,
        opacity: float | None = None,
        round_: float = 3,
    ) -> None:
        self.add(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            rx=round_,
            fill=colours[0],
            fill_opacity=opacity,
            stroke=colours[1] if stroke else None,
            stroke_width=1.2 if stroke else None,
        )

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        stroke: str = GREY,
        width: float = 1.5,
        dashed: bool = False,
        tip: bool = False,
    ) -> None:
        self.add(
            "line",
            x1=start[0],
            y1=start[1],
            x2=end[0],
            y2=end[1],
            stroke=stroke,
            stroke_width=width,
            stroke_dasharray="5 4" if dashed else None,
            marker_end="url(#tip)" if tip else None,
        )

    def curve(
        self,
        path: str,
        stroke: str = GREY,
        width: float = 1.5,
        dashed: bool = False,
        tip: bool = False,
        fill: str = "none",
    ) -> None:
        self.add(
            "path",
            d=path,
            fill=fill,
            stroke=stroke,
            stroke_width=width,
            stroke_dasharray="5 4" if dashed else None,
            marker_end="url(#tip)" if tip else None,
        )

    def dot(
        self,
        x: float,
        y: float,
        fill: str = INK,
        radius: float = 4.5,
        stroke: str | None = None,
    ) -> None:
        width = None if stroke is None else 1.6
        self.add("circle", cx=x, cy=y, r=radius, fill=fill, stroke=stroke, stroke_width=width)

    def value(
        self, x: float, y: float, words: object, colours: tuple[str, str], radius: float = 10
    ) -> None:
        """Draw a row: a circle with its value inside."""
        self.dot(x, y, colours[0], radius, colours[1])
        self.text(x, y + 5, str(words), anchor="middle")

    def series(self, points: Sequence[tuple[float, float]], labels: Iterable[object]) -> None:
        """Draw rows as dots on a thin line, with their values above."""
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.add("polyline", points=path, fill="none", stroke=PALE, stroke_width=1.4)
        for (x, y), label in zip(points, labels, strict=True):
            self.dot(x, y)
            self.text(x, y - 8, str(label), anchor="middle")

    def axis(
        self, x_of: Callable[[float], float], ticks: Sequence[float], y: float, name: str
    ) -> None:
        """Draw the line along which rows lie."""
        low, high = x_of(ticks[0]), x_of(ticks[-1])
        self.line((low - 10, y), (high + 26, y), tip=True)
        for tick in ticks:
            self.line((x_of(tick), y - 4), (x_of(tick), y + 4))
            self.text(x_of(tick), y + 19, f"{tick:g}", fill=GREY, anchor="middle")
        self.text(high + 32, y + 5, name, size=13, fill=GREY, italic=True)

    def bar(
        self,
        start: float,
        end: float,
        y: float,
        colours: tuple[str, str] = BLUE,
        start_inside: bool = True,
        end_inside: bool = True,
        dashed: bool = False,
    ) -> None:
        """Draw a stretch with full dots where a bound is inside and empty ones where it is not."""
        _, stroke = colours
        self.box(start - 9, y - 8, end - start + 18, 16, colours, stroke=False, round_=2)
        self.line((start, y), (end, y), stroke, 1.6, dashed)
        for x, inside in ((start, start_inside), (end, end_inside)):
            self.dot(x, y, stroke if inside else "#ffffff", stroke=stroke)

    def store(self, x: float, y: float, stroke: str = GREEN[1]) -> None:
        """Draw a small cylinder."""
        self.curve(f"M {x} {y} a 14 5 0 0 1 28 0 v 22 a 14 5 0 0 1 -28 0 z", stroke, fill="#ffffff")
        self.curve(f"M {x} {y} a 14 5 0 0 0 28 0", stroke)

    def svg(self) -> str:
        """Return the text of the file."""
        width, height = number(self.width), number(self.height)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" role="img" aria-labelledby="t d" '
                f'font-family="Helvetica, Arial, sans-serif" font-size="14" fill="{INK}">',
                f'  <title id="t">{escape(self.title)}</title>',
                f'  <desc id="d">{escape(self.says)}</desc>',
                "  <defs>",
                '    <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" '
                f'fill="{GREY}"/></marker>',
                "  </defs>",
                f'  <rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
                *self.body,
                "</svg>",
                "",
            ]
        )


def scale(left: float, step: float, low: float = 0) -> Callable[[float], float]:
    """Return the place of a value on a line that begins at ``left`` with the value ``low``."""
    return lambda value: left + (value - low) * step


def write(pictures: dict[str, str]) -> None:
    """Write pictures by their names into docs/img."""
    for name, text in pictures.items():
        (IMAGES / f"{name}.svg").write_text(text)
        print(IMAGES / f"{name}.svg")


def _value(value: object) -> str:
    return number(value) if isinstance(value, int | float) else escape(str(value))
