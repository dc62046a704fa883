"""Gold that contradicts the crowd so clearly that a person should look at it, wherever it came from. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from ..records import count
from .crowd import Crowd, Key
from .project_fit import ProjectFit
from .region_groups import task_of

MIN_PEOPLE = 3  # who agree on another label
CLEAR_SHARE = 0.8  # of the answers, from which people agree whatever the model thinks of them
CONFIDENT = 0.8  # the confidence in another label from which gold is doubtful
MAX_NAMED = 5


@dataclass(frozen=True)
class DoubtfulGold:
    task: int
    question: str
    gold: str
    label: str  # what the crowd says
    people: int  # who say so
    answers: int


def doubtful_gold(crowd: Crowd, fit: ProjectFit) -> list[DoubtfulGold]:
    """Gold labels that at least MIN_PEOPLE contradict by the same label: nearly all who answered, or so that a fit
    which did not know the gold is confident of it."""
    votes: dict[Key, Counter[str]] = defaultdict(Counter)
    for unit, question, label in zip(crowd.units, crowd.questions, crowd.labels, strict=True):
        votes[unit, question][label] += 1
    doubts = []
    for (unit, question), gold in sorted(crowd.gold.items(), key=lambda item: (task_of(item[0][0]), item[0][1])):
        counts = votes[unit, question]
        label, people = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
        if people < MIN_PEOPLE or label == gold:
            continue
        held_out, confidence = fit.held_out_label(unit, question)
        if people >= CLEAR_SHARE * counts.total() or (held_out == label and confidence >= CONFIDENT):
            doubts.append(DoubtfulGold(task_of(unit), question, gold, label, people, counts.total()))
    return doubts


def describe_doubts(doubts: list[DoubtfulGold]) -> list[str]:
    """One sentence for a person; none if there is nothing to look at."""
    if not doubts:
        return []
    named = "; ".join(
        f"task {one.task} ({one.question}: gold is {one.gold!r}, but {one.people} of {one.answers} say {one.label!r})"
        for one in doubts[:MAX_NAMED]
    )
    more = f"; and {len(doubts) - MAX_NAMED} more" if len(doubts) > MAX_NAMED else ""
    return [f"Please check {count(len(doubts), 'gold label')} that a confident crowd contradicts: {named}{more}."]
