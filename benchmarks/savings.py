"""How many answers a policy saves, by replaying real crowds answer by answer: python -m benchmarks.savings FOLDER.

Every task begins with two of its answers, in a random order; then more are revealed, some at a time, to the tasks that
a policy chooses, and everything is fitted again with `auto`. No policy sees the truth.

    fixed            the tasks with the fewest answers: what a fixed number for every task does on the way there
    margin           the tasks whose most frequent label leads the next one by the fewest votes
    least confident  the tasks with the lowest confidence, without gold
    adaptive         the same with a tenth of the truth as gold, as `ls-crowd connect --adaptive` orders its queue

The first table has the share of all answers after which a policy stays within 0.3 points of the accuracy of all. The
last one shows what happens if tasks are closed at a confidence of 0.95, or at a lead of two votes: the share of answers
used, and the points lost. Without gold the product closes no task; what that would cost is shown, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ls_crowd_plugin.aggregation import Consensus, aggregate

from .real_crowds import RealCrowd, read_crowds
from .text_table import Cell, print_table

STEPS = 24  # refits on the way from two answers per task to all
CLOSE = 0.3  # points
STOP = 0.95
LEAD = 2
MIN_ANSWERS = 5.0  # per task, in the mean; with fewer there is nothing to save
SHARES = (1 / 3, 1 / 2)


@dataclass
class Replay:
    """The answers of a crowd in a random order, of which the first of each task are revealed."""

    crowd: RealCrowd
    gold: Mapping[str, str]
    rows: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # task → (annotator, label) in order
    given: dict[str, int] = field(default_factory=dict)  # task → how many are revealed

    @classmethod
    def start(cls, crowd: RealCrowd, gold: Mapping[str, str], seed: int) -> Replay:
        replay = cls(crowd, gold)
        order = np.random.default_rng(seed).permutation(len(crowd.tasks))
        for row in order.tolist():
            replay.rows.setdefault(crowd.tasks[row], []).append((crowd.annotators[row], crowd.labels[row]))
        replay.given = {task: min(2, len(rows)) for task, rows in replay.rows.items()}
        return replay

    @property
    def answers(self) -> int:
        return sum(self.given.values())

    def waiting(self) -> list[str]:
        """The tasks with an answer that is not revealed."""
        return [task for task, rows in self.rows.items() if self.given[task] < len(rows)]

    def lead(self, task: str) -> int:
        """By how many votes the most frequent label leads the next one."""
        labels = [label for _, label in self.rows[task][: self.given[task]]]
        counts = sorted((labels.count(label) for label in set(labels)), reverse=True)
        return counts[0] - (counts[1] if len(counts) > 1 else 0)

    def fit(self) -> Consensus:
        rows = [(task, *row) for task, rows in self.rows.items() for row in rows[: self.given[task]]]
        tasks, annotators, labels = (list(column) for column in zip(*rows, strict=True))
        label_set = sorted(set(self.crowd.labels) | set(self.crowd.truth.values()))
        return aggregate(tasks, annotators, labels, gold=self.gold, label_set=label_set, ordered=False)

    def accuracy(self, consensus: Consensus) -> float:
        """In percent, on tasks that are not gold, and by what the crowd says."""
        judged = [task for task in self.crowd.truth if task not in self.gold]
        return 100 * float(np.mean([consensus.crowd_label(task)[0] == self.crowd.truth[task] for task in judged]))


Urgency = Callable[[Replay, Consensus, str], float]  # the lower, the sooner a task gets an answer
POLICIES: dict[str, Urgency] = {
    "fixed": lambda replay, _, task: replay.given[task],
    "margin": lambda replay, _, task: replay.lead(task),
    "least confident": lambda _, consensus, task: consensus.crowd_label(task)[1],
    "adaptive": lambda _, consensus, task: consensus.crowd_label(task)[1],
}
SETTLED: dict[str, Callable[[Replay, Consensus, str], bool]] = {
    "margin": lambda replay, _, task: replay.lead(task) >= LEAD,
    "least confident": lambda _, consensus, task: consensus.crowd_label(task)[1] >= STOP,
    "adaptive": lambda _, consensus, task: consensus.crowd_label(task)[1] >= STOP,
}


@dataclass
class Course:
    """How accuracy rose with the share of the answers, over the orders of a crowd."""

    shares: list[list[float]] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    stops: list[tuple[float, float]] = field(default_factory=list)  # share of the answers, and points lost

    def at(self, share: float) -> float:
        pairs = zip(self.shares, self.points, strict=True)
        return float(np.mean([np.interp(share, x, y) for x, y in pairs]))

    def needed(self, wanted: float) -> float:
        """The share of answers from which on the mean accuracy stays at what is wanted."""
        grid = np.linspace(min(x[0] for x in self.shares), 1, 400)
        below = np.flatnonzero(np.array([self.at(share) for share in grid]) < wanted)
        return float(grid[min(below[-1] + 1, len(grid) - 1)]) if len(below) else float(grid[0])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.savings", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="has a subfolder per crowd with answers.csv and truth.csv")
    parser.add_argument(
        "--crowds", help="names of the crowds to use, separated by commas (default: with enough answers)"
    )
    parser.add_argument("--orders", type=int, default=5, help="random orders of the answers (default 5)")
    parser.add_argument("--gold-share", type=float, default=0.1)
    options = parser.parse_args()
    crowds = [crowd for crowd in read_crowds(options.folder) if _is_used(crowd, options.crowds)]
    courses: dict[str, dict[str, Course]] = {}
    for crowd in crowds:
        courses[crowd.name] = {name: Course() for name in POLICIES}
        for seed in range(options.orders):
            gold = crowd.draw_gold(options.gold_share, seed)
            for name, course in courses[crowd.name].items():
                _replay(Replay.start(crowd, gold if name == "adaptive" else {}, seed), name, course)
        print(f"  {crowd.name} done", flush=True)
    _print(courses)


def _is_used(crowd: RealCrowd, names: str | None) -> bool:
    if names is not None:
        return crowd.name in names.split(",")
    return len(crowd.tasks) >= MIN_ANSWERS * len(set(crowd.tasks))


def _replay(replay: Replay, name: str, course: Course) -> None:
    """Reveal all answers by a policy, and note the accuracy on the way, and where the policy would have stopped."""
    total, urgency, is_settled = len(replay.crowd.tasks), POLICIES[name], SETTLED.get(name)
    generator = np.random.default_rng(0)
    step = max((total - replay.answers) // STEPS, 1)
    shares, points, stopped = [], [], None
    while True:
        consensus = replay.fit()
        shares.append(replay.answers / total)
        points.append(replay.accuracy(consensus))
        waiting = replay.waiting()
        if is_settled and stopped is None and all(is_settled(replay, consensus, task) for task in waiting):
            stopped = (shares[-1], points[-1])
        if not waiting:
            break
        ranked = [(urgency(replay, consensus, task), float(generator.random()), task) for task in waiting]
        if is_settled and stopped is None:  # settled tasks come last
            ranked = [(is_settled(replay, consensus, task), *rank, task) for *rank, task in ranked]  # type: ignore[misc]
        unsettled = [row for row in ranked if row[0] is not True]
        for row in sorted(unsettled or ranked)[:step]:
            replay.given[row[-1]] += 1
    course.shares.append(shares)
    course.points.append(points)
    if stopped is not None:
        course.stops.append((stopped[0], points[-1] - stopped[1]))


def _print(courses: Mapping[str, Mapping[str, Course]]) -> None:
    names = list(POLICIES)
    rows: list[list[Cell]] = []
    for crowd, by_policy in courses.items():
        wanted = {name: course.at(1.0) - CLOSE for name, course in by_policy.items()}
        rows.append([crowd, *(100 * by_policy[name].needed(wanted[name]) for name in names)])
    _print_with_mean("Answers needed, in percent of all", ["crowd", *names], rows)
    for share in SHARES:
        gains: list[list[Cell]] = [
            [crowd, *(by_policy[name].at(share) - by_policy["fixed"].at(share) for name in names[1:])]
            for crowd, by_policy in courses.items()
        ]
        _print_with_mean(f"Points over fixed with {share:.0%} of the answers", ["crowd", *names[1:]], gains)
    stops: list[list[Cell]] = []
    for crowd, by_policy in courses.items():
        means = [np.mean(by_policy[name].stops or [(1.0, 0.0)], axis=0) for name in SETTLED]
        stops.append([crowd, *(cell for used, lost in means for cell in (100 * float(used), float(lost)))])
    header = ["crowd", *(word for name in SETTLED for word in (f"{name}: used %", "points lost"))]
    _print_with_mean("Where every task is closed once it is settled", header, stops)


def _print_with_mean(title: str, header: Sequence[str], rows: list[list[Cell]]) -> None:
    numbers = np.array([row[1:] for row in rows], float)
    mean: list[Cell] = ["mean", *numbers.mean(axis=0).tolist()]
    error: list[Cell] = (
        ["standard error", *(numbers.std(axis=0, ddof=1) / np.sqrt(len(rows))).tolist()] if len(rows) > 1 else []
    )
    print_table(title, header, [*rows, mean, *([error] if error else [])])


if __name__ == "__main__":
    main()
