"""Tables of earlier releases, as they created them: to be upgraded in tests, and hashed."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

Id = BigInteger().with_variant(Integer, "sqlite")

data_1 = MetaData()  # did not record its version
data_3 = MetaData()
work_1 = MetaData()  # did not record its version

Table(
    "project",
    data_1,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("label_config", Text, nullable=False),
    Column("seen_until", String(40)),
)

Table(
    "task",
    data_1,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("project.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("updated_at", String(40), nullable=False),
    Column("overlap", Integer, nullable=False),
    Column("is_labeled", Boolean, nullable=False),
)

Table(
    "annotation",
    data_1,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("project.id", ondelete="CASCADE"), nullable=False),
    Column("task", ForeignKey("task.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("annotator", Integer),
    Column("result", Text, nullable=False),
    Column("skipped", Boolean, nullable=False),
    Column("ground_truth", Boolean, nullable=False),
    Column("copied", Boolean, nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("updated_by", Integer),
    Column("lead_time", Float),
    Index("annotation_of_project", "project", "task", "annotator"),
)

Table(
    "trail",
    data_1,
    Column("id", Integer, primary_key=True),
    Column("project", Integer, nullable=False, index=True),
    Column("task", Integer, nullable=False),
    Column("annotation", Integer, nullable=False, index=True),
    Column("event", String(20), nullable=False),
    Column("at", String(40), nullable=False),
    Column("annotator", Integer),
    Column("changed_by", Integer),
    Column("result", Text, nullable=False),
)

Table(
    "gold",
    data_1,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("task", Integer, primary_key=True, autoincrement=False),
    Column("question", String(500), primary_key=True),
    Column("label", Text, nullable=False),
)

Table(
    "written",
    data_1,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("task", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

Table(
    "setting_before",
    data_1,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),
)

Table(
    "crowd_project",
    data_3,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("label_config", Text, nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("seen_until", String(40)),
    Column("reader", String(40)),
    Column("read_with", Text),
    Column("revision", Integer, nullable=False, default=0),
)

Table(
    "crowd_task",
    data_3,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("crowd_project.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("updated_at", String(40), nullable=False),
    Column("overlap", Integer, nullable=False),
    Column("is_labeled", Boolean, nullable=False),
    Column("known", Text),
    Column("data", Text),
)

Table(
    "crowd_annotation",
    data_3,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("crowd_project.id", ondelete="CASCADE"), nullable=False),
    Column("task", ForeignKey("crowd_task.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("annotator", Id),
    Column("result", Text, nullable=False),
    Column("skipped", Boolean, nullable=False),
    Column("ground_truth", Boolean, nullable=False),
    Column("copied", Boolean, nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("updated_by", Id),
    Column("lead_time", Float),
    Index("crowd_annotation_of_project", "project", "task", "annotator"),
)

Table(
    "crowd_trail",
    data_3,
    Column("id", Id, primary_key=True),
    Column("project", Id, nullable=False, index=True),
    Column("task", Id, nullable=False),
    Column("annotation", Id, nullable=False, index=True),
    Column("event", String(20), nullable=False),
    Column("at", String(40), nullable=False),
    Column("noticed", String(40), nullable=False),
    Column("annotator", Id),
    Column("changed_by", Id),
    Column("result", Text, nullable=False),
)

Table(
    "crowd_gold",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("question", String(500), primary_key=True),
    Column("label", Text, nullable=False),
)

Table(
    "crowd_written",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

Table(
    "crowd_task_meta",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

Table(
    "crowd_run",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("fingerprint", String(64), nullable=False),
    Column("version", String(100), nullable=False),
    Column("summary", Text, nullable=False),
    Column("compared", Float(53), nullable=False),
)

Table(
    "crowd_finding",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("at", Float(53), nullable=False),
    Column("summary", Text, nullable=False),
    Column("charts", Text, nullable=False),
)

Table(
    "crowd_label",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("task", Id, nullable=False),
    Column("question", Text, nullable=False),
    Column("part", Integer, nullable=False),
    Column("label", Text, nullable=False),
    Column("confidence", Float(53), nullable=False),
    Column("difficulty", Float(53)),
    Column("answers", Integer, nullable=False),
    Column("plurality", Text),
    Column("gold", Text),
    Column("disputed", Boolean, nullable=False),
    Column("said", Text, nullable=False),
    Column("posterior", Text, nullable=False),
    Column("region", Text),
    Index("crowd_label_of_task", "project", "task"),
)

Table(
    "crowd_annotator",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("annotator", Id, primary_key=True, autoincrement=False),
    Column("answers", Integer, nullable=False),
    Column("gold_answers", Integer, nullable=False),
    Column("gold_correct", Integer, nullable=False),
    Column("skill", Float(53)),
    Column("skill_se", Float(53)),
    Column("adversary_probability", Float(53)),
    Column("weight", Float(53)),
    Column("accuracy", Float(53)),
    Column("verdict", String(40), nullable=False),
    Column("agreement", Float(53)),
    Column("seconds", Float(53)),
    Column("detail", Text, nullable=False),
)

Table(
    "crowd_user",
    data_3,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
)

Table(
    "crowd_setting_before",
    data_3,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),
)

Table(
    "crowd_secret",
    data_3,
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),
)

Table(
    "crowd_work",
    work_1,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("wanted", Id, nullable=False),
    Column("done", Id, nullable=False),
    Column("first_wanted", Float(53), nullable=False),
    Column("not_before", Float(53), nullable=False),
    Column("lease_until", Float(53), nullable=False),
    Column("owner", String(200), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("last_done", Float(53)),
    Column("last_error", Text),
    Column("snapshot", Text),
)

Table(
    "crowd_holding",
    work_1,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("owner", String(200), nullable=False),
    Column("until", Float(53), nullable=False),
)

Table(
    "crowd_duty",
    work_1,
    Column("name", String(100), primary_key=True),
    Column("due", Float(53), nullable=False),
)

Table(
    "crowd_worker",
    work_1,
    Column("name", String(200), primary_key=True),
    Column("seen", Float(53), nullable=False),
    Column("trouble", Text),
)

Table(
    "crowd_tally",
    work_1,
    Column("name", String(100), primary_key=True),
    Column("label", String(100), primary_key=True),
    Column("value", Float(53), nullable=False),
)

Table("crowd_schema", data_3, Column("version", Integer, primary_key=True, autoincrement=False))
