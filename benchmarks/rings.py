"""Rings injected into real crowds, and pairs found in clean ones: python -m benchmarks.rings FOLDER [--crowds A,B].

A ring is one person with several accounts. The accounts answer the same tasks; each answer of the first is copied by
every other one with probability FIDELITY, or else drawn from all labels. Points are against the clean crowd by the same
method; `merged` counts the true ring as one annotator, which is the limit.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ls_crowd_plugin.aggregation import aggregate
from ls_crowd_plugin.aggregation.encoding import encode_answers
from ls_crowd_plugin.aggregation.rings import Voices, find_rings

from .real_crowds import RealCrowd, is_right, plurality_is_right, read_crowds
from .text_table import Cell, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

FIDELITY = 0.95
POOR, GOOD = 0.4, 0.95  # how often a leader is right
SHARE = 0.5  # of the tasks that a leader answers
MIN_TASKS = 40
COLUMNS = ["plurality", "before", "after", "merged"]


@dataclass(frozen=True)
class Kind:
    """What a ring does."""

    name: str
    leader: str  # poor, good, real or rule
    accounts: int


KINDS = [
    *(Kind(f"poor leader, {accounts} accounts", "poor", accounts) for accounts in (3, 5, 10)),
    Kind("good leader, 5 accounts", "good", 5),
    *(Kind(f"copied real person, {accounts} accounts", "real", accounts) for accounts in (5, 10)),
    *(Kind(f"shifted rule, {accounts} accounts", "rule", accounts) for accounts in (5, 10)),
]


@dataclass(frozen=True)
class Injected:
    """A crowd with a ring."""

    crowd: RealCrowd
    members: frozenset[str]

    def merged(self) -> RealCrowd:
        """The crowd in which the ring is one annotator, with the most frequent answer of its members."""
        rows = list(zip(self.crowd.tasks, self.crowd.annotators, self.crowd.labels, strict=True))
        given: dict[str, list[str]] = defaultdict(list)
        for task, annotator, label in sorted(rows):
            if annotator in self.members:
                given[task].append(label)
        rows = [row for row in rows if row[1] not in self.members]
        rows += [(task, min(self.members), max(labels, key=labels.count)) for task, labels in given.items()]
        tasks, annotators, labels = (list(column) for column in zip(*rows, strict=True))
        return replace(self.crowd, tasks=tasks, annotators=annotators, labels=labels)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rings", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="has a subfolder per crowd with answers.csv and truth.csv")
    parser.add_argument("--crowds", help="names of the crowds to use, separated by commas (default all)")
    parser.add_argument(
        "--kinds", default="poor,good,real,rule", help="what rings do (default all; none: clean crowds only)"
    )
    parser.add_argument("--method", default="auto", help="default auto")
    parser.add_argument("--form", help="of the method; a quick one is skill-0 of gem")
    parser.add_argument("--find-only", action="store_true", help="only look for rings, without fits")
    options = parser.parse_args()
    named = options.crowds.split(",") if options.crowds else None
    crowds = [crowd for crowd in read_crowds(options.folder) if named is None or crowd.name in named]
    kinds = [kind for kind in KINDS if kind.leader in options.kinds.split(",")]
    runner = Runner(options.method, options.form, options.find_only)
    clean = {crowd.name: runner.clean(crowd) for crowd in crowds}
    header = ["crowd", "pairs", "seconds to look", "seconds in all", "accuracy", "change"]
    print_table("Clean crowds: pairs found in rings, and points that this changes", header, list(clean.values()))
    rows: list[list[Cell]] = []
    for kind in kinds:
        lines = [line for crowd in crowds if (line := runner.injected(crowd, kind)) is not None]
        print_table(kind.name, ["crowd", "found", "others", "warned", *COLUMNS], lines, digits=2)
        rows.append([kind.name, len(lines), *summarise(lines)])
    header = [
        "ring",
        "crowds",
        "found",
        "others",
        "warned",
        *(f"{column}{word}" for column in COLUMNS for word in ("", " worst")),
    ]
    print_table("Points against the clean crowd", header, rows, digits=2)


def summarise(lines: Sequence[Sequence[Cell]]) -> list[Cell]:
    """The mean share of members found, the number of others taken for members, how many crowds have a warning of two
    explanations, and mean and worst of every column."""
    numbers = np.array([[float(value) for value in line[1:]] for line in lines])  # type: ignore[arg-type]
    if not len(numbers):
        return []
    found, others, warned, points = numbers[:, 0], numbers[:, 1], numbers[:, 2], numbers[:, 3:]
    cells: list[Cell] = [float(found.mean()), int(others.sum()), int(warned.sum())]
    for column in points.T:
        cells += [float(column.mean()), float(column.min())]
    return cells


class Runner:
    """Runs one method on crowds with and without rings."""

    def __init__(self, method: str, form: str | None, find_only: bool) -> None:
        self._method, self._form, self._find_only = method, form, find_only
        self._clean: dict[str, float] = {}

    def clean(self, crowd: RealCrowd) -> list[Cell]:
        """Name, pairs found, seconds, accuracy without the search for rings, and what the search changes."""
        answers = encode_answers(crowd.tasks, crowd.annotators, crowd.labels)
        started = time.process_time()
        rings = find_rings(answers).groups
        looked = time.process_time() - started
        pairs = sum(len(members) * (len(members) - 1) // 2 for members in rings)
        before = self._accuracy(crowd, rings=False)
        seconds = time.process_time() - started - looked
        self._clean[crowd.name] = before
        change = self._accuracy(crowd, rings=True) - before if rings else 0.0
        print(f"  {crowd.name}: {pairs} pairs, {looked:.2f} s of {seconds:.2f} s", flush=True)
        return [crowd.name, pairs, looked, seconds, before, change]

    def injected(self, crowd: RealCrowd, kind: Kind) -> list[Cell] | None:
        """Name, share of the ring found, others found, and points of all columns; None if the crowd has no room."""
        injected = inject(crowd, kind)
        if injected is None:
            return None
        with_ring = injected.crowd
        judged = list(crowd.truth)
        votes = 100 * float(plurality_is_right(with_ring, judged, with_ring.votes()).mean())
        plain = 100 * float(plurality_is_right(crowd, judged, crowd.votes()).mean())
        voices = Voices.search(encode_answers(with_ring.tasks, with_ring.annotators, with_ring.labels))
        rings = voices.rings
        found = max((len(injected.members.intersection(ring.annotators)) for ring in rings), default=0)
        others = len({name for ring in rings for name in ring.annotators} - injected.members)
        clean = self._clean[crowd.name]
        before = self._accuracy(with_ring, rings=False) - clean
        after = self._accuracy(with_ring, rings=True) - clean if rings else before
        warned = int(bool(voices.disputed))
        points = [votes - plain, before, after, self._accuracy(injected.merged(), rings=False) - clean]
        print(f"  {kind.name}, {crowd.name}: {found} of {len(injected.members)} found, {warned=} {points}", flush=True)
        return [crowd.name, found / len(injected.members), others, warned, *points]

    def _accuracy(self, crowd: RealCrowd, rings: bool) -> float:
        if self._find_only:
            return 0.0
        columns = (crowd.tasks, crowd.annotators, crowd.labels)
        consensus = aggregate(*columns, method=self._method, form=self._form, rings="count" if rings else "off")
        return 100 * float(is_right(crowd, list(crowd.truth), consensus.labels).mean())


def inject(crowd: RealCrowd, kind: Kind, seed: int = 0) -> Injected | None:
    """Add a ring to a crowd; None if nobody, or no leader, has enough tasks."""
    generator = np.random.default_rng(seed)
    labels = sorted(set(crowd.labels) | set(crowd.truth.values()))
    leader = "ring 0"
    if kind.leader == "real":
        person = _ordinary_person(crowd)
        if person is None:
            return None
        leader, answers = person
    else:
        tasks = sorted(crowd.truth)
        count = round(SHARE * len(tasks))
        if count < MIN_TASKS:
            return None
        chosen = [tasks[position] for position in sorted(generator.permutation(len(tasks))[:count].tolist())]
        answers = {task: _lead(kind.leader, crowd.truth[task], labels, generator) for task in chosen}
    rows = list(zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True))
    members = [leader, *(f"ring {number}" for number in range(1, kind.accounts))]
    for member in members[1:] if kind.leader == "real" else members:
        for task, label in answers.items():
            copies = member == leader or generator.random() < FIDELITY
            rows.append((task, member, label if copies else labels[int(generator.integers(len(labels)))]))
    tasks, annotators, given = (list(column) for column in zip(*rows, strict=True))
    with_ring = replace(crowd, tasks=tasks, annotators=annotators, labels=given)
    return Injected(with_ring, frozenset(members))


def _lead(leader: str, truth: str, labels: Sequence[str], generator: np.random.Generator) -> str:
    """One answer of a leader."""
    if leader == "rule":
        return labels[(labels.index(truth) + 1) % len(labels)]
    accuracy = GOOD if leader == "good" else max(POOR, 1 / len(labels))
    if generator.random() < accuracy:
        return truth
    wrong = [label for label in labels if label != truth]
    return wrong[int(generator.integers(len(wrong)))]


def _ordinary_person(crowd: RealCrowd) -> tuple[str, dict[str, str]] | None:
    """Of those in the middle half by accuracy, the person with the most answers (at least MIN_TASKS), and these."""
    given: dict[str, dict[str, str]] = defaultdict(dict)
    for task, annotator, label in zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True):
        given[annotator][task] = label
    busy = []
    for annotator, answers in sorted(given.items()):
        judged = [task for task in answers if task in crowd.truth]
        if len(answers) >= MIN_TASKS and judged:
            busy.append((float(np.mean([answers[task] == crowd.truth[task] for task in judged])), annotator))
    if not busy:
        return None
    busy.sort()
    middle = busy[len(busy) // 4 : len(busy) - len(busy) // 4]
    person = max((name for _, name in middle), key=lambda name: (len(given[name]), name))
    return person, given[person]


if __name__ == "__main__":
    main()
