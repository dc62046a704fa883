"""One pass over one project: pull what changed, aggregate, plan, write; and what it found, for people and programs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, delete, insert, select

from ..aggregation import Consensus, aggregate
from ..controls import Config, LeftOut, read_config
from ..errors import CrowdError
from ..labelstudio import LabelStudio
from ..store import Mirror, tables
from ..store.gold import list_gold
from .crowd import Crowd, crowd_of
from .plan import VERSION, Desired, Plan, desired_predictions, make_plan
from .pull import Pulled, pull
from .write import Written, settings_to_change, standing_predictions, write

Told = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True)
class Options:
    """How a pass is to be done."""

    method: str = "auto"
    dry_run: bool = False
    from_scratch: bool = False
    take_over: bool = False
    annotator_scores: bool = True
    experts: Collection[int] = ()


@dataclass(frozen=True)
class Report:
    """What a pass found and did."""

    project: int
    title: str
    pulled: Pulled
    crowd: Crowd
    left_out: tuple[LeftOut, ...]
    consensus: Consensus
    plan: Plan
    written: Written
    warnings: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def sync(studio: LabelStudio, engine: Engine, project: int, options: Options, told: Told | None = None) -> Report:
    """Makes our predictions in Label Studio a function of its present annotations."""
    seconds: dict[str, float] = {}
    say: Told = told or _unheard
    with _timed(seconds, "pull"):
        pulled = pull(
            studio,
            engine,
            project,
            from_scratch=options.from_scratch,
            told=lambda done, total: say("pull", done, total),
        )
    config = read_config(str(pulled.project["label_config"]))
    with _timed(seconds, "aggregate"):
        crowd = _crowd(engine, project, config, options)
        if not crowd.tasks:
            _clear(studio, engine, project, options)
        consensus = _aggregate(project, config, crowd, options, say)
    with _timed(seconds, "plan"):
        desired = desired_predictions(crowd, consensus, options.annotator_scores)
        settings, warning = settings_to_change(pulled.project, options.take_over)
        plan = _plan(studio, engine, project, desired, settings)
    written = Written()
    with _timed(seconds, "write"):
        if not options.dry_run and not plan.empty:
            _remember_settings(engine, project, pulled.project, settings)
            _remember_written(engine, project, [])  # killed from here on, the next pass asks Label Studio what stands
            written = write(studio, project, desired, plan, lambda done, total: say("write", done, total))
        if not options.dry_run:
            _remember_written(engine, project, [each for each in desired if each.task not in written.refused])
    warnings = [*crowd.warnings, *consensus.warnings, *([warning] if warning else [])]
    if written.refused:
        warnings.append(
            f"Label Studio dropped the predictions of {len(written.refused)} task(s), for example task"
            f" {written.refused[0]}; the label config may have changed meanwhile."
        )
    title = str(pulled.project["title"])
    return Report(project, title, pulled, crowd, config.left_out, consensus, plan, written, warnings, seconds)


def _crowd(engine: Engine, project: int, config: Config, options: Options) -> Crowd:
    with engine.connect() as connection:
        annotations = Mirror(connection, project).annotations()
        gold = list_gold(connection, project)
    return crowd_of(config, annotations, gold, options.experts)


def _aggregate(project: int, config: Config, crowd: Crowd, options: Options, say: Told) -> Consensus:
    if not config.controls:
        named = ", ".join(f"{each.name} ({each.tag})" for each in config.left_out) or "none at all"
        raise CrowdError(f"Project {project} has no categorical control to aggregate; its controls are: {named}.")
    if not crowd.tasks:
        raise CrowdError(f"Project {project} has no answers yet that count; nothing was written.")
    return aggregate(
        crowd.tasks,
        crowd.annotators,
        crowd.labels,
        gold=crowd.gold,
        method=options.method,
        label_set=crowd.label_set,
        questions=crowd.questions,
        progress=lambda _, fraction: say("fit", int(100 * fraction), 100),
    )


def _clear(studio: LabelStudio, engine: Engine, project: int, options: Options) -> None:
    """With the last answer of a project our predictions go too."""
    standing = [] if options.dry_run else standing_predictions(studio, project)
    if standing:
        _remember_written(engine, project, [])
        write(studio, project, [], make_plan([], standing, {}))


def _plan(studio: LabelStudio, engine: Engine, project: int, desired: list[Desired], settings: dict[str, Any]) -> Plan:
    """What to do; the server's predictions are listed only if something of ours changed there or here."""
    with engine.connect() as connection:
        rows = connection.execute(select(tables.written).where(tables.written.c.project == project))
        before = {int(row.task): str(row.digest) for row in rows}
    versions = studio.versions(project)
    standing = sum(count for version, count in versions.items() if version.startswith(VERSION))
    if before == {each.task: each.digest for each in desired} and standing == len(before):
        return Plan(settings=settings)
    return make_plan(desired, standing_predictions(studio, project) if standing else [], settings)


def _remember_written(engine: Engine, project: int, desired: list[Desired]) -> None:
    rows = [{"project": project, "task": each.task, "digest": each.digest} for each in desired]
    with engine.begin() as connection:
        connection.execute(delete(tables.written).where(tables.written.c.project == project))
        if rows:
            connection.execute(insert(tables.written), rows)


def _remember_settings(engine: Engine, project: int, facts: dict[str, Any], settings: dict[str, Any]) -> None:
    """What the settings were before they were first changed, to be restored when the project is disconnected."""
    before = tables.setting_before
    with engine.begin() as connection:
        known = set(connection.execute(select(before.c.name).where(before.c.project == project)).scalars())
        for name in settings.keys() - known:
            connection.execute(insert(before).values(project=project, name=name, value=json.dumps(facts.get(name))))


def _unheard(stage: str, done: int, total: int) -> None:
    """Nobody asked for progress."""


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - started
