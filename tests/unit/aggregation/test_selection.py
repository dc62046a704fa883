"""Selection of a form: explained in words, corrected by gold, the same on a sample, and no worse than plurality."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import FORMS, habits, selection
from ls_crowd_plugin.aggregation import answers as answers_module
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.cross_validation import GoldWeights, weigh_by_gold
from ls_crowd_plugin.aggregation.fit import Fit
from ls_crowd_plugin.aggregation.forms import Form
from ls_crowd_plugin.aggregation.selection import compare_forms, fit_method
from ls_crowd_plugin.aggregation.skill import fit_skill
from ls_crowd_plugin.aggregation.types import FitProgress
from ls_crowd_plugin.demo import SimulatedCrowd, simulate_demo_crowd
from ls_crowd_plugin.demo.crowds import (
    constant_label_crowd,
    generative_crowd,
    hammers_and_spammers_crowd,
    large_crowd,
    rare_answer_crowd,
    skilled_crowd,
)
from ls_crowd_plugin.errors import UnusableInput
from tests.support.crowds import (
    Row,
    aggregate_crowd,
    aggregate_rows,
    count_errors,
    crowd_rows,
    encode_crowd,
    ignore_progress,
)


@pytest.mark.parametrize("method", ["auto", "gem"])
def test_the_reason_names_the_forms_and_ends_with_the_lead_of_the_best(method: str) -> None:
    facts = aggregate_crowd(rare_answer_crowd(0, 0.2), method).facts
    assert facts["method"] == "gem"
    assert "explain" in facts["why"] or "depend on the label" in facts["why"]
    assert facts["why"].endswith("forms compared.")
    assert "nats per answer" in facts["why"]
    assert any(name in facts["why"] for name in FORMS)
    assert facts["form"] == "average" or facts["form"] in facts["why"]


def test_forms_that_explain_the_answers_about_equally_well_are_averaged() -> None:
    answers = encode_crowd(generative_crowd(0, tasks=200, annotators=12))
    evidence = compare_forms(answers, 0, ignore_progress)
    weights = evidence.weights
    assert len(weights) > 1
    assert sum(weights.values()) == pytest.approx(1.0)
    fit = evidence.fit()
    expected = sum(weight * evidence.fits[name].posterior_on(fit.answers).options for name, weight in weights.items())
    assert fit.posterior.options == pytest.approx(np.asarray(expected))
    assert fit.skill is evidence.fits[next(iter(weights))].skill
    assert evidence.reason.startswith("Averages ")
    for name, weight in weights.items():
        assert f"{name} ({weight:.0%})" in evidence.reason


def test_where_mistakes_depend_on_the_label_forms_that_err_differently_count_the_same() -> None:
    evidence = compare_forms(encode_crowd(rare_answer_crowd(0, 0.2)), 0, ignore_progress)
    weights = evidence.weights
    assert weights["leanings"] == weights["agreement"] == pytest.approx(1 / 3)
    assert sum(weight for name, weight in weights.items() if name.startswith("habits")) == pytest.approx(1 / 3)
    assert evidence.reason.startswith("Mistakes depend on the label. Averages ")


def test_where_no_task_has_two_answers_plurality_is_used_and_the_reason_says_so() -> None:
    facts = aggregate_rows([(task, f"person {task}", task % 2) for task in range(6)]).facts
    assert (facts["method"], facts["form"]) == ("plu", "plu")
    assert facts["why"] == "No task has answers from two people, so there is nothing to compare."


@pytest.mark.parametrize("method", ["auto", "gem"])
def test_gold_counts_from_the_first_task_on_and_the_reason_says_so(method: str) -> None:
    crowd = simulate_demo_crowd(0)
    why = aggregate_crowd(crowd, method, with_gold=True).facts["why"]
    assert "by how well they explain the answers and gold: on 15 gold tasks, hidden in turn, this is right on" in why
    rows = [(task, person, task % 2) for task in range(20) for person in "abc"]
    why = aggregate_rows(rows, method=method, gold={0: 0, "unanswered": 1}).facts["why"]
    assert "gold: on 1 gold task, hidden in turn, this is right on 100.0%." in why


@pytest.mark.parametrize(
    "make_crowd", [partial(rare_answer_crowd, rate=0.2, tasks=150), partial(generative_crowd, tasks=200, annotators=12)]
)
def test_one_gold_task_changes_confidence_little(make_crowd: Callable[[int], SimulatedCrowd]) -> None:
    """The weights by evidence and the usual calibration count more than one task."""
    crowd = make_crowd(0)
    rows = crowd_rows(crowd)
    gold = dict([next(iter(crowd.truth.items()))])
    without, with_one = (
        aggregate_rows(rows, gold=known, label_set=crowd.label_set).confidence for known in (None, gold)
    )
    others = [task for task in without if task not in gold]
    assert np.mean([abs(with_one[task] - without[task]) for task in others]) < 0.02


def test_with_gold_people_are_judged_by_the_form_that_explains_the_answers_best() -> None:
    """Votes may have more weight, but they know nothing of adversaries and difficulty."""
    answers = encode_crowd(simulate_demo_crowd(0), with_gold=True)
    best = next(iter(compare_forms(answers, 0, ignore_progress).weights))
    fit = fit_method(answers, "auto", None, 0, ignore_progress).fit
    assert fit.main is not None
    assert fit.main.form == best
    assert fit.adversary is fit.main.adversary


def test_gold_that_nobody_answered_changes_next_to_nothing() -> None:
    """It tells only how common a label is: by one task in 61."""
    crowd = rare_answer_crowd(0, 0.2, tasks=60)
    rows, labels = crowd_rows(crowd), crowd.label_set
    without, with_it = (aggregate_rows(rows, gold=gold, label_set=labels) for gold in (None, {"unanswered": labels[0]}))
    for task in without.labels:
        assert with_it.posterior(task) == pytest.approx(without.posterior(task), abs=1 / 61)


@pytest.mark.parametrize("size", [50_000, 500])
def test_gold_also_weighs_forms_that_the_evidence_does_not_favour(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if only a sample was used to compare them."""
    monkeypatch.setattr(answers_module, "SAMPLE_ANSWERS", size)
    judged: list[str] = []
    weigh = weigh_by_gold

    def listen(answers: Answers, forms: Mapping[str, Form], *rest: Any) -> GoldWeights:
        judged.extend(forms)
        return weigh(answers, forms, *rest)

    monkeypatch.setattr(selection, "weigh_by_gold", listen)
    crowd = large_crowd(0, answers=2000, annotators=20)
    aggregate_rows(crowd_rows(crowd), gold={task: crowd.truth[task] for task in range(10)})
    assert {"agreement", "plu"} <= set(judged)
    assert {FORMS[name].family for name in judged if name in FORMS} >= {"skill", "habits"}


