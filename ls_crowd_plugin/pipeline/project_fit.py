"""The fit of a project: one for all its controls, or one for each, seen as one. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial

from ..aggregation import Consensus, Lessons, Standing, aggregate, consistent_verdict
from ..controls import NO_REGION
from ..errors import UnusableInput
from ..records import AnnotatorScore, ProjectSummary, label_state, rounded
from .crowd import Crowd, Key
from .region_groups import Unit

OnFraction = Callable[[float], None]


def fit_project(
    crowd: Crowd,
    method: str = "auto",
    *,
    separate: bool = False,
    decide: str = "label",
    rings: str = "off",
    on_progress: OnFraction = lambda _: None,
) -> ProjectFit:
    """Aggregate a crowd: all questions together, which share the annotators, or each control by itself.

    `decide` is one of DECISIONS, for the questions whose labels the config says are a scale; `rings` is one of RINGS.

    Where people draw regions, all who saw a task say whether there is a region, and a second fit, of those who drew it,
    says what it is and who is contrary. In the first fit, not drawing what others invented would look like knowledge of
    labels, and drawing at random would look like intent.
    """
    parts = [crowd.of_questions(questions) for questions in _questions_per_fit(crowd, separate)]
    drawn = crowd.of_drawn_regions() if crowd.groups else None
    if drawn is not None and drawn.units:
        parts.append(drawn)
    share = 1 / max(len(parts), 1)
    fits = [
        _aggregate(part, method, decide, rings, partial(_report_part, on_progress, number * share, share))
        for number, part in enumerate(parts)
    ]
    if drawn is not None and drawn.units:
        return ProjectFit(fits[:-1], fits[-1], crowd.gold)
    return ProjectFit(fits, None, crowd.gold)


class ProjectFit:
    """One fit, or several over different questions, and where regions were drawn the fit of those who drew them."""

    def __init__(
        self,
        fits: list[Consensus],
        drawn: Consensus | None = None,
        gold: Collection[Key] = (),
        people: ProjectFit | None = None,
    ) -> None:
        """`people` is the fit whose numbers people have, if not this one."""
        self._fits, self._drawn, self._people = fits, drawn, people
        self._named = set() if drawn is None else set(drawn.labels)
        self._gold = frozenset(gold)
        self._fit_of = {row["question"]: fit for fit in fits for row in fit.tasks}
        self._crowd_labels: dict[tuple[Unit, str, bool], tuple[str, float]] = {}  # asked for several times

    def vote(self, crowd: Crowd) -> ProjectFit:
        """What the answers of a crowd say by what this fit has learned; people are as they were.

        Raises UnusableInput where it has learned nothing about somebody, or about a question or label.
        """
        if unknown := set(crowd.questions) - self._fit_of.keys():
            raise UnusableInput(f"There is no question {min(unknown)!r} among the answers.")
        parts = [(fit, crowd.of_questions(self._questions_of(fit))) for fit in self._fits]
        drawn = crowd.of_drawn_regions() if self._drawn is not None else Crowd(crowd.config)
        return ProjectFit(
            [_vote(fit, part) for fit, part in parts if part.units],
            _vote(self._drawn, drawn) if self._drawn is not None and drawn.units else None,
            crowd.gold,
            people=self,
        )

    def _questions_of(self, fit: Consensus) -> set[str]:
        return {question for question, own in self._fit_of.items() if own is fit}

    def gold_blind_label(self, unit: Unit, question: str) -> tuple[str, float]:
        """Label and confidence by what the crowd says, the same way for gold and others: nothing tells them apart."""
        return self._remembered_label(unit, question, gold_blind=True)

    def held_out_label(self, unit: Unit, question: str) -> tuple[str, float]:
        """The same, but for gold by fits that did not know its label: to be compared with it."""
        return self._remembered_label(unit, question, gold_blind=False)

    def state(self, unit: Unit, question: str) -> str:
        """`settled`, `undecided` or `open`, blind to gold."""
        label, confidence = self.gold_blind_label(unit, question)
        fit, is_unsaid = self._fit_of[question].gold_blind, False
        if self._drawn is not None and self._is_named(unit, question) and label != NO_REGION:
            is_unsaid = fit.posterior((unit, question), lift_gold=True)[NO_REGION] > 0.5
            fit = self._drawn.gold_blind
        return label_state(confidence, is_unsaid or fit.is_undecided((unit, question)))

    def posterior(self, unit: Unit, question: str) -> dict[str, float]:
        """Label → probability; one for gold."""
        return self._posterior(self._fit_of[question], self._drawn, unit, question, lift_gold=False)

    def parts(self, unit: Unit, question: str, labels: Sequence[str]) -> dict[str, dict[str, float]]:
        """Name of a part → label → what it adds to the probability of these labels; see `aggregation.parts`.

        The parts of a region's label are those of the fit of labels, times the probability that the region exists; the
        parts of "no region" are those of the other fit.
        """
        key, fit, drawn = (unit, question), self._fit_of[question], self._drawn
        if drawn is None or not self._is_named(unit, question):
            return dict(fit.parts(key, labels=labels))
        absent = dict(fit.parts(key, labels=[NO_REGION]))
        exists = 1 - sum(points[NO_REGION] for points in absent.values())
        parts = absent if NO_REGION in labels else {}
        for name, points in drawn.parts(key, labels=[label for label in labels if label != NO_REGION]):
            parts.setdefault(name, {}).update({label: exists * point for label, point in points.items()})
        return {name: dict.fromkeys(labels, 0.0) | points for name, points in parts.items() if any(points.values())}

    def _remembered_label(self, unit: Unit, question: str, gold_blind: bool) -> tuple[str, float]:
        key = (unit, question, gold_blind)
        if key not in self._crowd_labels:
            self._crowd_labels[key] = self._crowd_label(*key)
        return self._crowd_labels[key]

    def _crowd_label(self, unit: Unit, question: str, gold_blind: bool) -> tuple[str, float]:
        fit, drawn = self._fit_of[question], self._drawn
        if gold_blind:
            fit, drawn = fit.gold_blind, drawn and drawn.gold_blind
        if drawn is None or not self._is_named(unit, question):
            label, confidence = fit.crowd_label((unit, question))
            return str(label), confidence
        posterior = self._posterior(fit, drawn, unit, question, lift_gold=True)
        # Nothing is called no region because most are: where all who saw it drew it, their answers must exclude it.
        is_unsaid = fit.is_undecided((unit, question)) and fit.crowd_label((unit, question))[0] != NO_REGION
        if posterior[NO_REGION] > 0.5 and not is_unsaid:
            return NO_REGION, posterior[NO_REGION]
        label = str(drawn.crowd_label((unit, question))[0])
        return label, posterior[label]

    def _posterior(
        self, fit: Consensus, drawn: Consensus | None, unit: Unit, question: str, lift_gold: bool
    ) -> dict[str, float]:
        posterior: dict[str, float] = fit.posterior((unit, question), lift_gold)
        if drawn is None or not self._is_named(unit, question):
            return posterior
        named = drawn.posterior((unit, question), lift_gold)
        exists = 1 - posterior[NO_REGION]
        return {label: p if label == NO_REGION else exists * named[label] for label, p in posterior.items()}

    def _is_named(self, unit: Unit, question: str) -> bool:
        """Whether it is about a region to which those who drew it gave labels."""
        return isinstance(unit, tuple) and unit[1] == question and (unit, question) in self._named

    @cached_property
    def labels(self) -> dict[Key, str]:
        """(Unit, question) → label; gold has its gold label."""
        return {
            key: label if key in self._gold or not self._is_named(*key) else self.gold_blind_label(*key)[0]
            for fit in self._fits
            for key, label in fit.labels.items()
        }

    @cached_property
    def confidence(self) -> dict[Key, float]:
        """(Task, question) → probability that its label is right, 1 for gold; of questions about whole tasks."""
        return {key: confidence for fit in self._fits for key, confidence in fit.confidence.items()}

    @cached_property
    def difficulty(self) -> dict[Key, float | None]:
        return {(row["task"], row["question"]): row["difficulty"] for fit in self._fits for row in fit.tasks}

    @cached_property
    def scores(self) -> dict[int, AnnotatorScore]:
        """Annotator → score; over several fits the mean, weighted by the number of answers."""
        if self._people is not None:
            return self._people.scores
        scores: dict[int, list[AnnotatorScore]] = defaultdict(list)
        standings: dict[int, list[Standing]] = defaultdict(list)
        for fit in self._fits:
            for score in fit.scores:
                scores[score.annotator].append(score)
                standings[score.annotator].append(fit.standings[score.annotator])
        merged = {annotator: _merge_scores(several) for annotator, several in scores.items()}
        if self._drawn is not None:
            drawn = {score.annotator: score for score in self._drawn.scores}
            merged = {annotator: _judge_by_drawn(score, drawn.get(annotator)) for annotator, score in merged.items()}
            contrary = [annotator for annotator, score in merged.items() if score.verdict == "contrary"]
            standings |= {annotator: [self._drawn.standings[annotator]] for annotator in contrary}
        return {annotator: _consistent(score, standings[annotator]) for annotator, score in merged.items()}

    @cached_property
    def method(self) -> str:
        if self._people is not None:
            return self._people.method
        return _join(fit.facts["method"] for fit in self._fits)

    @property
    def summary(self) -> ProjectSummary:
        """What the fit says; numbers of tasks, answers and gold are for the caller to add."""
        confidence = [self.gold_blind_label(*key)[1] for key in self.labels]
        return ProjectSummary(
            annotators=len(self.scores),
            method=self.method,
            form=_join(fit.facts["form"] for fit in self._fits),
            why=_join(fit.facts["why"] for fit in self._fits),
            verdicts=dict(Counter(score.verdict for score in self.scores.values())),
            contrary=sorted(who for who, score in self.scores.items() if score.verdict == "contrary"),
            confidence=rounded(sum(confidence) / len(confidence)),
            differ_from_plurality=sum(fit.plurality_disagreements for fit in self._fits),
            labels=len(confidence),
            warnings=list(dict.fromkeys(warning for fit in self._fits for warning in fit.warnings)),
            rings=[ring for fit in self._fits for ring in fit.rings],
        )


def _questions_per_fit(crowd: Crowd, separate: bool) -> list[set[str]]:
    answered = set(crowd.questions)
    if not separate:
        return [answered]
    config = crowd.config
    controls = [control.questions for control in config.controls]
    controls += [control.questions for control in config.regions]
    names = [{question.name for question in questions} & answered for questions in controls]
    each_once = [own.difference(*names[:position]) for position, own in enumerate(names)]
    return [own for own in each_once if own]


def _aggregate(crowd: Crowd, method: str, decide: str, rings: str, on_progress: OnFraction) -> Consensus:
    ordered = crowd.config.ordered & set(crowd.questions)
    return aggregate(
        crowd.units,
        crowd.annotators,
        crowd.labels,
        gold=crowd.gold,
        method=method,
        label_set=crowd.label_set,
        questions=crowd.questions,
        progress=lambda _, fraction: on_progress(fraction),
        lessons=_lessons(crowd.lessons),
        ordered=ordered,
        decide=decide if ordered else "label",
        # Regions exist only where somebody drew, so two thorough people would look as if one copied.
        rings="off" if crowd.groups else rings,
    )


def _vote(fit: Consensus, crowd: Crowd) -> Consensus:
    return fit.vote(crowd.units, crowd.annotators, crowd.labels, crowd.gold, crowd.questions)


def _lessons(crowd: Crowd | None) -> Lessons | None:
    if crowd is None:
        return None
    return Lessons(crowd.units, crowd.annotators, crowd.labels, crowd.questions, crowd.gold)


def _report_part(on_progress: OnFraction, before: float, share: float, fraction: float) -> None:
    on_progress(before + share * fraction)


def _merge_scores(scores: Sequence[AnnotatorScore]) -> AnnotatorScore:
    """One score of several. The verdict is that of most answers, but `contrary` if any of them says so, as far as the
    merged numbers allow it."""
    if len(scores) == 1:
        return scores[0]
    contrary = any(score.verdict == "contrary" for score in scores)
    most = max(scores, key=lambda score: score.answers)
    answers = [score.answers for score in scores]
    return replace(
        most,
        answers=sum(answers),
        gold_answers=sum(score.gold_answers for score in scores),
        gold_correct=sum(score.gold_correct for score in scores),
        skill=_mean([score.skill for score in scores], answers),
        skill_se=_mean([score.skill_se for score in scores], answers),
        adversary_probability=_mean([score.adversary_probability for score in scores], answers),
        weight=_mean([score.weight for score in scores], answers),
        accuracy=_mean([score.accuracy for score in scores], answers),
        verdict="contrary" if contrary else most.verdict,
    )


def _consistent(score: AnnotatorScore, standings: Sequence[Standing]) -> AnnotatorScore:
    """The score with a verdict that fits the merged numbers: the last step, whatever was merged."""
    comparable = [standing.comparable for standing in standings]
    standing = Standing(
        comparable=sum(comparable),
        chance=_mean([standing.chance for standing in standings], comparable) or 0.0,
        accuracy=score.accuracy,
        agreement=_mean([standing.agreement for standing in standings], comparable),
        weight=score.weight,
    )
    return replace(score, verdict=consistent_verdict(score.verdict, standing))


def _mean(values: Sequence[float | None], weights: Sequence[int]) -> float | None:
    """The weighted mean of the values there are."""
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _judge_by_drawn(score: AnnotatorScore, drawn: AnnotatorScore | None) -> AnnotatorScore:
    """The score of somebody who draws: only the fit of labels can tell whether they are contrary, and then accuracy and
    weight are about the labels that they gave to regions.

    If the other fit says so, they drew what does not exist and missed what does: unreliable.
    """
    if drawn is not None and drawn.verdict == "contrary":
        return replace(
            score,
            adversary_probability=drawn.adversary_probability,
            accuracy=drawn.accuracy,
            weight=drawn.weight,
            verdict="contrary",
        )
    adversary = 0.0 if drawn is None else drawn.adversary_probability  # who never drew cannot have avoided a label
    verdict = "unreliable" if score.verdict == "contrary" else score.verdict
    return replace(score, adversary_probability=adversary, verdict=verdict)


def _join(values: Iterable[object]) -> str:
    """One value, or the several there are, each once."""
    return "; ".join(dict.fromkeys(str(value) for value in values if value is not None))
