"""Rings: groups of annotators who give the same answers against everybody else, so that together they are one voice.

People who copy one another, or one person with several accounts, would outvote the rest, and a model would take their
agreement for knowledge. Agreement on right answers is only skill; what counts is identical answers beyond what habits,
difficulty and the truth explain. `ring_candidates` finds the pairs worth a test, `ring_evidence` tests them. A ring is
a set of people connected by pairs whose evidence exceeds log(pairs / FALSE_PAIRS).

It is a word about answers, never about intent.
"""

from __future__ import annotations

from collections.abc import Sequence
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
MAX_TABLE = 3e6  # numbers in the tables of the test; crowds that need more are not tested


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
    threshold = np.log(candidates.compared / FALSE_PAIRS)
    voice = _voices(len(answers.annotators), candidates.pairs)
    peers = {pair: candidates.agreement.peers(*pair) for pair in candidates.pairs}
    links: dict[tuple[int, int], PairEvidence] = {}
    for _ in range(MAX_ROUNDS):
        before = list(links)
        background = Background(part, one_voice(part, voice))
        tested = {pair: background.test(*pair, outside, threshold / 4) for pair, outside in peers.items()}
        links = {
            pair: link for pair, link in tested.items() if link.ratio > threshold and link.shared >= MIN_SHARED
        }
        if not links or list(links) == before:
            break
        # Once more with what was found: people who are no part of a ring have a say about the truth.
        voice = _voices(len(answers.annotators), list(links))
        peers = {pair: np.flatnonzero(voice == voice[pair[0]]) for pair in links}
    return _connect(answers, links)


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


def _voices(annotators: int, pairs: Sequence[tuple[int, int]]) -> Positions:
    """[J] the first member of everybody's connected component."""
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(annotators, annotators))
    _, component = connected_components(graph, directed=False)
    _, leader, group = np.unique(component, return_index=True, return_inverse=True)
    return np.asarray(leader[group], np.int64)


def _items_of(answers: Answers, candidates: Candidates) -> Answers:
    """The part of the table that the candidates answered; of a large one, about `SAMPLE_ANSWERS` answers."""
    suspect = np.zeros(len(answers.annotators), bool)
    suspect[np.array(candidates.pairs).ravel()] = True
    items = np.unique(answers.answer_item[suspect[answers.answer_annotator]])
    return answers.subset(items[answers.label_count[items] > 1])


def _table_size(answers: Answers) -> float:
    labels = np.diff(answers.choice_start).astype(float)
    return float((labels**2).sum() * len(answers.annotators) * 3)


def _connect(answers: Answers, links: dict[tuple[int, int], PairEvidence]) -> list[Ring]:
    if not links:
        return []
    voice = _voices(len(answers.annotators), list(links))
    rings = []
    for leader in np.flatnonzero(np.bincount(voice, minlength=len(voice)) > 1).tolist():
        members = tuple(np.flatnonzero(voice == leader).tolist())
        weakest = min((link for pair, link in links.items() if voice[pair[0]] == leader), key=lambda link: link.ratio)
        ids = tuple(answers.annotators[member] for member in members)
        rings.append(Ring(members, ids, weakest.shared, weakest.against, weakest.ratio))
    return rings
