"""An annotator who looks for gold: changes answers, reads what is then written, and compares tasks.

A view is everything that an annotator can read in Label Studio after a pass. An attack makes several views for each
task; a feature is a number by which they differ; its AUC says how well the number tells gold tasks from others. 0.5 is
chance, and a number that says "not gold" is as good as one that says "gold".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from ls_crowd_plugin.controls import Config, read_config
from ls_crowd_plugin.demo.sampling import assign_annotators, draw_answers, random_kinds, solve_probability
from ls_crowd_plugin.pipeline.crowd import build_crowd
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.held_back import older_annotations
from ls_crowd_plugin.pipeline.plan import META
from ls_crowd_plugin.pipeline.project_fit import ProjectFit, fit_project
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import VERDICTS, rounded
from ls_crowd_plugin.store import Annotation

ATTACKER = 1
QUESTION = "topic"
SKILLS = {"honest": 1.5, "spammer": -np.inf, "adversary": 2.0}

NAMES = {"label", "verdict"}  # of what is not a quantity
Numbers = Mapping[str, float]  # what is said about one person or task: name → number


@dataclass(frozen=True)
class View:
    """What an annotator reads; numbers that are not given count as 0, verdicts and labels as their place in a list."""

    people: Mapping[int, Numbers]
    tasks: Mapping[int, Numbers]


@dataclass(frozen=True)
class ProbedCrowd:
    """A crowd as the mirror keeps it, with gold that the attacker does not know."""

    labels: Sequence[str]
    annotations: tuple[Annotation, ...]
    gold: Mapping[int, str]
    method: str

    @property
    def config(self) -> Config:
        choices = "".join(f'<Choice value="{label}"/>' for label in self.labels)
        control = f'<Choices name="{QUESTION}" toName="text" required="true">{choices}</Choices>'
        return read_config(f'<View><Text name="text" value="$text"/>{control}</View>')

    @property
    def own(self) -> list[Annotation]:
        """The attacker's annotations, the oldest first."""
        return sorted((one for one in self.annotations if one.annotator == ATTACKER), key=lambda one: one.updated_at)

    def with_own(self, own: Iterable[Annotation]) -> ProbedCrowd:
        others = (one for one in self.annotations if one.annotator != ATTACKER)
        return replace(self, annotations=(*others, *own))

    def answering(self, task: int, label: str) -> ProbedCrowd:
        """The attacker gives an answer, or changes it: it is the newest of all."""
        kept = [one for one in self.annotations if (one.task, one.annotator) != (task, ATTACKER)]
        number = next((one.id for one in self.own if one.task == task), len(self.annotations) + 1)
        return replace(self, annotations=(*kept, _annotation(number, task, ATTACKER, label, self._next_time())))

    def saving_again(self, tasks: Iterable[int]) -> ProbedCrowd:
        """The attacker saves answers without changing them: they are the newest of all."""
        crowd, label_of = self, {one.task: _label(one) for one in self.own}
        for task in tasks:
            crowd = crowd.answering(task, label_of[task])
        return crowd

    def _next_time(self) -> str:
        return _time(1 + max(int(one.updated_at[20:26]) for one in self.annotations))


def probed_crowd(
    seed: int,
    *,
    labels: int = 3,
    people: int = 20,
    tasks: int = 150,
    answers_per_task: int = 5,
    gold: float = 0.2,
    spammers: float = 0.1,
    adversaries: float = 0.1,
    own_answers: int = 60,
    skill: float = 2.0,
    method: str = "auto",
) -> ProbedCrowd:
    """Draw a crowd by the paper's model, and an honest attacker who has answered some of the tasks."""
    generator = np.random.default_rng(seed)
    kinds = ["honest", *random_kinds(generator, people - 1, {"spammer": spammers, "adversary": adversaries}, "honest")]
    skills = np.array([SKILLS[kind] + (generator.normal() if kind == "honest" else 0.0) for kind in kinds])
    skills[0] = skill
    task, person = assign_annotators(generator, np.full(tasks, answers_per_task), people - 1)
    own = generator.permutation(tasks)[:own_answers]
    task, person = np.concatenate([task, own]), np.concatenate([person + 1, np.zeros(own_answers, int)])
    truth, difficulty = generator.integers(labels, size=tasks), generator.normal(size=tasks)
    able = generator.random(len(task)) < solve_probability(skills, np.ones(people), difficulty, task, person)
    contrary = np.array([kind == "adversary" for kind in kinds])
    answer = draw_answers(generator, truth[task], able, contrary[person], labels)
    names = [f"label {chr(ord('a') + label)}" for label in range(labels)]
    annotations = tuple(
        _annotation(number, int(task[row]) + 1, int(person[row]) + ATTACKER, names[answer[row]], _time(number))
        for number, row in enumerate(generator.permutation(len(task)).tolist(), 1)
    )
    golden = generator.permutation(tasks)[: round(gold * tasks)].tolist()
    return ProbedCrowd(names, annotations, {one + 1: names[truth[one]] for one in golden}, method)


