"""Charts as inline SVG: no script, colours from the style sheet, and a sentence for people who cannot see them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from markupsafe import Markup, escape

from ..chart_records import CalibrationPoint, Histogram, TimeSeries
from ..records import Annotator, Json, TrendPoint
from .template_tools import verdict_class

WIDTH, HEIGHT = 480, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 34
_INNER_WIDTH, _INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM


def histogram(data: Histogram, description: str, axis: str, as_percent: bool = False) -> Markup:
    step = (data.high - data.low) / len(data.counts)
    edges = [_edge(data.low + number * step, as_percent) for number in range(len(data.counts) + 1)]
    names = [f"{low} to {high}" for low, high in pairwise(edges)]
    marks = [_edge(value, as_percent) for value in (data.low, (data.low + data.high) / 2, data.high)]
    return _bars(data.counts, names, marks, description, axis)


def over_time(data: TimeSeries, description: str) -> Markup:
    start = datetime.fromisoformat(data.first)
    form = "%d %b %H:%M" if data.seconds < 86400 else "%d %b %Y"
    periods = range(len(data.counts) + 1)
    times = [(start + timedelta(seconds=data.seconds * number)).strftime(form) for number in periods]
    return _bars(data.counts, times, [times[0], "", times[-1]], description, "when they were submitted (UTC)")


def _bars(counts: Sequence[int], names: Sequence[str], marks: Sequence[str], description: str, axis: str) -> Markup:
    highest = max(counts, default=0) or 1
    width = _INNER_WIDTH / max(len(counts), 1)
    parts = [
        _frame(marks, axis),
        _text(LEFT - 6, TOP + 8, f"{highest:,}", "end"),
        _text(LEFT - 6, HEIGHT - BOTTOM, "0", "end"),
    ]
    for position, (count, name) in enumerate(zip(counts, names, strict=False)):
        height = _INNER_HEIGHT * count / highest
        if count:
            bar = (
                '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}: {:,}</title></rect>'
            )
            left, top = LEFT + position * width + 0.5, HEIGHT - BOTTOM - height
            parts.append(Markup(bar).format(left, top, max(width - 1, 1), height, name, count))  # noqa: S704
    return _svg(parts, description)


def calibration(points: Sequence[CalibrationPoint], description: str) -> Markup:
    """Confidence against the share that is right; on the diagonal both are equal."""
    parts = [_frame(["0%", "50%", "100%"], "confidence, without knowing the gold"), *_shares()]
    parts.append(_line([(0.0, 0.0), (1.0, 1.0)], "guide"))
    for point in points:
        words = f"confidence {point.confidence:.0%}, {point.right:.0%} right, {point.labels:,} labels"
        radius = 3 + min(point.labels, 100) ** 0.5 / 2
        parts.append(_dot(_place(point.confidence, point.right), radius, words))
    return _svg(parts, description)


def trend(points: Sequence[TrendPoint], description: str) -> Markup:
    """An annotator's agreement with the consensus, from the first answers to the last."""
    last = max(len(points) - 1, 1)
    places = [(number / last, point.agreement or 0.0) for number, point in enumerate(points)]
    parts = [_frame(["first answers", "", "last answers"], ""), *_shares(), _line(places, "line")]
    for place, point in zip(places, points, strict=True):
        until = point.until[:16].replace("T", " ")
        parts.append(_dot(_place(*place), 3, f"{place[1]:.0%} of {point.answers:,} answers up to {until}"))
    return _svg(parts, description)


def skills(people: Sequence[Annotator], description: str) -> Markup:
    """Skill with its standard error against the adversary probability; a point for everybody who has both."""
    points = [
        (one, one.skill, one.skill_se or 0.0, one.adversary_probability)
        for one in people
        if one.skill is not None and one.adversary_probability is not None
    ]
    if not points:
        return Markup("")
    edges = [skill + sign * error for _, skill, error, _ in points for sign in (-1, 1)]
    low, high = min(edges), max(edges)
    span = (high - low) or 1.0
    marks = [f"{low:.1f}", f"{(low + high) / 2:.1f}", f"{high:.1f}"]
    parts = [_frame(marks, "skill, with its standard error"), *_shares()]
    for one, skill, error, adversary in points:
        x, y = _place((skill - low) / span, adversary)
        reach = error / span * _INNER_WIDTH
        bar = Markup('<path class="reach" d="M{:.1f} {:.1f}h{:.1f}"/>').format(x - reach, y, 2 * reach)
        words = f"{one.name}: {one.verdict}, skill {skill:.1f}"
        parts.append(bar + _dot((x, y), 4, words, verdict_class(one.verdict)))
    return _svg(parts, description)


def boxes(labelled: Sequence[tuple[str, Json]], width: float, height: float, description: str) -> Markup:
    """Boxes (label, value in percent) where they are on an image of this size."""
    across, down = WIDTH / 100, WIDTH * height / width / 100
    frame = Markup('<rect class="frame" x="0" y="0" width="{:.0f}" height="{:.0f}"/>').format(WIDTH, 100 * down)
    parts = [frame]
    for label, value in labelled:
        x, y = value["x"] * across, value["y"] * down
        turned = Markup('<g transform="rotate({:.1f} {:.1f} {:.1f})">').format(value["rotation"], x, y)
        box = Markup('<rect class="box" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/></g>')
        box = box.format(x, y, value["width"] * across, value["height"] * down)
        parts += [turned + box, _text(x + 3, y + 12, label, "start")]
    return _svg(parts, description, 100 * down)


def _dot(place: tuple[float, float], radius: float, words: str, kind: str = "") -> Markup:
    circle = Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>')
    return circle.format(kind, *place, radius, words)


def _shares() -> list[Markup]:
    return [_text(LEFT - 6, _place(0, share)[1] + 4, f"{share:.0%}", "end") for share in (0.0, 0.5, 1.0)]


def _place(across: float, up: float) -> tuple[float, float]:
    return LEFT + across * _INNER_WIDTH, HEIGHT - BOTTOM - up * _INNER_HEIGHT


def _line(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    path = "L".join("{:.1f} {:.1f}".format(*_place(*point)) for point in points)
    return Markup('<path class="{}" d="M{}"/>').format(kind, path)


def _frame(marks: Sequence[str], axis: str) -> Markup:
    """The two axes, what is at the ends and the middle of the lower one, and what it is."""
    low = HEIGHT - BOTTOM
    axes = Markup('<path class="axis" d="M{} {}V{}H{}"/>').format(LEFT, TOP, low, WIDTH - RIGHT)
    places = ((LEFT, "start"), (LEFT + _INNER_WIDTH / 2, "middle"), (WIDTH - RIGHT, "end"))
    texts = [_text(x, low + 14, mark, anchor) for (x, anchor), mark in zip(places, marks, strict=True)]
    return Markup("").join([axes, *texts, _text(LEFT + _INNER_WIDTH / 2, HEIGHT - 5, axis, "middle")])


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return (
        Markup('<text x="{:.0f}" y="{:.0f}" text-anchor="{}">{}</text>').format(x, y, anchor, text)
        if text
        else Markup("")
    )


def _svg(parts: Sequence[Markup], description: str, height: float = HEIGHT) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, round(height), escape(description)
    )
    return opening + Markup("").join(parts) + Markup("</svg>")


def _edge(value: float, as_percent: bool) -> str:
    return f"{value:.0%}" if as_percent else f"{value:.1f}"
