"""The result of a simulation: answers together with the truth and the parameters they were drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .sampling import Flags, Floats, Integers, assign_annotators, draw_answers, solve_probability

Value = Any  # a task, an annotator or a label: text in the demo's crowd, numbers in the others
Column = Sequence[Value] | Integers


@dataclass(frozen=True)
class SimulatedCrowd:
    """Answers as three columns of equal length, and everything that was known when they were drawn.

    The parameters, if the crowd has them, are arrays in the order of `kinds` (J annotators) and of `truth` (T tasks). A
    task that nobody answered is in `truth` but not in `tasks`.
    """

    tasks: Column
    annotators: Column
    labels: Column
    truth: Mapping[Value, Value]  # task → label
    gold: Mapping[Value, Value]  # the part of `truth` that the aggregation may see
    label_set: Sequence[Value]
    kinds: Mapping[Value, str]  # annotator → kind, for example "spammer"
    skill: Floats | None = None  # [J] d: infinity for those who always know, minus infinity for those who never do
    discrimination: Floats | None = None  # [J] a
    difficulty: Floats | None = None  # [T] D
    adversary: Flags | None = None  # [J]


@dataclass(frozen=True)
class ModelParameters:
    """The parameters of the paper's stochastic model."""

    skill: Floats  # [J] d
    discrimination: Floats  # [J] a
    difficulty: Floats  # [T] D
    adversary: Flags  # [J]


def oracle(crowd: SimulatedCrowd) -> dict[Value, Value]:
    """Return the most probable label of every task given all parameters of the model; no method can do better."""
    if crowd.skill is None or crowd.discrimination is None or crowd.difficulty is None or crowd.adversary is None:
        raise ValueError("This crowd was not drawn from the stochastic model, so it has no oracle.")
    task_code = {task: code for code, task in enumerate(crowd.truth)}
    annotator_code = {annotator: code for code, annotator in enumerate(crowd.kinds)}
    label_code = {label: code for code, label in enumerate(crowd.label_set)}
    task = np.array([task_code[value] for value in crowd.tasks], int)
    annotator = np.array([annotator_code[value] for value in crowd.annotators], int)
    answer = np.array([label_code[value] for value in crowd.labels], int)
    count = len(crowd.label_set)
    solves = solve_probability(crowd.skill, crowd.discrimination, crowd.difficulty, task, annotator)
    solves = np.clip(solves, 1e-12, 1 - 1e-12)
    guess = (1 - solves) / count
    adversary = crowd.adversary[annotator]
    hit = np.where(adversary, guess, solves + guess)
    miss = np.where(adversary, guess + solves / (count - 1), guess)
    score = np.zeros((len(crowd.truth), count))
    np.add.at(score, (task, answer), np.log(hit / miss))
    best = score.argmax(axis=1).tolist()
    return {task: crowd.label_set[code] for task, code in zip(crowd.truth, best, strict=True)}


def model_crowd(
    generator: np.random.Generator,
    kinds: list[str],
    parameters: ModelParameters,
    degrees: Integers,
    labels: int,
    probes: int,
) -> SimulatedCrowd:
    """Draw a crowd from the paper's stochastic model with simple adversaries and an even class prior.

    Task i gets degrees[i] answers. Tasks, annotators and labels are numbers.
    """
    task, annotator = assign_annotators(generator, degrees, len(kinds))
    truth = generator.integers(labels, size=len(parameters.difficulty))
    answer = draw_model_answers(generator, parameters, task, annotator, truth, labels)
    return named_crowd(
        generator, task, annotator, answer, truth, list(range(labels)), kinds, probes, parameters=parameters
    )


def draw_model_answers(
    generator: np.random.Generator,
    parameters: ModelParameters,
    task: Integers,
    annotator: Integers,
    truth: Integers,
    labels: int,
) -> Integers:
    """Return the answers [n] of annotators [n] to tasks [n] under the model; `truth` [T] is by task."""
    probability = solve_probability(parameters.skill, parameters.discrimination, parameters.difficulty, task, annotator)
    solved = generator.random(len(task)) < probability
    return draw_answers(generator, truth[task], solved, parameters.adversary[annotator], labels)


def named_crowd(
    generator: np.random.Generator,
    task: Integers,
    annotator: Integers,
    answer: Integers,
    truth: Integers,
    label_set: Sequence[Value],
    kinds: Sequence[str],
    probes: int,
    *,
    task_names: Sequence[Value] | None = None,
    annotator_names: Sequence[Value] | None = None,
    parameters: ModelParameters | None = None,
) -> SimulatedCrowd:
    """Replace codes by the values they mean, shuffle the answers, and make `probes` random tasks gold."""
    task_names = task_names or range(len(truth))
    annotator_names = annotator_names or range(len(kinds))
    order = generator.permutation(len(task))
    named_truth = {name: label_set[label] for name, label in zip(task_names, truth.tolist(), strict=True)}
    gold_tasks = generator.permutation(len(truth))[:probes].tolist()
    return SimulatedCrowd(
        tasks=[task_names[code] for code in task[order].tolist()],
        annotators=[annotator_names[code] for code in annotator[order].tolist()],
        labels=[label_set[code] for code in answer[order].tolist()],
        truth=named_truth,
        gold={task_names[code]: named_truth[task_names[code]] for code in sorted(gold_tasks)},
        label_set=list(label_set),
        kinds=dict(zip(annotator_names, kinds, strict=True)),
        **(vars(parameters) if parameters is not None else {}),
    )
