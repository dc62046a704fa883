"""The registry of methods and named forms: what each one is and how it is fitted.

A new form of GEM needs a module with its fit function and one line in FORMS. A form with a family takes part in the
selection by evidence; its fit function must accept `floor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from .answers import Answers
from .fit import Fit
from .habits import fit_habits, habits_fit_in_memory
from .leanings import fit_leanings, leanings_fit_in_memory
from .ordered import fit_ordered, ordered_fits_in_memory
from .paper import fit_paper
from .skill import fit_skill
from .types import FitProgress
from .weighted import fit_agreement, fit_hyb, fit_neg, fit_plurality, fit_sw

DIFFICULTY_CHARGE = 0.005  # nats per answer


def _always(_: Answers) -> bool:
    return True


def _nothing_is_ordered(answers: Answers) -> bool:
    return not answers.is_ordered.any()


def _something_is_ordered(answers: Answers) -> bool:
    return bool(answers.is_ordered.any())


def _something_else_is_not_ordered(answers: Answers) -> bool:
    """Whether there are ordered questions, and others whose tasks may have grades."""
    return bool(answers.is_ordered.any() and (np.diff(answers.choice_start)[~answers.is_ordered] > 1).any())


@dataclass(frozen=True)
class Form:
    """A way to fit a crowd."""

    description: str
    fit: Callable[..., Fit]  # called with answers and progress, and with `floor` if the form has a family
    family: str = ""  # forms of one family are tried in order, as long as the evidence rises; "" is never tried
    charge: float = 0.0  # nats per answer by which the form must explain the answers better than an uncharged one
    all_labels: bool = False  # needs all labels of a question as options of each item, which makes it slower
    resumes: bool = False  # its fits can go on with other answers (`Fit.resume`)
    fits_in_memory: Callable[[Answers], bool] = _always
    applies: Callable[[Answers], bool] = _always  # whether the form is worth trying on such answers

    def __call__(self, answers: Answers, progress: FitProgress, floor: float | None = None) -> Fit:
        """Fit the crowd; the fit may be given up if its objective stays below `floor`."""
        table = answers.with_all_options() if self.all_labels else answers
        return self.fit(table, progress) if floor is None else self.fit(table, progress, floor=floor)


def _skill(spread: float, description: str) -> Form:
    charge = DIFFICULTY_CHARGE if spread else 0.0
    return Form(description, partial(fit_skill, spread=spread), family="skill", charge=charge, resumes=True)


def _habits(grades: int, description: str) -> Form:
    return Form(
        description,
        partial(fit_habits, grades=grades),
        family="habits",
        all_labels=True,
        resumes=True,
        fits_in_memory=partial(habits_fit_in_memory, grades=grades),
        applies=_nothing_is_ordered,
    )


def _ordered(grades: int, description: str) -> Form:
    """Takes the place of the form `habits` with as many grades wherever a question is ordered."""
    return Form(
        description,
        partial(fit_ordered, grades=grades),
        family="ordered",
        all_labels=True,
        resumes=True,
        fits_in_memory=partial(ordered_fits_in_memory, grades=grades),
        applies=_something_is_ordered if grades == 1 else _something_else_is_not_ordered,
    )


FORMS: dict[str, Form] = {  # of GEM
    "paper": Form("one skill per annotator and one difficulty per task, as in the paper", fit_paper),
    "paper-tied": Form("as in the paper, with one discrimination for all annotators", partial(fit_paper, tied=True)),
    "paper-complex": Form(
        "as in the paper, with adversaries who hide on easy tasks", partial(fit_paper, complex_adversaries=True)
    ),
    "skill-0": _skill(0.0, "one skill per annotator, all tasks equally hard"),
    "skill-1": _skill(1.0, "one skill per annotator, tasks differ a little in difficulty"),
    "skill-2": _skill(2.0, "one skill per annotator, tasks differ in difficulty"),
    "skill-4": _skill(4.0, "one skill per annotator, tasks differ much in difficulty"),
    "habits-1": _habits(1, "mistakes depend on the label, all tasks equally hard"),
    "habits-2": _habits(2, "mistakes depend on the label, two grades of difficulty"),
    "habits-3": _habits(3, "mistakes depend on the label, three grades of difficulty"),
    "leanings": Form(
        "people lean towards some labels, and the truth draws them with one strength",
        fit_leanings,
        all_labels=True,
        resumes=True,
        fits_in_memory=leanings_fit_in_memory,
        applies=_nothing_is_ordered,
    ),
    "ordered-1": _ordered(1, "mistakes depend on the distance along the scale"),
    "ordered-2": _ordered(2, "as ordered-1, two grades of difficulty where labels have no order"),
    "ordered-3": _ordered(3, "as ordered-1, three grades of difficulty where labels have no order"),
}
OTHER_METHODS: dict[str, Form] = {
    "neg": Form("weighted plurality with negative weights", fit_neg),
    "sw": Form("weighted plurality with intentions", fit_sw),
    "hyb": Form("weighted plurality with intentions, started from neg", fit_hyb),
    "plu": Form("plurality", fit_plurality),
}
AGREEMENT = Form("votes weighted by agreement", fit_agreement)  # only in averages
PRINTED: dict[str, Form] = {
    "neg": Form("as printed in the paper", partial(fit_neg, printed=True)),
    "sw": Form("as printed in the paper", partial(fit_sw, printed=True)),
    "hyb": Form("as printed in the paper", partial(fit_hyb, printed=True)),
}


def forms_of(method: str) -> Mapping[str, Form]:
    """The forms of a method that can be requested by name."""
    if method == "gem":
        return FORMS
    return {"printed": PRINTED[method]} if method in PRINTED else {}


def common_table(answers: Answers, forms: Iterable[Form]) -> Answers:
    """A table that the posteriors of all these forms can be written to."""
    return answers.with_all_options() if any(form.all_labels for form in forms) else answers
