"""How many answers a policy saves, by replaying real crowds answer by answer: python -m benchmarks.savings FOLDER.

Every task begins with two of its answers, in a random order; then more are revealed, to the tasks that a policy
chooses, in rounds of at most a tenth of the tasks. Between two fits with `auto`, answered tasks get the vote of the
last one, as in the service. No policy sees the truth.

    fixed            the tasks with the fewest answers: what a fixed number for every task does on the way there
    margin           the tasks whose most frequent label leads the next one by the fewest votes
    least confident  the tasks with the lowest confidence
    policy           as `ls-crowd connect --adaptive` orders the queue

The columns with gold have a tenth of the truth as gold, and are judged on the rest.

The first table has the share of all answers that are needed to come within 0.3 points of the accuracy of all of them;
the curve of accuracy, the mean over the orders, is made monotone by isotonic regression. The last one shows what
happens if tasks are closed at a confidence of 0.95, or at a lead of two votes: the share of answers used, and the
points lost. Without gold the product closes no task; what that would cost is shown, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.optimize import isotonic_regression

from ls_crowd_plugin.aggregation import Consensus, aggregate

from .real_crowds import Floats, RealCrowd, read_crowds
from .text_table import Cell, print_table

FITS = 12  # on the way from two answers per task to all
ROUND = 0.1  # of the tasks get an answer between two looks at the confidence
CLOSE = 0.3  # points
STOP = 0.95
LEAD = 2
MIN_ANSWERS = 5.0  # per task, in the mean; with fewer there is nothing to save
JUDGED, MAX_ORDERS = 2000, 12  # a crowd is replayed until so many tasks are judged, or in so many orders
SHARES = (1 / 3, 1 / 2)


@dataclass
class Replay:
    """The answers of a crowd in a random order, of which the first of each task are revealed."""

    crowd: RealCrowd
    gold: Mapping[str, str]
    rows: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # task → (annotator, label) in order
    given: dict[str, int] = field(default_factory=dict)  # task → how many are revealed
    confidence: dict[str, float] = field(default_factory=dict)  # without the task's own gold
    chance: dict[str, float] = field(default_factory=dict)  # what decides ties

    @classmethod
    def start(cls, crowd: RealCrowd, gold: Mapping[str, str], seed: int) -> Replay:
        replay, generator = cls(crowd, gold), np.random.default_rng(seed)
        answers: dict[str, dict[str, str]] = {}
        for row in generator.permutation(len(crowd.tasks)).tolist():
            answers.setdefault(crowd.tasks[row], {})[crowd.annotators[row]] = crowd.labels[row]
        replay.rows = {task: list(by_annotator.items()) for task, by_annotator in answers.items()}
        replay.given = {task: min(2, len(rows)) for task, rows in replay.rows.items()}
        replay.chance = {task: float(generator.random()) for task in replay.rows}
        return replay

    @property
    def answers(self) -> int:
        return sum(self.given.values())

    @property
    def total(self) -> int:
        return sum(map(len, self.rows.values()))

    def waiting(self) -> list[str]:
        """The tasks with an answer that is not revealed."""
        return [task for task, rows in self.rows.items() if self.given[task] < len(rows)]

    def lead(self, task: str) -> int:
        """By how many votes the most frequent label leads the next one."""
        labels = [label for _, label in self.rows[task][: self.given[task]]]
        counts = sorted((labels.count(label) for label in set(labels)), reverse=True)
        return counts[0] - (counts[1] if len(counts) > 1 else 0)

    def fit(self) -> Consensus:
        label_set = sorted(set(self.crowd.labels) | set(self.crowd.truth.values()))
        consensus = aggregate(*self._columns(self.rows), gold=self.gold, label_set=label_set, ordered=False)
        self.confidence = {task: consensus.crowd_label(task)[1] for task in self.rows}
        return consensus

    def vote(self, consensus: Consensus, tasks: Sequence[str]) -> None:
        """Let the last fit say what it thinks of tasks with new answers, as far as it knows the people."""
        known = {score.annotator for score in consensus.scores}
        tasks = [task for task in tasks if all(who in known for who, _ in self.rows[task][: self.given[task]])]
        if tasks:
            gold = {task: self.gold[task] for task in tasks if task in self.gold}
            voted = consensus.vote(*self._columns(tasks), gold=gold or None)
            self.confidence.update({task: voted.crowd_label(task)[1] for task in tasks})

    def accuracy(self, consensus: Consensus) -> float:
        """In percent, on tasks that are not gold, and by what the crowd says."""
        judged = [task for task in self.crowd.truth if task not in self.gold]
        return 100 * float(np.mean([consensus.crowd_label(task)[0] == self.crowd.truth[task] for task in judged]))

    def _columns(self, tasks: Sequence[str] | Mapping[str, object]) -> tuple[list[str], list[str], list[str]]:
        rows = [(task, *row) for task in tasks for row in self.rows[task][: self.given[task]]]
        column = list(zip(*rows, strict=True))
        return list(column[0]), list(column[1]), list(column[2])


@dataclass(frozen=True)
class Rule:
    """The lower `turn`, the sooner a task gets an answer; settled tasks get none before all are settled."""

    turn: Callable[[Replay, str], float]
    is_settled: Callable[[Replay, str], bool] = lambda *_: False
    has_gold: bool = False


def _is_confident(replay: Replay, task: str) -> bool:
    return replay.confidence[task] >= STOP


def _policy(replay: Replay, task: str) -> float:
    return (replay.confidence[task] - 1) / replay.given[task]


RULES = {
    "fixed": Rule(lambda replay, task: replay.given[task]),
    "margin": Rule(Replay.lead, lambda replay, task: replay.lead(task) >= LEAD),
    "least confident": Rule(lambda replay, task: replay.confidence[task]),
    "policy": Rule(_policy),
    "policy, closing": Rule(_policy, _is_confident),
    "fixed, gold": Rule(lambda replay, task: replay.given[task], has_gold=True),
    "policy, gold": Rule(_policy, has_gold=True),
    "policy, gold, closing": Rule(_policy, _is_confident, has_gold=True),
}
COMPARED = ("fixed", "margin", "least confident", "policy", "fixed, gold", "policy, gold")
CLOSING = ("margin", "policy, closing", "policy, gold, closing")


@dataclass
class Course:
    """How accuracy rose with the share of the answers, over the orders of a crowd."""

    shares: list[list[float]] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    stops: list[tuple[float, float]] = field(default_factory=list)  # share of the answers, and points lost

    def at(self, shares: Floats | float) -> Floats:
        pairs = zip(self.shares, self.points, strict=True)
        return np.asarray(np.mean([np.interp(shares, x, y) for x, y in pairs], axis=0))

    def needed(self) -> float:
        """The share of answers that is needed for the accuracy of all."""
        grid = np.linspace(min(x[0] for x in self.shares), 1, 400).astype(np.float64)
        points = isotonic_regression(self.at(grid)).x
        return float(grid[np.argmax(points >= float(self.at(1.0)) - CLOSE)])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.savings", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="has a subfolder per crowd with answers.csv and truth.csv")
    parser.add_argument("--crowds", help="names of crowds, separated by commas (default: with enough answers)")
    parser.add_argument("--judged", type=int, default=JUDGED, help="tasks, by which the number of orders is chosen")
    parser.add_argument("--gold-share", type=float, default=0.1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    crowds = [crowd for crowd in read_crowds(options.folder) if _is_used(crowd, options.crowds)]
    courses = {crowd.name: {name: Course() for name in RULES} for crowd in crowds}
    jobs = [
        (crowd, name, order, options.gold_share)
        for crowd in crowds
        for order in range(min(max(round(options.judged / len(crowd.truth)), 1), MAX_ORDERS))
        for name in RULES
    ]
    print(f"{len(jobs)} replays of {len(crowds)} crowds", flush=True)
    with ProcessPoolExecutor(options.processes) as pool:
        for (crowd, name, *_), (shares, points, stop) in zip(jobs, pool.map(_replay, jobs), strict=True):
            course = courses[crowd.name][name]
            course.shares.append(shares)
            course.points.append(points)
            course.stops.append(stop)
    _print(courses)


def _is_used(crowd: RealCrowd, names: str | None) -> bool:
    if names is not None:
        return crowd.name in names.split(",")
    return len(crowd.tasks) >= MIN_ANSWERS * len(set(crowd.tasks))


def _replay(job: tuple[RealCrowd, str, int, float]) -> tuple[list[float], list[float], tuple[float, float]]:
    """Reveal all answers by a rule; the accuracy on the way, and where the rule would have stopped."""
    crowd, name, order, gold_share = job
    rule = RULES[name]
    replay = Replay.start(crowd, crowd.draw_gold(gold_share, order) if rule.has_gold else {}, order)
    total, step = replay.total, max((replay.total - replay.answers) // FITS, 1)
    shares, points, stop = [], [], None
    while True:
        consensus = replay.fit()
        shares.append(replay.answers / total)
        points.append(replay.accuracy(consensus))
        waiting = replay.waiting()
        if stop is None and all(rule.is_settled(replay, task) for task in waiting):
            stop = len(shares) - 1
        if not waiting:
            break
        _reveal(replay, consensus, rule, step, stays_closed=stop is None)
    stop = len(shares) - 1 if stop is None else stop
    return shares, points, (shares[stop], points[-1] - points[stop])


def _reveal(replay: Replay, consensus: Consensus, rule: Rule, answers: int, *, stays_closed: bool) -> None:
    """Reveal some answers, or fewer if all tasks are settled before."""
    size = max(int(ROUND * len(replay.rows)), 1)
    while answers > 0:
        tasks = [task for task in replay.waiting() if not (stays_closed and rule.is_settled(replay, task))]
        tasks.sort(key=lambda task: (rule.turn(replay, task), replay.chance[task]))
        tasks = tasks[: min(size, answers)]
        if not tasks:
            break
        for task in tasks:
            replay.given[task] += 1
        replay.vote(consensus, tasks)
        answers -= len(tasks)


def _print(courses: Mapping[str, Mapping[str, Course]]) -> None:
    rows: list[list[Cell]] = [
        [crowd, *(100 * by_rule[name].needed() for name in COMPARED)] for crowd, by_rule in courses.items()
    ]
    _print_with_mean("Answers needed for the accuracy of all, in percent", ["crowd", *COMPARED], rows)
    for share in SHARES:
        gains: list[list[Cell]] = [
            [
                crowd,
                *(_gain(by_rule, name, "fixed", share) for name in COMPARED[1:4]),
                _gain(by_rule, "policy, gold", "fixed, gold", share),
            ]
            for crowd, by_rule in courses.items()
        ]
        header = ["crowd", *COMPARED[1:4], "policy, gold over fixed, gold"]
        _print_with_mean(f"Points over fixed with {share:.0%} of the answers", header, gains)
    stops: list[list[Cell]] = []
    for crowd, by_rule in courses.items():
        means = [np.mean(by_rule[name].stops, axis=0) for name in CLOSING]
        stops.append([crowd, *(cell for used, lost in means for cell in (100 * float(used), float(lost)))])
    header = ["crowd", *(word for name in CLOSING for word in (f"{name}: used %", "points lost"))]
    _print_with_mean("Where every task is closed once it is settled", header, stops)


def _gain(by_rule: Mapping[str, Course], name: str, other: str, share: float) -> float:
    return float(by_rule[name].at(share) - by_rule[other].at(share))


def _print_with_mean(title: str, header: Sequence[str], rows: list[list[Cell]]) -> None:
    numbers = np.array([row[1:] for row in rows], float)
    mean: list[Cell] = ["mean", *numbers.mean(axis=0).tolist()]
    error: list[Cell] = (
        ["standard error", *(numbers.std(axis=0, ddof=1) / np.sqrt(len(rows))).tolist()] if len(rows) > 1 else []
    )
    print_table(title, header, [*rows, mean, *([error] if error else [])])


if __name__ == "__main__":
    main()
