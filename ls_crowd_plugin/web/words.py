"""Numbers in plain words: about answers, never about intent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..controls import NO_REGION
from ..records import TaskLabel, Vote, count, percent
from ..store import QueueEntry

MAX_OTHERS = 3  # labels beside a task's own whose answers are counted

# The names of the parts of a probability → what they are about; of forms the name of their family.
PART_WORDS = {
    "habits": "who confuses which labels",
    "leanings": "who leans to which labels",
    "agreement": "votes, weighted by agreement",
    "skill": "who is right how often",
    "paper": "who is right how often",
    "ordered": "who is how far off on the scale",
    **dict.fromkeys(("neg", "sw", "hyb"), "votes, weighted, some of them against the label"),
    "plu": "votes, each counting the same",
    "votes": "share of the weighted votes",
    "misled": "some tasks mislead everybody",
    "unknown": "what is assumed of somebody unknown",
    "gold": "gold",
}


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


def part_words(name: str) -> str:
    """A part of a probability in words; forms of one family have the same."""
    return PART_WORDS.get(name.partition("-")[0], name)


def tenths_of_percent(value: float) -> int:
    """What `percent` shows, as a whole number."""
    return round(10 * float(percent(value).rstrip("%")))


def explain(label: TaskLabel) -> str:
    """Who said what, and what follows from it: no more than the probabilities on the same page say."""
    if label.gold is not None:
        return f"“{label.gold}” is gold: it is known to be right, whatever people answered."
    reason = _undecided(label) if label.state == "undecided" else _decided(label)
    return f"{_who_said_what(label)} {reason}"


def _who_said_what(label: TaskLabel) -> str:
    votes = dict(count_votes(label.votes))
    own, total = votes.pop(label.label, 0), len(label.votes)
    others = [f"“{name}” has {number}" for name, number in list(votes.items())[:MAX_OTHERS]]
    if len(votes) > MAX_OTHERS:
        others.append(f"other labels have {sum(list(votes.values())[MAX_OTHERS:])}")
    if not own:
        return f"Nobody answered “{label.label}”: of {count(total, 'answer')}, {_in_words(others)}."
    if not others:
        return f"“{label.label}” has {'the only answer' if total == 1 else f'all {total} answers'}."
    return f"“{label.label}” has {own} of {count(total, 'answer')}, {_in_words(others)}."


def _decided(label: TaskLabel) -> str:
    other, lead = _strongest_other(label)
    if lead < 0 and label.part and other == NO_REGION:
        return "That there is no region is more probable than this label alone, but not than that there is a region."
    if lead < 0:
        return f"“{other}” is more probable, but “{label.label}” has the least expected distance from the truth."
    if lead == 0:
        return f"“{label.label}” is about as probable as “{other}”."
    if all(vote.label != label.label for vote in label.votes):
        return (
            f"The answers speak against the labels they name, and “{label.label}” is the most probable of the others."
        )
    if label.plurality is not None and label.plurality != label.label:
        return f"The most frequent answer was “{label.plurality}”, but “{label.label}” is more probable."
    return "It is the most probable label."


def _undecided(label: TaskLabel) -> str:
    votes = dict(count_votes(label.votes))
    _, lead = _strongest_other(label)
    if lead > 0:
        rank = "only the most probable one"
    elif lead == 0:
        rank = "only one of the most probable ones"
    elif votes.get(label.label, 0) == max(votes.values(), default=0):
        rank = "only the most frequent answer" if label.plurality == label.label else "only one of the most frequent"
    else:
        rank = "not the most probable one"
    reason = f"the answers do not tell which label is right, and “{label.label}” is {rank}"
    return f"Undecided: {reason}. One more answer by somebody trusted would decide it."


def _strongest_other(label: TaskLabel) -> tuple[str, int]:
    """The most probable of the other labels, and how far the label is ahead of it, as shown: in tenths of a percent."""
    others = {name: p for name, p in label.posterior.items() if name != label.label}
    other = max(others, key=others.__getitem__, default="")
    return other, tenths_of_percent(label.confidence) - tenths_of_percent(others.get(other, 0.0))


def _in_words(names: Sequence[str]) -> str:
    """Join names: "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
