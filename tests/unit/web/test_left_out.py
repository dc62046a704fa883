"""Annotations that cannot be used are counted on the page of their project, and some of them named."""

from __future__ import annotations

from flask.testing import FlaskClient

from ls_crowd_plugin.records import LeftOutAnnotation, LeftOutAnnotations, ProjectSummary
from ls_crowd_plugin.store.results import save_results
from ls_crowd_plugin.web.context import AppContext
from tests.support.mirrored import PROJECT, save_project
from tests.support.pages import HtmlChecker, log_in, read_page
from tests.support.result_records import FIGURES


def page_with(app_context: AppContext, client: FlaskClient, left_out: LeftOutAnnotations) -> str:
    save_project(app_context.store)
    with app_context.store.data.begin() as connection:
        save_results(connection, PROJECT, ProjectSummary(left_out_annotations=left_out), FIGURES, [], [])
    log_in(client)
    page = read_page(client, f"/project/{PROJECT}")
    assert not HtmlChecker(page).open_tags
    return page


def test_they_are_counted_and_named_with_the_reason(app_context: AppContext, client: FlaskClient) -> None:
    examples = [LeftOutAnnotation(17, "more than 5,000 regions"), LeftOutAnnotation(18, "<script>")]
    page = page_with(app_context, client, LeftOutAnnotations(1234, examples))
    assert "1,234 annotations cannot be used" in page
    assert "Annotation 17: more than 5,000 regions" in page
    assert "Annotation 18: &lt;script&gt;" in page
    assert "and 1,232 more annotations." in page


def test_nothing_is_said_where_there_are_none(app_context: AppContext, client: FlaskClient) -> None:
    assert "cannot be used" not in page_with(app_context, client, LeftOutAnnotations())