def read_view(crowd: ProbedCrowd, protected: bool = True) -> View:
    """What is written about a crowd. Unprotected: everything is learned from, and people have three decimals."""
    stored = {(task, QUESTION): label for task, label in crowd.gold.items()}
    built = build_crowd(crowd.config, crowd.annotations, stored, {}, Recipe())
    built = built if protected else replace(built, lessons=None)
    fit = fit_project(built, crowd.method)
    people: dict[int, Numbers] = {}
    tasks: dict[int, Numbers] = {}
    for prediction in desired_predictions(built, fit):
        meta = prediction.result[0]["meta"][META]
        (label,) = prediction.result[0]["value"]["choices"]
        tasks[prediction.task] = {
            "label": float(crowd.labels.index(label)),
            "score": prediction.score,
            "difficulty": meta["difficulty"][QUESTION] or 0.0,
            "disputed": float("disputed" in meta),
        }
        people.update({int(who): _person(score) for who, score in meta["annotators"].items()})
    return View(people if protected else _unprotected_people(fit), tasks)


def _unprotected_people(fit: ProjectFit) -> dict[int, Numbers]:
    return {
        who: _person(
            {
                "skill": rounded(score.skill),
                "adversary": rounded(score.adversary_probability),
                "accuracy": rounded(score.accuracy),
                "verdict": score.verdict,
            }
        )
        for who, score in fit.scores.items()
    }


def _person(score: Mapping[str, float | str | None]) -> Numbers:
    numbers = {name: float(value or 0.0) for name, value in score.items() if not isinstance(value, str)}
    return {**numbers, "verdict": float(list(VERDICTS).index(str(score["verdict"])))}


Attack = Callable[[ProbedCrowd, int], Sequence[ProbedCrowd]]  # crowd and task → the states in which it is looked at


def switch(crowd: ProbedCrowd, task: int) -> list[ProbedCrowd]:
    """Give every label in turn."""
    return [crowd.answering(task, label) for label in crowd.labels]


def answer_again(crowd: ProbedCrowd, task: int) -> list[ProbedCrowd]:
    """Delete the own answer, then give every label in turn."""
    return [crowd.with_own(one for one in crowd.own if one.task != task), *switch(crowd, task)]


def save_again(crowd: ProbedCrowd, task: int) -> list[ProbedCrowd]:
    """Save an old answer without changing it, and compare with before."""
    return [crowd, crowd.saving_again([task])]


def bury(crowd: ProbedCrowd, task: int) -> list[ProbedCrowd]:
    """Give every label in turn, and each time save as many other answers as are held back, so that this one is not."""
    others = [one.task for one in crowd.own if one.task != task]
    return [state.saving_again(others[: held_back(state)]) for state in switch(crowd, task)]


def watch(crowd: ProbedCrowd, task: int) -> list[ProbedCrowd]:
    """Only work, and look before and after the moment from which the answer to a task is learned from, if it comes."""
    own = crowd.own
    rank = [one.task for one in own].index(task)
    for count in range(rank + 1, len(own) + 1):
        after = crowd.with_own(own[:count])
        if count - held_back(after) > rank:
            return [crowd.with_own(own[: count - 1]), after]
    return []


