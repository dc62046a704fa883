"""Every categorical control, through a real Label Studio: label → answer → consensus → prediction → page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page

from ls_crowd_plugin.controls import NONE
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.outcome import PassReport
from ls_crowd_plugin.store import open_store
from tests.support.browser import browser, log_in_to_label_studio
from tests.support.studio import Project, make_project, people, sync_once

CONFIG = """
<View>
  <Text name="text" value="$text"/>
  <Text name="other" value="$other"/>
  <Choices name="single" toName="text" choice="single" required="true">
    <Choice value="Positive" alias="pos" hotkey="p"/><Choice value="Negative" alias="neg" hotkey="n"/>
  </Choices>
  <Choices name="radio" toName="text" choice="single-radio">
    <Choice value="tall"/><Choice value="short"/>
  </Choices>
  <Choices name="several" toName="text" choice="multiple">
    <Choice value="red"/><Choice value="green"/><Choice value="blue"/>
  </Choices>
  <Choices name="nested" toName="text" choice="single" allowNested="true">
    <Choice value="Animal"><Choice value="Dog"/><Choice value="Cat"/></Choice>
    <Choice value="Plant"/>
  </Choices>
  <Choices name="shown" toName="text" visibleWhen="choice-selected" whenTagName="single" whenChoiceValue="pos">
    <Choice value="much"/><Choice value="little"/>
  </Choices>
  <Taxonomy name="kinds" toName="text">
    <Choice value="Living"><Choice value="Fish"/><Choice value="Bird"/></Choice>
    <Choice value="Dead"/>
  </Taxonomy>
  <Taxonomy name="kind" toName="text" maxUsages="1">
    <Choice value="North"><Choice value="Arctic"/></Choice>
    <Choice value="South"/>
  </Taxonomy>
  <Rating name="stars" toName="text" maxRating="5"/>
  <Pairwise name="better" toName="text,other"/>
  <TextArea name="remark" toName="text"/>
  <Number name="number" toName="text"/>
</View>
"""


def truths() -> Iterator[dict[str, str]]:
    """Every label of every question, in turn."""
    for number in itertools.count():
        yield {
            "single": ("pos", "neg")[number % 2],
            "radio": ("tall", "short", NONE)[number % 3],
            **{f"several: {colour}": _yes(number >> bit & 1) for bit, colour in enumerate(("red", "green", "blue"))},
            "nested": ("Animal", "Animal / Dog", "Animal / Cat", "Plant")[number % 4],
            **({"shown": ("much", "little")[number // 2 % 2]} if number % 2 == 0 else {}),
            "kinds: Living": _yes(number % 5 == 0),
            "kinds: Living / Fish": _yes(number % 2),
            "kinds: Living / Bird": _yes(number % 3 == 0),
            "kinds: Dead": _yes(number % 4 == 0),
            "kind": ("North", "North / Arctic", "South")[number % 3],
            "stars": str(1 + number % 5),
            "better": ("left", "right")[number % 2],
        }


def _yes(value: int) -> str:
    return "yes" if value else "no"


@dataclass(frozen=True)
class Synced:
    project: Project
    truth: dict[int, dict[str, str]]
    report: PassReport


@pytest.fixture(scope="module")
def synced(owner: Http) -> Synced:
    """Thirty tasks on which three people agree about every control."""
    right = list(itertools.islice(truths(), 30))
    answers = [dict.fromkeys(people(owner, 3), labels) for labels in right]
    project = make_project(owner, CONFIG, answers)
    with open_store("sqlite:///:memory:") as store:
        report = sync_once(owner, store, project, method="auto")
    return Synced(project, dict(zip(project.tasks, right, strict=True)), report)


def test_what_was_sent_was_created(synced: Synced) -> None:
    assert (len(synced.report.plan.create), synced.report.written.created) == (30, 30)
    assert (synced.report.written.refused, synced.report.warnings) == (frozenset(), [])


@pytest.mark.parametrize("question", next(truths()))
def test_every_label_arrives(synced: Synced, question: str) -> None:
    labels = synced.project.labels()
    expected = {task: right[question] for task, right in synced.truth.items() if question in right}
    assert {task: labels[task].get(question) for task in expected} == expected


def test_a_conditional_control_has_no_consensus_where_it_was_not_shown(synced: Synced) -> None:
    hidden = [task for task, right in synced.truth.items() if "shown" not in right]
    assert not any("shown" in synced.project.labels()[task] for task in hidden)


def test_what_is_not_categorical_is_named(synced: Synced) -> None:
    left_out = [(control.name, control.tag) for control in synced.report.summary.left_out]
    assert left_out == [("remark", "TextArea"), ("number", "Number")]


@pytest.fixture(scope="module")
def page(label_studio: Server) -> Iterator[Page]:
    """A browser in which Label Studio's owner is logged in."""
    with browser() as opened:
        page = opened.new_page(viewport={"width": 1400, "height": 1600})
        log_in_to_label_studio(page, label_studio)
        yield page


