"""Describes the result of an aggregation to a person in a few lines."""

from __future__ import annotations

import heapq
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..records import VERDICTS, AnnotatorScore, Json, count
from .files import AnswerColumns, GoldKey

if TYPE_CHECKING:
    from ..aggregation import Consensus

Picker = Callable[..., list[Json]]  # heapq.nsmallest or nlargest

MAX_NAMES = 5
MAX_NAME_LENGTH = 40
WIDTH = 100


def summary(answers: AnswerColumns, gold: Mapping[GoldKey, str], consensus: Consensus, written: Sequence[Path]) -> str:
    """The whole summary: headings and what belongs to them."""
    tasks, scores = consensus.tasks, consensus.scores
    counts = [_tasks(tasks), _answers(len(answers.tasks), tasks), count(len(scores), "annotator")]
    counts += [count(len(gold), "gold label")] if gold else ["no gold"]
    without_gold = [task for task in tasks if _key(task) not in gold]
    least_confident = _extremes(without_gold, "confidence", heapq.nsmallest)
    sections = [
        ("Input", ", ".join(counts)),
        ("Method", _method(consensus.facts)),
        ("Gold", _agreement_with_gold(consensus)),
        ("Plurality", f"labels that differ from the most frequent answer: {consensus.plurality_disagreements:,}"),
        ("Annotators", verdict_counts(Counter(score.verdict for score in scores))),
        ("Contrary", _contrary(scores)),
        ("Undecided", _undecided(tasks)),
        ("Confidence", f"lowest for {least_confident}" if least_confident else ""),
        ("Hardest", _extremes(without_gold, "difficulty", heapq.nlargest)),
        ("Written", ", ".join(str(path) for path in written)),
    ]
    width = max(len(heading) for heading, _ in sections) + 2
    return "\n".join(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=heading.ljust(width),
            subsequent_indent=" " * width,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for heading, text in sections
        if text
    )


def printable(value: object) -> str:
    """A name or label for the terminal: on one line, not too long, and without control characters."""
    text = str(value)
    text = text if len(text) <= MAX_NAME_LENGTH else text[: MAX_NAME_LENGTH - 1] + "…"
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def listed(names: Sequence[str]) -> str:
    """ "a, b and c" """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def verdict_counts(counts: Mapping[str, int]) -> str:
    """ "2 trusted, 1 random" """
    return ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS if counts.get(verdict))


def _method(facts: Json) -> str:
    form = f", form {facts['form']}" if facts.get("form") else ""
    why = f": {facts['why']}" if facts.get("why") else ""
    rounds = f" ({count(facts['iterations'], 'iteration')})" if facts.get("iterations") else ""
    return f"{facts['method']}{form}{rounds}{why}"


def _agreement_with_gold(consensus: Consensus) -> str:
    """How often the consensus gives the gold label without knowing it."""
    answered, right = consensus.gold_agreement
    if not answered:
        return ""
    share = right / answered
    return f"without knowing them, the consensus gets {right} of {count(answered, 'gold label')} right ({share:.1%})"


def _tasks(tasks: Sequence[Json]) -> str:
    """How many tasks, and where they have several questions, how many answers to find."""
    named = len({task["task"] for task in tasks})
    return count(named, "task") + (f" ({count(len(tasks), 'question')})" if len(tasks) > named else "")


def _answers(given: int, tasks: Sequence[Json]) -> str:
    """How many answers count, and how many were superseded by a later one."""
    counted = sum(task["answers"] for task in tasks)
    return count(counted, "answer") + (f" ({given - counted:,} more superseded)" if given > counted else "")


def _contrary(scores: Iterable[AnnotatorScore]) -> str:
    """The annotators who avoid the right label, the most confident verdicts first."""
    contrary = [(score.adversary_probability or 0.0, score) for score in scores if score.verdict == "contrary"]
    contrary.sort(key=lambda one: -one[0])
    names = [f"{printable(score.annotator)} ({p:.0%} confident)" for p, score in contrary[:MAX_NAMES]]
    return _some(names, len(contrary))


def _undecided(tasks: Sequence[Json]) -> str:
    undecided = [_key(task) for task in tasks if task["state"] == "undecided"]
    return _some([printable(_title(key)) for key in undecided[:MAX_NAMES]], len(undecided))


def _extremes(tasks: Iterable[Json], column: str, pick: Picker) -> str:
    known = [task for task in tasks if task[column] is not None]
    chosen = pick(MAX_NAMES, known, key=lambda task: task[column])
    return "; ".join(
        f"{printable(_title(_key(task)))}: {printable(task['label'])} ({task['confidence']:.0%})" for task in chosen
    )


def _key(task: Json) -> GoldKey:
    return (task["task"], task["question"]) if "question" in task else task["task"]


def _title(key: GoldKey) -> str:
    return " / ".join(key) if isinstance(key, tuple) else str(key)


def _some(names: Sequence[str], total: int) -> str:
    if not names:
        return ""
    return ", ".join(names) + (f" and {total - len(names):,} more" if total > len(names) else "")
