"""The documents are true: Python examples run, commands exist, settings and forms are named, links lead somewhere."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ls_crowd_plugin.aggregation import FORMS, METHODS
from ls_crowd_plugin.settings import CONFIG_FILE, SETTINGS, Setting
from tests.support.documents import DOCUMENTS, README, ROOT, commands


def test_the_python_example_runs_and_says_what_is_printed_beside_it() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", "".join(DOCUMENTS.values()), re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert eval("consensus.labels", names) == {"t1": "cat", "t2": "dog"}


@pytest.mark.parametrize("setting", [CONFIG_FILE, *SETTINGS], ids=lambda setting: setting.name)
def test_every_setting_is_in_the_table_with_its_default_and_meaning(setting: Setting) -> None:
    default = f"{setting.default} " if setting.default else ""
    assert f"| `{setting.name}` | {default}| {setting.meaning} |" in DOCUMENTS["docs/settings.md"]


def test_the_readme_fits_on_two_screens() -> None:
    assert len(README.splitlines()) <= 100


def test_every_file_named_for_contributors_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|md|png))`", text))
    assert len(named) > 20
    folders = (ROOT, ROOT / "ls_crowd_plugin", ROOT / "tests" / "support")
    assert [name for name in sorted(named) if not any((folder / name).exists() for folder in folders)] == []


@pytest.mark.parametrize("name", [*METHODS, *FORMS])
def test_every_method_and_form_is_named(name: str) -> None:
    assert f"`{name}`" in DOCUMENTS["docs/methods.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", DOCUMENTS[document]):
        assert target.startswith("https://") or ((ROOT / document).parent / target).exists(), target


@pytest.mark.parametrize("command", [line for line in commands() if line.startswith("make ")])
def test_make_knows_what_it_is_asked_for(command: str) -> None:
    done = subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = {"demo": "ls_crowd_plugin demo", "test": "/pytest"}[command.split()[1]]
    assert expected in done.stdout


@pytest.mark.parametrize("module", sorted(set(re.findall(r"python -m (benchmarks\.\w+)", "".join(DOCUMENTS.values())))))
def test_every_benchmark_takes_the_options_it_is_shown_with(module: str) -> None:
    shown = re.findall(rf"python -m {re.escape(module)}([^`]*)`", "".join(DOCUMENTS.values()))
    source = Path(importlib.import_module(module).__file__ or "").read_text(encoding="utf-8")
    for options in shown:
        for option in re.findall(r"--[a-z-]+", options):
            assert f'"{option}"' in source, (module, option)


@pytest.mark.slow
def test_the_package_has_all_it_needs_when_it_is_installed(tmp_path: Path) -> None:
    """`pip install .`: the pages' templates and styles come with it."""
    target = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--target", str(target), str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for part in ("templates", "static"):
        ours = {path.name for path in (ROOT / "ls_crowd_plugin" / "web" / part).iterdir()}
        assert {path.name for path in (target / "ls_crowd_plugin" / "web" / part).iterdir()} == ours
