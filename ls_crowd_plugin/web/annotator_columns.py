"""The columns of the table of annotators, on the page and in the report. A new column is one row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from ..records import MISSING, Annotator, percent
from .template_tools import decimal, number, verdict_badge


@dataclass(frozen=True)
class AnnotatorColumn:
    key: str  # field of Annotator, by which the table is sorted
    heading: str
    show: Callable[[Annotator], str | Markup]
    is_number: bool = True


def gold_record(annotator: Annotator) -> str:
    return f"{annotator.gold_correct} of {annotator.gold_answers}" if annotator.gold_answers else MISSING


def _skill(annotator: Annotator) -> Markup:
    shown = Markup("{}").format(decimal(annotator.skill))
    if annotator.skill_se is not None:
        shown += Markup(' <span class="quiet">± {}</span>').format(decimal(annotator.skill_se))
    return shown


ANNOTATOR_COLUMNS = (
    AnnotatorColumn("name", "Annotator", lambda one: one.name, is_number=False),
    AnnotatorColumn("verdict", "Verdict", lambda one: verdict_badge(one.verdict), is_number=False),
    AnnotatorColumn("answers", "Answers", lambda one: number(one.answers)),
    AnnotatorColumn("gold_correct", "Gold right", gold_record),
    AnnotatorColumn("agreement", "Agreement", lambda one: percent(one.agreement)),
    AnnotatorColumn("accuracy", "Accuracy", lambda one: percent(one.accuracy)),
    AnnotatorColumn("skill", "Skill", _skill),
    AnnotatorColumn("adversary_probability", "Adversary", lambda one: percent(one.adversary_probability)),
    AnnotatorColumn("weight", "Weight", lambda one: decimal(one.weight)),
    AnnotatorColumn("seconds", "Seconds", lambda one: decimal(one.seconds)),
)
