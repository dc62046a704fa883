"""Results of the last fit, for people to look at: of each project a summary, its labels and its annotators."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    Index,
    Integer,
    RowMapping,
    String,
    Table,
    Text,
    case,
    delete,
    func,
    insert,
    select,
)

from ..chart_records import Figures
from ..records import (
    SETTLED,
    Annotator,
    AnnotatorDetail,
    Disagreement,
    Explanation,
    LabelRegion,
    Part,
    ProjectSummary,
    RegionRates,
    TaskLabel,
    TaskLabels,
    TrendPoint,
    Vote,
)
from .mirror import read_excerpts
from .sql import Id, chunks, data_tables, upsert
from .users import read_names, user_table

BATCH = 10_000  # rows inserted at once

result_table = Table(
    "crowd_result",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("at", Float(53), nullable=False),  # seconds since 1970
    Column("summary", Text, nullable=False),  # JSON
    Column("figures", Text, nullable=False),  # JSON
)

label_table = Table(
    "crowd_label",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # a question may be too long for a key
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
    Column("votes", Text, nullable=False),  # JSON: pairs of annotator and label
    Column("posterior", Text, nullable=False),  # JSON
    Column("region", Text),  # JSON
    Column("state", String(20), nullable=False, server_default="open"),
    Column("explanation", Text),  # JSON: the other label, and triples of a part's name and its two numbers
    Index("crowd_label_of_task", "project", "task"),
)

annotator_table = Table(
    "crowd_annotator",
    data_tables,
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
    Column("detail", Text, nullable=False),  # JSON
)

_least_confident = func.min(label_table.c.confidence)  # of a task: that of its least confident label
_hardest = func.max(label_table.c.difficulty)
_differs = label_table.c.plurality.is_not(None) & (label_table.c.plurality != label_table.c.label)


def _any_label(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a condition holds for any label of a task."""
    return func.max(case((condition, 1), else_=0)) == 1


TASK_ORDERS: Mapping[str, Sequence[ColumnElement[bool] | ColumnElement[float] | ColumnElement[int]]] = {
    "least confident": (_least_confident.asc(),),
    "most confident": (_least_confident.desc(),),
    "hardest": (_hardest.is_(None), _hardest.desc()),
    "most answers": (func.max(label_table.c.answers).desc(),),
}
TASK_FILTERS: Mapping[str, ColumnElement[bool] | None] = {
    "all": None,
    "unsettled": _least_confident < SETTLED,
    "settled": _least_confident >= SETTLED,
    "disputed": _any_label(label_table.c.disputed),
    "differs from plurality": _any_label(_differs),
    "gold": _any_label(label_table.c.gold.is_not(None)),
}


@dataclass(frozen=True)
class StoredResults:
    """A project as a whole."""

    at: float  # seconds since 1970
    summary: ProjectSummary
    figures: Figures


def save_results(
    connection: Connection,
    project: int,
    summary: ProjectSummary,
    figures: Figures,
    labels: Iterable[TaskLabel],
    annotators: Iterable[tuple[Annotator, AnnotatorDetail]],
) -> None:
    """Replace a project's results."""
    forget_results(connection, project)
    values = {"at": time.time(), "summary": json.dumps(summary, default=vars), "figures": _json(figures)}
    upsert(connection, result_table, {"project": project}, values)
    _insert(connection, label_table, ({"project": project, **_label_row(label)} for label in labels))
    rows = (
        {"project": project, "number": number, **vars(annotator), "detail": _json(detail)}
        for number, (annotator, detail) in enumerate(annotators)
    )
    columns = [column.name for column in annotator_table.c]
    _insert(connection, annotator_table, ({name: row[name] for name in columns} for row in rows))


def forget_results(connection: Connection, project: int) -> None:
    for table in (result_table, label_table, annotator_table):
        connection.execute(delete(table).where(table.c.project == project))


def load_results(connection: Connection, project: int) -> StoredResults | None:
    row = connection.execute(select(result_table).where(result_table.c.project == project)).first()
    if row is None:
        return None
    summary = ProjectSummary.from_json(json.loads(row.summary))
    return StoredResults(float(row.at), summary, Figures.from_json(json.loads(row.figures)))


def get_results_time(connection: Connection, project: int) -> float:
    """When a project's results were saved, in seconds since 1970; 0 if there are none."""
    return float(connection.execute(select(result_table.c.at).where(result_table.c.project == project)).scalar() or 0)


def load_summary(connection: Connection, project: int) -> ProjectSummary | None:
    query = select(result_table.c.summary).where(result_table.c.project == project)
    text = connection.execute(query).scalar()
    return None if text is None else ProjectSummary.from_json(json.loads(text))


