"""Rules of the house: short modules and functions, few `Any`, and which room may import which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ls_crowd_plugin"
MAX_MODULE_LINES = 350
MAX_FUNCTION_LINES = 60
MAX_LINES_WITH_ANY = 60

# A room is a folder of the package, or a module beside the folders. These import nothing of the project but each other.
FOUNDATION = {
    "__init__",
    "errors",
    "records",
    "chart_records",
    "recipe",
    "policy",
    "log",
}  # `__init__` holds the version

# Room → the other rooms it may import. `cli` and `demo` are not listed: they may import anything.
MAY_IMPORT = {
    **dict.fromkeys(FOUNDATION, FOUNDATION),
    "setting_values": FOUNDATION,
    "settings": FOUNDATION | {"setting_values"},
    "aggregation": {"__init__", "records", "errors"},
    "regions": {"__init__", "records", "errors"},
    "controls": {"regions", "records", "errors"},
    "labelstudio": {"records", "errors"},
    "store": {"records", "chart_records", "policy", "errors"},
    "pipeline": {
        *("aggregation", "regions", "controls", "labelstudio", "store", "records", "errors", "__init__"),
        *("settings", "setting_values", "recipe", "policy", "log", "chart_records"),
    },
    "web": {"store", "records", "chart_records", "policy", "settings", "log", "controls"},
}
FREE = {"__main__", "cli", "demo"}


def modules(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> Iterator[str]:
    """The rooms that a module of the package imports, wherever in the module it does."""
    package = ["ls_crowd_plugin", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [[*module, alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "ls_crowd_plugin":
                yield _room(name[1] if len(name) > 1 else "__init__")


def _room(name: str) -> str:
    """A name in the package that is neither a folder nor a module is defined in its `__init__`."""
    return name if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists() else "__init__"


def folders() -> list[Path]:
    """Every folder with modules."""
    return sorted({path.parent for path in modules(PACKAGE, ROOT / "tests")})


@pytest.mark.parametrize("folder", folders(), ids=name_of)
def test_modules_are_short(folder: Path) -> None:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")}
    assert {name: number for name, number in lines.items() if number > MAX_MODULE_LINES} == {}


@pytest.mark.parametrize("room", ["pipeline", "store", "web"])
def test_functions_are_short(room: str) -> None:
    long = [
        f"{name_of(path)}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in modules(PACKAGE / room)
        for node in ast.walk(parse(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_any_is_rare() -> None:
    """Records and aliases such as `records.Json` say more."""
    lines = [
        f"{name_of(path)}: {line.strip()}"
        for path in modules(PACKAGE)
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bAny\b", line)
    ]
    assert len(lines) < MAX_LINES_WITH_ANY, "\n".join(lines)


def test_every_room_has_a_rule() -> None:
    assert {room_of(path) for path in modules(PACKAGE)} == MAY_IMPORT.keys() | FREE


def test_imports_are_found() -> None:
    """Relative ones, also inside functions."""
    assert set(imported_rooms(PACKAGE / "web" / "receiver.py")) == {"log", "records", "settings", "store", "web"}
    assert "aggregation" in set(imported_rooms(PACKAGE / "cli" / "aggregate.py"))
    assert "__init__" in set(imported_rooms(PACKAGE / "pipeline" / "inputs.py"))


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_rooms_import_only_what_they_may(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    forbidden = {
        f"{name_of(path)} imports {imported}"
        for path in modules(PACKAGE)
        if room_of(path) == room
        for imported in imported_rooms(path)
        if imported not in allowed
    }
    assert sorted(forbidden) == []
