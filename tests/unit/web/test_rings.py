"""People who give the same answers against everybody else are shown as a group, with the evidence in plain words."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from ls_crowd_plugin.records import ProjectSummary, Ring, TaskLabel, Vote
from ls_crowd_plugin.store.results import load_results, save_results
from ls_crowd_plugin.store.users import save_users
from ls_crowd_plugin.web.context import AppContext
from ls_crowd_plugin.web.report import render_report
from tests.support.mirrored import PROJECT, save_project
from tests.support.pages import HtmlChecker, log_in, read_page
from tests.support.result_records import DETAIL, FIGURES, make_annotator, make_label

RING = Ring((5, 6, 7), shared=1200, same=1180, alone=31, tasks=(11, 12))
SHOWN = replace(RING, is_one_voice=False)
NAMES = {5: "Ada", 6: "Ben", 7: "<Cleo>"}
EVIDENCE = (
    "Ada, Ben and &lt;Cleo&gt; gave the same answer on 1,180 of the 1,200 tasks that they share, and on 31 of these"
    " nobody else did."
)
LABEL = replace(make_label(0, 11, 0.9), votes=(Vote(5, "cat"), Vote(6, "cat"), Vote(8, "dog")))


def save(app_context: AppContext, rings: list[Ring], labels: list[TaskLabel]) -> None:
    save_project(app_context.store)
    people = [(make_annotator(annotator), DETAIL) for annotator in (5, 6, 7, 8)]
    with app_context.store.data.begin() as connection:
        save_results(connection, PROJECT, ProjectSummary(rings=rings), FIGURES, labels, people)
        save_users(connection, NAMES)


def page_with(app_context: AppContext, client: FlaskClient, rings: list[Ring], page: str = "/annotators") -> str:
    save(app_context, rings, [LABEL])
    log_in(client)
    html = read_page(client, f"/project/{PROJECT}{page}")
    assert not HtmlChecker(html).open_tags
    return html


@pytest.mark.parametrize(
    ("ring", "effect"), [(RING, "They count as about one person."), (SHOWN, "They count as usual.")]
)
def test_a_group_is_shown_with_its_evidence(
    app_context: AppContext, client: FlaskClient, ring: Ring, effect: str
) -> None:
    page = page_with(app_context, client, [ring])
    assert f"{EVIDENCE} {effect}" in page
    assert re.findall(rf'<a href="/project/{PROJECT}/task/(\d+)">', page) == ["11", "12"]


def test_the_words_are_about_answers(app_context: AppContext, client: FlaskClient) -> None:
    page = page_with(app_context, client, [RING]).lower()
    assert not [word for word in ("cheat", "collu", "fraud", "copied", "spam") if word in page]


def test_nothing_is_shown_where_there_are_none(app_context: AppContext, client: FlaskClient) -> None:
    assert "gave the same answer on" not in page_with(app_context, client, [])


@pytest.mark.parametrize(("rings", "marked"), [([RING], 2), ([SHOWN], 0), ([], 0)])
def test_votes_that_count_as_one_are_marked(
    app_context: AppContext, client: FlaskClient, rings: list[Ring], marked: int
) -> None:
    page = page_with(app_context, client, rings, "/task/11")
    assert page.count("one voice with") == marked
    assert ("one voice with Ben" in page) == ("one voice with Ada" in page) == bool(marked)


def test_the_summary_points_to_them(app_context: AppContext, client: FlaskClient) -> None:
    assert "1 group of people gives the same answers" in page_with(app_context, client, [SHOWN], "")


def test_the_report_shows_them(app_context: AppContext) -> None:
    save(app_context, [SHOWN], [LABEL])
    with app_context.store.data.connect() as connection:
        results = load_results(connection, PROJECT)
        assert results is not None
        assert EVIDENCE in render_report(connection, PROJECT, results)
