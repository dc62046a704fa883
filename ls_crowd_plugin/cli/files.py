"""Reads answers and gold from CSV files, and writes results so that a directory holds all of them or none.

Errors name the file and the line where the record begins, as an editor counts lines.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CrowdError, UnusableInput

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

ReadingProgress = Callable[[str, float], None]
GoldKey = str | tuple[str, str]  # a task, or (task, question)

ROWS_PER_REPORT = 1 << 16
SEPARATORS = (",", ";", "\t")  # of columns; spreadsheets write semicolons where a comma is the decimal sign


@dataclass(frozen=True)
class AnswerColumns:
    """The answers of a file as equally long columns of text, in the order of the file."""

    tasks: list[str]
    annotators: list[str]
    labels: list[str]
    questions: list[str] | None  # None where the file has no such column


def read_answers(
    path: Path, label_set: Collection[str] | None = None, progress: ReadingProgress | None = None
) -> AnswerColumns:
    """Read `task`, `annotator` (or `worker`), `label` and, if there is one, `question`."""
    wanted = {"task": ("task",), "annotator": ("annotator", "worker"), "label": ("label",)}
    tasks: list[str] = []
    annotators: list[str] = []
    labels: list[str] = []
    questions: list[str] = []
    with_questions = False
    # Few values make up most cells: keeping one copy of each makes a large file several times smaller in memory.
    values: dict[str, str] = {}
    intern = values.setdefault
    for line, cells in _records(path, wanted, progress):
        task, annotator, label = cells[:3]
        if label_set is not None and label not in label_set:
            raise _outside(path, line, "label", label)
        tasks.append(intern(task, task))
        annotators.append(intern(annotator, annotator))
        labels.append(intern(label, label))
        if len(cells) > 3:
            with_questions = True
            questions.append(intern(cells[3], cells[3]))
    return AnswerColumns(tasks, annotators, labels, questions if with_questions else None)


def read_gold(path: Path, with_questions: bool, label_set: Collection[str] | None = None) -> dict[GoldKey, str]:
    """Read `task`, `label` and, exactly if the answers have it, `question`: the gold label of each."""
    gold: dict[GoldKey, str] = {}
    line_of: dict[GoldKey, int] = {}
    for line, cells in _records(path, {"task": ("task",), "label": ("label",)}, None):
        task, label = cells[:2]
        if with_questions and len(cells) == 2:
            raise UnusableInput(
                f"{path} has no column 'question' and the answers have one; say which question is meant in both."
            )
        if not with_questions and len(cells) == 3:
            raise UnusableInput(f"{path} has a column 'question' and the answers have none; remove it or add it there.")
        key = (task, cells[2]) if with_questions else task
        if label_set is not None and label not in label_set:
            raise _outside(path, line, "gold label", label)
        if gold.setdefault(key, label) != label:
            raise UnusableInput(
                f"{path}, line {line}: the gold label of {_named(key)} is {label!r} here and {gold[key]!r} "
                f"in line {line_of[key]}; keep one of them."
            )
        line_of.setdefault(key, line)
    return gold


def read_table(path: Path, names: Collection[str]) -> list[tuple[int, dict[str, str]]]:
    """(line, column → cell) of every record, for the columns of these names, however they are capitalised, and
    `task`."""
    by_column = {_column_name(name): name for name in (*names, "task")}
    rows: list[tuple[int, dict[str, str]]] = []
    with _opened(path) as file:
        reader = _reader(_text_lines(file, path), by_column)
        try:
            header = next((row for row in reader if row), None)
            columns = [by_column.get(_column_name(name)) for name in header or ()]
            line = reader.line_num + 1
            for row in reader:
                if row:
                    _check_width(path, line, row, columns, len(columns) - 1)
                    rows.append((line, {name: cell for name, cell in zip(columns, row, strict=False) if name}))
                line = reader.line_num + 1
        except csv.Error as error:
            raise _not_csv(path, reader.line_num, error) from None
    return rows


def parse_labels(text: str) -> list[str]:
    """The labels of `--labels`, written as one row of a CSV file so that a label with a comma can be quoted."""
    try:
        rows = list(csv.reader([text], strict=True, skipinitialspace=True))
    except csv.Error as error:
        raise UnusableInput(
            f"--labels {text!r} is not a row of a CSV file ({error}); quote labels as CSV does."
        ) from None
    labels = list(dict.fromkeys(rows[0] if rows else []))
    if not labels or "" in labels:
        raise UnusableInput(f"--labels {text!r} holds an empty label; name each label once, separated by commas.")
    return labels


def _named(key: GoldKey) -> str:
    return f"task {key!r}" if isinstance(key, str) else f"task {key[0]!r}, question {key[1]!r},"


def _outside(path: Path, line: int, what: str, label: str) -> UnusableInput:
    return UnusableInput(
        f"{path}, line {line}: the {what} {label!r} is not among those of --labels; correct it or add it there."
    )


def _records(
    path: Path, wanted: dict[str, tuple[str, ...]], progress: ReadingProgress | None
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, cells) of every record: the wanted columns in order, then `question` if the file has that column.

    `wanted` maps what a column means to the names it may have, the first one found counts.
    """
    csv.field_size_limit(2**31 - 1)  # a label may be a whole document; the module would stop at 128 KiB
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size  # 0 for a pipe: then only its name is shown
        reader = _reader(_text_lines(file, path), {name for names in wanted.values() for name in names})
        line = 1
        try:
            header = next(reader, None)
            while header == []:
                line = reader.line_num + 1
                header = next(reader, None)
            if header is None:
                raise UnusableInput(f"{path} is empty; it needs a header and at least one row.")
            meanings, positions = _positions(path, header, wanted)
            pick, last = itemgetter(*positions), max(positions)
            line = reader.line_num + 1
            rows = 0
            for row in reader:
                if row:  # a blank line is not a record
                    if len(row) <= last or len(row) > len(header):
                        _check_width(path, line, row, header, last)
                    cells = pick(row)
                    if "" in cells:
                        empty = meanings[cells.index("")]
                        raise UnusableInput(f"{path}, line {line}: the {empty} is empty; fill it in or remove the row.")
                    yield line, cells
                    rows += 1
                    if progress and rows % ROWS_PER_REPORT == 0:
                        progress(
                            f"Reading {path.name}", os.lseek(file.fileno(), 0, os.SEEK_CUR) / size if size else 0.0
                        )
                line = reader.line_num + 1
        except csv.Error as error:
            raise _not_csv(path, line, error) from None
    if not rows:
        raise UnusableInput(f"{path} has a header and no rows; it needs at least one.")


