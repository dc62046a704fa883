"""A pull makes the mirror equal to Label Studio, reading only what changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import select

from ls_crowd_plugin.errors import EndPass, LeaseLost, NotFound
from ls_crowd_plugin.labelstudio import ProjectFacts, client
from ls_crowd_plugin.pipeline import audit as audit_module
from ls_crowd_plugin.pipeline import pull as pull_module
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.pull import IN_FLIGHT, TIME_FORMAT, Pulled, pull
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Annotation, Store, mirror
from ls_crowd_plugin.store.gold import add_gold, list_gold
from ls_crowd_plugin.store.mirror import EXCERPT
from ls_crowd_plugin.store.trail import trail
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import make_context
from tests.support.span_crowds import SPAN_CONFIG_TEXT


@pytest.fixture
def studio() -> MemoryStudio:
    """Two tasks, each with one answer."""
    studio = MemoryStudio([1, 2])
    studio.annotate(1, 5, "good")
    studio.annotate(2, 5, "bad")
    return studio


def pull_now(studio: MemoryStudio, store: Store, *, token: int = 1, from_scratch: bool = False) -> Pulled:
    """Pull, and let a minute pass before and after it."""
    studio.wait()
    pulled = pull(make_context(studio, store, token=token, flags=RunFlags(from_scratch=from_scratch)))
    studio.wait()
    return pulled


def mirrored(store: Store) -> list[Annotation]:
    with store.data.connect() as connection:
        return mirror.read_annotations(connection, PROJECT)


def labels(store: Store) -> dict[int, str]:
    """Task → the label of the annotation on it."""
    return {annotation.task: annotation.items[0]["value"]["choices"][0] for annotation in mirrored(store)}


class TestPull:
    def test_reads_everything_the_first_time(self, studio: MemoryStudio, memory_store: Store) -> None:
        pulled = pull_now(studio, memory_store)
        assert labels(memory_store) == {1: "good", 2: "bad"}
        assert (pulled.facts.title, pulled.tasks_read, pulled.annotations_changed) == ("Moods", 2, 2)

    def test_reads_only_the_latest_task_again_if_nothing_changed(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        studio.wait()
        studio.wait()
        studio.annotate(2, 5, "bad")
        pull_now(studio, memory_store)
        again = pull_now(studio, memory_store)
        assert (again.tasks, again.annotations_changed, again.tasks_gone) == (frozenset({2}), 0, 0)

    def test_reads_only_what_changed(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        studio.wait(3600)
        studio.annotate(2, 5, "good")
        pull_now(studio, memory_store)
        again = pull_now(studio, memory_store)
        assert (again.tasks, labels(memory_store)[2]) == (frozenset({2}), "good")

    def test_does_not_read_an_import_again_that_has_just_been_read(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pull_module, "FEW_TASKS", 1)
        pull_now(studio, memory_store)
        studio.annotate(2, 6, "good")
        again = pull_now(studio, memory_store)
        assert (again.tasks, again.annotations_changed, len(mirrored(memory_store))) == (frozenset({2}), 1, 3)

    def test_finds_a_deleted_annotation(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        studio.delete_annotations(1)
        pull_now(studio, memory_store)
        assert labels(memory_store) == {2: "bad"}

    def test_finds_a_deleted_task(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        studio.delete_task(1)
        again = pull_now(studio, memory_store)
        assert (again.tasks_gone, labels(memory_store)) == (1, {2: "bad"})

    def test_lists_tasks_only_if_something_looks_wrong(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        pull_now(studio, memory_store)
        assert "list" not in studio.reads

    def test_lists_no_tasks_because_people_submit_while_it_reads(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither the first nor the second counts agree with the tasks that were read just before and after them."""
        pull_now(studio, memory_store)
        newcomers, read_project = iter(range(100, 104)), studio.project

        def submit() -> None:
            studio.annotate(1, next(newcomers, 104), "good")

        def project(number: int) -> ProjectFacts:
            facts = read_project(number)
            submit()
            return facts

        monkeypatch.setattr(studio, "project", project)
        studio.after_page = [submit]
        pull_now(studio, memory_store)
        assert (studio.reads.count("project"), "list" in studio.reads) == (1 + 3, False)
        assert len(mirrored(memory_store)) == 2 + 3

    def test_lists_short_pages_while_people_work(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(audit_module, "FEW_LISTED", 1)
        pull_now(studio, memory_store)
        studio.wait()
        live = RunFlags(pace=Pace.LIVE, audit_seconds=0.0)
        pull(make_context(studio, memory_store, flags=live))
        assert studio.reads.count("list") == len(studio.task_rows)

    def test_reads_tasks_that_are_missing(self, studio: MemoryStudio, memory_store: Store) -> None:
        """As after a restored backup: with an older time than the mirror has seen."""
        pull_now(studio, memory_store)
        studio.wait(-86400)
        studio.add_task(3)
        studio.annotate(3, 5, "bad")
        studio.wait(86400)
        pull_now(studio, memory_store)
        assert labels(memory_store) == {1: "good", 2: "bad", 3: "bad"}

    def test_from_scratch_reads_everything(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        assert pull_now(studio, memory_store, from_scratch=True).tasks_read == 2

    def test_asks_by_the_newest_change_it_knows(self, studio: MemoryStudio, memory_store: Store) -> None:
        """The time in Label Studio's own data, not that of any clock."""
        newest = studio.now
        pull_now(studio, memory_store)
        pull_now(studio, memory_store)
        assert f"tasks since {(newest - IN_FLIGHT).strftime(TIME_FORMAT)}" in studio.reads

    def test_of_a_project_at_rest_reads_no_task(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not even if many tasks changed at the same moment, which is also the newest known."""
        monkeypatch.setattr(pull_module, "FEW_TASKS", 1)
        for task in range(3, 6):
            studio.add_task(task)
        pull_now(studio, memory_store)
        monkeypatch.setattr(pull_module, "IN_FLIGHT", timedelta(0))
        pull_now(studio, memory_store)
        assert pull_now(studio, memory_store).tasks_read == 0
        assert "list" not in studio.reads

    def test_finds_a_change_that_became_visible_after_its_time(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull(make_context(studio, memory_store))
        studio.wait(-3)  # committed after the pull, with a time before it
        studio.annotate(1, 5, "bad")
        pull_now(studio, memory_store)
        assert labels(memory_store)[1] == "bad"

    def test_that_failed_is_repeated_from_its_start(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.failing["tasks"] = NotFound("gone")
        with pytest.raises(NotFound):
            pull_now(studio, memory_store)
        studio.repair()
        pull_now(studio, memory_store)
        assert (len(labels(memory_store)), studio.reads.count("tasks")) == (2, 2)

    def test_misses_no_change_when_a_task_is_deleted_between_two_pages(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(client, "PAGE_SIZE", 2)
        for task in range(3, 6):
            studio.add_task(task)
            studio.annotate(task, 5, "good")
        pull_now(studio, memory_store)
        for task in range(1, 6):
            studio.annotate(task, 5, "changed")
        studio.after_page = [lambda: studio.delete_task(1)]
        pull_now(studio, memory_store)
        pull_now(studio, memory_store)
        assert labels(memory_store) == dict.fromkeys(range(2, 6), "changed")

    def test_reports_progress(self, studio: MemoryStudio, memory_store: Store) -> None:
        seen: list[tuple[str, int, int]] = []
        pull(make_context(studio, memory_store, on_progress=lambda *fact: seen.append(fact)))
        assert seen == [("pull", 2, 2)]

    def test_changes_nothing_after_the_lease_was_lost(self, studio: MemoryStudio, memory_store: Store) -> None:
        """A process that slept with a page in its hands wakes up after another has pulled the project."""

        def overtake() -> None:
            studio.annotate(1, 5, "bad")
            pull_now(studio, memory_store, token=2)

        studio.after_page = [overtake]
        with pytest.raises(LeaseLost, match="Another process"):
            pull_now(studio, memory_store)
        assert labels(memory_store)[1] == "bad"


class TestReadingAgain:
    """When what decides how a task is read changes, all tasks are read again."""

    def test_with_another_number_of_required_annotators(self, studio: MemoryStudio, memory_store: Store) -> None:
        """Label Studio changes the tasks without changing their time."""
        pull_now(studio, memory_store)
        studio.task_rows[1]["overlap"] = 5
        studio.project_rows[PROJECT]["maximum_annotations"] = 5
        assert pull_now(studio, memory_store).tasks == {1, 2}

    def test_with_another_number_of_tasks_if_only_some_require_several(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        studio.project_rows[PROJECT]["overlap_cohort_percentage"] = 50
        pull_now(studio, memory_store)
        studio.add_task(3)
        assert pull_now(studio, memory_store).tasks == {1, 2, 3}

    def test_with_another_gold_field(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.task_rows[1]["data"] |= {"right": "bad", "blank": ""}
        for name, expected in (("", None), ("right", '"bad"'), ("blank", None)):
            studio.wait()
            pull(make_context(studio, memory_store, recipe=Recipe(gold_field=name)))
            with memory_store.data.connect() as connection:
                assert mirror.read_tasks(connection, PROJECT)[1].gold_field == expected


class TestContents:
    @pytest.mark.parametrize("author", [5, {"id": 5, "email": "somebody@example.com"}])
    def test_have_authors_in_both_forms(self, author: object, memory_store: Store) -> None:
        studio = MemoryStudio([1])
        studio.annotate(1, author, "good")
        pull_now(studio, memory_store)
        assert mirrored(memory_store)[0].annotator == 5

    @pytest.mark.parametrize("parent", ["parent_prediction", "parent_annotation"])
    def test_tell_copies(self, parent: str, memory_store: Store) -> None:
        studio = MemoryStudio([1])
        studio.annotate(1, 5, "good", **{parent: 3})
        pull_now(studio, memory_store)
        assert mirrored(memory_store)[0].copied

    def test_tell_skipped_annotations_and_ground_truth(self, memory_store: Store) -> None:
        studio = MemoryStudio([1])
        studio.annotate(1, 5, "good", was_cancelled=True, ground_truth=True, result=[])
        pull_now(studio, memory_store)
        (annotation,) = mirrored(memory_store)
        assert (annotation.skipped, annotation.ground_truth, annotation.result) == (True, True, "[]")

    def test_replace_characters_that_no_database_accepts(self, memory_store: Store) -> None:
        studio = MemoryStudio([1])
        studio.annotate(1, 5, "half \ud83d")
        pull_now(studio, memory_store)
        assert labels(memory_store) == {1: "half ?"}

    @pytest.mark.parametrize(("config", "length"), [(None, EXCERPT), (SPAN_CONFIG_TEXT, 1000)], ids=["labels", "spans"])
    def test_have_the_whole_text_only_where_spans_are_marked_in_it(
        self, config: str | None, length: int, memory_store: Store
    ) -> None:
        studio = MemoryStudio() if config is None else MemoryStudio(label_config=config)
        studio.add_task(1, data={"text": "x" * 1000, "t": "x" * 1000})
        pull_now(studio, memory_store)
        with memory_store.data.connect() as connection:
            assert len(mirror.read_texts(connection, PROJECT, [1])[1]["text"]) == length


class TestMissingProject:
    def test_that_is_gone_is_forgotten_but_not_its_trail(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        studio.add_project(8)
        studio.delete_project()
        with pytest.raises(EndPass, match="no longer in Label Studio") as end:
            pull_now(studio, memory_store)
        with memory_store.data.connect() as connection:
            entries = connection.execute(select(trail.c.id)).all()
        assert (end.value.kind, mirrored(memory_store), len(entries)) == ("project_gone", [], 2)

    def test_that_was_the_only_one_is_gone_too(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        studio.delete_project()
        with pytest.raises(EndPass, match="no longer in Label Studio"):
            pull_now(studio, memory_store)

    @pytest.mark.parametrize("failing", [["project"], ["project", "projects"]], ids=["listed", "gateway"])
    def test_that_only_seems_gone_is_not_forgotten(
        self, failing: Sequence[str], studio: MemoryStudio, memory_store: Store
    ) -> None:
        """It is listed all the same, or a gateway answers 404 in Label Studio's place."""
        pull_now(studio, memory_store)
        studio.failing |= dict.fromkeys(failing, NotFound("gone"))
        with pytest.raises(NotFound):
            pull_now(studio, memory_store)
        assert len(mirrored(memory_store)) == 2

    def test_that_never_existed_is_an_end_of_its_own(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.delete_project()
        with pytest.raises(EndPass, match="no project 7 that this key can see") as end:
            pull_now(studio, memory_store)
        assert end.value.kind == "no_such_project"

    def test_that_has_a_successor_with_its_id_leaves_nothing_to_it(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        pull_now(studio, memory_store)
        with memory_store.data.begin() as connection:
            add_gold(connection, PROJECT, {(1, "mood"): "bad"})
        studio.delete_project()
        studio.add_project(PROJECT, [1])
        studio.annotate(1, 6, "good")
        pull_now(studio, memory_store)
        with memory_store.data.connect() as connection:
            gold = list_gold(connection, PROJECT)
        assert ([one.annotator for one in mirrored(memory_store)], gold) == ([6], {})

    def test_gold_of_a_task_is_not_that_of_a_later_one_with_its_id(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        pull_now(studio, memory_store)
        with memory_store.data.begin() as connection:
            add_gold(connection, PROJECT, {(1, "mood"): "bad", (2, "mood"): "bad"})
        pull_now(studio, memory_store)
        studio.delete_task(2)
        studio.add_task(2)
        studio.annotate(2, 6, "good")
        pull_now(studio, memory_store)
        with memory_store.data.begin() as connection:
            left = list_gold(connection, PROJECT)
            add_gold(connection, PROJECT, {(2, "mood"): "good"})
        pull_now(studio, memory_store)
        with memory_store.data.connect() as connection:
            assert (left, list_gold(connection, PROJECT)) == (
                {(1, "mood"): "bad"},
                {(1, "mood"): "bad", (2, "mood"): "good"},
            )
