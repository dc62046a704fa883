"""One record per label: who said what, how likely each label is, and where a region is."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.pipeline.crowd import Crowd
from ls_crowd_plugin.pipeline.label_records import FittedLabel, drawn_votes, fitted_labels, missed_gold
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.records import Explanation, Part, Vote
from tests.support.annotations import mood_annotation, mood_crowd
from tests.support.span_crowds import crowd_of_spans, span_annotation, span_crowd


def labels_of(crowd: Crowd, method: str = "plu") -> list[FittedLabel]:
    return fitted_labels(crowd, fit_project(crowd, method))


def moods(answers: dict[int, str], gold: dict[tuple[int, str], str] | None = None) -> Crowd:
    """Task → the first letters of what annotators 1, 2, 3 ... say."""
    names = {"g": "good", "b": "bad"}
    annotations = [
        mood_annotation(10 * task + annotator, task, annotator, names[letter])
        for task, letters in answers.items()
        for annotator, letter in enumerate(letters, 1)
    ]
    return mood_crowd(*annotations, gold=gold)


def check_explanation(label: FittedLabel) -> None:
    """The stored parts, rounded to six digits, add up to the probabilities; the other label is the strongest other."""
    record, explanation = label.record, label.record.explanation
    assert explanation is not None
    tolerance = 0.5e-6 * len(explanation.parts)
    assert sum(part.label for part in explanation.parts) == pytest.approx(record.confidence, abs=tolerance)
    others = {name: p for name, p in record.posterior.items() if name != record.label}
    expected = others[explanation.other] if explanation.other is not None else 0.0
    assert expected == max(others.values(), default=0.0)
    assert sum(part.other for part in explanation.parts) == pytest.approx(expected, abs=0.0005 + tolerance)


class TestLabels:
    def test_are_numbered_by_task(self) -> None:
        records = [label.record for label in labels_of(moods({3: "gg", 1: "bb"}))]
        assert [(record.number, record.task, record.part) for record in records] == [(0, 1, 0), (1, 3, 0)]

    def test_say_who_said_what(self) -> None:
        (label,) = labels_of(moods({1: "ggb"}))
        assert label.record.votes == (Vote(1, "good"), Vote(2, "good"), Vote(3, "bad"))
        assert (label.record.label, label.record.answers, label.record.plurality) == ("good", 3, "good")

    def test_have_no_plurality_where_two_labels_tie(self) -> None:
        (label,) = labels_of(moods({1: "gb"}))
        assert (label.record.plurality, label.tied) == (None, ("good", "bad"))

    def test_have_a_posterior_that_adds_up(self) -> None:
        (label,) = labels_of(moods({1: "ggb"}), "gem")
        assert sum(label.record.posterior.values()) == pytest.approx(1.0, abs=0.002)
        assert label.record.posterior[label.record.label] == pytest.approx(label.record.confidence, abs=0.001)

    @pytest.mark.parametrize("method", ["plu", "gem", "auto"])
    def test_are_explained_by_parts_that_add_up(self, method: str) -> None:
        for label in labels_of(moods({1: "ggb", 2: "gb", 3: "b", 4: "bbbb"}), method):
            check_explanation(label)

    def test_of_gold_are_explained_by_gold(self) -> None:
        (label,) = labels_of(moods({1: "ggb"}, {(1, "mood"): "bad"}))
        assert label.record.explanation == Explanation(None, (Part("gold", 1.0, 0.0),))

    def test_of_gold_are_certain_but_not_blindly(self) -> None:
        (label,) = labels_of(moods({1: "ggb"}, {(1, "mood"): "bad"}))
        assert (label.record.label, label.record.gold, label.record.confidence) == ("bad", "bad", 1.0)
        assert label.blind_confidence < 1.0

    def test_say_whether_the_answers_decide(self) -> None:
        states = {label.record.task: label.record.state for label in labels_of(moods({1: "ggg", 2: "gb", 3: "bbb"}))}
        assert states[2] == "undecided"
        assert "undecided" not in (states[1], states[3])

    def test_of_gold_are_settled(self) -> None:
        (label,) = labels_of(moods({1: "gb"}, {(1, "mood"): "bad"}))
        assert label.record.state == "settled"

    def test_are_disputed_where_trusted_people_disagree(self) -> None:
        crowd = moods({**{task: "ggg" if task % 2 else "bbb" for task in range(1, 61)}, 61: "ggb"})
        assert [label.record.task for label in labels_of(crowd, "gem") if label.record.disputed] == [61]


class TestRegions:
    @pytest.mark.parametrize("method", ["neg", "auto"])
    def test_are_explained_by_parts_that_add_up(self, method: str) -> None:
        person, organisation = [(0, 5, "PER"), (10, 15, "ORG")], [(0, 5, "ORG")]
        for label in labels_of(span_crowd(person, person, organisation, [], tasks=5), method):
            check_explanation(label)

    def test_have_a_part_for_each_region(self) -> None:
        spans = [(0, 5, "PER"), (10, 15, "ORG")]
        labels = labels_of(span_crowd(spans, spans, tasks=1), "neg")
        assert [(label.record.task, label.record.part, label.is_region) for label in labels] == [
            (0, 1, True),
            (0, 2, True),
        ]

    def test_say_where_they_are(self) -> None:
        (label,) = labels_of(span_crowd([(0, 5, "PER")], [(0, 5, "PER")], tasks=1), "neg")
        region = label.record.region
        assert region is not None
        assert (region.control, region.object, region.shape) == ("entity", "text", "span")
        assert (region.value["start"], region.value["end"]) == (0, 5)
        assert "original_width" not in region.to_json()

    def test_that_nobody_drew_have_no_place(self) -> None:
        (label,) = labels_of(span_crowd([], [], tasks=1), "neg")
        assert label.record.region is None

    def test_leave_out_gold_that_everybody_missed(self) -> None:
        annotations = [span_annotation(who, 0, who, [(0, 5, "PER")]) for who in (1, 2)]
        gold = span_annotation(9, 0, 9, [(0, 5, "PER"), (30, 35, "ORG")])
        crowd = crowd_of_spans([*annotations, gold], experts=(9,))
        assert len(labels_of(crowd)) == len(labels_of(crowd_of_spans(annotations))) == 1
        assert [group.number for group in missed_gold(crowd)] == [1]

    def test_count_only_the_votes_of_those_who_drew(self) -> None:
        (label,) = labels_of(span_crowd([(0, 5, "PER")], [(0, 5, "PER")], [], tasks=1), "neg")
        assert len(label.record.votes) == 3
        assert drawn_votes(label) == [Vote(1, "PER"), Vote(2, "PER")]
