"""The last complete pass over each project: while its fingerprint is the same, there is nothing to compute."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Column, Connection, Float, String, Table, Text, select

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
)


@dataclass(frozen=True)
class LastPass:
    fingerprint: str
    version: str
    summary: ProjectSummary
    verified_at: float  # seconds since 1970


def get_last_pass(connection: Connection, project: int) -> LastPass | None:
    """The last complete pass, if Label Studio has not been written to since."""
    row = connection.execute(select(last_pass_table).where(last_pass_table.c.project == project)).first()
    if row is None:
        return None
    summary = ProjectSummary.from_json(json.loads(row.summary))
    return LastPass(str(row.fingerprint), str(row.version), summary, float(row.verified_at))


def save_last_pass(connection: Connection, project: int, last: LastPass) -> None:
    values = {**vars(last), "summary": json.dumps(asdict(last.summary))}
    upsert(connection, last_pass_table, {"project": project}, values)
