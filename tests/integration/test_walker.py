"""Random walks through a real Label Studio: whatever people do to it, after a sync everything is as a fresh database
would have it.

LS_CROWD_WALK_SEEDS (such as 0-19 or 3,8) and LS_CROWD_WALK_STEPS choose the long walks. LS_CROWD_WALK_WITHOUT names
actions to leave out, and LS_CROWD_WALK_IGNORE kinds of differences to overlook, both separated by commas.
LS_CROWD_WALK_SHORTEN is how many seconds are spent on shortening a walk that found a difference; what it prints as the
way to repeat it can be given as LS_CROWD_WALK_REPEAT.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from datetime import timedelta

import pytest

from ls_crowd_plugin.demo.server import Server
from tests.support.walker import Step, draw_steps, shorten, walk

RecordProperty = Callable[[str, object], None]


def names(variable: str) -> list[str]:
    """What an environment variable lists."""
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]


def seeds() -> list[int]:
    first, _, last = os.environ.get("LS_CROWD_WALK_SEEDS", "0-19").partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(seed) for seed in first.split(",")]


@pytest.fixture(autouse=True)
def no_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps follow each other faster than people's: with the slack every pass would read everything again."""
    monkeypatch.setattr("ls_crowd_plugin.pipeline.pull.IN_FLIGHT", timedelta(0), raising=False)


def go(seed: int, steps: list[Step], server: Server, record: RecordProperty) -> None:
    walked = walk(seed, server, steps, names("LS_CROWD_WALK_IGNORE"))
    record("steps", dict(walked.counts))
    record("refused steps", dict(walked.refused))
    if walked.differences:
        shortened = shorten(walked, server, float(os.environ.get("LS_CROWD_WALK_SHORTEN", "180")))
        pytest.fail(f"{walked.report()}\n\nShortened:\n{shortened.report()}", pytrace=False)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_short_walk(seed: int, label_studio: Server, record_property: RecordProperty) -> None:
    go(seed, draw_steps(seed, 15, names("LS_CROWD_WALK_WITHOUT")), label_studio, record_property)


@pytest.mark.soak
@pytest.mark.parametrize("seed", seeds())
def test_a_long_walk(seed: int, label_studio: Server, record_property: RecordProperty) -> None:
    number = int(os.environ.get("LS_CROWD_WALK_STEPS", "60"))
    go(seed, draw_steps(seed, number, names("LS_CROWD_WALK_WITHOUT")), label_studio, record_property)


@pytest.mark.soak
@pytest.mark.skipif("LS_CROWD_WALK_REPEAT" not in os.environ, reason="LS_CROWD_WALK_REPEAT names no walk.")
def test_a_walk_again(label_studio: Server, record_property: RecordProperty) -> None:
    seed, steps = ast.literal_eval(os.environ["LS_CROWD_WALK_REPEAT"])
    go(seed, [Step(*step) for step in steps], label_studio, record_property)
