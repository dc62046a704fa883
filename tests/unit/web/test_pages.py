"""The pages: what they show of a crowd of known people, and that a label marked as gold is gold."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import template_rendered
from flask.testing import FlaskClient
from sqlalchemy import select, update

from ls_crowd_plugin.store import queue
from ls_crowd_plugin.store.gold import list_gold
from ls_crowd_plugin.store.heartbeats import beat
from ls_crowd_plugin.store.results import list_tasks, result_table
from ls_crowd_plugin.web import app as web_app
from ls_crowd_plugin.web.context import AppContext
from tests.support.known_crowd import CONTRARY, EXPERTS, PROJECT, known_crowd, store_crowd
from tests.support.pages import HtmlChecker, csrf_token_in, log_in, read_page

PATHS = ("", "/annotators", f"/annotator/{CONTRARY[0]}", "/tasks", "/task/1", "/agreement", "/answers")
TEMPLATES = Path(web_app.__file__).parent / "templates"
NOT_PAGES = {"base.html", "parts.html", "report.html"}  # what other templates are made of, and the report of a command


def annotators_in(page: str) -> list[int]:
    """The annotators in the rows of a table."""
    return [int(number) for number in re.findall(r'<th scope="row"><a href="/project/\d+/annotator/(\d+)"', page)]


@contextmanager
def rendered_templates(client: FlaskClient) -> Iterator[set[str]]:
    names: set[str] = set()

    def note(_: object, template: object, **__: object) -> None:
        names.add(str(getattr(template, "name", "")))

    with template_rendered.connected_to(note, client.application):
        yield names


class TestAllPages:
    def test_every_template_renders(self, pages: FlaskClient) -> None:
        with rendered_templates(pages) as rendered:
            for path in ("/", "/login", *(f"/project/{PROJECT}{path}" for path in PATHS)):
                read_page(pages, path)
            pages.get("/project/99")
        assert rendered == {path.name for path in TEMPLATES.iterdir()} - NOT_PAGES

    @pytest.mark.slow
    @pytest.mark.parametrize("path", PATHS)
    def test_tags_are_closed_and_links_lead_to_known_places(self, pages: FlaskClient, path: str) -> None:
        checked = HtmlChecker(read_page(pages, f"/project/{PROJECT}{path}"))
        assert not checked.open_tags
        elsewhere = {address for address in checked.addresses if not address.startswith(("/", "#", "?", "data:,"))}
        studio = f"http://studio.example/projects/{PROJECT}/data"
        assert elsewhere <= {studio, f"{studio}?task=1"}

    @pytest.mark.slow
    @pytest.mark.parametrize("path", PATHS)
    def test_statistics_are_only_in_details(self, pages: FlaskClient, path: str) -> None:
        page = read_page(pages, f"/project/{PROJECT}{path}")
        for words in ("nats", "explains the answers best", "log-odds", "posteriors of"):
            assert words not in HtmlChecker(page).text_outside_details
        assert ("nats" in page) == (path == "")

    @pytest.mark.parametrize("path", [*(f"/project/99{path}" for path in PATHS), f"/project/{PROJECT}/task/999"])
    def test_what_does_not_exist_is_said_in_words(self, pages: FlaskClient, path: str) -> None:
        response = pages.get(path)
        assert response.status_code == 404
        assert re.search("project 99|Task 999", response.get_data(as_text=True))

    def test_an_annotator_without_answers_is_not_found(self, pages: FlaskClient) -> None:
        response = pages.get(f"/project/{PROJECT}/annotator/999")
        assert response.status_code == 404
        assert "User 999 has no answers" in response.get_data(as_text=True)

    def test_names_and_texts_are_shown_as_text(self, app_context: AppContext, client: FlaskClient) -> None:
        names = {who: f"<b>{who}</b>" for who in (*EXPERTS, *CONTRARY)}
        store_crowd(app_context.store, names=names, task_text="<script>alert(1)</script>")
        log_in(client)
        for path in PATHS:
            page = read_page(client, f"/project/{PROJECT}{path}")
            assert "<b>" not in page
            assert "<script>alert" not in page


class TestOverview:
    def test_says_what_to_do_where_no_project_is_monitored(self, client: FlaskClient) -> None:
        log_in(client)
        page = read_page(client, "/")
        assert "No project is monitored yet." in page
        assert "No worker is running" in page

    def test_links_to_projects_with_results(self, pages: FlaskClient) -> None:
        assert f'<a href="/project/{PROJECT}">Topics</a>' in read_page(pages, "/")

    def test_lists_a_project_that_is_not_monitored(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            queue.remove(connection, PROJECT)
        page = read_page(pages, "/")
        assert f'<a href="/project/{PROJECT}">Topics</a>' in page
        assert "not monitored" in page

    @pytest.mark.parametrize("path", ["", "/", "/data", "/data?task=17"])
    def test_is_found_by_the_address_of_a_project_in_label_studio(self, pages: FlaskClient, path: str) -> None:
        response = pages.get(f"/projects/{PROJECT}{path}")
        assert (response.status_code, response.headers["Location"]) == (302, f"/project/{PROJECT}")

    def test_shows_what_keeps_a_worker_from_working(self, client: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            beat(connection, "a", "Label Studio does not answer.")
        log_in(client)
        page = read_page(client, "/")
        assert "Label Studio does not answer." in page
        assert "No worker is running" not in page

    def test_shows_why_a_project_failed_as_text(self, client: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            queue.enqueue(connection, 3)
            claim = queue.claim(connection, "a")
            assert claim is not None
            queue.retry_later(connection, claim, "<script>alert(1)</script>")
        log_in(client)
        page = read_page(client, "/")
        assert "&lt;script&gt;" in page
        assert "<script>alert" not in page


class TestAnnotators:
    def test_contrary_ones_are_named_and_their_disagreements_listed(self, pages: FlaskClient) -> None:
        listed = read_page(pages, f"/project/{PROJECT}/annotators?verdict=contrary")
        assert set(annotators_in(listed)) == set(CONTRARY)
        page = read_page(pages, f"/project/{PROJECT}/annotator/{CONTRARY[0]}")
        assert "consistently contrary" in page
        assert "Answers that differ from the consensus" in page
        assert "Sentence number" in page

    def test_are_sorted_both_ways(self, pages: FlaskClient) -> None:
        def listed(query: str) -> list[int]:
            return annotators_in(read_page(pages, f"/project/{PROJECT}/annotators?{query}"))

        ascending, descending = listed("order=accuracy&down=0"), listed("order=accuracy&down=1")
        assert ascending != descending
        assert set(descending[: len(EXPERTS)]) == set(EXPERTS)
        assert set(ascending[: len(CONTRARY)]) == set(CONTRARY)
        assert listed("order=nonsense&page=-3&down=x") == ascending
        assert listed("name=person+10") == [10]

    def test_are_sorted_by_every_column(self, pages: FlaskClient) -> None:
        page = read_page(pages, f"/project/{PROJECT}/annotators")
        links = [link.replace("&amp;", "&") for link in re.findall(r'aria-sort="\w+"><a href="([^"]+)"', page)]
        assert len(links) == 10
        for link in links:
            assert sorted(annotators_in(read_page(pages, link))) == list(range(1, 21))


class TestTasks:
    def test_say_why_a_label_won(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.data.connect() as connection:
            tasks, _ = list_tasks(connection, PROJECT, show="differs from plurality")
        assert tasks, "a crowd whose most frequent answers are all right shows nothing"
        page = read_page(pages, f"/project/{PROJECT}/task/{tasks[0].task}")
        assert re.search(r"has \d+ of \d+ answers", page)
        assert "The most frequent answer was" in page

    def test_say_how_the_confidence_came_about(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.data.connect() as connection:
            tasks, _ = list_tasks(connection, PROJECT, show="unsettled")
        (label,) = tasks[0].labels
        page = read_page(pages, f"/project/{PROJECT}/task/{label.task}")
        (table,) = re.findall(f"How the {label.confidence:.1%} came about</caption>(.*?)</table>", page, re.DOTALL)
        body, foot = table.split("<tfoot>")
        tenths = [round(10 * float(number)) for number in re.findall(r"([\d.]+)%", body)]
        sums = [round(10 * float(number)) for number in re.findall(r"([\d.]+)%", foot)]
        assert [sum(tenths[::2]), sum(tenths[1::2])] == sums
        assert f"{sums[0] / 10}%" == f"{label.confidence:.1%}"

    def test_of_gold_have_nothing_to_add_up(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.data.connect() as connection:
            tasks, _ = list_tasks(connection, PROJECT, show="gold")
        page = read_page(pages, f"/project/{PROJECT}/task/{tasks[0].task}")
        assert "is gold: it is known to be right" in page
        assert "came about" not in page

    def test_the_least_confident_come_first(self, pages: FlaskClient) -> None:
        page = read_page(pages, f"/project/{PROJECT}/tasks")
        confidence = [float(share) for share in re.findall(r'class="number">([\d.]+)%', page)]
        assert confidence == sorted(confidence)
        assert len(confidence) > 20

    def test_long_lists_have_several_pages(self, pages: FlaskClient) -> None:
        page = read_page(pages, f"/project/{PROJECT}/tasks")
        assert "Page 1 of 2" in page
        (following,) = re.findall(r'<a href="([^"]+)" rel="next">', page)
        assert "Page 2 of 2" in read_page(pages, following.replace("&amp;", "&"))

    @pytest.mark.slow
    def test_spans_are_marked_in_the_text(self, region_pages: FlaskClient) -> None:
        page = read_page(region_pages, f"/project/{PROJECT}/task/0")
        assert "<mark>Sentence<small>PER</small></mark> <mark>number<small>ORG</small></mark> 0." in page
        assert "Mark as gold" not in page

    def test_regions_that_somebody_missed_added_and_misnamed_are_counted(self, region_pages: FlaskClient) -> None:
        page = read_page(region_pages, f"/project/{PROJECT}/annotator/4")
        assert "50.0% of the existing regions missed" in page
        assert "of those drawn, 50.0% are not in the consensus and 50.0% have another label" in page

    def test_pages_about_regions_are_whole(self, region_pages: FlaskClient) -> None:
        for path in ("", "/annotators", "/tasks", "/task/0", "/agreement"):
            assert not HtmlChecker(read_page(region_pages, f"/project/{PROJECT}{path}")).open_tags


class TestGold:
    def test_is_marked_changed_and_removed(self, pages: FlaskClient, app_context: AppContext) -> None:
        page = read_page(pages, f"/project/{PROJECT}/task/7")
        form = {"token": csrf_token_in(page), "question": "topic", "label": "sport"}
        for changes, left in (({}, "sport"), ({"label": "news"}, "news"), ({"remove": "1"}, None)):
            response = pages.post(f"/project/{PROJECT}/task/7/gold", data=form | changes)
            assert (response.status_code, response.headers["Location"]) == (302, f"/project/{PROJECT}/task/7")
            with app_context.store.data.connect() as connection:
                assert list_gold(connection, PROJECT).get((7, "topic")) == left
        state = pages.get(f"/api/projects/{PROJECT}/state").get_json()
        assert state["busy"], "a pass is requested"
        waits_for = f'data-busy="/api/projects/{PROJECT}/state" data-results-at="{state["results_at"]}"'
        assert waits_for in read_page(pages, f"/project/{PROJECT}/task/7")

    @pytest.mark.parametrize("label", ["new  sport", " sport", "sport ", "two\nlines", 'a "quoted" <one> & more'])
    def test_is_marked_by_a_browser_whatever_spaces_a_label_has(
        self, pages: FlaskClient, app_context: AppContext, label: str
    ) -> None:
        """A browser sends an option's value; without one, its text with single spaces."""
        with app_context.store.data.begin() as connection:
            figures = connection.execute(select(result_table.c.figures)).scalar_one()
            figures = figures.replace('"sport"', json.dumps(label))
            connection.execute(update(result_table).values(figures=figures))
        page = read_page(pages, f"/project/{PROJECT}/task/7")
        assert label in [html.unescape(value) for value in re.findall(r'<option value="([^"]*)"', page)]
        form = {"token": csrf_token_in(page), "question": "topic", "label": label.replace("\n", "\r\n")}
        assert pages.post(f"/project/{PROJECT}/task/7/gold", data=form).status_code == 302
        with app_context.store.data.connect() as connection:
            assert list_gold(connection, PROJECT)[7, "topic"] == label

    @pytest.mark.parametrize(
        "changes", [{"token": "x"}, {"token": ""}, {"label": "nonsense"}, {"question": "nonsense"}, {"label": ""}]
    )
    def test_is_not_marked_by_a_wrong_form(
        self, pages: FlaskClient, app_context: AppContext, changes: dict[str, str]
    ) -> None:
        page = read_page(pages, f"/project/{PROJECT}/task/7")
        form = {"token": csrf_token_in(page), "question": "topic", "label": "sport"} | changes
        assert pages.post(f"/project/{PROJECT}/task/7/gold", data=form).status_code == 400
        with app_context.store.data.connect() as connection:
            assert (7, "topic") not in list_gold(connection, PROJECT)

    def test_does_not_make_a_disconnected_project_monitored(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            queue.remove(connection, PROJECT)
        page = read_page(pages, f"/project/{PROJECT}/task/7")
        form = {"token": csrf_token_in(page), "question": "topic", "label": "sport"}
        assert pages.post(f"/project/{PROJECT}/task/7/gold", data=form).status_code == 302
        with app_context.store.work.connect() as connection:
            assert queue.list_entries(connection) == []
        assert "no longer monitored" in read_page(pages, f"/project/{PROJECT}")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.slow
def test_large_projects_have_small_and_quick_pages(app_context: AppContext, client: FlaskClient) -> None:
    """Ten thousand tasks, five hundred annotators: no page over 300 kB or 300 ms, the best of five times."""
    store_crowd(app_context.store, known_crowd(tasks=10_000, people=500, per_task=5, method="neg"))
    log_in(client)
    seconds = {}
    for path in (
        "",
        "/annotators",
        "/annotator/7",
        "/tasks",
        "/tasks?show=disputed&order=hardest&page=9",
        "/task/9",
        "/agreement",
    ):
        best = 10.0
        for _ in range(5):
            started = time.perf_counter()
            size = len(read_page(client, f"/project/{PROJECT}{path}"))
            best = min(best, time.perf_counter() - started)
        seconds[path] = round(best, 3)
        assert size < 300_000, path
    assert max(seconds.values()) < 0.3, json.dumps(seconds)
