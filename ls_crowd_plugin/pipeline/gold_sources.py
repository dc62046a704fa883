"""Gold labels from all sources that are believed, merged. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from ..controls import NONE, Config
from ..store import Annotation
from ..store.gold import GoldKey


def merge_gold(
    config: Config, golden: Iterable[Annotation], stored: Mapping[GoldKey, str], fields: Mapping[int, str]
) -> tuple[dict[GoldKey, str], list[str]]:
    """Gold about whole tasks from all sources, and warnings; where sources contradict each other, none is used."""
    labels: dict[GoldKey, set[str]] = defaultdict(set)
    for annotation in golden:
        for question, label in config.read(annotation.items).items():
            labels[annotation.task, question].add(label)
    warnings = [*_add_stored(labels, config, stored), *_add_fields(labels, config, fields)]
    gold = {}
    for key, candidates in sorted(labels.items()):
        if len(candidates) == 1:
            gold[key] = next(iter(candidates))
        else:
            listed = ", ".join(sorted(candidates))
            warnings.append(f"Gold for {key[1]!r} of task {key[0]} is contradictory ({listed}) and not used.")
    return gold, warnings


def _add_stored(labels: dict[GoldKey, set[str]], config: Config, stored: Mapping[GoldKey, str]) -> list[str]:
    ordered = config.ordered  # nothing chosen has no place on a scale
    allowed = {
        question.name: {*question.labels, *(() if question.name in ordered else (NONE,))}
        for question in config.questions
    }
    warnings = []
    for (task, question), label in stored.items():
        if label in allowed.get(question, ()):
            labels[task, question].add(label)
        else:
            warnings.append(
                f"Gold {label!r} for {question!r} of task {task} is not in the label config; remove or correct it."
            )
    return warnings


def _add_fields(labels: dict[GoldKey, set[str]], config: Config, fields: Mapping[int, str]) -> list[str]:
    unreadable = []
    for task, text in fields.items():
        named = config.read_gold_field(json.loads(text))
        if named is None:
            unreadable.append(task)
        for question, label in (named or {}).items():
            labels[task, question].add(label)
    if not unreadable:
        return []
    return [
        f"The gold field of {len(unreadable)} task(s), for example task {min(unreadable)}, names no label of the label"
        " config; correct it, or leave it out there."
    ]