def _reader(lines: Iterator[str], wanted: Collection[str]) -> CsvReader:
    """Reads records whose columns are separated by that with which the first line names the most of those wanted."""
    beginning: list[str] = []
    for text in lines:
        beginning.append(text)
        if text.strip():
            break

    def found(separator: str) -> int:
        rows = csv.reader(beginning[-1:], delimiter=separator)
        return len({_column_name(name) for row in rows for name in row} & set(wanted))

    return csv.reader(itertools.chain(beginning, lines), strict=True, delimiter=max(SEPARATORS, key=found))


def _column_name(name: str) -> str:
    return name.strip().lower()


def _positions(path: Path, header: Sequence[str], wanted: dict[str, tuple[str, ...]]) -> tuple[list[str], list[int]]:
    """The meaning of each column to be read, and its position."""
    names = [_column_name(name) for name in header]
    meanings: list[str] = []
    positions: list[int] = []
    missing: list[str] = []
    for meaning, accepted in {**wanted, "question": ("question",)}.items():
        found = next((name for name in accepted if name in names), None)
        if found is not None:
            if names.count(found) > 1:
                raise UnusableInput(f"{path} has more than one column {found!r}; keep the one that counts.")
            meanings.append(meaning)
            positions.append(names.index(found))
        elif meaning in wanted:
            missing.append(" or ".join(repr(name) for name in accepted))
    if missing:
        existing = ", ".join(repr(name.strip()) for name in header)
        existing = existing if len(existing) <= 200 else existing[:200] + "…"
        raise UnusableInput(
            f"{path} has no column {' and no column '.join(missing)}, only {existing}; "
            "name the columns in the first line and separate them with commas, semicolons or tabs."
        )
    return meanings, positions


