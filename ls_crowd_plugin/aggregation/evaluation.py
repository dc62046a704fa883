"""Evaluation of methods on gold that they were not shown: the accuracy of their labels and of their confidence.

Symbols: over n judged tasks, c_i is the confidence in the label and r_i is 1 if that label is right, else 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import UnusableInput
from ..records import METHODS, Json
from .trial import Judged, Trial
from .types import Column, Floats, Gold, LabelSet, Ordered, Progress

CALIBRATION_BINS = 10
SIMULATED_FORECASTS = 200
BOOTSTRAP_SAMPLES = 200  # the standard deviation of so many is known to 1 / sqrt(2 * 200) = 5 %


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
    *,
    ordered: Ordered | None = None,
    decide: str = "label",
) -> list[Json]:
    """Cross-validate every method on the gold: each part is hidden in turn and judged by a fit to the other parts.

    Returns the rows of `compare_methods`.
    """
    trial = Trial(
        tasks,
        annotators,
        labels,
        gold,
        label_set,
        questions,
        seed,
        folds,
        ordered=ordered,
        decide=decide,
        progress=progress,
    )
    return compare_methods(trial, methods)


def compare_methods(trial: Trial, methods: Sequence[str] = METHODS) -> list[Json]:
    """One row per method, in the order given, all judged on the same tasks.

    A row has `method`, `tasks` (how many were judged), `accuracy`, `calibration_error`, `calibration_excess`, `brier`,
    `auroc` (None if all labels are right or all are wrong), `distance` (the mean over tasks with ordered labels of the
    places between label and gold, None if there are none), and `behind`: how much more of what the decision is to keep
    small, wrong labels or distance, it has than the best method. `…_se` are their standard errors over the tasks, of
    `behind` that of the paired difference; AUROC has none.
    """
    judged = [trial.judge(method) for method in methods]
    best = min((one.loss for one in judged), key=lambda loss: float(loss.mean()))
    return [_measures(method, one, best, trial.seed) for method, one in zip(methods, judged, strict=True)]


def _measures(method: str, judged: Judged, best: Floats, seed: int) -> Json:
    """The row of one method; `best` is the loss of the best method on each task."""
    confidence, right = judged.confidence, judged.right
    distance = judged.distance[~np.isnan(judged.distance)]
    return {
        "method": method,
        "tasks": len(right),
        "accuracy": float(right.mean()),
        "accuracy_se": standard_error(right.astype(float)),
        "calibration_error": expected_calibration_error(confidence, right),
        "calibration_excess": expected_calibration_excess(confidence, right, seed),
        "calibration_excess_se": float(np.std(resampled_calibration_errors(confidence, right, seed))),
        "brier": brier_score(confidence, right),
        "brier_se": standard_error((confidence - right) ** 2),
        "auroc": None if right.all() or not right.any() else area_under_roc(confidence, right),
        "distance": float(distance.mean()) if len(distance) else None,
        "distance_se": standard_error(distance) if len(distance) else None,
        "behind": float((judged.loss - best).mean()),
        "behind_se": standard_error(judged.loss - best),
    }


def best_method(rows: Sequence[Json]) -> tuple[str, list[str]]:
    """The method to choose, and the other methods that the gold cannot tell from it.

    Methods that are at most one standard error of the paired difference behind the best one count as equally right.
    Among them the smallest Brier score decides, that is, the most credible confidence.
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


def resampled_calibration_errors(
    confidence: npt.ArrayLike, right: npt.ArrayLike, seed: int = 0, bins: int = CALIBRATION_BINS
) -> Floats:
    """[R] the ECE of R samples of n tasks, drawn from the n with replacement (the bootstrap).

    Their standard deviation is the standard error of the ECE and of its excess; in simulations of 100 to 1,000 tasks it
    was between a fifth too small, for overconfident forecasts, and a third too large, for perfect ones. The same seed
    draws the same tasks, so that the errors of two methods on the same tasks can be subtracted, sample by sample.
    """
    confidences, outcomes = _paired(confidence, right)
    n = len(confidences)
    order = np.argsort(confidences, kind="stable")
    confidences, outcomes = confidences[order], outcomes[order]
    rank = np.empty(n, int)
    rank[order] = np.arange(n)
    generator = np.random.default_rng(seed)
    samples = (np.sort(rank[generator.integers(n, size=n)]) for _ in range(BOOTSTRAP_SAMPLES))
    return np.array([_binned_error(confidences[sample], outcomes[sample], bins) for sample in samples])


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


def standard_error(values: Floats) -> float:
    """The standard error of the mean of independent values."""
    return float(np.std(values) / np.sqrt(len(values)))
