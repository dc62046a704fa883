"""Rings: groups of annotators who give the same answers against everybody else, so that together they are one voice.

People who copy one another, or one person with several accounts, would outvote the rest, and a model would take their
agreement for knowledge. Agreement on right answers is only skill; what counts is identical answers beyond what habits,
difficulty and the truth explain. `ring_candidates` finds the pairs worth a test, `ring_evidence` tests them.

A ring is a tree: everybody but one copies one other member. With J people, and the evidence λ of every link in nats,

    score = sum over links of (λ − log(J / COPIES)) − log(J)  >  0

because a person copies with the probability COPIES, each of J others as likely as the next, and one of J people would
have to be the first. So two people need much evidence, and each further member of a ring needs less.

It is a word about answers, never about intent. The search and the evidence are blind to gold; gold can only clear a
ring whose members are right where they stand alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from ..records import Ring
from .answers import Answers
from .ring_candidates import MIN_COMPARED, MIN_SHARED, Candidates, chance_of_agreement, find_candidates
from .ring_evidence import Background, one_voice
from .types import Floats, Id, Label, Positions

COPIES = 0.01  # probability that somebody copies; honest pairs of real crowds need it this small to be left alone
ALIKE = 0.15  # spread of κ in a clique: copies at 95% have about .95 with the original, .9 with each other, and noise
PROMISING = 0.25  # a test whose first rounds do not come to this share of the evidence needed is given up
SECOND_SHARE = 1 / 3  # of labels that differ; real crowds had at most 18%, and with a large false rule at least 50%
MIN_DECIDING = 3  # gold items that tell which of two explanations is right
BATCH = 20  # tests between two looks at which rings are proven
MAX_ROUNDS = 4  # of tests; each is told who is one voice by the one before
MAX_ANSWERS = 50_000  # that the tests learn from
MAX_TABLE = 3e6  # numbers in the tables of the tests; crowds that need more are not tested
MAX_EXAMPLES = 20  # tasks that are named as evidence
TELLING = 0.1  # κ of a crowd; people who agree less cannot tell what is right

SECOND_EXPLANATION = (
    "The answers have two explanations: a group of people who agree with each other is right and most others are wrong,"
    " or the other way round. Gold for a few tasks on which they differ would tell."
)

NOT_SEARCHED = (
    "Nobody looked for people who give the same answers: so many labels for so many people would take too much memory."
    " With fewer labels, or on a part of the tasks, the search is possible."
)

Members = tuple[int, ...]  # positions in `Answers.annotators`, ascending


@dataclass(frozen=True)
class Voices:
    """Everybody's answers, and who speaks for whom."""

    answers: Answers  # everybody's, as they were given
    groups: tuple[Members, ...] = ()
    rings: tuple[Ring, ...] = ()  # the groups, with what their members' answers have in common
    disputed: Mapping[Id, tuple[Label, Label]] = field(default_factory=dict)  # item → its label by two explanations
    was_searched: bool = True

    @classmethod
    def search(cls, answers: Answers) -> Voices:
        """The answers with the rings that they show, but for those that gold proves right."""
        search = find_rings(answers)
        groups = tuple(members for members in search.groups if not _is_right_alone(answers, members))
        rings = tuple(_describe(answers, members) for members in groups)
        return cls(answers, groups, rings, search.disputed, search.was_possible)

    @cached_property
    def voice(self) -> Positions:
        """[J] the position in `table` of the voice of each annotator."""
        return _voice_of(len(self.answers.annotators), self.groups)

    @cached_property
    def table(self) -> Answers:
        """The answers in which every ring is one annotator, with the name of its first member."""
        return one_voice(self.answers, self.voice) if self.groups else self.answers

    def warnings(self, labels: Mapping[Id, Label], gold: Collection[Id]) -> tuple[str, ...]:
        """`labels` are those of the consensus; `gold` are the items of which they are known."""
        disputed = (SECOND_EXPLANATION,) if self.disputed and not self._is_decided(labels, gold) else ()
        return disputed if self.was_searched else (*disputed, NOT_SEARCHED)

    def _is_decided(self, labels: Mapping[Id, Label], gold: Collection[Id]) -> bool:
        """Whether the other labels follow the explanation that gold supports."""
        follow = np.zeros((2, 2), int)  # [is gold, explanation] labels
        for item, explanations in self.disputed.items():
            follow[int(item in gold)] += [item in labels and labels[item] == label for label in explanations]
        lead = follow[:, 0] - follow[:, 1]
        return bool(follow[1].sum() >= MIN_DECIDING and lead[0] * lead[1] > 0)


@dataclass(frozen=True)
class RingSearch:
    """What a crowd's answers show."""

    groups: tuple[Members, ...] = ()  # the one with the first member first
    disputed: Mapping[Id, tuple[Label, Label]] = field(default_factory=dict)  # item → its label by two explanations
    was_possible: bool = True


