"""Simulated crowds: which annotators answer which tasks is random, and the truth behind the answers is known.

Every function takes a seed and returns the same crowd for the same seed.
"""

from __future__ import annotations

import numpy as np

from .sampling import assign_annotators, draw_wrong_labels, random_flags, random_kinds
from .sentences import TOPICS, sentences
from .simulated_crowd import ModelParameters, SimulatedCrowd, draw_model_answers, model_crowd, named_crowd


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
    """Draw from the paper's stochastic model (Tables 1 and 2).

    Skill d ~ N(1, 400), difficulty D ~ N(8, task_variance), discrimination a ~ |N(0.3, 0.2)|, where the second number
    is the variance. Without the absolute value, a quarter of the crowd would be better at harder tasks. Without
    `answers_per_task`, everybody answers every task.
    """
    generator = np.random.default_rng(seed)
    skill = generator.normal(1.0, 20.0, annotators)
    discrimination = np.abs(generator.normal(0.3, np.sqrt(discrimination_variance), annotators))
    difficulty = generator.normal(8.0, np.sqrt(task_variance), tasks)
    adversary = random_flags(generator, annotators, round(adversaries * annotators))
    degrees = np.full(tasks, annotators if answers_per_task is None else answers_per_task)
    kinds = np.where(adversary, "adversary", "honest").tolist()
    parameters = ModelParameters(skill, discrimination, difficulty, adversary)
    return model_crowd(generator, kinds, parameters, degrees, labels, probes)


def hammers_and_spammers_crowd(
    seed: int,
    spammers: float,
    adversaries: float,
    annotators: int = 100,
    tasks: int = 100,
    labels: int = 5,
    max_answers: int = 15,
) -> SimulatedCrowd:
    """Draw the paper's Table 5: hammers are always right, spammers guess, adversaries choose one of the wrong labels.

    The paper does not say how many answers a task gets. Its plurality errors grow from 7 to 45 per 100 over the table,
    more slowly than any fixed number of answers allows (five comes closest, 7 points off in the root mean square). A
    number drawn uniformly from 0 to 15 is 3 points off: tasks without answers explain the errors where nearly everybody
    is right.
    """
    generator = np.random.default_rng(seed)
    kinds = random_kinds(generator, annotators, {"spammer": spammers, "adversary": adversaries}, "hammer")
    skill = np.array([-np.inf if kind == "spammer" else np.inf for kind in kinds])
    adversary = np.array([kind == "adversary" for kind in kinds])
    degrees = generator.integers(0, max_answers + 1, tasks)
    parameters = ModelParameters(skill, np.ones(annotators), np.zeros(tasks), adversary)
    return model_crowd(generator, kinds, parameters, degrees, labels, probes=0)


def skilled_crowd(
    seed: int,
    low_skilled: float,
    adversaries: float,
    annotators: int = 100,
    tasks: int = 100,
    labels: int = 5,
    answers_per_task: int = 25,
) -> SimulatedCrowd:
    """Draw the paper's Table 6: D ~ U[0, 8]; d ~ U[0, 8] for the skilled, honest or not, and U[0, 2] for the others.

    The paper states neither the discrimination nor the number of answers per task; a = 1 and 25 answers reproduce its
    plurality errors, less than 3 points off in the root mean square.
    """
    generator = np.random.default_rng(seed)
    kinds = random_kinds(generator, annotators, {"low skilled": low_skilled, "adversary": adversaries}, "high skilled")
    skill = generator.uniform(0.0, 1.0, annotators) * np.array(
        [2.0 if kind == "low skilled" else 8.0 for kind in kinds]
    )
    adversary = np.array([kind == "adversary" for kind in kinds])
    difficulty = generator.uniform(0.0, 8.0, tasks)
    degrees = np.full(tasks, answers_per_task)
    parameters = ModelParameters(skill, np.ones(annotators), difficulty, adversary)
    return model_crowd(generator, kinds, parameters, degrees, labels, probes=0)


