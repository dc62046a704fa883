"""Numbers in plain words: about answers, never about intent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ..records import Annotator, TaskLabel, Vote, count
from ..store import QueueEntry

CLEAR_WEIGHT = 0.5  # a sum of weights from which answers are said to point somewhere


def ago(seconds: float | None) -> str:
    """How long ago something happened."""
    if seconds is None:
        return "never"
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), name)} ago"
    return "just now" if seconds < 5 else f"{seconds:.0f} seconds ago"


def state_of(entry: QueueEntry) -> str:
    """The state of a project in the queue."""
    if entry.held_by:
        return "being processed"
    if entry.waiting is None:
        return "parked until something changes" if entry.error else "up to date"
    if entry.error:
        return f"failed, next attempt in {max(-entry.due, 0):.0f} s"
    return "waiting to be processed"


def count_votes(votes: Sequence[Vote]) -> list[tuple[str, int]]:
    """Labels and how many people gave them, the most frequent first."""
    return Counter(vote.label for vote in votes).most_common()


def explain(label: TaskLabel, people: Mapping[int, Annotator]) -> str:
    """Why a label won: how many people said what, and what their answers weigh together."""
    if label.gold is not None:
        return f"“{label.gold}” is gold: it is known to be right, whatever people answered."
    weights: dict[str, list[float]] = defaultdict(list)
    for vote in label.votes:
        annotator = people.get(vote.annotator)
        weights[vote.label].append((annotator.weight if annotator else None) or 0.0)
    if label.state == "undecided" and label.label in weights:
        return _undecided(label)
    if label.posterior.get(label.label, 1.0) < max(label.posterior.values(), default=1.0):
        return _nearest(label)
    winning = weights.pop(label.label, [])
    others = sorted(weights.items(), key=lambda other: -sum(other[1]))[:3]
    sentence = _won(label, winning, others) if winning else _nobody_said(label, others)
    if label.plurality is not None and label.plurality != label.label:
        sentence += f" The most frequent answer was “{label.plurality}”."
    return sentence


def _undecided(label: TaskLabel) -> str:
    rank = "frequent" if label.plurality == label.label else "probable"
    reason = f"the answers do not tell which label is right, and “{label.label}” is only the most {rank} one"
    return f"Undecided: {reason}. One more answer by somebody trusted would decide it."


def _nearest(label: TaskLabel) -> str:
    """On a scale, the label may be another than the most probable one."""
    probable = max(label.posterior, key=lambda name: label.posterior[name])
    reason = "of all places on the scale, it has the least expected distance from the right one"
    return f"“{label.label}” won because, {reason}. The most probable label is “{probable}”."


def _won(label: TaskLabel, winning: list[float], others: list[tuple[str, list[float]]]) -> str:
    weigh = "weighs" if len(winning) == 1 else "together weigh"
    sentence = f"“{label.label}” won with {count(len(winning), 'answer')} that {weigh} {sum(winning):+.1f}"
    against = "; ".join(f"{count(len(each), 'answer')} for “{name}” with {sum(each):+.1f}" for name, each in others)
    sentence += f", against {against}." if others else "."
    if max((sum(each) for _, each in others), default=0.0) > sum(winning):
        sentence += " It also counts how common each label is, and which labels each annotator tends to confuse."
    return sentence


def _nobody_said(label: TaskLabel, others: list[tuple[str, list[float]]]) -> str:
    avoided = sum(sum(each) for _, each in others) < -CLEAR_WEIGHT
    reason = "The people who answered tend to avoid the right label" if avoided else "The answers carry little weight"
    return f"Nobody answered “{label.label}”. {reason}, and “{label.label}” is the most probable of the other labels."
