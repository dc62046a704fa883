"""People who give the same answers against everybody else are shown as a group, with the evidence in plain words."""

from __future__ import annotations

import re

from flask.testing import FlaskClient

from ls_crowd_plugin.records import ProjectSummary, Ring
from ls_crowd_plugin.store.results import save_results
from ls_crowd_plugin.store.users import save_users
from ls_crowd_plugin.web.context import AppContext
from tests.support.mirrored import PROJECT, save_project
from tests.support.pages import HtmlChecker, log_in, read_page
from tests.support.result_records import DETAIL, FIGURES, make_annotator

RING = Ring((5, 6, 7), shared=1200, same=1180, alone=31, tasks=(11, 12))
NAMES = {5: "Ada", 6: "Ben", 7: "<Cleo>"}


def page_with(app_context: AppContext, client: FlaskClient, rings: list[Ring]) -> str:
    save_project(app_context.store)
    people = [(make_annotator(annotator), DETAIL) for annotator in (5, 6, 7, 8)]
    with app_context.store.data.begin() as connection:
        save_results(connection, PROJECT, ProjectSummary(rings=rings), FIGURES, [], people)
        save_users(connection, NAMES)
    log_in(client)
    page = read_page(client, f"/project/{PROJECT}/annotators")
    assert not HtmlChecker(page).open_tags
    return page


def test_a_group_is_shown_with_its_evidence(app_context: AppContext, client: FlaskClient) -> None:
    page = page_with(app_context, client, [RING])
    assert (
        "Ada, Ben and &lt;Cleo&gt; gave the same answer on 1,180 of 1,200 tasks that they share, and on 31 of these"
        " nobody else did. They count as about one person."
    ) in page
    assert re.findall(rf'<a href="/project/{PROJECT}/task/(\d+)">', page) == ["11", "12"]


def test_the_words_are_about_answers(app_context: AppContext, client: FlaskClient) -> None:
    page = page_with(app_context, client, [RING]).lower()
    assert not [word for word in ("cheat", "collu", "fraud", "copied", "spam") if word in page]


def test_nothing_is_shown_where_there_are_none(app_context: AppContext, client: FlaskClient) -> None:
    assert "count as about one person" not in page_with(app_context, client, [])
