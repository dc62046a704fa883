"""The pages: which projects are monitored, how far their labels are, whom to trust, and what the labels are."""

from __future__ import annotations

from flask import Blueprint, abort, redirect, render_template, request, url_for
from sqlalchemy import Connection
from werkzeug.wrappers import Response

from ..store import queue
from ..store.gold import add_gold, list_gold, remove_gold
from ..store.heartbeats import alive_workers
from ..store.mirror import project_title, read_excerpts
from ..store.results import TASK_FILTERS, TASK_ORDERS, get_results_time, list_annotators, list_tasks, load_labels
from . import views
from .annotator_columns import ANNOTATOR_COLUMNS
from .context import app_context
from .login import csrf_token
from .paging import PAGE_SIZE, Paging, one_of, page_number, page_offset
from .projects import is_busy, list_projects, queue_entry, results_or_404
from .region_views import region_view
from .words import state_of

blueprint = Blueprint("pages", __name__)


@blueprint.get("/")
def overview() -> str:
    projects = list_projects()
    with app_context().store.work.connect() as connection:
        workers = alive_workers(connection)
    waiting = sum(project.waiting for project in projects)
    return render_template("overview.html", projects=projects, waiting=waiting, workers=workers, token=csrf_token())


@blueprint.get("/projects/<int:project>/", defaults={"rest": ""}, strict_slashes=False)
@blueprint.get("/projects/<int:project>/<path:rest>")
def project_as_in_label_studio(project: int, rest: str) -> Response:
    """People know the address of a project from Label Studio."""
    del rest
    return redirect(url_for("pages.project", project=project))


@blueprint.get("/project/<int:project>")
def project(project: int) -> str:
    entry = queue_entry(project)
    with app_context().store.data.connect() as connection:
        view = views.project_view(results_or_404(connection, project))
        state = state_of(entry) if entry else "no longer monitored"
        return _render(connection, project, "project.html", view=view, state=state, error=entry and entry.error)


@blueprint.get("/project/<int:project>/annotators")
def annotators(project: int) -> str:
    order = one_of("order", [column.key for column in ANNOTATOR_COLUMNS], "accuracy")
    descending = request.args.get("down", "1") == "1"
    verdict, name = request.args.get("verdict", ""), request.args.get("name", "")

    def address(page: int = 1, order: str = order, descending: bool = descending) -> str:
        return url_for(
            "pages.annotators",
            project=project,
            order=order,
            down=int(descending),
            page=page,
            verdict=verdict,
            name=name,
        )

    def sort_address(key: str) -> str:
        return address(order=key, descending=not descending if key == order else key != "name")

    with app_context().store.data.connect() as connection:
        rings = results_or_404(connection, project).summary.rings
        people, total = list_annotators(
            connection,
            project,
            order=order,
            descending=descending,
            verdict=verdict,
            name=name,
            offset=page_offset(),
            limit=PAGE_SIZE,
        )
        everybody, _ = list_annotators(connection, project)
        return _render(
            connection,
            project,
            "annotators.html",
            people=people,
            paging=Paging(page_number(), total, address),
            sort_address=sort_address,
            columns=ANNOTATOR_COLUMNS,
            order=order,
            descending=descending,
            name=name,
            verdict=verdict,
            plot=views.skill_chart(everybody),
            rings=views.ring_views(rings, everybody),
        )


@blueprint.get("/project/<int:project>/annotator/<int:annotator>")
def annotator(project: int, annotator: int) -> str:
    with app_context().store.data.connect() as connection:
        questions = results_or_404(connection, project).figures.questions
        view = views.annotator_view(connection, project, annotator, questions)
        if view is None:
            abort(404, f"User {annotator} has no answers in project {project} that count.")
        return _render(connection, project, "annotator.html", view=view, several_questions=len(questions) > 1)


@blueprint.get("/project/<int:project>/tasks")
def tasks(project: int) -> str:
    order, show = one_of("order", TASK_ORDERS, "least confident"), one_of("show", TASK_FILTERS, "all")

    def address(page: int) -> str:
        return url_for("pages.tasks", project=project, order=order, show=show, page=page)

    with app_context().store.data.connect() as connection:
        questions = results_or_404(connection, project).figures.questions
        rows, total = list_tasks(connection, project, order=order, show=show, offset=page_offset(), limit=PAGE_SIZE)
        return _render(
            connection,
            project,
            "tasks.html",
            tasks=rows,
            paging=Paging(page_number(), total, address),
            orders=list(TASK_ORDERS),
            filters=list(TASK_FILTERS),
            order=order,
            show=show,
            several_questions=len(questions) > 1,
        )


@blueprint.get("/project/<int:project>/task/<int:task>")
def task(project: int, task: int) -> str:
    with app_context().store.data.connect() as connection:
        results = results_or_404(connection, project)
        questions = results.figures.questions
        labels = views.task_view(connection, project, task, results.summary.rings)
        if not labels:
            abort(404, f"Task {task} of project {project} has no answers that count.")
        gold = list_gold(connection, project)
        return _render(
            connection,
            project,
            "task.html",
            task=task,
            labels=labels,
            stored_gold={question: label for (number, question), label in gold.items() if number == task},
            text=read_excerpts(connection, project, [task]).get(task, ""),
            regions=region_view(connection, project, task, [label.record for label in labels]),
            questions=questions,
        )


@blueprint.post("/project/<int:project>/task/<int:task>/gold")
def mark_gold(project: int, task: int) -> Response:
    """Mark a label as gold, change it or take it back; the pass that follows at once uses it."""
    question, label = _form_text("question"), _form_text("label")
    store = app_context().store
    with store.data.begin() as connection:
        questions = results_or_404(connection, project).figures.questions
        if not load_labels(connection, project, [task])[task] or label not in questions.get(question, ()):
            abort(400, f"{label!r} is not a label of {question!r} of task {task}.")
        if request.form.get("remove"):
            remove_gold(connection, project, [(task, question)])
        else:
            add_gold(connection, project, {(task, question): label})
    if queue_entry(project) is not None:  # a project that was disconnected stays so
        with store.work.begin() as connection:
            queue.enqueue(connection, project)
    return redirect(url_for("pages.task", project=project, task=task))


@blueprint.get("/project/<int:project>/agreement")
def agreement(project: int) -> str:
    with app_context().store.data.connect() as connection:
        view = views.agreement_view(connection, results_or_404(connection, project))
        return _render(connection, project, "agreement.html", view=view)


def _form_text(name: str) -> str:
    """A field of the form as it was on the page: browsers send every line break as CR LF."""
    return request.form.get(name, "").replace("\r\n", "\n")


def _render(connection: Connection, project: int, template: str, **values: object) -> str:
    """A page of one project, which reloads itself when new results are there."""
    return render_template(
        template,
        number=project,
        title=project_title(connection, project),
        busy=url_for("api.state", project=project) if is_busy(queue_entry(project)) else "",
        results_at=get_results_time(connection, project),
        studio=app_context().studio_url,
        token=csrf_token(),
        **values,
    )
