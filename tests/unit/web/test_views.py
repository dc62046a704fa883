"""What pages and the report show, made from what the database holds."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from ls_crowd_plugin.records import Annotator
from ls_crowd_plugin.store import Store, StoredResults
from ls_crowd_plugin.store.results import list_annotators, load_results
from ls_crowd_plugin.web import views
from ls_crowd_plugin.web.annotator_columns import ANNOTATOR_COLUMNS, gold_record
from ls_crowd_plugin.web.report import render_report
from tests.support.known_crowd import CONTRARY, EXPERTS, LABELS, PROJECT, store_crowd
from tests.support.pages import HtmlChecker
from tests.support.result_records import label_with_votes, person


@pytest.fixture
def filled_store(sqlite_store: Store) -> Store:
    store_crowd(sqlite_store)
    return sqlite_store


@pytest.fixture
def results(filled_store: Store) -> StoredResults:
    with filled_store.data.connect() as connection:
        found = load_results(connection, PROJECT)
    assert found is not None
    return found


class TestProject:
    def test_counts_settled_tasks(self, results: StoredResults) -> None:
        view = views.project_view(results)
        assert 40 < view.settled <= 60
        assert sum(row.tasks for row in view.answer_yield) == 60
        assert not view.has_several_questions

    def test_describes_charts_for_people_who_cannot_see_them(self, results: StoredResults) -> None:
        view = views.project_view(results)
        for chart in (view.confidence_chart, view.calibration_chart, view.time_chart):
            assert 'role="img" aria-label="' in chart
        assert "540 annotations over time." in view.time_chart

    def test_without_data_draws_no_chart(self, results: StoredResults) -> None:
        figures = replace(results.figures, difficulty=None, over_time=None, calibration=[])
        view = views.project_view(replace(results, figures=figures))
        assert (view.difficulty_chart, view.time_chart, view.calibration_chart) == ("", "", "")

    def test_shows_the_first_questions_of_many(self, results: StoredResults) -> None:
        many = {f"question {number}": results.figures.label_counts["topic"] for number in range(30)}
        view = views.project_view(replace(results, figures=replace(results.figures, label_counts=many)))
        assert (len(view.label_counts), view.questions_left_out) == (views.MAX_QUESTIONS, 30 - views.MAX_QUESTIONS)
        assert view.has_several_questions

    def test_lists_frequent_labels_first(self, results: StoredResults) -> None:
        ((_, counts),) = views.project_view(results).label_counts
        consensus = [count.consensus for _, count in counts]
        assert consensus == sorted(consensus, reverse=True)


class TestAnnotator:
    def test_has_confusion_and_disagreements(self, filled_store: Store) -> None:
        with filled_store.data.connect() as connection:
            view = views.annotator_view(connection, PROJECT, CONTRARY[0], {"topic": LABELS})
        assert view is not None
        assert view.annotator.verdict == "contrary"
        assert view.detail.differs >= len(view.detail.against) > 0
        assert set(view.texts) == {answer.task for answer in view.detail.against}
        (table,) = view.confusion
        right = sum(counts[table.labels.index(label)] for label, counts in table.rows)
        assert sum(sum(counts) for _, counts in table.rows) == view.annotator.answers
        assert right == view.annotator.answers - view.detail.differs

    def test_without_answers_has_no_view(self, filled_store: Store) -> None:
        with filled_store.data.connect() as connection:
            assert views.annotator_view(connection, PROJECT, 999, {"topic": LABELS}) is None


class TestLabel:
    def test_votes_for_it_come_first_then_by_weight(self) -> None:
        people = {number: person(number, weight=float(number)) for number in (1, 2, 3, 4)}
        view = views.label_view(label_with_votes({1: "news", 2: "sport", 3: "news", 4: "sport"}), people)
        assert [(vote.said, vote.annotator) for vote in view.votes] == [
            *(("news", 3), ("news", 1)),
            *(("sport", 4), ("sport", 2)),
        ]

    def test_votes_of_people_without_a_score_are_shown(self) -> None:
        (vote,) = views.label_view(label_with_votes({7: "news"}), {}).votes
        assert (vote.annotator, vote.name, vote.weight, vote.verdict) == (7, "", None, "")

    def test_a_task_has_a_view_of_each_label(self, filled_store: Store) -> None:
        with filled_store.data.connect() as connection:
            (view,) = views.task_view(connection, PROJECT, 1)
            assert views.task_view(connection, PROJECT, 999) == []
        assert {vote.name for vote in view.votes} <= {f"Person {number}" for number in range(1, 21)}
        assert view.why


class TestAgreement:
    def test_is_a_share_for_every_pair(self, filled_store: Store, results: StoredResults) -> None:
        with filled_store.data.connect() as connection:
            view = views.agreement_view(connection, results)
        assert [row.name for row in view.people] == [f"Person {number}" for number in range(1, 21)]
        matrix = [row.shares for row in view.people]
        assert all(matrix[number][number] is None for number in range(20))
        experts = [matrix[one - 1][two - 1] for one in EXPERTS for two in EXPERTS if one != two]
        assert min(share for share in experts if share is not None) > 0.5


class TestColumns:
    def test_are_fields_of_the_record(self) -> None:
        """The table is sorted by them."""
        assert {column.key for column in ANNOTATOR_COLUMNS} <= {field.name for field in fields(Annotator)}

    def test_show_everybody(self) -> None:
        unknown = ("skill", "skill_se", "adversary_probability", "weight", "accuracy", "agreement", "seconds")
        shown = [str(column.show(person(3, **dict.fromkeys(unknown)))) for column in ANNOTATOR_COLUMNS]
        assert shown[0] == "Person 3"
        assert shown[4:] == ["–"] * 6

    def test_show_verdicts_as_badges(self, filled_store: Store) -> None:
        with filled_store.data.connect() as connection:
            people, _ = list_annotators(connection, PROJECT)
        badge = str(ANNOTATOR_COLUMNS[1].show(people[0]))
        assert badge.startswith('<span class="verdict verdict-')

    def test_of_gold_count_right_answers(self) -> None:
        assert gold_record(person(1, gold_answers=5, gold_correct=4)) == "4 of 5"
        assert gold_record(person(1, gold_answers=0, gold_correct=0)) == "–"


def test_the_report_is_one_page_that_needs_nothing_else(filled_store: Store, results: StoredResults) -> None:
    with filled_store.data.connect() as connection:
        page = render_report(connection, PROJECT, results)
    checked = HtmlChecker(page)
    assert (checked.open_tags, checked.addresses) == ([], [])
    assert "<script" not in page
    assert page.count("consistently contrary") >= len(CONTRARY)
    assert "nats" in page
    assert "nats" not in checked.text_outside_details
