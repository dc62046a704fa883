"""Which form of which method: named forms, GEM's choice among its own, and `auto`, each with its reason in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ..errors import UnusableInput
from .answers import Answers, Floats
from .calibration import USUAL, Calibration, calibrate
from .fit import Fit, Progress
from .habits import fit_habits, table_size
from .paper import fit_paper
from .skill import SPREADS, fit_skill
from .weighted import fit_hyb, fit_neg, fit_plurality, fit_sw

MOST_TABLE = 5e5  # habit tables larger than this are not tried: many labels times many annotators
MOST_CELLS = 2e8  # nor are posteriors over this many (task, label) pairs
SAMPLE_ANSWERS = 50_000  # forms are compared on at most about so many answers
LEAST_GOLD = 10  # fewer gold tasks than this cannot tell forms apart
FOLDS = 4
SHARPNESS = 0.01  # nats per answer by which a form must fall behind to lose weight by a factor of e
LEAST_WEIGHT = 0.05
DIFFICULTY_GAIN = 0.005  # nats per answer


@dataclass(frozen=True)
class Form:
    """A way to fit, with the words that explain it."""

    description: str
    fit: Callable[..., Fit]
    all_labels: bool = False  # needs every label of a question as an option of each item

    def __call__(self, answers: Answers, progress: Callable[[float], None], **options: float) -> Fit:
        return self.fit(answers.with_all_options() if self.all_labels else answers, progress, **options)


FORMS: dict[str, Form] = {
    "paper": Form("one skill each, difficulty of every task estimated: the paper's form", fit_paper),
    "paper-tied": Form("the paper's form with one discrimination for all", partial(fit_paper, tied=True)),
    "paper-complex": Form("the paper's form with crafty adversaries", partial(fit_paper, complex_=True)),
    "skill-0": Form("one skill each, tasks equally hard", partial(fit_skill, spread=0.0)),
    "skill-1": Form("one skill each, difficulty integrated out, small spread", partial(fit_skill, spread=1.0)),
    "skill-2": Form("one skill each, difficulty integrated out, medium spread", partial(fit_skill, spread=2.0)),
    "skill-4": Form("one skill each, difficulty integrated out, large spread", partial(fit_skill, spread=4.0)),
    "habits-1": Form("label-dependent mistakes, tasks equally hard", partial(fit_habits, grades=1), True),
    "habits-2": Form("label-dependent mistakes, two grades of difficulty", partial(fit_habits, grades=2), True),
    "habits-3": Form("label-dependent mistakes, three grades of difficulty", partial(fit_habits, grades=3), True),
}
WEIGHTED: dict[str, Callable[..., Fit]] = {"neg": fit_neg, "sw": fit_sw, "hyb": fit_hyb}
OTHERS: dict[str, Form] = {
    "neg": Form("weighted plurality with negative weights", fit_neg),
    "sw": Form("weighted plurality with intentions", fit_sw),
    "hyb": Form("weighted plurality with intentions, from where neg ends", fit_hyb),
    "plu": Form("plurality", fit_plurality),
}
JUDGED_BY_GOLD = ("neg", "plu")  # beside GEM's own forms


@dataclass(frozen=True)
class Choice:
    """A fit, the method and form it came from, and why."""

    fit: Fit
    method: str
    form: str
    why: str
    calibration: Calibration
    alike: Fit | None = None  # the fit without what others say of its gold items, where they do


def fit_method(answers: Answers, method: str, form: str | None, seed: int, progress: Progress) -> Choice:
    """Fits `method`; `form` names one of FORMS for GEM, or `printed` for NEG, SW and HYB; None leaves it open."""
    if method == "auto":
        return _auto(answers, seed, progress)
    if method == "gem" and form is None:
        tried, members, name, why = _gem(answers, seed, progress)
        return _calibrated(_average(tried, members), members, "gem", name, why, seed, progress)
    if method == "gem":
        name, how = str(form), FORMS[str(form)]
        if how.all_labels and name not in _habit_forms(answers)[0]:
            raise UnusableInput(
                f"Form {name!r} needs tables too large for so many labels and annotators; use a skill form, or leave"
                " the form to the data."
            )
        why = f"{name} ({how.description}) was asked for."
    elif form == "printed":
        name, how = form, Form(OTHERS[method].description, partial(WEIGHTED[method], printed=True))
        why = f"{method} as printed was asked for."
    else:
        name, how = method, OTHERS[method]
        why = f"{method} was asked for."
    fit = how(answers, partial(progress, method))
    return _calibrated(fit, {name: 1.0}, method, name if method == "gem" else fit.form, why, seed, progress, how)


def _calibrated(
    fit: Fit,
    members: dict[str, float],
    method: str,
    form: str,
    why: str,
    seed: int,
    progress: Progress,
    how: Form | None = None,
    judged: tuple[Answers, tuple[Floats, Floats]] | None = None,
) -> Choice:
    """Calibrated on gold, judged by fits that did not see it: one that did is too sure of itself.

    What the crowd says of a gold item is replaced by what those fits say. `judged` is the table and the posteriors [O],
    [I] of such fits, where they are known already. On a large crowd only a sample is fitted again, and the gold items'
    own posteriors stay.
    """
    if not (fit.answers.gold_option >= 0).any():
        return Choice(fit, method, form, why, Calibration(*USUAL))
    if judged is None:
        sample = _sample(fit.answers, seed, SAMPLE_ANSWERS)
        forms = {name: how or FORMS[name] for name in members}
        judged = sample, _weighted_mean(_unseen(sample, sample, forms, seed, progress), members)
    table, unseen = judged
    calibration = calibrate(table, *unseen, fit.weight, table.gold_option)
    if len(table.items) != len(fit.answers.items):
        return Choice(fit, method, form, why, calibration)
    gold = table.gold_option >= 0
    posterior, unchosen = _on(fit, table)
    alike = replace(fit, answers=table, posterior=posterior, unchosen=unchosen)
    posterior = np.where(gold[table.option_item], unseen[0], posterior)
    fit = replace(fit, answers=table, posterior=posterior, unchosen=np.where(gold, unseen[1], unchosen))
    return Choice(fit, method, form, why, calibration, alike)


def _explore(answers: Answers, seed: int, progress: Progress) -> tuple[dict[str, Fit], str]:
    """GEM's forms by evidence, the best first, and why the first is best.

    Grades and spreads are raised as long as that raises the evidence; that tasks differ in difficulty at all must be
    worth DIFFICULTY_GAIN. A form that falls hopelessly behind is given up. On a large crowd the forms are compared on a
    sample of its tasks; only the best is then fitted to all.
    """
    sample = _sample(answers, seed, SAMPLE_ANSWERS)
    count = len(sample.answer_item)
    behind = -np.log(LEAST_WEIGHT) * SHARPNESS * count  # further behind a form does not count even in an average
    habits, left_out = _habit_forms(answers)
    plain, *spreads = (f"skill-{spread:g}" for spread in SPREADS)
    tried = {plain: FORMS[plain](sample, partial(progress, f"trying {plain}"))}
    to_beat = {"habits": -np.inf, "skill": tried[plain].objective + DIFFICULTY_GAIN * count}  # by the next of a family
    for name in (*habits, *spreads):
        family = name.split("-")[0]
        if to_beat[family] == np.inf:
            continue
        least = max(fit.objective for fit in tried.values()) - behind
        tried[name] = FORMS[name](sample, partial(progress, f"trying {name}"), floor=least)
        hopeless = family == "habits" and tried[name].objective < least  # more grades would not make up for so much
        higher = tried[name].objective > to_beat[family] and not hopeless
        to_beat[family] = tried[name].objective if higher else np.inf
    charge = dict.fromkeys(spreads, DIFFICULTY_GAIN * count)
    ranked = sorted(tried, key=lambda name: charge.get(name, 0.0) - tried[name].objective)
    best, second = ranked[0], ranked[1]
    lead = tried[best].objective - tried[second].objective + charge.get(second, 0.0) - charge.get(best, 0.0)
    margin = lead / max(count, 1)
    why = f"explains the answers best of {len(tried)} forms: by {margin:.4f} nats per answer before {second}"
    if sample is not answers:
        why += f", on a sample of {count:,} answers"
        tried = {best: FORMS[best](answers, partial(progress, best))}
        ranked = [best]
    return {name: tried[name] for name in ranked}, f"{why}.{left_out}"


def _habit_forms(answers: Answers) -> tuple[list[str], str]:
    """The label-dependent forms whose tables are small enough, and a sentence where some are not."""
    cells = float(answers.label_count.sum())
    names = [
        f"habits-{grades}"
        for grades in (1, 2, 3)
        if table_size(answers, grades) <= MOST_TABLE and cells * grades <= MOST_CELLS
    ]
    if len(names) == 3:
        return names, ""
    which = "The label-dependent forms were" if not names else f"More grades than {names[-1]} has were"
    return names, f" {which} left out: their tables would hold more than {MOST_TABLE:,.0f} numbers."


def _gem(answers: Answers, seed: int, progress: Progress) -> tuple[dict[str, Fit], dict[str, float], str, str]:
    """GEM's forms, the weights of those worth averaging, the name of the result, and why."""
    tried, why = _explore(answers, seed, progress)
    members = _members(tried)
    best = next(iter(members))
    if len(members) == 1:
        return tried, members, best, f"{best} ({FORMS[best].description}) {why}"
    names = ", ".join(f"{name} ({weight:.0%})" for name, weight in members.items())
    reason = (
        f"The posteriors of {names} are averaged: they explain the answers about equally well, and how well a form"
        f" explains answers does not tell how near it is to the truth. {best} {why}"
    )
    return tried, members, "average", reason


