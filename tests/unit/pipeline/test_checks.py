"""Each reason why nothing happens is found, and comes with a cure."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import text, update

from ls_crowd_plugin.errors import NotAllowed, Unreachable
from ls_crowd_plugin.pipeline.checks import (
    BAD,
    NEEDED_ACTIONS,
    NOTE,
    OK,
    Check,
    Checked,
    check_everything,
    check_project,
)
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.settings import SECRET_HEADER, read_settings
from ls_crowd_plugin.store import Store, heartbeats, queue
from ls_crowd_plugin.store.gold import add_gold
from ls_crowd_plugin.store.queue import queue_table
from ls_crowd_plugin.store.secrets import get_or_create_secret
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, pass_over
from tests.support.predictions import FEW

ADDRESS = "http://crowd.example:9090"
SECRET = "open-sesame"
Diagnose = Callable[..., list[Check]]


@pytest.fixture
def diagnose(memory_store: Store) -> Diagnose:
    """Check everything, and one project if it is named; keyword arguments are settings."""

    def run(studio: MemoryStudio, project: int | None = None, **settings: str) -> list[Check]:
        environment = {
            "LABEL_STUDIO_URL": "http://user:password@studio.example",
            "LABEL_STUDIO_API_KEY": "key",
            "LS_CROWD_PUBLIC_URL": ADDRESS,
            "LS_CROWD_WEBHOOK_SECRET": SECRET,
            **settings,
        }
        return list(check_everything(Checked(read_settings(environment), studio, memory_store), project))

    return run


def kind_of(checks: list[Check], words: str) -> str:
    """The kind of the only check whose sentence has these words."""
    (kind,) = (check.kind for check in checks if words in check.sentence)
    return kind


def add_webhook(studio: MemoryStudio, **changes: object) -> None:
    body = {
        "url": f"{ADDRESS}/webhook/{PROJECT}",
        "project": PROJECT,
        "headers": {SECRET_HEADER: SECRET},
        "send_payload": False,
        "send_for_all_actions": True,
        "is_active": True,
    }
    studio.create_webhook({**body, **changes})


class TestLabelStudio:
    def test_answers_and_shows_projects(self, diagnose: Diagnose) -> None:
        checks = diagnose(agreed_studio(FEW))
        assert checks[:2] == [
            Check(OK, "Label Studio 1.23.2 answers at http://studio.example."),
            Check(OK, "The API key works, and can see 1 project(s)."),
        ]

    def test_shows_no_project(self, diagnose: Diagnose) -> None:
        studio = MemoryStudio()
        studio.delete_project()
        assert kind_of(diagnose(studio), "The key's user sees no project") == BAD

    def test_does_not_answer(self, diagnose: Diagnose) -> None:
        studio = MemoryStudio()
        studio.failing["version"] = Unreachable("It did not answer.")
        cure = "Check LABEL_STUDIO_URL, and that Label Studio is running."
        assert diagnose(studio) == [Check(BAD, f"It did not answer. {cure}")]

    def test_does_not_accept_the_key(self, diagnose: Diagnose) -> None:
        studio = MemoryStudio()
        studio.failing["projects"] = NotAllowed("It refused the token.")
        assert diagnose(studio)[-1] == Check(BAD, "It refused the token.")


class TestServiceAddress:
    @pytest.mark.parametrize(
        ("address", "words", "kind"),
        [
            ("http://crowd:9090", "refuses the one-word host name 'crowd'", BAD),
            ("http://10.0.0.5:9090", "SSRF_PROTECTION_ENABLED=false", NOTE),
            ("http://localhost:9090", "SSRF_PROTECTION_ENABLED=false", NOTE),
        ],
    )
    def test_that_label_studio_may_not_call_is_reported(
        self, address: str, words: str, kind: str, diagnose: Diagnose
    ) -> None:
        assert kind_of(diagnose(MemoryStudio(), LS_CROWD_PUBLIC_URL=address), words) == kind

    @pytest.mark.parametrize("address", ["http://crowd.example:9090", "http://8.8.8.8"])
    def test_that_label_studio_can_call_is_not_mentioned(self, address: str, diagnose: Diagnose) -> None:
        checks = diagnose(MemoryStudio(), LS_CROWD_PUBLIC_URL=address)
        assert not any("webhooks;" in check.sentence or "SSRF" in check.sentence for check in checks)


class TestWorkers:
    def test_are_missing(self, diagnose: Diagnose) -> None:
        assert kind_of(diagnose(MemoryStudio()), "No worker is running; 'ls-crowd serve' starts one.") == NOTE

    def test_are_running_or_report_a_problem(self, diagnose: Diagnose, memory_store: Store) -> None:
        with memory_store.work.begin() as connection:
            heartbeats.beat(connection, "a")
            heartbeats.beat(connection, "b", "The database does not answer.")
        checks = diagnose(MemoryStudio())
        assert Check(OK, "Worker a is running.") in checks
        assert Check(BAD, "Worker b: The database does not answer.") in checks

    @pytest.mark.parametrize("table", ["crowd_worker", "crowd_queue"])
    @pytest.mark.parametrize("project", [None, PROJECT])
    def test_cannot_be_read(self, table: str, project: int | None, diagnose: Diagnose, memory_store: Store) -> None:
        with memory_store.work.begin() as connection:
            connection.execute(text(f"DROP TABLE {table}"))
        checks = diagnose(MemoryStudio(FEW), project)
        assert kind_of(checks, "The database cannot be read (OperationalError)") == BAD


class TestAllProjects:
    def test_are_none(self, diagnose: Diagnose) -> None:
        assert kind_of(diagnose(MemoryStudio()), "No project is monitored") == NOTE

    def test_are_monitored_or_failing(self, diagnose: Diagnose, memory_store: Store) -> None:
        with memory_store.work.begin() as connection:
            queue.enqueue(connection, 3)
            claim = queue.claim(connection, "a")
            assert claim is not None
            queue.complete(connection, claim, "It has no answers.")
            queue.enqueue(connection, 4)
        checks = diagnose(MemoryStudio())
        assert checks[-2:] == [Check(BAD, "Project 3: It has no answers."), Check(OK, "Project 4 is monitored.")]


class TestProject:
    def test_exists(self, diagnose: Diagnose) -> None:
        checks = diagnose(MemoryStudio(FEW), PROJECT)
        assert Check(OK, "Project 7 exists: 'Moods' with 5 tasks.") in checks
        assert Check(OK, "These controls are aggregated: mood.") in checks

    def test_does_not_exist(self, diagnose: Diagnose) -> None:
        assert diagnose(MemoryStudio(FEW), 99)[-1].kind == BAD

    def test_has_a_config_that_cannot_be_read(self, diagnose: Diagnose) -> None:
        assert diagnose(MemoryStudio(FEW, label_config="<View>"), PROJECT)[-1].kind == BAD

    def test_has_nothing_to_aggregate(self, diagnose: Diagnose) -> None:
        config = '<View><Text name="text" value="$text"/><TextArea name="note" toName="text"/></View>'
        checks = diagnose(MemoryStudio(FEW, label_config=config), PROJECT)
        assert kind_of(checks, "It has no control that can be aggregated.") == BAD
        assert kind_of(checks, "note (TextArea) is left out") == NOTE


class TestWebhooks:
    @pytest.mark.parametrize("is_there", [True, False])
    def test_are_named_without_a_password_in_their_address(self, is_there: bool, diagnose: Diagnose) -> None:
        studio = MemoryStudio(FEW)
        address = ADDRESS.replace("//", "//me:hunter2@")
        if is_there:
            add_webhook(studio, url=f"{address}/webhook/{PROJECT}")
        checks = diagnose(studio, PROJECT, LS_CROWD_PUBLIC_URL=address)
        kind_of(checks, f"webhook to {ADDRESS}")
        assert not any("hunter2" in check.sentence for check in checks)

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"is_active": False}, "is switched off"),
            (
                {"send_for_all_actions": False, "actions": sorted(NEEDED_ACTIONS - {"TASKS_CREATED"})},
                "is not sent for TASKS_CREATED",
            ),
            ({"headers": {}}, f"does not send the header {SECRET_HEADER}"),
            ({"headers": None}, f"does not send the header {SECRET_HEADER}"),
            ({"headers": {SECRET_HEADER: "old"}}, "sends a different secret from the one the service expects"),
            ({"url": f"{ADDRESS}/hook"}, "has an address other than /webhook/7"),
            ({"url": f"{ADDRESS}/webhook/8"}, "has an address other than /webhook/7"),
            ({"url": f"{ADDRESS}/webhook"}, "sends no payload, and its address does not name the project"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_that_cannot_work_are_reported(self, changes: Json, problem: str, diagnose: Diagnose) -> None:
        studio = MemoryStudio(FEW)
        add_webhook(studio, **changes)
        checks = diagnose(studio, PROJECT)
        assert kind_of(checks, f"{problem}; 'ls-crowd connect 7' repairs it.") == BAD
        assert not any(SECRET in check.sentence for check in checks)

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"headers": {SECRET_HEADER.lower(): SECRET}},
            {"url": f"{ADDRESS}/webhook", "send_payload": True},
            {"url": f"{ADDRESS}/webhook/{PROJECT}/"},
            {"send_for_all_actions": False, "actions": sorted(NEEDED_ACTIONS)},
        ],
        ids=str,
    )
    def test_that_work_are_confirmed(self, changes: Json, diagnose: Diagnose) -> None:
        studio = MemoryStudio(FEW)
        add_webhook(studio, **changes)
        assert kind_of(diagnose(studio, PROJECT), "is set up correctly") == OK

    def test_are_compared_with_a_generated_secret(self, diagnose: Diagnose, memory_store: Store) -> None:
        with memory_store.data.begin() as connection:
            get_or_create_secret(connection, "webhook secret", "generated")
        studio = MemoryStudio(FEW)
        add_webhook(studio)
        checks = diagnose(studio, PROJECT, LS_CROWD_WEBHOOK_SECRET="")
        assert kind_of(checks, "sends a different secret from the one the service expects") == BAD

    def test_are_missing(self, diagnose: Diagnose) -> None:
        checks = diagnose(MemoryStudio(FEW), PROJECT)
        assert kind_of(checks, "or name the project in LS_CROWD_PROJECTS") == BAD

    def test_are_missing_where_polling_finds_changes(self, diagnose: Diagnose) -> None:
        studio = MemoryStudio(FEW)
        studio.create_webhook({"url": "http://other.example/webhook/7", "project": PROJECT})
        checks = diagnose(studio, PROJECT, LS_CROWD_PROJECTS="all")
        assert kind_of(checks, f"It has no webhook to {ADDRESS}: polling finds its changes.") == NOTE

    def test_cannot_be_listed(self, diagnose: Diagnose) -> None:
        studio = MemoryStudio(FEW)
        studio.failing["webhooks"] = NotAllowed("No.")
        assert kind_of(diagnose(studio, PROJECT), "Its webhooks cannot be listed: No.") == NOTE


class TestPredictions:
    def test_are_counted(self, diagnose: Diagnose, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        assert kind_of(diagnose(studio, PROJECT), "It has 0 predictions of the plugin.") == NOTE
        pass_over(studio, memory_store)
        assert kind_of(diagnose(studio, PROJECT), "It has 5 predictions of the plugin.") == OK

    def test_influence_annotators(self, diagnose: Diagnose, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        studio.project_rows[PROJECT]["show_collab_predictions"] = True
        assert kind_of(diagnose(studio, PROJECT), "fills in annotations from predictions") == BAD

    def test_are_not_shown(self, diagnose: Diagnose) -> None:
        studio = agreed_studio(FEW)
        studio.predict(1, version=f"{VERSION}-2")
        studio.project_rows[PROJECT]["model_version"] = "their-model"
        assert kind_of(diagnose(studio, PROJECT), "The project shows the predictions of 'their-model'") == NOTE


class TestQueue:
    def test_does_not_have_the_project(self, diagnose: Diagnose) -> None:
        assert kind_of(diagnose(MemoryStudio(FEW), PROJECT), "It is not monitored") == NOTE

    def test_knows_of_a_failure(self, diagnose: Diagnose, memory_store: Store) -> None:
        with memory_store.work.begin() as connection:
            queue.enqueue(connection, PROJECT)
            claim = queue.claim(connection, "a")
            assert claim is not None
            queue.retry_later(connection, claim, "Label Studio did not answer.")
        checks = diagnose(MemoryStudio(FEW), PROJECT)
        assert kind_of(checks, "Its last pass failed: Label Studio did not answer.") == BAD

    def test_has_waited_long(self, diagnose: Diagnose, memory_store: Store) -> None:
        with memory_store.work.begin() as connection:
            queue.enqueue(connection, PROJECT)
            connection.execute(update(queue_table).values(not_before=queue_table.c.not_before - 100))
        assert kind_of(diagnose(MemoryStudio(FEW), PROJECT), "and no worker processes it; is one running?") == BAD
        with memory_store.work.begin() as connection:
            queue.claim(connection, "a")
        checks = diagnose(MemoryStudio(FEW), PROJECT)
        assert not any("no worker processes it" in check.sentence for check in checks)

    def test_knows_when_the_last_pass_ended(self, diagnose: Diagnose, memory_store: Store) -> None:
        with memory_store.work.begin() as connection:
            queue.enqueue(connection, PROJECT)
            claim = queue.claim(connection, "a")
            assert claim is not None
            queue.complete(connection, claim)
        assert kind_of(diagnose(MemoryStudio(FEW), PROJECT), "Its last pass ended 0 s ago.") == OK


class TestAnswers:
    def test_are_missing(self, diagnose: Diagnose) -> None:
        checks = diagnose(MemoryStudio(FEW), PROJECT)
        assert kind_of(checks, "There are no answers to aggregate yet") == BAD
        assert kind_of(checks, "No pass over it has completed yet") == NOTE

    def test_are_several_on_tasks(self, diagnose: Diagnose, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        checks = diagnose(studio, PROJECT)
        assert kind_of(checks, "5 of 5 answered tasks have several answers.") == OK
        assert kind_of(checks, "There is no gold; a few dozen labels") == NOTE
        assert not any("No pass over it" in check.sentence for check in checks)

    def test_are_only_one_on_each_task(self, diagnose: Diagnose, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.annotate(1, 5, "good")
        pass_over(studio, memory_store)
        assert kind_of(diagnose(studio, PROJECT), "ask for 3 or more (maximum_annotations, now 1)") == BAD

    def test_come_with_gold_and_warnings(self, diagnose: Diagnose, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        with memory_store.data.begin() as connection:
            add_gold(connection, PROJECT, {(1, "mood"): "good", (2, "mood"): "removed"})
        pass_over(studio, memory_store)
        checks = diagnose(studio, PROJECT)
        assert kind_of(checks, "There are 1 gold labels.") == OK
        assert kind_of(checks, "Gold 'removed' for 'mood' of task 2 is not in the label config") == NOTE


def test_a_project_can_be_checked_alone(memory_store: Store) -> None:
    settings = read_settings({"LABEL_STUDIO_URL": "http://studio.example", "LABEL_STUDIO_API_KEY": "key"})
    first, *_ = check_project(Checked(settings, MemoryStudio(FEW), memory_store), PROJECT)
    assert first.sentence.startswith("Project 7 exists")