def find_rings(answers: Answers) -> RingSearch:
    """The rings of a crowd, by its answers alone.

    The first round takes the word of no suspect group, so that a ring cannot vouch for itself, as far as there are
    enough others who know something. The later rounds let everybody speak who was in no ring the time before, so that
    honest people vouch for each other. If that changes many labels, a large group follows a rule of its own, and nobody
    can say which labels are right: then there is a second explanation, and nobody is taken for a ring. Nor is a group
    that is the majority, or that only other suspects could judge.
    """
    answers = answers.with_gold(np.full(len(answers.items), -1, np.int32))
    candidates = find_candidates(answers)
    if not candidates.tested:
        return RingSearch()
    part = _items_of(answers, candidates)
    if _table_size(part) > MAX_TABLE:
        return RingSearch(was_possible=False)
    suspects = _minorities(answers, _cliques(candidates.kappa))
    groups, labels = _judged(part, suspects, suspects), []
    for _ in range(MAX_ROUNDS):
        voice = _voice_of(len(part.annotators), groups)
        background = Background(part, voice)
        labels.append(background.labels)
        before, groups = groups, _test(background, candidates, len(voice))
        if groups == before:
            break
    else:  # where rounds contradict each other, only what two of them say counts
        groups = tuple(members for members in groups if members in before)
    differ = labels[0] != labels[-1]
    if differ.mean() > SECOND_SHARE:
        two = [[part.choices[choice] for choice in by_round.tolist()] for by_round in (labels[0], labels[-1])]
        items = np.flatnonzero(differ).tolist()
        return RingSearch(disputed={part.items[item]: (two[0][item], two[1][item]) for item in items})
    return RingSearch(_judged(part, _minorities(answers, groups), suspects))


def _test(background: Background, candidates: Candidates, people: int) -> tuple[Members, ...]:
    """The rings by the evidence of the pairs; a pair within a ring that is proven needs no test."""
    price, first = float(np.log(candidates.people / COPIES)), float(np.log(candidates.people))
    links: dict[tuple[int, int], float] = {}
    rings: tuple[Members, ...] = ()
    for start in range(0, len(candidates.tested), BATCH):
        ring = _voice_of(people, rings)
        for a, b in candidates.tested[start : start + BATCH]:
            if ring[a] != ring[b]:
                link = background.test(a, b, price * PROMISING)
                if link.ratio > price and link.shared >= MIN_SHARED:
                    links[a, b] = link.ratio - price
        rings = _grow(links, people, first)
    return rings


def _cliques(kappa: Mapping[tuple[int, int], float]) -> tuple[Members, ...]:
    """Groups of whom all pairs are suspect and agree about as much; made from the pairs that agree most first."""
    group = {person: person for pair in kappa for person in pair}  # the first member of everybody's group
    members = {person: [person] for person in group}
    highest = dict.fromkeys(group, -np.inf)  # κ in a group
    between: dict[int, dict[int, tuple[int, float, float]]] = defaultdict(dict)  # pairs, least and highest κ
    for (a, b), own in kappa.items():
        between[a][b] = between[b][a] = (1, own, own)
    for a, b in kappa:
        one, other = group[a], group[b]
        if one == other:
            continue
        pairs, least, most = between[one][other]
        top = max(most, highest[one], highest[other])
        if pairs < len(members[one]) * len(members[other]) or least < top - ALIKE:
            continue
        highest[one] = top
        members[one] += members[other]
        group |= dict.fromkeys(members.pop(other), one)
        _merge(between, one, other)
    distinct = sorted(tuple(sorted(people)) for people in members.values() if len(people) > 1)
    return tuple(distinct)


def _merge(between: dict[int, dict[int, tuple[int, float, float]]], one: int, other: int) -> None:
    """Give one group the pairs that another has with third ones."""
    for third, (pairs, least, most) in between.pop(other).items():
        del between[third][other]
        if third != one:
            before = between[one].get(third, (0, np.inf, -np.inf))
            merged = pairs + before[0], min(least, before[1]), max(most, before[2])
            between[one][third] = between[third][one] = merged


def _minorities(answers: Answers, groups: Collection[Members]) -> tuple[Members, ...]:
    """The groups that have no more members than there are people outside these groups.

    A group that is the majority is more likely the crowd than a ring.
    """
    person = np.minimum(answers.comparable_per_annotator / MIN_COMPARED, 1)  # [J] one, or less who gave few answers
    kept = sorted(groups, key=lambda members: (len(members), members))
    while kept and len(kept[-1]) > person.sum() - sum(person[list(members)].sum() for members in kept):
        kept.pop()
    return tuple(sorted(kept))


def _judged(answers: Answers, groups: Collection[Members], suspects: Collection[Members]) -> tuple[Members, ...]:
    """The groups of whom all others agree with each other, if other groups and suspects have one voice each.

    People who only guess cannot tell a ring from the few who know something.
    """
    members = {person for group in groups for person in group}
    others = [group for group in suspects if members.isdisjoint(group)]
    voice = _voice_of(len(answers.annotators), [*groups, *others])
    agreement = _agreement_of_others(one_voice(answers, voice))
    return tuple(group for group in groups if agreement[voice[group[0]]] > TELLING)