def _auto(answers: Answers, seed: int, progress: Progress) -> Choice:
    """GEM, unless nothing can be compared or gold says otherwise."""
    if len(answers.annotators) == 1 or answers.answers_per_item.max() <= 1:
        fit = fit_plurality(answers, partial(progress, "plu"))
        why = "No task has answers of two people: there is nothing to compare."
        return _calibrated(fit, {"plu": 1.0}, "plu", fit.form, why, seed, progress, OTHERS["plu"])
    tried, members, form, reason = _gem(answers, seed, progress)
    gold = _gold_to_judge_by(answers)
    if gold < LEAST_GOLD:
        few = f" Gold on {gold} answered task(s) is too little to choose by." if gold else ""
        return _calibrated(_average(tried, members), members, "gem", form, reason + few, seed, progress)
    return _by_gold(answers, tried, members, form, reason, seed, progress)


def _members(tried: dict[str, Fit]) -> dict[str, float]:
    """Weights of the forms to average: exp of the evidence per answer they lack, in units of SHARPNESS."""
    answers = max(len(next(iter(tried.values())).answers.answer_item), 1)
    best = max(fit.objective for fit in tried.values())
    weight = {name: np.exp((fit.objective - best) / answers / SHARPNESS) for name, fit in tried.items()}
    total = sum(weight.values())
    kept = {name: value / total for name, value in weight.items() if value / total >= LEAST_WEIGHT}
    total = sum(kept.values())
    return {name: float(value / total) for name, value in kept.items()}


