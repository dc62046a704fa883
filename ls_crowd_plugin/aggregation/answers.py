"""The answer table: who gave which label to which task, as sorted integer arrays.

An *item* is one thing to decide: a task, or a (task, question) pair. A *choice* is one label of one
question. An *option* is a choice that somebody gave to an item (or its gold label): only options can
gain from evidence, so everything is a list of answers and of options, never a dense matrix.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import UnusableInput

Integers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Answers:
    """A crowd's answers, one per annotator and item, sorted by item and then by annotator.

    Shapes: n answers, I items, J annotators, C choices, O options, Q questions.
    """

    items: Sequence[Any]  # [I] task as given, or (task, question)
    annotators: Sequence[Any]  # [J] as given
    questions: Sequence[Any]  # [Q] as given; one entry, None, where no questions were given
    choices: Sequence[Any]  # [C] labels as given, grouped by question
    choice_start: Integers  # [Q + 1] choices of question q are choice_start[q] : choice_start[q + 1]
    item_question: Integers  # [I]
    answer_item: Integers  # [n] ascending
    answer_annotator: Integers  # [n]
    answer_option: Integers  # [n]
    option_item: Integers  # [O] ascending
    option_choice: Integers  # [O] ascending within an item
    gold_option: Integers  # [I] the option that is the item's gold label, or -1
    warnings: tuple[str, ...] = ()

    @property
    def answer_choice(self) -> Integers:
        """[n] the choice each answer names."""
        return self.option_choice[self.answer_option]

    @cached_property
    def label_count(self) -> Floats:
        """[I] K: how many labels the item's question has."""
        return np.diff(self.choice_start)[self.item_question].astype(float)

    @cached_property
    def decidable(self) -> Flags:
        """[n] answers to items with more than one label: those to the others say nothing of anybody."""
        return self.label_count[self.answer_item] > 1

    @cached_property
    def telling(self) -> Flags:
        """[I] items with something to decide that somebody answered: the only ones that say anything of difficulty."""
        return (self.label_count > 1) & (self.answers_per_item > 0)

    @cached_property
    def option_start(self) -> npt.NDArray[np.int64]:
        """[I] the first option of each item; every item has at least one."""
        return np.searchsorted(self.option_item, np.arange(len(self.items)))

    @cached_property
    def unchosen(self) -> Floats:
        """[I] how many of the item's labels are no option."""
        return self.label_count - np.bincount(self.option_item, minlength=len(self.items))

    @cached_property
    def answers_per_item(self) -> npt.NDArray[np.int64]:
        """[I]"""
        return np.bincount(self.answer_item, minlength=len(self.items))

    @cached_property
    def answers_per_annotator(self) -> npt.NDArray[np.int64]:
        """[J]"""
        return np.bincount(self.answer_annotator, minlength=len(self.annotators))

    @cached_property
    def votes(self) -> Floats:
        """[O] how many annotators gave each option."""
        return np.bincount(self.answer_option, minlength=len(self.option_item)).astype(float)

    @cached_property
    def agrees_with_gold(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """[J], [J] how many gold items each annotator answered, and how many of those as the gold says."""
        gold = self.gold_option[self.answer_item]
        asked = np.bincount(self.answer_annotator[gold >= 0], minlength=len(self.annotators))
        right = np.bincount(self.answer_annotator[gold == self.answer_option], minlength=len(self.annotators))
        return asked, right

    def with_gold(self, gold_option: Integers) -> Answers:
        """The same answers with other gold: `gold_option` [I] names an option of each item or is -1."""
        return replace(self, gold_option=gold_option)

    def with_all_options(self) -> Answers:
        """The same answers with every label of an item's question as an option of the item."""
        count = self.label_count.astype(np.int64)
        start = np.concatenate([[0], np.cumsum(count)])
        first_choice = self.choice_start[self.item_question]
        option_item = np.repeat(np.arange(len(self.items), dtype=np.int32), count)
        option_choice = (np.arange(start[-1]) - (start[:-1] - first_choice)[option_item]).astype(np.int32)
        moved = (start[self.option_item] + self.option_choice - first_choice[self.option_item]).astype(np.int32)
        return replace(
            self,
            answer_option=moved[self.answer_option],
            option_item=option_item,
            option_choice=option_choice,
            gold_option=np.where(self.gold_option >= 0, moved[self.gold_option], -1).astype(np.int32),
        )

    def only(self, items: npt.NDArray[np.int64]) -> Answers:
        """The answers to some items (ascending positions); annotators and labels stay as they are."""
        kept = np.zeros(len(self.items), bool)
        kept[items] = True
        new_item = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        options, given = kept[self.option_item], kept[self.answer_item]
        new_option = np.cumsum(options, dtype=np.int32) - np.int32(1)
        gold = self.gold_option[items]
        return replace(
            self,
            items=[self.items[position] for position in items.tolist()],
            item_question=self.item_question[items],
            answer_item=new_item[self.answer_item[given]],
            answer_annotator=self.answer_annotator[given],
            answer_option=new_option[self.answer_option[given]],
            option_item=new_item[self.option_item[options]],
            option_choice=self.option_choice[options],
            gold_option=np.where(gold >= 0, new_option[gold], -1).astype(np.int32),
        )

    def label(self, option: int) -> Any:
        """The label an option stands for, as it was given."""
        return self.choices[self.option_choice[option]]


def answers_from_triples(
    tasks: Sequence[Hashable] | npt.NDArray[Any],
    annotators: Sequence[Hashable] | npt.NDArray[Any],
    labels: Sequence[Hashable] | npt.NDArray[Any],
    gold: Mapping[Any, Hashable] | None = None,
    label_set: Sequence[Hashable] | Mapping[Any, Sequence[Hashable]] | None = None,
    questions: Sequence[Hashable] | npt.NDArray[Any] | None = None,
) -> Answers:
    """Builds the table from equally long columns; the last of several answers by one annotator to one item counts.

    The result does not depend on the order of the rows, except for which of several answers is the last.
    """
    columns = {"tasks": tasks, "annotators": annotators, "labels": labels}
    if questions is not None:
        columns["questions"] = questions
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise UnusableInput(f"The columns differ in length ({_in_words(lengths)}); give one value of each per answer.")
    if lengths["tasks"] == 0:
        raise UnusableInput("There are no answers; give at least one (task, annotator, label).")

    gold = dict(gold or {})
    gold_pairs = _gold_pairs(gold, questions is not None)
    task_ids, task_code = _codes(tasks, [task for task, _ in gold_pairs], "task")
    annotator_ids, annotator_code = _codes(annotators, [], "annotator")
    label_ids, label_code = _codes(labels, [*gold.values(), *_labels_in(label_set)], "label")
    question_ids: list[Any]
    question_code: Integers
    if questions is None:
        question_ids, question_code = [None], np.zeros(len(task_code), np.int32)
    else:
        question_ids, question_code = _codes(
            questions,
            [*(question for _, question in gold_pairs), *(label_set if isinstance(label_set, Mapping) else ())],
            "question",
        )
    n = lengths["tasks"]
    extra_gold = slice(n, n + len(gold))
    if questions is None:
        question_code = np.zeros(n + len(gold), np.int32)
    count = len(question_ids)

    pair = task_code[: n + len(gold)].astype(np.int64) * count + question_code[: n + len(gold)]
    if count == 1:
        item_pairs, pair_item = np.arange(len(task_ids), dtype=np.int64), pair.astype(np.int32)
    else:
        item_pairs, inverse = np.unique(pair, return_inverse=True)
        pair_item = inverse.astype(np.int32)
    item_question = (item_pairs % count).astype(np.int32)
    items: list[Any] = (
        task_ids
        if questions is None
        else [(task_ids[code // count], question_ids[code % count]) for code in item_pairs.tolist()]
    )

    choice_of, choices, choice_start = _choices(
        question_code[: n + len(gold)], label_code[: n + len(gold)], question_ids, label_ids, label_set
    )
    choice = choice_of(question_code[: n + len(gold)], label_code[: n + len(gold)])
    outside = np.flatnonzero(choice < 0)
    if len(outside):
        row = int(outside[0])
        label = label_ids[label_code[row]]
        whose = f"Answer {row + 1}" if row < n else f"The gold label of {items[pair_item[row]]!r}"
        raise UnusableInput(f"{whose} is {label!r}, which is not in the given label set; correct it or extend the set.")

    answer_item, answer_annotator, kept = _sorted_last(pair_item[:n], annotator_code, len(items), len(annotator_ids))
    answer_choice = choice[:n][kept]
    gold_item, gold_choice = pair_item[extra_gold], choice[extra_gold]
    option_item, option_choice, option = _options(
        np.concatenate([answer_item, gold_item]), np.concatenate([answer_choice, gold_choice]), len(items), len(choices)
    )
    gold_option = np.full(len(items), -1, np.int32)
    gold_option[gold_item] = option[len(answer_item) :]
    answers = Answers(
        items=items,
        annotators=annotator_ids,
        questions=question_ids,
        choices=choices,
        choice_start=choice_start,
        item_question=item_question,
        answer_item=answer_item,
        answer_annotator=answer_annotator,
        answer_option=option[: len(answer_item)],
        option_item=option_item,
        option_choice=option_choice,
        gold_option=gold_option,
    )
    return replace(answers, warnings=_warnings(answers))


def sums(group: Integers, values: npt.NDArray[Any], groups: int) -> Floats:
    """[groups] the sum of the values of each group."""
    return np.bincount(group, values, minlength=groups).astype(float)


def _gold_pairs(gold: Mapping[Any, Hashable], with_questions: bool) -> list[tuple[Any, Any]]:
    """(task, question) of every gold label; the question is None where the answers have none."""
    if not with_questions:
        return [(task, None) for task in gold]
    for key in gold:
        if not (isinstance(key, tuple) and len(key) == 2):
            raise UnusableInput(f"Gold is given for {key!r}; where questions are given its keys are (task, question).")
    return list(gold)


def _labels_in(label_set: Sequence[Hashable] | Mapping[Any, Sequence[Hashable]] | None) -> list[Hashable]:
    if label_set is None:
        return []
    if isinstance(label_set, Mapping):
        return [label for labels in label_set.values() for label in labels]
    return list(label_set)


def _codes(
    values: Sequence[Hashable] | npt.NDArray[Any], more: Sequence[Hashable], what: str
) -> tuple[list[Any], Integers]:
    """Distinct values as plain Python values in a canonical order, and the code of each of `values` then `more`."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim != 1:
        raise UnusableInput(f"The {what} column has {array.ndim} dimensions; give one value per answer.")
    if array is not None and array.dtype.kind in "iu" and len(array):
        plain = [value.item() if isinstance(value, np.generic) else value for value in more]
        if all(type(value) is int and abs(value) < 2**62 for value in plain) and int(array.max()) < 2**62:
            return _integer_codes(np.concatenate([array.astype(np.int64), np.array(plain, np.int64)]))
    plain_values: list[Any] = array.tolist() if array is not None else list(values)
    plain_values.extend(more)
    code_of: dict[Any, int] = {}
    try:
        first_seen = np.fromiter(
            (code_of.setdefault(value, len(code_of)) for value in plain_values), np.int32, len(plain_values)
        )
    except TypeError:
        odd = next(i for i, value in enumerate(plain_values) if not _hashable(value))
        whose = f"The {what} of answer {odd + 1}" if odd < len(values) else f"A {what} in the gold or the label set"
        kind = type(plain_values[odd]).__name__
        raise UnusableInput(f"{whose} is a {kind}; use a text or a number.") from None
    for value in code_of:
        if value is None or value == "" or value != value:
            row = int(np.flatnonzero(first_seen == code_of[value])[0])
            if row >= len(values):
                raise UnusableInput(f"The gold or the label set holds an empty {what}; leave it out or fill it in.")
            raise UnusableInput(f"Answer {row + 1} has no {what}; leave the answer out or fill it in.")
    distinct = [value.item() if isinstance(value, np.generic) else value for value in code_of]
    order = _canonical_order(distinct)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return [distinct[position] for position in order], rank[first_seen]


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _integer_codes(values: npt.NDArray[np.int64]) -> tuple[list[Any], Integers]:
    """As `_codes` for integers; a table look-up where their range is small, a sort where it is not."""
    low, high = int(values.min()), int(values.max())
    if high - low < 4 * len(values) + 1000:
        present = np.zeros(high - low + 1, bool)
        present[values - low] = True
        rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return (np.flatnonzero(present) + low).tolist(), rank[values - low]
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct.tolist(), inverse.astype(np.int32)


def _canonical_order(values: list[Any]) -> list[int]:
    """Positions of `values` in an order that depends on the values alone."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        return sorted(
            range(len(values)), key=lambda position: (type(values[position]).__name__, repr(values[position]))
        )


@dataclass
class _ChoiceOf:
    """Maps (question code, label code) to a choice, or to -1 where the question has no such label."""

    keys: npt.NDArray[np.int64] = field(repr=False)  # sorted question * labels + label
    labels: int

    def __call__(self, question: Integers, label: Integers) -> Integers:
        key = question.astype(np.int64) * self.labels + label
        if len(self.keys) and self.keys[-1] - self.keys[0] + 1 == len(self.keys):
            position = key - self.keys[0]  # every label belongs to every question: no search
        else:
            position = np.searchsorted(self.keys, key)
        inside = (position >= 0) & (position < len(self.keys))
        found = np.where(inside, self.keys[np.where(inside, position, 0)] == key, False)
        return np.where(found, position, -1).astype(np.int32)


def _choices(
    question: Integers,
    label: Integers,
    question_ids: list[Any],
    label_ids: list[Any],
    label_set: Sequence[Hashable] | Mapping[Any, Sequence[Hashable]] | None,
) -> tuple[_ChoiceOf, list[Any], Integers]:
    """The labels of every question: those of the given set, or else those seen in answers and gold."""
    width = len(label_ids)
    given: dict[int, list[int]] = {}
    if label_set is not None:
        code = {value: position for position, value in enumerate(label_ids)}
        for position, name in enumerate(question_ids):
            names = label_set.get(name) if isinstance(label_set, Mapping) else label_set
            if names is not None and not len(names):
                where = "" if name is None else f" of question {name!r}"
                raise UnusableInput(f"The label set{where} is empty; name its labels, or leave it out.")
            if names is not None:
                given[position] = sorted({code[value] for value in names})
    if len(question_ids) == 1 and 0 not in given:
        keys = np.arange(width, dtype=np.int64)
    else:
        seen = np.unique(question.astype(np.int64) * width + label)
        open_sets = ~np.isin(seen // width, list(given))
        named = [position * width + value for position, values in given.items() for value in values]
        keys = np.unique(np.concatenate([seen[open_sets], np.array(named, np.int64)]))
    start = np.searchsorted(keys, np.arange(len(question_ids) + 1) * width).astype(np.int32)
    return _ChoiceOf(keys, width), [label_ids[key] for key in (keys % width).tolist()], start


def _sorted_last(
    item: Integers, annotator: Integers, items: int, annotators: int
) -> tuple[Integers, Integers, npt.NDArray[np.int64]]:
    """Answers ordered by item and annotator, the last of each pair kept: item, annotator, row it came from."""
    order = _order_by(item, annotator, items, annotators)
    item, annotator = item[order], annotator[order]
    same_as_next = (item[:-1] == item[1:]) & (annotator[:-1] == annotator[1:])
    if same_as_next.any():
        keep = np.append(~same_as_next, True)
        item, annotator, order = item[keep], annotator[keep], order[keep]
    return item, annotator, order


def _options(item: Integers, choice: Integers, items: int, choices: int) -> tuple[Integers, Integers, Integers]:
    """The distinct (item, choice) pairs in order, and for each given pair its position among them."""
    order = _order_by(item, choice, items, choices)
    item, choice = item[order], choice[order]
    new = np.append(True, (item[1:] != item[:-1]) | (choice[1:] != choice[:-1]))
    position = np.empty(len(order), np.int32)
    position[order] = np.cumsum(new, dtype=np.int32) - np.int32(1)
    return item[new], choice[new], position


def _order_by(major: Integers, minor: Integers, majors: int, minors: int) -> npt.NDArray[np.int64]:
    """The stable order by (major, minor), by two counting sorts: linear in the number of entries."""
    by_minor = _counting_order(minor, minors)
    return by_minor[_counting_order(major[by_minor], majors)]


def _counting_order(values: Integers, bound: int) -> npt.NDArray[np.int64]:
    """The stable order of small non-negative integers; scipy's column compression is a counting sort."""
    n = len(values)
    matrix = sparse.csc_array(
        (np.arange(n, dtype=np.int32), values, np.arange(n + 1, dtype=np.int32)), shape=(bound, n), copy=False
    )
    return np.asarray(matrix.tocsr().data, np.int64)


def _warnings(answers: Answers) -> tuple[str, ...]:
    """What the user should know about this crowd and can still be worked with."""
    found = []
    per_item = answers.answers_per_item
    unanswered = int((per_item == 0).sum())
    if unanswered:
        name = answers.items[int(np.flatnonzero(per_item == 0)[0])]
        found.append(f"{unanswered} gold label(s) belong to tasks nobody answered, for example {name!r}.")
    unheard = np.flatnonzero(answers.gold_option >= 0)
    chosen_choices = np.zeros(len(answers.choices), bool)
    chosen_choices[answers.option_choice[answers.votes > 0]] = True
    strange = {answers.label(answers.gold_option[item]) for item in unheard.tolist()} - {
        label for label, used in zip(answers.choices, chosen_choices.tolist(), strict=True) if used
    }
    if strange:
        found.append(f"Gold names {len(strange)} label(s) that nobody chose, for example {min(map(repr, strange))}.")
    if len(answers.annotators) == 1:
        found.append("There is a single annotator: nothing can be compared, the labels are that person's.")
    single = int((per_item == 1).sum())
    if single:
        found.append(f"{single} task(s) have one answer only: their label rests on one person.")
    chosen = np.zeros(len(answers.choices), bool)
    chosen[answers.option_choice[answers.votes > 0]] = True
    per_question = np.add.reduceat(chosen, answers.choice_start[:-1]) if len(answers.choices) else np.zeros(0)
    for question in np.flatnonzero(per_question == 1).tolist():
        label = answers.choices[
            answers.choice_start[question]
            + int(np.flatnonzero(chosen[answers.choice_start[question] : answers.choice_start[question + 1]])[0])
        ]
        where = "" if answers.questions[question] is None else f" to question {answers.questions[question]!r}"
        found.append(f"Every answer{where} is {label!r}: there is nothing to decide.")
    return tuple(found)


def _in_words(lengths: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {length}" for name, length in lengths.items())
