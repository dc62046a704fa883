"""The evidence that two people copy: identical answers beyond what habits, difficulty and the truth explain.

The truth z and the grade of difficulty h of an item are told by everybody outside the groups of the two, in which all
may copy each other; every other such group has one vote in all. This is p_i(z, h). With the tables A and B of
the two, P(answer r | z, h), and with the probability c that an answer is copied,

    P(r_a, r_b) = sum over z, h of p_i(z, h) · [(1 − c) · A(r_a) · B(r_b)  +  c · 1(r_a = r_b) · (A(r_a) + B(r_b)) / 2]

A, B and c are fitted twice: with c ≥ COPIED, and with c ≤ HONEST. The evidence is the difference of the two log
likelihoods. If the others say little about the truth, two people who agree may as well be right as copy, the tables of
both fits say so, and there is no evidence.

Some tasks mislead everybody: with probability MISLED, p_i says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .answers import Answers
from .arrays import order_by
from .calibration import POOL_CALIBRATION
from .habit_tables import QuestionTables
from .habits import HabitsModel
from .ring_candidates import COPIED, MAX_ITEMS
from .skill import fit_skill
from .types import Flags, Floats, Positions

HONEST = 0.3  # people who share a source of mistakes that the model does not know look as if they copied a little
MISLED = POOL_CALIBRATION.misled  # some tasks mislead everybody
POOLED = 4.0  # the crowd's table counts as much as this many of one's own answers, as in `habit_tables`
GRADES = 3
PASSES = 4  # of expectation maximization over the crowd
ROUNDS, FIRST_ROUNDS = 15, 4  # of the same over one pair; most pairs are out of the question after the first rounds
SCALINGS = 3  # steps of iterative proportional fitting in each round
TINY = 1e-12
MIN_VOICES = 1.5  # nobody can tell how far a single voice is right, so one voice alone says nothing about the truth


@dataclass(frozen=True)
class PairEvidence:
    """What the test of one pair found."""

    ratio: float  # log-likelihood ratio, in nats
    shared: int  # items that both answered


class _Block:
    """The items of one question that both answered. n items, K labels, Z cells (grade, label)."""

    def __init__(self, cell: Floats, first: Positions, second: Positions, typical: Floats) -> None:
        """`cell` [n, Z] is p, `first` and `second` [n] the labels that a and b gave, `typical` [K, Z] the crowd's
        table."""
        labels, cells = typical.shape
        self.cell, self.first, self.second, self.typical = cell, first, second, typical
        self.is_first, self.is_second = (np.arange(labels)[:, None] == given for given in (first, second))  # [K, n]
        self.cell_if_same = cell * (first == second)[:, None]
        self._is_right = np.tile(np.eye(labels), cells // labels)  # [K, Z]
        self._label = np.tile(np.arange(labels), cells // labels)  # [Z]
        self._same_label = self._is_right.T  # [Z, K] one if the cell has the label
        self._usual = np.clip((typical * self._is_right).sum(0), 1e-6, 1 - 1e-6)  # [Z] P(right)
        self._usual_odds = self._usual / (1 - self._usual)
        # A crowd that knows nothing would leave no way to tell the labels apart, so fits start halfway to a right one.
        self.start = 0.5 * typical + 0.4 * self._is_right + 0.1 / labels

    def table(self, given: Flags, scale: Floats, weight: Floats) -> Floats:
        """[K, Z] a person's table, from the expected counts of the labels given in each cell, with weights
        scale · weight of an item's cells.

        It is the crowd's table, with the odds of a right answer multiplied in all cells by the same factor, and then
        every pair (label given, true label) by a factor of its own. None of these depends on the grade: tables that
        were free for each grade could make it a coin that both people see, which would explain any agreement.
        """
        counts = (given * scale) @ weight
        seen = counts.sum(0)  # [Z]
        table = self._at_skill(counts, seen)
        mass = seen + POOLED * seen / self._by_label(np.maximum(seen, TINY))
        aim = (counts + (mass - seen) * table) @ self._same_label
        for _ in range(SCALINGS):
            table = table * (aim / np.maximum((mass * table) @ self._same_label, TINY))[:, self._label]
            table /= table.sum(0)
        return np.asarray(table)

    def _by_label(self, values: Floats) -> Floats:
        """[Z] the sum of the values [Z] over all grades of the cell's label."""
        return np.asarray((values @ self._same_label)[self._label])

    def _at_skill(self, counts: Floats, seen: Floats) -> Floats:
        """[K, Z] the crowd's table with the odds of a right answer multiplied in all cells by the same factor, which
        makes about as many answers right as the person's: people who know more than the crowd are not pulled down."""
        total = float(seen.sum()) + 1
        right = (float((counts * self._is_right).sum()) + 0.5) / total
        expected = (float(self._usual @ seen) + 0.5) / total
        odds = self._usual_odds * (right * (1 - expected) / ((1 - right) * expected))
        own = odds / (1 + odds)
        less = (1 - own) / (1 - self._usual)
        return np.asarray(self.typical * less + self._is_right * (own - self._usual * less))


