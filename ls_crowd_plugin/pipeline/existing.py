"""Our predictions in Label Studio: which versions are ours, what they hold, and what somebody else did to them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ..labelstudio import LabelStudio, Prediction
from ..records import Json, count
from ..store import Store
from ..store.predictions import StoredPrediction, read_versions, remember_version
from ..store.users import read_names
from .plan import VERSION, ExistingPrediction, crowd_meta

OUR_NAME = re.compile(rf"{VERSION}(-\d+)?")  # the names that we choose from
MAX_NAMED = 20  # tasks whose last writer is looked up


def our_versions(studio: LabelStudio, store: Store, project: int) -> tuple[dict[str, int], set[str]]:
    """Our model versions in Label Studio → how many predictions each has; and the names of all others.

    Ours are those under which we remember to have written. If this database knows nothing of a version with a name that
    we would choose, its metadata tells: an earlier database may have been lost.
    """
    sizes = studio.versions(project)
    with store.data.connect() as connection:
        ours = set(read_versions(connection, project))
    unknown = {version for version in sizes.keys() - ours if OUR_NAME.fullmatch(version)}
    if unknown:
        written = adoptable(studio.predictions(project), unknown)
        with store.data.begin() as connection:
            for version in written:
                remember_version(connection, project, version)
        ours |= written
    return {version: size for version, size in sizes.items() if version in ours}, sizes.keys() - ours


def adoptable(predictions: Sequence[Prediction], versions: Collection[str]) -> set[str]:
    """Those of some versions that we wrote: most of their results carry our metadata, or there are none to carry it."""
    written = set()
    for version in versions:
        results = [one.result for one in predictions if one.model_version == version and one.result]
        if 2 * sum(bool(crowd_meta(result)) for result in results) >= len(results):
            written.add(version)
    return written


def existing_predictions(
    studio: LabelStudio, project: int, ours: Collection[str]
) -> tuple[list[ExistingPrediction], frozenset[int]]:
    """Our predictions in Label Studio, and the tasks whose predictions it cannot show."""
    found = studio.predictions(project)
    hidden = frozenset(one.task for one in found if not one.id)
    return [ExistingPrediction.of(one) for one in found if one.model_version in ours and one.id], hidden


def describe_hidden(tasks: Collection[int]) -> list[str]:
    """A sentence about tasks whose predictions Label Studio cannot show; none if there are none."""
    if not tasks:
        return []
    where = f"{count(len(tasks), 'task')}, for example task {min(tasks)}"
    why = "one of them holds something that it fails to write, such as half a character"
    return [f"Label Studio cannot show the predictions on {where}: {why}. Delete other models' predictions there."]


def tampered(existing: Sequence[ExistingPrediction], known: Mapping[int, StoredPrediction]) -> list[int]:
    """Tasks whose prediction is not what we wrote."""
    before = {task: stored.digest for task, stored in known.items()}
    return sorted({one.task for one in existing if before.get(one.task, one.digest) != one.digest})


def describe_tampering(studio: LabelStudio, store: Store, project: int, tasks: Sequence[int]) -> list[str]:
    """A sentence about predictions that somebody changed, and who last changed their tasks; none if there are none."""
    if not tasks:
        return []
    found = studio.tasks(project, tasks[:MAX_NAMED], "id,updated_by")
    users = sorted({user for task in found for user in _updaters(task)})
    with store.data.connect() as connection:
        names = read_names(connection, users)
    people = ", ".join(f"{names[user]} (user {user})" if user in names else f"user {user}" for user in users)
    who = f"; their tasks were last changed by {people}" if people else ""
    named = ", ".join(map(str, tasks[:MAX_NAMED]))
    changed = count(len(tasks), "prediction")
    return [f"Somebody changed {changed} of the plugin, on task {named}{who}. What was changed is written again."]


def _updaters(task: Json) -> set[int]:
    entries = task.get("updated_by") or []
    return {entry["user_id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("user_id"), int)}
