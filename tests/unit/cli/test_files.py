"""CSV files in: exactly what was written, or one sentence with the line. Files out: all of them or none."""

from __future__ import annotations

import csv
import io
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ls_crowd_plugin.cli.files import (
    check_output_directory,
    csv_lines,
    parse_labels,
    read_answers,
    read_gold,
    write_directory,
)
from ls_crowd_plugin.errors import CrowdError, UnusableInput

WriteText = Callable[..., Path]

anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@pytest.fixture
def write(tmp_path: Path) -> WriteText:
    def write(content: str | bytes, name: str = "file.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(UnusableInput) as caught:
        action()
    return str(caught.value)


def test_columns_are_found_by_name_in_any_order_and_others_are_ignored(write: WriteText) -> None:
    answers = read_answers(write("when, label ,task,annotator\nnow,cat,1,ann\nlater,dog,2,bob\n"))
    assert answers.tasks == ["1", "2"]
    assert answers.annotators == ["ann", "bob"]
    assert answers.labels == ["cat", "dog"]
    assert answers.questions is None


def test_annotators_may_be_called_workers_and_tasks_may_have_questions(write: WriteText) -> None:
    answers = read_answers(write("task,worker,label,question\n1,ann,red,colour\n1,ann,big,size\n"))
    assert answers.annotators == ["ann", "ann"]
    assert answers.questions == ["colour", "size"]


def test_annotator_counts_where_there_is_a_worker_column_too(write: WriteText) -> None:
    assert read_answers(write("worker,task,annotator,label\nw,1,a,x\n")).annotators == ["a"]


def test_values_are_not_stripped(write: WriteText) -> None:
    answers = read_answers(write("task,annotator,label\n 1, ann ,\tcat \n"))
    assert (answers.tasks, answers.annotators, answers.labels) == ([" 1"], [" ann "], ["\tcat "])


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_line_end_and_a_byte_order_mark_are_read(write: WriteText, line_end: str, mark: str) -> None:
    lines = [mark + "task,annotator,label", "1,ann,cat", "", "2,bob,dog", "", ""]
    answers = read_answers(write(line_end.join(lines)))
    assert (answers.tasks, answers.labels) == (["1", "2"], ["cat", "dog"])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["task,annotator,label", "Task, Worker ,LABEL", "\n\ntask,annotator,label"])
def test_columns_may_be_separated_and_written_as_spreadsheets_do(write: WriteText, separator: str, header: str) -> None:
    other = ";" if separator == "," else ","
    rows = '1,ann,cat|dog\n2,ann,"a,b"\n'
    text = f"{header}\n{rows}".replace(",", separator).replace("|", other)
    assert read_answers(write(text)).labels == [f"cat{other}dog", f"a{separator}b"]


def test_a_short_row_is_fine_when_only_ignored_columns_are_missing(write: WriteText) -> None:
    assert read_answers(write("task,annotator,label,comment\n1,ann,cat\n2,bob,dog,,,\n")).tasks == ["1", "2"]


def test_a_label_may_be_a_whole_document(write: WriteText) -> None:
    document = "word, " * 100_000
    assert read_answers(write(f'task,annotator,label\n1,ann,"{document}"\n')).labels == [document]


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("task,annotator,label\n1,ann,cat\n"))
    writer.start()
    assert read_answers(pipe).labels == ["cat"]
    writer.join()


@given(st.lists(st.tuples(anything, anything, anything, anything), min_size=1), st.sampled_from([0, 1]))
@example([("a,b", 'say "no"', "two\nlines", "\r"), ("\ufeff", " ", "'", "žluťoučký 🐈")], 0)
def test_any_text_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str]], quoting: int
) -> None:
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL if quoting else csv.QUOTE_MINIMAL)
        writer.writerows([("task", "annotator", "label", "question"), *rows])
    answers = read_answers(path)
    assert answers.questions is not None
    assert list(zip(answers.tasks, answers.annotators, answers.labels, answers.questions, strict=True)) == rows