@pytest.mark.parametrize("method", ["auto", "gem"])
def test_with_many_labels_forms_with_tables_are_not_tried_and_the_reason_says_so(method: str) -> None:
    rows = [(task, person, f"{(task * 7 + (person == 'c')) % 2000}") for task in range(30) for person in "abc"]
    label_set = [f"{number}" for number in range(2000)]
    why = aggregate_rows(rows, method=method, label_set=label_set).facts["why"]
    assert "Not tried: habits-1, habits-2 and habits-3, whose tables would be too large." in why
    assert why.count("habits") == 3
    with pytest.raises(UnusableInput, match="'habits-1' needs tables that are too large"):
        aggregate_rows(rows, method="gem", form="habits-1", label_set=label_set)


def test_grades_whose_tables_are_too_large_are_not_tried_and_the_reason_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = encode_crowd(rare_answer_crowd(0, 0.2, tasks=60))
    monkeypatch.setattr(habits, "MAX_TABLE_SIZE", 20 * 2**2 * 1.0)  # 20 annotators, 2 labels, 1 grade
    why = fit_method(answers, "gem", None, 0, ignore_progress).why
    sentence = "Not tried: habits-2 and habits-3, whose tables would be too large."
    assert sentence in why
    assert "habits-2" not in why.replace(sentence, "")