def _not_csv(path: Path, line: int, error: csv.Error) -> UnusableInput:
    return UnusableInput(
        f"{path}, line {line}: this record is not CSV ({error}); write a quote inside a quoted value twice, "
        "and close every quote."
    )


def _check_width(path: Path, line: int, row: Sequence[str], header: Sequence[object], last: int) -> None:
    """Refuse a row that is too short for the columns read, or that has more values than the header has names."""
    if len(row) <= last:
        raise UnusableInput(
            f"{path}, line {line}: the row has {len(row)} value{'s' if len(row) > 1 else ''} where the header has "
            f"{len(header)}; complete or remove it."
        )
    if any(row[len(header) :]):
        raise UnusableInput(
            f"{path}, line {line}: the row has {len(row)} values where the header has {len(header)}; "
            "put a value that contains the separator of the columns in double quotes."
        )


@contextmanager
def _opened(path: Path) -> Iterator[io.TextIOWrapper]:
    try:
        # surrogateescape passes bytes that are not UTF-8 on to _text_lines, which knows their line.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            yield file
    except FileNotFoundError:
        raise UnusableInput(f"{path} does not exist; check the name.") from None
    except IsADirectoryError:
        raise UnusableInput(f"{path} is a directory; name a CSV file.") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnusableInput(f"{path} cannot be read ({reason}); check the name and its permissions.") from None


def _text_lines(file: Iterable[str], path: Path) -> Iterator[str]:
    """The lines of a file, as long as they are text."""
    for number, line in enumerate(file, start=1):
        if not line.isascii():
            try:
                line.encode()
            except UnicodeEncodeError:
                raise UnusableInput(f"{path}, line {number}: this is not UTF-8 text; save the file as UTF-8.") from None
        if "\0" in line:
            raise UnusableInput(f"{path}, line {number}: this is not text; save the file as CSV in UTF-8.")
        yield line


def check_output_directory(directory: Path, names: Iterable[str]) -> None:
    """Refuse, before any work is done, a directory that `write_directory` could not write the named files into."""
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UnusableInput(f"{existing} is a file, so the results cannot go to {directory}; name a directory.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UnusableInput(f"The directory {existing} cannot be written to; choose another or change its permissions.")
    for name in names:
        if (directory / name).is_dir():
            raise UnusableInput(
                f"{directory / name} is a directory, but a file of that name has to be written; choose another --out."
            )


def write_directory(directory: Path, contents: Mapping[str, Iterable[str]]) -> list[Path]:
    """Write the pieces of text of every named file, and move the files into place only when all are complete."""
    is_new = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=directory) as unfinished:
                for name, pieces in contents.items():
                    with Path(unfinished, name).open("w", encoding="utf-8", newline="") as file:
                        file.writelines(pieces)
                for name in contents:
                    Path(unfinished, name).replace(directory / name)
        except BaseException:
            if is_new:
                with suppress(OSError):
                    directory.rmdir()
            raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CrowdError(
            f"The results could not be written to {directory} ({reason}); make room there or choose another --out."
        ) from error
    return [directory / name for name in contents]


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """A CSV file line by line: None becomes an empty cell, numbers have six digits, any text is quoted as needed."""
    yield ",".join(columns) + "\n"
    for row in rows:
        yield ",".join([_cell(row[column]) for column in columns]) + "\n"


_NEEDS_QUOTES = re.compile('[,"\r\n]')


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return format(value or 0.0, ".6g")  # `or` turns -0.0 into 0.0
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
