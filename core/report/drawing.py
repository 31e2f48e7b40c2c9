"""A picture as SVG, built of a few kinds of shapes. Text stays text; every string that is drawn is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.report.escaping import escaped
from core.report.inks import Inks

SMALL, NORMAL = 11, 12
"""Font sizes in pixels."""
FONTS = "sans-serif"


@dataclass(slots=True)
class Drawing:
    """A picture of so many pixels. Later shapes lie on top."""

    width: float
    height: float
    inks: Inks
    title: str
    """What a screen reader says of it."""
    _parts: list[str] = field(default_factory=list)

    def rect(self, x: float, y: float, width: float, height: float, fill: str, *, outline: str = "") -> None:
        """A filled box, with a thin rim where a colour is given for one."""
        rim = f' stroke="{outline}"' if outline else ""
        self._parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" fill="{fill}"{rim}/>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, ink: str, *, width: float = 1, dash: str = "") -> None:
        """A straight line."""
        self.curve([(x1, y1), (x2, y2)], ink, width=width, dash=dash)

    def curve(
        self, points: Iterable[tuple[float, float]], ink: str, *, width: float = 1.5, dash: str = "", fill: str = "none"
    ) -> None:
        """A line through points, or an area where it is filled."""
        places = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<polyline points="{places}" fill="{fill}" stroke="{ink}" stroke-width="{_n(width)}"{dashes}/>'
        )

    def dot(self, x: float, y: float, radius: float, fill: str, *, outline: str = "") -> None:
        """A filled circle; `fill` may be "none" for a ring."""
        rim = f' stroke="{outline}" stroke-width="1.5"' if outline else ""
        self._parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}"{rim}/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        ink: str = "",
        anchor: str = "start",
        size: int = SMALL,
        bold: bool = False,
    ) -> None:
        """One line of text on the base line `y`; `anchor` is start, middle or end."""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size}" text-anchor="{anchor}"{weight} '
            f'fill="{ink or self.inks.muted}">{escaped(text)}</text>'
        )

    def inline(self) -> str:
        """The picture for a page of HTML, as wide as there is room."""
        return self._svg('width="100%"', "")

    def document(self, size: tuple[int, int] | None = None) -> str:
        """A file of its own, of this size in pixels, in which the picture keeps its shape, or its own size."""
        width, height = size or (round(self.width), round(self.height))
        ground = f'<rect width="{_n(self.width)}" height="{_n(self.height)}" fill="{self.inks.surface}"/>'
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        return head + self._svg(f'width="{width}" height="{height}"', ground) + "\n"

    def _svg(self, size: str, ground: str) -> str:
        name = escaped(self.title)
        body = "\n".join(filter(None, [f"<title>{name}</title>", ground, *self._parts]))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_n(self.width)} {_n(self.height)}" '
            f'role="img" aria-label="{name}" font-family="{FONTS}">\n{body}\n</svg>'
        )


def _n(value: float) -> str:
    """A number with as many digits as a screen can show."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Frame:
    """The part of a drawing that a plot fills, and what its edges stand for."""

    drawing: Drawing
    left: float
    top: float
    right: float
    bottom: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        """Where a value lies, in pixels."""
        low, high = self.x_range
        return self.left + (self.right - self.left) * (value - low) / (high - low or 1)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low or 1)

    def axes(self, captions: tuple[str, str], x_ticks: Iterable[float], y_ticks: Iterable[float]) -> None:
        """Ticks with a faint grid, and what the axes count."""
        draw, inks = self.drawing, self.drawing.inks
        for tick in y_ticks:
            draw.line(self.left, self.y(tick), self.right, self.y(tick), inks.line)
            draw.text(self.left - 6, self.y(tick) + 4, f"{tick:g}", anchor="end")
        for tick in x_ticks:
            draw.line(self.x(tick), self.bottom, self.x(tick), self.bottom + 4, inks.line)
            draw.text(self.x(tick), self.bottom + 16, f"{tick:g}", anchor="middle")
        draw.line(self.left, self.bottom, self.right, self.bottom, inks.muted)
        draw.text(self.right, self.bottom + 30, captions[0], anchor="end")
        draw.text(4, self.top - 8, captions[1])


def frame_in(drawing: Drawing, x_range: tuple[float, float], y_range: tuple[float, float], *, top: float = 44) -> Frame:
    """A frame with room for ticks, captions, and above it for a legend."""
    return Frame(drawing, 40, top, drawing.width - 12, drawing.height - 36, x_range, y_range)


def whole_ticks(low: int, high: int, most: int = 10) -> list[int]:
    """At most so many round numbers from `low` to `high`, and both ends."""
    steps = (step * 10**power for power in range(9) for step in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= most)
    inside = [
        at for at in range(-(-low // step) * step, high + 1, step) if at - low > step / 2 and high - at > step / 2
    ]
    return sorted({low, *inside, high})


SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