def _average(tried: dict[str, Fit], members: dict[str, float]) -> Fit:
    """The members' posteriors averaged; what is said of annotators and difficulty is the best member's."""
    first = tried[next(iter(members))]
    if len(members) == 1:
        return first
    table = _common_table(first.answers, members)
    posterior, unchosen = _weighted_mean({name: _on(tried[name], table) for name in members}, members)
    return replace(first, answers=table, form="average", posterior=posterior, unchosen=unchosen)


def _common_table(answers: Answers, names: Iterable[str]) -> Answers:
    """A table that the posteriors of all these forms can be written to."""
    return answers.with_all_options() if any(FORMS[name].all_labels for name in names if name in FORMS) else answers


def _on(fit: Fit, table: Answers) -> tuple[Floats, Floats]:
    """[O], [I] the posterior of a fit on a table whose options include those of its own."""
    own = fit.answers
    if len(own.option_item) == len(table.option_item):
        return fit.posterior, fit.unchosen
    posterior = fit.unchosen[table.option_item]
    first = own.choice_start[own.item_question]
    place = table.option_start[own.option_item] + own.option_choice - first[own.option_item]
    posterior[place] = fit.posterior
    return posterior, np.zeros(len(table.items))


def _weighted_mean(posteriors: dict[str, tuple[Floats, Floats]], weights: dict[str, float]) -> tuple[Floats, Floats]:
    options = sum(weight * posteriors[name][0] for name, weight in weights.items())
    unchosen = sum(weight * posteriors[name][1] for name, weight in weights.items())
    return np.asarray(options), np.asarray(unchosen)


def _gold_to_judge_by(answers: Answers) -> int:
    return int(((answers.gold_option >= 0) & (answers.answers_per_item > 0) & (answers.label_count > 1)).sum())


