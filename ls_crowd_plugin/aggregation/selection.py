"""Selection of the form to use: by name, by the evidence of the answers, or by gold, with the reason in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import UnusableInput
from ..records import MIN_ORDERED
from .answers import Answers
from .calibration import AS_IT_IS, DEFAULT_CALIBRATION, POOL_CALIBRATION, Calibration, calibrate
from .cross_validation import MIN_WEIGHT, GoldWeights, HeldOut, cross_validate, weigh_by_gold
from .fit import Fit, Posterior, Votes
from .forms import AGREEMENT, FORMS, OTHER_METHODS, Form, common_table, forms_of
from .types import Progress

SHARPNESS = 0.01  # nats per answer by which a form must fall behind to lose weight by a factor of e
OTHERS_WEIGHT, OTHERS_GOLD = 0.2, 10.0  # prior weight of forms that only gold can bring in, reached with much gold

# Where mistakes depend on the label, no form is best on most crowds, and evidence does not tell which one is. So three
# forms that err in different ways count the same: one with many numbers per annotator, one with few, and the votes.
# A form that knows the order of all labels is better than either of the other two, and counts as much as both.
POOLED_WITH_HABITS = ("leanings", "agreement")
POOLED = ("habits", "ordered")  # families
VOTES = ("agreement", "plu")  # may always get weight from gold


@dataclass(frozen=True)
class MethodFit:
    """A fit and how to calibrate it, the method that it came from, and why."""

    fit: Fit  # with held-out posteriors of the gold items, if they exist
    method: str
    why: str
    calibration: Calibration  # AS_IT_IS for an average of calibrated forms
    gold_blind: Fit | None = None  # the fit with its own posteriors of the gold items, if `fit` has held-out ones


def fit_method(answers: Answers, method: str, form: str | None, seed: int, progress: Progress) -> MethodFit:
    """Fit a method; `form` names one of its forms, or is None to let the data decide."""
    if method == "auto":
        return _fit_auto(answers, seed, progress)
    if method == "gem" and form is None:
        return _fit_gem(answers, seed, progress)
    chosen = OTHER_METHODS[method] if form is None else forms_of(method)[form]
    if not chosen.fits_in_memory(answers):
        raise UnusableInput(
            f"Form {form!r} needs tables that are too large for this many labels and annotators; use a skill form, or"
            " leave the form out to let the data decide."
        )
    name = form if method == "gem" else method
    return _fit_form(answers, method, chosen, f"{name} ({chosen.description}) was requested.", seed, progress)


def _fit_form(answers: Answers, method: str, form: Form, why: str, seed: int, progress: Progress) -> MethodFit:
    fit = form(answers, partial(progress, method))
    held_out = cross_validate(fit.answers, {method: form}, {method: 1.0}, seed, progress)
    return _calibrated(fit, method, why, held_out)


def _fit_auto(answers: Answers, seed: int, progress: Progress) -> MethodFit:
    """GEM, unless there is nothing to compare."""
    if len(answers.annotators) == 1 or answers.answers_per_item.max() <= 1:
        why = "No task has answers from two people, so there is nothing to compare."
        return _fit_form(answers, "plu", OTHER_METHODS["plu"], why, seed, progress)
    return _fit_gem(answers, seed, progress)


@dataclass(frozen=True)
class Evidence:
    """How well GEM's forms explain the answers, and which forms to average."""

    fits: Mapping[str, Fit]  # form → fit to all answers, or to what `compare_forms` says; the best first
    weights: Mapping[str, float]  # the forms worth averaging → weight, the best first
    tried: Sequence[str]  # all forms that were compared, the best first
    reason: str  # why these forms are used
    statistics: str  # how the best two compare

    @property
    def form(self) -> str:
        return "average" if len(self.weights) > 1 else next(iter(self.weights))

    @property
    def name(self) -> str:
        """The form for a sentence."""
        return "the average of GEM's forms" if self.form == "average" else self.form

    @property
    def why(self) -> str:
        return f"{self.reason} {self.statistics}"

    @property
    def calibration(self) -> Calibration:
        """What to assume without gold."""
        return POOL_CALIBRATION if "agreement" in self.weights else DEFAULT_CALIBRATION

    @property
    def members(self) -> dict[str, Form]:
        return {name: _member(name) for name in self.weights}

    def fit(self) -> Fit:
        """Average the posteriors; annotators and difficulties are as in the best form."""
        if self.form != "average":
            return self.fits[self.form]
        return _average({name: self.fits[name] for name in self.weights}, self.weights)


def _average(fits: Mapping[str, Fit], weights: Mapping[str, float]) -> Fit:
    best = next(iter(fits.values()))
    table = common_table(best.answers, [_member(name) for name in fits])
    members = {name: fit.posterior_on(table).times(weights[name]) for name, fit in fits.items()}
    posterior = Posterior.total(members.values())
    fitted = Posterior.total(fit.fitted_on(table).times(weights[name]) for name, fit in fits.items())

    def count_votes(other: Answers) -> Votes:
        return _average({name: fit.vote(other) for name, fit in fits.items()}, weights).votes

    average = replace(best, answers=table, form="average", posterior=posterior, fitted=fitted, main=best.main or best)
    return replace(average, count_votes=count_votes, members=members)


