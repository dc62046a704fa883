"""Random draws that simulated crowds consist of: who answers which task, who can solve it, and what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def assign_annotators(generator: np.random.Generator, degrees: Integers, annotators: int) -> tuple[Integers, Integers]:
    """Return task [n] and annotator [n] of each answer: degrees[i] different annotators for task i, with equal loads.

    With equal degrees this is a random regular bipartite graph: stubs are paired at random, and pairs that occur twice
    are exchanged with random others. Above half of all possible pairs, the missing pairs are drawn instead.
    """
    degrees = np.asarray(degrees)
    if 2 * degrees.sum() > len(degrees) * annotators:
        task, annotator = assign_annotators(generator, annotators - degrees, annotators)
        present = np.ones((len(degrees), annotators), bool)
        present[task, annotator] = False
        task, annotator = np.nonzero(present)
        return task, annotator
    total = int(degrees.sum())
    task = np.repeat(np.arange(len(degrees)), degrees)
    stubs = np.concatenate([generator.permutation(annotators) for _ in range(-(-total // annotators) or 1)])[:total]
    annotator = generator.permutation(stubs)
    count = np.zeros((len(degrees), annotators), int)  # [tasks, annotators] answers
    np.add.at(count, (task, annotator), 1)
    for one in range(total):
        while count[task[one], annotator[one]] > 1:
            other = int(generator.integers(total))
            if count[task[one], annotator[other]] == 0 and count[task[other], annotator[one]] == 0:
                count[task[[one, other]], annotator[[one, other]]] -= 1
                annotator[[one, other]] = annotator[[other, one]]
                count[task[[one, other]], annotator[[one, other]]] += 1
    return task, annotator


def solve_probability(
    skill: Floats, discrimination: Floats, difficulty: Floats, task: Integers, annotator: Integers
) -> Floats:
    """Return the probability [n] s = 1 / (1 + exp(−a (d − D))) that the annotator can solve the task."""
    exponent = discrimination[annotator] * (skill[annotator] - difficulty[task])
    return np.asarray(0.5 * (1.0 + np.tanh(exponent / 2)), float)


def draw_answers(
    generator: np.random.Generator,
    truth: Integers,
    solved: Flags,
    adversary: Flags,
    labels: int,
) -> Integers:
    """Return answers [n]: the right label, or any other from an adversary, where solved; elsewhere a random label."""
    guess = generator.integers(labels, size=len(truth))
    wrong = draw_wrong_labels(generator, truth, labels)
    return np.asarray(np.where(solved, np.where(adversary, wrong, truth), guess), int)


def draw_wrong_labels(generator: np.random.Generator, truth: Integers, labels: int) -> Integers:
    """Return wrong labels [n], all equally likely."""
    return np.asarray((truth + generator.integers(1, labels, size=truth.shape)) % labels, int)


def random_flags(generator: np.random.Generator, count: int, chosen: int) -> Flags:
    """Return flags [count], of which exactly `chosen` are true."""
    return np.asarray(generator.permutation(count) < chosen)


def random_kinds(
    generator: np.random.Generator, annotators: int, shares: Mapping[str, float], default: str
) -> list[str]:
    """Return kinds [J] in random order: these shares of the crowd, and the default kind for the rest."""
    kinds = [kind for kind, share in shares.items() for _ in range(round(share * annotators))]
    kinds += [default] * (annotators - len(kinds))
    return [kinds[position] for position in generator.permutation(annotators)]
