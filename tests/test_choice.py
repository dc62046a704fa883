"""The choice of a form: told in words, corrected by gold, the same on a sample, and no worse than plurality."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from crowds import Row, consensus, consensus_of, table_of, wrong

from ls_crowd_plugin.aggregation import FORMS, choice
from ls_crowd_plugin.aggregation.choice import fit_method
from ls_crowd_plugin.demo import SimulatedCrowd, simulate_demo_crowd
from ls_crowd_plugin.demo.crowds import (
    constant_label_crowd,
    generative_crowd,
    hammers_and_spammers_crowd,
    large_crowd,
    rare_answer_crowd,
    skilled_crowd,
)


def ignored(stage: str, fraction: float) -> None:
    """Nobody watches."""


@pytest.mark.parametrize("method", ["auto", "gem"])
def test_the_reason_names_the_forms_and_how_far_the_best_is_ahead(method: str) -> None:
    found = consensus_of(rare_answer_crowd(0, 0.2), method).facts
    assert found["method"] == "gem"
    assert "explain" in found["why"]
    assert "nats per answer before" in found["why"]
    assert any(name in found["why"] for name in FORMS)
    assert found["form"] == "average" or found["form"] in found["why"]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_was_asked_for_is_used_and_described(form: str) -> None:
    found = consensus([(task, who, task % 2) for task in range(6) for who in "abc"], method="gem", form=form).facts
    assert found["form"] == form
    assert found["why"] == f"{form} ({FORMS[form].description}) was asked for."


def test_where_no_task_has_two_answers_plurality_says_so() -> None:
    found = consensus([(task, f"person {task}", task % 2) for task in range(6)]).facts
    assert (found["method"], found["form"]) == ("plu", "plu")
    assert "nothing to compare" in found["why"]


def test_too_little_gold_is_not_chosen_by_and_that_is_said() -> None:
    rows = [(task, who, task % 2) for task in range(20) for who in "abc"]
    found = consensus(rows, gold={0: 0, 1: 1, "unanswered": 1}).facts
    assert found["why"].endswith("Gold on 2 answered task(s) is too little to choose by.")


def test_enough_gold_is_asked_and_its_verdict_told() -> None:
    found = consensus_of(simulate_demo_crowd(0), "auto", with_gold=True).facts
    assert "Gold agrees: " in found["why"] or found["why"].startswith("Gold decides for ")
    assert "of 15 gold tasks right when their gold is hidden" in found["why"]


@pytest.mark.parametrize("method", ["auto", "gem"])
def test_with_many_labels_the_forms_with_tables_are_left_out_and_that_is_said(method: str) -> None:
    rows = [(task, who, f"{(task * 7 + (who == 'c')) % 2000}") for task in range(30) for who in "abc"]
    found = consensus(rows, method=method, label_set=[f"{number}" for number in range(2000)]).facts
    assert "label-dependent forms were left out: their tables would hold more than" in found["why"]
    assert not any(form in found["why"] for form in FORMS if form.startswith("habits"))


def test_grades_that_do_not_fit_are_left_out_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = table_of(rare_answer_crowd(0, 0.2, tasks=60))
    monkeypatch.setattr(choice, "MOST_TABLE", 20 * 2**2 * 1.0)  # 20 annotators, 2 labels, 1 grade
    found = fit_method(answers, "gem", None, 0, ignored)
    assert "More grades than habits-1 has were left out" in found.why
    assert "habits-2" not in found.why.replace("More grades than", "")


def misleading_crowd(seed: int) -> tuple[list[Row], dict[int, int]]:
    """Three people copy one answer, right half of the time; six are right on their own, seven times in ten.

    Agreement looks like skill, so a model follows the copies; plurality counts three of nine.
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


