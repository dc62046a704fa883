"""Simulated crowds: who answers what is drawn at random, and the truth behind the answers is known.

Every function takes a seed and gives the same crowd for the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .drawing import Flags, Floats, Integers, ability, assign, model_answers, random_flags, random_kinds, wrong_labels
from .sentences import TOPICS, sentences

Column = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True)
class SimulatedCrowd:
    """Answers as three equally long columns, and everything that was known when they were drawn.

    The parameters, where the crowd has them, are arrays in the order of `kinds` (annotators, J) and of `truth` (tasks,
    T). A task that nobody answered is in `truth` but not in `tasks`.
    """

    tasks: Column
    annotators: Column
    labels: Column
    truth: Mapping[Any, Any]  # task -> label
    gold: Mapping[Any, Any]  # the part of `truth` that the aggregation may see
    label_set: Sequence[Any]
    kinds: Mapping[Any, str]  # annotator -> what it was made to be
    skill: Floats | None = None  # [J] d: infinite for who always knows, minus infinite for who never does
    discrimination: Floats | None = None  # [J] a
    difficulty: Floats | None = None  # [T] D
    adversary: Flags | None = None  # [J]


def generative_crowd(
    seed: int,
    task_variance: float = 2000.0,
    answers_per_task: int | None = None,
    annotators: int = 100,
    tasks: int = 100,
    labels: int = 5,
    probes: int = 10,
    adversaries: float = 0.1,
    discrimination_variance: float = 0.2,
) -> SimulatedCrowd:
    """The paper's stochastic model, Tables 1 and 2; `answers_per_task` of None means that everybody answers everything.

    Skill d ~ N(1, 400), difficulty D ~ N(8, task_variance), discrimination a ~ |N(0.3, 0.2)|, the second figure being
    the variance throughout. Without the bars a quarter of the crowd would be better at harder tasks.
    """
    generator = np.random.default_rng(seed)
    skill = generator.normal(1.0, 20.0, annotators)
    discrimination = np.abs(generator.normal(0.3, np.sqrt(discrimination_variance), annotators))
    difficulty = generator.normal(8.0, np.sqrt(task_variance), tasks)
    adversary = random_flags(generator, annotators, round(adversaries * annotators))
    degrees = np.full(tasks, annotators if answers_per_task is None else answers_per_task)
    kinds = np.where(adversary, "adversary", "honest").tolist()
    return _draw(generator, kinds, skill, discrimination, difficulty, adversary, degrees, labels, probes)


def hammers_and_spammers_crowd(
    seed: int,
    spammers: float,
    adversaries: float,
    annotators: int = 100,
    tasks: int = 100,
    labels: int = 5,
    most_answers: int = 15,
) -> SimulatedCrowd:
    """The paper's Table 5: hammers are always right, spammers guess, adversaries pick one of the wrong labels.

    The paper does not say how many answer a task. Its plurality errors grow from 7 to 45 per 100 over the table, slower
    than any fixed number of answers allows (five comes nearest, 7 points off in the root mean square). A number drawn
    evenly from 0 to 15 is 3 points off: the tasks that nobody answers explain the errors where nearly all are right.
    """
    generator = np.random.default_rng(seed)
    kinds = random_kinds(generator, annotators, {"spammer": spammers, "adversary": adversaries}, "hammer")
    skill = np.array([-np.inf if kind == "spammer" else np.inf for kind in kinds])
    adversary = np.array([kind == "adversary" for kind in kinds])
    degrees = generator.integers(0, most_answers + 1, tasks)
    return _draw(generator, kinds, skill, np.ones(annotators), np.zeros(tasks), adversary, degrees, labels, probes=0)


def skilled_crowd(
    seed: int,
    low_skilled: float,
    adversaries: float,
    annotators: int = 100,
    tasks: int = 100,
    labels: int = 5,
    answers_per_task: int = 25,
) -> SimulatedCrowd:
    """The paper's Table 6: D ~ U[0, 8]; skill U[0, 8] for the skilled, honest or adversary, and U[0, 2] for the rest.

    The paper gives neither the discrimination nor how many answer a task; a = 1 and 25 answers fit its plurality
    figures, less than 3 points off in the root mean square.
    """
    generator = np.random.default_rng(seed)
    kinds = random_kinds(generator, annotators, {"low skilled": low_skilled, "adversary": adversaries}, "high skilled")
    skill = generator.uniform(0.0, 1.0, annotators) * np.array(
        [2.0 if kind == "low skilled" else 8.0 for kind in kinds]
    )
    adversary = np.array([kind == "adversary" for kind in kinds])
    difficulty = generator.uniform(0.0, 8.0, tasks)
    degrees = np.full(tasks, answers_per_task)
    return _draw(generator, kinds, skill, np.ones(annotators), difficulty, adversary, degrees, labels, probes=0)


def rare_answer_crowd(
    seed: int,
    rate: float,
    tasks: int = 400,
    annotators: int = 20,
    answers_per_task: int = 5,
    accuracy: float = 0.9,
    gold_share: float = 0.1,
) -> SimulatedCrowd:
    """A yes/no question with few yeses: a third of the annotators never say yes, the others are mostly right."""
    generator = np.random.default_rng(seed)
    truth = random_flags(generator, tasks, round(rate * tasks)).astype(int)  # 1 is yes
    kinds = random_kinds(generator, annotators, {"constant": (annotators // 3) / annotators}, "careful")
    task, annotator = assign(generator, np.full(tasks, answers_per_task), annotators)
    constant = np.array([kind == "constant" for kind in kinds])
    right = generator.random(len(task)) < accuracy
    answer = np.where(constant[annotator], 0, np.where(right, truth[task], 1 - truth[task]))
    return _crowd(generator, task, annotator, answer, truth, ["no", "yes"], kinds, round(gold_share * tasks))


def constant_label_crowd(
    seed: int,
    tasks: int = 200,
    annotators: int = 20,
    labels: int = 5,
    answers_per_task: int = 5,
    accuracy: float = 0.8,
    gold_share: float = 0.1,
) -> SimulatedCrowd:
    """One annotator always picks the same one of the labels; the others are right 80 % of the time."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(labels, size=tasks)
    kinds = random_kinds(generator, annotators, {"constant": 1 / annotators}, "careful")
    task, annotator = assign(generator, np.full(tasks, answers_per_task), annotators)
    constant = np.array([kind == "constant" for kind in kinds])
    right = generator.random(len(task)) < accuracy
    answer = np.where(right, truth[task], wrong_labels(generator, truth[task], labels))
    answer = np.where(constant[annotator], generator.integers(labels), answer)
    names = [chr(ord("a") + label) for label in range(labels)]
    return _crowd(generator, task, annotator, answer, truth, names, kinds, round(gold_share * tasks))