def compare_forms(answers: Answers, seed: int, progress: Progress, blind: bool = False) -> Evidence:
    """Compare GEM's forms by evidence. On a large crowd, a sample decides which forms are fitted to all answers.

    If `blind`, no gold is shown, and nothing but the sample is fitted: as a start for fits that know gold.
    """
    sample = answers.sample(seed)
    is_sample = sample is not answers
    if blind:
        sample = sample.with_gold(np.full(len(sample.items), -1, np.int32))
    count = len(sample.answer_item)
    candidates = {name: form for name, form in FORMS.items() if form.family and form.applies(answers)}
    too_large = [name for name, form in candidates.items() if not form.fits_in_memory(answers)]
    fits = _try_forms(sample, {name: candidates[name] for name in candidates if name not in too_large}, progress)
    score = {name: fit.objective - FORMS[name].charge * count for name, fit in fits.items()}
    best, second, *_ = ranked = sorted(score, key=lambda name: -score[name])
    lead = (score[best] - score[second]) / max(count, 1)
    statistics = f"{best} leads {second} by {lead:.4f} nats per answer; {len(fits)} forms compared"
    weights = _choose_weights({name: fits[name] for name in ranked}, answers)
    if is_sample:
        statistics += f" on a sample of {count:,} answers"
    if is_sample and not blind:
        fits = {name: _resume(name, fits[name], answers, progress) for name in fits if name in weights}
    table = sample if blind else answers
    members = {name: fits[name] if name in fits else _member(name)(table, partial(progress, name)) for name in weights}
    reason = _reason(weights)
    if too_large:
        reason += f" Not tried: {_in_words(too_large)}, whose tables would be too large."
    others = {name: fits[name] for name in ranked if name in fits and name not in members}
    return Evidence({**members, **others}, weights, ranked, reason, f"{statistics}.")


def _resume(name: str, fit: Fit, answers: Answers, progress: Progress) -> Fit:
    """Fit a form to all answers, starting from its fit to a sample of them."""
    resume = fit.resume or _member(name)
    return resume(answers, partial(progress, name))


def _member(name: str) -> Form:
    return AGREEMENT if name == "agreement" else FORMS.get(name) or OTHER_METHODS[name]


def _choose_weights(fits: Mapping[str, Fit], answers: Answers) -> dict[str, float]:
    """Weigh the forms by their evidence; `fits` has the best one first. A form of habits or of a scale is pooled."""
    family = FORMS[next(iter(fits))].family
    if family not in POOLED:
        return _weights(fits)
    own = _weights({name: fit for name, fit in fits.items() if FORMS[name].family == family})
    others = [name for name in POOLED_WITH_HABITS if _member(name).fits_in_memory(answers)]
    counts_as = 2 if family == "ordered" and _all_ordered(answers) else 1
    share = 1 / (counts_as + len(others))
    return {**{name: weight * share * counts_as for name, weight in own.items()}, **dict.fromkeys(others, share)}


def _all_ordered(answers: Answers) -> bool:
    """Whether all questions with more than two labels are ordered: for others, an ordered form is one of habits."""
    return bool(answers.is_ordered[np.diff(answers.choice_start) >= MIN_ORDERED].all())


def _try_forms(answers: Answers, forms: Mapping[str, Form], progress: Progress) -> dict[str, Fit]:
    """Fit the forms of each family in order, as long as each is better than the one before.

    Uncharged forms come first. A form that falls hopelessly behind the best is given up, and if it is a slow one, so
    is the rest of its family.
    """
    count = len(answers.answer_item)
    negligible = -np.log(MIN_WEIGHT) * SHARPNESS * count  # a form this far behind would have no weight in the average
    fits: dict[str, Fit] = {}
    to_beat: dict[str, float] = {}  # family → score that its next form must exceed
    ended: set[str] = set()
    for name, form in sorted(forms.items(), key=lambda entry: entry[1].charge):
        if form.family in ended:
            continue
        floor = max((fit.objective for fit in fits.values()), default=-np.inf) - negligible
        fit = fits[name] = form(answers, partial(progress, f"trying {name}"), floor)
        score = fit.objective - form.charge * count
        hopeless = form.all_labels and fit.objective < floor
        if hopeless or score <= to_beat.get(form.family, -np.inf):
            ended.add(form.family)
        to_beat[form.family] = score
    return fits


def _weights(fits: Mapping[str, Fit]) -> dict[str, float]:
    """Weights of the forms to average: exp of the evidence per answer that they lack, in units of SHARPNESS."""
    answers = max(len(next(iter(fits.values())).answers.answer_item), 1)
    best = max(fit.objective for fit in fits.values())
    weight = {name: np.exp((fit.objective - best) / answers / SHARPNESS) for name, fit in fits.items()}
    total = sum(weight.values())
    kept = {name: value / total for name, value in weight.items() if value / total >= MIN_WEIGHT}
    total = sum(kept.values())
    return {name: float(value / total) for name, value in kept.items()}


