"""Judges methods by gold they were not shown: how often the label is right, and whether the confidence can be believed.

Symbols: over n judged tasks, c_i is the confidence in the label given and r_i is 1 where that label is right, else 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UnusableInput

Floats = npt.NDArray[np.float64]

EVALUATED_METHODS = ("auto", "gem", "neg", "sw", "hyb", "plu")
CALIBRATION_BINS = 10
SIMULATED_FORECASTS = 200


def evaluate(
    tasks: Sequence[Hashable] | npt.NDArray[Any],
    annotators: Sequence[Hashable] | npt.NDArray[Any],
    labels: Sequence[Hashable] | npt.NDArray[Any],
    gold: Mapping[Any, Hashable],
    label_set: Sequence[Hashable] | Mapping[Any, Sequence[Hashable]] | None = None,
    questions: Sequence[Hashable] | npt.NDArray[Any] | None = None,
    seed: int = 0,
    folds: int = 5,
    methods: Sequence[str] = EVALUATED_METHODS,
    progress: Callable[[str, float], None] | None = None,
) -> list[dict[str, Any]]:
    """Cross-validates every method over the gold: each part is hidden in turn and judged by what the others teach.

    One row per method, in the order given: `method`, `tasks` (how many were judged), `accuracy` and `accuracy_se`,
    `calibration_error`, `calibration_excess`, `brier`, `auroc` (None where all labels are right or all wrong), and
    `behind` and `behind_se`: how much less often it is right than the most accurate method, on the same tasks.
    """
    parts = _parts(_answered_gold(tasks, gold, questions), seed, folds)
    judged = [key for part in parts for key in part]
    from . import aggregate  # the package's face may offer this module too

    confidence = np.empty((len(methods), len(judged)))
    right = np.empty((len(methods), len(judged)), bool)
    for row, method in enumerate(methods):
        column = 0
        for number, part in enumerate(parts):
            if progress:
                progress(f"Evaluating {method}", (row * len(parts) + number) / (len(methods) * len(parts)))
            hidden = set(part)
            shown = {key: label for key, label in gold.items() if key not in hidden}
            found = aggregate(
                tasks,
                annotators,
                labels,
                gold=shown,
                method=method,
                label_set=label_set,
                questions=questions,
                seed=seed,
            )
            for key in part:
                confidence[row, column] = found.confidence[key]
                right[row, column] = found.labels[key] == gold[key]
                column += 1
    best = right[int(right.mean(axis=1).argmax())]
    return [
        {
            "method": method,
            "tasks": len(judged),
            "accuracy": float(right[row].mean()),
            "accuracy_se": _standard_error(right[row]),
            "calibration_error": expected_calibration_error(confidence[row], right[row]),
            "calibration_excess": expected_calibration_excess(confidence[row], right[row], seed),
            "brier": brier_score(confidence[row], right[row]),
            "auroc": None if right[row].all() or not right[row].any() else area_under_roc(confidence[row], right[row]),
            "behind": float(best.mean() - right[row].mean()),
            "behind_se": _standard_error(best.astype(float) - right[row]),
        }
        for row, method in enumerate(methods)
    ]


def best_method(rows: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """The method to choose, and the others that the gold cannot tell from it.

    Methods at most one standard error of the paired difference behind the most accurate one count as equally right;
    among them the smallest Brier score decides, that is the confidence one can best believe.
    """
    equals = [row for row in rows if row["behind"] <= row["behind_se"]]
    best = min(equals, key=lambda row: float(row["brier"]))
    return best["method"], [row["method"] for row in equals if row is not best]


def expected_calibration_error(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = CALIBRATION_BINS) -> float:
    """ECE = Σ_b |Σ_{i in b} (c_i - r_i)| / n, over bins b of equally many tasks in order of confidence.

    Tasks of equal confidence that fall into different bins count there with their mean r, so that the order in which
    tasks are given does not matter.
    """
    confidences, outcomes = _paired(confidence, right)
    order = np.argsort(confidences, kind="stable")
    return _binned_error(confidences[order], outcomes[order], bins)


def expected_calibration_excess(
    confidence: npt.ArrayLike, right: npt.ArrayLike, seed: int = 0, bins: int = CALIBRATION_BINS
) -> float:
    """ECE minus the mean ECE of a perfect forecaster: r'_i ~ Bernoulli(c_i), simulated for the same confidences.

    On few tasks even perfect forecasts show an ECE well above zero; what exceeds that is the method's own fault.
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
    """The mean of (c_i - r_i)²: 0 for certainty that is always right, 0.25 for always saying one half."""
    confidences, outcomes = _paired(confidence, right)
    return float(np.mean((confidences - outcomes) ** 2))


def area_under_roc(confidence: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """P(c_i > c_j) + P(c_i = c_j) / 2 for a right i and a wrong j; not a number where there is no such pair.

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


def _answered_gold(
    tasks: Sequence[Hashable] | npt.NDArray[Any],
    gold: Mapping[Any, Hashable],
    questions: Sequence[Hashable] | npt.NDArray[Any] | None,
) -> list[Any]:
    """The keys of gold that somebody answered, in an order that depends on them alone."""
    task_list = tasks.tolist() if isinstance(tasks, np.ndarray) else tasks
    question_list = questions.tolist() if isinstance(questions, np.ndarray) else questions
    answered = set(task_list) if question_list is None else set(zip(task_list, question_list, strict=True))
    return sorted((key for key in gold if key in answered), key=repr)


def _parts(keys: Sequence[Any], seed: int, folds: int) -> list[list[Any]]:
    """Deals the keys out at random into parts whose sizes differ by one at most."""
    if len(keys) < 2:
        raise UnusableInput(
            f"Gold labels of tasks with answers: {len(keys)}; give at least 2 to compare methods, better 50 or more."
        )
    if folds < 2:
        raise UnusableInput(f"The gold cannot be cross-validated in {folds} part(s); ask for at least 2.")
    shuffled = np.random.default_rng(seed).permutation(len(keys))
    return [[keys[position] for position in part] for part in np.array_split(shuffled, min(folds, len(keys)))]


def _paired(confidence: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Floats, Floats]:
    """[n], [n] both as numbers."""
    confidences, outcomes = np.asarray(confidence, float), np.asarray(right, float)
    if confidences.ndim != 1 or confidences.shape != outcomes.shape or not len(confidences):
        raise UnusableInput(
            f"Confidences of shape {confidences.shape} cannot be judged by outcomes of shape {outcomes.shape}; "
            "give one of each per task, and at least one task."
        )
    return confidences, outcomes


def _binned_error(confidence: Floats, right: Floats, bins: int) -> float:
    """The calibration error of tasks already in order of confidence."""
    n = len(confidence)
    tie_start = np.flatnonzero(np.append(True, confidence[1:] != confidence[:-1]))
    tie_size = np.diff(np.append(tie_start, n))
    share_right = np.repeat(np.add.reduceat(right, tie_start) / tie_size, tie_size)
    bin_start = np.unique(np.arange(bins) * n // bins)
    return float(np.abs(np.add.reduceat(confidence - share_right, bin_start)).sum() / n)


def _standard_error(values: npt.NDArray[Any]) -> float:
    """Of the mean of independent values."""
    return float(np.std(values.astype(float)) / np.sqrt(len(values)))
