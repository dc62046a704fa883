"""Crowds of boosted classifiers on UCI data, as in the paper's Tables 3, 8 and 9.

An annotator is a boosted ensemble of shallow trees, each trained on a small random part of the data. The number of
boosting stages makes it weak or strong; without any stage it guesses. A task is a data sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.tree import DecisionTreeClassifier

from ls_crowd_plugin.demo import SimulatedCrowd
from ls_crowd_plugin.demo.sampling import draw_answers

if TYPE_CHECKING:
    from pathlib import Path

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TASKS, PROBES, ANNOTATORS = 100, 10, 100
STAGES = (0, 1, 2, 4, 8, 16, 32, 64, 128)
CLASSIFIERS_PER_LEVEL = 8  # trained to estimate the accuracy that a number of stages gives
MAX_TRAINING_EXAMPLES = 1000  # for speed


@dataclass(frozen=True)
class Domain:
    """One classification problem."""

    features: Floats  # [samples, features]
    classes: Integers  # [samples] 0 .. count - 1
    count: int
    tree_depth: int
    tree_examples: int  # per tree; few, and shallow trees, where the problem is easy, so that weak annotators are weak


def read_domain(folder: Path, table: int) -> Domain:
    """Read the data of a table: 3 is Pen Digits (odd digits only), 8 Dermatology, 9 Vowel."""
    if table == 3:
        digits = np.loadtxt(folder / "pendigits.tra", delimiter=",")
        odd = digits[digits[:, -1] % 2 == 1]
        return Domain(odd[:, :-1], (odd[:, -1] // 2).astype(int), 5, tree_depth=2, tree_examples=10)
    if table == 8:
        lines = (folder / "dermatology.data").read_text().split()
        rows = [line.split(",") for line in lines if line[0].isdigit()]
        values = np.array([[np.nan if value == "?" else float(value) for value in row] for row in rows])
        filled = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
        return Domain(filled[:, :-1], filled[:, -1].astype(int) - 1, 6, tree_depth=2, tree_examples=10)
    vowels = np.loadtxt(folder / "vowel-context.data")
    return Domain(vowels[:, 3:13], vowels[:, 13].astype(int), 11, tree_depth=4, tree_examples=100)


def level_accuracies(domain: Domain, seed: int) -> Floats:
    """Return the accuracy in percent [levels, CLASSIFIERS_PER_LEVEL] of classifiers with each number of stages."""
    generator = np.random.default_rng(seed)
    accuracies = np.full((len(STAGES), CLASSIFIERS_PER_LEVEL), 100 / domain.count)  # no stages: guessing
    for level, classifier in product(range(1, len(STAGES)), range(CLASSIFIERS_PER_LEVEL)):
        tasks, training = _split(generator, domain)
        answers = _classify(generator, domain, training, tasks, STAGES[level])
        accuracies[level, classifier] = 100 * (answers == domain.classes[tasks]).mean()
    return accuracies


def level_shares(accuracies: Floats, mean: float, variance: float) -> Floats:
    """Return the most even shares [levels] of the levels that give this mean and variance of accuracy.

    Maximum entropy under two moments: shares proportional to exp(tilt · moments), where the tilt minimises the dual.
    """
    scaled = accuracies / 100
    moments = np.stack([scaled.mean(axis=1), (scaled**2).mean(axis=1)], axis=1)  # [levels, 2]
    target = np.array([mean / 100, (variance + mean**2) / 1e4])

    def dual(tilt: Floats) -> float:
        # The last term keeps the tilt bounded where the target moments cannot be reached.
        return float(logsumexp(moments @ tilt) - target @ tilt + 1e-7 * tilt @ tilt)

    return np.asarray(softmax(moments @ minimize(dual, np.zeros(2), method="Nelder-Mead").x))


def boosted_crowd(domain: Domain, shares: Floats, seed: int) -> SimulatedCrowd:
    """Draw a new split of the data and a new crowd; everybody answers every task."""
    generator = np.random.default_rng(seed)
    tasks, training = _split(generator, domain)
    # Systematic sampling: every level gets its share of the annotators, to within one of them.
    levels = np.searchsorted(np.cumsum(shares)[:-1], (np.arange(ANNOTATORS) + generator.random()) / ANNOTATORS)
    stages = np.array(STAGES)[levels]
    answers = np.stack([_classify(generator, domain, training, tasks, int(count)) for count in stages])  # [J, T]
    truth = dict(enumerate(domain.classes[tasks].tolist()))
    probes = generator.permutation(TASKS)[:PROBES].tolist()
    return SimulatedCrowd(
        tasks=np.tile(np.arange(TASKS), ANNOTATORS),
        annotators=np.repeat(np.arange(ANNOTATORS), TASKS),
        labels=answers.ravel(),
        truth=truth,
        gold={task: truth[task] for task in sorted(probes)},
        label_set=list(range(domain.count)),
        kinds=dict.fromkeys(range(ANNOTATORS), "honest"),
    )


def with_adversaries(crowd: SimulatedCrowd, share: float, seed: int) -> SimulatedCrowd:
    """Replace some annotators by simple adversaries who solve as many tasks as those they replace.

    An annotator who solves tasks with probability s is right with s + (1 − s)/K; so s = (accuracy·K − 1)/(K − 1).
    """
    generator = np.random.default_rng(seed)
    count = len(crowd.label_set)
    truth = np.array([crowd.truth[task] for task in range(TASKS)])
    answers = np.array(crowd.labels).reshape(ANNOTATORS, TASKS).copy()
    replaced = generator.permutation(ANNOTATORS)[: round(share * ANNOTATORS)]
    for annotator in replaced:
        accuracy = (answers[annotator] == truth).mean()
        solves = max(0.0, (accuracy * count - 1) / (count - 1))
        solved = generator.random(TASKS) < solves
        answers[annotator] = draw_answers(generator, truth, solved, np.ones(TASKS, bool), count)
    kinds: dict[Any, str] = {**crowd.kinds, **dict.fromkeys(replaced.tolist(), "adversary")}
    return SimulatedCrowd(
        crowd.tasks, crowd.annotators, answers.ravel(), crowd.truth, crowd.gold, crowd.label_set, kinds
    )


def accuracy_of_annotators(crowd: SimulatedCrowd) -> tuple[float, float]:
    """Return mean and variance over annotators of the percentage of right answers."""
    truth = np.array([crowd.truth[task] for task in range(TASKS)])
    right = 100 * (np.array(crowd.labels).reshape(ANNOTATORS, TASKS) == truth).mean(axis=1)
    return float(right.mean()), float(right.var())


def _split(generator: np.random.Generator, domain: Domain) -> tuple[Integers, Integers]:
    order = generator.permutation(len(domain.classes))
    return order[:TASKS], order[TASKS : TASKS + MAX_TRAINING_EXAMPLES]


def _classify(
    generator: np.random.Generator, domain: Domain, training: Integers, tasks: Integers, stages: int
) -> Integers:
    """Return the answers [T] of a new ensemble: multi-class AdaBoost (SAMME), each tree on a weighted random part."""
    features, classes = domain.features[training], domain.classes[training]
    weights = np.full(len(classes), 1 / len(classes))
    votes = generator.random((len(tasks), domain.count)) * 1e-9  # an ensemble without stages guesses
    for _ in range(stages):
        part = generator.choice(len(classes), domain.tree_examples, p=weights)
        tree = DecisionTreeClassifier(
            max_depth=domain.tree_depth, max_features=1, random_state=int(generator.integers(2**31))
        ).fit(features[part], classes[part])
        missed = tree.predict(features) != classes
        error = float(np.clip(weights[missed].sum(), 1e-9, 1 - 1e-9))
        vote = max(np.log((1 - error) / error) + np.log(domain.count - 1), 1e-3)
        weights *= np.exp(vote * missed)
        weights /= weights.sum()
        votes[np.arange(len(tasks)), tree.predict(domain.features[tasks])] += vote
    return np.asarray(votes.argmax(axis=1))