def list_annotators(
    connection: Connection,
    project: int,
    *,
    order: str = "name",
    descending: bool = False,
    verdict: str = "",
    name: str = "",
    annotator_ids: Sequence[int] | None = None,
    offset: int = 0,
    limit: int | None = None,
) -> tuple[list[Annotator], int]:
    """A page of a project's annotators and how many there are; `verdict`, `name` and `annotator_ids` filter them."""
    shown = func.coalesce(user_table.c.name, "")
    columns = [annotator_table.c[field] for field in Annotator.__dataclass_fields__ if field != "name"]
    joined = annotator_table.outerjoin(user_table, user_table.c.id == annotator_table.c.annotator)
    query = select(*columns, shown.label("name")).select_from(joined).where(annotator_table.c.project == project)
    if verdict:
        query = query.where(annotator_table.c.verdict == verdict)
    if annotator_ids is not None:
        query = query.where(annotator_table.c.annotator.in_(annotator_ids))
    if name:
        query = query.where(shown.icontains(name, autoescape=True))
    total = int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())
    key: ColumnElement[object] = func.lower(shown) if order == "name" else annotator_table.c[order]
    query = query.order_by(key.is_(None), key.desc() if descending else key.asc(), annotator_table.c.annotator)
    return [_annotator(row) for row in connection.execute(query.offset(offset).limit(limit)).mappings()], total


def load_annotator(connection: Connection, project: int, annotator: int) -> tuple[Annotator, AnnotatorDetail] | None:
    """One annotator with everything that is known."""
    own = (annotator_table.c.project == project) & (annotator_table.c.annotator == annotator)
    columns = [annotator_table.c[field] for field in Annotator.__dataclass_fields__ if field != "name"]
    row = connection.execute(select(*columns, annotator_table.c.detail).where(own)).first()
    if row is None:
        return None
    found = json.loads(row.detail)
    detail = AnnotatorDetail(
        trend=[TrendPoint(*point) for point in found["trend"]],
        confusion=found["confusion"],
        against=[Disagreement(*answer) for answer in found["against"]],
        differs=found["differs"],
        regions=found["regions"] and RegionRates(**found["regions"]),
    )
    name = read_names(connection, [annotator]).get(annotator, f"user {annotator}")
    values = {column.name: value for column, value in zip(columns, row, strict=False)}
    return Annotator(**values, name=name), detail


def list_tasks(
    connection: Connection,
    project: int,
    *,
    order: str = "least confident",
    show: str = "all",
    offset: int = 0,
    limit: int | None = None,
) -> tuple[list[TaskLabels], int]:
    """A page of a project's tasks with their labels, and how many there are."""
    query = select(label_table.c.task).where(label_table.c.project == project).group_by(label_table.c.task)
    condition = TASK_FILTERS[show]
    if condition is not None:
        query = query.having(condition)
    total = int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())
    query = query.order_by(*TASK_ORDERS[order], label_table.c.task).offset(offset).limit(limit)
    task_ids = [int(task) for task in connection.execute(query).scalars()]
    labels, excerpts = load_labels(connection, project, task_ids), read_excerpts(connection, project, task_ids)
    return [TaskLabels(task, excerpts.get(task, ""), labels[task]) for task in task_ids], total


def load_labels(connection: Connection, project: int, task_ids: Sequence[int]) -> dict[int, list[TaskLabel]]:
    """Task → its labels, the least confident first."""
    columns = [label_table.c[field] for field in TaskLabel.__dataclass_fields__]
    labels: dict[int, list[TaskLabel]] = {task: [] for task in task_ids}
    for chunk in chunks(task_ids):
        query = select(*columns).where(label_table.c.project == project, label_table.c.task.in_(chunk))
        for row in connection.execute(query.order_by(label_table.c.confidence)).mappings():
            labels[int(row["task"])].append(_task_label(row))
    return labels


def _label_row(label: TaskLabel) -> dict[str, object]:
    region = None if label.region is None else json.dumps(label.region.to_json())
    explanation = label.explanation and _json([label.explanation.other, label.explanation.parts])
    columns = {"votes": _json(label.votes), "posterior": _json(label.posterior), "region": region}
    return {**vars(label), **columns, "explanation": explanation}


def _task_label(row: RowMapping) -> TaskLabel:
    values = {str(name): value for name, value in row.items()}
    values["votes"] = tuple(Vote(*vote) for vote in json.loads(row["votes"]))
    values["posterior"] = json.loads(row["posterior"])
    values["region"] = None if row["region"] is None else LabelRegion(**json.loads(row["region"]))
    if row["explanation"] is not None:
        other, parts = json.loads(row["explanation"])
        values["explanation"] = Explanation(other, tuple(Part(*part) for part in parts))
    return TaskLabel(**values)


def _annotator(mapping: RowMapping) -> Annotator:
    values = {str(name): value for name, value in mapping.items()}
    return Annotator(**{**values, "name": values["name"] or f"user {values['annotator']}"})


def _insert(connection: Connection, table: Table, rows: Iterable[Mapping[str, object]]) -> None:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        connection.execute(insert(table), batch)


# Records become objects, as with `asdict`, which is many times slower.
_json: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False, default=vars).encode