def large_crowd(
    seed: int, answers: int, labels: int = 5, annotators: int = 1000, answers_per_task: int = 10
) -> SimulatedCrowd:
    """Many answers as integer arrays: accuracies even between 0.4 and 0.95, random annotators for every task."""
    generator = np.random.default_rng(seed)
    tasks = answers // answers_per_task
    annotator = generator.integers(annotators, size=(tasks, answers_per_task))
    while len(repeated := np.flatnonzero((np.diff(np.sort(annotator, axis=1), axis=1) == 0).any(axis=1))):
        annotator[repeated] = generator.integers(annotators, size=(len(repeated), answers_per_task))
    truth = generator.integers(labels, size=tasks)
    accuracy = generator.uniform(0.4, 0.95, annotators)
    right = generator.random((tasks, answers_per_task)) < accuracy[annotator]
    given = np.repeat(truth, answers_per_task)
    return SimulatedCrowd(
        tasks=np.repeat(np.arange(tasks), answers_per_task),
        annotators=annotator.ravel(),
        labels=np.where(right.ravel(), given, wrong_labels(generator, given, labels)),
        truth=dict(enumerate(truth.tolist())),
        gold={},
        label_set=list(range(labels)),
        kinds=dict.fromkeys(range(annotators), "ordinary"),
    )


DEMO_PEOPLE = {
    "expert": ["Amara", "Bohdan", "Chiara", "Dmitri", "Esra"],
    "sloppy": ["Farid", "Greta", "Hiroshi", "Ines", "Jonas", "Kavya"],
    "spammer": ["Liam", "Mirela", "Noor", "Oskar"],
    "adversary": ["Priya", "Quentin", "Rosa", "Sven", "Tomasz"],
}
_DEMO_SKILL = {"expert": 4.0, "sloppy": 0.5, "spammer": -np.inf, "adversary": 4.0}


