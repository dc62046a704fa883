"""Reads gold from files: CSV with a label in each row or a column for each control, and Label Studio's JSON export."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..controls import Config
from ..errors import UnusableInput
from .files import GoldKey, read_gold, read_table

Gold = dict[tuple[int, str], str]  # (task, question) → label
BETWEEN_LABELS = (";", "|", ",")  # of a multiple choice, in one cell


def read_gold_file(path: Path, config: Config, question: Callable[[str | None], str]) -> Gold:
    """The gold labels of a file; `question` turns a name, or none, into the question that is meant."""
    if path.suffix.lower() == ".json":
        return _merged(path, _of_export(path, config))
    named = {control.name for control in config.controls} | {one.name for one in config.questions}
    rows = read_table(path, {*named, "label"})
    columns = {name for _, cells in rows[:1] for name in cells}
    if "label" in columns or not columns & named:
        labels = read_gold(path, len(config.questions) > 1)
        return {_key(path, key, question): label for key, label in labels.items()}
    return _merged(path, _of_table(path, config, rows))


def _key(path: Path, key: GoldKey, question: Callable[[str | None], str]) -> tuple[int, str]:
    task, name = key if isinstance(key, tuple) else (key, None)
    return _task(path, task), question(name)


def _of_table(
    path: Path, config: Config, rows: list[tuple[int, dict[str, str]]]
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """(place, task, question → label) of every row; of an empty cell nothing is known."""
    for line, cells in rows:
        place = f"line {line}"
        said = {name: _statement(config, name, cell.strip()) for name, cell in cells.items() if name != "task"}
        said = {name: statement for name, statement in said.items() if statement != ""}
        if not said:
            continue
        labels = config.read_gold_field(said)
        if labels is None:
            shown = ", ".join(f"{name} {cells[name]!r}" for name in said)
            raise UnusableInput(f"{path}, {place}: the project has no such labels ({shown}); correct the row.")
        yield place, _task(path, cells.get("task", "")), labels


def _statement(config: Config, name: str, cell: str) -> object:
    """What a cell says: a label, or the labels of a multiple choice, as people or Label Studio write them."""
    if cell[:1] in ("[", "{"):
        try:
            value: object = json.loads(cell)
        except ValueError:
            return cell
        return value.get("choices", cell) if isinstance(value, dict) else value
    if config.read_gold_field({name: cell}) is None:
        for separator in BETWEEN_LABELS:
            parts = [part.strip() for part in cell.split(separator)]
            if len(parts) > 1 and config.read_gold_field({name: parts}) is not None:
                return parts
    return cell


def _of_export(path: Path, config: Config) -> Iterator[tuple[str, int, dict[str, str]]]:
    """(place, task, question → label) of every annotation in an export of Label Studio."""
    try:
        tasks: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnusableInput(f"{path} does not exist; check the name.") from None
    except (OSError, ValueError) as error:
        raise UnusableInput(f"{path} is not a JSON file that can be read ({type(error).__name__}).") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) and "annotations" in task for task in tasks):
        raise UnusableInput(f"{path} is not an export of Label Studio as JSON: a list of tasks with annotations.")
    for task in tasks:
        for annotation in task["annotations"]:
            if annotation.get("result") and not annotation.get("was_cancelled"):
                yield f"task {task.get('id')}", _task(path, str(task.get("id"))), config.read(annotation["result"])


def _merged(path: Path, read: Iterator[tuple[str, int, Mapping[str, str]]]) -> Gold:
    gold: Gold = {}
    for place, task, labels in read:
        for name, label in labels.items():
            if gold.setdefault((task, name), label) != label:
                known = gold[task, name]
                raise UnusableInput(f"{path}, {place}: {name!r} is {label!r} here and {known!r} elsewhere; keep one.")
    return gold


def _task(path: Path, task: str) -> int:
    if not task.isdecimal():
        raise UnusableInput(f"{path} names task {task!r}; give Label Studio's task ids, which are numbers.")
    return int(task)
