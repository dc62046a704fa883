"""The report: one page that needs nothing else, to be kept or mailed."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from sqlalchemy import Connection

from ..store import StoredResults
from ..store.mirror import project_title
from ..store.results import list_annotators, list_tasks
from . import views
from .annotator_columns import ANNOTATOR_COLUMNS
from .template_tools import set_up_templates

LEAST_CONFIDENT = 20  # tasks that are listed


def render_report(connection: Connection, project: int, results: StoredResults, answer_price: float = 0.0) -> str:
    environment = Environment(loader=PackageLoader(__package__), autoescape=True)
    set_up_templates(environment)
    people, _ = list_annotators(connection, project, order="accuracy", descending=True)
    by_id = {one.annotator: one for one in people}
    tasks, _ = list_tasks(connection, project, limit=LEAST_CONFIDENT)
    style = (Path(__file__).parent / "static" / "style.css").read_text(encoding="utf-8")
    return environment.get_template("report.html").render(
        standalone=True,
        style=Markup(style),  # noqa: S704, our own file
        number=project,
        title=project_title(connection, project),
        as_of=datetime.fromtimestamp(results.at, timezone.utc).strftime("%d %B %Y, %H:%M UTC"),
        view=views.project_view(results),
        plot=views.skill_chart(people),
        columns=ANNOTATOR_COLUMNS,
        people=people,
        rings=views.ring_views(results.summary.rings, people),
        tasks=[(task, views.label_view(task.labels[0], by_id)) for task in tasks],
        answers=results.figures.asking and views.answers_view(results.figures.asking, answer_price),
        agreement=views.agreement_view(connection, results),
    )
