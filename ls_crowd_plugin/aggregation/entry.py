"""`aggregate()`, the entry point of this room: checks what is asked for, encodes, fits, and returns a consensus."""

from __future__ import annotations

import time
from dataclasses import replace

from ..errors import UnusableInput
from ..records import DECISIONS, METHODS, RINGS
from .answers import Answers
from .arrays import keep_freed_memory
from .consensus import Consensus
from .encoding import encode_answers, encode_lessons
from .forms import forms_of
from .found_scales import with_found_scales
from .rings import Voices
from .selection import fit_method
from .types import Column, Gold, LabelSet, Lessons, Ordered, Progress


def aggregate(
    tasks: Column,
    annotators: Column,
    labels: Column,
    gold: Gold | None = None,
    method: str = "auto",
    label_set: LabelSet | None = None,
    questions: Column | None = None,
    seed: int = 0,
    *,
    form: str | None = None,
    progress: Progress | None = None,
    lessons: Lessons | None = None,
    ordered: Ordered | None = None,
    decide: str = "label",
    rings: str = "off",
) -> Consensus:
    """Find the most probable label of every task and how far each annotator can be trusted.

    Parameters
    ----------
    tasks, annotators, labels
        Equally long columns, one row per answer. If an annotator answered a task several times, the last answer counts.
    gold
        Known labels, as task → label, or as (task, question) → label if there are questions.
    method
        One of METHODS.
    label_set
        All labels, or question → labels; needed if some labels were never chosen.
    questions
        The question of each answer, if tasks have several.
    seed
        The same input and seed give the same result.
    form
        One of FORMS for `gem`, or `printed` for `neg`, `sw` and `hyb`; by default, the data decide.
    progress
        Called with (stage, fraction) now and then.
    lessons
        What to learn from, if not from all answers: everything about methods and annotators comes from the lessons, and
        then all answers vote.
    ordered
        True if the labels have an order, as ratings have, or the names of the questions whose labels have. The order is
        that of the label set, or numeric without one. None: five to thirty labels that are numbers have an order where
        the answers show one. False, or no names: none has.
    decide
        `label` for the most probable label; `distance` for the label whose expected distance from the truth is the
        least, where labels are ordered.
    rings
        What to do about groups of people who give the same answers against everybody else: `show` looks for them,
        `count` also counts each group as one voice.
    """
    started = time.perf_counter()
    _check_method(method, form)
    _check_decision(decide, ordered)
    _check_rings(rings)
    keep_freed_memory()
    answers = encode_answers(tasks, annotators, labels, gold, label_set, questions, ordered=ordered)
    progress = progress or _ignore_progress
    if lessons is None:
        voices = _find_voices(answers, rings)
        if ordered is None:
            voices = replace(voices, answers=replace(answers, place=with_found_scales(voices.table).place))
        method_fit = fit_method(voices.table, method, form, seed, progress)
        return Consensus(method_fit, seed, time.perf_counter() - started, decide=decide, voices=voices)
    if len(lessons.tasks):
        voices = _find_voices(encode_lessons(lessons, answers), rings)
        if ordered is None:
            place = with_found_scales(voices.table).place
            voices = replace(voices, answers=replace(voices.answers, place=place))
            answers = replace(answers, place=place)
        method_fit = fit_method(voices.table, method, form, seed, progress)
    else:
        all_answers = encode_lessons(Lessons(tasks, annotators, labels, questions), answers)
        why = "There is nothing yet to learn from, so every answer counts the same, and gold is not used."
        method_fit = replace(fit_method(all_answers, "plu", None, seed, progress), why=why)
        voices = Voices(answers)
    voices = replace(voices, answers=answers)
    return Consensus(method_fit, seed, time.perf_counter() - started, voices.table, decide, voices)


def _find_voices(answers: Answers, rings: str) -> Voices:
    """Who speaks for whom in a crowd."""
    if rings == "off":
        return Voices(answers)
    voices = Voices.search(answers)
    if rings == "count":
        return voices
    return replace(voices, groups=(), rings=tuple(replace(ring, is_one_voice=False) for ring in voices.rings))


def _check_method(method: str, form: str | None) -> None:
    if method not in METHODS:
        raise UnusableInput(f"There is no method {method!r}; choose one of {', '.join(METHODS)}.")
    forms = forms_of(method)
    if form is not None and form not in forms:
        remedy = f"choose one of {', '.join(forms)}" if forms else "leave the form out"
        raise UnusableInput(f"Method {method!r} has no form {form!r}; {remedy}.")


def _check_decision(decide: str, ordered: Ordered | None) -> None:
    if decide not in DECISIONS:
        raise UnusableInput(f"There is no decision {decide!r}; choose one of {', '.join(DECISIONS)}.")
    if decide == "distance" and not ordered:
        raise UnusableInput("Labels without order have no distance; say which questions are ordered.")


def _check_rings(rings: str) -> None:
    if rings not in RINGS:
        raise UnusableInput(f"Rings cannot be treated as {rings!r}; choose one of {', '.join(RINGS)}.")


def _ignore_progress(stage: str, fraction: float) -> None:
    """The default for `progress`."""
