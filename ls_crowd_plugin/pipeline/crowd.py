"""From a project's annotations to its crowd: which of them are answers, and what is gold. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..controls import NO_REGION, NONE, Config, with_scales
from ..recipe import Recipe
from ..records import LeftOutAnnotation
from ..store import Annotation
from ..store.gold import GoldKey
from .gold_sources import merge_gold
from .held_back import ByAnnotator, age, older_annotations
from .region_groups import RegionGroup, Unit, group_regions, task_of
from .trust import Trust, forgery_warnings
from .usable import usable_annotations, warn_of

Key = tuple[Unit, str]  # unit, question


@dataclass(frozen=True)
class Crowd:
    """The columns that `aggregate` takes, and where they come from."""

    config: Config  # with the labels that only annotations name
    units: list[Unit] = field(default_factory=list)  # what each answer is about
    annotators: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    gold: dict[Key, str] = field(default_factory=dict)
    label_set: dict[str, list[str]] = field(default_factory=dict)  # question → its labels
    answer_counts: dict[int, int] = field(default_factory=dict)  # task → annotators whose answers count
    people_counts: dict[int, int] = field(default_factory=dict)  # task → people who annotated it, gold included
    annotations: dict[tuple[int, int], Annotation] = field(default_factory=dict)  # (task, annotator) → what counts
    groups: dict[Unit, RegionGroup] = field(default_factory=dict)  # of regions
    left_out_annotations: list[LeftOutAnnotation] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    lessons: Crowd | None = None  # what is learned from, where there is gold: the crowd without its newest answers

    def add(self, unit: Unit, annotator: int, question: str, label: str) -> None:
        self.units.append(unit)
        self.annotators.append(annotator)
        self.labels.append(label)
        self.questions.append(question)

    def of_questions(self, questions: Collection[str]) -> Crowd:
        """The part of the crowd that is about some questions."""
        return replace(
            self.of_rows([row for row, question in enumerate(self.questions) if question in questions]),
            gold={key: label for key, label in self.gold.items() if key[1] in questions},
            label_set={question: labels for question, labels in self.label_set.items() if question in questions},
            lessons=self.lessons and self.lessons.of_questions(questions),
        )

    def of_drawn_regions(self) -> Crowd:
        """The answers of those who drew a region, about what it is; without questions that leave no choice then."""
        label_set = {name: [label for label in labels if label != NO_REGION] for name, labels in self.label_set.items()}
        rows = [row for row, label in enumerate(self.labels) if label != NO_REGION]
        gold = {key: label for key, label in self.gold.items() if label != NO_REGION and not self._is_missed(key[0])}
        lessons = self.lessons and self.lessons.of_drawn_regions()
        drawn = replace(self.of_rows(rows), gold=gold, label_set=label_set, lessons=lessons)
        return drawn.of_questions({name for name, labels in label_set.items() if len(labels) > 1})

    def _is_missed(self, unit: Unit) -> bool:
        return unit in self.groups and self.groups[unit].missed

    def of_rows(self, rows: Sequence[int]) -> Crowd:
        """The crowd with some of its answers."""
        return replace(
            self,
            units=[self.units[row] for row in rows],
            annotators=[self.annotators[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            questions=[self.questions[row] for row in rows],
        )


def build_crowd(
    config: Config,
    annotations: Iterable[Annotation],
    stored_gold: Mapping[GoldKey, str],
    gold_fields: Mapping[int, str],
    recipe: Recipe,
    trust: Trust | None = None,
) -> Crowd:
    """Sort a project's annotations into answers and gold.

    Gold comes from the recipe's sources: our database (`stored_gold`), the field of `task.data` that the recipe names
    (`gold_fields`: task → JSON), annotations marked as ground truth, and experts; a gold annotation is not an answer.
    Not counted are skipped, empty and copied annotations, those without an author, and those that somebody else wrote
    whom `trust` does not allow that; of several by one person on one task the newest counts. Where people draw regions,
    an empty annotation says that there are none.
    """
    config, order_warnings = with_scales(config, recipe.ordered)
    trust = trust or Trust(recipe.gold_sources, recipe.experts)
    present = [annotation for annotation in annotations if _is_present(annotation, config)]
    others = [annotation for annotation in present if not trust.is_gold(annotation)]
    forged = [LeftOutAnnotation(one.id, problem) for one in others if (problem := trust.problem_with(one))]
    left_out = {one.annotation for one in forged}
    usable, unusable = usable_annotations(config, (one for one in present if one.id not in left_out))
    config = config.with_observed_labels((annotation.annotator, annotation.items) for annotation in usable)
    golden = _newest(annotation for annotation in usable if trust.is_gold(annotation))
    answers = _newest(annotation for annotation in usable if not trust.is_gold(annotation))
    people_counts = dict(Counter(task for task, _ in answers.keys() | golden.keys()))
    crowd = Crowd(config, people_counts=people_counts, left_out_annotations=[*unusable, *forged])
    crowd.warnings.extend([*order_warnings, *warn_of(unusable), *forgery_warnings(trust, others)])
    _add_answers(crowd, answers)
    stored_gold = stored_gold if "plugin" in trust.sources else {}
    gold_fields = gold_fields if "task_data" in trust.sources else {}
    gold, gold_warnings = merge_gold(config, golden.values(), stored_gold, gold_fields)
    crowd.gold.update({(task, question): label for (task, question), label in gold.items()})
    crowd.warnings.extend(gold_warnings)
    left_empty = {question for question, label in zip(crowd.questions, crowd.labels, strict=True) if label == NONE}
    left_empty |= {question for (_, question), label in gold.items() if label == NONE}
    _add_regions(crowd, answers, golden, recipe.min_iou)
    for question in config.questions:
        is_new = question.name in left_empty and NONE not in question.labels
        crowd.label_set[question.name] = [*question.labels, *([NONE] if is_new else [])]
    return replace(crowd, lessons=_lessons(crowd, golden, recipe.min_iou)) if crowd.gold else crowd


def _is_present(annotation: Annotation, config: Config) -> bool:
    if annotation.skipped or annotation.copied or annotation.annotator is None:
        return False
    return bool(config.regions) or annotation.result != "[]"


def _newest(annotations: Iterable[Annotation]) -> dict[tuple[int, int], Annotation]:
    """(Task, annotator) → the newest annotation, in order."""
    newest: dict[tuple[int, int], Annotation] = {}
    for annotation in annotations:
        key = (annotation.task, annotation.annotator or 0)
        if key not in newest or age(annotation) > age(newest[key]):
            newest[key] = annotation
    return dict(sorted(newest.items(), key=lambda pair: pair[0]))


def _add_answers(crowd: Crowd, answers: ByAnnotator) -> None:
    for (task, annotator), annotation in answers.items():
        labels = crowd.config.read(annotation.items) if annotation.result != "[]" else {}
        for question, label in labels.items():
            crowd.add(task, annotator, question, label)
        if labels or crowd.config.regions:
            crowd.annotations[task, annotator] = annotation
            crowd.answer_counts[task] = crowd.answer_counts.get(task, 0) + 1


def _add_regions(crowd: Crowd, answers: ByAnnotator, golden: ByAnnotator, min_iou: float) -> None:
    """Add what everybody says about each region of each task."""
    if not crowd.config.regions:
        return
    drawn, warnings = group_regions(crowd.config.regions, answers, golden, min_iou)
    crowd.warnings.extend(warnings)
    for group, annotators, is_gold in drawn:
        crowd.groups[group.unit] = group
        for annotator in annotators:
            for question, label in group.answers(annotator):
                crowd.add(group.unit, annotator, question, label)
        if is_gold:
            crowd.gold.update({(group.unit, question): label for question, label in group.gold_answers()})
    for control in crowd.config.regions:
        crowd.label_set.update({question.name: list(question.labels) for question in control.questions})


def _lessons(crowd: Crowd, golden: ByAnnotator, min_iou: float) -> Crowd:
    """The crowd without everybody's newest annotations. Where these are about regions, the others are grouped again."""
    older = older_annotations(crowd.annotations)
    regrouped = {task for task, _ in crowd.annotations.keys() - older.keys()}
    rows = [
        row
        for row, (unit, annotator) in enumerate(zip(crowd.units, crowd.annotators, strict=True))
        if (task_of(unit), annotator) in older and not (unit in crowd.groups and task_of(unit) in regrouped)
    ]
    groups = {unit: group for unit, group in crowd.groups.items() if group.task not in regrouped}
    gold = {key: label for key, label in crowd.gold.items() if key[0] not in crowd.groups or key[0] in groups}
    lessons = replace(
        crowd.of_rows(rows), gold=gold, label_set=dict(crowd.label_set), groups=groups, annotations=older, warnings=[]
    )
    _add_regions(lessons, {key: one for key, one in older.items() if key[0] in regrouped}, golden, min_iou)
    return lessons
