"""The pages, behind the login: what is looked after, how it stands, whom to trust and what the labels are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, abort, current_app, jsonify, redirect, render_template, request, url_for
from sqlalchemy import Connection, select
from werkzeug.wrappers import Response as AnyResponse

from ..store import Work, found, tables
from ..store.gold import add_gold, list_gold, remove_gold
from . import views
from .login import behind_login, form_token, own_form
from .receiver import LARGEST_ID

if TYPE_CHECKING:
    from .app import Parts

PAGE = 50
SOON_SECONDS = 20.0

blueprint = Blueprint("pages", __name__)


@blueprint.before_request
def there_can_be_such() -> None:
    """No database has a number as large as some addresses."""
    if any(isinstance(value, int) and value > LARGEST_ID for value in (request.view_args or {}).values()):
        abort(404, "There can be no such thing: the number is too large.")


@blueprint.get("/")
@behind_login
def overview() -> str:
    projects = _projects()
    waiting = sum(each["waiting"] for each in projects)
    return _render("overview.html", projects=projects, waiting=waiting, workers=_parts().work.workers())


@blueprint.get("/project/<int:project>")
@behind_login
def project(project: int) -> str:
    with _parts().engine.connect() as connection:
        finding = _finding(connection, project)
        row = _work(project)
        state = state_in_words(row) if row else "not looked after any more"
        view = views.project_view(finding)
        return _project_page("project.html", connection, project, view=view, state=state, error=row and row.error)


@blueprint.get("/project/<int:project>/annotators")
@behind_login
def annotators(project: int) -> str:
    order = _one_of("order", [name for name, _ in views.COLUMNS], "accuracy")
    down = request.args.get("down", "1") == "1"
    asked: dict[str, Any] = {"verdict": request.args.get("verdict", ""), "name": request.args.get("name", "")}
    with _parts().engine.connect() as connection:
        _finding(connection, project)
        page = _page_number()
        rows, total = found.annotators(
            connection, project, order=order, down=down, start=PAGE * (page - 1), most=PAGE, **asked
        )
        everybody, _ = found.annotators(connection, project)

        def address(page: int = 1, order: str = order, down: bool = down) -> str:
            return url_for("pages.annotators", project=project, order=order, down=int(down), page=page, **asked)

        return _project_page(
            "annotators.html",
            connection,
            project,
            rows=rows,
            **_paging(page, total, address),
            sorted_by=lambda column: address(order=column, down=not down if column == order else column != "name"),
            columns=views.COLUMNS,
            order=order,
            down=down,
            name=asked["name"],
            chosen=asked["verdict"],
            plot=views.skill_plot(everybody),
        )


@blueprint.get("/project/<int:project>/annotator/<int:who>")
@behind_login
def annotator(project: int, who: int) -> str:
    with _parts().engine.connect() as connection:
        questions = _finding(connection, project).charts["questions"]
        try:
            view = views.annotator_view(connection, project, who, questions)
        except KeyError:
            abort(404, f"User {who} has no answer that counts in project {project}.")
        return _project_page("annotator.html", connection, project, several=len(questions) > 1, **view)


@blueprint.get("/project/<int:project>/tasks")
@behind_login
def tasks(project: int) -> str:
    order, show = _one_of("order", found.TASK_ORDERS, "least sure"), _one_of("show", found.TASK_FILTERS, "all")
    with _parts().engine.connect() as connection:
        several = len(_finding(connection, project).charts["questions"]) > 1
        page = _page_number()
        rows, total = found.tasks(connection, project, order=order, show=show, start=PAGE * (page - 1), most=PAGE)

        def address(page: int) -> str:
            return url_for("pages.tasks", project=project, order=order, show=show, page=page)

        return _project_page(
            "tasks.html",
            connection,
            project,
            rows=rows,
            **_paging(page, total, address),
            orders=found.TASK_ORDERS,
            filters=found.TASK_FILTERS,
            order=order,
            show=show,
            several=several,
        )


@blueprint.get("/project/<int:project>/task/<int:number>")
@behind_login
def task(project: int, number: int) -> str:
    with _parts().engine.connect() as connection:
        questions = _finding(connection, project).charts["questions"]
        labels = views.task_view(connection, project, number)
        if not labels:
            abort(404, f"Task {number} of project {project} has no answers that count.")
        own = list_gold(connection, project)
        for row in labels:
            row["own_gold"] = own.get((number, row["question"]))
        return _project_page(
            "task.html",
            connection,
            project,
            task=number,
            labels=labels,
            text=found.shown(connection, [number]).get(number, ""),
            regions=views.region_view(connection, number, labels),
            questions=questions,
        )


@blueprint.post("/project/<int:project>/task/<int:number>/gold")
@behind_login
def mark_gold(project: int, number: int) -> AnyResponse:
    """Marks a label as gold, changes it or takes it back; the next pass, which begins at once, counts with it."""
    if not own_form():
        abort(400, "The form was too old, and nothing was changed; go back, load the page again, and try once more.")
    question, label = request.form.get("question", ""), request.form.get("label", "")
    parts = _parts()
    with parts.engine.begin() as connection:
        known = _finding(connection, project).charts["questions"]
        if not found.labels_of(connection, project, [number])[number] or label not in known.get(question, ()):
            abort(400, f"{label!r} is no label of {question!r} of task {number}.")
        if request.form.get("remove"):
            remove_gold(connection, project, [(number, question)])
        else:
            add_gold(connection, project, {(number, question): label})
    if _work(project) is not None:  # a project that was disconnected stays so
        parts.work.want(project)
    return redirect(url_for("pages.task", project=project, number=number))


@blueprint.get("/project/<int:project>/agreement")
@behind_login
def agreement(project: int) -> str:
    with _parts().engine.connect() as connection:
        view = views.agreement_view(connection, _finding(connection, project))
        return _project_page("agreement.html", connection, project, view=view)


@blueprint.get("/api/projects")
@behind_login
def api_projects() -> Response:
    return jsonify(projects=_projects())


@blueprint.get("/api/projects/<int:project>")
@behind_login
def api_project(project: int) -> Response:
    with _parts().engine.connect() as connection:
        finding = _finding(connection, project)
    return jsonify(at=finding.at, summary=finding.summary, charts=finding.charts)


@blueprint.get("/api/projects/<int:project>/state")
@behind_login
def api_state(project: int) -> Response:
    return jsonify(busy=_is_busy(_work(project)))


@blueprint.get("/api/projects/<int:project>/annotators")
@behind_login
def api_annotators(project: int) -> Response:
    with _parts().engine.connect() as connection:
        _finding(connection, project)
        rows, total = found.annotators(connection, project, start=PAGE * (_page_number() - 1), most=PAGE)
    return jsonify(annotators=rows, total=total)


@blueprint.get("/api/projects/<int:project>/tasks")
@behind_login
def api_tasks(project: int) -> Response:
    with _parts().engine.connect() as connection:
        _finding(connection, project)
        rows, total = found.tasks(connection, project, start=PAGE * (_page_number() - 1), most=PAGE)
    return jsonify(tasks=rows, total=total)


def state_in_words(row: Work) -> str:
    if row.held_by:
        return "being worked on"
    if row.waiting is None:
        return "set aside until something changes" if row.error else "up to date"
    if row.error:
        return f"failed, tried again in {max(-row.due, 0):.0f} s"
    return "waiting for its turn"


def _parts() -> Parts:
    parts: Parts = current_app.extensions["parts"]
    return parts


def _render(template: str, **given: Any) -> str:
    return render_template(template, token=form_token(), **given)


def _project_page(template: str, connection: Connection, project: int, **given: Any) -> str:
    """A page of one project, which says when it is about to be overtaken."""
    busy = url_for("pages.api_state", project=project) if _is_busy(_work(project)) else ""
    title = found.project_title(connection, project)
    return _render(template, number=project, title=title, busy=busy, studio=_parts().studio_url, **given)


def _finding(connection: Connection, project: int) -> found.Finding:
    finding = found.finding(connection, project)
    if finding is None:
        abort(404, f"Nothing has been found out about project {project} yet.")
    return finding


def _work(project: int) -> Work | None:
    return next((row for row in _parts().work.rows() if row.project == project), None)


def _is_busy(row: Work | None) -> bool:
    """Whether something new will be there soon; not while a pass waits for tasks to become quiet, or after failures."""
    if row is None or row.error:
        return False
    return bool(row.held_by) or (row.waiting is not None and -row.due < SOON_SECONDS)


def _page_number() -> int:
    asked = request.args.get("page", "1")
    return min(max(int(asked), 1), 1_000_000) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else 1


def _paging(page: int, total: int, address: Callable[[int], str]) -> dict[str, Any]:
    """What a list needs to say which part of it is shown, and to lead to the others."""
    return {"page": page, "total": total, "pages": -(-total // PAGE), "address": address}


def _one_of(name: str, choices: Any, default: str) -> str:
    asked = request.args.get(name, default)
    return asked if asked in choices else default


def _projects() -> list[dict[str, Any]]:
    """Everything looked after, with its title and what the last pass found."""
    parts = _parts()
    with parts.engine.connect() as connection:
        rows = connection.execute(select(tables.project.c.id, tables.project.c.title))
        titles = {int(row.id): str(row.title) for row in rows}
        listed = []
        for row in parts.work.rows():
            summary = found.summary(connection, row.project)
            listed.append(
                {
                    "id": row.project,
                    "title": titles.get(row.project, f"Project {row.project}"),
                    "state": state_in_words(row),
                    "waiting": row.waiting is not None,
                    "error": row.error,
                    "seconds_since_pass": None if row.done is None else round(row.done, 1),
                    **{name: summary.get(name) for name in ("tasks", "answers", "annotators", "confidence")},
                }
            )
    return listed
