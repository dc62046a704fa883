"""Regions in a real Label Studio: five annotators draw, the consensus is created as sent and shows in its page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from ls_crowd_plugin.demo.pictures import picture
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.outcome import PassReport
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store, open_store
from tests.support.browser import browser, log_in_to_label_studio
from tests.support.studio import people, run_once

SCREENSHOTS = Path(__file__).parents[2] / ".screenshots"
NAMES = """
<View>
  <Labels name="entity" toName="text"><Label value="PER"/><Label value="ORG"/><Label value="LOC"/></Labels>
  <Choices name="sure" toName="text" perRegion="true"><Choice value="clear"/><Choice value="vague"/></Choices>
  <Text name="text" value="$text"/>
</View>
"""
BOXES = """
<View>
  <Image name="image" value="$image"/>
  <RectangleLabels name="thing" toName="image"><Label value="Car"/><Label value="Dog"/></RectangleLabels>
</View>
"""
PLAIN_BOXES = """
<View>
  <Image name="image" value="$image"/>
  <Rectangle name="place" toName="image"/>
  <Labels name="kind" toName="image"><Label value="Car"/><Label value="Dog"/></Labels>
  <Choices name="seen" toName="image" perRegion="true"><Choice value="whole"/><Choice value="partly"/></Choices>
