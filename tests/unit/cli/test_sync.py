"""`ls-crowd sync`: which options become which flags, and what is printed of each outcome. No Label Studio is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from ls_crowd_plugin.cli import main
from ls_crowd_plugin.labelstudio import ProjectFacts
from ls_crowd_plugin.pipeline.context import PassContext, RunFlags
from ls_crowd_plugin.pipeline.lease import hold_project
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome, PassReport
from ls_crowd_plugin.pipeline.plan import Plan
from ls_crowd_plugin.pipeline.pull import Pulled
from ls_crowd_plugin.pipeline.write import Written
from ls_crowd_plugin.records import LeftOutAnnotation, LeftOutAnnotations, ProjectSummary
from ls_crowd_plugin.store import open_store

Run = Callable[..., tuple[int, str, str]]  # exit code, stdout, stderr

FACTS = ProjectFacts.from_json(
    {"id": 3, "title": "Topics", "label_config": "<View/>", "created_at": "", "task_number": 4}
)
LEFT_OUT = LeftOutAnnotations(21, [LeftOutAnnotation(17, "more than 5,000 regions")])
REPORT = PassReport(
    3,
    "Topics",
    Pulled(FACTS, frozenset(range(1, 5)), annotations_changed=1, tasks_gone=0),
    Plan(settings={"model_version": "crowd-consensus"}),
    ProjectSummary(
        tasks=4,
        answers=12,
        annotators=3,
        method="plu",
        form="plain",
        confidence=0.9,
        labels=4,
        left_out_annotations=LEFT_OUT,
    ),
    written=Written(created=4, settings=1),
    warnings=["Something is odd."],
    seconds={"pull": 0.1},
)


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[PassContext]:
    """Collects the contexts of passes, which do nothing."""
    seen: list[PassContext] = []

    def run_pass(context: PassContext) -> Outcome:
        seen.append(context)
        return Outcome(Kind.DONE, report=REPORT)

    monkeypatch.setattr("ls_crowd_plugin.pipeline.project_pass.run_pass", run_pass)
    return seen


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, **settings: str) -> tuple[int, str, str]:
        defaults = {
            "LABEL_STUDIO_URL": "http://127.0.0.1:1",
            "LABEL_STUDIO_API_KEY": "key",
            "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'crowd.db'}",
        }
        for name, value in {**defaults, **settings}.items():
            monkeypatch.setenv(name, value)
        return main(["sync", *arguments]), *capsys.readouterr()

    return run


def end_with(monkeypatch: pytest.MonkeyPatch, outcome: Outcome) -> None:
    monkeypatch.setattr("ls_crowd_plugin.pipeline.project_pass.run_pass", lambda _: outcome)


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "flags"),
        [
            ((), RunFlags()),
            (("--dry-run",), RunFlags(dry_run=True)),
            (("--from-scratch",), RunFlags(from_scratch=True)),
            (("--since-scratch",), RunFlags(from_scratch=True)),
            (("--take-over",), RunFlags(take_over=True)),
        ],
    )
    def test_become_flags(
        self, run: Run, contexts: list[PassContext], options: tuple[str, ...], flags: RunFlags
    ) -> None:
        assert run("3", *options)[0] == 0
        assert [(context.project, context.flags) for context in contexts] == [(3, flags)]

    def test_old_name_of_from_scratch_is_hidden(self, run: Run) -> None:
        code, printed, _ = run("--help")
        assert code == 0
        assert "--from-scratch" in printed
        assert "--since-scratch" not in printed

    @pytest.mark.parametrize(
        ("options", "settings", "method"),
        [
            ((), {}, "auto"),
            ((), {"LS_CROWD_METHOD": "neg"}, "neg"),
            (("--method", "plu"), {"LS_CROWD_METHOD": "neg"}, "plu"),
        ],
    )
    def test_method_takes_precedence_over_the_setting(
        self,
        run: Run,
        contexts: list[PassContext],
        options: tuple[str, ...],
        settings: dict[str, str],
        method: str,
    ) -> None:
        run("3", *options, **settings)
        assert [context.recipe.method for context in contexts] == [method]

    def test_projects_are_processed_once_in_their_order(self, run: Run, contexts: list[PassContext]) -> None:
        run("5", "3", "5")
        assert [context.project for context in contexts] == [5, 3]

    @pytest.mark.parametrize("arguments", [(), ("3", "--all")])
    def test_either_projects_or_all_are_needed(self, run: Run, arguments: tuple[str, ...]) -> None:
        code, _, error = run(*arguments)
        assert (code, "Name projects by their ids, or use --all." in error) == (2, True)


class TestOutcomes:
    def test_a_report_is_one_fact_a_line(self, run: Run, contexts: list[PassContext]) -> None:
        code, printed, error = run("3")
        assert (code, error, len(contexts)) == (0, "warning: Something is odd.\n", 1)
        lines = {line[:11].strip(): line[12:] for line in printed.splitlines()}
        assert lines == {
            "Project": "3, Topics",
            "Read": "4 tasks, 1 changed annotation",
            "Crowd": "4 tasks, 12 answers, 3 annotators",
            "Gold": "0 labels",
            "Method": "plu (plain)",
            "Confidence": "90.0% on average",
            "Plurality": "0 of 4 labels differ from the most frequent answer",
            "Not used": "annotation 17: more than 5,000 regions; and 20 more",
            "Written": "4 predictions created; set model_version to 'crowd-consensus'",
            "Seconds": "pull 0.1",
        }

    def test_warnings_name_their_project_where_there_are_several(self, run: Run, contexts: list[PassContext]) -> None:
        assert run("3", "4")[2].splitlines()[0] == "warning: project 3: Something is odd."
        assert len(contexts) == 2

    @pytest.mark.parametrize("kind", [Kind.PARKED, Kind.FAILED, Kind.NO_SUCH_PROJECT, Kind.DEFERRED])
    def test_a_reason_is_printed_and_fails(self, run: Run, monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
        end_with(monkeypatch, Outcome(kind, "It has no answers."))
        code, printed, error = run("3")
        assert (code, printed) == (1, "")
        assert error.splitlines() == [
            "Project 3: It has no answers.",
            "Error: 1 of 1 project could not be processed; see above.",
        ]

    def test_a_reason_that_names_the_project_is_printed_as_it_is(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        end_with(monkeypatch, Outcome(Kind.PARKED, "Project 3 has no control that can be aggregated."))
        assert run("3")[2].startswith("Project 3 has no control that can be aggregated.\n")

    def test_a_deleted_project_is_not_a_failure(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        end_with(monkeypatch, Outcome(Kind.PROJECT_GONE, "Project 3 is no longer in Label Studio."))
        assert run("3") == (0, "Project 3 is no longer in Label Studio.\n", "")

    def test_a_project_without_answers_is_not_a_failure(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        end_with(monkeypatch, Outcome(Kind.NO_ANSWERS, "Project 3 has no answers to aggregate yet."))
        assert run("3") == (0, "", "Project 3 has no answers to aggregate yet.\n")

    def test_a_project_that_another_process_works_on_is_busy(
        self, run: Run, contexts: list[PassContext], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ls_crowd_plugin.cli.sync.WAIT_SECONDS", 0.0)
        with open_store(f"sqlite:///{tmp_path / 'crowd.db'}") as store, hold_project(store, 3, "another-1-process"):
            code, _, error = run("3", "4")
        assert code == 1
        assert "Another process is working on project 3; try again later." in error
        assert [context.project for context in contexts] == [4]

    def test_a_database_that_fails_is_a_sentence(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_: PassContext) -> Outcome:
            raise OperationalError("SELECT", {}, Exception("gone"))

        monkeypatch.setattr("ls_crowd_plugin.pipeline.project_pass.run_pass", fail)
        assert "Project 3: the database failed (OperationalError); try again." in run("3")[2]

    def test_the_lease_is_released(self, run: Run, contexts: list[PassContext], tmp_path: Path) -> None:
        for _ in range(2):
            assert run("3")[0] == 0
        assert contexts[1].lease.token > contexts[0].lease.token
        with open_store(f"sqlite:///{tmp_path / 'crowd.db'}") as store, hold_project(store, 3, "another-1-process"):
            pass
