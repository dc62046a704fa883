"""Forgets a project that is gone from Label Studio: all that was derived from it, but not gold, trail and settings."""

from __future__ import annotations

from sqlalchemy import Connection, delete

from .mirror import project_table
from .passes import last_pass_table
from .predictions import prediction_table, task_meta_table
from .results import forget_results


def forget_project(connection: Connection, project: int) -> None:
    """Forget a project; its tasks and annotations go with its row in the mirror."""
    forget_results(connection, project)
    for table in (prediction_table, task_meta_table, last_pass_table):
        connection.execute(delete(table).where(table.c.project == project))
    connection.execute(delete(project_table).where(project_table.c.id == project))


def forget_written(connection: Connection, project: int) -> None:
    """Forget what Label Studio holds of ours, before it is written to: after a crash nobody knows."""
    for table in (prediction_table, last_pass_table):
        connection.execute(delete(table).where(table.c.project == project))
