"""The prior about people, and how far it counts: a task with a single answer rests on what is known of one person.

Somebody of whom nothing is known is taken to know half of the tasks and to guess the others among K labels, which is
the middle of the scale of skill:

    hit = 1/2 + 1/(2K)        miss = 1/(2K)        log(hit / miss) = log(K + 1)

So the only answer to a task has a confidence of 75 % with two labels, 60 % with five. A model cannot know better by
itself: a fit in which every answer is its own task's label finds that everybody is always right. What is known of a
person comes from comparable answers, n of them (`Answers.is_comparable`), and for a task with one answer

    p' = r · p + (1 − r) · prior,        r = n / (n + PRIOR_ANSWERS)

where p is what the model says and `prior` is `hit` for the label given and `miss` for every other label.
"""

from __future__ import annotations

import numpy as np

from .answers import Answers
from .fit import Posterior
from .types import Floats, Positions

KNOWN = 0.5  # share of the tasks that somebody knows of whom nothing is known
PRIOR_ANSWERS = 5.0  # comparable answers from which a model counts as much as the prior


def prior_accuracy(labels: Floats) -> Floats:
    """The probability that an answer is right of whose annotator nothing is known, by the number of labels K."""
    return KNOWN + (1 - KNOWN) / labels


def prior_weight(labels: Floats) -> Floats:
    """Nats that such an answer adds to the label it names."""
    return np.asarray(np.log1p(labels * KNOWN / (1 - KNOWN)))


def pool_with_prior(answers: Answers, posterior: Posterior, comparable: Positions) -> Posterior:
    """The posterior, pooled with the prior where an item has one answer; `comparable` [J] is n of every annotator."""
    known = model_share(answers, comparable)
    if (known == 1).all():
        return posterior
    return Posterior.total((posterior.times_per_item(answers, known), prior_term(answers, known)))


def model_share(answers: Answers, comparable: Positions) -> Floats:
    """[I] r: how far the model counts; 1 for items that do not have one answer."""
    known = np.ones(len(answers.items))
    only_answer = (answers.answers_per_item == 1)[answers.answer_item]
    count = comparable[answers.answer_annotator[only_answer]]
    known[answers.answer_item[only_answer]] = count / (count + PRIOR_ANSWERS)
    return known


def prior_term(answers: Answers, known: Floats) -> Posterior:
    """(1 − r) · prior, where `known` [I] is r."""
    miss = (1 - KNOWN) / answers.label_count  # [I]
    item = answers.option_item
    options = np.where(answers.votes > 0, prior_accuracy(answers.label_count)[item], miss[item])  # [O]
    prior = Posterior(options, np.where(answers.unchosen_count > 0, miss, 0.0))
    return prior.times_per_item(answers, 1 - known)
