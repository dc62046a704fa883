"""Which predictions in Label Studio are ours, and what is said when somebody changes them."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.pipeline.existing import our_versions
from ls_crowd_plugin.pipeline.plan import VERSION, crowd_meta
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.predictions import read_versions, remember_version
from tests.support.memory_studio import PROJECT, MemoryStudio, mood
from tests.support.passes import agreed_studio, pass_over, report_of_pass
from tests.support.predictions import FEW
from tests.support.transactions import run


class TestOurVersions:
    def test_are_those_that_are_remembered_whatever_they_hold(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        for version in ("a-name-of-old", "their-model"):
            studio.predict(1, version=version)
        run(memory_store.data, remember_version, PROJECT, "a-name-of-old")
        assert our_versions(studio, memory_store, PROJECT) == ({"a-name-of-old": 1}, {"their-model"})

    def test_are_adopted_if_an_earlier_database_was_lost(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.predict(1)
        assert our_versions(studio, memory_store, PROJECT) == ({VERSION: 1}, set())
        assert run(memory_store.data, read_versions, PROJECT) == {VERSION}

    @pytest.mark.parametrize("version", [VERSION, f"{VERSION}-2", f"{VERSION}-baseline-2023"])
    def test_of_others_stay_theirs_even_with_a_name_like_ours(self, version: str, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.prediction_rows[studio.predict(1, "bad", version=version)]["result"] = mood("bad")
        before = dict(studio.prediction_rows)
        pass_over(studio, memory_store)
        assert before.items() <= studio.prediction_rows.items()
        assert len(studio.prediction_rows) == len(FEW) + 1

    def test_survive_that_somebody_removed_the_metadata_of_a_few(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        numbers = [studio.predict(task) for task in FEW]
        studio.prediction_rows[numbers[0]]["result"] = mood("bad")
        assert our_versions(studio, memory_store, PROJECT) == ({VERSION: len(FEW)}, set())


class TestTampering:
    @pytest.fixture
    def studio(self, memory_store: Store) -> MemoryStudio:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        return studio

    def test_with_metadata_is_repaired_and_reported_with_who_touched_the_task(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        number = min(studio.prediction_rows)
        before = studio.contents()
        crowd_meta(studio.prediction_rows[number]["result"])["annotators"]["1"]["verdict"] = "forged"
        task = studio.task_rows[studio.prediction_rows[number]["task"]]
        studio.wait()
        task |= {"updated_at": studio.clock, "updated_by": [{"user_id": 3}]}
        warnings = report_of_pass(studio, memory_store).warnings
        assert studio.contents() == before
        assert any("Somebody changed 1 prediction" in one and "Cleo (user 3)" in one for one in warnings)

    def test_with_labels_is_repaired_although_counts_agree(self, studio: MemoryStudio, memory_store: Store) -> None:
        before = studio.contents()
        row = studio.prediction_rows[min(studio.prediction_rows)]
        studio.wait()
        studio.change_prediction(row["id"], {"result": mood("bad"), "score": 0.1})
        report_of_pass(studio, memory_store)
        assert studio.contents() == before

    def test_is_not_reported_where_we_wrote_ourselves(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.wait()
        studio.annotate(1, 1, "bad")
        for _ in range(2):
            assert not any("Somebody changed" in one for one in report_of_pass(studio, memory_store).warnings)