def _fit_gem(answers: Answers, seed: int, progress: Progress) -> MethodFit:
    """Average the forms by evidence, and by gold if there is any; with gold each form has a calibration of its own.

    The evidence is that of the answers alone: what gold tells about forms counts once, and the fits without gold are
    where those with gold start from.
    """
    gold = int((answers.has_gold & answers.is_informative).sum())
    if not gold:
        evidence = compare_forms(answers, seed, progress)
        fit = evidence.fit()
        held_out = cross_validate(fit.answers, evidence.members, evidence.weights, seed, progress)
        return _calibrated(fit, "gem", evidence.why, held_out, evidence.calibration)
    evidence = compare_forms(answers, seed, progress, blind=True)
    prior = _prior_weights(evidence, gold)
    forms = {name: _member(name) for name in prior}
    judged = weigh_by_gold(answers, forms, prior, evidence.calibration, seed, progress, evidence.fits)
    weighed = replace(evidence, fits=judged.fits, weights=judged.weights)
    method = weighed.form if weighed.form in OTHER_METHODS else "gem"
    why = f"{_reason_with_gold(judged)} {evidence.statistics}"
    return _published(weighed.fit(), method, why, judged.held_out, replace(AS_IT_IS, gold=judged.items))


def _prior_weights(evidence: Evidence, gold: int) -> dict[str, float]:
    """The weights by evidence, and a little for the best form of each other kind; the more gold, the more of that.

    The form that judges people is the first that keeps its weight, so those that describe them best come first.
    """
    families = {_member(name).family for name in evidence.weights}
    others = []
    for name in evidence.tried:
        if (family := FORMS[name].family) not in families:
            families.add(family)
            others.append(name)
    others += [name for name in VOTES if name not in evidence.weights]
    share = OTHERS_WEIGHT * gold / (gold + OTHERS_GOLD)
    prior = {name: (1 - share) * weight for name, weight in evidence.weights.items()}
    return {**prior, **dict.fromkeys(others, share / len(others))}


def _calibrated(
    fit: Fit, method: str, why: str, held_out: HeldOut | None, default: Calibration = DEFAULT_CALIBRATION
) -> MethodFit:
    """Calibrate a fit on held-out gold, because a fit that saw the gold labels is overconfident about them."""
    if held_out is None:
        return MethodFit(fit, method, why, default)
    table = held_out.table
    calibration = calibrate(table, held_out.posterior, fit.weight, table.gold_option, default)
    return _published(fit, method, why, held_out, calibration)


def _published(fit: Fit, method: str, why: str, held_out: HeldOut, calibration: Calibration) -> MethodFit:
    """The posteriors of gold items become the held-out ones.

    On a large crowd these exist for a sample only, and the gold items keep the posteriors of the fit.
    """
    table = held_out.table
    if len(table.items) != len(fit.answers.items):
        return MethodFit(fit, method, why, calibration)
    return MethodFit(_with_held_out(fit, held_out), method, why, calibration, gold_blind=fit.on(table))


def _with_held_out(fit: Fit, held_out: HeldOut) -> Fit:
    """The fit, with the held-out posteriors of the items that have one."""
    table, replaced = held_out.table, held_out.is_held_out
    own = fit.on(table)

    def mix(known: Posterior, hidden: Posterior) -> Posterior:
        options = np.where(replaced[table.option_item], hidden.options, known.options)
        return Posterior(options, np.where(replaced, hidden.unchosen, known.unchosen))

    def count_votes(other: Answers) -> Votes:
        voted = fit.vote(other)
        return _with_held_out(voted, held_out.vote(voted.answers)).votes

    members = own.members and {name: mix(member, held_out.members[name]) for name, member in own.members.items()}
    return replace(own, posterior=mix(own.posterior, held_out.posterior), members=members, count_votes=count_votes)


def _reason(weights: Mapping[str, float]) -> str:
    if len(weights) == 1:
        (name,) = weights
        return f"{name} ({FORMS[name].description}) explains the answers best."
    forms = _in_words([f"{name} ({weight:.0%})" for name, weight in weights.items()])
    if "agreement" in weights:
        is_scale = any(FORMS[name].family == "ordered" for name in weights if name in FORMS)
        why = "The labels behave like a scale" if is_scale else "Mistakes depend on the label"
        return f"{why}. Averages {forms}, which err in different ways."
    return f"Averages {forms}, which explain the answers about equally well."


def _reason_with_gold(judged: GoldWeights) -> str:
    weights = sorted(judged.weights.items(), key=lambda entry: -entry[1])
    forms = _in_words([f"{name} ({weight:.0%})" for name, weight in weights])
    used = f"Averages {forms}" if len(weights) > 1 else f"Uses {weights[0][0]}"
    tasks = "1 gold task" if judged.items == 1 else f"{judged.items} gold tasks"
    right = f"on {tasks}, hidden in turn, this is right on {judged.accuracy:.1%}"
    return f"{used}, by how well they explain the answers and gold: {right}."


def _in_words(names: Sequence[str]) -> str:
    """Join names: "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
