"""Forgets a project that is gone from Label Studio: all that was derived from it, but not gold and trail."""

from __future__ import annotations

from sqlalchemy import Connection, delete

from .mirror import project_table
from .passes import last_pass_table
from .policies import forget_policy
from .predictions import forget_predictions, prediction_table, tab_table, task_meta_table, version_table
from .project_settings import setting_table
from .results import forget_results


def forget_project(connection: Connection, project: int) -> None:
    """Forget a project, also what was to be undone in it; its tasks and annotations go with its row in the mirror."""
    forget_results(connection, project)
    forget_policy(connection, project)
    for table in (prediction_table, task_meta_table, last_pass_table, version_table, tab_table, setting_table):
        connection.execute(delete(table).where(table.c.project == project))
    connection.execute(delete(project_table).where(project_table.c.id == project))


def forget_written(connection: Connection, project: int) -> None:
    """Forget which predictions Label Studio holds, so that the next pass compares all of them."""
    forget_predictions(connection, project)
    connection.execute(delete(last_pass_table).where(last_pass_table.c.project == project))