def test_gold_decides_where_a_form_misleads() -> None:
    rows, truth = misleading_crowd(2)
    gold = {task: truth[task] for task in range(30)}
    errors = []
    for options in ({"method": "plu"}, {"method": "gem"}, {"method": "auto", "gold": gold}):
        found = consensus(rows, **options)
        errors.append(sum(found.labels[task] != truth[task] for task in truth if task not in gold))
    of_plurality, of_gem, of_auto = errors
    assert of_gem > 1.5 * of_plurality
    assert found.facts["why"].startswith("Gold decides for ")
    # Plurality with gold weighs people besides, so it does better still; 170 tasks leave an error of about six.
    assert of_auto <= of_plurality + 6


@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize("method", ["auto", "gem", "plu"])
def test_a_large_crowd_is_judged_by_a_sample_and_labelled_whole(
    method: str, with_gold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = large_crowd(0, answers=6000, annotators=60)
    gold = {task: crowd.truth[task] for task in range(0, 600, 20)} if with_gold else None
    columns = (crowd.tasks, crowd.annotators, crowd.labels)
    rows = list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
    whole = consensus(rows, method=method, gold=gold)
    monkeypatch.setattr(choice, "SAMPLE_ANSWERS", 1500)
    sampled = consensus(rows, method=method, gold=gold)
    assert set(sampled.labels) == set(whole.labels)
    # The forms differ by a few labels in a hundred, so whichever the sample picks most labels stay.
    assert sum(sampled.labels[task] != whole.labels[task] for task in whole.labels) <= 0.03 * 600


@pytest.mark.parametrize("method", ["auto", "gem"])
def test_a_sample_is_owned_up_to(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "SAMPLE_ANSWERS", 500)
    why = consensus_of(large_crowd(0, answers=2000, annotators=20), method).facts["why"]
    assert "on a sample of 490 answers" in why  # 49 tasks of ten answers: the fiftieth would reach the limit


CROWDS: dict[str, Callable[[int], SimulatedCrowd]] = {
    "demo": simulate_demo_crowd,
    "rare": lambda seed: rare_answer_crowd(seed, 0.2, tasks=200),
    "constant": constant_label_crowd,
    "hammers": lambda seed: hammers_and_spammers_crowd(seed, spammers=0.3, adversaries=0.1),
    "skilled": lambda seed: skilled_crowd(seed, low_skilled=0.4, adversaries=0.1),
    "few answers": lambda seed: generative_crowd(seed, task_variance=250.0, answers_per_task=5),
}


@pytest.mark.parametrize("name", CROWDS)
def test_auto_is_not_worse_than_plurality_by_more_than_noise(name: str) -> None:
    lost = gained = 0
    for seed in range(2):
        crowd = CROWDS[name](seed)
        auto, plurality = consensus_of(crowd, "auto").labels, consensus_of(crowd, "plu").labels
        right = {task: (auto[task] == crowd.truth[task], plurality[task] == crowd.truth[task]) for task in auto}
        lost += sum(not ours and theirs for ours, theirs in right.values())
        gained += sum(ours and not theirs for ours, theirs in right.values())
    # If both were equally good, lost − gained would have a standard deviation of √(lost + gained).
    assert lost - gained <= 2 * np.sqrt(lost + gained)


def test_auto_is_much_better_than_plurality_where_few_can_be_trusted() -> None:
    crowds = [simulate_demo_crowd(seed) for seed in range(2)]
    of_auto = sum(wrong(crowd, consensus_of(crowd, "auto").labels) for crowd in crowds)
    of_plurality = sum(wrong(crowd, consensus_of(crowd, "plu").labels) for crowd in crowds)
    assert of_auto < of_plurality / 2


def test_progress_is_told_and_never_leaves_its_range() -> None:
    stages: list[tuple[str, float]] = []
    crowd = simulate_demo_crowd(1)
    consensus_of(crowd, "auto", with_gold=True, progress=lambda stage, fraction: stages.append((stage, fraction)))
    assert {"checking against gold", "trying skill-0"} <= {stage for stage, _ in stages}
    assert all(0 <= fraction <= 1 for _, fraction in stages)
