"""One pass over one project: pull what changed, aggregate, plan, write; and what it found, for people and programs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine

from .. import __version__
from ..controls import Config, read_config
from ..errors import CrowdError, LabelStudioError
from ..labelstudio import LabelStudio
from ..labelstudio.validation import why_dropped
from ..store import Mirror, found, passes
from ..store.gold import list_gold
from .crowd import Crowd, crowd_of
from .desired import desired_predictions
from .drawings import OVERLAP
from .findings import Findings, find
from .insight import insight
from .meta import LARGEST_PROJECT, Copied, copy_into_tasks
from .plan import Desired, Plan, make_plan
from .pull import Pulled, pull
from .write import Written, is_ours, settings_to_change, standing_predictions, write

Told = Callable[[str, int, int], None]  # stage, done, total

# That as many predictions of ours stand as were written does not say that nobody has changed one: so often they are
# compared one by one.
COMPARE_SECONDS = 3600.0


class Superseded(CrowdError):
    """Something newer is to be done in the project, and the rest of this pass with it."""


@dataclass(frozen=True)
class Options:
    """How a pass is to be done."""

    method: str = "auto"
    apart: bool = False  # a fit for each control, instead of one for all
    dry_run: bool = False
    from_scratch: bool = False
    take_over: bool = False
    annotator_scores: bool = True
    experts: Collection[int] = ()
    gold_field: str = ""
    overlap: float = OVERLAP  # that regions of two people must share to be one
    when_complete: bool = False  # only tasks with as many answers as the project asks for
    task_meta: str = "auto"
    quiet_seconds: float = 60.0  # how long nobody may have annotated a task before its `meta` is changed


@dataclass(frozen=True)
class Report:
    """What a pass found and did."""

    project: int
    title: str
    pulled: Pulled
    plan: Plan
    written: Written
    copied: Copied
    summary: dict[str, Any]  # the facts a person wants, ready for JSON
    warnings: list[str]
    seconds: dict[str, float]
    findings: Findings | None = None  # None where nothing had changed and nothing was computed


@dataclass
class _Pass:
    """What the stages of one pass share."""

    studio: LabelStudio
    engine: Engine
    project: int
    options: Options
    say: Told
    may_end: Callable[[], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - started

    def told(self, stage: str) -> Callable[[int, int], None]:
        return lambda done, total: self.say(stage, done, total)


def sync(
    studio: LabelStudio,
    engine: Engine,
    project: int,
    options: Options,
    told: Told = lambda *_: None,
    may_end: Callable[[], None] = lambda: None,
) -> Report:
    """Makes our predictions in Label Studio a function of its present annotations.

    `may_end` is called where a pass may well end because a newer one is waiting, and raises Superseded if it should.
    """
    this = _Pass(studio, engine, project, options, told, may_end)
    with this.timed("pull"):
        pulled = pull(
            studio,
            engine,
            project,
            from_scratch=options.from_scratch,
            gold_field=options.gold_field,
            told=this.told("pull"),
        )
    fingerprint = _fingerprint(this, pulled)
    report = _unchanged(this, pulled, fingerprint) or _changed(this, pulled, fingerprint)
    with this.timed("meta"):
        copied = _copy(this, pulled)
    return replace(report, copied=copied)


def _unchanged(this: _Pass, pulled: Pulled, fingerprint: str) -> Report | None:
    """The report of a pass with nothing to do; None if there may be something."""
    with this.engine.connect() as connection:
        last = passes.last_pass(connection, this.project)
        written = passes.written(connection, this.project)
    if last is None or last.fingerprint != fingerprint or not _lately(last.compared) or this.options.from_scratch:
        return None
    settings, warning = settings_to_change(pulled.project, this.options.take_over, last.version)
    if settings or _standing(this) != ({last.version: len(written)} if written else {}):
        return None
    warnings = [*last.summary["warnings"], *([warning] if warning else [])]
    title = str(pulled.project["title"])
    return Report(
        this.project, title, pulled, Plan(last.version), Written(), Copied(), last.summary, warnings, this.seconds
    )


def _changed(this: _Pass, pulled: Pulled, fingerprint: str) -> Report:
    """Aggregates, plans and writes."""
    options = this.options
    config = read_config(str(pulled.project["label_config"]))
    with this.timed("fit"):
        crowd, complete, texts = _crowd(this, config)
        if not crowd.tasks:
            _clear(this, pulled)
            _copy(this, pulled)
            _say_why_nothing(this.project, config)
        findings = find(
            crowd,
            options.method,
            apart=options.apart,
            progress=lambda fraction: this.say("fit", int(100 * fraction), 100),
        )
    with this.timed("plan"):
        desired = desired_predictions(crowd, findings, options.annotator_scores, texts)
        desired = [each for each in desired if each.task in complete]
        plan, warning, compared = _plan(this, pulled, desired)
        summary = {
            "tasks": len(crowd.answered),
            "answers": len(crowd.tasks),
            "gold": len(crowd.gold),
            **findings.summary,
            "left_out": [asdict(each) for each in config.left_out],
            "warnings": [*crowd.warnings, *findings.warnings],
        }
    written = Written()
    if not options.dry_run:
        with this.timed("write"):
            try:
                written = _write(this, pulled, desired, plan)
            except Superseded:  # the rest is left to another pass, but people are to see what this one found
                _tell(this, crowd, findings, summary)
                raise
            _tell(this, crowd, findings, summary)
            with this.engine.begin() as connection:
                stands = {each.task: each.digest for each in desired if each.task not in written.refused}
                passes.remember_written(connection, this.project, stands)
                if not written.refused:
                    passes.remember_pass(connection, this.project, fingerprint, plan.version, summary, compared)
        _name_people(this, findings)
    warnings = [*summary["warnings"], *([warning] if warning else []), *_refused(pulled, desired, plan, written)]
    title = str(pulled.project["title"])
    return Report(
        this.project, title, pulled, plan, written, Copied(), summary, warnings, this.seconds, findings=findings
    )


def _tell(this: _Pass, crowd: Crowd, findings: Findings, summary: dict[str, Any]) -> None:
    """Keeps for people to look at what was found."""
    seen = insight(crowd, findings)
    with this.engine.begin() as connection:
        found.remember(connection, this.project, summary, seen.charts, seen.labels, seen.annotators)


def _name_people(this: _Pass, findings: Findings) -> None:
    """Asks who people are when there is somebody new; names are a comfort, and nothing fails for lack of them."""
    with this.engine.connect() as connection:
        unknown = findings.people.keys() - found.names(connection, list(findings.people)).keys()
    if unknown:
        with suppress(LabelStudioError):
            users = this.studio.users()
            with this.engine.begin() as connection:
                found.remember_users(connection, users)


def _fingerprint(this: _Pass, pulled: Pulled) -> str:
    """Of everything that what is written depends on."""
    with this.engine.connect() as connection:
        revision = Mirror(connection, this.project).revision()
        gold = list_gold(connection, this.project)
    options = this.options
    decisive = [options.method, options.apart, options.annotator_scores, sorted(options.experts), options.when_complete]
    decisive.append(options.overlap)
    facts = [__version__, revision, pulled.project["label_config"], sorted(gold.items()), decisive]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _crowd(this: _Pass, config: Config) -> tuple[Crowd, set[int], dict[int, dict[str, str]]]:
    """The crowd, the tasks about which something is to be written, and where spans are marked their texts."""
    with this.engine.connect() as connection:
        mirror = Mirror(connection, this.project)
        annotations, known, tasks = mirror.annotations(), mirror.known(), mirror.tasks()
        gold, reassigned = list_gold(connection, this.project), mirror.reassigned()
    crowd = crowd_of(config, annotations, gold, this.options.experts, known, this.options.overlap)
    texts = {task: json.loads(each.data) for task, each in tasks.items() if each.data} if config.regions else {}
    if reassigned:
        crowd.warnings.append(f"{reassigned} annotation(s) have got another author since they were first seen.")
    if not this.options.when_complete:
        return crowd, set(tasks), texts
    # Gold counts here, as it does for Label Studio: or a probe would show by lacking a prediction.
    return crowd, {task for task, people in crowd.present.items() if people >= tasks[task].overlap}, texts


def _say_why_nothing(project: int, config: Config) -> None:
    if not config.controls and not config.regions:
        named = ", ".join(f"{each.name} ({each.tag})" for each in config.left_out) or "none at all"
        raise CrowdError(f"Project {project} has no control that can be aggregated; its controls are: {named}.")
    raise CrowdError(f"Project {project} has no answers yet that count; nothing was written.")


def _clear(this: _Pass, pulled: Pulled) -> None:
    """With the last answer of a project our predictions go too, and what was found."""
    if this.options.dry_run:
        return
    with this.engine.begin() as connection:
        found.forget(connection, this.project)
    if _standing(this):
        _write(this, pulled, [], make_plan([], standing_predictions(this.studio, this.project)))


def _standing(this: _Pass) -> dict[str, int]:
    """Our versions in Label Studio, and how many predictions of each there are."""
    return {version: size for version, size in this.studio.versions(this.project).items() if is_ours(version)}


def _plan(this: _Pass, pulled: Pulled, desired: list[Desired]) -> tuple[Plan, str, float]:
    """What to do, a warning, and when predictions were compared one by one: they are listed only if something of ours
    changed there or here, or that is too long ago."""
    with this.engine.connect() as connection:
        before = passes.written(connection, this.project)
        last = passes.last_pass(connection, this.project)
    versions = _standing(this)
    as_before = before == {each.task: each.digest for each in desired} and not this.options.from_scratch
    if as_before and last is not None and _lately(last.compared) and list(versions.values()) == [len(before)]:
        plan, compared = Plan(next(iter(versions))), last.compared
    else:
        compared = time.time()
        standing = standing_predictions(this.studio, this.project) if versions else []
        shown = str(pulled.project.get("model_version") or "")
        plan = make_plan(desired, standing, tasks=int(pulled.project["task_number"]), shown=shown)
    if not desired:
        return plan, "", compared
    settings, warning = settings_to_change(pulled.project, this.options.take_over, plan.version)
    return replace(plan, settings=settings), warning, compared


def _lately(compared: float) -> bool:
    return 0 <= time.time() - compared < COMPARE_SECONDS


def _write(this: _Pass, pulled: Pulled, desired: list[Desired], plan: Plan) -> Written:
    if plan.empty:
        return Written()
    with this.engine.begin() as connection:
        passes.remember_settings(connection, this.project, pulled.project, plan.settings)
        passes.forget(connection, this.project)  # killed from here on, the next pass asks Label Studio what stands

    def again(gone: Collection[int]) -> Plan:
        return _plan(this, pulled, [each for each in desired if each.task not in gone])[0]

    tasks = int(pulled.project["task_number"])
    return write(
        this.studio,
        this.project,
        plan,
        tasks=tasks,
        again=again,
        take_over=this.options.take_over,
        may_end=this.may_end,
        told=this.told("write"),
    )


def _refused(pulled: Pulled, desired: list[Desired], plan: Plan, written: Written) -> list[str]:
    if not written.refused:
        return []
    example = next(each for each in desired if each.task == written.refused[0])
    body = {"result": example.result, "score": example.score, "model_version": plan.version}
    why = why_dropped(str(pulled.project["label_config"]), body) or "the task may be gone, or the config have changed"
    return [
        f"Label Studio did not take the predictions of {len(written.refused)} task(s), for example task"
        f" {example.task} ({why}); the next sync tries again."
    ]


def _copy(this: _Pass, pulled: Pulled) -> Copied:
    options = this.options
    if options.dry_run or options.task_meta == "off":
        return Copied()
    return copy_into_tasks(
        this.studio,
        this.engine,
        this.project,
        unfinished_too=options.task_meta == "on",
        copied_only=options.task_meta == "auto" and int(pulled.project["task_number"]) > LARGEST_PROJECT,
        skips_finish=pulled.project.get("skip_queue") == "IGNORE_SKIPPED",
        quiet=timedelta(seconds=options.quiet_seconds),
        may_end=this.may_end,
        told=this.told("meta"),
    )