</View>
"""
TEXT = "Ada Berg left Acme in Oslo."
WIDTH, HEIGHT = 320, 200

Drawing = list[list[Json]]  # regions, each with its items


def span(start: int, end: int, label: str, number: int, sure: str = "") -> list[Json]:
    value = {"start": start, "end": end, "text": TEXT[start:end]}
    shared = {"id": f"r{number}", "to_name": "text"}
    items = [{**shared, "from_name": "entity", "type": "labels", "value": {**value, "labels": [label]}}]
    if sure:
        items.append({**shared, "from_name": "sure", "type": "choices", "value": {**value, "choices": [sure]}})
    return items


def box(x: float, y: float, width: float, height: float, label: str, number: int, rotation: float = 0.0) -> list[Json]:
    value = {"x": x, "y": y, "width": width, "height": height, "rotation": rotation, "rectanglelabels": [label]}
    size = {"original_width": WIDTH, "original_height": HEIGHT, "image_rotation": 0}
    return [
        {
            "id": f"r{number}",
            "from_name": "thing",
            "to_name": "image",
            "type": "rectanglelabels",
            **size,
            "value": value,
        }
    ]


def plain_box(x: float, y: float, width: float, height: float, label: str, seen: str, number: int) -> list[Json]:
    value = {"x": x, "y": y, "width": width, "height": height, "rotation": 0}
    size = {"original_width": WIDTH, "original_height": HEIGHT, "image_rotation": 0}
    shared = {"id": f"r{number}", "to_name": "image", **size}
    return [
        {**shared, "from_name": "place", "type": "rectangle", "value": value},
        {**shared, "from_name": "kind", "type": "labels", "value": {**value, "labels": [label]}},
        {**shared, "from_name": "seen", "type": "choices", "value": {**value, "choices": [seen]}},
    ]


@dataclass
class Synced:
    """A project with five annotators on each task, after a sync."""

    http: Http
    number: int
    report: PassReport
    tasks: list[int] = field(default_factory=list)

    def prediction(self, position: int = 0) -> Json:
        (prediction,) = self.http.get("/api/predictions/", task=self.tasks[position])
        return dict(prediction)


def sync_project(http: Http, store: Store, config: str, data: Json, drawings: list[list[Drawing]]) -> Synced:
    """Create a project with a task for each list of drawings, one by each person, and run a pass over it."""
    annotators = people(http, 5)
    number = int(
        http.post("/api/projects/", {"title": "Regions", "label_config": config, "maximum_annotations": 5})["id"]
    )
    tasks = [
        {
            "data": data,
            "annotations": [
                {"completed_by": by, "ground_truth": False, "result": [item for region in items for item in region]}
                for by, items in zip(annotators, of_task, strict=True)
            ],
        }
        for of_task in drawings
    ]
    http.post(f"/api/projects/{number}/import", tasks)
    return Synced(http, number, sync(http, store, number), sorted(LabelStudio(http).task_ids(number)))


def sync(http: Http, store: Store, number: int, **options: bool) -> PassReport:
    report = run_once(http, store, number, task_meta="off", **options).report
    assert report is not None
    return report


@pytest.fixture(scope="module")
def region_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('regions') / 'crowd.db'}") as opened:
        yield opened


@pytest.fixture(scope="module")
def names(owner: Http, region_store: Store) -> Synced:
    """Thirty tasks: four people mark the same three names, one a letter short, the fifth marks nonsense."""
    good = [span(0, 8, "PER", 1, "clear"), span(14, 18, "ORG", 2), span(22, 26, "LOC", 3)]
    short = [span(0, 7, "PER", 1, "clear"), span(14, 18, "ORG", 2), span(22, 26, "LOC", 3)]
    bad = [span(4, 13, "LOC", 1, "vague")]
    empty: list[Drawing] = [[], [], [], [], []]
    return sync_project(owner, region_store, NAMES, {"text": TEXT}, [*([[good, good, short, good, bad]] * 30), empty])


@pytest.fixture(scope="module")
def drawn(owner: Http, region_store: Store) -> Synced:
    """Twenty tasks with a box, one that is rotated, and one that only somebody unreliable drew."""
    generator = np.random.default_rng(0)
    image = picture(generator, 0)

    def jitter() -> Drawing:
        x, y = 10 + generator.normal(0, 0.4), 20 + generator.normal(0, 0.4)
        turned = box(60, 30, 20, 30, "Dog", 2, 30 + float(generator.normal(0, 1)))
        return [box(float(x), float(y), 25, 40, "Car", 1), turned]

    noise = [
        [box(float(generator.uniform(0, 60)), float(generator.uniform(0, 50)), 15, 15, "Dog", 1)] for _ in range(20)
    ]
    drawings = [[*(jitter() for _ in range(4)), of_guesser] for of_guesser in noise]
    return sync_project(owner, region_store, BOXES, {"image": image}, drawings)


def test_what_was_sent_was_created(names: Synced, drawn: Synced) -> None:
    for synced in (names, drawn):
        assert synced.report.written.created == len(synced.tasks)
        assert synced.report.written.refused == frozenset()


def test_spans_are_those_of_the_majority_without_the_nonsense(names: Synced) -> None:
    prediction = names.prediction()
    marked = {
        (item["value"]["labels"][0], item["value"]["start"], item["value"]["end"], item["value"]["text"])
        for item in prediction["result"]
        if item["type"] == "labels"
    }
    assert marked == {("PER", 0, 8, "Ada Berg"), ("ORG", 14, 18, "Acme"), ("LOC", 22, 26, "Oslo")}
    choices = [item for item in prediction["result"] if item["type"] == "choices"]
    assert [(item["value"]["choices"], item["value"]["start"]) for item in choices] == [(["clear"], 0)]
    first = prediction["result"][0]
    assert first["score"] > 0.8
    assert first["meta"]["text"][0].endswith("drawn by 4 of 5 people")
    assert first["meta"]["crowd"]["answers"] == 5


def test_where_nobody_drew_there_is_nothing(names: Synced) -> None:
    prediction = names.prediction(-1)
    assert prediction["result"] == []
    assert prediction["score"] > 0.5


def test_boxes_lie_in_the_middle_and_keep_their_rotation(drawn: Synced) -> None:
    for position in range(3):
        items = {item["value"]["rectanglelabels"][0]: item["value"] for item in drawn.prediction(position)["result"]}
        assert set(items) == {"Car", "Dog"}
        assert abs(items["Car"]["x"] - 10) < 1.5
        assert abs(items["Car"]["width"] - 25) < 1
        assert abs(items["Dog"]["rotation"] - 30) < 3


def test_a_second_sync_writes_nothing(names: Synced, drawn: Synced, owner: Http, region_store: Store) -> None:
    for synced in (names, drawn):
        assert sync(owner, region_store, synced.number, from_scratch=True).plan.is_empty


def test_boxes_without_labels_have_their_details(owner: Http, region_store: Store) -> None:
    image = {"image": picture(np.random.default_rng(0), 0)}
    right, other = [plain_box(10, 20, 25, 40, "Car", "whole", 1)], [plain_box(11, 20, 25, 40, "Dog", "whole", 1)]
    synced = sync_project(owner, region_store, PLAIN_BOXES, image, [[right, right, right, right, other]] * 12)
    assert synced.report.written.created == 12
    values = {item["from_name"]: item["value"] for item in synced.prediction()["result"]}
    assert (values["kind"]["labels"], values["seen"]["choices"]) == (["Car"], ["whole"])
    assert len({item["id"] for item in synced.prediction()["result"]}) == 1
    assert values["place"]["x"] == pytest.approx(10, abs=0.5)


@pytest.fixture(scope="module")
def page(label_studio: Server) -> Iterator[Page]:
    """A browser in which Label Studio's owner is logged in."""
    with browser() as opened:
        page = opened.new_page(viewport={"width": 1400, "height": 1000})
        log_in_to_label_studio(page, label_studio)
        yield page


def test_the_labelling_page_shows_spans(names: Synced, page: Page, label_studio: Server) -> None:
    page.goto(f"{label_studio.url}/projects/{names.number}/data?task={names.tasks[0]}")
    page.click("text=crowd-consensus")
    page.wait_for_selector(".htx-highlight")
    marked = page.locator(".htx-highlight").all_inner_texts()
    assert sorted(text.strip() for text in marked) == ["Acme", "Ada Berg", "Oslo"]
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "label-studio-spans.png")
    assert "PER" in page.inner_text("body")


def test_the_labelling_page_shows_boxes(drawn: Synced, page: Page, label_studio: Server) -> None:
    page.goto(f"{label_studio.url}/projects/{drawn.number}/data?task={drawn.tasks[0]}")
    page.click("text=crowd-consensus")
    page.wait_for_selector("canvas")
    page.wait_for_function("document.querySelectorAll('.lsf-outliner-item, [class*=outliner-item]').length >= 2")
    page.screenshot(path=SCREENSHOTS / "label-studio-boxes.png")
    listed = page.inner_text("body")
    assert "Car" in listed
    assert "Dog" in listed
