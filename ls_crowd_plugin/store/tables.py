"""The tables. One SQL for SQLite and Postgres; everything is keyed by Label Studio's own ids.

Their names begin with crowd_, so that they may share a database with Label Studio, whose own are called like ours.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()
work_metadata = MetaData()  # in SQLite a file of its own, so that recording an event never waits for the mirror

Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite's Integer is as large, and only it counts up by itself

project = Table(
    "crowd_project",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("label_config", Text, nullable=False),
    Column("created_at", String(40), nullable=False),  # tells it from another server's project of the same number
    Column("seen_until", String(40)),  # changes of tasks up to this time are in the mirror
    Column("reader", String(40)),  # who reads it now: one that was overtaken may change nothing any more
    Column("read_with", Text),  # what else the mirror's contents rest on: when that changes, all tasks are read again
    Column("revision", Integer, nullable=False, default=0),  # moves when anything in the mirror that counts changes
)

task = Table(
    "crowd_task",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("crowd_project.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("updated_at", String(40), nullable=False),
    Column("overlap", Integer, nullable=False),
    Column("is_labeled", Boolean, nullable=False),
    Column("known", Text),  # JSON: the field of task.data with known labels
    Column("data", Text),  # JSON: object of the label config → what annotators see there, as far as it is needed
)

annotation = Table(
    "crowd_annotation",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("crowd_project.id", ondelete="CASCADE"), nullable=False),
    Column("task", ForeignKey("crowd_task.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("annotator", Id),
    Column("result", Text, nullable=False),  # JSON as Label Studio gave it
    Column("skipped", Boolean, nullable=False),
    Column("ground_truth", Boolean, nullable=False),
    Column("copied", Boolean, nullable=False),  # of a prediction or of somebody else's annotation
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("updated_by", Id),
    Column("lead_time", Float),
    Index("crowd_annotation_of_project", "project", "task", "annotator"),
)

# Never changed, only added to: what each annotation said and when, also after it is gone from Label Studio.
trail = Table(
    "crowd_trail",
    metadata,
    Column("id", Id, primary_key=True),
    Column("project", Id, nullable=False, index=True),
    Column("task", Id, nullable=False),
    Column("annotation", Id, nullable=False, index=True),
    Column("event", String(20), nullable=False),  # created, changed, reassigned (to another author), deleted
    Column("at", String(40), nullable=False),  # by the annotation itself
    Column("noticed", String(40), nullable=False),  # when the pull began that noticed it, by Label Studio's clock
    Column("annotator", Id),
    Column("changed_by", Id),
    Column("result", Text, nullable=False),
)

gold = Table(
    "crowd_gold",
    metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("question", String(500), primary_key=True),
    Column("label", Text, nullable=False),
)

# A prediction of ours as it should stand in Label Studio; `digest` tells without asking whether it has to change.
written = Table(
    "crowd_written",
    metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

# What `task.meta["crowd"]` of a task rests on: the digest of the prediction it was copied from.
task_meta = Table(
    "crowd_task_meta",
    metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

# The last pass over a project that ended well: with the same fingerprint the next one has nothing to compute.
run = Table(
    "crowd_run",
    metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("fingerprint", String(64), nullable=False),
    Column("version", String(100), nullable=False),  # the model version of ours that stands
    Column("summary", Text, nullable=False),  # JSON
    Column("compared", Float(53), nullable=False),  # when predictions were last compared one by one
)

# What the last fit said, for people to look at: of a project, its labels and its annotators.
finding = Table(
    "crowd_finding",
    metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("at", Float(53), nullable=False),  # seconds since 1970
    Column("summary", Text, nullable=False),  # JSON
    Column("charts", Text, nullable=False),  # JSON
)

label = Table(
    "crowd_label",
    metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # a question may be too long for a key
    Column("task", Id, nullable=False),
    Column("question", Text, nullable=False),
    Column("part", Integer, nullable=False),  # 0 is the whole task, else one of its regions
    Column("label", Text, nullable=False),
    Column("confidence", Float(53), nullable=False),
    Column("difficulty", Float(53)),
    Column("answers", Integer, nullable=False),
    Column("plurality", Text),  # the most frequent answer, if there is only one
    Column("gold", Text),
    Column("disputed", Boolean, nullable=False),  # between annotators who are trusted
    Column("said", Text, nullable=False),  # JSON: pairs of annotator and label
    Column("posterior", Text, nullable=False),  # JSON: label → probability, the likely ones
    Column("region", Text),  # JSON: where it is
    Index("crowd_label_of_task", "project", "task"),
)

annotator = Table(
    "crowd_annotator",
    metadata,
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
    Column("agreement", Float(53)),  # the share of their answers that are the consensus
    Column("seconds", Float(53)),  # the median time they took
    Column("detail", Text, nullable=False),  # JSON
)

# Users of Label Studio, by the names people know them by.
user = Table(
    "crowd_user",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
)

# A project's settings as they were before this project changed them.
setting_before = Table(
    "crowd_setting_before",
    metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),  # JSON
)

# Secrets made by this project where none were given.
secret = Table(
    "crowd_secret",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),
)

# The work list: a project has something to do while `wanted` is ahead of `done`. Times are seconds since 1970 by the
# database's clock, which all machines share.
work = Table(
    "crowd_work",
    work_metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("wanted", Id, nullable=False),
    Column("done", Id, nullable=False),
    Column("first_wanted", Float(53), nullable=False),  # when the oldest event came that is not done
    Column("not_before", Float(53), nullable=False),
    Column("lease_until", Float(53), nullable=False),
    Column("owner", String(200), nullable=False),
    Column("attempts", Integer, nullable=False),  # begun since the last that ended
    Column("last_done", Float(53)),
    Column("last_error", Text),
    Column("snapshot", Text),  # JSON: what the list of projects said when it was last polled
)

# Who is passing over a project: a worker, or somebody with a command.
holding = Table(
    "crowd_holding",
    work_metadata,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("owner", String(200), nullable=False),
    Column("until", Float(53), nullable=False),
)

# What only one of several workers does at a time, and when it is due next.
duty = Table(
    "crowd_duty",
    work_metadata,
    Column("name", String(100), primary_key=True),
    Column("due", Float(53), nullable=False),
)

# Workers that are alive, and what they last met in Label Studio.
worker = Table(
    "crowd_worker",
    work_metadata,
    Column("name", String(200), primary_key=True),
    Column("seen", Float(53), nullable=False),
    Column("trouble", Text),
)

# Sums over all passes of all workers, for the metrics.
tally = Table(
    "crowd_tally",
    work_metadata,
    Column("name", String(100), primary_key=True),
    Column("label", String(100), primary_key=True),
    Column("value", Float(53), nullable=False),
)
