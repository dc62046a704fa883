"""GEM with difficulty integrated out: every annotator has one skill, which does not depend on the label.

An answer follows the paper's model, s = 1 / (1 + exp(−a_j (d_j − D_i))) with `hit` and `miss` as in `paper`, with two
changes. The difficulty D_i of a task is not estimated but summed over a grid of nodes, because a handful of answers is
not enough for a parameter of its own. An annotator's (intention, skill d_j, discrimination a_j) is not a point but a
distribution over a grid of *types*. This compares each intention at its own best skill, leaves doubt about annotators
with few answers, and gives standard errors and the probability of being an adversary directly.

Scale: D_i has mean 0 and standard deviation `spread`. Skill has the same unit, which for a_j = 1 is one unit of
log-odds. An annotator of skill 0 knows half of the average tasks.

Beside the paper's two intentions there is a third, guessing: the paper's spammers, who have no skill at all.

Symbols: J annotators, V types, G nodes, L distinct numbers of labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from .answers import Answers
from .arrays import group_sums, log_sum_exp
from .em import run_em
from .fit import Fit, Posterior, Votes, initial_difficulty, vote_shares, with_newcomers
from .item_blocks import Cells, ItemBlock, Logs, divide_items
from .types import FitProgress, Floats, Integers, Positions

NODES = {0.0: 1, 1.0: 7, 2.0: 25, 4.0: 51}  # spread of the difficulty → number of nodes
DISCRIMINATIONS = {0.0: [1.0], 1.0: [0.5, 1.0, 2.0]}  # the wider the spread, the more a_j shows
ALL_DISCRIMINATIONS = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
HONEST, ADVERSARY, GUESSING = 0, 1, 2
INTENTION_PRIOR = np.array([8.5, 1.0, 0.5])  # pseudo-counts of the three intentions
MIN_ADVERSARY_ABILITY = 0.1  # an adversary who can solve a smaller share of the tasks looks like somebody who guesses
CROWD_FROM = 3  # iterations after which the crowd's distribution of types is learned
MIN_PROBABILITY = 1e-9  # no answer is impossible


def fit_skill(
    answers: Answers,
    progress: FitProgress,
    spread: float = 0.0,
    floor: float = -np.inf,
    start: tuple[Floats, Floats] | None = None,
) -> Fit:
    """Fit the form with the given spread of difficulty, which must be a key of NODES.

    `start` are beliefs [J, V] and log prior [V] of a fit to other answers of the same annotators.
    """
    model = SkillModel(answers, spread)
    if start is not None:
        model.start_from(*start)
    convergence = run_em(model, answers, progress, floor=floor, resumed=start is not None)
    belief, log_prior = model.belief, model.log_prior

    def count_votes(table: Answers) -> Votes:
        voting = SkillModel(table, spread)
        voting.belief = belief
        posterior, difficulty = voting.item_beliefs()
        return Votes(table, posterior, difficulty if spread else None)

    posterior, difficulty = model.item_beliefs()
    skill, skill_error = model.skill()
    knowledge, knowledge_error = model.knowledge()
    return Fit(
        answers=answers,
        form=f"skill-{spread:g}",
        posterior=posterior,
        skill=skill,
        skill_error=skill_error,
        adversary=belief[:, model.types.intention == ADVERSARY].sum(1),
        knowledge=knowledge,
        knowledge_error=knowledge_error,
        weight=with_newcomers(answers, model.weight()),
        difficulty=difficulty if spread else None,
        convergence=convergence,
        count_votes=count_votes,
        resume=lambda table, progress: fit_skill(table, progress, spread, start=(belief, log_prior)),
    )


@dataclass(frozen=True)
class AnnotatorTypes:
    """The grid of annotator types: [V] each. Adversaries are only those with enough skill to avoid the truth."""

    skill: Floats
    discrimination: Floats
    intention: Integers  # HONEST, ADVERSARY or GUESSING

    @classmethod
    def grid(cls, spread: float) -> AnnotatorTypes:
        reach = 4.0 + 2.5 * spread
        skill = np.arange(-reach, reach + 0.25, 0.5)
        discrimination = DISCRIMINATIONS.get(spread, ALL_DISCRIMINATIONS)
        skills, discriminations = (part.ravel() for part in np.meshgrid(skill, discrimination))
        honest = cls(skills, discriminations, np.full(len(skills), HONEST, np.int32))
        nodes, log_node = difficulty_nodes(spread)
        able = honest.solves(nodes) @ np.exp(log_node) >= MIN_ADVERSARY_ABILITY
        return cls(
            np.concatenate([skills, skills[able], [-reach]]),
            np.concatenate([discriminations, discriminations[able], [1.0]]),
            np.concatenate([honest.intention, np.full(able.sum(), ADVERSARY), [GUESSING]]).astype(np.int32),
        )

    def solves(self, difficulty: Floats) -> Floats:
        """[V, G] s: the probability that a type can solve a task of the given difficulty."""
        able = np.asarray(expit(self.discrimination[:, None] * (self.skill[:, None] - difficulty)))
        return np.where(self.intention[:, None] == GUESSING, 0.0, able)

    def hit_and_miss(self, difficulty: Floats, labels: float) -> tuple[Floats, Floats]:
        """[V, G] each: probability of an answer if it is the true label, and if another label is."""
        solves = self.solves(difficulty)
        guess = (1 - solves) / labels + MIN_PROBABILITY
        adversary = self.intention[:, None] == ADVERSARY
        hit = np.where(adversary, guess, solves + guess)
        miss = np.where(adversary, guess + solves / (labels - 1), guess)
        return hit, miss


class SkillModel:
    """The model's state: beliefs about the annotators' types, and what the items say about them."""

    def __init__(self, answers: Answers, spread: float) -> None:
        self.answers, self.spread = answers, spread
        self.nodes, self.log_node = difficulty_nodes(spread)
        self.types = AnnotatorTypes.grid(spread)
        # Positions of the types that share a discrimination, and of those that share an intention
        self.same_discrimination = _groups(self.types.discrimination, np.unique(self.types.discrimination))
        self.same_intention = _groups(self.types.intention, np.arange(len(INTENTION_PRIOR)))
        counts, count_of_item = np.unique(np.maximum(answers.label_count, 2), return_inverse=True)
        self.label_counts = counts  # [L] distinct K; answers to items with K = 1 are left out below
        tables = [self.types.hit_and_miss(self.nodes, labels) for labels in counts]
        self.log_tables = np.log(np.concatenate([table for pair in tables for table in pair], axis=1)).T  # [L·2G, V]
        given = self._given(count_of_item)
        columns = given.shape[1]
        self.answered = np.bincount(given.indices, minlength=columns).reshape(-1, len(counts))  # [J, L]
        self.blocks = divide_items(answers, given, self.log_node)
        nobody = np.zeros(len(self.types.skill))
        self.log_prior = self._log_prior(0.0, max(2.0, spread / 2), INTENTION_PRIOR, nobody)  # [V]
        self.belief: Floats = np.tile(np.exp(self.log_prior), (len(answers.annotators), 1))  # [J, V] q(type of j)
        self.negative_entropy = 0.0  # Σ_j E_q[log q]
        self.iterations = 0
        self._counts: Floats | None = None
        self._beliefs: tuple[Posterior, Floats] | None = None  # `item_beliefs`, if the E-step has found them already

    def _given(self, count_of_item: Positions) -> sparse.csr_array:
        """[O, J·L] one if the annotator gave the option; `count_of_item` [I] says which K the item has."""
        answers, used = self.answers, self.answers.is_decidable
        if len(self.label_counts) == 1 and used.all():
            return answers.given_by_option
        column = answers.answer_annotator[used].astype(np.int64) * len(self.label_counts)
        column += count_of_item[answers.answer_item[used]]
        shape = (len(answers.option_item), len(answers.annotators) * len(self.label_counts))
        return sparse.csr_array((np.ones(len(column)), (answers.answer_option[used], column)), shape=shape)

    @property
    def counts(self) -> Floats:
        """[J, L·2G] expected right answers, then wrong ones, of every annotator at every node; from the votes at first:
        the more divided the vote on an item, the harder the item."""
        if self._counts is None:
            share = vote_shares(self.answers).options
            guess = initial_difficulty(self.answers, share)
            counts = self._no_counts()
            for block in self.blocks:
                node = self.initial_nodes(guess[block.items])
                counts += block.count_answers(share[block.options][:, None] * node[block.option_item], node)
            self._counts = counts.reshape(len(self.belief), -1)
        return self._counts

    def initial_nodes(self, guess: Floats) -> Floats:
        """[I, G] first probabilities of the nodes around the guessed difficulty [I], in standard deviations."""
        log_weight = -0.5 * ((self.nodes[None] / (self.spread or 1.0) - guess[:, None]) / 0.5) ** 2
        return np.asarray(np.exp(log_weight - log_sum_exp(log_weight)[:, None]))

    def _no_counts(self) -> Floats:
        return np.zeros((len(self.belief) * len(self.label_counts), 2 * len(self.nodes)))

    def start_from(self, belief: Floats, log_prior: Floats) -> None:
        """Begin with what was learned from other answers."""
        self.belief, self.log_prior, self.iterations = belief, log_prior, CROWD_FROM
        self.e_step()

    def m_step(self) -> None:
        """Update the beliefs about every annotator's type, then the distribution of types in the crowd."""
        self._beliefs = None
        score = self.counts @ self.log_tables
        score += self.log_prior
        score -= score.max(1, keepdims=True)
        self.belief = np.exp(score)
        total = self.belief.sum(1)
        self.belief /= total[:, None]
        self.negative_entropy = float(np.vdot(self.belief, score) - np.log(total).sum())
        self.iterations += 1
        if self.iterations > CROWD_FROM:  # the first iterations still follow the vote shares
            self._update_crowd()

    def e_step(self) -> float:
        """Update what every item's posterior of label and difficulty says about those who answered it."""
        logs = self.expected_logs()
        counts, evidence, beliefs = self._no_counts(), 0.0, self._empty_beliefs()
        for block in self.blocks:
            cells = block.posterior(logs)
            counts += block.count_answers(cells.option, cells.node)
            evidence += float(cells.evidence.sum())
            self._write_beliefs(block, cells, *beliefs)
        if not self.answers.has_gold.any():
            self._beliefs = beliefs
        self._counts = counts.reshape(len(self.belief), -1)
        divergence = self.negative_entropy - self.belief.sum(0) @ self.log_prior
        return float(evidence - divergence)

    def _update_crowd(self) -> None:
        """Learn the prior from the crowd (empirical Bayes): Gaussian skills, free shares of discriminations and
        intentions. The new prior is kept only if it fits better."""
        types, crowd = self.types, self.belief.sum(0)
        skilled = np.where(types.intention == GUESSING, 0.0, crowd)
        mean = skilled @ types.skill / skilled.sum()
        deviation = np.sqrt(skilled @ (types.skill - mean) ** 2 / skilled.sum() + 0.01)
        intentions = group_sums(types.intention, crowd, 3) + INTENTION_PRIOR
        log_prior = self._log_prior(float(mean), float(deviation), intentions, skilled)
        if crowd @ (log_prior - self.log_prior) > 0:
            self.log_prior = log_prior

    def _log_prior(self, mean: float, deviation: float, intentions: Floats, skilled: Floats) -> Floats:
        """[V] log share of each type: Gaussian skills, discriminations in proportion to `skilled` [V], and intentions
        in proportion to their counts."""
        log_prior = -0.5 * ((self.types.skill - mean) / deviation) ** 2
        for same in self.same_discrimination:
            log_prior[same] += np.log(skilled[same].sum() + 1.0) - log_sum_exp(log_prior[same][None])[0]
        for same, count in zip(self.same_intention, intentions, strict=True):
            log_prior[same] += np.log(count / intentions.sum()) - log_sum_exp(log_prior[same][None])[0]
        return log_prior

    def expected_logs(self) -> Logs:
        """What every annotator's answers say, for every number of labels."""
        nodes = len(self.nodes)
        logs = (self.belief @ self.log_tables.T).reshape(-1, 2 * nodes)
        lead, miss = logs[:, :nodes] - logs[:, nodes:], logs[:, nodes:].copy()
        return Logs(lead, miss, float(max(np.abs(lead).max(), np.abs(miss).max())))

    def item_beliefs(self) -> tuple[Posterior, Floats]:
        """The posterior of the labels, and [I] the posterior mean of D_i, both regardless of gold labels, whose
        influence would reveal which tasks are gold."""
        if self._beliefs is not None:
            return self._beliefs
        logs, beliefs = self.expected_logs(), self._empty_beliefs()
        for block in self.blocks:
            self._write_beliefs(block, block.posterior(logs, gold=False), *beliefs)
        return beliefs

    def _empty_beliefs(self) -> tuple[Posterior, Floats]:
        items = len(self.answers.items)
        return Posterior(np.empty(len(self.answers.option_item)), np.empty(items)), np.empty(items)

    def _write_beliefs(self, block: ItemBlock, cells: Cells, posterior: Posterior, difficulty: Floats) -> None:
        """Sum the cells of a block over the nodes; a product with ones is faster than a sum over short rows."""
        ones = np.ones(len(self.nodes))
        posterior.options[block.options] = cells.option @ ones
        posterior.unchosen[block.items] = np.where(block.unchosen_count[:, 0] > 0, cells.unchosen @ ones, 0.0)
        difficulty[block.items] = cells.node @ self.nodes

    def skill(self) -> tuple[Floats, Floats]:
        """[J], [J] posterior mean of the skill d_j and its standard error."""
        mean = self.belief @ self.types.skill
        extra = np.where(self.types.intention == GUESSING, 1.0, 0.0)  # guessing is somewhere low on the scale
        variance = self.belief @ (self.types.skill**2 + extra) - mean**2
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def knowledge(self) -> tuple[Floats, Floats]:
        """[J], [J] expected share of the tasks that the annotator can solve, negative for adversaries, and its
        standard error."""
        share = self.types.solves(self.nodes) @ np.exp(self.log_node)
        share = np.where(self.types.intention == ADVERSARY, -share, share)
        mean = self.belief @ share
        return mean, np.sqrt(np.maximum(self.belief @ share**2 - mean**2, 0.0))

    def weight(self) -> Floats:
        """[J] nats that one answer adds to the label it names, averaged over the difficulties of tasks."""
        lead = self.expected_logs().lead
        weight = (lead @ np.exp(self.log_node)).reshape(self.answered.shape)
        return np.asarray((weight * self.answered).sum(1) / np.maximum(self.answered.sum(1), 1))


def _groups(values: Floats | Integers, names: Floats | Positions) -> list[Positions]:
    """For each name the positions where it is the value."""
    return [np.flatnonzero(values == name) for name in names]


def difficulty_nodes(spread: float) -> tuple[Floats, Floats]:
    """Nodes [G] of a Gaussian difficulty and their log weights: Gauss-Hermite if few are enough, else even steps."""
    count = NODES[spread]
    if count <= 9:
        points, weight = np.polynomial.hermite_e.hermegauss(count)
        return spread * points, np.log(weight / weight.sum())
    nodes: Floats = np.linspace(-3.2, 3.2, count).astype(float)
    log_weight = -0.5 * nodes**2
    return spread * nodes, log_weight - log_sum_exp(log_weight[None])[0]