def _by_gold(
    answers: Answers,
    tried: dict[str, Fit],
    members: dict[str, float],
    form: str,
    reason: str,
    seed: int,
    progress: Progress,
) -> Choice:
    """Cross-validated gold: the form chosen by evidence stays unless another is better by more than one paired
    standard error on gold tasks whose gold label it did not see."""
    skill = next((name for name in tried if name.startswith("skill")), None)
    forms: dict[str, Form] = {name: FORMS[name] for name in members}
    if skill is not None:
        forms[skill] = FORMS[skill]
    forms.update({name: OTHERS[name] for name in JUDGED_BY_GOLD})
    sample = _sample(answers, seed, SAMPLE_ANSWERS)
    table = _common_table(sample, forms)
    unseen = _unseen(sample, table, forms, seed, progress)
    unseen[form] = _weighted_mean(unseen, members)
    judged = np.flatnonzero((table.gold_option >= 0) & (sample.answers_per_item > 0) & (sample.label_count > 1))
    right = {name: _share_right(table, *unseen[name], judged) for name in unseen}
    best, best_lead = form, 0.0
    for name in sorted(unseen):
        difference = right[name] - right[form]
        error = float(difference.std(ddof=1) / np.sqrt(len(judged)))
        lead = float(difference.mean())
        if lead > max(error, best_lead) + 1e-12:
            best, best_lead = name, lead
    share = f"{right[best].mean():.1%} of {len(judged)} gold tasks right when their gold is hidden"
    if best == form:
        fit, method = _average(tried, members), "gem"
        why = f"{reason} Gold agrees: {share}."
    else:
        known = best in tried and tried[best].converged  # not given up half-way
        fit = tried[best] if known else forms[best](answers, partial(progress, best))
        method = best if best in OTHERS else "gem"
        why = f"Gold decides for {best} ({forms[best].description}): {share}, against {right[form].mean():.1%}"
        why += f" with {form}."
    return _calibrated(fit, members, method, fit.form, why, seed, progress, judged=(table, unseen[best]))


def _unseen(
    sample: Answers, table: Answers, forms: dict[str, Form], seed: int, progress: Progress
) -> dict[str, tuple[Floats, Floats]]:
    """For each form, [O], [I] what the crowd says of every gold item by a fit that did not see its gold label."""
    gold_items = np.flatnonzero(sample.gold_option >= 0)
    fold = np.full(len(sample.items), -1)
    fold[gold_items] = np.random.default_rng(seed).permutation(len(gold_items)) % FOLDS
    unseen: dict[str, tuple[Floats, Floats]] = {}
    for done, (name, form) in enumerate(forms.items()):
        posterior, unchosen = np.zeros(len(table.option_item)), np.zeros(len(table.items))
        for part in range(FOLDS):
            progress("checking against gold", (done + part / FOLDS) / len(forms))
            hidden = fold == part
            if not hidden.any():
                continue
            fit = form(sample.with_gold(np.where(hidden, -1, sample.gold_option).astype(np.int32)), _silent)
            options, others = _on(fit, table)
            of_hidden = hidden[table.option_item]
            posterior[of_hidden], unchosen[hidden] = options[of_hidden], others[hidden]
        unseen[name] = posterior, unchosen
    return unseen


def _share_right(table: Answers, posterior: Floats, unchosen: Floats, judged: npt.NDArray[np.int64]) -> Floats:
    """One for each judged item whose most probable label is the gold one; a tie counts its share."""
    top = np.maximum(np.maximum.reduceat(posterior, table.option_start), np.where(table.unchosen > 0, unchosen, 0.0))
    best = (posterior >= top[table.option_item] - 1e-9).astype(float)
    tied = np.add.reduceat(best, table.option_start) + np.where(unchosen >= top - 1e-9, table.unchosen, 0.0)
    best /= np.maximum(tied, 1.0)[table.option_item]
    return np.asarray(best[table.gold_option[judged]])


def _sample(answers: Answers, seed: int, most: int) -> Answers:
    """At most about `most` answers: all gold items, and others drawn at random."""
    if len(answers.answer_item) <= 1.5 * most:
        return answers
    first = answers.gold_option < 0
    order = np.lexsort((np.random.default_rng(seed).random(len(answers.items)), first))
    running = np.cumsum(answers.answers_per_item[order])
    keep = np.sort(order[: max(int(np.searchsorted(running, most)), 1)])
    return answers.only(keep)


def _silent(fraction: float) -> None:
    """Progress of a fit inside another's is not shown."""