@given(st.lists(st.tuples(anything, anything)))
@example([("\r", "a\r"), ('"', ","), ("\n", "\ufeff")])
def test_any_text_that_is_written_is_read_back(pairs: list[tuple[str, str]]) -> None:
    rows = [{"task": task, "label": label} for task, label in pairs]
    text = "".join(csv_lines(["task", "label"], rows))
    assert list(csv.DictReader(io.StringIO(text, newline=""), strict=True)) == rows


def test_numbers_are_short_and_nothing_is_empty() -> None:
    rows: list[dict[str, int | float | None]] = [
        {"a": 1, "b": 0.123456789, "c": None},
        {"a": 0, "b": -0.0, "c": 1e-9},
        {"a": 12, "b": 1.0, "c": 123456.0},
    ]
    assert list(csv_lines(["a", "b", "c"], rows)) == ["a,b,c\n", "1,0.123457,\n", "0,0,1e-09\n", "12,1,123456\n"]


HEADER = "task,annotator,label\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("\ufeff", "is empty"),
        (HEADER, "has a header and no rows"),
        (HEADER + "\n\n", "has a header and no rows"),
        ("task,label\n1,cat\n", "has no column 'annotator' or 'worker', only 'task', 'label';"),
        ("task|annotator|label\n1|ann|cat\n", "and no column 'label', only 'task|annotator|label';"),
        ("1,ann,cat\n2,bob,dog\n", "has no column 'task' and no column 'annotator' or 'worker'"),
        ("task,annotator,label,label\n1,ann,cat,dog\n", "has more than one column 'label'"),
        ("task, task ,annotator,label\n1,1,ann,cat\n", "has more than one column 'task'"),
        (HEADER + "1,ann,cat\n,bob,dog\n", ", line 3: the task is empty"),
        (HEADER + "1,,cat\n", ", line 2: the annotator is empty"),
        (HEADER + "1,ann,\n", ", line 2: the label is empty"),
        ("task,worker,label,question\n1,ann,cat,\n", ", line 2: the question is empty"),
        (HEADER + '1,"ann\nand\nbob",cat\n2,bob\n', ", line 5: the row has 2 values where the header has 3"),
        (HEADER + '"a\r\nb",ann,cat\n\n\n3,"x\ny",\n', ", line 6: the label is empty"),
        (HEADER + "1,ann,cat\n2,bob,dog,big\n", ", line 3: the row has 4 values where the header has 3"),
        (HEADER + '1,ann,cat\n2,"bob,dog\n3,cy,cat\n', ", line 3: this record is not CSV"),
        (HEADER + '1,ann,cat\n2,bob,"big" dog\n', ", line 3: this record is not CSV"),
        (HEADER.encode() + b"1,ann,cat\n2,bob,caf\xe9\n", ", line 3: this is not UTF-8 text"),
        (HEADER.encode() + b'1,ann,"a\nb\xff"\n', ", line 3: this is not UTF-8 text"),
        (HEADER + "1,ann,cat\n2,bob,\0\n", ", line 3: this is not text"),
        ((HEADER + "1,ann,cat\n").encode("utf-16"), ", line 1: this is not UTF-8 text"),
        ((HEADER + "1,ann,cat\n").encode("utf-16-le"), ", line 1: this is not text"),
    ],
)
def test_unusable_answers_are_refused_with_file_and_line(write: WriteText, content: str | bytes, words: str) -> None:
    path = write(content)
    sentence = refusal(lambda: read_answers(path))
    assert sentence.startswith(str(path))
    assert words in sentence


def test_missing_files_and_directories_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(lambda: read_answers(tmp_path / "none.csv"))
    assert "is a directory" in refusal(lambda: read_answers(tmp_path))
    too_long = tmp_path / ("x" * 5000)
    assert "cannot be read" in refusal(lambda: read_answers(too_long))


