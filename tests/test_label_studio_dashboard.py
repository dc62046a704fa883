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
from browser import browser, log_in_to_label_studio
from playwright.sync_api import Page
from service import PASSWORD, Service, eventually

from ls_crowd_plugin.demo import projects
from ls_crowd_plugin.demo.play import Played, play
from ls_crowd_plugin.demo.projects import PEOPLE
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.store import open_database
from ls_crowd_plugin.store.gold import add_gold

SCREENSHOTS = Path(__file__).parent.parent / ".screenshots"
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@dataclass
class Shown:
    """The demo's project, served and connected, and a browser that has logged in to the pages."""

    played: Played
    service: Service
    page: Page
    asked: list[str]  # every address the browser asked for

    def open(self, path: str = "") -> Page:
        self.page.goto(f"{self.service.url}/project/{self.played.number}{path}")
        return self.page

    def screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    def told(self, path: str) -> dict[str, Any]:
        """What the pages tell programs."""
        return dict(self.page.request.get(f"{self.service.url}/api/projects/{self.played.number}{path}").json())


@pytest.fixture(scope="module")
def shown(label_studio: Server, owner: Http) -> Iterator[Shown]:
    played = play(owner, projects.texts())
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / f'{secrets.token_hex(4)}.db'}"
        _add_gold(played, database)
        settings = {"LS_CROWD_METHOD": "auto", "LS_CROWD_PROJECTS": str(played.number)}
        service = Service(label_studio.url, label_studio.key, database, Path(folder), **settings)
        with service, browser() as opened:
            page = opened.new_page(viewport={"width": 1280, "height": 900})
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(service.url)
            page.fill("input[name=password]", PASSWORD)
            page.press("input[name=password]", "Enter")
            page.wait_for_selector("text=Projects")
            yielded = Shown(played, service, page, asked)
            eventually(lambda: page.request.get(f"{service.url}/api/projects/{played.number}").ok)
            eventually(service.idle)
            yield yielded


def _add_gold(played: Played, database: str) -> None:
    """What the demo does with `ls-crowd gold add`."""
    known = zip(played.tasks[: played.project.gold], played.project.truth, strict=False)
    engine = open_database(database)
    with engine.begin() as connection:
        gold = {(task, played.project.control): played.project.labels[right] for task, right in known}
        add_gold(connection, played.number, gold)
    engine.dispose()


def adversaries() -> set[str]:
    return {person.name for person in PEOPLE if person.kind == "adversary"}


def test_the_projects_are_listed_and_open(shown: Shown) -> None:
    shown.page.goto(shown.service.url)
    assert "up to date" in shown.page.inner_text("table")
    shown.page.click(f"text={shown.played.project.title}")
    assert "Mean confidence" in shown.page.inner_text("main")
    shown.screenshot("project")


def test_annotators_are_sorted_by_a_click_and_the_contrary_are_named(shown: Shown) -> None:
    page = shown.open("/annotators")
    page.click("th >> text=Adversary")
    page.wait_for_selector("th[aria-sort=descending] >> text=Adversary")
    first = page.locator("tbody tr th").all_inner_texts()[: len(adversaries())]
    assert set(first) == adversaries()
    words = page.locator("tbody tr .verdict-contrary").all_inner_texts()
    assert words == ["consistently contrary"] * len(adversaries())
    shown.screenshot("annotators")
    page.click(f"tbody >> text={first[0]}")
    assert "Answers that count against them" in page.inner_text("main")
    assert page.locator("tbody tr").count() > 5
    shown.screenshot("annotator")


def test_gold_marked_on_a_task_moves_its_label_and_the_scores_of_who_answered_it(shown: Shown) -> None:
    """The least sure task that an adversary answered gets a label that is not the consensus."""
    ids = {each["name"]: each["annotator"] for each in shown.told("/annotators")["annotators"]}
    contrary = {ids[name] for name in adversaries()}
    task, who = next(
        (each["task"], who)
        for each in shown.told("/tasks")["tasks"]
        if each["labels"][0]["gold"] is None
        for who, _ in each["labels"][0]["said"]
        if who in contrary
    )

    def score() -> float:
        return float(
            next(e for e in shown.told("/annotators")["annotators"] if e["annotator"] == who)["adversary_probability"]
        )

    before, page = score(), shown.open(f"/task/{task}")
    label = page.inner_text("#label-1")
    options = page.locator("select[name=label] option").all_inner_texts()
    other = next(option for option in options if option != label)
    page.select_option("select[name=label]", other)
    page.click("text=Mark as gold")
    page.wait_for_selector(f"#label-1:has-text('{other}')", timeout=60_000)  # the page loads itself again
    assert "gold" in page.inner_text("#question-1")
    eventually(shown.service.idle)
    assert score() != before
    shown.screenshot("task")
    page = shown.open(f"/task/{task}")
    page.click("text=Remove gold")
    page.wait_for_selector(f"#label-1:has-text('{label}')", timeout=60_000)
    eventually(shown.service.idle)
    assert score() == before


def test_label_studio_shows_the_same(shown: Shown, label_studio: Server, owner: Http) -> None:
    found = shown.told("/tasks")["tasks"][0]
    label = found["labels"][0]["label"]
    opened = shown.page.context.browser
    assert opened is not None
    with opened.new_page(viewport={"width": 1400, "height": 1000}) as page:
        log_in_to_label_studio(page, label_studio)
        page.goto(f"{label_studio.url}/projects/{shown.played.number}/data?task={found['task']}")
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
        tab = owner.post("/api/dm/views/", {"project": shown.played.number, "data": body})["id"]
        page.goto(f"{label_studio.url}/projects/{shown.played.number}/data?tab={tab}")
        page.wait_for_selector("text=crowd-consensus")
        standing = {int(each["task"]): each for each in LabelStudio(owner).predictions(shown.played.number)}
        assert f"{standing[found['task']]['score']:.3f}" in page.inner_text("body").split()
        page.screenshot(path=SCREENSHOTS / "label-studio-data-manager.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_fault_for_who_sees_or_moves_little(shown: Shown, scheme: str) -> None:
    contrary = next(each for each in shown.told("/annotators")["annotators"] if each["verdict"] == "contrary")
    shown.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for path in ("", "/annotators", f"/annotator/{contrary['annotator']}", "/tasks", "/task/%d", "/agreement"):
        shown.open(path % shown.played.tasks[0] if "%d" in path else path)
        shown.page.evaluate(AXE)
        found = shown.page.evaluate("() => axe.run()")
        serious = [
            (each["id"], [node["html"][:200] for node in each["nodes"][:3]])
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious, (path, json.dumps(serious, indent=1))
        assert len(found["passes"]) > 10, "axe did not look"


def test_nothing_is_wider_than_a_phone(shown: Shown) -> None:
    shown.page.set_viewport_size({"width": 360, "height": 740})
    try:
        for path in ("", "/annotators", "/tasks", f"/task/{shown.played.tasks[0]}", "/agreement"):
            page = shown.open(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        shown.screenshot("phone")
    finally:
        shown.page.set_viewport_size({"width": 1280, "height": 900})


def test_the_pages_can_be_used_with_keys_alone(shown: Shown) -> None:
    page = shown.open("/annotators")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('tbody') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/annotator/*")


def test_no_request_leaves_the_service(shown: Shown) -> None:
    assert len(shown.asked) > 20
    assert {address for address in shown.asked if not address.startswith((shown.service.url, "data:"))} == set()
