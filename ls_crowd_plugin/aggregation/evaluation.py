"""Evaluation of methods on gold that they were not shown: the accuracy of their labels and of their confidence.

Symbols: over n judged tasks, c_i is the confidence in the label and r_i is 1 if that label is right, else 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import UnusableInput
from ..records import METHODS, Json
from .entry import aggregate
from .types import Column, Flags, Floats, Gold, Id, LabelSet, Progress

CALIBRATION_BINS = 10
SIMULATED_FORECASTS = 200


def evaluate(
    tasks: Column,
    annotators: Column,
    labels: Column,
    gold: Gold,
    label_set: LabelSet | None = None,
    questions: Column | None = None,
    seed: int = 0,
    folds: int = 5,
    methods: Sequence[str] = METHODS,
    progress: Progress | None = None,
) -> list[Json]:
    """Cross-validate every method on the gold: each part is hidden in turn and judged by a fit to the other parts.

    Returns one row per method, in the order given: `method`, `tasks` (how many were judged), `accuracy` and
    `accuracy_se`, `calibration_error`, `calibration_excess`, `brier`, `auroc` (None if all labels are right or all are
    wrong), and `behind` and `behind_se`: how much less often it is right than the most accurate method, on the same
    tasks.
    """
    parts = _split(_answered_gold(tasks, gold, questions), seed, folds)
    count = sum(len(part) for part in parts)
    confidence, right = np.empty((len(methods), count)), np.empty((len(methods), count), bool)
    for row, method in enumerate(methods):
        judged: list[tuple[float, bool]] = []
        for number, part in enumerate(parts):
            if progress:
                progress(f"Evaluating {method}", (row * len(parts) + number) / (len(methods) * len(parts)))
            hidden = set(part)
            shown = {key: label for key, label in gold.items() if key not in hidden}
            consensus = aggregate(
                tasks,
                annotators,
                labels,
                gold=shown,
                method=method,
                label_set=label_set,
                questions=questions,
                seed=seed,
            )
            judged += [(consensus.confidence[key], consensus.labels[key] == gold[key]) for key in part]
        confidence[row], right[row] = zip(*judged, strict=True)
    best = right[int(right.mean(axis=1).argmax())]
    return [_measures(method, confidence[row], right[row], best, seed) for row, method in enumerate(methods)]


def _measures(method: str, confidence: Floats, right: Flags, best: Flags, seed: int) -> Json:
    """The row of one method; `best` says where the most accurate method is right."""
    return {
        "method": method,
        "tasks": len(right),
        "accuracy": float(right.mean()),
        "accuracy_se": _standard_error(right.astype(float)),
        "calibration_error": expected_calibration_error(confidence, right),
        "calibration_excess": expected_calibration_excess(confidence, right, seed),
        "brier": brier_score(confidence, right),
        "auroc": None if right.all() or not right.any() else area_under_roc(confidence, right),
        "behind": float(best.mean() - right.mean()),
        "behind_se": _standard_error(best.astype(float) - right),
    }


def best_method(rows: Sequence[Json]) -> tuple[str, list[str]]:
    """The method to choose, and the other methods that the gold cannot tell from it.

    Methods that are at most one standard error of the paired difference behind the most accurate one count as equally
    right. Among them the smallest Brier score decides, that is, the most credible confidence.
    """
    equals = [row for row in rows if row["behind"] <= row["behind_se"]]
    best = min(equals, key=lambda row: float(row["brier"]))
    return best["method"], [row["method"] for row in equals if row is not best]


def expected_calibration_error(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = CALIBRATION_BINS) -> float:
    """ECE = Σ_b |Σ_{i in b} (c_i - r_i)| / n, over bins b of equally many tasks in order of confidence.

    Tasks of equal confidence in different bins count with their mean r, so that the order of the tasks does not matter.
    """
    confidences, outcomes = _paired(confidence, right)
    order = np.argsort(confidences, kind="stable")
    return _binned_error(confidences[order], outcomes[order], bins)


def expected_calibration_excess(
    confidence: npt.ArrayLike, right: npt.ArrayLike, seed: int = 0, bins: int = CALIBRATION_BINS
) -> float:
    """ECE minus the mean ECE of a perfect forecaster: r'_i ~ Bernoulli(c_i), simulated for the same confidences.

    With few tasks, even perfect forecasts have an ECE well above zero; the excess is due to the method.
    """
    confidences, outcomes = _paired(confidence, right)
    order = np.argsort(confidences, kind="stable")
    confidences, outcomes = confidences[order], outcomes[order]
    generator = np.random.default_rng(seed)
    perfect = [
        _binned_error(confidences, (generator.random(len(confidences)) < confidences).astype(float), bins)
        for _ in range(SIMULATED_FORECASTS)
    ]
    return _binned_error(confidences, outcomes, bins) - float(np.mean(perfect))


def brier_score(confidence: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """The mean of (c_i - r_i)²: 0 if every label is right with confidence 1, 0.25 if every confidence is one half."""
    confidences, outcomes = _paired(confidence, right)
    return float(np.mean((confidences - outcomes) ** 2))


def area_under_roc(confidence: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """P(c_i > c_j) + P(c_i = c_j) / 2 for a right i and a wrong j; NaN if there is no such pair.

    With R the sum of the ranks of the right ones (from 1, ties sharing their mean rank) and p right, q wrong:
    area = (R - p (p + 1) / 2) / (p q).
    """
    confidences, outcomes = _paired(confidence, right)
    _, group, size = np.unique(confidences, return_inverse=True, return_counts=True)
    rank = (np.cumsum(size) - (size - 1) / 2)[group]
    positives = outcomes.sum()
    negatives = len(outcomes) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    return float((rank[outcomes == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def _answered_gold(tasks: Column, gold: Gold, questions: Column | None) -> list[Id]:
    """The keys of gold that somebody answered, in an order that depends on the keys alone."""
    task_list = tasks.tolist() if isinstance(tasks, np.ndarray) else tasks
    question_list = questions.tolist() if isinstance(questions, np.ndarray) else questions
    answered = set(task_list) if question_list is None else set(zip(task_list, question_list, strict=True))
    return sorted((key for key in gold if key in answered), key=repr)


def _split(keys: Sequence[Id], seed: int, folds: int) -> list[list[Id]]:
    """Split the keys at random into parts whose sizes differ by at most one."""
    if len(keys) < 2:
        raise UnusableInput(
            f"Gold labels of tasks with answers: {len(keys)}; give at least 2 to compare methods, better 50 or more."
        )
    if folds < 2:
        raise UnusableInput(f"The gold cannot be split into {folds} part(s) for cross-validation; use at least 2.")
    shuffled = np.random.default_rng(seed).permutation(len(keys))
    return [[keys[position] for position in part] for part in np.array_split(shuffled, min(folds, len(keys)))]


def _paired(confidence: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Floats, Floats]:
    """[n], [n] both as numbers, checked for equal length."""
    confidences, outcomes = np.asarray(confidence, float), np.asarray(right, float)
    if confidences.ndim != 1 or confidences.shape != outcomes.shape or not len(confidences):
        raise UnusableInput(
            f"Confidences of shape {confidences.shape} cannot be judged by outcomes of shape {outcomes.shape}; "
            "give one of each per task, for at least one task."
        )
    return confidences, outcomes


def _binned_error(confidence: Floats, right: Floats, bins: int) -> float:
    """The calibration error of tasks that are sorted by confidence."""
    n = len(confidence)
    tie_start = np.flatnonzero(np.append(True, confidence[1:] != confidence[:-1]))
    tie_size = np.diff(np.append(tie_start, n))
    share_right = np.repeat(np.add.reduceat(right, tie_start) / tie_size, tie_size)
    bin_start = np.unique(np.arange(bins) * n // bins)
    return float(np.abs(np.add.reduceat(confidence - share_right, bin_start)).sum() / n)


def _standard_error(values: Floats) -> float:
    """The standard error of the mean of independent values."""
    return float(np.std(values) / np.sqrt(len(values)))
