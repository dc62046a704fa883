"""From the mirror to the crowd: which annotations are answers, which are gold, and what is odd about them. Pure."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..controls import NO_REGION, NONE, Config
from ..store import Annotation
from .drawings import OVERLAP, Group, Unit, groups_of

Item = dict[str, Any]
Key = tuple[Unit, str]  # what is asked about, question


@dataclass(frozen=True)
class Crowd:
    """The columns that `aggregate` takes, and what was found on the way."""

    config: Config  # with the labels that only the annotations tell
    tasks: list[Unit] = field(default_factory=list)
    annotators: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    gold: dict[Key, str] = field(default_factory=dict)
    label_set: dict[str, list[str]] = field(default_factory=dict)
    answered: dict[int, int] = field(default_factory=dict)  # task → how many annotators' answers count
    present: dict[int, int] = field(default_factory=dict)  # task → how many people said anything, gold included
    counted: dict[tuple[int, int], Annotation] = field(default_factory=dict)  # task, annotator → where they said it
    groups: dict[Unit, Group] = field(default_factory=dict)  # of regions
    warnings: list[str] = field(default_factory=list)

    def add(self, unit: Unit, annotator: int, question: str, label: str) -> None:
        self.tasks.append(unit)
        self.annotators.append(annotator)
        self.labels.append(label)
        self.questions.append(question)

    def named(self) -> Crowd:
        """Without who says that there is no region: what is left of it, if there is something to choose from."""
        label_set = {name: [label for label in labels if label != NO_REGION] for name, labels in self.label_set.items()}
        several = {name for name, labels in label_set.items() if len(labels) > 1}
        rows = [row for row, label in enumerate(self.labels) if label != NO_REGION]
        gold = {key: label for key, label in self.gold.items() if label != NO_REGION and not self._is_missed(key[0])}
        part = replace(self._rows(rows), gold=gold, label_set=label_set)
        return part.of(several)

    def _is_missed(self, unit: Unit) -> bool:
        return unit in self.groups and self.groups[unit].missed

    def _rows(self, rows: list[int]) -> Crowd:
        return replace(
            self,
            tasks=[self.tasks[row] for row in rows],
            annotators=[self.annotators[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            questions=[self.questions[row] for row in rows],
        )

    def of(self, questions: Collection[str]) -> Crowd:
        """The part of it that is about some questions."""
        return replace(
            self._rows([row for row, question in enumerate(self.questions) if question in questions]),
            gold={key: label for key, label in self.gold.items() if key[1] in questions},
            label_set={question: labels for question, labels in self.label_set.items() if question in questions},
        )


def crowd_of(
    config: Config,
    annotations: Iterable[Annotation],
    gold: Mapping[tuple[int, str], str],
    experts: Collection[int] = (),
    known: Mapping[int, str] | None = None,
    overlap: float = OVERLAP,
) -> Crowd:
    """Sorts a project's annotations into crowd answers and gold.

    `gold` is what the database holds; `known` the field of `task.data` with known labels (task → JSON), where there is
    one. More gold comes from annotations marked as ground truth, where a task has exactly one of them, and from
    experts. A gold annotation is no crowd answer. No answers are: skipped and empty annotations, copies, those without
    an author; of several by one person on one task, all but the newest. Where people draw regions, an empty annotation
    says that there are none; `overlap` is how much regions of two people must share to be one.
    """
    usable = [
        each
        for each in annotations
        if not each.skipped and not each.copied and each.annotator is not None
        if config.regions or each.result != "[]"
    ]
    config = config.knowing([each.items for each in usable])
    warnings: list[str] = []
    believed = _believed_ground_truth(usable, warnings)
    newest: dict[tuple[int, int], Annotation] = {}
    golden: dict[tuple[int, int], Annotation] = {}
    for each in usable:
        if each.id in believed or each.annotator in experts:
            key = (each.task, each.annotator or 0)
            if key not in golden or _newer(each, golden[key]):
                golden[key] = each
            continue
        key = (each.task, each.annotator or 0)
        if key not in newest or _newer(each, newest[key]):
            newest[key] = each

    who = {(each.task, each.annotator) for each in usable}
    crowd = Crowd(config, present=dict(Counter(task for task, _ in who)), warnings=warnings)
    for (task, annotator), each in sorted(newest.items(), key=lambda pair: pair[0]):
        said = config.read(each.items) if each.result != "[]" else {}
        for question, label in said.items():
            crowd.add(task, annotator, question, label)
        if said or config.regions:
            crowd.counted[task, annotator] = each
            crowd.answered[task] = crowd.answered.get(task, 0) + 1
    edited = sum(each.updated_by not in (None, each.annotator) for each in newest.values())
    if edited:
        warnings.append(f"{edited} annotation(s) were last edited by somebody else than their author.")
    _add_gold(crowd, golden.values(), gold, known or {})
    empty = {question for question, label in zip(crowd.questions, crowd.labels, strict=True) if label == NONE}
    empty |= {question for (_, question), label in crowd.gold.items() if label == NONE}
    _add_regions(crowd, newest, golden, overlap)
    for asked in config.questions:
        crowd.label_set[asked.name] = [*asked.labels, *([NONE] if asked.name in empty else [])]
    return crowd


def _add_regions(
    crowd: Crowd,
    newest: Mapping[tuple[int, int], Annotation],
    golden: Mapping[tuple[int, int], Annotation],
    overlap: float,
) -> None:
    """What everybody says of each object on each task."""
    if not crowd.config.regions:
        return
    seen: dict[int, dict[int, list[Item]]] = defaultdict(dict)
    for (task, annotator), each in sorted(newest.items()):
        seen[task][annotator] = each.items
    known: dict[int, list[list[Item]]] = defaultdict(list)
    for (task, _), each in sorted(golden.items()):
        known[task].append(each.items)
    several = sorted(task for task, found in known.items() if len(found) > 1)
    if several:
        crowd.warnings.append(
            f"{len(several)} task(s), for example task {several[0]}, have several gold annotations with regions; their"
            " regions are not used. Leave one on each."
        )
    for control in crowd.config.regions:
        for task, by in sorted(seen.items()):
            size = control.size([*by.values(), *known.get(task, ())])
            read = {annotator: control.read(items, size) for annotator, items in by.items()}
            drawn = {annotator: regions for annotator, regions in read.items() if regions is not None}
            gold = control.read(known[task][0], size) if len(known.get(task, ())) == 1 else None
            for group in groups_of(control, task, drawn, gold, overlap) if drawn else ():
                crowd.groups[group.unit] = group
                for annotator in drawn:
                    for question, label in group.answers(annotator):
                        crowd.add(group.unit, annotator, question, label)
                if gold is not None and not (gold and group.is_placeholder):
                    crowd.gold.update({(group.unit, question): label for question, label in group.known()})
        crowd.label_set.update({asked.name: list(asked.labels) for asked in control.questions})


def _newer(one: Annotation, other: Annotation) -> bool:
    """By time, which Label Studio writes without a fraction on a full second; then by id."""
    times = [each.updated_at.rstrip("Z").partition(".")[::2] for each in (one, other)]
    return (*times[0], one.id) > (*times[1], other.id)


def _believed_ground_truth(annotations: list[Annotation], warnings: list[str]) -> set[int]:
    """Ids of annotations whose mark as ground truth is believed."""
    marked = [each for each in annotations if each.ground_truth]
    if len(marked) > 1 and len(marked) > len(annotations) / 2:
        warnings.append(
            "Most annotations are marked as ground truth, which is what an import does by itself; the marks are not"
            " believed. Clear them, or add gold with 'ls-crowd gold add'."
        )
        return set()
    per_task = Counter(each.task for each in marked)
    several = sorted(task for task, marks in per_task.items() if marks > 1)
    if several:
        warnings.append(
            f"{len(several)} task(s), for example task {several[0]}, have several annotations marked as ground truth;"
            " those marks are not believed. Leave one mark on each."
        )
    return {each.id for each in marked if per_task[each.task] == 1}


def _add_gold(
    crowd: Crowd, golden: Iterable[Annotation], stored: Mapping[tuple[int, str], str], fields: Mapping[int, str]
) -> None:
    """Gold of all sources; where they differ, nobody is believed and it is said."""
    labels_of = {question.name: {*question.labels, NONE} for question in crowd.config.questions}
    said: dict[tuple[int, str], set[str]] = defaultdict(set)
    for each in golden:
        for question, label in crowd.config.read(each.items).items():
            said[each.task, question].add(label)
    for key, label in stored.items():
        if label in labels_of.get(key[1], ()):
            said[key].add(label)
        else:
            crowd.warnings.append(
                f"Gold {label!r} for {key[1]!r} of task {key[0]} is not in the label config; remove or correct it."
            )
    unreadable = []
    for task, field_ in fields.items():
        named = crowd.config.read_field(json.loads(field_))
        if named is None:
            unreadable.append(task)
        for question, label in (named or {}).items():
            said[task, question].add(label)
    if unreadable:
        crowd.warnings.append(
            f"The field with known labels of {len(unreadable)} task(s), for example task {min(unreadable)}, names no"
            " label of the label config; correct it, or leave it out there."
        )
    for key, labels in sorted(said.items()):
        if len(labels) == 1:
            crowd.gold[key] = next(iter(labels))
        else:
            crowd.warnings.append(
                f"Gold for {key[1]!r} of task {key[0]} is contradictory ({', '.join(sorted(labels))}) and not used."
            )
