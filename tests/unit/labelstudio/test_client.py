"""The client reads all pages of a list, in every form the API has had, and names servers that are too old."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.errors import NotAllowed, NotFound, Rejected
from ls_crowd_plugin.labelstudio import LabelStudio, Prediction, client
from ls_crowd_plugin.labelstudio.retries import MAX_TRIES
from tests.support.scripted_server import Reply, ScriptedServer


def page(total: int, *tasks: int) -> Reply:
    return Reply(body={"total": total, "tasks": [{"id": task} for task in tasks]})


class TestTaskPages:
    @pytest.fixture(autouse=True)
    def small_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(client, "PAGE_SIZE", 2)

    def test_are_read_to_the_end_and_not_past_it(self, server: ScriptedServer, studio: LabelStudio) -> None:
        server.replies = [page(4, 1, 2), page(4, 3, 4), Reply(404)]
        assert studio.task_ids(7) == {1, 2, 3, 4}

    def test_without_tasks_take_one_request(self, server: ScriptedServer, studio: LabelStudio) -> None:
        server.replies = [page(0)]
        assert list(studio.task_pages(7)) == [[]]
        assert len(server.requests) == 1

    def test_report_progress(self, server: ScriptedServer, studio: LabelStudio) -> None:
        server.replies = [page(3, 1, 2), page(3, 3)]
        progress: list[tuple[int, int]] = []
        list(studio.task_pages(7, on_progress=lambda done, total: progress.append((done, total))))
        assert progress == [(2, 3), (3, 3)]

    def test_restart_if_the_last_page_vanishes(self, server: ScriptedServer, studio: LabelStudio) -> None:
        """A task of the first page was deleted, so the task of the last page moved to the first."""
        server.replies = [page(3, 1, 2), Reply(404), page(2, 2, 3)]
        assert studio.task_ids(7) == {1, 2, 3}

    def test_restart_if_there_are_fewer_tasks_than_before(self, server: ScriptedServer, studio: LabelStudio) -> None:
        server.replies = [page(5, 1, 2), page(4, 4, 5), page(4, 2, 3), page(4, 4, 5)]
        assert studio.task_ids(7) == {1, 2, 3, 4, 5}

    def test_that_keep_vanishing_are_an_error(self, server: ScriptedServer, studio: LabelStudio) -> None:
        server.replies = [page(3, 1, 2), Reply(404)] * 20
        with pytest.raises(NotFound):
            studio.task_ids(7)

    def test_can_be_limited_to_changes(self, server: ScriptedServer, studio: LabelStudio) -> None:
        server.replies = [page(3, 1, 2), page(0)]
        assert studio.changed_tasks(7, "2026-01-01T00:00:00.000000Z", 2) == (3, [{"id": 1}, {"id": 2}])
        list(studio.listed_pages(7, "2026-01-01T00:00:00.000000Z"))
        assert all("updated_at" in request.path.split("query=")[1] for request in server.requests)

    def test_of_an_old_label_studio_are_an_error(self, server: ScriptedServer, studio: LabelStudio) -> None:
        server.replies = [Reply(body=[{"id": 1}]), Reply(404)]
        with pytest.raises(Rejected, match=r"This Label Studio \(version unknown\) cannot list tasks"):
            studio.task_ids(7)


@pytest.mark.parametrize(("tasks", "changed"), [((), False), ((4,), True)])
def test_changes_are_noticed_with_one_request(
    tasks: tuple[int, ...], changed: bool, server: ScriptedServer, studio: LabelStudio
) -> None:
    server.replies = [page(9, *tasks)]
    assert studio.changed_since(7, "2026-01-01T00:00:00.000000Z") is changed
    assert len(server.requests) == 1


def test_projects_are_listed_by_id_over_all_pages(server: ScriptedServer, studio: LabelStudio) -> None:
    server.replies = [
        Reply(body={"results": [{"id": 5}, {"id": 2}], "next": "http://next"}),
        Reply(body={"results": [{"id": 1}], "next": None}),
    ]
    assert [project["id"] for project in studio.projects(("title", "created_at"))] == [1, 2, 5]
    assert "include=id%2Ctitle%2Ccreated_at" in server.requests[0].path


def test_a_project_is_read_into_its_facts(server: ScriptedServer, studio: LabelStudio) -> None:
    project = {"id": 7, "title": "T", "label_config": "<View/>", "created_at": "2026", "task_number": 3}
    server.replies = [Reply(body={**project, "sampling": "Sequential sampling"})]
    facts = studio.project(7)
    assert (facts.id, facts.task_number, facts.sampling) == (7, 3, "Sequential sampling")


def test_predictions_are_read_into_records(server: ScriptedServer, studio: LabelStudio) -> None:
    server.replies = [Reply(body=[{"id": 1, "task": 2, "model_version": "m", "score": 0.5, "result": []}])]
    assert studio.predictions(7) == [Prediction(1, 2, "m", 0.5, [])]


def test_predictions_that_cannot_be_shown_hide_none_on_other_tasks(
    server: ScriptedServer, studio: LabelStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAGE_SIZE", 1)
    ours = {"id": 1, "model_version": "m", "score": 0.5, "result": [{"a": 1}]}
    shown = Reply(body={"total": 2, "tasks": [{"id": 8, "predictions": [ours]}]})
    broken = [Reply(500)] * MAX_TRIES
    server.replies = [*broken, shown, *broken, page(2, 9)]
    assert studio.predictions(7) == [Prediction(1, 8, "m", 0.5, [{"a": 1}]), Prediction(0, 9, "", None, [])]


def test_model_versions_are_counted_in_both_forms_of_the_answer(server: ScriptedServer, studio: LabelStudio) -> None:
    counts = [{"model_version": "crowd-consensus", "count": 3}]
    server.replies = [Reply(body={"static": counts, "live": []}), Reply(body=counts)]
    assert [studio.versions(7), studio.versions(7)] == [{"crowd-consensus": 3}] * 2


def test_a_server_that_cannot_count_versions_is_named_with_its_release(
    server: ScriptedServer, studio: LabelStudio
) -> None:
    server.replies = [Reply(404), Reply(body={"release": "1.4.0"})]
    with pytest.raises(Rejected, match=r"This Label Studio \(version 1\.4\.0\) cannot count .*; update it"):
        studio.versions(7)


@pytest.mark.parametrize(("body", "version"), [({"release": "1.23.2"}, "1.23.2"), ({}, "unknown"), ([], "unknown")])
def test_the_version_is_the_release(body: object, version: str, server: ScriptedServer, studio: LabelStudio) -> None:
    server.replies = [Reply(body=body)]
    assert studio.version() == version


def test_the_version_of_a_server_that_refuses_the_key_is_an_error(server: ScriptedServer, studio: LabelStudio) -> None:
    server.replies = [Reply(401)]
    with pytest.raises(NotAllowed):
        studio.version()


def test_server_time_is_the_time_of_the_last_answer(server: ScriptedServer, studio: LabelStudio) -> None:
    server.clock = "Fri, 01 Jan 2100 00:00:00 GMT"
    studio.version()
    assert studio.server_time().year == 2100


def test_users_have_the_name_they_chose(server: ScriptedServer, studio: LabelStudio) -> None:
    server.replies = [
        Reply(
            body=[
                {"id": 1, "first_name": "Ann", "last_name": "Lee", "email": "a@example.com"},
                {"id": 2, "first_name": "", "last_name": None, "email": "b@example.com"},
                {"id": 3, "username": "cleo"},
                {"id": 4},
            ]
        )
    ]
    assert studio.users() == {1: "Ann Lee", 2: "b@example.com", 3: "cleo", 4: "user 4"}
