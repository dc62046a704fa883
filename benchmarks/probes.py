"""Can an annotator find out which tasks are gold, and what does it cost to prevent that? python -m benchmarks.probes.

An annotator tries out answers and reads everything that is then written into Label Studio. For every number that can
be read, a table has the area under the curve (AUC) with which its changes tell gold tasks from others: 0.5 is chance,
and 0.4 to 0.6 is allowed. *Before*: everything is learned from all answers, and people's numbers have three decimals.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from ls_crowd_plugin.aggregation import Lessons, aggregate
from ls_crowd_plugin.demo import simulate_demo_crowd
from ls_crowd_plugin.demo.crowds import rare_answer_crowd
from ls_crowd_plugin.demo.sampling import random_kinds
from ls_crowd_plugin.demo.simulated_crowd import ModelParameters, model_crowd
from ls_crowd_plugin.pipeline.held_back import held_back_count
from tests.support.probing import (
    answer_again,
    bury,
    probe,
    probed_crowd,
    save_again,
    switch,
    tasks_to_probe,
    watch,
    watch_at_once,
)

from .text_table import Cell, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ls_crowd_plugin.aggregation import Consensus
    from ls_crowd_plugin.demo import SimulatedCrowd
    from tests.support.probing import Attack, ProbedCrowd

LIMIT = 0.1  # how far a mean AUC may be from 0.5

CROWDS: dict[str, Callable[[int], ProbedCrowd]] = {
    "2 labels, gem": lambda seed: probed_crowd(seed, labels=2, people=12, method="gem"),
    "3 labels, auto": lambda seed: probed_crowd(seed, labels=3, people=20, own_answers=120, spammers=0.2),
    "5 labels, gem": lambda seed: probed_crowd(seed, labels=5, answers_per_task=4, adversaries=0.2, method="gem"),
    "4 labels, neg": lambda seed: probed_crowd(
        seed, labels=4, people=25, tasks=250, answers_per_task=3, gold=0.1, spammers=0.2, method="neg"
    ),
    "2 labels, auto": lambda seed: probed_crowd(
        seed, labels=2, people=40, tasks=400, answers_per_task=3, gold=0.05, own_answers=200
    ),
    "3 labels, neg": lambda seed: probed_crowd(
        seed, labels=3, people=8, tasks=200, answers_per_task=3, gold=0.15, skill=0.5, method="neg"
    ),
}

# Name → the attack as it is made now, and as it was made before
ATTACKS: dict[str, tuple[Attack, Attack | None]] = {
    "gives every label in turn": (switch, switch),
    "deletes the answer and gives every label in turn": (answer_again, answer_again),
    "saves an old answer again": (save_again, None),
    "only works and watches": (watch, watch_at_once),
    "gives every label in turn, then saves a tenth of all answers again": (bury, None),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--attacks", default="1,2,3,4,5", help="numbers of the attacks (default 1,2,3,4,5)")
    parser.add_argument("--gold", type=int, default=20, help="gold tasks to probe in each crowd (default 20)")
    parser.add_argument("--others", type=int, default=40, help="other tasks to probe in each crowd (default 40)")
    parser.add_argument("--seed", type=int, default=0, help="of the first crowd (default 0)")
    parser.add_argument("--cost", type=int, default=20, help="crowds of each kind that the cost is measured on")
    options = parser.parse_args()
    crowds = {name: draw(options.seed + number) for number, (name, draw) in enumerate(CROWDS.items())}
    chosen = {int(number) for number in options.attacks.split(",") if number}
    for number, (name, (attack, attack_before)) in enumerate(ATTACKS.items(), 1):
        if number in chosen:
            print_attack(f"{number}. Somebody {name}", crowds, attack, attack_before, options.gold, options.others)
    if options.cost:
        print_cost(options.cost)


def print_attack(
    title: str, crowds: Mapping[str, ProbedCrowd], attack: Attack, before: Attack | None, gold: int, others: int
) -> None:
    """Print the AUC of every feature in every crowd, as it is and, if there is something to compare with, as it was."""
    for what, made, protected in (("before", before, False), ("now", attack, True)):
        if made is None:
            continue
        found = []
        for crowd in crowds.values():
            tasks = tasks_to_probe(crowd, gold, others, answered=made in (save_again, watch, watch_at_once, bury))
            found.append(probe(crowd, made, tasks, protected))
        rows: list[list[Cell]] = []
        for feature in found[0]:
            values = [one[feature] for one in found]
            mean = float(np.mean(values))
            rows.append([feature, *values, mean, "yes" if abs(mean - 0.5) <= LIMIT else "NO"])
        print_table(f"{title}: {what}", ["number", *crowds, "mean", "allowed"], rows, digits=2)


def few_answers_crowd(seed: int) -> SimulatedCrowd:
    """Draw 150 people who give three answers each."""
    generator = np.random.default_rng(seed)
    kinds = random_kinds(generator, 150, {"spammer": 0.15, "adversary": 0.1}, "honest")
    skill = np.array([-np.inf if kind == "spammer" else generator.normal(1.5, 1.0) for kind in kinds])
    adversary = np.array([kind == "adversary" for kind in kinds])
    parameters = ModelParameters(skill, np.ones(150), generator.normal(0.0, 1.0, 90), adversary)
    return model_crowd(generator, kinds, parameters, np.full(90, 5), labels=3, probes=12)


COST_CROWDS: dict[str, Callable[[int], SimulatedCrowd]] = {
    "demo: 20 people, 40 answers each": simulate_demo_crowd,
    "150 people, 3 answers each": few_answers_crowd,
    "rare answers: 40 people, 50 each": lambda seed: rare_answer_crowd(seed, 0.2),
}


def print_cost(count: int) -> None:
    """Print what holding answers back costs, as differences with their standard errors over crowds."""
    rows: list[list[Cell]] = []
    for name, draw in COST_CROWDS.items():
        pairs = [(judge(crowd, False), judge(crowd, True)) for crowd in map(draw, range(count))]
        before, now = (np.array(values) for values in zip(*pairs, strict=True))  # [crowds, measures]
        error = (now - before).std(axis=0, ddof=1) / np.sqrt(count)
        for column, measure in enumerate(MEASURES):
            difference = f"{(now - before)[:, column].mean():+.4f} ± {error[column]:.4f}"
            rows.append([f"{name}: {measure}", before[:, column].mean(), now[:, column].mean(), difference])
    title = f"What holding back a tenth of the answers costs; with gold, judged on other tasks; {count} crowds each"
    print_table(title, ["crowd, measure", "before", "now", "difference"], rows, digits=4)


MEASURES = ["accuracy", "log loss", "rank correlation of accuracies", "adversaries called contrary"]


def judge(crowd: SimulatedCrowd, hold_back: bool) -> list[float]:
    """Return the measures of a consensus; the answers of a crowd are in the order in which they were given."""
    rows = list(zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True))
    lessons = None
    if hold_back:
        given: dict[object, list[int]] = {}
        for row, (_, annotator, _) in enumerate(rows):
            given.setdefault(annotator, []).append(row)
        held_back = {row for own in given.values() for row in own[len(own) - held_back_count(len(own)) :]}
        older = [rows[row] for row in range(len(rows)) if row not in held_back]
        tasks, annotators, labels = (list(column) for column in zip(*older, strict=True))
        lessons = Lessons(tasks, annotators, labels, gold=crowd.gold)
    result = aggregate(
        crowd.tasks, crowd.annotators, crowd.labels, crowd.gold, label_set=crowd.label_set, lessons=lessons
    )
    judged = [task for task in result.labels if task not in crowd.gold]
    right = np.mean([result.labels[task] == crowd.truth[task] for task in judged])
    loss = np.mean([-np.log(max(result.posterior(task)[crowd.truth[task]], 1e-9)) for task in judged])
    return [float(right), float(loss), *_judge_people(crowd, rows, result)]


def _judge_people(
    crowd: SimulatedCrowd, rows: Sequence[tuple[object, object, object]], result: Consensus
) -> list[float]:
    right: dict[object, list[bool]] = {}
    for task, annotator, label in rows:
        right.setdefault(annotator, []).append(label == crowd.truth[task])
    scores = {score.annotator: score for score in result.scores}
    people = list(scores)
    estimates = [scores[one].accuracy or 0.0 for one in people]
    correlation = spearmanr(estimates, [np.mean(right[one]) for one in people]).statistic
    adversaries = [one for one in people if crowd.kinds[one] == "adversary"]
    found = np.mean([scores[one].verdict == "contrary" for one in adversaries]) if adversaries else np.nan
    return [float(correlation), float(found)]


if __name__ == "__main__":
    main()
