"""Rings: groups of annotators who give the same answers against everybody else, so that together they are one voice.

People who copy one another, or one person with several accounts, would outvote the rest, and a model would take their
agreement for knowledge. Agreement on right answers is only skill; what counts is identical answers beyond what habits,
difficulty and the truth explain. `ring_candidates` finds the pairs worth a test, `ring_evidence` tests them. A ring is
a set of people connected by pairs whose evidence exceeds log(pairs / FALSE_PAIRS).

It is a word about answers, never about intent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .answers import Answers
from .ring_candidates import MIN_SHARED, Candidates, find_candidates
from .ring_evidence import Background, PairEvidence, one_voice
from .types import Id, Positions

FALSE_PAIRS = 0.001  # expected number of honest pairs in a crowd that are found by mistake
MAX_ROUNDS = 5  # of tests; each leaves some pairs out
CROWD = 2  # a group this many times as large as any other is no ring, but the crowd
MAX_ANSWERS = 100_000  # that the test of the candidates learns from
MAX_TABLE = 3e6  # numbers in the tables of the test; crowds that need more are not tested

Links = dict[tuple[int, int], PairEvidence]  # pairs of annotators with enough evidence


@dataclass(frozen=True)
class Ring:
    """People whose answers count as one voice, and why."""

    members: tuple[int, ...]  # positions in `Answers.annotators`, ascending
    annotators: tuple[Id, ...]  # their ids, in the same order
    shared: int  # items that both people of the weakest link answered
    against: int  # of these, how many have the same answer of both that is not what everybody else says
    evidence: float  # log-likelihood ratio of the weakest link, in nats

    @property
    def sentence(self) -> str:
        names = ", ".join(str(name) for name in self.annotators)
        return (
            f"{len(self.members)} people ({names}) give the same answers against everybody else on {self.against:,} of"
            f" {self.shared:,} shared tasks: counted as one voice."
        )


def find_rings(answers: Answers) -> list[Ring]:
    """The rings of a crowd, by its answers alone; the one with the first member first."""
    candidates = find_candidates(answers)
    if not candidates.pairs:
        return []
    part = _items_of(answers, candidates)
    if _table_size(part) > MAX_TABLE:
        return []
    threshold = float(np.log(candidates.compared / FALSE_PAIRS))
    links = _test_candidates(part, candidates, threshold)
    for _ in range(MAX_ROUNDS):  # once more with what was found: whoever is in no ring has a say about the truth
        if not links:
            return []
        voice = _connect(answers, links)
        background = Background(part, one_voice(part, voice))
        tested = ((pair, background.test(*pair, np.flatnonzero(voice == voice[pair[0]]))) for pair in links)
        kept = {pair: link for pair, link in tested if link.ratio > threshold}
        stable, links = len(kept) == len(links), kept
        if stable:
            break
    return _make_rings(answers, _join(part, candidates, links, threshold))


def _test_candidates(part: Answers, candidates: Candidates, threshold: float) -> Links:
    """The pairs with enough evidence if all groups of suspect people are one voice each.

    That would silence a crowd in which most people know much and therefore agree. So a group that is at least twice as
    large as any other is the crowd, and its members speak for themselves when the others are tested.
    """
    voice = _connect(part, candidates.nearest)
    silent = Background(part, one_voice(part, voice))
    size = np.bincount(voice, minlength=len(voice))
    second, largest = np.sort(size)[-2:]
    spoken, crowd = silent, -1
    if largest >= CROWD * second and second > 1:
        crowd = int(size.argmax())
        spoken = Background(part, one_voice(part, np.where(voice == crowd, np.arange(len(voice)), voice)))
    links = {}
    for a, b in candidates.pairs:
        background = silent if crowd in (voice[a], voice[b]) else spoken
        link = background.test(a, b, candidates.agreement.peers(a, b), threshold / 4)
        if link.ratio > threshold and link.shared >= MIN_SHARED:
            links[a, b] = link
    return links


def _join(part: Answers, candidates: Candidates, links: Links, threshold: float) -> Links:
    """The links, and one for each other person whose answers are those of a whole ring: together, the members of a ring
    are compared on more tasks, and their most frequent answer is copied with fewer mistakes."""
    voice = _connect(part, links)
    merged = one_voice(part, voice)
    background = Background(merged, merged)
    ringed = np.bincount(voice, minlength=len(voice))[voice] > 1
    near = {(int(voice[a]), b) for a, b in candidates.pairs if ringed[a] and not ringed[b]}
    near |= {(int(voice[b]), a) for a, b in candidates.pairs if ringed[b] and not ringed[a]}
    joined = dict(links)
    for speaker, person in sorted(near):
        peers = np.union1d(np.flatnonzero(voice == speaker), [other for one, other in near if one == speaker])
        link = background.test(speaker, person, peers, threshold / 4)
        if link.ratio > threshold and link.shared >= MIN_SHARED:
            joined[speaker, person] = link
    return joined


@dataclass(frozen=True)
class Voices:
    """Everybody's answers, and who speaks for whom."""

    answers: Answers  # everybody's, as they were given
    rings: tuple[Ring, ...] = ()

    @cached_property
    def speaker(self) -> Positions:
        """[J] for each annotator the position of the one who speaks for the ring, or the annotator's own."""
        speaker = np.arange(len(self.answers.annotators))
        for ring in self.rings:
            speaker[list(ring.members)] = ring.members[0]
        return speaker

    @property
    def table(self) -> Answers:
        """The answers in which every ring is one annotator, its speaker; the other members have none."""
        return one_voice(self.answers, self.speaker)


def _connect(answers: Answers, pairs: Collection[tuple[int, int]]) -> Positions:
    """[J] the first member of everybody's connected component."""
    annotators = len(answers.annotators)
    first, second = np.array(list(pairs), np.int64).reshape(-1, 2).T
    graph = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(annotators, annotators))
    _, component = connected_components(graph, directed=False)
    _, leader, group = np.unique(component, return_index=True, return_inverse=True)
    return np.asarray(leader[group], np.int64)


def _items_of(answers: Answers, candidates: Candidates) -> Answers:
    """The items that the candidates answered; of many, those that the most candidates did, with MAX_ANSWERS answers."""
    suspect = np.zeros(len(answers.annotators), bool)
    suspect[np.array(candidates.pairs).ravel()] = True
    by_suspects = np.bincount(answers.answer_item[suspect[answers.answer_annotator]], minlength=len(answers.items))
    items = np.flatnonzero((by_suspects > 0) & (answers.label_count > 1))
    items = items[np.argsort(-by_suspects[items], kind="stable")]
    count = int(np.searchsorted(np.cumsum(answers.answers_per_item[items]), MAX_ANSWERS)) + 1
    return answers.subset(np.sort(items[:count]))


def _table_size(answers: Answers) -> float:
    labels = np.diff(answers.choice_start).astype(float)
    return float((labels**2).sum() * len(answers.annotators) * 3)


def _make_rings(answers: Answers, links: Links) -> list[Ring]:
    voice = _connect(answers, links)
    rings = []
    for leader in np.flatnonzero(np.bincount(voice, minlength=len(voice)) > 1).tolist():
        members = tuple(np.flatnonzero(voice == leader).tolist())
        weakest = min((link for pair, link in links.items() if voice[pair[0]] == leader), key=lambda link: link.ratio)
        ids = tuple(answers.annotators[member] for member in members)
        rings.append(Ring(members, ids, weakest.shared, weakest.against, weakest.ratio))
    return rings
