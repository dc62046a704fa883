"""From a fit to one record per label: who said what, how likely each label is, and where a region is. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..controls import NO_REGION
from ..records import Explanation, LabelRegion, Part, TaskLabel, Vote, rounded
from .crowd import Crowd, Key
from .project_fit import ProjectFit
from .region_groups import RegionGroup, Unit, task_of

MAX_LABELS = 12  # in a stored posterior
MIN_PROBABILITY = 0.0005  # a smaller one would be shown as 0
PART_DECIMALS = 6  # of stored parts, so that they add up to what is shown with DECIMALS


@dataclass(frozen=True)
class FittedLabel:
    """A label with what only the rest of the analysis needs."""

    record: TaskLabel
    unit: Unit
    blind_confidence: float  # with gold lifted
    tied: tuple[str, ...]  # the most frequent answers

    @property
    def is_region(self) -> bool:
        """Whether it says if a region exists and what it is, as opposed to a detail of it."""
        return isinstance(self.unit, tuple) and self.unit[1] == self.record.question


def fitted_labels(crowd: Crowd, fit: ProjectFit) -> list[FittedLabel]:
    """All labels by task, question and part; without gold regions that nobody drew."""
    votes: dict[Key, list[Vote]] = defaultdict(list)
    rows = zip(crowd.units, crowd.annotators, crowd.questions, crowd.labels, strict=True)
    for unit, annotator, question, label in rows:
        if unit not in crowd.groups or not crowd.groups[unit].missed:
            votes[unit, question].append(Vote(annotator, label))
    ordered = sorted(votes, key=lambda key: (task_of(key[0]), key[1], _part(crowd, key[0])))
    return [_fitted_label(crowd, fit, key, votes[key], number) for number, key in enumerate(ordered)]


def _part(crowd: Crowd, unit: Unit) -> int:
    return crowd.groups[unit].number + 1 if unit in crowd.groups else 0


def _fitted_label(crowd: Crowd, fit: ProjectFit, key: Key, votes: Sequence[Vote], number: int) -> FittedLabel:
    unit, question = key
    counts = Counter(vote.label for vote in votes).most_common()
    tied = tuple(name for name, count in counts if count == counts[0][1])
    label = fit.labels[key]
    posterior = _posterior(crowd, fit, key, label)
    likely = sorted(((p, name) for name, p in posterior.items() if p >= MIN_PROBABILITY), reverse=True)
    by_trusted = {vote.label for vote in votes if fit.scores[vote.annotator].verdict == "trusted"}
    group = crowd.groups.get(unit)
    record = TaskLabel(
        number=number,
        task=task_of(unit),
        question=question,
        part=_part(crowd, unit),
        label=label,
        confidence=posterior[label],
        difficulty=fit.difficulty[key],
        answers=len(votes),
        plurality=tied[0] if len(tied) == 1 else None,
        gold=crowd.gold.get(key),
        disputed=len(by_trusted) > 1,
        votes=tuple(votes),
        posterior={name: rounded(p) or 0.0 for p, name in likely[:MAX_LABELS]},
        state="settled" if key in crowd.gold else fit.state(unit, question),
        region=None if group is None or not group.members else _region(fit, group),
        explanation=_explanation(fit, key, label, next((name for _, name in likely if name != label), None)),
    )
    return FittedLabel(record, unit, fit.gold_blind_label(unit, question)[1], tied)


def _posterior(crowd: Crowd, fit: ProjectFit, key: Key, label: str) -> dict[str, float]:
    """Label → probability; of two labels one gives the other, which saves much where there are many such questions."""
    labels = crowd.label_set[key[1]]
    if key[0] in crowd.groups or len(labels) != 2:
        return fit.posterior(*key)
    confidence = fit.confidence[key]
    return {name: confidence if name == label else 1 - confidence for name in labels}


def _explanation(fit: ProjectFit, key: Key, label: str, other: str | None) -> Explanation:
    labels = [label] if other is None else [label, other]
    parts = [
        Part(name, round(points[label], PART_DECIMALS), 0.0 if other is None else round(points[other], PART_DECIMALS))
        for name, points in fit.parts(*key, labels).items()
    ]
    return Explanation(other, tuple(parts))


def _region(fit: ProjectFit, group: RegionGroup) -> LabelRegion:
    """Where a region is, as Label Studio would store it."""
    label = fit.labels[group.unit, group.control.name]
    weights = {annotator: fit.scores[annotator].weight or 0.0 for annotator in group.members}
    extent, regions = group.merge(label, weights)
    item = group.control.write("", extent, label, {}, regions, None)[0]
    return LabelRegion(
        control=group.control.name,
        object=str(item["to_name"]),
        shape=group.control.shape,
        value=item["value"],
        original_width=item.get("original_width"),
        original_height=item.get("original_height"),
    )


def missed_gold(crowd: Crowd) -> list[RegionGroup]:
    """Gold regions that nobody drew."""
    return [group for group in crowd.groups.values() if group.missed]


def drawn_votes(label: FittedLabel) -> list[Vote]:
    """The votes of those who drew a region, and all votes on anything else."""
    return [vote for vote in label.record.votes if vote.label != NO_REGION]