def watch_at_once(crowd: ProbedCrowd, task: int) -> list[ProbedCrowd]:
    """Only work, and look before and after the answer to a task is given."""
    own = crowd.own
    rank = [one.task for one in own].index(task)
    return [crowd.with_own(own[:rank]), crowd.with_own(own[: rank + 1])]


def held_back(crowd: ProbedCrowd) -> int:
    """From how many of the attacker's answers nothing is learned."""
    own = {(one.task, ATTACKER): one for one in crowd.own}
    return len(own) - len(older_annotations(own))


def probe(crowd: ProbedCrowd, attack: Attack, tasks: Iterable[int], protected: bool = True) -> dict[str, float]:
    """Feature → AUC, over the tasks that the attack has something to say about."""
    at_first = read_view(crowd, protected)
    found = {}
    for task in tasks:
        states = attack(crowd, task)
        if states:
            views = [at_first if state is crowd else read_view(state, protected) for state in states]
            found[task] = features(views, task)
    names = dict.fromkeys(name for one in found.values() for name in one)
    return {name: auc({task: one.get(name, 0.0) for task, one in found.items()}, crowd.gold) for name in names}


def tasks_to_probe(crowd: ProbedCrowd, gold: int, others: int, *, answered: bool = False) -> list[int]:
    """Some gold tasks and some others; `answered`: only those that the attacker has answered."""
    own = [one.task for one in crowd.own]
    tasks = own if answered else sorted({one.task for one in crowd.annotations})
    golden = [task for task in tasks if task in crowd.gold][:gold]
    return golden + [task for task in tasks if task not in crowd.gold][:others]


def features(views: Sequence[View], task: int) -> dict[str, float]:
    """How much the views of a task differ, in every number there is."""
    everybody = set.intersection(*(set(view.people) for view in views))
    everything = set.intersection(*(set(view.tasks) for view in views))
    people = {who: _ranges([view.people[who] for view in views]) for who in everybody}
    tasks = {one: _ranges([view.tasks[one] for view in views]) for one in everything}
    found = {f"own {name}": value for name, value in people.get(ATTACKER, {}).items()}
    found |= {f"task {name}": value for name, value in tasks.get(task, {}).items()}
    others = [ranges for who, ranges in people.items() if who != ATTACKER]
    found |= {f"others' {name}": sum(ranges[name] for ranges in others) for name in others[0]}
    rest = [ranges for one, ranges in tasks.items() if one != task]
    found |= {f"other tasks' {name}": sum(ranges[name] for ranges in rest) for name in rest[0]}
    found["other tasks' largest score"] = max(ranges["score"] for ranges in rest)
    found["other tasks changed"] = sum(any(ranges.values()) for ranges in rest)
    return found


def _ranges(numbers: Sequence[Numbers]) -> Numbers:
    return {
        name: float(len(values) - 1) if name in NAMES else max(values) - min(values)
        for name in numbers[0]
        for values in [{one[name] for one in numbers}]
    }


def auc(values: Mapping[int, float], gold: Iterable[int]) -> float:
    """The probability that a gold task has a higher value than another task; a tie counts half."""
    is_gold = np.array([task in set(gold) for task in values])
    ranks = rankdata(np.round(list(values.values()), 9))
    count = is_gold.sum()
    return float((ranks[is_gold].mean() - (count + 1) / 2) / (len(values) - count))


def _annotation(number: int, task: int, annotator: int, label: str, when: str) -> Annotation:
    item = {"from_name": QUESTION, "to_name": "text", "type": "choices", "value": {"choices": [label]}}
    return Annotation(
        id=number,
        task=task,
        annotator=annotator,
        result=json.dumps([item]),
        skipped=False,
        ground_truth=False,
        copied=False,
        created_at=when,
        updated_at=when,
        updated_by=annotator,
        lead_time=None,
    )


def _label(annotation: Annotation) -> str:
    return str(annotation.items[0]["value"]["choices"][0])


def _time(number: int) -> str:
    """The times of a crowd are a microsecond apart."""
    return f"2026-01-01T12:00:00.{number:06d}Z"
