"""The page about answers: what more of them would buy, which tasks get them, and the policy that decides that."""

from __future__ import annotations

from flask import Blueprint, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from ..policy import Policy
from ..store import queue
from ..store.mirror import project_title
from ..store.policies import get_policy, save_policy
from ..store.results import get_results_time
from . import views
from .context import app_context
from .login import csrf_token
from .projects import is_busy, queue_entry, results_or_404

blueprint = Blueprint("answers", __name__)


@blueprint.get("/project/<int:project>/answers")
def page(project: int) -> str:
    with app_context().store.data.connect() as connection:
        asking = results_or_404(connection, project).figures.asking
        policy = get_policy(connection, project)
        title, results_at = project_title(connection, project), get_results_time(connection, project)
    return render_template(
        "answers.html",
        number=project,
        title=title,
        busy=url_for("api.state", project=project) if is_busy(queue_entry(project)) else "",
        results_at=results_at,
        token=csrf_token(),
        view=None if asking is None else views.answers_view(asking, app_context().answer_price),
        policy=policy or Policy(acts=False),
    )


@blueprint.post("/project/<int:project>/policy")
def change_policy(project: int) -> Response:
    """Set or change a project's policy; the pass that follows acts on it."""
    if queue_entry(project) is None:
        abort(400, f"Project {project} is not monitored; run 'ls-crowd connect {project}' first.")
    policy = _policy_of_form()
    if policy.problem is not None:
        abort(400, policy.problem)
    store = app_context().store
    with store.data.begin() as connection:
        results_or_404(connection, project)
        save_policy(connection, project, policy)
    with store.work.begin() as connection:
        queue.enqueue(connection, project)
    return redirect(url_for("answers.page", project=project))


def _policy_of_form() -> Policy:
    try:
        budget = request.form.get("budget", "").strip()
        return Policy(
            int(request.form["min_answers"]),
            int(request.form["max_answers"]),
            float(request.form["confidence"]) / 100,
            int(budget) if budget else None,
            request.form.get("mode") == "on",
        )
    except ValueError:
        abort(400, "The numbers of answers and the confidence must be numbers, such as 2, 7 and 95.")