def test_gold_is_read_by_task_or_by_task_and_question(write: WriteText) -> None:
    assert read_gold(write("label,task\ncat,1\ndog,2\ncat,1\n"), False) == {"1": "cat", "2": "dog"}
    assert read_gold(write("task,question,label\n1,q,cat\n1,r,dog\n"), True) == {("1", "q"): "cat", ("1", "r"): "dog"}


@pytest.mark.parametrize(
    ("content", "with_questions", "words"),
    [
        ("task,label\n1,a\n2,b\n\n1,b\n", False, ", line 5: the gold label of task '1' is 'b' here and 'a' in line 2"),
        ("task,question,label\n1,q,a\n1,r,b\n1,q,b\n", True, ", line 4: the gold label of task '1', question 'q', is"),
        ("task,question,label\n1,q,a\n", False, "has a column 'question' and the answers have none"),
        ("task,label\n1,a\n", True, "has no column 'question' and the answers have one"),
        ("task,label\n1,\n", False, ", line 2: the label is empty"),
        ("task,label\n", False, "has a header and no rows"),
        ("task,gold\n1,a\n", False, "has no column 'label'"),
    ],
)
def test_unusable_gold_is_refused(write: WriteText, content: str, with_questions: bool, words: str) -> None:
    path = write(content)
    sentence = refusal(lambda: read_gold(path, with_questions))
    assert sentence.startswith(str(path))
    assert words in sentence


def test_labels_outside_the_label_set_are_refused_with_their_line(write: WriteText) -> None:
    answers, gold = write(HEADER + "1,ann,cat\n2,bob,dog\n", "answers.csv"), write("task,label\n1,cow\n", "gold.csv")
    assert f"{answers}, line 3: the label 'dog' is not among" in refusal(lambda: read_answers(answers, ["cat"]))
    assert f"{gold}, line 2: the gold label 'cow' is not among" in refusal(lambda: read_gold(gold, False, ["cat"]))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a,b,c", ["a", "b", "c"]),
        ('"yes, of course",no', ["yes, of course", "no"]),
        ('a, b," c"', ["a", "b", " c"]),
        ('"two\nlines","say ""no"""', ["two\nlines", 'say "no"']),
        ("a,b,a", ["a", "b"]),
    ],
)
def test_labels_option_is_one_row_of_csv(text: str, labels: list[str]) -> None:
    assert parse_labels(text) == labels


@pytest.mark.parametrize("text", ["", "a,,b", "a,", '"a', "a\nb"])
def test_unusable_labels_option_is_refused(text: str) -> None:
    assert "--labels" in refusal(lambda: parse_labels(text))


def broken_pieces() -> Iterator[str]:
    yield "half of "
    raise RuntimeError("the power is gone")


def test_an_error_while_writing_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("old")
    with pytest.raises(RuntimeError):
        write_directory(tmp_path, {"one": ["new"], "two": broken_pieces()})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "old"}


def test_an_error_while_writing_leaves_no_new_directory(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        write_directory(tmp_path / "out", {"one": ["new"], "two": broken_pieces()})
    assert list(tmp_path.iterdir()) == []


def test_writing_makes_the_directory_and_replaces_its_own_files_only(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    write_directory(directory, {"one": ["1"]})
    (directory / "mine").write_text("kept")
    assert write_directory(directory, {"one": ["2", "\r\n"]}) == [directory / "one"]
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == {"one": b"2\r\n", "mine": b"kept"}


def test_a_directory_that_cannot_be_made_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "out" / "run.json").mkdir(parents=True)
    assert "is a file" in refusal(lambda: check_output_directory(tmp_path / "file", []))
    assert "is a file" in refusal(lambda: check_output_directory(tmp_path / "file" / "out", []))
    assert "has to be written" in refusal(lambda: check_output_directory(tmp_path / "out", ["run.json"]))
    check_output_directory(tmp_path / "new" / "newer", ["run.json"])
    assert not (tmp_path / "new").exists()


def test_a_failure_of_the_disk_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "one" / "full").mkdir(parents=True)
    with pytest.raises(CrowdError, match="could not be written"):
        write_directory(tmp_path, {"one": ["a directory is in its place"]})
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