class Background:
    """What the crowd says about truth and difficulty, and about everybody's habits, if every group is one voice."""

    def __init__(self, answers: Answers, voice: Positions) -> None:
        """`voice` [J] is the same number for people who may copy, who are to count as one; see `one_voice`."""
        merged = one_voice(answers, voice)
        quick = HabitsModel(merged.with_all_options(), GRADES)
        _start_from_skill(quick, merged)
        for _ in range(PASSES):
            quick.m_step()
            quick.e_step()
        self.labels = np.empty(len(answers.items), np.int64)  # [I] the choice that is the most probable label
        for question in quick.questions:
            self.labels[question.items] = question.choices.start + question.label_posterior().argmax(1)
        self._model = HabitsModel(answers.with_all_options(), GRADES)
        for own, other in zip(self._model.questions, quick.questions, strict=True):
            own.cell = other.cell
        self._model.m_step()
        self._model.e_step()
        self._typical = [_crowd_table(question) for question in quick.questions]
        self._tasks = _task_of_item(answers)
        self._voice = voice
        self._weight = 1 / np.bincount(voice)[voice]  # [J] of an answer

    def test(self, a: int, b: int, promising: float = -np.inf) -> PairEvidence:
        """Test a pair; the groups of the two tell nothing about the truth in this matter.

        The test is given up if its first rounds do not come to `promising`.
        """
        blocks, items = [], []
        own = (self._voice == self._voice[a]) | (self._voice == self._voice[b])
        weight = np.where(own, 0.0, self._weight)
        for question, typical in zip(self._model.questions, self._typical, strict=True):
            shared = _shared_items(question, a, b)
            if len(shared):
                blocks.append(_make_block(question, typical, shared, a, b, weight))
                items.append(question.items[shared])
        if not blocks:
            return PairEvidence(0.0, 0)
        copied, honest = _PairFit(blocks, COPIED, 0.999), _PairFit(blocks, 0.0, HONEST)
        ratio = copied.improve(FIRST_ROUNDS) - honest.improve(FIRST_ROUNDS)
        if ratio > promising:
            ratio = copied.improve(ROUNDS - FIRST_ROUNDS) - honest.improve(ROUNDS - FIRST_ROUNDS)
        # Items of one task are not independent of each other, so the evidence is that of as many tasks.
        item = np.concatenate(items)
        ratio *= len(np.unique(self._tasks[item])) / len(item)
        return PairEvidence(ratio, len(item))


def _start_from_skill(model: HabitsModel, answers: Answers) -> None:
    """Start a model from the labels of the form with one skill per person. Tables have many numbers, and where voices
    are few, a fit of these that starts from the votes may end with a crowd that guesses."""
    posterior = fit_skill(answers, _ignore, spread=0.0).posterior_on(model.answers).options
    for question in model.questions:
        by_grade = question.cell.reshape(len(question.cell), question.grades, -1)
        grade = by_grade.sum(2, keepdims=True)  # [items, H, 1]
        cell = (grade * posterior[question.options][:, None]).reshape(question.cell.shape) * question.allowed
        question.cell = cell / cell.sum(1, keepdims=True)


def _ignore(fraction: float) -> None:
    """The progress of this fit is not shown."""


def _task_of_item(answers: Answers) -> Positions:
    """[I] a number for the task of each item."""
    if not answers.has_questions:
        return np.arange(len(answers.items))
    code: dict[object, int] = {}
    return np.array([code.setdefault(task, len(code)) for task, _ in answers.items], np.int64)


def _crowd_table(question: QuestionTables) -> Floats:
    """[K, Z] how often the whole crowd gives each label in each cell; columns sum to one."""
    counts = question.counts.sum(0) + question.typical[:2].mean(0)
    return np.asarray(counts / counts.sum(0))


def _row_of(question: QuestionTables, annotator: int) -> int:
    """The row of an annotator in the question's tables, or -1."""
    row = int(np.searchsorted(question.annotators, annotator))
    return row if row < len(question.annotators) and question.annotators[row] == annotator else -1


def _answers_of(question: QuestionTables, annotator: int) -> tuple[Positions, Positions]:
    """The items that an annotator answered, ascending, and the labels given."""
    row = _row_of(question, annotator)
    if row < 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    start = question.given_by.indptr[row * question.labels : (row + 1) * question.labels + 1]
    items = question.given_by.indices[start[0] : start[-1]]
    labels = np.repeat(np.arange(question.labels), np.diff(start))
    order = np.argsort(items)
    return items[order].astype(np.int64), labels[order]


def _shared_items(question: QuestionTables, a: int, b: int) -> Positions:
    shared = np.intersect1d(_answers_of(question, a)[0], _answers_of(question, b)[0])
    if len(shared) > MAX_ITEMS:
        shared = shared[np.linspace(0, len(shared) - 1, MAX_ITEMS).astype(int)]
    return shared


