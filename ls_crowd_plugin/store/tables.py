"""The tables. One SQL for SQLite and Postgres; everything is keyed by Label Studio's own ids."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

project = Table(
    "project",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("label_config", Text, nullable=False),
    Column("created_at", String(40), nullable=False),  # tells it from another server's project of the same number
    Column("seen_until", String(40)),  # changes of tasks up to this time are in the mirror
    Column("gold_field", Text),  # the field of task.data that the mirror holds as known labels
    Column("revision", Integer, nullable=False, default=0),  # moves when anything in the mirror that counts changes
)

task = Table(
    "task",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("project.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("updated_at", String(40), nullable=False),
    Column("overlap", Integer, nullable=False),
    Column("is_labeled", Boolean, nullable=False),
    Column("known", Text),  # JSON: the field of task.data with known labels
)

annotation = Table(
    "annotation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("project.id", ondelete="CASCADE"), nullable=False),
    Column("task", ForeignKey("task.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("annotator", Integer),
    Column("result", Text, nullable=False),  # JSON as Label Studio gave it
    Column("skipped", Boolean, nullable=False),
    Column("ground_truth", Boolean, nullable=False),
    Column("copied", Boolean, nullable=False),  # of a prediction or of somebody else's annotation
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("updated_by", Integer),
    Column("lead_time", Float),
    Index("annotation_of_project", "project", "task", "annotator"),
)

# Never changed, only added to: what each annotation said and when, also after it is gone from Label Studio.
trail = Table(
    "trail",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("project", Integer, nullable=False, index=True),
    Column("task", Integer, nullable=False),
    Column("annotation", Integer, nullable=False, index=True),
    Column("event", String(20), nullable=False),  # created, changed, reassigned (to another author), deleted
    Column("at", String(40), nullable=False),  # by the annotation itself
    Column("noticed", String(40), nullable=False),  # when the pull began that noticed it, by Label Studio's clock
    Column("annotator", Integer),
    Column("changed_by", Integer),
    Column("result", Text, nullable=False),
)

gold = Table(
    "gold",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("task", Integer, primary_key=True, autoincrement=False),
    Column("question", String(500), primary_key=True),
    Column("label", Text, nullable=False),
)

# A prediction of ours as it should stand in Label Studio; `digest` tells without asking whether it has to change.
written = Table(
    "written",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("task", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

# What `task.meta["crowd"]` of a task rests on: the digest of the prediction it was copied from.
task_meta = Table(
    "task_meta",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("task", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

# The last pass over a project that ended well: with the same fingerprint the next one has nothing to compute.
run = Table(
    "run",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("fingerprint", String(64), nullable=False),
    Column("version", String(100), nullable=False),  # the model version of ours that stands
    Column("summary", Text, nullable=False),  # JSON
)

# A project's settings as they were before this project changed them.
setting_before = Table(
    "setting_before",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),  # JSON
)
