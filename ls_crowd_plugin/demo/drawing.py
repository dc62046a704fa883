"""The draws that simulated crowds are made of: who answers which task, who can solve it, and what is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def assign(generator: np.random.Generator, degrees: Integers, annotators: int) -> tuple[Integers, Integers]:
    """[n], [n] task and annotator of each answer: degrees[i] different annotators for task i, even loads for all.

    With equal degrees that is a random regular bipartite graph. Stubs are paired at random, and pairs that occur twice
    are exchanged with random others; above half of all pairs it is the missing ones that are drawn.
    """
    degrees = np.asarray(degrees)
    if 2 * degrees.sum() > len(degrees) * annotators:
        task, annotator = assign(generator, annotators - degrees, annotators)
        present = np.ones((len(degrees), annotators), bool)
        present[task, annotator] = False
        task, annotator = np.nonzero(present)
        return task, annotator
    total = int(degrees.sum())
    task = np.repeat(np.arange(len(degrees)), degrees)
    stubs = np.concatenate([generator.permutation(annotators) for _ in range(-(-total // annotators) or 1)])[:total]
    annotator = generator.permutation(stubs)
    taken = np.zeros((len(degrees), annotators), int)
    np.add.at(taken, (task, annotator), 1)
    for one in range(total):
        while taken[task[one], annotator[one]] > 1:
            other = int(generator.integers(total))
            if taken[task[one], annotator[other]] == 0 and taken[task[other], annotator[one]] == 0:
                taken[task[[one, other]], annotator[[one, other]]] -= 1
                annotator[[one, other]] = annotator[[other, one]]
                taken[task[[one, other]], annotator[[one, other]]] += 1
    return task, annotator


def ability(skill: Floats, discrimination: Floats, difficulty: Floats, task: Integers, annotator: Integers) -> Floats:
    """[n] s = 1 / (1 + exp(−a (d − D))): the probability that the annotator can solve the task."""
    exponent = discrimination[annotator] * (skill[annotator] - difficulty[task])
    return np.asarray(0.5 * (1.0 + np.tanh(exponent / 2)), float)


def model_answers(
    generator: np.random.Generator,
    truth: Integers,
    solved: Flags,
    adversary: Flags,
    labels: int,
) -> Integers:
    """[n] who solved the task gives the right label, or any other if an adversary; who did not guesses evenly."""
    guess = generator.integers(labels, size=len(truth))
    wrong = wrong_labels(generator, truth, labels)
    return np.asarray(np.where(solved, np.where(adversary, wrong, truth), guess), int)


def wrong_labels(generator: np.random.Generator, truth: Integers, labels: int) -> Integers:
    """[n] any label but the right one, all equally likely."""
    return np.asarray((truth + generator.integers(1, labels, size=truth.shape)) % labels, int)


def random_flags(generator: np.random.Generator, count: int, chosen: int) -> Flags:
    """[count] true for exactly `chosen`."""
    return np.asarray(generator.permutation(count) < chosen)


def random_kinds(generator: np.random.Generator, annotators: int, shares: Mapping[str, float], rest: str) -> list[str]:
    """[J] the kinds in random order: the given shares of the crowd, and `rest` for everybody else."""
    kinds = [kind for kind, share in shares.items() for _ in range(round(share * annotators))]
    kinds += [rest] * (annotators - len(kinds))
    return [kinds[position] for position in generator.permutation(annotators)]