# What Label Studio's page shows as chosen: ticked boxes and radio buttons, selected paths, stars, and the framed text.
SHOWN = """
() => {
  const texts = (selector) => [...document.querySelectorAll(selector)].map((found) => found.innerText.trim());
  return {
    ticked: texts("label:has(input[type=checkbox]:checked)").filter((text) => text),
    radio: texts("label:has(input[type=radio]:checked)").filter((text) => text),
    paths: texts(".ant-select-selection-item"),
    stars: document.querySelectorAll(".ant-rate-star-full").length,
    framed: texts(".border-primary-border-subtle .lsf-richtext__container"),
  };
}
"""


@pytest.mark.parametrize("number", [0, 1, 7, 11])
def test_the_labelling_page_shows_the_consensus(synced: Synced, page: Page, label_studio: Server, number: int) -> None:
    task = synced.project.tasks[number]
    right = synced.truth[task]
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{label_studio.url}/projects/{synced.project.id}/data?task={task}")
    page.click("text=crowd-consensus")
    page.wait_for_selector(".ant-rate-star-full")
    shown = page.evaluate(SHOWN)
    expected = {{"pos": "Positive[p]", "neg": "Negative[n]"}[right["single"]]}
    expected |= {colour for colour in ("red", "green", "blue") if right[f"several: {colour}"] == "yes"}
    expected |= {right["shown"]} if "shown" in right else set()
    expected |= {"Animal", "Dog", "Cat"} if right["nested"] == "Animal" else {right["nested"].rpartition(" / ")[2]}
    paths = [name for name in ("Living", "Living / Fish", "Living / Bird", "Dead") if right[f"kinds: {name}"] == "yes"]
    assert {text.replace("\n", "") for text in shown["ticked"]} == expected
    assert shown["radio"] == ([] if right["radio"] == NONE else [right["radio"]])
    assert sorted(shown["paths"]) == sorted(path.rpartition(" / ")[2] for path in [*paths, right["kind"]])
    assert shown["stars"] == int(right["stars"])
    assert shown["framed"] == [{"left": f"Sentence {number}.", "right": f"Another {number}."}[right["better"]]]
    assert errors == []


def test_the_data_manager_shows_the_score(synced: Synced, page: Page, label_studio: Server) -> None:
    """In a column that Label Studio hides until somebody asks for it, so it is asked for by a tab."""
    body = {
        "project": synced.project.id,
        "data": {
            "title": "Consensus",
            "type": "list",
            "target": "tasks",
            "ordering": ["tasks:id"],
            "hiddenColumns": {"explore": ["tasks:predictions_results", "tasks:meta"], "labeling": []},
        },
    }
    tab = synced.project.http.post("/api/dm/views/", body)["id"]
    page.goto(f"{label_studio.url}/projects/{synced.project.id}/data?tab={tab}")
    score = synced.project.rows()[synced.project.tasks[0]]["predictions_score"]
    page.wait_for_selector("text=crowd-consensus")
    assert f"{score:.3f}" in page.inner_text("body").split()
