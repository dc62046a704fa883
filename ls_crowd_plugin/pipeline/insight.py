"""What people want to see of a fit: labels with who said what, annotators with their record, figures to draw. Pure."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from ..controls import NO_REGION
from ..store.found import SETTLED
from .crowd import Crowd, Key
from .drawings import Group, task_of
from .findings import Findings, rounded

BARS = 20  # of a histogram
BUCKETS = 40  # of time, at most
MOST_AGAINST = 50  # answers that speak against an annotator, the surest first
MOST_IN_MATRIX = 30  # annotators in the table of agreement, those with most answers
MOST_LABELS = 12  # of a question whose confusions are counted
TREND_POINTS = 10
LEAST_SHOWN = 0.0005  # a probability that would be shown as 0
FINEST_SECONDS = (60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)


@dataclass(frozen=True)
class Insight:
    """Rows for the tables of the same names, and figures to draw."""

    labels: list[dict[str, Any]]
    annotators: list[dict[str, Any]]
    charts: dict[str, Any]


def insight(crowd: Crowd, findings: Findings) -> Insight:
    said: dict[Key, list[tuple[int, str]]] = defaultdict(list)
    rows = zip(crowd.tasks, crowd.annotators, crowd.questions, crowd.labels, strict=True)
    for unit, annotator, question, label in rows:
        if unit not in crowd.groups or not crowd.groups[unit].missed:
            said[unit, question].append((annotator, label))
    labels = [_label(crowd, findings, key, voices) for key, voices in said.items()]
    labels.sort(key=lambda row: (row["task"], row["question"], row["part"]))
    return Insight(labels, _annotators(findings, labels, crowd), _charts(crowd, findings, labels))


def _label(crowd: Crowd, findings: Findings, key: Key, voices: list[tuple[int, str]]) -> dict[str, Any]:
    votes = Counter(label for _, label in voices).most_common()
    label = findings.labels[key]
    posterior = _posterior(crowd, findings, key, label)
    tied = [name for name, count in votes if count == votes[0][1]]
    trusted = {label for annotator, label in voices if findings.people[annotator]["verdict"] == "trusted"}
    likely = sorted(((p, name) for name, p in posterior.items() if p >= LEAST_SHOWN), reverse=True)
    group = crowd.groups.get(key[0])
    return {
        "task": task_of(key[0]),
        "question": key[1],
        "part": 0 if group is None else group.number + 1,
        "label": label,
        "confidence": posterior[label],
        "difficulty": findings.difficulty[key],
        "answers": len(voices),
        "plurality": tied[0] if len(tied) == 1 else None,
        "gold": crowd.gold.get(key),
        "disputed": len(trusted) > 1,
        "said": json.dumps(voices, ensure_ascii=False),
        "posterior": json.dumps({name: rounded(p) for p, name in likely[:MOST_LABELS]}, ensure_ascii=False),
        "region": None if group is None or not group.members else json.dumps(_region(findings, group)),
        "unit": key[0],
        "lifted": findings.lifted(*key)[1],
        "tied": tied,
        "voices": voices,  # for the rest of this module; the table has them as JSON
    }


def _posterior(crowd: Crowd, findings: Findings, key: Key, label: str) -> dict[str, float]:
    """Label → probability; of two labels one tells the other, which saves much where there are many such questions."""
    labels = crowd.label_set[key[1]]
    if key[0] in crowd.groups or len(labels) != 2:
        return findings.posterior(*key)
    sure = findings.confidence[key]
    return {each: sure if each == label else 1 - sure for each in labels}


def _region(findings: Findings, group: Group) -> dict[str, Any]:
    """Where a region is, as Label Studio would have it."""
    label = findings.labels[group.unit, group.control.name]
    weights = {annotator: float(findings.people[annotator]["weight"] or 0.0) for annotator in group.members}
    extent, regions = group.merged(label, weights)
    item = group.control.write("", extent, label, {}, regions, None)[0]
    about: dict[str, Any] = {name: item[name] for name in ("original_width", "original_height") if name in item}
    return {
        "control": group.control.name,
        "object": item["to_name"],
        "shape": group.control.shape,
        "value": item["value"],
        **about,
    }


def _annotators(findings: Findings, labels: Sequence[Mapping[str, Any]], crowd: Crowd) -> list[dict[str, Any]]:
    answers: dict[int, list[tuple[str, Mapping[str, Any], str]]] = defaultdict(list)  # when, row, what was said
    for row in labels:
        for annotator, label in row["voices"]:
            answers[annotator].append((crowd.counted[row["task"], annotator].created_at, row, label))
    lead_times: dict[int, list[float]] = defaultdict(list)
    for (_, annotator), annotation in crowd.counted.items():
        if annotation.lead_time is not None:
            lead_times[annotator].append(annotation.lead_time)
    found = []
    for annotator, person in sorted(findings.people.items()):
        own = sorted(answers[annotator], key=lambda each: (each[0], each[1]["task"], each[1]["question"]))
        agrees = [label == row["label"] for _, row, label in own]
        against = [(row, label) for _, row, label in own if label != row["label"]]
        against.sort(key=lambda each: (-each[0]["confidence"], each[0]["task"]))
        detail = {
            "trend": _trend(own, agrees),
            "confusion": _confusion(crowd, ((row, label) for _, row, label in own)),
            "against": [
                [row["task"], row["question"], label, row["label"], rounded(row["confidence"]), row["gold"] is not None]
                for row, label in against[:MOST_AGAINST]
            ],
            "differs": len(against),
            "regions": _region_rates(crowd, ((row, label) for _, row, label in own)),
        }
        found.append(
            {
                **person,
                "agreement": sum(agrees) / len(agrees) if agrees else None,
                "seconds": statistics.median(lead_times[annotator]) if lead_times[annotator] else None,
                "detail": json.dumps(detail, ensure_ascii=False),
            }
        )
    return found


def _trend(own: Sequence[tuple[str, Mapping[str, Any], str]], agrees: Sequence[bool]) -> list[list[Any]]:
    """Points [when its last answer was given, share of answers that are the consensus, how many], oldest first."""
    if not own:
        return []
    ends = np.unique(np.linspace(0, len(own), min(TREND_POINTS, len(own)) + 1).astype(int)).tolist()
    return [
        [own[end - 1][0], rounded(sum(agrees[start:end]) / (end - start)), end - start] for start, end in pairwise(ends)
    ]


def _region_rates(crowd: Crowd, answers: Iterable[tuple[Mapping[str, Any], str]]) -> dict[str, Any] | None:
    """Of the regions that are there, the share this annotator missed; of those they drew, the shares that are not there
    and that are called something else. None where nobody draws."""
    there = missed = drawn = extra = wrong = 0
    for row, label in answers:
        group = crowd.groups.get(row["unit"])
        if group is None or row["question"] != group.control.name:
            continue
        is_there, drew = row["label"] != NO_REGION, label != NO_REGION
        there, drawn = there + is_there, drawn + drew
        missed, extra = missed + (is_there and not drew), extra + (drew and not is_there)
        wrong += is_there and drew and label != row["label"]
    if not crowd.groups:
        return None
    return {
        "drawn": drawn,
        "missed": rounded(missed / there) if there else None,
        "extra": rounded(extra / drawn) if drawn else None,
        "wrong": rounded(wrong / drawn) if drawn else None,
    }


def _confusion(crowd: Crowd, answers: Iterable[tuple[Mapping[str, Any], str]]) -> dict[str, dict[str, dict[str, int]]]:
    """Question → consensus → what this annotator said instead or as well → how often."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row, label in answers:
        if len(crowd.label_set[row["question"]]) <= MOST_LABELS:
            counts[row["question"]][row["label"]][label] += 1
    return {question: {label: dict(said) for label, said in rows.items()} for question, rows in counts.items()}


