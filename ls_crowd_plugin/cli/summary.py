"""Says in a few lines, for a person, what an aggregation found."""

from __future__ import annotations

import heapq
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import AnswerColumns, GoldKey

if TYPE_CHECKING:
    from ..aggregation import Consensus

VERDICTS = ("trusted", "ordinary", "unreliable", "random", "contrary", "too little to say")

_NAMES_SHOWN = 5
_LONGEST_NAME = 40
_WIDTH = 100


def summary(answers: AnswerColumns, gold: Mapping[GoldKey, str], consensus: Consensus, written: Sequence[Path]) -> str:
    """The whole summary; every line of it is a heading and what belongs to it."""
    tasks, annotators = consensus.tasks, consensus.annotators
    counts = [_tasks(tasks), _answers(len(answers.tasks), tasks), _count(len(annotators), "annotator")]
    counts += [_count(len(gold), "gold label")] if gold else ["no gold"]
    undecided = [task for task in tasks if _key(task) not in gold]
    sections = [
        ("Input", ", ".join(counts)),
        ("Method", _method(consensus.facts)),
        ("Gold", _agreement_with_gold(consensus)),
        ("Plurality", f"labels that differ from the most frequent answer: {consensus.plurality_disagreements:,}"),
        ("Annotators", _verdicts(annotators)),
        ("Contrary", _contrary(annotators)),
        ("Doubtful", _doubtful(consensus)),
        ("Least sure", _extremes(undecided, "confidence", heapq.nsmallest)),
        ("Hardest", _extremes(undecided, "difficulty", heapq.nlargest)),
        ("Written", ", ".join(str(path) for path in written)),
    ]
    width = max(len(heading) for heading, _ in sections) + 2
    return "\n".join(
        textwrap.fill(
            text,
            _WIDTH,
            initial_indent=heading.ljust(width),
            subsequent_indent=" " * width,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for heading, text in sections
        if text
    )


def shown(value: object) -> str:
    """A name or label for the terminal: on one line, not too long, and unable to move the cursor."""
    text = str(value)
    text = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def in_words(names: Sequence[str]) -> str:
    """Names as an enumeration: "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _method(facts: Mapping[str, Any]) -> str:
    form = f", form {facts['form']}" if facts.get("form") else ""
    why = f": {facts['why']}" if facts.get("why") else ""
    rounds = f" ({_count(facts['iterations'], 'iteration')})" if facts.get("iterations") else ""
    return f"{facts['method']}{form}{rounds}{why}"


def _agreement_with_gold(consensus: Consensus) -> str:
    """How often the crowd, not being told, gives the gold label."""
    answered, right = consensus.gold_agreement
    if not answered:
        return ""
    share = right / answered
    return f"the crowd, not being told, agrees with {right} of {_count(answered, 'gold label')} ({share:.1%})"


def _tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    """How many tasks, and where they have several questions, how many answers to find."""
    named = len({task["task"] for task in tasks})
    return _count(named, "task") + (f" ({_count(len(tasks), 'question')})" if len(tasks) > named else "")


def _answers(given: int, tasks: Sequence[Mapping[str, Any]]) -> str:
    """How many answers count, and how many were superseded by a later one."""
    counted = sum(task["answers"] for task in tasks)
    return _count(counted, "answer") + (f" ({given - counted:,} more superseded)" if given > counted else "")


def _verdicts(annotators: Iterable[Mapping[str, Any]]) -> str:
    counts = Counter(annotator["verdict"] for annotator in annotators)
    return ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS if counts[verdict])


def _contrary(annotators: Iterable[Mapping[str, Any]]) -> str:
    """Names those who answer against what they seem to know, the surest first."""
    contrary = [annotator for annotator in annotators if annotator["verdict"] == "contrary"]
    contrary.sort(key=lambda annotator: -annotator["adversary_probability"])
    return _some(
        [f"{shown(each['annotator'])} ({each['adversary_probability']:.0%} sure)" for each in contrary[:_NAMES_SHOWN]],
        len(contrary),
    )


def _doubtful(consensus: Consensus) -> str:
    doubtful = consensus.doubtful
    return _some([shown(_title(key)) for key in doubtful[:_NAMES_SHOWN]], len(doubtful))


def _extremes(tasks: Iterable[Mapping[str, Any]], column: str, pick: Any) -> str:
    having = [task for task in tasks if task[column] is not None]
    chosen = pick(_NAMES_SHOWN, having, key=lambda task: task[column])
    return "; ".join(
        f"{shown(_title(_key(each)))}: {shown(each['label'])} ({each['confidence']:.0%})" for each in chosen
    )


def _key(task: Mapping[str, Any]) -> Any:
    return (task["task"], task["question"]) if "question" in task else task["task"]


def _title(key: Any) -> str:
    return " / ".join(key) if isinstance(key, tuple) else str(key)


def _some(names: Sequence[str], total: int) -> str:
    if not names:
        return ""
    return ", ".join(names) + (f" and {total - len(names):,} more" if total > len(names) else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
