"""What people see, in a real browser: whom to trust, what the labels are, gold marked, the same in Label Studio."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from ls_crowd_plugin.demo import projects
from ls_crowd_plugin.demo.live_project import LiveProject, ensure_project
from ls_crowd_plugin.demo.projects import PEOPLE
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.store import open_store
from ls_crowd_plugin.store.gold import add_gold
from tests.support.browser import browser, log_in_to_label_studio
from tests.support.service import PASSWORD, Service
from tests.support.waiting import eventually

SCREENSHOTS = Path(__file__).parents[2] / ".screenshots"
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@dataclass
class Shown:
    """The demo's project, served and connected, and a browser that has logged in to the pages."""

    live: LiveProject
    service: Service
    page: Page
    asked: list[str]  # every address the browser asked for

    def open(self, path: str = "") -> Page:
        self.page.goto(f"{self.service.url}/project/{self.live.id}{path}")
        return self.page

    def screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    def api(self, path: str) -> dict[str, Any]:
        """What the JSON API returns."""
        return dict(self.page.request.get(f"{self.service.url}/api/projects/{self.live.id}{path}").json())


@pytest.fixture(scope="module")
def shown(label_studio: Server, owner: Http) -> Iterator[Shown]:
    live = ensure_project(owner, projects.texts())
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / f'{secrets.token_hex(4)}.db'}"
        _add_gold(live, database)
        settings = {"LS_CROWD_METHOD": "auto", "LS_CROWD_PROJECTS": str(live.id)}
        service = Service(label_studio.url, label_studio.key, database, Path(folder), **settings)
        with service, browser() as opened:
            page = opened.new_page(viewport={"width": 1280, "height": 900})
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(service.url)
            page.fill("input[name=password]", PASSWORD)
            page.press("input[name=password]", "Enter")
            page.wait_for_selector("text=Projects")
            yielded = Shown(live, service, page, asked)
            eventually(lambda: page.request.get(f"{service.url}/api/projects/{live.id}").ok)
            eventually(service.idle)
            yield yielded


def _add_gold(live: LiveProject, database: str) -> None:
    """What the demo does with `ls-crowd gold add`."""
    known = zip(live.tasks[: live.project.gold], live.project.truth, strict=False)
    with open_store(database) as store, store.data.begin() as connection:
        gold = {(task, live.project.control): live.project.labels[right] for task, right in known}
        add_gold(connection, live.id, gold)


def adversaries() -> set[str]:
    return {person.name for person in PEOPLE if person.kind == "adversary"}


def test_the_projects_are_listed_and_open(shown: Shown) -> None:
    shown.page.goto(shown.service.url)
    assert "up to date" in shown.page.inner_text("table")
    shown.page.click(f"text={shown.live.project.title}")
    assert "Mean confidence" in shown.page.inner_text("main")
    shown.screenshot("project")


def test_annotators_are_sorted_by_a_click_and_the_contrary_are_named(shown: Shown) -> None:
    page = shown.open("/annotators")
    page.click("th >> text=Adversary")
    page.wait_for_selector("th[aria-sort=descending] >> text=Adversary")
    first = page.locator("tbody tr th").all_inner_texts()[: len(adversaries())]
    assert set(first) == adversaries()
    contrary = page.locator("tbody tr:has(.verdict-contrary)")
    named = contrary.locator("th").all_inner_texts()
    assert len(named) >= len(adversaries()) - 1  # one of them may have answered too little yet
    assert set(named) <= adversaries()
    assert contrary.locator(".verdict-contrary").all_inner_texts() == ["consistently contrary"] * len(named)
    shown.screenshot("annotators")
    page.click(f"tbody >> text={first[0]}")
    assert "Answers that differ from the consensus" in page.inner_text("main")
    assert page.locator("tbody tr").count() > 5
    shown.screenshot("annotator")


def test_gold_marked_on_a_task_changes_its_label_and_the_scores_of_its_annotators(shown: Shown) -> None:
    """A task that an adversary answered gets a label that is not the consensus: an early one, as nothing is learned
    from people's newest answers."""
    ids = {one["name"]: one["annotator"] for one in shown.api("/annotators")["annotators"]}
    contrary = {ids[name] for name in adversaries()}
    task = min(
        listed["task"]
        for listed in shown.api("/tasks")["tasks"]
        if listed["labels"][0]["gold"] is None
        for who, _ in listed["labels"][0]["said"]
        if who in contrary
    )

    def scores() -> dict[int, float]:
        return {one["annotator"]: float(one["skill"]) for one in shown.api("/annotators")["annotators"]}

    before, page = scores(), shown.open(f"/task/{task}")
    label = page.inner_text("#label-1")
    options = page.locator("select[name=label] option").all_inner_texts()
    other = next(option for option in options if option != label)
    page.select_option("select[name=label]", other)
    page.click("text=Mark as gold")
    page.wait_for_selector(f"#label-1:has-text('{other}')", timeout=60_000)  # the page loads itself again
    assert "gold" in page.inner_text("#question-1")
    assert scores() != before
    shown.screenshot("task")
    page = shown.open(f"/task/{task}")
    page.click("text=Remove gold")
    page.wait_for_selector(f"#label-1:has-text('{label}')", timeout=60_000)
    assert scores() == before


