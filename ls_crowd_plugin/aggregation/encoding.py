"""From columns of answers to the answer table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import UnusableInput
from .answers import Answers
from .arrays import order_by, pieces
from .codes import encode_values
from .scales import find_places
from .types import Column, Gold, Id, Integers, Label, LabelSet, Lessons, Ordered, Positions


def encode_answers(
    tasks: Column,
    annotators: Column,
    labels: Column,
    gold: Gold | None = None,
    label_set: LabelSet | None = None,
    questions: Column | None = None,
    everybody: Sequence[Id] = (),
    ordered: Ordered | None = None,
) -> Answers:
    """Build the answer table from equally long columns.

    If an annotator answered an item several times, the last answer counts. Apart from that, the order of the rows does
    not matter. `everybody` names annotators who belong to the table although they may have given no answer. `ordered`
    says which questions have ordered labels.
    """
    _check_lengths(tasks, annotators, labels, questions)
    rows = _encode_rows(tasks, annotators, labels, gold or {}, label_set, questions, everybody)
    items, item_question, row_item = _items(rows)
    choices = _choices(rows, label_set)
    row_choice = choices.find(rows.question, rows.label)
    _check_choices(rows, row_choice, items, row_item)

    n = rows.answers
    answer_item, answer_annotator, kept = _last_answers(row_item[:n], rows.annotator, len(rows.annotators))
    option_item, option_choice, answer_option, gold_option = _options(
        answer_item, row_choice[:n][kept], row_item[n:], row_choice[n:], len(items), len(choices.labels)
    )
    return Answers(
        items=items,
        annotators=rows.annotators,
        questions=rows.questions,
        choices=choices.labels,
        choice_start=choices.start,
        place=find_places(rows.questions, choices.labels, choices.start, label_set, ordered),
        item_question=item_question,
        answer_item=answer_item,
        answer_annotator=answer_annotator,
        answer_option=answer_option,
        option_item=option_item,
        option_choice=option_choice,
        gold_option=gold_option,
    )


def encode_lessons(lessons: Lessons, answers: Answers) -> Answers:
    """A table of other answers, with the annotators, questions and labels of `answers` in the same order.

    Raises UnusableInput if the lessons name any that `answers` does not have, or in a way that has another order.
    """
    named = {
        question: answers.choices[start:stop]
        for question, start, stop in zip(
            answers.questions, answers.choice_start[:-1].tolist(), answers.choice_start[1:].tolist(), strict=True
        )
    }
    label_set = named if answers.has_questions else answers.choices
    table = encode_answers(
        lessons.tasks,
        lessons.annotators,
        lessons.labels,
        lessons.gold,
        label_set,
        lessons.questions,
        answers.annotators,
    )
    for kind, found, known in (
        ("annotator", table.annotators, answers.annotators),
        ("question", table.questions, answers.questions),
        ("label", table.choices, answers.choices),
    ):
        if found != known:
            names = set(known)
            for name in found:
                if name not in names:
                    raise UnusableInput(f"There is no {kind} {name!r} among the answers.")
            raise UnusableInput(f"The {kind}s have no order of their own; use text or integers for all of them.")
    return replace(table, place=answers.place)


@dataclass(frozen=True)
class _Rows:
    """The answers, followed by the gold labels, as codes: positions in the lists of distinct values.

    Shapes: n answers, g gold labels.
    """

    answers: int  # n
    tasks: list[Id]
    annotators: list[Id]
    questions: list[Id]  # [None] if the answers have no questions
    labels: list[Label]
    task: Integers  # [n + g]
    annotator: Integers  # [n]
    question: Integers  # [n + g]
    label: Integers  # [n + g]


@dataclass(frozen=True)
class _Choices:
    """The labels of every question. C choices, Q questions."""

    keys: Positions  # [C] ascending; question code · number of label codes + label code
    width: int  # number of label codes
    labels: list[Label]  # [C]
    start: Integers  # [Q + 1] choices of question q are start[q] : start[q + 1]

    def find(self, question: Integers, label: Integers) -> Integers:
        """The choice of each (question code, label code) pair, or -1 if the question has no such label."""
        if len(self.start) == 2:  # one question
            if len(self.keys) == self.width:  # which has all labels
                return label
            choice_of = np.full(self.width, -1, np.int32)
            choice_of[self.keys] = np.arange(len(self.keys), dtype=np.int32)
            return choice_of[label]
        key = question.astype(np.int64) * self.width + label
        position = np.searchsorted(self.keys, key)
        inside = position < len(self.keys)
        exists = np.where(inside, self.keys[np.where(inside, position, 0)] == key, False)
        return np.where(exists, position, -1).astype(np.int32)


def _check_lengths(tasks: Column, annotators: Column, labels: Column, questions: Column | None) -> None:
    lengths = {"tasks": len(tasks), "annotators": len(annotators), "labels": len(labels)}
    if questions is not None:
        lengths["questions"] = len(questions)
    if len(set(lengths.values())) > 1:
        in_words = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise UnusableInput(f"The columns differ in length ({in_words}); give one value per answer in each column.")
    if len(tasks) == 0:
        raise UnusableInput("There are no answers; give at least one (task, annotator, label).")


def _encode_rows(
    tasks: Column,
    annotators: Column,
    labels: Column,
    gold: Gold,
    label_set: LabelSet | None,
    questions: Column | None,
    everybody: Sequence[Id],
) -> _Rows:
    gold_keys = _gold_keys(gold, questions is not None)
    count = len(tasks) + len(gold_keys)
    task_ids, task = encode_values(tasks, [task for task, _ in gold_keys], "task")
    annotator_ids, annotator = encode_values(annotators, everybody, "annotator")
    label_values, label = encode_values(labels, [*gold.values(), *_labels_in(label_set)], "label")
    question_ids: list[Id] = [None]
    question: Integers = np.zeros(count, np.int32)
    if questions is not None:
        more = [*(question for _, question in gold_keys), *(label_set if isinstance(label_set, Mapping) else ())]
        question_ids, question = encode_values(questions, more, "question")
    return _Rows(
        answers=len(tasks),
        tasks=task_ids,
        annotators=annotator_ids,
        questions=question_ids,
        labels=label_values,
        task=task,
        annotator=annotator[: len(tasks)],
        question=question[:count],
        label=label[:count],
    )


def _gold_keys(gold: Gold, with_questions: bool) -> list[tuple[Id, Id]]:
    """(task, question) of every gold label; the question is None if the answers have no questions."""
    if not with_questions:
        return [(task, None) for task in gold]
    for key in gold:
        if not (isinstance(key, tuple) and len(key) == 2):
            raise UnusableInput(
                f"The gold has the key {key!r}; since the answers have questions, its keys must be (task, question)."
            )
    return list(gold)


def _labels_in(label_set: LabelSet | None) -> list[Hashable]:
    if label_set is None:
        return []
    if isinstance(label_set, Mapping):
        return [label for labels in label_set.values() for label in labels]
    return list(label_set)


def _items(rows: _Rows) -> tuple[list[Id], Integers, Integers]:
    """The distinct (task, question) pairs [I], the question of each [I], and the item of every row [n + g]."""
    count = len(rows.questions)
    distinct, row_item = np.arange(len(rows.tasks), dtype=np.int64), rows.task
    if count > 1:
        distinct, inverse = np.unique(rows.task.astype(np.int64) * count + rows.question, return_inverse=True)
        row_item = inverse.astype(np.int32)
    item_question = (distinct % count).astype(np.int32)
    if rows.questions == [None]:
        return rows.tasks, item_question, row_item
    items = [(rows.tasks[code // count], rows.questions[code % count]) for code in distinct.tolist()]
    return items, item_question, row_item


def _choices(rows: _Rows, label_set: LabelSet | None) -> _Choices:
    """The labels of every question: those of its label set, or else those that occur in answers and gold."""
    width = len(rows.labels)
    named = _named_labels(rows, label_set)
    if len(rows.questions) == 1:
        keys = np.array(named[0] if named else range(width), np.int64)
    else:
        seen = np.unique(rows.question.astype(np.int64) * width + rows.label)
        without_set = ~np.isin(seen // width, list(named))
        from_sets = [question * width + label for question, labels in named.items() for label in labels]
        keys = np.unique(np.concatenate([seen[without_set], np.array(from_sets, np.int64)]))
    start = np.searchsorted(keys, np.arange(len(rows.questions) + 1) * width).astype(np.int32)
    return _Choices(keys, width, [rows.labels[key] for key in (keys % width).tolist()], start)


def _named_labels(rows: _Rows, label_set: LabelSet | None) -> dict[int, list[int]]:
    """Question code → label codes, of the questions that have a label set."""
    if label_set is None:
        return {}
    code = {value: position for position, value in enumerate(rows.labels)}
    named: dict[int, list[int]] = {}
    for position, question in enumerate(rows.questions):
        labels = label_set.get(question) if isinstance(label_set, Mapping) else label_set
        if labels is None:
            continue
        if not len(labels):
            place = "" if question is None else f" of question {question!r}"
            raise UnusableInput(f"The label set{place} is empty; name its labels, or leave it out.")
        named[position] = sorted({code[label] for label in labels})
    return named


def _check_choices(rows: _Rows, row_choice: Integers, items: list[Id], row_item: Integers) -> None:
    outside = np.flatnonzero(row_choice < 0)
    if len(outside):
        row = int(outside[0])
        label = rows.labels[rows.label[row]]
        place = f"Answer {row + 1}" if row < rows.answers else f"The gold label of {items[row_item[row]]!r}"
        raise UnusableInput(f"{place} is {label!r}, which is not in the label set; correct it or extend the label set.")


def _last_answers(item: Integers, annotator: Integers, annotators: int) -> tuple[Integers, Integers, Positions]:
    """Sort answers by item and annotator and keep the last of each pair: item, annotator, row it came from."""
    order = order_by(item, annotator, annotators)
    item, annotator = item[order], annotator[order]
    same_as_next = (item[:-1] == item[1:]) & (annotator[:-1] == annotator[1:])
    if same_as_next.any():
        keep = np.append(~same_as_next, True)
        item, annotator, order = item[keep], annotator[keep], order[keep]
    return item, annotator, order


def _options(
    answer_item: Integers,
    answer_choice: Integers,
    gold_item: Integers,
    gold_choice: Integers,
    items: int,
    choices: int,
) -> tuple[Integers, Integers, Integers, Integers]:
    """The distinct (item, choice) pairs of answers and gold, in order: item [O] and choice [O] of each option, the
    option of each answer [n], and the gold option of each item [I]."""
    item, choice = answer_item, answer_choice
    if len(gold_item):
        item, choice = np.concatenate([answer_item, gold_item]), np.concatenate([answer_choice, gold_choice])
    if items * choices < 4 * len(item) + 1000:
        option_item, option_choice, option = _number_by_table(item, choice, items, choices)
    else:
        option_item, option_choice, option = _number_by_order(item, choice, choices)
    gold_option = np.full(items, -1, np.int32)
    gold_option[gold_item] = option[len(answer_item) :]
    return option_item, option_choice, option[: len(answer_item)], gold_option


def _number_by_table(item: Integers, choice: Integers, items: int, choices: int) -> tuple[Integers, Integers, Integers]:
    """The distinct pairs in order, and the number of each pair; by a table of all possible pairs."""
    present = np.zeros(items * choices, bool)
    for piece in pieces(len(item)):
        present[item[piece].astype(np.int64) * choices + choice[piece]] = True
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    number = np.empty(len(item), np.int32)
    for piece in pieces(len(item)):
        number[piece] = rank[item[piece].astype(np.int64) * choices + choice[piece]]
    pair = np.flatnonzero(present)
    first = pair // choices  # much faster than divmod
    pair -= first * choices
    return first.astype(np.int32), pair.astype(np.int32), number


def _number_by_order(item: Integers, choice: Integers, choices: int) -> tuple[Integers, Integers, Integers]:
    """The same, by a sort."""
    order = order_by(item, choice, choices)
    item, choice = item[order], choice[order]
    is_new = np.append(True, (item[1:] != item[:-1]) | (choice[1:] != choice[:-1]))
    number = np.empty(len(order), np.int32)
    number[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return item[is_new], choice[is_new], number
