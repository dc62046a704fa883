"""Relearns the numbers of the calibration from a folder of crowds: python -m benchmarks.learn FOLDER.

There are four numbers: ε for the average that includes the votes, and β, λ and ε for a single form. They are judged by
the Brier score of the published label, in the mean over crowds; of all that are at most 1 % worse than the best, those
that change the least are taken. For every group of crowds that share tasks or people, the numbers are also
learned without that group and judged on it: that is what to expect on a crowd that nobody has seen. No gold is used.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ls_crowd_plugin.aggregation.calibration import DEFAULT_CALIBRATION, POOL_CALIBRATION, Calibration
from ls_crowd_plugin.aggregation.consensus import Consensus
from ls_crowd_plugin.aggregation.encoding import encode_answers
from ls_crowd_plugin.aggregation.evaluation import brier_score, expected_calibration_excess
from ls_crowd_plugin.aggregation.found_scales import with_found_scales
from ls_crowd_plugin.aggregation.selection import Evidence, MethodFit, compare_forms

from .real_crowds import RealCrowd, is_right, read_crowds
from .text_table import Cell, print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .real_crowds import Floats

MISLED = (0.0, 0.02, 0.04, 0.06, 0.08)
SHARPNESSES = (0.2, 0.3, 0.4, 0.6, 1.0)
DIVIDED = (0.2, 0.4, 0.5, 0.6, 0.8)
NEARLY = 1.01
TOGETHER = (  # public crowds that share tasks or people; those whose names begin alike otherwise stand alone
    ("sp", "sp_amt"),
    ("weather_amt", "weather_cf"),
    ("trec11_delft", "trec11_rest"),
    ("truth3", "truth6", "truth6_ecir"),
    ("fashion_q1", "fashion_q2"),
    ("eastpolitics1000", "eastpolitics2000"),
    ("medrel_treat", "medrel_cause"),
    ("hum_edge", "hum_eidolon", "hum_silhouette", "hum_stylized"),
)


@dataclass(frozen=True)
class Numbers:
    """What is learned from crowds with known truth."""

    pool: Calibration
    single: Calibration


SHIPPED = Numbers(POOL_CALIBRATION, DEFAULT_CALIBRATION)


@dataclass(frozen=True)
class Case:
    """A crowd, and how GEM's forms explain it."""

    crowd: RealCrowd
    evidence: Evidence

    @property
    def is_pooled(self) -> bool:
        return self.evidence.calibration is POOL_CALIBRATION

    def consensus(self, numbers: Numbers) -> Consensus:
        """What `auto` says with these numbers."""
        calibration = numbers.pool if self.is_pooled else numbers.single
        return Consensus(MethodFit(self.evidence.fit(), "gem", self.evidence.why, calibration), 0, 0.0)

    def best_form(self, numbers: Numbers) -> Consensus:
        """What the best single form says with these numbers."""
        fit = next(iter(self.evidence.fits.values()))
        return Consensus(MethodFit(fit, "gem", "", numbers.single), 0, 0.0)

    def judge(self, consensus: Consensus) -> tuple[Floats, Floats]:
        """[judged tasks] the confidence in each label, and whether it is right."""
        judged = list(self.crowd.truth)
        confidence = np.array([consensus.confidence[task] for task in judged])
        return confidence, is_right(self.crowd, judged, consensus.labels)


def make_case(crowd: RealCrowd) -> Case:
    answers = with_found_scales(encode_answers(crowd.tasks, crowd.annotators, crowd.labels, None, None, None))
    return Case(crowd, compare_forms(answers, 0, lambda *_: None))


def group_of(name: str) -> tuple[str, ...]:
    """The crowds that must be left out together with this one."""
    return next((group for group in TOGETHER if name in group), (name,))


class Learner:
    """Brier scores of every case with every candidate, from which numbers are learned for any set of crowds."""

    def __init__(self, cases: Iterable[Case]) -> None:
        singles = [Calibration(*values) for values in product(SHARPNESSES, DIVIDED, MISLED)]
        self.pools = [replace(SHIPPED, pool=Calibration(1.0, 0.0, misled)) for misled in MISLED]
        self.singles = [replace(SHIPPED, single=single) for single in singles]
        self.pool_scores: dict[str, Floats] = {}  # crowd → [candidates]
        self.single_scores: dict[str, Floats] = {}
        for case in cases:
            name = case.crowd.name
            if case.is_pooled:
                scores = [brier_score(*case.judge(case.consensus(numbers))) for numbers in self.pools]
                self.pool_scores[name] = np.array(scores)
            scores = [brier_score(*case.judge(case.best_form(numbers))) for numbers in self.singles]
            self.single_scores[name] = np.array(scores)

    def learn(self, left_out: Sequence[str] = ()) -> Numbers:
        """The numbers for all crowds but these."""
        change = np.array([numbers.pool.misled for numbers in self.pools])
        pool = self.pools[_mildest(self.pool_scores, change, left_out)]
        calibrations = [numbers.single for numbers in self.singles]
        change = np.array([-np.log(one.sharpness) + one.divided + one.misled for one in calibrations])
        return replace(pool, single=calibrations[_mildest(self.single_scores, change, left_out)])


def _mildest(scores: Mapping[str, Floats], change: Floats, left_out: Sequence[str]) -> int:
    """The candidate with the least `change` among those whose mean score is nearly that of the best."""
    mean = np.mean([values for name, values in scores.items() if name not in left_out], axis=0)
    return int(np.where(mean <= NEARLY * mean.min(), change, np.inf).argmin())


def main() -> None:
    """Print what was learned, and how it does on crowds left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learn", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="has a subfolder per crowd with answers.csv and truth.csv")
    cases = [make_case(crowd) for crowd in read_crowds(parser.parse_args().folder)]
    learner = Learner(cases)
    rows: list[list[Cell]] = []
    for case in cases:
        numbers = learner.learn(group_of(case.crowd.name))
        confidence, right = case.judge(case.consensus(numbers))
        judged = (100 * right.mean(), expected_calibration_excess(confidence, right), brier_score(confidence, right))
        rows.append([case.crowd.name, *(float(value) for value in judged), _in_words(numbers)])
    means = [float(np.mean([row[column] for row in rows])) for column in (1, 2, 3)]
    header = ["crowd", "accuracy %", "ECE excess", "Brier", "numbers learned without it"]
    print_table("On crowds left out", header, [*rows, ["mean", *means, ""]], digits=3)
    print(f"From all crowds: {_in_words(learner.learn())}")
    print(f"Shipped:         {_in_words(SHIPPED)}")


def _in_words(numbers: Numbers) -> str:
    pool, single = numbers.pool, numbers.single
    return (
        f"average with votes: ε {pool.misled:g}; "
        f"single: β {single.sharpness:g}, λ {single.divided:g}, ε {single.misled:g}"
    )


if __name__ == "__main__":
    main()
