"""The last pass over each project that came to its end: while its fingerprint is the same, there is nothing new."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Boolean, Column, Connection, Float, String, Table, Text, select, update

from ..records import ProjectSummary
from .sql import Id, data_tables, upsert

last_pass_table = Table(
    "crowd_last_pass",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("fingerprint", String(64), nullable=False),
    Column("version", String(100), nullable=False),  # the model version of ours in Label Studio
    Column("summary", Text, nullable=False),  # JSON
    Column("verified_at", Float(53), nullable=False),  # when predictions were last compared one by one
    Column("settled", Boolean, nullable=False),  # whether everything was written, down to the smallest change
)


@dataclass(frozen=True)
class LastPass:
    fingerprint: str
    version: str
    summary: ProjectSummary
    verified_at: float  # seconds since 1970
    settled: bool = True


def get_last_pass(connection: Connection, project: int) -> LastPass | None:
    """The last pass that came to its end."""
    row = connection.execute(select(last_pass_table).where(last_pass_table.c.project == project)).first()
    if row is None:
        return None
    summary = ProjectSummary.from_json(json.loads(row.summary))
    return LastPass(str(row.fingerprint), str(row.version), summary, float(row.verified_at), bool(row.settled))


def invalidate_last_pass(connection: Connection, project: int) -> None:
    """Before something is written: whatever happens then, the next pass does not take the project for unchanged."""
    of_project = last_pass_table.c.project == project
    connection.execute(update(last_pass_table).where(of_project).values(fingerprint="", settled=False))


def save_last_pass(connection: Connection, project: int, last: LastPass) -> None:
    values = {**vars(last), "summary": json.dumps(asdict(last.summary))}
    upsert(connection, last_pass_table, {"project": project}, values)
