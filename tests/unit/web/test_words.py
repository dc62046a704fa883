"""Numbers in plain words."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.records import Annotator
from ls_crowd_plugin.store import QueueEntry
from ls_crowd_plugin.web.words import ago, count_votes, explain, state_of
from tests.support.result_records import label_with_votes, person


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "never"),
        (0, "just now"),
        (30, "30 seconds ago"),
        (60, "1 minute ago"),
        (7199, "1 hour ago"),
        (7200, "2 hours ago"),
        (86400 * 3.5, "3 days ago"),
    ],
)
def test_a_time_that_has_passed(seconds: float | None, words: str) -> None:
    assert ago(seconds) == words


def entry(waiting: float | None = None, due: float = 0.0, held_by: str = "", error: str | None = None) -> QueueEntry:
    return QueueEntry(3, waiting, due, held_by, 1, 10.0, error)


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (entry(), "up to date"),
        (entry(waiting=1.0), "waiting to be processed"),
        (entry(waiting=1.0, held_by="a worker"), "being processed"),
        (entry(error="wrong"), "parked until something changes"),
        (entry(waiting=1.0, due=-8.0, error="wrong"), "failed, next attempt in 8 s"),
        (entry(waiting=1.0, due=5.0, error="wrong"), "failed, next attempt in 0 s"),
        (entry(waiting=1.0, held_by="a worker", error="wrong"), "being processed"),
    ],
)
def test_the_state_of_a_project(row: QueueEntry, state: str) -> None:
    assert state_of(row) == state


def test_votes_are_counted_from_the_most_frequent() -> None:
    votes = label_with_votes({1: "sport", 2: "news", 3: "news"}).votes
    assert count_votes(votes) == [("news", 2), ("sport", 1)]


PEOPLE = {number: person(number, weight=weight) for number, weight in ((1, 2.0), (2, 0.5), (3, -1.0))}


class TestWhyALabelWon:
    def explain(self, votes: dict[int, str], people: dict[int, Annotator] | None = None, **values: object) -> str:
        return explain(label_with_votes(votes, **values), PEOPLE if people is None else people)

    def test_by_weight_against_others(self) -> None:
        assert self.explain({1: "news", 2: "sport", 3: "sport"}) == (
            "“news” won with 1 answer that weighs +2.0, against 2 answers for “sport” with -0.5."
        )

    def test_by_several_answers_without_others(self) -> None:
        assert self.explain({1: "news", 2: "news"}) == "“news” won with 2 answers that together weigh +2.5."

    def test_against_the_most_frequent_answer(self) -> None:
        assert self.explain({1: "news", 2: "sport", 3: "sport"}, plurality="sport").endswith(
            " The most frequent answer was “sport”."
        )

    def test_against_a_larger_weight(self) -> None:
        assert (
            "It also counts how common each label is, and which labels each annotator tends to confuse."
            in self.explain({1: "sport", 2: "news"})
        )

    def test_although_nobody_gave_it_because_people_avoid_the_right_label(self) -> None:
        sentence = self.explain({3: "sport"})
        assert sentence.startswith("Nobody answered “news”. The people who answered tend to avoid the right label")

    def test_although_nobody_gave_it_because_answers_say_little(self) -> None:
        assert "The answers carry little weight" in self.explain({2: "sport"})

    def test_by_distance_although_another_is_more_probable(self) -> None:
        sentence = self.explain({1: "sport", 2: "news"}, posterior={"sport": 0.4, "news": 0.3, "art": 0.3})
        assert sentence.startswith("“news” won because")
        assert sentence.endswith("The most probable label is “sport”.")

    def test_by_gold(self) -> None:
        assert self.explain({1: "sport"}, gold="news") == (
            "“news” is gold: it is known to be right, whatever people answered."
        )

    def test_with_votes_of_people_without_a_score(self) -> None:
        assert self.explain({9: "news"}, people={}) == "“news” won with 1 answer that weighs +0.0."

    def test_names_at_most_three_other_labels(self) -> None:
        labels = {number: f"label {number}" for number in range(2, 8)}
        assert self.explain({1: "news", **labels}).count(" for “") == 3

    def test_it_did_not_if_the_answers_do_not_decide(self) -> None:
        sentence = self.explain({1: "news", 2: "sport"}, state="undecided")
        assert sentence.startswith("Undecided: ")
        assert "“news”" in sentence
