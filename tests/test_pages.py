"""The pages: who may see them, what they show, and that a label marked as gold is gold."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from crowd_found import CONTRARY, EXPERTS, PROJECT, fill, find_crowd
from flask.testing import FlaskClient
from service import PASSWORD
from test_drawings import crowd
from werkzeug.security import generate_password_hash

from ls_crowd_plugin.pipeline.findings import find
from ls_crowd_plugin.store import found
from ls_crowd_plugin.store.gold import list_gold
from ls_crowd_plugin.web import create_app
from ls_crowd_plugin.web.app import Parts
from ls_crowd_plugin.web.charts import boxes


def token_of(page: str) -> str:
    return page.split('name="token" value="')[1].split('"')[0]


def log_in(client: FlaskClient, password: str = PASSWORD) -> int:
    token = token_of(client.get("/login").get_data(as_text=True))
    return client.post("/login", data={"token": token, "password": password}).status_code


class TestLogin:
    def test_send_strangers_to_the_login(self, client: FlaskClient) -> None:
        answer = client.get("/")
        assert (answer.status_code, answer.headers["Location"]) == (302, "/login")

    def test_refuse_programs_without_a_login(self, client: FlaskClient) -> None:
        assert client.get("/api/projects").status_code == 401

    def test_open_with_the_password(self, client: FlaskClient, parts: Parts) -> None:
        parts.work.want(3)
        assert log_in(client) == 302
        assert "Project 3" in client.get("/").get_data(as_text=True)
        assert [each["id"] for each in client.get("/api/projects").get_json()["projects"]] == [3]

    def test_do_not_open_with_another(self, client: FlaskClient) -> None:
        assert log_in(client, "guess") == 401
        assert client.get("/api/projects").status_code == 401

    def test_do_not_open_to_a_form_from_elsewhere(self, client: FlaskClient) -> None:
        assert client.post("/login", data={"password": PASSWORD}).status_code == 400

    @pytest.mark.parametrize("token", ["", "-", "x"])
    def test_do_not_open_to_who_has_not_seen_the_form(self, client: FlaskClient, token: str) -> None:
        assert client.post("/login", data={"password": PASSWORD, "token": token}).status_code == 400

    def test_close_to_all_when_the_password_changes(self, client: FlaskClient, parts: Parts) -> None:
        log_in(client)
        cookie = client.get_cookie("ls_crowd")
        assert cookie is not None
        other = create_app(replace(parts, password_hash=generate_password_hash("new", "pbkdf2:sha256:1"))).test_client()
        other.set_cookie("ls_crowd", cookie.value)
        assert other.get("/api/projects").status_code == 401

    def test_stay_open_when_the_service_starts_again(self, parts: Parts) -> None:
        """The hash of the same password is another at each start."""
        first, second = (
            create_app(
                replace(parts, password=PASSWORD, password_hash=generate_password_hash(PASSWORD, "pbkdf2:sha256:1"))
            ).test_client()
            for _ in range(2)
        )
        log_in(first)
        cookie = first.get_cookie("ls_crowd")
        assert cookie is not None
        second.set_cookie("ls_crowd", cookie.value)
        assert second.get("/api/projects").status_code == 200

    def test_do_not_open_to_guessing(self, client: FlaskClient) -> None:
        assert [log_in(client, f"guess {number}") for number in range(12)][-2:] == [429, 429]
        assert log_in(client) == 429

    def test_close_with_the_log_out(self, client: FlaskClient) -> None:
        log_in(client)
        assert client.post("/logout").status_code == 302
        assert client.get("/api/projects").status_code == 200, "a form from elsewhere logs nobody out"
        client.post("/logout", data={"token": token_of(client.get("/").get_data(as_text=True))})
        assert client.get("/api/projects").status_code == 401

    def test_sends_its_cookie_only_over_https_where_there_is_https(self, parts: Parts) -> None:
        for encrypted in (True, False):
            answer = create_app(replace(parts, encrypted=encrypted)).test_client().get("/login")
            assert ("Secure" in answer.headers["Set-Cookie"]) == encrypted

    def test_say_why_a_project_fails_without_letting_it_write_the_page(self, client: FlaskClient, parts: Parts) -> None:
        parts.work.want(3)
        claim = parts.work.claim("a")
        assert claim is not None
        parts.work.fail(claim, "<script>alert(1)</script>")
        log_in(client)
        page = client.get("/").get_data(as_text=True)
        assert "&lt;script&gt;" in page
        assert "<script>alert" not in page

    def test_forbid_scripts_and_frames(self, client: FlaskClient) -> None:
        policy = client.get("/login").headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.fixture
def pages(parts: Parts, client: FlaskClient) -> FlaskClient:
    """The pages of a project with a crowd of known people, logged in."""
    fill(parts)
    log_in(client)
    return client


def text(client: FlaskClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.get_data(as_text=True)


def people_on(page: str) -> list[int]:
    """The annotators in the rows of a table."""
    return [int(who) for who in re.findall(r'<th scope="row"><a href="/project/\d+/annotator/(\d+)"', page)]


class Tags(HTMLParser):
    """Finds tags that are not closed, and addresses that lead elsewhere."""

    EMPTY = ("meta", "link", "input", "br", "path", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attributes if name in ("href", "src", "action")]
        assert not [name for name, _ in attributes if name == "style" or name.startswith("on")], "against the policy"
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


PATHS = ("", "/annotators", f"/annotator/{CONTRARY[0]}", "/tasks", "/task/1", "/agreement")


class TestPages:
    @pytest.mark.parametrize("path", PATHS)
    def test_are_whole_and_lead_nowhere_else(self, pages: FlaskClient, path: str) -> None:
        tags = Tags()
        tags.feed(text(pages, f"/project/{PROJECT}{path}"))
        assert not tags.open
        assert {each for each in tags.addresses if not each.startswith(("/", "#", "?", "data:,"))} <= {
            f"http://studio.example/projects/{PROJECT}/data",
            f"http://studio.example/projects/{PROJECT}/data?task=1",
        }

    @pytest.mark.parametrize("path", PATHS)
    def test_are_not_for_strangers(self, parts: Parts, client: FlaskClient, path: str) -> None:
        fill(parts)
        assert client.get(f"/project/{PROJECT}{path}").status_code == 302
        for address in ("", "/state", "/annotators", "/tasks"):
            assert client.get(f"/api/projects/{PROJECT}{address}").status_code == 401

    @pytest.mark.parametrize("path", [*(f"/project/99{path}" for path in PATHS), f"/project/{PROJECT}/task/999"])
    def test_say_in_words_that_something_is_not_there(self, pages: FlaskClient, path: str) -> None:
        answer = pages.get(path)
        assert answer.status_code == 404
        assert "project 99" in answer.get_data(as_text=True) or "Task 999" in answer.get_data(as_text=True)

    def test_name_the_contrary_and_show_what_speaks_against_them(self, pages: FlaskClient) -> None:
        listed = text(pages, f"/project/{PROJECT}/annotators?verdict=contrary")
        assert set(map(int, re.findall(r'<th scope="row"><a href="/project/\d+/annotator/(\d+)"', listed))) == set(
            CONTRARY
        )
        page = text(pages, f"/project/{PROJECT}/annotator/{CONTRARY[0]}")
        assert "consistently contrary" in page
        assert "Answers that count against them" in page
        assert "Sentence number" in page

    def test_sort_annotators_both_ways(self, pages: FlaskClient) -> None:
        def people(query: str) -> list[int]:
            return people_on(text(pages, f"/project/{PROJECT}/annotators?{query}"))

        up, down = people("order=accuracy&down=0"), people("order=accuracy&down=1")
        assert up != down
        assert set(down[: len(EXPERTS)]) == set(EXPERTS)
        assert set(up[: len(CONTRARY)]) == set(CONTRARY)
        assert people("order=nonsense&page=-3&down=x") == up
        assert people("name=person+10") == [10]

    def test_explain_why_a_label_won(self, pages: FlaskClient, parts: Parts) -> None:
        with parts.engine.connect() as connection:
            rows, _ = found.tasks(connection, PROJECT, show="differs from plurality")
        assert rows, "a crowd in which plurality never errs shows nothing"
        page = text(pages, f"/project/{PROJECT}/task/{rows[0]['task']}")
        assert re.search(r"won with \d+ answers? that (weighs|together weigh)", page)
        assert "The most frequent answer was" in page

    def test_list_the_least_sure_first(self, pages: FlaskClient) -> None:
        sure = [
            float(each) for each in re.findall(r'class="number">([\d.]+)%', text(pages, f"/project/{PROJECT}/tasks"))
        ]
        assert sure == sorted(sure)
        assert len(sure) > 20

    def test_show_what_is_written_by_annotators_as_text(self, parts: Parts, client: FlaskClient) -> None:
        fill(
            parts, names={who: f"<b>{who}</b>" for who in (*EXPERTS, *CONTRARY)}, task_text="<script>alert(1)</script>"
        )
        log_in(client)
        for path in PATHS:
            page = text(client, f"/project/{PROJECT}{path}")
            assert "<b>" not in page
            assert "<script>alert" not in page

    def test_tell_programs_the_same(self, pages: FlaskClient) -> None:
        told = pages.get(f"/api/projects/{PROJECT}/annotators").get_json()
        verdicts = {each["annotator"]: each["verdict"] for each in told["annotators"]}
        assert {who for who, verdict in verdicts.items() if verdict == "contrary"} == set(CONTRARY)
        tasks = pages.get(f"/api/projects/{PROJECT}/tasks").get_json()
        assert tasks["total"] == 60
        assert tasks["tasks"][0]["labels"][0]["said"]


class TestRegions:
    """People who draw: two names in each sentence, which one of them gets wrong."""

    @pytest.fixture
    def regions(self, parts: Parts, client: FlaskClient) -> FlaskClient:
        good = [(0, 8, "PER"), (9, 15, "ORG")]
        found_crowd = crowd(good, good, good, [(0, 8, "ORG"), (16, 17, "PER")])
        fill(parts, crowd=(found_crowd, find(found_crowd)), task_text="Sentence number {}.")
        log_in(client)
        return client

    def test_are_marked_in_the_text(self, regions: FlaskClient) -> None:
        page = text(regions, f"/project/{PROJECT}/task/0")
        assert "<mark>Sentence<small>PER</small></mark> <mark>number<small>ORG</small></mark> 0." in page
        assert "Mark as gold" not in page

    def test_show_what_somebody_missed_added_and_misnamed(self, regions: FlaskClient) -> None:
        page = text(regions, f"/project/{PROJECT}/annotator/4")
        assert "missed 50.0% of those that are there; 50.0% of theirs are not there, 50.0% are called" in page

    def test_have_whole_pages(self, regions: FlaskClient) -> None:
        for path in ("", "/annotators", "/tasks", "/task/0", "/agreement"):
            tags = Tags()
            tags.feed(text(regions, f"/project/{PROJECT}{path}"))
            assert not tags.open

    def test_that_are_boxes_are_drawn(self) -> None:
        value = {"x": 10.0, "y": 20.0, "width": 30.0, "height": 40.0, "rotation": 15.0}
        drawn = str(boxes([("<b>", value)], 200, 100, "One box."))
        assert '<g transform="rotate(15.0 48.0 48.0)"><rect class="box" x="48.0" y="48.0"' in drawn
        assert "&lt;b&gt;" in drawn


class TestGold:
    def test_is_marked_changed_and_taken_back(self, pages: FlaskClient, parts: Parts) -> None:
        page = text(pages, f"/project/{PROJECT}/task/7")
        form = {"token": token_of(page), "question": "topic", "label": "sport"}
        for changes, left in (({}, "sport"), ({"label": "news"}, "news"), ({"remove": "1"}, None)):
            answer = pages.post(f"/project/{PROJECT}/task/7/gold", data=form | changes)
            assert (answer.status_code, answer.headers["Location"]) == (302, f"/project/{PROJECT}/task/7")
            with parts.engine.connect() as connection:
                assert list_gold(connection, PROJECT).get((7, "topic")) == left
        assert pages.get(f"/api/projects/{PROJECT}/state").get_json() == {"busy": True}, "a pass is to come"
        assert f'data-busy="/api/projects/{PROJECT}/state"' in text(pages, f"/project/{PROJECT}/task/7")

    @pytest.mark.parametrize(
        "changes", [{"token": "x"}, {"token": ""}, {"label": "nonsense"}, {"question": "nonsense"}, {"label": ""}]
    )
    def test_is_not_marked_by_a_form_that_is_not_ours(
        self, pages: FlaskClient, parts: Parts, changes: dict[str, str]
    ) -> None:
        page = text(pages, f"/project/{PROJECT}/task/7")
        form = {"token": token_of(page), "question": "topic", "label": "sport"} | changes
        assert pages.post(f"/project/{PROJECT}/task/7/gold", data=form).status_code == 400
        with parts.engine.connect() as connection:
            assert (7, "topic") not in list_gold(connection, PROJECT)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_large_projects_have_small_and_quick_pages(parts: Parts, client: FlaskClient) -> None:
    """Ten thousand tasks, five hundred annotators: no page over 300 kB or 300 ms, at the best of five times."""
    fill(parts, crowd=find_crowd(tasks=10_000, people=500, per_task=5, method="neg"))
    log_in(client)
    took = {}
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
            size = len(text(client, f"/project/{PROJECT}{path}"))
            best = min(best, time.perf_counter() - started)
        took[path] = round(best, 3)
        assert size < 300_000, path
    assert max(took.values()) < 0.3, json.dumps(took)
