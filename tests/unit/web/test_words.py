"""Numbers in plain words."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.aggregation import FORMS, METHODS
from ls_crowd_plugin.aggregation.parts import GOLD, MISLED, UNKNOWN, VOTES
from ls_crowd_plugin.aggregation.selection import POOLED_WITH_HABITS
from ls_crowd_plugin.controls import NO_REGION
from ls_crowd_plugin.store import QueueEntry
from ls_crowd_plugin.web.words import ago, count_votes, explain, part_words, state_of
from tests.support.result_records import label_with_votes


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


def test_every_part_of_a_probability_has_words() -> None:
    methods = set(METHODS) - {"auto", "gem"}  # which use forms
    for name in (*FORMS, *POOLED_WITH_HABITS, *methods, GOLD, MISLED, UNKNOWN, VOTES):
        assert part_words(name) != name or name == GOLD
    assert part_words("of a later release") == "of a later release"


class TestWhyALabelWon:
    def explain(self, votes: dict[int, str], news: float = 0.9, sport: float = 0.1, **values: object) -> str:
        posterior = {"news": news, "sport": sport}
        return explain(label_with_votes(votes, **{"confidence": news, "posterior": posterior, **values}))

    def test_by_all_answers(self) -> None:
        assert self.explain({1: "news", 2: "news"}) == "“news” has all 2 answers. It is the most probable label."
        assert self.explain({1: "news"}) == "“news” has the only answer. It is the most probable label."

    def test_against_others(self) -> None:
        sentence = self.explain({1: "news", 2: "news", 3: "sport"}, plurality="news")
        assert sentence == "“news” has 2 of 3 answers, “sport” has 1. It is the most probable label."

    def test_against_the_most_frequent_answer(self) -> None:
        sentence = self.explain({1: "news", 2: "sport", 3: "sport"}, plurality="sport")
        assert sentence.endswith(" The most frequent answer was “sport”, but “news” is more probable.")

    def test_although_nobody_gave_it(self) -> None:
        assert self.explain({1: "sport", 2: "sport"}) == (
            "Nobody answered “news”: of 2 answers, “sport” has 2. The answers speak against the labels they name, and"
            " “news” is the most probable of the others."
        )

    def test_it_did_by_nothing_that_is_shown(self) -> None:
        sentence = self.explain({1: "news", 2: "sport"}, news=0.50004, sport=0.49996)
        assert sentence.endswith(" “news” is about as probable as “sport”.")

    def test_by_distance_although_another_is_more_probable(self) -> None:
        sentence = self.explain({1: "news", 2: "sport"}, news=0.3, sport=0.5)
        assert sentence.endswith("“sport” is more probable, but “news” has the least expected distance from the truth.")

    def test_as_a_region_that_is_more_probable_than_none(self) -> None:
        posterior = {"news": 0.3, NO_REGION: 0.4}
        sentence = self.explain({1: "news", 2: NO_REGION}, news=0.3, posterior=posterior, part=1)
        assert "no region is more probable than this label alone, but not than that there is a region" in sentence

    def test_by_gold(self) -> None:
        assert self.explain({1: "sport"}, gold="news") == (
            "“news” is gold: it is known to be right, whatever people answered."
        )

    def test_names_at_most_three_other_labels_and_counts_the_rest(self) -> None:
        labels = {number: f"label {number}" for number in range(2, 8)}
        sentence = self.explain({1: "news", **labels})
        assert sentence.count("“label ") == 3
        assert "“news” has 1 of 7 answers," in sentence
        assert "and other labels have 3." in sentence

    @pytest.mark.parametrize(
        ("votes", "sport", "plurality", "rank"),
        [
            ("news sport", 0.3, None, "only the most probable one"),
            ("news sport", 0.4, None, "only one of the most probable ones"),
            ("news news sport", 0.5, "news", "only the most frequent answer"),
            ("news sport", 0.5, None, "only one of the most frequent"),
            ("news sport sport", 0.5, "sport", "not the most probable one"),
            ("sport", 0.5, "sport", "not the most probable one"),
        ],
    )
    def test_it_did_not_if_the_answers_do_not_decide(
        self, votes: str, sport: float, plurality: str | None, rank: str
    ) -> None:
        said = dict(enumerate(votes.split()))
        sentence = self.explain(said, news=0.4, sport=sport, plurality=plurality, state="undecided")
        reason = f"Undecided: the answers do not tell which label is right, and “news” is {rank}."
        assert reason in sentence
        assert "most probable label." not in sentence
