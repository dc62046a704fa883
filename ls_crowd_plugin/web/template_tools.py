"""What templates use: filters for numbers, and the words for verdicts."""

from __future__ import annotations

from jinja2 import Environment
from markupsafe import Markup

from ..records import MISSING, SETTLED, VERDICTS, count, percent
from .words import ago, count_votes


def set_up_templates(environment: Environment) -> None:
    environment.filters |= {
        "ago": ago,
        "count": count,
        "count_votes": count_votes,
        "decimal": decimal,
        "number": number,
        "percent": percent,
    }
    environment.globals |= {"verdicts": VERDICTS, "verdict_badge": verdict_badge, "settled_from": f"{SETTLED:.0%}"}


def number(value: int | None) -> str:
    return MISSING if value is None else f"{value:,}"


def decimal(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def verdict_badge(verdict: str) -> Markup:
    """A verdict in its colour, with its sentence as a tooltip."""
    badge = Markup('<span class="verdict {}" title="{}">{}</span>')
    return badge.format(verdict_class(verdict), VERDICTS[verdict].sentence, VERDICTS[verdict].name)


def verdict_class(verdict: str) -> str:
    """The CSS class of a verdict."""
    return "verdict-" + verdict.replace(" ", "-")