def _make_block(question: QuestionTables, typical: Floats, shared: Positions, a: int, b: int, weight: Floats) -> _Block:
    given = question.given[shared]
    given.data = weight[question.annotators[given.indices // question.labels]]
    given.data *= np.repeat(given @ np.ones(given.shape[1]) > MIN_VOICES, np.diff(given.indptr))
    score = given @ question.log_table.reshape(-1, question.cells) + question.log_prior
    cell = np.exp(score - score.max(1, keepdims=True))
    cell /= cell.sum(1, keepdims=True)
    cell = _calibrated(cell, question.grades)
    labels = []
    for person in (a, b):
        items, label = _answers_of(question, person)
        labels.append(label[np.searchsorted(items, shared)])
    return _Block(cell, labels[0], labels[1], typical)


def _calibrated(cell: Floats, grades: int) -> Floats:
    """[n, Z] the posterior of the cells, with that of the labels calibrated and the grades given the label kept."""
    by_grade = cell.reshape(len(cell), grades, -1)
    label = np.maximum(by_grade.sum(1), 1e-12)  # [n, K]
    mixed = (1 - MISLED) * label + MISLED / label.shape[1]
    conditional = np.maximum(by_grade, 1e-12 / grades) / label[:, None]
    return np.asarray((conditional * mixed[:, None]).reshape(len(cell), -1))


class _PairFit:
    """The tables of two people and the share of copied answers, fitted with that share between two bounds."""

    def __init__(self, blocks: list[_Block], lowest: float, highest: float) -> None:
        self._blocks, self._lowest, self._highest = blocks, lowest, highest
        self._copied = (lowest + highest) / 2
        self._tables = [(block.start, block.start) for block in blocks]
        self._total = sum(len(block.first) for block in blocks)

    def improve(self, rounds: int) -> float:
        """Some rounds of expectation maximization; returns the log likelihood."""
        for _ in range(rounds):
            likelihood, copies = 0.0, 0.0
            for position, block in enumerate(self._blocks):
                a, b = self._tables[position]
                own, other = a[block.first], b[block.second]  # [n, Z]
                apart = (1 - self._copied) * (block.cell * own * other)
                half = (0.5 * self._copied) * block.cell_if_same
                from_a, from_b = half * own, half * other
                copy = from_a + from_b
                scale = 1 / (apart + copy).sum(1)
                likelihood -= float(np.log(scale).sum())
                copies += float(scale @ copy.sum(1))
                self._tables[position] = (
                    block.table(block.is_first, scale, apart + from_a),
                    block.table(block.is_second, scale, apart + from_b),
                )
            self._copied = min(max(copies / self._total, self._lowest), self._highest)
        return likelihood


def one_voice(answers: Answers, voice: Positions) -> Answers:
    """The table in which people with the same voice [J] are one annotator, who has the name of the first of them.

    Voices are numbered in the order of these names. The answer of a voice to an item is the most frequent one of its
    people; of several, the one that most people gave, and then the first label. So names make no difference.
    """
    first = np.unique(voice, return_index=True)[1]
    if len(first) == len(voice):
        return answers
    who, option = voice[answers.answer_annotator], answers.answer_option
    keep = (np.bincount(voice) == 1)[who]
    rows = np.flatnonzero(~keep)
    key = answers.answer_item[rows].astype(np.int64) * len(first) + who[rows]
    # Votes for each (item, voice, option).
    _, same, votes = np.unique(
        np.stack([key, option[rows].astype(np.int64)]), axis=1, return_inverse=True, return_counts=True
    )
    order = np.lexsort((option[rows], -answers.votes[option[rows]], -votes[same.ravel()], key))
    is_first = np.append(True, np.diff(key[order]) > 0)
    keep[rows[order[is_first]]] = True
    item, annotator = answers.answer_item[keep], who[keep].astype(np.int32)
    in_order = order_by(item, annotator, len(first))
    merged = replace(
        answers,
        annotators=[answers.annotators[person] for person in first.tolist()],
        answer_item=item[in_order],
        answer_annotator=annotator[in_order],
        answer_option=option[keep][in_order],
    )
    return _without_unused_options(merged)


def _without_unused_options(answers: Answers) -> Answers:
    """The table without options that are neither an answer nor gold; an item keeps at least one."""
    used = np.zeros(len(answers.option_item), bool)
    used[answers.answer_option] = True
    used[answers.gold_option[answers.has_gold]] = True
    used[answers.option_start[np.bincount(answers.option_item[used], minlength=len(answers.items)) == 0]] = True
    position = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return replace(
        answers,
        answer_option=position[answers.answer_option],
        option_item=answers.option_item[used],
        option_choice=answers.option_choice[used],
        gold_option=np.where(answers.has_gold, position[answers.gold_option], -1).astype(np.int32),
    )
