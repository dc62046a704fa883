"""Charts as inline SVG: no script, colours from the style sheet, and a sentence for who cannot see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup, escape

WIDTH, HEIGHT = 480, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 34
_INNER_WIDTH, _INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM


def histogram(counts: Sequence[int], low: float, high: float, told: str, axis: str, percent: bool = False) -> Markup:
    """Equal stretches from `low` to `high`, and how many there are in each."""
    step = (high - low) / len(counts)
    names = [
        f"{_value(low + i * step, percent)} to {_value(low + (i + 1) * step, percent)}" for i in range(len(counts))
    ]
    marks = [_value(low, percent), _value((low + high) / 2, percent), _value(high, percent)]
    return _bars(counts, names, marks, told, axis)


def over_time(first: str, seconds: int, counts: Sequence[int], told: str) -> Markup:
    """Answers in equal stretches of time."""
    start = datetime.fromisoformat(first)
    form = "%d %b %H:%M" if seconds < 86400 else "%d %b %Y"
    times = [(start + timedelta(seconds=seconds * i)).strftime(form) for i in range(len(counts) + 1)]
    return _bars(counts, times, [times[0], "", times[-1]], told, "when they were given (UTC)")


def _bars(counts: Sequence[int], names: Sequence[str], marks: Sequence[str], told: str, axis: str) -> Markup:
    most = max(counts, default=0) or 1
    width = _INNER_WIDTH / max(len(counts), 1)
    parts = [
        _frame(marks, axis),
        _text(LEFT - 6, TOP + 8, f"{most:,}", "end"),
        _text(LEFT - 6, HEIGHT - BOTTOM, "0", "end"),
    ]
    for place, (count, name) in enumerate(zip(counts, names, strict=False)):
        height = _INNER_HEIGHT * count / most
        if count:
            bar = (
                '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}: {:,}</title></rect>'
            )
            left, top = LEFT + place * width + 0.5, HEIGHT - BOTTOM - height
            parts.append(Markup(bar).format(left, top, max(width - 1, 1), height, name, count))  # noqa: S704
    return _svg(parts, told)


def calibration(points: Sequence[Sequence[float]], told: str) -> Markup:
    """Confidence against the share that was right; the diagonal is a confidence that keeps its word."""
    parts = [_frame(["0 %", "50 %", "100 %"], "confidence, gold lifted"), *_shares()]
    parts.append(_line([(0.0, 0.0), (1.0, 1.0)], "guide"))
    for sure, right, count in points:
        words = f"{sure:.0%} sure, {right:.0%} right, {int(count):,} labels"
        parts.append(_dot(_place(sure, right), 3 + min(count, 100) ** 0.5 / 2, words))
    return _svg(parts, told)


def trend(points: Sequence[Sequence[Any]], told: str) -> Markup:
    """An annotator's agreement with the consensus, from the first answers to the last."""
    last = max(len(points) - 1, 1)
    places = [(index / last, float(share)) for index, (_, share, _) in enumerate(points)]
    parts = [_frame(["first answers", "", "last answers"], ""), *_shares(), _line(places, "line")]
    for place, (when, share, count) in zip(places, points, strict=True):
        words = f"{share:.0%} of {count:,} answers up to {str(when)[:16].replace('T', ' ')}"
        parts.append(_dot(_place(*place), 3, words))
    return _svg(parts, told)


def skills(people: Sequence[Mapping[str, Any]], told: str) -> Markup:
    """Skill with its standard error against the adversary probability; a point for everybody who has both."""
    known = [each for each in people if each["skill"] is not None and each["adversary_probability"] is not None]
    if not known:
        return Markup("")
    edges = [each["skill"] + sign * (each["skill_se"] or 0.0) for each in known for sign in (-1, 1)]
    low, high = min(edges), max(edges)
    span = (high - low) or 1.0
    parts = [
        _frame([f"{low:.1f}", f"{(low + high) / 2:.1f}", f"{high:.1f}"], "skill, with its standard error"),
        *_shares(),
    ]
    for each in known:
        x, y = _place((each["skill"] - low) / span, each["adversary_probability"])
        reach = (each["skill_se"] or 0.0) / span * _INNER_WIDTH
        words = f"{each['name']}: {each['verdict']}, skill {each['skill']:.1f}"
        point = Markup('<path class="reach" d="M{:.1f} {:.1f}h{:.1f}"/>').format(x - reach, y, 2 * reach)
        parts.append(point + _dot((x, y), 4, words, css_name(each["verdict"])))
    return _svg(parts, told)


def boxes(drawn: Sequence[tuple[str, Mapping[str, Any]]], width: float, height: float, told: str) -> Markup:
    """Boxes (label, value in percent) where they are on an image of this size."""
    across, down = WIDTH / 100, WIDTH * height / width / 100
    frame = Markup('<rect class="frame" x="0" y="0" width="{:.0f}" height="{:.0f}"/>').format(WIDTH, 100 * down)
    parts = [frame]
    for label, value in drawn:
        x, y = value["x"] * across, value["y"] * down
        turned = Markup('<g transform="rotate({:.1f} {:.1f} {:.1f})">').format(value["rotation"], x, y)
        box = Markup('<rect class="box" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/></g>')
        box = box.format(x, y, value["width"] * across, value["height"] * down)
        parts += [turned + box, _text(x + 3, y + 12, label, "start")]
    return _svg(parts, told, 100 * down)


def css_name(verdict: str) -> str:
    return "verdict-" + verdict.replace(" ", "-")


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


def _svg(parts: Sequence[Markup], told: str, height: float = HEIGHT) -> Markup:
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, round(height), escape(told)
    )
    return opening + Markup("").join(parts) + Markup("</svg>")


def _value(number: float, percent: bool) -> str:
    return f"{number:.0%}" if percent else f"{number:.1f}"