def _agreement_of_others(answers: Answers) -> Floats:
    """[J] κ of pairs of answers to the same item, of everybody but one annotator."""
    compared = (answers.answers_per_item - 1).astype(float)[answers.option_item]  # [O] with how many answers
    by_chance = compared * chance_of_agreement(answers)[answers.option_item]
    own = [answers.sum_by_annotator(value) for value in (answers.votes - 1, by_chance, compared)]
    equal, expected, pairs = (values.sum() - 2 * values for values in own)
    return np.asarray((equal - expected) / np.maximum(pairs - expected, 1.0))


def _grow(links: Mapping[tuple[int, int], float], people: int, first: float) -> tuple[Members, ...]:
    """The rings whose score is positive, from what each link adds to it; their trees have the links that add most."""
    gain = np.array(list(links.values()))
    ends = np.array(list(links), np.int32).reshape(-1, 2).T
    tree = minimum_spanning_tree(sparse.csr_array((-gain, (ends[0], ends[1])), shape=(people, people)))
    group = connected_components(tree, directed=False)[1]
    link = tree.tocoo()
    score = np.bincount(group[link.row], -link.data, minlength=people) - first
    members = [np.flatnonzero(group == ring) for ring in np.flatnonzero(score > 0)]
    return tuple(sorted(tuple(ring.tolist()) for ring in members))


def _voice_of(people: int, groups: Collection[Members]) -> Positions:
    """[J] the number of everybody's voice, in the order of the first members: people of a group have the same."""
    first = np.arange(people)
    for members in groups:
        first[list(members)] = members[0]
    return np.asarray(np.unique(first, return_inverse=True)[1])


def _items_of(answers: Answers, candidates: Candidates) -> Answers:
    """The items with several labels; of many, those that the most candidates answered, with MAX_ANSWERS answers."""
    suspect = np.zeros(len(answers.annotators), bool)
    suspect[np.array(candidates.tested).ravel()] = True
    by_suspects = np.bincount(answers.answer_item[suspect[answers.answer_annotator]], minlength=len(answers.items))
    items = np.flatnonzero((answers.answers_per_item > 0) & (answers.label_count > 1))
    items = items[np.argsort(-by_suspects[items], kind="stable")]
    count = int(np.searchsorted(np.cumsum(answers.answers_per_item[items]), MAX_ANSWERS)) + 1
    return answers.subset(np.sort(items[:count]))


def _table_size(answers: Answers) -> float:
    labels = np.diff(answers.choice_start).astype(float)
    people = len(np.unique(answers.answer_annotator))
    return float((labels**2).sum() * people * 3)


def _is_right_alone(answers: Answers, members: Members) -> bool:
    """Whether the members are right on most gold tasks on which they agree against everybody else."""
    own = np.isin(answers.answer_annotator, members)
    votes = np.bincount(answers.answer_option[own], minlength=len(answers.option_item))
    others = np.bincount(answers.answer_item[~own], minlength=len(answers.items)) > 0
    alone = (votes > 1) & (votes == answers.votes) & (others & answers.has_gold)[answers.option_item]
    options = np.flatnonzero(alone)
    right = int((answers.gold_option[answers.option_item[options]] == options).sum())
    return right > len(options) - right


def _describe(answers: Answers, members: Members) -> Ring:
    """What the members' answers to tasks that at least two of them answered have in common; no model is involved.

    Of a task with several questions all answers must be the same, and nobody else may have given one of them.
    """
    is_member = np.zeros(len(answers.annotators), bool)
    is_member[list(members)] = True
    own = is_member[answers.answer_annotator]
    by_members = np.bincount(answers.answer_item[own], minlength=len(answers.items))
    votes = np.bincount(answers.answer_option[own], minlength=len(answers.option_item))
    top = np.maximum.reduceat(votes, answers.option_start)
    shared = by_members > 1
    same = shared & (top == by_members)
    named = (votes > 0) & same[answers.option_item]
    others = answers.answers_per_item > by_members
    option = np.flatnonzero(named & (answers.votes == votes) & others[answers.option_item])
    alone = np.zeros(len(answers.items), bool)
    alone[answers.option_item[option]] = True
    tasks = [task for task, _ in answers.items] if answers.has_questions else answers.items
    differing = {tasks[item] for item in np.flatnonzero(shared & ~same).tolist()}
    together = dict.fromkeys(tasks[item] for item in np.flatnonzero(shared).tolist())
    against = [t for t in dict.fromkeys(tasks[item] for item in np.flatnonzero(alone).tolist()) if t not in differing]
    return Ring(
        annotators=tuple(answers.annotators[member] for member in members),
        shared=len(together),
        same=len(together) - len(differing),
        alone=len(against),
        tasks=tuple(against[:MAX_EXAMPLES]),
    )
