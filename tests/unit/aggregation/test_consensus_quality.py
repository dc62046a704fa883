"""The consensus on simulated crowds: rare labels, constant answers, adversaries, and errors against plurality."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import Consensus
from ls_crowd_plugin.aggregation.types import Floats
from ls_crowd_plugin.demo import SimulatedCrowd, oracle
from ls_crowd_plugin.demo.crowds import constant_label_crowd, generative_crowd, rare_answer_crowd
from tests.support.crowds import aggregate_crowd, count_errors

pytestmark = pytest.mark.slow


def confusion_counts(crowd: SimulatedCrowd, labels: dict[Any, Any], tasks: list[Any]) -> Floats:
    """Yes right, yes missed, no missed, no right."""
    pairs = Counter((crowd.truth[task], labels[task]) for task in tasks)
    return np.array([pairs["yes", "yes"], pairs["yes", "no"], pairs["no", "yes"], pairs["no", "no"]], float)


def macro_f1(counts: Floats) -> float:
    errors = counts[1] + counts[2]
    return float(np.mean([2 * right / (2 * right + errors) for right in (counts[0], counts[3])]))


@pytest.mark.parametrize(
    ("rate", "with_gold"), [(0.4, False), (0.2, False), (0.08, False), (0.02, False), (0.2, True), (0.02, True)]
)
def test_rare_answers_are_found(rate: float, with_gold: bool) -> None:
    """A third of the annotators never answer yes. Plurality never sees the gold."""
    totals: dict[str, Any] = {method: np.zeros(4) for method in ("plu", "gem", "auto")}
    for seed in range(2 if with_gold else 4):
        crowd = rare_answer_crowd(seed, rate)
        judged = [task for task in crowd.truth if not (with_gold and task in crowd.gold)]
        for method, total in totals.items():
            consensus = aggregate_crowd(crowd, method, with_gold and method != "plu")
            total += confusion_counts(crowd, consensus.labels, judged)
            for score in consensus.scores if method != "plu" else []:
                if crowd.kinds[score.annotator] == "constant":
                    assert score.verdict not in ("trusted", "ordinary")
    plurality = totals.pop("plu")
    recall = plurality[0] / plurality[:2].sum()
    # With few yeses, one standard error of plurality's recall is noise. Its F1 moves by about half as much: a missed
    # yes costs the F1 of the rare label about 1 / (2 · yeses), and that is half of the mean.
    noise = np.sqrt(recall * (1 - recall) / plurality[:2].sum()) if rate < 0.08 else 0.0
    for total in totals.values():
        assert total[0] / total[:2].sum() >= recall - noise
        assert macro_f1(total) >= macro_f1(plurality) - noise / 2
        if rate >= 0.08:
            assert total[0] / total[:2].sum() > recall
            assert macro_f1(total) > macro_f1(plurality)


@pytest.mark.parametrize("method", ["gem", "auto"])
def test_an_annotator_who_always_gives_one_of_five_labels_is_not_trusted(method: str) -> None:
    crowd = constant_label_crowd(1)
    for score in aggregate_crowd(crowd, method, with_gold=True).scores:
        if crowd.kinds[score.annotator] == "constant":
            assert score.verdict in ("random", "unreliable")


@pytest.fixture(scope="module")
def generative() -> list[tuple[SimulatedCrowd, Consensus]]:
    """The paper's stochastic model with a task variance of 1000 and ten probes."""
    crowds = [generative_crowd(seed, task_variance=1000.0) for seed in range(2)]
    return [(crowd, aggregate_crowd(crowd, "gem", with_gold=True)) for crowd in crowds]


def test_gem_improves_on_plurality_as_much_as_in_the_paper(generative: list[tuple[SimulatedCrowd, Consensus]]) -> None:
    # Table 1: PLU makes 19.2 errors per 100 tasks and SS-GEM 9.6, half as many. With so few crowds, one standard error
    # is noise.
    gem_errors = sum(count_errors(crowd, consensus.labels) for crowd, consensus in generative)
    plurality_errors = sum(count_errors(crowd, aggregate_crowd(crowd, "plu").labels) for crowd, _ in generative)
    assert plurality_errors >= 15
    assert gem_errors <= plurality_errors * 9.6 / 19.2 + np.sqrt(plurality_errors * 9.6 / 19.2)


def test_gem_comes_close_to_an_oracle_that_knows_all_parameters(
    generative: list[tuple[SimulatedCrowd, Consensus]],
) -> None:
    errors = sum(count_errors(crowd, consensus.labels) for crowd, consensus in generative)
    limit = sum(count_errors(crowd, oracle(crowd)) for crowd, _ in generative)
    # 1.35 times as many and 0.3 more per crowd, and one standard error of the difference of two such counts.
    assert errors <= 1.35 * limit + 0.3 * len(generative) + np.sqrt(errors - limit if errors > limit else 0)


def test_adversaries_are_detected_and_honest_annotators_are_not_suspected(
    generative: list[tuple[SimulatedCrowd, Consensus]],
) -> None:
    detected = able_adversaries = suspected_honest = honest = 0
    for crowd, consensus in generative:
        assert crowd.skill is not None
        assert crowd.difficulty is not None
        assert crowd.adversary is not None
        suspected = np.array([score.adversary_probability for score in consensus.scores]) > 0.5
        able = (crowd.skill[:, None] > crowd.difficulty).mean(1) >= 0.25  # others look like somebody who guesses
        detected += int(suspected[crowd.adversary & able].sum())
        able_adversaries += int((crowd.adversary & able).sum())
        suspected_honest += int(suspected[~crowd.adversary].sum())
        honest += int((~crowd.adversary).sum())
    assert able_adversaries >= 8
    assert detected >= 0.95 * able_adversaries - 1  # of so few, one may be missed
    assert suspected_honest <= 0.02 * honest