def test_a_registered_form_takes_part_in_the_selection(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit_better(answers: Answers, progress: FitProgress, floor: float) -> Fit:
        fit = fit_skill(answers, progress, floor=floor)
        history = tuple(value + len(answers.answer_item) for value in fit.convergence.history)
        return replace(fit, form="new-1", convergence=replace(fit.convergence, history=history))

    monkeypatch.setitem(FORMS, "new-1", Form("a better one", fit_better, family="new"))
    facts = aggregate_crowd(rare_answer_crowd(0, 0.2, tasks=60), "gem").facts
    assert facts["form"] == "new-1"
    assert facts["why"].startswith("new-1 (a better one) explains the answers best.")


def misleading_crowd(seed: int) -> tuple[list[Row], dict[int, int]]:
    """Three people copy one answer, which is right half of the time; six work on their own and are right 70% of it.

    Agreement looks like skill, so a model follows the copies; plurality counts them as three of nine.
    """
    generator = np.random.default_rng(seed)
    truth = {task: int(generator.integers(3)) for task in range(200)}
    rows: list[Row] = []
    for task, label in truth.items():
        chances = [0.5, *[0.7] * 6]
        drawn = [
            label if generator.random() < chance else (label + int(generator.integers(1, 3))) % 3 for chance in chances
        ]
        rows += [(task, f"copy {number}", drawn[0]) for number in range(3)]
        rows += [(task, f"own {number}", drawn[number]) for number in range(1, 7)]
    return rows, truth


@pytest.mark.slow
def test_gold_decides_where_a_form_misleads() -> None:
    rows, truth = misleading_crowd(2)
    gold = {task: truth[task] for task in range(30)}
    errors = []
    for options in ({"method": "plu"}, {"method": "gem"}, {"method": "auto", "gold": gold}):
        consensus = aggregate_rows(rows, **options)
        errors.append(sum(consensus.labels[task] != truth[task] for task in truth if task not in gold))
    plurality_errors, gem_errors, auto_errors = errors
    assert gem_errors > 1.5 * plurality_errors
    assert "plu (" in consensus.facts["why"]
    # With gold, plurality also weights people, so it does even better; 170 tasks leave an error of about six.
    assert auto_errors <= plurality_errors + 6


@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize("method", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("auto", "gem")), "plu"])
def test_a_large_crowd_is_judged_by_a_sample_and_labelled_as_a_whole(
    method: str, with_gold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = large_crowd(0, answers=6000, annotators=60)
    gold = {task: crowd.truth[task] for task in range(0, 600, 20)} if with_gold else None
    whole = aggregate_rows(crowd_rows(crowd), method=method, gold=gold)
    monkeypatch.setattr(answers_module, "SAMPLE_ANSWERS", 1500)
    sampled = aggregate_rows(crowd_rows(crowd), method=method, gold=gold)
    assert set(sampled.labels) == set(whole.labels)
    # The forms differ in a few labels of a hundred, so most labels stay whichever form the sample selects.
    assert sum(sampled.labels[task] != whole.labels[task] for task in whole.labels) <= 0.03 * 600


@pytest.mark.parametrize("method", ["auto", "gem"])
def test_a_sample_selects_the_forms_and_the_reason_mentions_it(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_module, "SAMPLE_ANSWERS", 500)
    crowd = large_crowd(0, answers=2000, annotators=20)
    consensus = aggregate_crowd(crowd, method)
    assert "on a sample of 490 answers" in consensus.facts["why"]  # 49 tasks with ten answers; a fiftieth is too much
    assert len(consensus.labels) == len(set(np.asarray(crowd.tasks).tolist()))


CROWDS: dict[str, Callable[[int], SimulatedCrowd]] = {
    "demo": simulate_demo_crowd,
    "rare": partial(rare_answer_crowd, rate=0.2, tasks=200),
    "constant": constant_label_crowd,
    "hammers": partial(hammers_and_spammers_crowd, spammers=0.3, adversaries=0.1),
    "skilled": partial(skilled_crowd, low_skilled=0.4, adversaries=0.1),
    "few answers": partial(generative_crowd, task_variance=250.0, answers_per_task=5),
}


@pytest.mark.parametrize("name", CROWDS)
@pytest.mark.slow
def test_auto_is_not_worse_than_plurality_by_more_than_noise(name: str) -> None:
    lost = gained = 0
    for seed in range(2):
        crowd = CROWDS[name](seed)
        auto, plurality = aggregate_crowd(crowd, "auto").labels, aggregate_crowd(crowd, "plu").labels
        right = {task: (auto[task] == crowd.truth[task], plurality[task] == crowd.truth[task]) for task in auto}
        lost += sum(not ours and theirs for ours, theirs in right.values())
        gained += sum(ours and not theirs for ours, theirs in right.values())
    # If both were equally good, lost − gained would have a standard deviation of √(lost + gained).
    assert lost - gained <= 2 * np.sqrt(lost + gained)


def test_auto_is_much_better_than_plurality_if_few_annotators_are_reliable() -> None:
    crowds = [simulate_demo_crowd(seed) for seed in range(2)]
    auto_errors = sum(count_errors(crowd, aggregate_crowd(crowd, "auto").labels) for crowd in crowds)
    plurality_errors = sum(count_errors(crowd, aggregate_crowd(crowd, "plu").labels) for crowd in crowds)
    assert auto_errors < plurality_errors / 2


def test_progress_is_reported_as_fractions_of_named_stages() -> None:
    stages: list[tuple[str, float]] = []
    crowd = simulate_demo_crowd(1)
    aggregate_crowd(crowd, "auto", with_gold=True, progress=lambda stage, fraction: stages.append((stage, fraction)))
    assert {"checking against gold", "trying skill-0"} <= {stage for stage, _ in stages}
    assert all(0 <= fraction <= 1 for _, fraction in stages)


def test_gold_items_have_held_out_posteriors_and_in_the_gold_blind_fit_their_own() -> None:
    answers = encode_crowd(simulate_demo_crowd(0), with_gold=True)
    method_fit = fit_method(answers, "plu", None, 0, ignore_progress)
    assert method_fit.gold_blind is not None
    of_gold = answers.has_gold[answers.option_item]
    blind = method_fit.gold_blind.posterior.options
    assert (method_fit.fit.posterior.options[~of_gold] == blind[~of_gold]).all()
    assert (method_fit.fit.posterior.options[of_gold] != blind[of_gold]).any()
    without_gold = answers.with_gold(np.full(len(answers.items), -1, np.int32))
    assert fit_method(without_gold, "plu", None, 0, ignore_progress).gold_blind is None