def _charts(crowd: Crowd, findings: Findings, labels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    undecided = [row for row in labels if row["gold"] is None]
    hard = [row["difficulty"] for row in labels if row["difficulty"] is not None]
    return {
        "questions": crowd.label_set,
        "confidence": _histogram([row["confidence"] for row in undecided], 0.0, 1.0),
        "difficulty": _histogram(hard, min(hard), max(hard)) if hard else None,
        "calibration": _calibration(crowd, findings, labels),
        "gold": _against_gold(crowd, findings, labels),
        "over_time": _over_time([each.created_at for each in crowd.counted.values()]),
        "cost": _cost(crowd, labels),
        "label_counts": _label_counts(labels),
        "agreement": _agreement(labels),
    }


def _histogram(values: Sequence[float], low: float, high: float) -> dict[str, Any]:
    high = high if high > low else low + 1.0
    counts, _ = np.histogram(values, BARS, (low, high))
    return {"low": rounded(low), "high": rounded(high), "counts": counts.tolist()}


def _calibration(
    crowd: Crowd, findings: Findings, labels: Sequence[Mapping[str, Any]]
) -> list[list[float | int | None]]:
    """Points [mean confidence with gold lifted, share right, how many], of gold labels, about equally many in each;
    labels that are equally sure are in one."""
    judged = [
        (confidence, label == row["gold"])
        for row in labels
        if row["gold"] is not None
        for label, confidence in [findings.unseen(row["unit"], row["question"])]
    ]
    judged += [(findings.unseen(group.unit, group.control.name)[1], False) for group in _missed(crowd)]
    judged.sort(key=lambda each: each[0])
    least = len(judged) / (min(8, len(judged) // 10) or 1)
    groups: list[list[tuple[float, bool]]] = []
    for each in judged:
        if not groups or (len(groups[-1]) >= least and each[0] > groups[-1][-1][0]):
            groups.append([])
        groups[-1].append(each)
    return [
        [
            rounded(statistics.fmean(sure for sure, _ in group)),
            rounded(statistics.fmean(r for _, r in group)),
            len(group),
        ]
        for group in groups
    ]


def _against_gold(crowd: Crowd, findings: Findings, labels: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How many gold labels the crowd gets right, not being told, and how many the most frequent answer does; where
    several are equally frequent, it does by chance."""
    judged = [row for row in labels if row["gold"] is not None]
    right = sum(findings.unseen(row["unit"], row["question"])[0] == row["gold"] for row in judged)
    plurality = sum(1 / len(row["tied"]) for row in judged if row["gold"] in row["tied"])
    return {"labels": len(judged) + len(_missed(crowd)), "right": right, "plurality": round(plurality, 1)}


def _missed(crowd: Crowd) -> list[Group]:
    """Gold regions that nobody drew."""
    return [group for group in crowd.groups.values() if group.missed]


def _over_time(times: Sequence[str]) -> dict[str, Any] | None:
    """Annotations in equal stretches of time: when the first begins, how long each is, how many there are in each."""
    when = sorted(filter(None, map(_time, times)))
    if not when:
        return None
    span = (when[-1] - when[0]).total_seconds()
    seconds = next((step for step in FINEST_SECONDS if span / step < BUCKETS), FINEST_SECONDS[-1])
    first = datetime.fromtimestamp(when[0].timestamp() // seconds * seconds, timezone.utc)
    counts = Counter(int((each - first) / timedelta(seconds=seconds)) for each in when)
    buckets = [counts[position] for position in range(max(counts) + 1)]
    return {"first": first.isoformat(), "seconds": seconds, "counts": buckets[-10 * BUCKETS :]}


def _time(text: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=timezone.utc)


def _cost(crowd: Crowd, labels: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Rows [answers on a task, tasks with so many, settled ones among them]."""
    surest: dict[int, float] = {}
    for row in labels:
        surest[row["task"]] = min(surest.get(row["task"], 1.0), row["lifted"])
    tasks, settled = (
        Counter(crowd.answered[task] for task in surest),
        Counter(crowd.answered[task] for task, sure in surest.items() if sure >= SETTLED),
    )
    return [[answers, tasks[answers], settled[answers]] for answers in sorted(tasks)]


def _label_counts(labels: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[int]]]:
    """Question → label → how often it is the consensus, and how often the most frequent answer."""
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in labels:
        counts[row["question"]][row["label"]][0] += 1
        if row["plurality"] is not None:
            counts[row["question"]][row["plurality"]][1] += 1
    return {question: dict(found) for question, found in counts.items()}


def _agreement(labels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Krippendorff's alpha of every question, and for pairs of annotators how many questions both answered and how
    many of those alike. Of regions, what those who drew them call them: that two did not draw what a third did says
    nothing of the two."""
    by_question: dict[str, list[list[str]]] = defaultdict(list)
    labels = [{**row, "voices": [each for each in row["voices"] if each[1] != NO_REGION]} for row in labels]
    for row in labels:
        by_question[row["question"]].append([label for _, label in row["voices"]])
    answers = Counter(annotator for row in labels for annotator, _ in row["voices"])
    people = sorted(annotator for annotator, _ in answers.most_common(MOST_IN_MATRIX))
    position = {annotator: place for place, annotator in enumerate(people)}
    who, items, options = [], [], []
    option_of: dict[tuple[int, str], int] = {}
    for item, row in enumerate(labels):
        for annotator, label in row["voices"]:
            if annotator in position:
                who.append(position[annotator])
                items.append(item)
                options.append(option_of.setdefault((item, label), len(option_of)))
    return {
        "alpha": {question: rounded(krippendorff_alpha(items)) for question, items in sorted(by_question.items())},
        "annotators": people,
        "common": _products(who, items, len(people)),
        "alike": _products(who, options, len(people)),
    }


def _products(rows: Sequence[int], columns: Sequence[int], people: int) -> list[list[int]]:
    """[J, J] M Mᵀ of the indicator matrix M with ones at (row, column)."""
    if not columns:
        return [[0] * people for _ in range(people)]
    ones = scipy.sparse.csr_matrix((np.ones(len(rows), int), (rows, columns)), (people, max(columns) + 1))
    products: list[list[int]] = (ones @ ones.T).toarray().tolist()
    return products


def krippendorff_alpha(items: Iterable[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for nominal labels; None where nobody could have disagreed.

    With n_uc answers c on item u, m_u of them in all and n_c over all items with m_u ≥ 2, n in all:
    α = 1 − (n − 1) Σ_u (m_u² − Σ_c n_uc²) / (m_u − 1) / (n² − Σ_c n_c²).
    """
    totals: Counter[str] = Counter()
    observed = 0.0
    for answers in items:
        if len(answers) > 1:
            counts = Counter(answers)
            totals.update(counts)
            observed += (len(answers) ** 2 - sum(n * n for n in counts.values())) / (len(answers) - 1)
    n = sum(totals.values())
    expected = n * n - sum(count * count for count in totals.values())
    return None if expected == 0 else 1 - (n - 1) * observed / expected
