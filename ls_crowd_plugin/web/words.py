"""Numbers in plain words: about answers, never about intent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

CLEARLY = 0.5  # a weight, from which one says that it weighs

VERDICTS = {
    "trusted": ("trusted", "These answers are right so often that they decide."),
    "ordinary": ("ordinary", "These answers are right often enough to count."),
    "unreliable": ("unreliable", "These answers are often wrong and count little."),
    "random": ("answers at random", "These answers do not depend on the task: guesses, or always the same label."),
    "contrary": ("consistently contrary", "These answers avoid the right label; they count against what they name."),
    "too little to say": ("too little to say", "There are too few answers to judge by."),
}


def ago(seconds: float | None) -> str:
    """How long ago something was."""
    if seconds is None:
        return "never"
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
    return "just now" if seconds < 5 else f"{seconds:.0f} seconds ago"


def why(row: Mapping[str, Any], weights: Mapping[int, float | None]) -> str:
    """Why a label won: how many said what, and what their voices weigh together."""
    if row["gold"] is not None:
        return f"“{row['gold']}” is gold: it is known, whatever was answered."
    voices: dict[str, list[float]] = defaultdict(list)
    for annotator, label in row["said"]:
        voices[label].append(weights.get(annotator) or 0.0)
    won = voices.pop(row["label"], [])
    rest = sorted(voices.items(), key=lambda each: -sum(each[1]))[:3]
    heaviest = max((sum(weights) for _, weights in rest), default=0.0)
    if not won:
        avoided = sum(sum(weights) for _, weights in rest) < -CLEARLY
        reason = "those who answered tend to avoid the right label" if avoided else "the answers say next to nothing"
        sentence = f"Nobody said “{row['label']}”, but {reason}, and it is what is left, or common."
    else:
        sentence = f"“{row['label']}” won with {_answers(len(won))} that {_weigh(won)} {sum(won):+.1f}"
        sentence += f", against {'; '.join(_against(*each) for each in rest)}." if rest else "."
        if heaviest > sum(won):
            sentence += " How common each label is, and who mixes up which labels, decided."
    if row["plurality"] is not None and row["plurality"] != row["label"]:
        sentence += f" The most frequent answer was “{row['plurality']}”."
    return sentence


def _against(label: str, weights: list[float]) -> str:
    return f"{_answers(len(weights))} for “{label}” with {sum(weights):+.1f}"


def _answers(number: int) -> str:
    return f"{number} answer{'' if number == 1 else 's'}"


def _weigh(voices: list[float]) -> str:
    return "weighs" if len(voices) == 1 else "together weigh"
