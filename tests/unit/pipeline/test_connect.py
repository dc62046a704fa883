"""Connecting a project again and again, what Label Studio refuses, and disconnecting it without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.errors import NotFound, Unreachable, UnusableInput
from ls_crowd_plugin.pipeline.connect import Changes, connect, disconnect
from ls_crowd_plugin.pipeline.queue_settings import UNCERTAIN_FIRST
from ls_crowd_plugin.pipeline.review_tabs import MAX_LABEL_TABS, TABS, is_as_made, review_tabs
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.settings import SECRET_HEADER
from ls_crowd_plugin.store import Store, queue
from ls_crowd_plugin.store.passes import get_last_pass
from ls_crowd_plugin.store.project_settings import read_settings_before
from tests.support.annotations import MOOD_AND_STARS, MOOD_REQUIRED
from tests.support.label_configs import config_of
from tests.support.memory_studio import MOOD_CONFIG, PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, pass_over
from tests.support.predictions import FEW, SHOWN
from tests.support.span_crowds import SPAN_CONFIG

ADDRESS = "http://crowd.example:9090"
URL = f"{ADDRESS}/webhook/{PROJECT}"


def connect_project(studio: MemoryStudio, store: Store, **options: Any) -> Changes:
    return connect(studio, store, PROJECT, **{"address": ADDRESS, "secret": "open-sesame", **options})


def disconnect_project(studio: MemoryStudio, store: Store, *, purge: bool = False) -> Changes:
    return disconnect(studio, store, PROJECT, address=ADDRESS, purge=purge)


def titles(studio: MemoryStudio) -> list[str]:
    return [tab["data"]["title"] for tab in studio.tabs(PROJECT)]


def traces(studio: MemoryStudio) -> Json:
    """Everything that connecting and passes leave in Label Studio, except for the tab that people expect."""
    return {
        "webhooks": studio.webhooks(PROJECT),
        "tabs": [title for title in titles(studio) if title != "Default"],
        "settings": {**studio.project_rows[PROJECT]},
        "predictions": studio.contents(),
        "meta": [row["meta"] for row in studio.task_rows.values()],
    }


def is_monitored(store: Store) -> bool:
    with store.work.connect() as connection:
        return queue.get_entry(connection, PROJECT) is not None


@pytest.mark.parametrize("calls_private_addresses", [True, False])
def test_no_sentence_shows_a_password_in_the_address(memory_store: Store, calls_private_addresses: bool) -> None:
    """A proxy before the service may ask Label Studio for one."""
    studio = MemoryStudio(FEW)
    studio.calls_private_addresses = calls_private_addresses
    address = "http://me:hunter2@10.0.0.5"
    changes = [connect_project(studio, memory_store, address=address) for _ in range(2)]
    changes.append(disconnect(studio, memory_store, PROJECT, address=address))
    sentences = [sentence for one in changes for sentence in (*one.done, *one.problems)]
    named = sum("http://10.0.0.5/webhook/7" in sentence for sentence in sentences)
    assert named == (3 if calls_private_addresses else 2)
    assert "hunter2" not in " ".join(sentences)


class TestConnecting:
    def test_creates_webhook_and_tabs_and_monitors_the_project(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        changes = connect_project(studio, memory_store)
        (webhook,) = studio.webhooks(PROJECT)
        assert (webhook["url"], webhook["headers"]) == (URL, {SECRET_HEADER: "open-sesame"})
        assert (webhook["is_active"], webhook["send_for_all_actions"], webhook["send_payload"]) == (True, True, False)
        assert set(titles(studio)) == {"Default", *TABS, "Consensus: good", "Consensus: bad"}
        assert changes.problems == []
        assert (changes.done[0], changes.done[-1]) == (f"Created the webhook to {URL}.", "The project is monitored.")
        assert is_monitored(memory_store)

    def test_can_be_repeated(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        connect_project(studio, memory_store, uncertain_first=True)
        before = traces(studio)
        studio.writes.clear()
        changes = connect_project(studio, memory_store, uncertain_first=True)
        assert (traces(studio), studio.writes) == (before, [])
        assert changes.done == [f"The webhook to {URL} exists.", "The project is monitored."]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"is_active": False},
            {"headers": {}},
            {"headers": {SECRET_HEADER: "old"}},
            {"send_for_all_actions": False},
            {"send_payload": True},
        ],
        ids=str,
    )
    def test_repairs_a_webhook(self, wrong: Json, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        connect_project(studio, memory_store)
        (before,) = studio.webhooks(PROJECT)
        studio.webhook_rows[before["id"]].update(wrong)
        connect_project(studio, memory_store)
        assert studio.webhooks(PROJECT) == [before]

    def test_leaves_webhooks_and_tabs_of_others(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.create_webhook({"url": "http://other.example/hook", "project": PROJECT})
        for title in ("Mine", "Settled", "Consensus: my notes"):
            studio.create_tab(PROJECT, {"title": title})
        connect_project(studio, memory_store)
        assert (len(studio.webhooks(PROJECT)), "Mine" in titles(studio), "Default" in titles(studio)) == (
            2,
            True,
            False,
        )

    def test_serves_uncertain_tasks_first_if_asked_to(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        connect_project(studio, memory_store, uncertain_first=True)
        assert studio.project_rows[PROJECT]["sampling"] == UNCERTAIN_FIRST
        with memory_store.data.connect() as connection:
            assert read_settings_before(connection, PROJECT) == {"sampling": "Sequential sampling"}

    def test_reports_that_label_studio_calls_no_private_address(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.calls_private_addresses = False
        changes = connect_project(studio, memory_store, address="http://127.0.0.1:9090")
        (problem,) = changes.problems
        assert "SSRF_PROTECTION_ENABLED=false" in problem
        assert (studio.webhooks(PROJECT), set(TABS) <= set(titles(studio)), is_monitored(memory_store)) == (
            [],
            True,
            True,
        )

    def test_reports_an_address_that_label_studio_does_not_accept(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        changes = connect_project(studio, memory_store, address="http://crowd:9090")
        (problem,) = changes.problems
        assert "LS_CROWD_PUBLIC_URL" in problem
        assert (set(TABS) <= set(titles(studio)), is_monitored(memory_store)) == (True, True)

    def test_of_a_project_that_does_not_exist_is_an_error(self, memory_store: Store) -> None:
        studio = MemoryStudio()
        studio.delete_project()
        with pytest.raises(NotFound):
            connect_project(studio, memory_store)
        assert not is_monitored(memory_store)


class TestDisconnecting:
    @pytest.fixture
    def studio(self, memory_store: Store) -> MemoryStudio:
        """A project that was connected and passed over."""
        studio = agreed_studio(FEW)
        connect_project(studio, memory_store, uncertain_first=True)
        pass_over(studio, memory_store, recipe=Recipe(method="plu", task_meta="on"))
        assert studio.settings() == SHOWN
        assert studio.task_rows[1]["meta"] != {}
        return studio

    def test_with_purge_leaves_nothing_behind(self, studio: MemoryStudio, memory_store: Store) -> None:
        changes = disconnect_project(studio, memory_store, purge=True)
        assert changes.problems == []
        assert traces(studio) == traces(agreed_studio(FEW))
        assert not is_monitored(memory_store)
        with memory_store.data.connect() as connection:
            assert get_last_pass(connection, PROJECT) is None
            assert read_settings_before(connection, PROJECT) == {}

    def test_says_what_it_did(self, studio: MemoryStudio, memory_store: Store) -> None:
        changes = disconnect_project(studio, memory_store, purge=True)
        assert f"Removed the webhook to {URL}." in changes.done
        assert "Removed the tab 'Settled'." in changes.done
        assert "Restored the settings model_version, sampling, show_collab_predictions." in changes.done
        assert "Removed 5 predictions of 'crowd-consensus'." in changes.done
        assert "Removed the metadata of 5 tasks." in changes.done

    def test_without_purge_keeps_predictions_and_metadata(self, studio: MemoryStudio, memory_store: Store) -> None:
        before = traces(studio)
        disconnect_project(studio, memory_store)
        after = traces(studio)
        assert (after["predictions"], after["meta"]) == (before["predictions"], before["meta"])
        assert (after["webhooks"], after["tabs"], is_monitored(memory_store)) == ([], [], False)

    def test_can_be_repeated(self, studio: MemoryStudio, memory_store: Store) -> None:
        disconnect_project(studio, memory_store)
        assert disconnect_project(studio, memory_store).done == ["The project is no longer monitored."]

    def test_leaves_webhooks_tabs_and_predictions_of_others(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.create_webhook({"url": "http://other.example/hook", "project": PROJECT})
        for title in ("Mine", "Settled", "Consensus: my notes"):
            studio.create_tab(PROJECT, {"title": title})
        studio.predict(1, version="their-model")
        disconnect_project(studio, memory_store, purge=True)
        assert [webhook["url"] for webhook in studio.webhooks(PROJECT)] == ["http://other.example/hook"]
        assert (titles(studio), studio.versions(PROJECT)) == (
            ["Default", "Mine", "Settled", "Consensus: my notes"],
            {"their-model": 1},
        )

    def test_reports_settings_that_cannot_be_restored_and_keeps_them(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        studio.writes.clear()
        number = len(studio.webhooks(PROJECT)) + sum(map(is_as_made, studio.tabs(PROJECT))) + 1
        studio.break_write(number, Unreachable("Label Studio did not answer."), carried_out=False)
        (problem,) = disconnect_project(studio, memory_store).problems
        assert problem.startswith("The settings could not be restored to {'model_version': ''")
        studio.repair()
        disconnect_project(studio, memory_store)
        assert studio.settings() == {"model_version": "", "show_collab_predictions": True}

    @pytest.mark.parametrize("purge", [True, False])
    def test_restores_a_project_that_showed_no_version_at_all(self, purge: bool, memory_store: Store) -> None:
        """Label Studio writes null where the version that was shown is deleted, but accepts no null itself."""
        studio = agreed_studio(FEW)
        studio.project_rows[PROJECT]["model_version"] = None
        pass_over(studio, memory_store)
        assert disconnect_project(studio, memory_store, purge=purge).problems == []
        assert not studio.settings()["model_version"]


class TestReviewTabs:
    def test_have_one_for_each_label_of_one_question(self) -> None:
        tabs = review_tabs(read_config(MOOD_CONFIG))
        assert list(tabs) == [*TABS, "Consensus: good", "Consensus: bad"]
        assert tabs["Consensus: bad"]["filters"]["items"][0]["value"] == json.dumps(["bad"])

    def test_have_none_for_labels_where_there_are_several_questions(self) -> None:
        assert list(review_tabs(MOOD_AND_STARS)) == list(TABS)

    def test_have_none_for_labels_where_there_are_many(self) -> None:
        choices = "".join(f'<Choice value="{number}"/>' for number in range(MAX_LABEL_TABS + 1))
        config = config_of(f'<Choices name="many" toName="text">{choices}</Choices>')
        assert list(review_tabs(config)) == list(TABS)

    def test_have_none_for_labels_that_are_stored_in_another_form(self) -> None:
        config = config_of('<Choices name="x" toName="text"><Choice value="süß"/><Choice value="sour"/></Choices>')
        assert list(review_tabs(config)) == [*TABS, "Consensus: sour"]

    def test_exist_also_where_people_draw(self) -> None:
        assert set(TABS) <= set(review_tabs(SPAN_CONFIG))

    @pytest.mark.parametrize("title", [*TABS, "Consensus: good"])
    def test_are_recognised_if_they_are_exactly_as_made(self, title: str) -> None:
        made = {"data": {"title": title, "type": "list", **review_tabs(MOOD_REQUIRED)[title]}}
        assert is_as_made(made)
        assert not is_as_made({"data": {**made["data"], "ordering": ["tasks:id"]}})

    @pytest.mark.parametrize("tab", [{"data": {"title": "Settled"}}, {"data": {"title": "Mine"}}, {"data": None}, {}])
    def test_of_people_are_not(self, tab: Json) -> None:
        assert not is_as_made(tab)


def test_a_project_that_cannot_be_aggregated_is_not_connected(memory_store: Store) -> None:
    studio = MemoryStudio(FEW)
    remarks = '<View><Text name="t" value="$text"/><TextArea name="remark" toName="t"/></View>'
    studio.project_rows[PROJECT]["label_config"] = remarks
    with pytest.raises(UnusableInput, match=r"was not connected: it has no control .*: remark \(TextArea\)"):
        connect_project(studio, memory_store)
    assert (studio.writes, is_monitored(memory_store)) == ([], False)
