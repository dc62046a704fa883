"""GEM with difficulty integrated out: every annotator has one skill, whatever the label.

The paper's model of an answer, s = 1 / (1 + exp(−a_j (d_j − D_i))), `hit` and `miss` as there, with two changes.
A task's difficulty D_i is not estimated but summed over a grid of nodes, because a handful of answers cannot carry a
parameter of their own. An annotator's (intention, skill d_j, discrimination a_j) is not one point but a distribution
over a grid of *types*: that compares both intentions each at its own best skill, keeps people with few answers
unsure, and yields standard errors and the probability of being an adversary by reading them off.

Scale: D_i has mean 0 and standard deviation `spread`; skill is in the same units, and where a_j = 1 a unit is one
unit of log-odds. An annotator of skill 0 knows half of the average tasks.

A third intention beside the paper's two, guessing, stands for its spammers: no skill at all.

Symbols: J annotators, V types, G nodes, L distinct numbers of labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from .answers import Answers, Floats, Integers, sums
from .fit import Fit, clamped, climb, hardness, normalise, vote_shares

SPREADS = (0.0, 1.0, 2.0, 4.0)  # of task difficulty; the evidence chooses
NODES = {0.0: 1, 1.0: 7, 2.0: 25, 4.0: 51}
DISCRIMINATIONS = {0.0: [1.0], 1.0: [0.5, 1.0, 2.0]}  # the wider the spread, the more a_j shows
ALL_DISCRIMINATIONS = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
HONEST, ADVERSARY, GUESSING = 0, 1, 2
INTENTIONS_SEEN = np.array([8.5, 1.0, 0.5])  # prior: as if so many of each had been seen before
LEAST_ABLE = 0.1  # an adversary can solve at least this share of the tasks; with less nobody can tell it from guessing
LEAST = 1e-9  # no answer is impossible


def fit_skill(answers: Answers, progress: Callable[[float], None], spread: float = 0.0, floor: float = -np.inf) -> Fit:
    """Fits the form with the given spread of difficulty (one of SPREADS)."""
    model = _Skill(answers, spread)
    history, converged = climb(model, answers, progress, floor=floor)
    posterior, unchosen = model.lifted_posterior()
    mean = model.belief @ model.types.skill
    unplaced = np.where(model.types.intention == GUESSING, 1.0, 0.0)  # guessing is somewhere low on the scale
    known = model.types.known(model.nodes) @ np.exp(model.log_node)
    known = np.where(model.types.intention == ADVERSARY, -known, known)
    knowing = model.belief @ known
    return Fit(
        answers=answers,
        form=f"skill-{spread:g}",
        posterior=posterior,
        unchosen=unchosen,
        skill=mean,
        skill_error=np.sqrt(np.maximum(model.belief @ (model.types.skill**2 + unplaced) - mean**2, 0.0)),
        adversary=model.belief[:, model.types.intention == ADVERSARY].sum(1),
        knowing=knowing,
        knowing_error=np.sqrt(np.maximum(model.belief @ known**2 - knowing**2, 0.0)),
        weight=model.weight(),
        difficulty=model.difficulty() if spread else None,
        objective=history[-1],
        history=history,
        converged=converged,
    )


@dataclass(frozen=True)
class Types:
    """The grid of annotator types: [V] each. Adversaries are only those with skill enough to avoid the truth by it."""

    skill: Floats
    discrimination: Floats
    intention: Integers  # HONEST, ADVERSARY or GUESSING

    @classmethod
    def grid(cls, spread: float) -> Types:
        reach = 4.0 + 2.5 * spread
        skill = np.arange(-reach, reach + 0.25, 0.5)
        discrimination = DISCRIMINATIONS.get(spread, ALL_DISCRIMINATIONS)
        skills, discriminations = (part.ravel() for part in np.meshgrid(skill, discrimination))
        honest = cls(skills, discriminations, np.full(len(skills), HONEST, np.int32))
        nodes, log_node = _nodes(spread)
        able = honest.known(nodes) @ np.exp(log_node) >= LEAST_ABLE
        return cls(
            np.concatenate([skills, skills[able], [-reach]]),
            np.concatenate([discriminations, discriminations[able], [1.0]]),
            np.concatenate([honest.intention, np.full(able.sum(), ADVERSARY), [GUESSING]]).astype(np.int32),
        )

    def known(self, difficulty: Floats) -> Floats:
        """[V, G] s: the probability that a type can solve a task of the given difficulty."""
        able = np.asarray(expit(self.discrimination[:, None] * (self.skill[:, None] - difficulty)))
        return np.where(self.intention[:, None] == GUESSING, 0.0, able)

    def hit_and_miss(self, difficulty: Floats, labels: float) -> tuple[Floats, Floats]:
        """[V, G] each: probability of an answer if it is the true label, and if another label is."""
        knows = self.known(difficulty)
        guess = (1 - knows) / labels + LEAST
        adversary = self.intention[:, None] == ADVERSARY
        hit = np.where(adversary, guess, knows + guess)
        miss = np.where(adversary, guess + knows / (labels - 1), guess)
        return hit, miss


class _Skill:
    """The model's state: belief about annotators' types, and about labels and difficulty of the items."""

    def __init__(self, answers: Answers, spread: float) -> None:
        self.answers = answers
        self.nodes, self.log_node = _nodes(spread)
        self.types = Types.grid(spread)
        counts, count_of_item = np.unique(np.maximum(answers.label_count, 2), return_inverse=True)
        self.label_counts = counts  # [L] distinct K; items with K = 1 have no answers here
        tables = [self.types.hit_and_miss(self.nodes, labels) for labels in counts]
        self.log_hit = [np.log(hit) for hit, _ in tables]  # L × [V, G]
        self.log_miss = [np.log(miss) for _, miss in tables]
        some = answers.decidable
        voice = answers.answer_annotator[some].astype(np.int64) * len(counts) + count_of_item[answers.answer_item[some]]
        self.given: sparse.csr_array = sparse.csr_array(  # [O, J·L] one where the annotator gave the option
            (np.ones(len(voice)), (answers.answer_option[some], voice)),
            shape=(len(answers.option_item), len(answers.annotators) * len(counts)),
        )
        self.given_by: sparse.csr_array = self.given.T.tocsr()
        self.clamp_option, self.clamp_unchosen = clamped(answers)
        self.option, self.node = self._start(spread)  # [O, G] P(label, node), [I, G] P(node)
        nobody = np.zeros(len(self.types.skill))
        self.log_prior = self._log_prior(0.0, max(2.0, spread / 2), INTENTIONS_SEEN, nobody)  # [V]
        self.belief: Floats = np.tile(np.exp(self.log_prior), (len(answers.annotators), 1))  # [J, V]
        self.steps = 0

    def _start(self, spread: float) -> tuple[Floats, Floats]:
        """Vote shares; the less united the vote on an item, the harder the item."""
        share, _ = vote_shares(self.answers)
        rank = hardness(self.answers, share)
        near = -0.5 * ((self.nodes[None] / (spread or 1.0) - rank[:, None]) / 0.5) ** 2
        node = np.exp(near - _log_sum(near)[:, None])
        return share[:, None] * node[self.answers.option_item], node

    def step(self) -> float:
        self._learn_types()
        log_hit, log_miss = self._expected_logs()
        base = np.add.reduceat(self.given @ log_miss, self.answers.option_start, axis=0)  # [I, G]
        ratio = self.given @ (log_hit - log_miss)  # [O, G]
        self.ratio, self.base = ratio, base
        share, _, total = normalise(self.answers, ratio + self.clamp_option[:, None], self.clamp_unchosen[:, None])
        joint = base + total + self.log_node - np.log(self.answers.label_count)[:, None]
        evidence = _log_sum(joint)
        self.node = np.exp(joint - evidence[:, None])
        self.option = share * self.node[self.answers.option_item]
        surprise = np.vdot(self.belief, np.log(np.maximum(self.belief, 1e-300)) - self.log_prior)
        return float(evidence.sum() - surprise)

    def _learn_types(self) -> None:
        """M-step: belief about each annotator's type, then the crowd's distribution of types (empirical Bayes)."""
        shape = (len(self.answers.annotators), len(self.label_counts), len(self.nodes))
        hits = (self.given_by @ self.option).reshape(shape)
        misses = np.maximum((self.given_by @ self.node[self.answers.option_item]).reshape(shape) - hits, 0.0)
        score = np.tile(self.log_prior, (shape[0], 1))
        for k in range(shape[1]):
            score += hits[:, k] @ self.log_hit[k].T + misses[:, k] @ self.log_miss[k].T
        self.belief = np.exp(score - _log_sum(score)[:, None])
        self.steps += 1
        if self.steps > 3:  # the first rounds still follow the vote shares
            self._learn_crowd()

    def _learn_crowd(self) -> None:
        """Gaussian skills, free shares of discriminations and intentions; kept only if that fits better."""
        types, crowd = self.types, self.belief.sum(0)
        skilled = np.where(types.intention == GUESSING, 0.0, crowd)
        mean = skilled @ types.skill / skilled.sum()
        deviation = np.sqrt(skilled @ (types.skill - mean) ** 2 / skilled.sum() + 0.01)
        seen = sums(types.intention, crowd, 3) + INTENTIONS_SEEN
        log_prior = self._log_prior(float(mean), float(deviation), seen, skilled)
        if crowd @ (log_prior - self.log_prior) > 0:
            self.log_prior = log_prior

    def _log_prior(self, mean: float, deviation: float, intentions: Floats, skilled: Floats) -> Floats:
        """[V] log share of types: intentions as given, Gaussian skills, discriminations as of the `skilled` [V]."""
        types = self.types
        log_prior = -0.5 * ((types.skill - mean) / deviation) ** 2
        for value in np.unique(types.discrimination):
            same = types.discrimination == value
            log_prior[same] += np.log(skilled[same].sum() + 1.0) - _log_sum(log_prior[same][None])[0]
        for intention, seen in enumerate(intentions):
            same = types.intention == intention
            log_prior[same] += np.log(seen / intentions.sum()) - _log_sum(log_prior[same][None])[0]
        return log_prior

    def _expected_logs(self) -> tuple[Floats, Floats]:
        """[J·L, G] each: E[log hit], E[log miss] of every annotator at every number of labels."""
        hit = np.stack([self.belief @ table for table in self.log_hit], axis=1)
        miss = np.stack([self.belief @ table for table in self.log_miss], axis=1)
        return hit.reshape(-1, len(self.nodes)), miss.reshape(-1, len(self.nodes))

    def lifted_posterior(self) -> tuple[Floats, Floats]:
        """[O], [I] what the crowd says with the gold labels lifted."""
        share, unchosen, node = self._lifted()
        return (share * node[self.answers.option_item]).sum(1), (unchosen * node).sum(1)

    def _lifted(self) -> tuple[Floats, Floats, Floats]:
        """[O, G], [I, G], [I, G]: each label's and each unchosen label's share at every node, and the nodes' posterior,
        with the gold labels lifted."""
        share, unchosen, total = normalise(self.answers, self.ratio, np.zeros((len(self.answers.items), 1)))
        joint = self.base + total + self.log_node
        return share, unchosen, np.exp(joint - _log_sum(joint)[:, None])

    def weight(self) -> Floats:
        """[J] nats that one answer adds to the label it names, over tasks of all difficulties."""
        log_hit, log_miss = self._expected_logs()
        weight = ((log_hit - log_miss) @ np.exp(self.log_node)).reshape(-1, len(self.label_counts))
        answered = np.asarray(self.given.sum(axis=0)).reshape(weight.shape)
        return np.asarray((weight * answered).sum(1) / np.maximum(answered.sum(1), 1))

    def difficulty(self) -> Floats:
        """[I] posterior mean of D_i by what the crowd says: a gold label would show in it and give a probe away."""
        return self._lifted()[2] @ self.nodes


def _nodes(spread: float) -> tuple[Floats, Floats]:
    """Nodes [G] and their log weights for a Gaussian difficulty: Gauss-Hermite where few do, even steps else."""
    count = NODES[spread]
    if count <= 9:
        points, weight = np.polynomial.hermite_e.hermegauss(count)
        return spread * points, np.log(weight / weight.sum())
    nodes: Floats = np.linspace(-3.2, 3.2, count).astype(float)
    log_weight = -0.5 * nodes**2
    return spread * nodes, log_weight - _log_sum(log_weight[None])[0]


def _log_sum(rows: Floats) -> Floats:
    """log of the sum of exp along the rows; quicker than scipy's for many short rows."""
    top = rows.max(1)
    return np.asarray(top + np.log(np.exp(rows - top[:, None]).sum(1)))
