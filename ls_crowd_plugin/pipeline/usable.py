"""Which annotations can be used. The others are left out, each with the reason, and stop nothing else. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ..controls import Config, Unreadable, parse_result
from ..records import LeftOutAnnotation, LeftOutAnnotations, count
from ..regions import ALWAYS_COMPARED, too_entangled
from ..store import Annotation

TOO_ENTANGLED = "regions that overlap those of other people too often to be compared"
MAX_WARNED, MAX_EXAMPLES = 3, 20  # annotations named in a warning, and in a project's summary


def usable_annotations(
    config: Config, annotations: Iterable[Annotation]
) -> tuple[list[Annotation], list[LeftOutAnnotation]]:
    """The annotations that can be used, in their order, and the others."""
    left_out: dict[int, str] = {}
    kept = []
    entries: Counter[int] = Counter()  # task → how many its annotations have
    for annotation in annotations:
        try:
            items = parse_result(annotation.result)
            problem = config.problem_with(items)
        except Unreadable as reason:
            problem = str(reason)
        if problem is None:
            kept.append(annotation)
            entries[annotation.task] += len(items)
        else:
            left_out[annotation.id] = problem
    labels = max((len(control.labels) for control in config.regions), default=0)  # that an entry can have
    crowded: dict[int, list[Annotation]] = defaultdict(list)
    for annotation in kept:
        if entries[annotation.task] * labels > ALWAYS_COMPARED:
            crowded[annotation.task].append(annotation)
    for own in crowded.values():
        left_out |= dict.fromkeys(_entangled(config, own), TOO_ENTANGLED)
    unused = [LeftOutAnnotation(number, left_out[number]) for number in sorted(left_out)]
    return [one for one in kept if one.id not in left_out], unused


def summarise(left_out: Sequence[tuple[int, str]]) -> LeftOutAnnotations:
    return LeftOutAnnotations(len(left_out), [LeftOutAnnotation(*one) for one in left_out[:MAX_EXAMPLES]])


def warn_of(left_out: Sequence[tuple[int, str]]) -> list[str]:
    """One warning about all annotations that are left out, if there are any."""
    if not left_out:
        return []
    named = "; ".join(f"annotation {annotation} has {reason}" for annotation, reason in left_out[:MAX_WARNED])
    more = "; and so on" if len(left_out) > MAX_WARNED else ""
    verb = "is" if len(left_out) == 1 else "are"
    number = count(len(left_out), "annotation")
    return [f"{number} {verb} left out: {named}{more}. Correct or delete them in Label Studio."]


def _entangled(config: Config, annotations: Sequence[Annotation]) -> set[int]:
    """Of the annotations of a task those whose regions cannot be compared with the others'."""
    results = [annotation.items for annotation in annotations]
    left_out: set[int] = set()
    for control in config.regions:
        size = control.image_size(results)
        drawn = [
            (annotation.id, [region.extent for region in control.read(result, size) or ()])
            for annotation, result in zip(annotations, results, strict=True)
            if annotation.id not in left_out
        ]
        left_out |= {drawn[place][0] for place in too_entangled([extents for _, extents in drawn], control.kind)}
    return left_out
