"""The inputs of a fit: the crowd with its gold, and the tasks to write about; and their fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection

from .. import __version__
from ..controls import read_config
from ..labelstudio import ProjectFacts
from ..policy import Policy
from ..recipe import Recipe
from ..store import Annotation, Store, Task, mirror
from ..store.gold import list_gold
from ..store.policies import get_policy, get_salt
from ..store.project_settings import OF_POLICY, read_settings_before
from ..store.trail import count_reassigned, read_erased_marks
from ..store.users import read_names
from .asking import Asked, Decisions, SharedFacts, Steering, people_of
from .counters import places_taken
from .crowd import Crowd, build_crowd
from .region_groups import task_of
from .trust import Trust, gold_warnings

DIGITS = 40  # hexadecimal ones of the digest in a fingerprint


@dataclass(frozen=True)
class Inputs:
    crowd: Crowd
    tasks: Mapping[int, Task]
    recipe: Recipe
    annotations: Sequence[Annotation]  # all there are, also those that do not count
    policy: Policy | None = None  # that decides which tasks get more answers
    salt: str = ""
    skip_queue: str | None = None  # what Label Studio does with skipped tasks
    skipped: frozenset[tuple[int, int]] = frozenset()  # (task, who skipped it)
    fixed: int = 1  # answers that every task would get without a policy
    overdue: frozenset[int] = frozenset()  # open tasks that somebody may have taken and left
    shared: SharedFacts | None = None  # what the policy knows about all tasks, if these are some of them

    @cached_property
    def steering(self) -> Steering:
        """What decides which tasks are to get more answers; without a policy, what one would decide."""
        probes = frozenset(task_of(unit) for unit, _ in self.crowd.gold)
        policy = self.policy or Policy(max_answers=max(Policy.max_answers, self.fixed), acts=False)
        people = people_of(self.crowd.annotations.values())
        return Steering.of(policy, self._asked, probes, people, self.salt, overdue=self.overdue, shared=self.shared)

    @property
    def _asked(self) -> dict[int, Asked]:
        """Task → what it was asked for. Whose answers count is decided as for the fit: anybody can write in others'
        names, and that must neither close a task nor use up a budget."""
        answered, skipped, rows = defaultdict(set), defaultdict(set), defaultdict(list)
        for task, who in self.crowd.annotations:
            answered[task].add(who)
        for task, who in self.skipped:
            skipped[task].add(who)
        for one in self.annotations:
            rows[one.task].append((one.annotator, one.skipped, one.ground_truth))
        return {
            number: Asked(
                frozenset(answered[number]),
                frozenset(skipped[number] - answered[number]),
                places_taken(rows[number], self.skip_queue),
                task.required_annotators,
                task.is_labeled,
            )
            for number, task in self.tasks.items()
        }

    def is_complete(self, task: int, decisions: Decisions) -> bool:
        """Whether something is to be written about a task.

        Gold counts as an answer, as it does for Label Studio: or a probe would stand out by lacking a prediction.
        """
        if not self.recipe.only_complete:
            return task in self.tasks
        if self.steering.policy.acts:
            return decisions.reasons[task].is_final
        return self.crowd.people_counts.get(task, 0) >= self.tasks[task].required_annotators

    @property
    def texts(self) -> dict[int, dict[str, str]]:
        """Task → object → text, where people mark spans."""
        if not self.crowd.config.regions:
            return {}
        return {task.id: task.texts for task in self.tasks.values() if task.data}


def fingerprint(connection: Connection, facts: ProjectFacts, recipe: Recipe) -> str:
    """What the output depends on: a digest of all but the answers, and the mirror's revision."""
    mirrored = mirror.get_project(connection, facts.id)
    revision = mirrored.revision if mirrored else 0
    gold = sorted(list_gold(connection, facts.id).items())
    policy = get_policy(connection, facts.id)
    queue = [vars(policy), facts.skip_queue] if policy is not None else None
    depends_on = [__version__, facts.label_config, facts.owner, gold, recipe.digest(), queue]
    return f"{hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:DIGITS]}-{revision}"


def without_answers(fingerprint: str) -> str:
    """The part of a fingerprint that does not change with the answers."""
    return fingerprint.partition("-")[0]


def read_inputs(store: Store, facts: ProjectFacts, recipe: Recipe, task_ids: Collection[int] | None = None) -> Inputs:
    """Read a project's crowd from the mirror, or the part of it that answered some tasks.

    It is built when the transaction has ended: that can take minutes.
    """
    project = facts.id
    with store.data.connect() as connection:
        tasks = mirror.read_tasks(connection, project, task_ids)
        annotations = mirror.read_annotations(connection, project, task_ids)
        gold, reassigned = list_gold(connection, project), count_reassigned(connection, project)
        erased = read_erased_marks(connection, project)
        writers = {user for one in annotations for user in (one.annotator, one.updated_by) if user is not None}
        names = read_names(connection, sorted(writers))
        policy, salt = get_policy(connection, project), get_salt(connection, project)
        before = read_settings_before(connection, project)
    fixed = before.get(f"{OF_POLICY}maximum_annotations", facts.maximum_annotations)
    gold_fields = {task.id: task.gold_field for task in tasks.values() if task.gold_field is not None}
    created_at = {task.id: task.created_at for task in tasks.values()}
    trust = Trust(recipe.gold_sources, recipe.experts, facts.owner, created_at, names)
    if task_ids is not None:
        gold = {key: label for key, label in gold.items() if key[0] in tasks}
    crowd = build_crowd(read_config(facts.label_config), annotations, gold, gold_fields, recipe, trust)
    crowd.warnings.extend(gold_warnings(trust, annotations, erased, bool(recipe.gold_field)))
    if reassigned:
        crowd.warnings.append(f"Annotations whose author has changed since they were first seen: {reassigned:,}.")
    skips = (one for one in annotations if one.skipped and trust.problem_with(one) is None)
    skipped = frozenset((one.task, one.annotator) for one in skips if one.annotator is not None)
    number = fixed if isinstance(fixed, int) else 1
    return Inputs(crowd, tasks, recipe, annotations, policy, salt, facts.skip_queue, skipped, number)
