"""What the fit of a project, or one fit for each of its controls, says about tasks and people. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, partial
from typing import Any

from ..aggregation import Consensus, aggregate
from ..controls import NO_REGION
from .crowd import Crowd, Key
from .drawings import Unit

DECIMALS = 3
NUMBERS = ("skill", "skill_se", "adversary_probability", "weight", "accuracy")  # of an annotator, where there are


def find(
    crowd: Crowd, method: str = "auto", *, apart: bool = False, progress: Callable[[float], None] = lambda _: None
) -> Findings:
    """Aggregates a crowd: all questions together, which share the annotators, or each control apart.

    Where people draw regions, all who saw a task say whether there is one, and a second fit, of those who drew it, says
    what it is and who is contrary: in the first, not to draw what others invented looks like knowledge of names, and to
    draw at random looks like intent.
    """
    answered = set(crowd.questions)
    controls: list[set[str]] = [answered]
    if apart:
        asked = [control.questions for control in crowd.config.controls]
        asked += [control.questions for control in crowd.config.regions]
        names = [{question.name for question in questions} & answered for questions in asked]
        controls = [own.difference(*names[:place]) for place, own in enumerate(names)]  # each question once
    fits = [crowd.of(names) for names in controls if names]
    named = crowd.named() if crowd.groups else None
    judging = [named] if named is not None and named.tasks else []
    share = 1 / max(len(fits) + len(judging), 1)
    found = [
        _consensus(part, method, partial(_part, progress, done * share, share))
        for done, part in enumerate([*fits, *judging])
    ]
    return Findings(found[: len(fits)], found[-1] if judging else None, crowd.gold)


class Findings:
    """One fit, or several over different questions, seen as one."""

    def __init__(self, parts: list[Consensus], judge: Consensus | None = None, gold: Collection[Key] = ()) -> None:
        self.parts, self._judge = parts, judge
        self._drawn = set() if judge is None else set(judge.labels)
        self._known = frozenset(gold)
        self._of = {row["question"]: part for part in parts for row in part.tasks}

    def lifted(self, unit: Unit, question: str) -> tuple[str, float]:
        """Label and confidence by what the crowd says, gold or not, all by one fit: nothing tells gold from others."""
        return self._decided(self._of[question].alike, unit, question, alike=True)

    def unseen(self, unit: Unit, question: str) -> tuple[str, float]:
        """The same, of gold by fits that did not know it: to be compared with it."""
        return self._decided(self._of[question], unit, question, alike=False)

    def posterior(self, unit: Unit, question: str) -> dict[str, float]:
        """Label → probability; gold is certain."""
        return self._posterior(self._of[question], unit, question, alike=False, lift_gold=False)

    def _decided(self, part: Consensus, unit: Unit, question: str, alike: bool) -> tuple[str, float]:
        if not self._is_named(unit, question):
            return part.lifted((unit, question))
        found = self._posterior(part, unit, question, alike, lift_gold=True)
        if found[NO_REGION] > 0.5:
            return NO_REGION, found[NO_REGION]
        names = self._names(alike)
        label = names.lifted((unit, question))[0]
        return label, found[label]

    def _posterior(self, part: Consensus, unit: Unit, question: str, alike: bool, lift_gold: bool) -> dict[str, float]:
        found: dict[str, float] = part.posterior((unit, question), lift_gold)
        if not self._is_named(unit, question):
            return found
        named = self._names(alike).posterior((unit, question), lift_gold)
        there = 1 - found[NO_REGION]
        return {label: p if label == NO_REGION else there * named[label] for label, p in found.items()}

    def _names(self, alike: bool) -> Consensus:
        """The fit of those who drew."""
        judge = self._judge or self.parts[0]
        return judge.alike if alike else judge

    @cached_property
    def labels(self) -> dict[Key, str]:
        """(Unit, question) → label; gold tasks have their gold label."""
        return {
            key: label if key in self._known or not self._is_named(*key) else self.lifted(*key)[0]
            for part in self.parts
            for key, label in part.labels.items()
        }

    @cached_property
    def confidence(self) -> dict[Key, float]:
        """(Task, question) → probability that its label is right, 1 for gold; of questions about whole tasks."""
        return {key: sure for part in self.parts for key, sure in part.confidence.items()}

    @cached_property
    def difficulty(self) -> dict[Key, float | None]:
        return {(row["task"], row["question"]): row["difficulty"] for part in self.parts for row in part.tasks}

    @cached_property
    def people(self) -> dict[int, dict[str, Any]]:
        """Annotator → what is known of them; of several fits the mean, each weighing as much as answers went into it.

        The word is that of the fit with most answers, but `contrary` if any of them says so.
        """
        rows: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
        for part in self.parts:
            for row in part.annotators:
                rows[row["annotator"]].append(row)
        people = {annotator: dict(found[0]) if len(found) == 1 else _one(found) for annotator, found in rows.items()}
        if self._judge is not None:
            judged = {row["annotator"]: row for row in self._judge.annotators}
            people = {annotator: _judged(row, judged.get(annotator)) for annotator, row in people.items()}
        return people

    def _is_named(self, unit: Unit, question: str) -> bool:
        """Whether it is about a region that those who drew it have names for."""
        return isinstance(unit, tuple) and unit[1] == question and (unit, question) in self._drawn

    @property
    def method(self) -> str:
        return _alike(part.facts["method"] for part in self.parts)

    @property
    def summary(self) -> dict[str, Any]:
        """The facts a person wants, ready for JSON."""
        confidence = [self.lifted(*key)[1] for key in self.labels]
        verdicts = Counter(row["verdict"] for row in self.people.values())
        return {
            "annotators": len(self.people),
            "method": self.method,
            "form": _alike(part.facts["form"] for part in self.parts),
            "why": _alike(part.facts["why"] for part in self.parts),
            "verdicts": dict(verdicts),
            "contrary": sorted(who for who, row in self.people.items() if row["verdict"] == "contrary"),
            "confidence": rounded(sum(confidence) / len(confidence)),
            "differ_from_plurality": sum(part.plurality_disagreements for part in self.parts),
            "labels": len(confidence),
        }

    @property
    def warnings(self) -> list[str]:
        return list(dict.fromkeys(warning for part in self.parts for warning in part.warnings))


def rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), DECIMALS)


def _consensus(crowd: Crowd, method: str, progress: Callable[[float], None]) -> Consensus:
    return aggregate(
        crowd.tasks,
        crowd.annotators,
        crowd.labels,
        gold=crowd.gold,
        method=method,
        label_set=crowd.label_set,
        questions=crowd.questions,
        progress=lambda _, fraction: progress(fraction),
    )


def _part(progress: Callable[[float], None], before: float, share: float, fraction: float) -> None:
    progress(before + share * fraction)


def _one(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    merged = dict(max(rows, key=lambda row: row["answers"]))
    for name in NUMBERS:
        known = [(row[name], row["answers"]) for row in rows if row[name] is not None]
        merged[name] = sum(value * answers for value, answers in known) / sum(n for _, n in known) if known else None
    for name in ("answers", "gold_answers", "gold_correct"):
        merged[name] = sum(row[name] or 0 for row in rows)
    if any(row["verdict"] == "contrary" for row in rows):
        merged["verdict"] = "contrary"
    return merged


def _judged(row: dict[str, Any], by: Mapping[str, Any] | None) -> dict[str, Any]:
    """Somebody who draws: whether they are contrary is for the fit of names to say."""
    if by is None:  # who never drew can have avoided nothing
        verdict = "random" if row["verdict"] == "contrary" else row["verdict"]
        return {**row, "adversary_probability": 0.0, "verdict": verdict}
    decided = row["verdict"] if "contrary" not in (row["verdict"], by["verdict"]) else by["verdict"]
    return {**row, "adversary_probability": by["adversary_probability"], "verdict": decided}


def _alike(values: Any) -> str:
    """One value, or the several there are, each once."""
    return "; ".join(dict.fromkeys(str(value) for value in values if value is not None))
