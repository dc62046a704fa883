"""A walker that tries to break it: a random sequence of everything people and administrators can do to a real Label
Studio, with passes in between. After each sync the state has to be what a fresh database would make of it.

A failing walk is shortened by leaving out steps, and printed so that it can be repeated.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.errors import LabelStudioError
from ls_crowd_plugin.store import open_store
from tests.support.fresh_database import sync_differences
from tests.support.proxy import Proxy
from tests.support.walker_ours import OURS
from tests.support.walker_owners import OWNERS
from tests.support.walker_people import PEOPLE, Action
from tests.support.walker_scene import Dice, Impossible, Scene, close_scene, set_scene

SYNC = "sync and compare"
ACTIONS: dict[str, Action] = {action.name: action for action in (*PEOPLE, *OWNERS, *OURS)}
MOST_STEPS_BETWEEN_SYNCS = 6


@dataclass(frozen=True)
class Step:
    """A step of a seed's walk. Number and seed decide its arguments, as far as Label Studio's state allows."""

    number: int
    action: str


@dataclass
class Walked:
    """How a walk went."""

    seed: int
    steps: Sequence[Step]
    ignored: Collection[str] = ()  # kinds of differences
    lines: list[str] = field(default_factory=list)  # what happened, step by step
    counts: Counter[str] = field(default_factory=Counter)  # action → how often it was carried out
    refused: Counter[str] = field(default_factory=Counter)  # action → how often Label Studio refused it
    differences: list[str] = field(default_factory=list)  # empty: it went well

    @property
    def kinds(self) -> set[str]:
        """Of the differences."""
        return set(map(kind_of, self.differences))

    def report(self) -> str:
        found = "\n".join(f"  {difference}" for difference in self.differences[:12])
        steps = ", ".join(f"({step.number}, {step.action!r})" for step in self.steps)
        happened = "\n".join(self.lines)
        repeat = f'LS_CROWD_WALK_REPEAT="{self.seed}, [{steps}]"'
        return f"{happened}\n{len(self.differences)} difference(s):\n{found}\nTo repeat it: {repeat}"


def kind_of(difference: str) -> str:
    return difference.partition(":")[0]


def draw_steps(seed: int, number: int, without: Sequence[str] = ()) -> list[Step]:
    """The steps of a seed's walk, of which none is of the kinds `without`; the last is a sync."""
    chance = random.Random(f"steps {seed}")
    names = [name for name in ACTIONS if name not in without]
    weights = [ACTIONS[name].weight for name in names]
    steps, until_sync = [], 0
    for position in range(1, number):
        if until_sync == 0:
            steps.append(Step(position, SYNC))
            until_sync = chance.randint(1, MOST_STEPS_BETWEEN_SYNCS)
        else:
            steps.append(Step(position, chance.choices(names, weights)[0]))
            until_sync -= 1
    return [*steps, Step(number, SYNC)]


def walk(seed: int, server: Server, steps: Sequence[Step], ignored: Collection[str] = ()) -> Walked:
    """Walk through a new scene until a difference is found that is not of an ignored kind, or to the end."""
    walked = Walked(seed, steps, ignored)
    with _scene(seed, server) as scene:
        for step in steps:
            scene.step = step.number
            try:
                words, found = _take(scene, seed, step)
                walked.counts[step.action] += 1
            except Impossible as why:
                words, found = f"(not {step.action}: {why})", []
            except LabelStudioError as why:
                words, found = f"(not {step.action}: {why})", []
                walked.refused[step.action] += 1
            walked.lines.append(f"{step.number:>4} {words}")
            walked.differences = [one for one in found if kind_of(one) not in ignored]
            if walked.differences:
                break
    return walked


@contextmanager
def _scene(seed: int, server: Server) -> Iterator[Scene]:
    with TemporaryDirectory() as name, Proxy(server.url).running() as proxy:
        folder = Path(name)
        with open_store(f"sqlite:///{folder / 'crowd.db'}") as store:
            scene = set_scene(server, proxy, store, folder, seed)
            try:
                yield scene
            finally:
                proxy.clock_ahead = timedelta(0)
                close_scene(scene)


def _take(scene: Scene, seed: int, step: Step) -> tuple[str, list[str]]:
    """Take a step; return what happened, and the differences found."""
    if step.action == SYNC:
        found = []
        for project in sorted({project.id for project in scene.projects} | scene.known):
            scene.known.add(project)
            found += sync_differences(scene.seen, scene.store, project, scene.recipe)
        return SYNC, found
    return ACTIONS[step.action].do(scene, Dice(f"{seed}/{step.number}")), []


def shorten(walked: Walked, server: Server, seconds: float) -> Walked:
    """The shortest walk found in this time that still ends in a difference of the same kind.

    Halves, then smaller and smaller parts of the steps are left out, as long as the difference stays (ddmin).
    """
    until, best, parts = time.monotonic() + seconds, walked, 2
    while len(best.steps) > 1 and time.monotonic() < until:
        size = -(-len(best.steps) // parts)
        shorter = _first_that_fails(walked, server, best.steps, size, until)
        if shorter is not None:
            best, parts = shorter, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(best.steps))
    return best


def _first_that_fails(walked: Walked, server: Server, steps: Sequence[Step], size: int, until: float) -> Walked | None:
    """The first walk with a part of this size left out that finds a difference of the same kind."""
    for start in range(0, len(steps), size):
        rest = [*steps[:start], *steps[start + size :]]
        if time.monotonic() > until or not rest or rest[-1].action != SYNC:
            continue
        tried = walk(walked.seed, server, rest, walked.ignored)
        if tried.kinds & walked.kinds:
            return replace(tried, steps=rest[: len(tried.lines)])  # a walk ends where the difference is found
    return None
