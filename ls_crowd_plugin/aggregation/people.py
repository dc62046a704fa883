"""What is said of annotators, whatever the method: expected accuracy, and a verdict in one careful word.

A verdict is about answers, never about intent. It rests on how much somebody's answers tell, `informed`:

    balanced = sum_i q_i(r_ij)/π(r_ij)  /  sum_i sum_k q_i(k)/π(k)        informed = (balanced − 1/K) / (1 − 1/K)

with q_i the posterior of item i and π(k) how common label k is. Dividing by π makes every label count alike, so that
always giving the commonest label, which is often right, tells nothing: informed is 1 for always right, 0 for any
answer that does not depend on the truth, negative for answers that avoid it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .answers import Answers, Floats

LEAST_ANSWERS = 5  # with fewer nothing is said
LEAST_CONTRARY_ANSWERS = 10
CONTRARY_PROBABILITY = 0.9
RAREST = 0.2  # a label rarer than this part of an even share is not weighed up any further
PRIOR_ANSWERS = 2.0  # accuracy and informedness count so many answers at the crowd's own rate


@dataclass(frozen=True)
class People:
    """[J] each."""

    accuracy: Floats  # expected share of right answers
    informed: Floats
    informed_error: Floats
    verdict: list[str]


def describe(answers: Answers, posterior: Floats, unchosen: Floats, adversary: Floats | None) -> People:
    """Accuracy and verdict of every annotator from the (calibrated) posterior [O], [I] with gold set."""
    annotator, item, option = answers.answer_annotator, answers.answer_item, answers.answer_option
    count = len(answers.annotators)
    answered = answers.answers_per_annotator.astype(float)
    right = np.bincount(annotator, posterior[option], minlength=count)
    crowd = right.sum() / max(answered.sum(), 1)
    accuracy = (right + PRIOR_ANSWERS * crowd) / (answered + PRIOR_ANSWERS)

    inverse = 1 / _common(answers, posterior)  # [C] 1/π
    weighed = posterior * inverse[answers.option_choice]
    # A label that is no option of an item is weighed as an average label of its question.
    whole = np.add.reduceat(weighed, answers.option_start) + answers.unchosen * unchosen * answers.label_count
    gained = np.bincount(annotator, weighed[option], minlength=count)
    possible = np.bincount(annotator, whole[item], minlength=count)
    squared = np.bincount(annotator, whole[item] ** 2, minlength=count)
    several = answers.label_count[item] > 1
    labels = np.bincount(annotator, np.where(several, 1 / answers.label_count[item], 0.0), minlength=count)
    chance = np.clip(labels / np.maximum(np.bincount(annotator, several, minlength=count), 1), 1e-9, 0.5)
    effective = possible**2 / np.maximum(squared, 1e-12) + PRIOR_ANSWERS
    balanced = gained / np.maximum(possible, 1e-12)
    mean = gained.sum() / max(possible.sum(), 1e-12)
    balanced = balanced + (mean - balanced) * PRIOR_ANSWERS / effective
    informed = (balanced - chance) / (1 - chance)
    error = np.sqrt(np.clip(balanced * (1 - balanced), 0.01, None) / effective) / (1 - chance)
    suspected = np.zeros(count) if adversary is None else adversary
    verdict = [
        _verdict(*values)
        for values in zip(answered.tolist(), informed.tolist(), error.tolist(), suspected.tolist(), strict=True)
    ]
    return People(accuracy, informed, error, verdict)


def _verdict(answered: float, informed: float, error: float, adversary: float) -> str:
    """`contrary` needs much evidence, the others a standard error of it."""
    if answered >= LEAST_CONTRARY_ANSWERS and adversary >= CONTRARY_PROBABILITY:
        return "contrary"
    if answered < LEAST_ANSWERS or error > 0.3:
        return "too little to say"
    if informed < 0.2:
        return "random"
    if informed < 0.5:
        return "unreliable"
    if informed - error >= 0.7:
        return "trusted"
    return "ordinary"


def _common(answers: Answers, posterior: Floats) -> Floats:
    """[C] π: how common each label is among its question's items, not less than RAREST of an even share."""
    labels = np.diff(answers.choice_start)
    question = np.repeat(np.arange(len(labels)), labels)
    share = np.bincount(answers.option_choice, posterior, minlength=len(question))
    items = np.bincount(answers.item_question, minlength=len(labels))
    common = (share + 1.0) / (items + labels)[question]
    return np.maximum(common, RAREST / np.maximum(labels, 1)[question])