def test_label_studio_shows_the_same(shown: Shown, label_studio: Server, owner: Http) -> None:
    task = shown.api("/tasks")["tasks"][0]
    label = task["labels"][0]["label"]

    def is_written() -> bool:  # after gold was marked and removed, many predictions are
        (prediction,) = LabelStudio(owner).predictions_on(shown.live.id, [task["task"]])[task["task"]]
        return bool(prediction.result[0]["value"]["choices"] == [label])

    eventually(is_written)
    opened = shown.page.context.browser
    assert opened is not None
    with opened.new_page(viewport={"width": 1400, "height": 1000}) as page:
        log_in_to_label_studio(page, label_studio)
        page.goto(f"{label_studio.url}/projects/{shown.live.id}/data?task={task['task']}")
        page.click("text=crowd-consensus")
        page.wait_for_selector("input:checked")
        chosen = [text for text in page.locator("label:has(input:checked)").all_inner_texts() if text.strip()]
        assert [text.partition("[")[0].strip() for text in chosen] == [label]
        page.screenshot(path=SCREENSHOTS / "label-studio-task.png")
        body = {
            "title": "Consensus",
            "type": "list",
            "target": "tasks",
            "ordering": ["tasks:predictions_score"],
            "hiddenColumns": {"explore": ["tasks:predictions_results", "tasks:annotations_results"], "labeling": []},
        }
        tab = owner.post("/api/dm/views/", {"project": shown.live.id, "data": body})["id"]
        page.goto(f"{label_studio.url}/projects/{shown.live.id}/data?tab={tab}")
        page.wait_for_selector("text=crowd-consensus")
        scores = {prediction.task: prediction.score for prediction in LabelStudio(owner).predictions(shown.live.id)}
        assert f"{scores[task['task']]:.3f}" in page.inner_text("body").split()
        page.screenshot(path=SCREENSHOTS / "label-studio-data-manager.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_accessibility_violation(shown: Shown, scheme: str) -> None:
    contrary = next(one for one in shown.api("/annotators")["annotators"] if one["verdict"] == "contrary")
    shown.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for path in (
        "",
        "/annotators",
        f"/annotator/{contrary['annotator']}",
        "/tasks",
        "/task/%d",
        "/agreement",
        "/answers",
    ):
        shown.open(path % shown.live.tasks[0] if "%d" in path else path)
        shown.page.evaluate(AXE)
        results = shown.page.evaluate("() => axe.run()")
        serious = [
            (violation["id"], [node["html"][:200] for node in violation["nodes"][:3]])
            for violation in results["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        assert not serious, (path, json.dumps(serious, indent=1))
        assert len(results["passes"]) > 10, "axe did not look"


def test_nothing_is_wider_than_a_phone(shown: Shown) -> None:
    shown.page.set_viewport_size({"width": 360, "height": 740})
    try:
        for path in ("", "/annotators", "/tasks", f"/task/{shown.live.tasks[0]}", "/agreement", "/answers"):
            page = shown.open(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        shown.screenshot("phone")
    finally:
        shown.page.set_viewport_size({"width": 1280, "height": 900})


def test_pages_can_be_used_with_the_keyboard_alone(shown: Shown) -> None:
    page = shown.open("/annotators")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('tbody') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/annotator/*")


def test_a_policy_is_set_and_taken_back_on_the_page_of_answers(shown: Shown, owner: Http) -> None:
    def required() -> int | None:
        return LabelStudio(owner).project(shown.live.id).maximum_annotations

    before, page = required(), shown.open("/answers")
    assert "Answers still needed" in page.inner_text("main")
    shown.screenshot("answers")
    for mode, expected in (("on", 3), ("advise", before)):
        page.select_option("select[name=mode]", mode)
        page.fill("input[name=min_answers]", "3")
        page.click("text=Save")
        page.wait_for_url("**/answers")
        eventually(lambda wanted=expected: bool(required() == wanted))  # type: ignore[misc]
        eventually(shown.service.idle)


def test_no_request_leaves_the_service(shown: Shown) -> None:
    assert len(shown.asked) > 20
    assert {address for address in shown.asked if not address.startswith((shown.service.url, "data:"))} == set()
