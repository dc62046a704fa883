"""What more answers would buy: how many are still needed, and what it would cost to stop now. Pure.

The log-odds of a task's most probable label walk: an answer by somebody whose answers are right with probability a and
weigh w moves them by +w if it names the label, which it does with probability a where the label is right, and by −w
otherwise. Each simulation draws the people who answer from those who are active, by how much they answer, and draws
those with replacement first, because other people will come. A walk ends at the confidence that is wanted, or when the
task has as many answers as it may get.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..aggregation.types import Floats, Positions
from ..policy import MIN_CHECKED, Asking, Forecast, Policy
from ..records import AnnotatorScore
from ..store import Annotation
from .asking import Asked, Decisions, Steering

SIMULATIONS = 100
MAX_STEPS = 4_000_000  # over all simulations; of more tasks a sample is taken
MAX_STUCK = 100  # tasks that are named
MAX_SECONDS = 3600.0  # of one answer; who took longer was away


def describe(
    decisions: Decisions, scores: Mapping[int, AnnotatorScore], annotations: Sequence[Annotation], fixed: int
) -> Asking:
    """What a policy decides about all tasks of a project, and what more answers would buy; `fixed` is the number of
    answers per task with which the project is compared."""
    steering = decisions.steering
    return Asking(
        policy=steering.policy,
        checked=steering.shared.checked,
        tasks={reason.value: number for reason, number in Counter(decisions.reasons.values()).items()},
        forecast=_forecast(steering, decisions.confidence, scores, annotations, max(fixed, 1)),
        stuck=decisions.stuck[:MAX_STUCK],
    )


def _forecast(
    steering: Steering,
    confidence: Mapping[int, float],
    scores: Mapping[int, AnnotatorScore],
    annotations: Sequence[Annotation],
    fixed: int,
) -> Forecast:
    policy, asked = steering.policy, steering.asked
    is_checked = steering.shared.checked >= MIN_CHECKED  # or confidence closes nothing yet
    walking = [task for task, one in asked.items() if _walks(policy, one, confidence.get(task), is_checked)]
    left = np.array([policy.max_answers - len(asked[task].tried) for task in walking], np.int64)
    least = np.array([max(policy.min_answers - len(asked[task].answered), 0) for task in walking], np.int64)
    start = np.array([confidence.get(task, 0.5) for task in walking], float)
    if not is_checked:
        least = left
    needed, never = _simulate(policy.confidence, start, least, left, _steps(scores, steering.shared.people.active))
    low, high = np.quantile(needed, [0.05, 0.95])
    unsettled = sum(_is_unsettled(policy, confidence.get(task)) for task in asked)
    answers, mean = steering.shared.answers, round(float(needed.mean()))
    return Forecast(
        answers=answers,
        unsettled=unsettled,
        needed=mean,
        low=int(low),
        high=int(np.ceil(high)),
        never=unsettled
        - sum(_is_unsettled(policy, confidence.get(task)) for task in walking)
        + round(float(never.mean())),
        errors=round(sum(1 - confidence[task] for task in asked if task in confidence), 1),
        fixed=fixed,
        saved=fixed * len(asked) - answers - mean,
        seconds=_seconds(annotations),
    )


def _is_unsettled(policy: Policy, confidence: float | None) -> bool:
    return confidence is None or confidence < policy.confidence


def _walks(policy: Policy, one: Asked, confidence: float | None, is_checked: bool) -> bool:
    if len(one.tried) >= policy.max_answers:
        return False
    return not is_checked or _is_unsettled(policy, confidence) or len(one.answered) < policy.min_answers


def _steps(scores: Mapping[int, AnnotatorScore], people: Collection[int]) -> Floats:
    """[people, 3] of those who are active: their numbers of answers, a, and w; if nobody is, one who guesses."""
    known = [score for who, score in scores.items() if who in people and score.accuracy is not None]
    rows = [(float(score.answers), float(score.accuracy or 0.0), float(score.weight or 0.0)) for score in known]
    return np.array(rows or [(1.0, 0.5, 0.0)])


def _simulate(
    wanted: float,
    start: Floats,
    least: Positions,
    left: Positions,
    steps: Floats,
) -> tuple[Floats, Floats]:
    """[simulations] answers needed, and tasks that do not reach the confidence."""
    generator = np.random.default_rng(0)
    tasks, factor = len(start), 1.0
    most = max(MAX_STEPS // (SIMULATIONS * int(max(left, default=1))), 1)
    if tasks > most:
        sample = generator.choice(tasks, most, replace=False)
        factor = tasks / len(sample)
        start, least, left = start[sample], least[sample], left[sample]
    goal = np.log(wanted / (1 - wanted))
    odds = np.log(np.clip(start, 0.01, 0.999) / (1 - np.clip(start, 0.01, 0.999)))
    needed, never = np.zeros(SIMULATIONS), np.zeros(SIMULATIONS)
    for number in range(SIMULATIONS):
        crowd = steps[generator.integers(len(steps), size=len(steps))]
        share = crowd[:, 0] / crowd[:, 0].sum()
        is_right = generator.random(len(odds)) < start
        now, taken = odds.copy(), np.zeros(len(odds), int)
        walks = np.flatnonzero(left > 0)
        while len(walks):
            who = generator.choice(len(crowd), size=len(walks), p=share)
            agrees = (generator.random(len(walks)) < crowd[who, 1]) == is_right[walks]
            now[walks] += np.where(agrees, crowd[who, 2], -crowd[who, 2])
            taken[walks] += 1
            reached = (np.abs(now[walks]) >= goal) & (taken[walks] >= least[walks])
            walks = walks[~reached & (taken[walks] < left[walks])]
        needed[number] = factor * taken.sum()
        never[number] = factor * (np.abs(now) < goal).sum()
    return needed, never


def _seconds(annotations: Sequence[Annotation]) -> float | None:
    """How long an answer takes, in the median."""
    times = [one.lead_time for one in annotations if one.lead_time and 0 < one.lead_time <= MAX_SECONDS]
    return round(statistics.median(times), 1) if times else None