def simulate_demo_crowd(seed: int = 0, tasks: int = 150, probes: int = 15) -> SimulatedCrowd:
    """Twenty people sort short sentences by topic, five or six answers each; few of the people can be trusted."""
    generator = np.random.default_rng(seed)
    kind_of = {name: kind for kind, names in DEMO_PEOPLE.items() for name in names}
    people = generator.permutation(list(kind_of)).tolist()
    kinds = [kind_of[name] for name in people]
    skill = np.array([_DEMO_SKILL[kind] for kind in kinds])
    adversary = np.array([kind == "adversary" for kind in kinds])
    degrees = generator.integers(5, 7, tasks)
    difficulty = generator.normal(0.0, 1.0, tasks)
    topic = generator.permutation(np.arange(tasks) % len(TOPICS))
    texts = sentences(generator, topic.tolist())
    task, annotator = assign(generator, degrees, len(people))
    solved = generator.random(len(task)) < ability(skill, np.ones(len(people)), difficulty, task, annotator)
    answer = model_answers(generator, topic[task], solved, adversary[annotator], len(TOPICS))
    return _crowd(
        generator,
        task,
        annotator,
        answer,
        topic,
        TOPICS,
        kinds,
        probes,
        task_names=texts,
        annotator_names=people,
        parameters=(skill, np.ones(len(people)), difficulty, adversary),
    )


def oracle(crowd: SimulatedCrowd) -> dict[Any, Any]:
    """The most probable label of every task for one who knows all parameters of the model: no method can do better."""
    if crowd.skill is None or crowd.discrimination is None or crowd.difficulty is None or crowd.adversary is None:
        raise ValueError("This crowd was not drawn from the stochastic model, so it has no oracle.")
    task_code = {task: code for code, task in enumerate(crowd.truth)}
    annotator_code = {annotator: code for code, annotator in enumerate(crowd.kinds)}
    label_code = {label: code for code, label in enumerate(crowd.label_set)}
    task = np.array([task_code[value] for value in crowd.tasks], int)
    annotator = np.array([annotator_code[value] for value in crowd.annotators], int)
    answer = np.array([label_code[value] for value in crowd.labels], int)
    count = len(crowd.label_set)
    solves = ability(crowd.skill, crowd.discrimination, crowd.difficulty, task, annotator)
    solves = np.clip(solves, 1e-12, 1 - 1e-12)
    guess = (1 - solves) / count
    adversary = crowd.adversary[annotator]
    hit = np.where(adversary, guess, solves + guess)
    miss = np.where(adversary, guess + solves / (count - 1), guess)
    score = np.zeros((len(crowd.truth), count))
    np.add.at(score, (task, answer), np.log(hit / miss))
    best = score.argmax(axis=1).tolist()
    return {task: crowd.label_set[code] for task, code in zip(crowd.truth, best, strict=True)}


def _draw(
    generator: np.random.Generator,
    kinds: list[str],
    skill: Floats,
    discrimination: Floats,
    difficulty: Floats,
    adversary: Flags,
    degrees: Integers,
    labels: int,
    probes: int,
) -> SimulatedCrowd:
    """A crowd from the paper's stochastic model with simple adversaries and an even class prior; ids are integers."""
    task, annotator = assign(generator, degrees, len(kinds))
    truth = generator.integers(labels, size=len(difficulty))
    solved = generator.random(len(task)) < ability(skill, discrimination, difficulty, task, annotator)
    answer = model_answers(generator, truth[task], solved, adversary[annotator], labels)
    parameters = (skill, discrimination, difficulty, adversary)
    return _crowd(generator, task, annotator, answer, truth, list(range(labels)), kinds, probes, parameters=parameters)


def _crowd(
    generator: np.random.Generator,
    task: Integers,
    annotator: Integers,
    answer: Integers,
    truth: Integers,
    label_set: Sequence[Any],
    kinds: Sequence[str],
    probes: int,
    task_names: Sequence[Any] | None = None,
    annotator_names: Sequence[Any] | None = None,
    parameters: tuple[Floats, Floats, Floats, Flags] | None = None,
) -> SimulatedCrowd:
    """Codes become the values they stand for, the rows are shuffled, and `probes` random tasks become gold."""
    task_names = task_names or range(len(truth))
    annotator_names = annotator_names or range(len(kinds))
    order = generator.permutation(len(task))
    named_truth = {name: label_set[label] for name, label in zip(task_names, truth.tolist(), strict=True)}
    gold_tasks = generator.permutation(len(truth))[:probes].tolist()
    skill, discrimination, difficulty, adversary = parameters or (None, None, None, None)
    return SimulatedCrowd(
        tasks=[task_names[code] for code in task[order].tolist()],
        annotators=[annotator_names[code] for code in annotator[order].tolist()],
        labels=[label_set[code] for code in answer[order].tolist()],
        truth=named_truth,
        gold={task_names[code]: named_truth[task_names[code]] for code in sorted(gold_tasks)},
        label_set=list(label_set),
        kinds=dict(zip(annotator_names, kinds, strict=True)),
        skill=skill,
        discrimination=discrimination,
        difficulty=difficulty,
        adversary=adversary,
    )