def rare_answer_crowd(
    seed: int,
    rate: float,
    tasks: int = 400,
    annotators: int = 20,
    answers_per_task: int = 5,
    accuracy: float = 0.9,
    gold_share: float = 0.1,
) -> SimulatedCrowd:
    """Draw answers to a yes/no question where yes is rare: a third of the annotators never say yes."""
    generator = np.random.default_rng(seed)
    truth = random_flags(generator, tasks, round(rate * tasks)).astype(int)  # 1 is yes
    kinds = random_kinds(generator, annotators, {"constant": (annotators // 3) / annotators}, "careful")
    task, annotator = assign_annotators(generator, np.full(tasks, answers_per_task), annotators)
    constant = np.array([kind == "constant" for kind in kinds])
    right = generator.random(len(task)) < accuracy
    answer = np.where(constant[annotator], 0, np.where(right, truth[task], 1 - truth[task]))
    return named_crowd(generator, task, annotator, answer, truth, ["no", "yes"], kinds, round(gold_share * tasks))


def constant_label_crowd(
    seed: int,
    tasks: int = 200,
    annotators: int = 20,
    labels: int = 5,
    answers_per_task: int = 5,
    accuracy: float = 0.8,
    gold_share: float = 0.1,
) -> SimulatedCrowd:
    """Draw a crowd in which one annotator always gives the same label; the others are right with some accuracy."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(labels, size=tasks)
    kinds = random_kinds(generator, annotators, {"constant": 1 / annotators}, "careful")
    task, annotator = assign_annotators(generator, np.full(tasks, answers_per_task), annotators)
    constant = np.array([kind == "constant" for kind in kinds])
    right = generator.random(len(task)) < accuracy
    answer = np.where(right, truth[task], draw_wrong_labels(generator, truth[task], labels))
    answer = np.where(constant[annotator], generator.integers(labels), answer)
    names = [chr(ord("a") + label) for label in range(labels)]
    return named_crowd(generator, task, annotator, answer, truth, names, kinds, round(gold_share * tasks))


def large_crowd(
    seed: int, answers: int, labels: int = 5, annotators: int = 1000, answers_per_task: int = 10
) -> SimulatedCrowd:
    """Draw many answers as integer arrays: accuracies uniform in [0.4, 0.95], random annotators for every task."""
    generator = np.random.default_rng(seed)
    tasks = answers // answers_per_task
    annotator = generator.integers(annotators, size=(tasks, answers_per_task))
    while len(repeated := np.flatnonzero((np.diff(np.sort(annotator, axis=1), axis=1) == 0).any(axis=1))):
        annotator[repeated] = generator.integers(annotators, size=(len(repeated), answers_per_task))
    truth = generator.integers(labels, size=tasks)
    accuracy = generator.uniform(0.4, 0.95, annotators)
    right = generator.random((tasks, answers_per_task)) < accuracy[annotator]
    right_labels = np.repeat(truth, answers_per_task)
    return SimulatedCrowd(
        tasks=np.repeat(np.arange(tasks), answers_per_task),
        annotators=annotator.ravel(),
        labels=np.where(right.ravel(), right_labels, draw_wrong_labels(generator, right_labels, labels)),
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
DEMO_SKILL = {"expert": 4.0, "sloppy": 0.5, "spammer": -np.inf, "adversary": 4.0}


def simulate_demo_crowd(seed: int = 0, tasks: int = 150, probes: int = 15) -> SimulatedCrowd:
    """Draw twenty people who sort short sentences by topic, five or six answers each; few of them can be trusted."""
    generator = np.random.default_rng(seed)
    kind_of = {name: kind for kind, names in DEMO_PEOPLE.items() for name in names}
    people = generator.permutation(list(kind_of)).tolist()
    kinds = [kind_of[name] for name in people]
    skill = np.array([DEMO_SKILL[kind] for kind in kinds])
    adversary = np.array([kind == "adversary" for kind in kinds])
    degrees = generator.integers(5, 7, tasks)
    difficulty = generator.normal(0.0, 1.0, tasks)
    topic = generator.permutation(np.arange(tasks) % len(TOPICS))
    texts = sentences(generator, topic.tolist())
    parameters = ModelParameters(skill, np.ones(len(people)), difficulty, adversary)
    task, annotator = assign_annotators(generator, degrees, len(people))
    answer = draw_model_answers(generator, parameters, task, annotator, topic, len(TOPICS))
    return named_crowd(
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
        parameters=parameters,
    )
