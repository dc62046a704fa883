"""What the README promises holds: its Python runs, its commands exist, and every setting and form is named in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from ls_crowd_plugin.aggregation import FORMS, METHODS
from ls_crowd_plugin.cli import ls_crowd
from ls_crowd_plugin.settings import SETTINGS

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs_and_says_what_is_printed_beside_it() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert eval("consensus.labels", names) == {"t1": "cat", "t2": "dog"}


@pytest.mark.parametrize("command", sorted(set(re.findall(r"^ls-crowd (\w+)", README, re.MULTILINE))))
def test_every_command_named_at_the_start_of_a_line_exists(command: str) -> None:
    assert CliRunner().invoke(ls_crowd, [command, "--help"]).exit_code == 0


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_in_the_table_with_its_default_and_meaning(setting: object) -> None:
    name, default, meaning = (getattr(setting, part) for part in ("name", "default", "meaning"))
    assert f"| `{name}` | {default}{' ' if default else ''}| {meaning} |" in README


@pytest.mark.parametrize("name", [*METHODS, *FORMS])
def test_every_method_and_form_is_named(name: str) -> None:
    assert f"`{name}`" in README
