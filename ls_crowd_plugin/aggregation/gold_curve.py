"""What more gold would buy: how well a method does with none, a quarter, half and all of the gold there is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..records import Json
from .evaluation import expected_calibration_excess, resampled_calibration_errors, standard_error
from .trial import Judged, Trial
from .types import Floats

SHARES = (0.0, 0.25, 0.5, 1.0)
CLEAR = 2.0  # standard errors: a change that is larger is hardly chance
VISIBLE = 0.001  # a smaller change does not matter, however certain it is


def gold_curve(trial: Trial, method: str = "auto") -> list[Json]:
    """One row per share of the gold, from none to all of what is not hidden; the same tasks are judged each time.

    A row has `gold` (how many tasks were shown, the mean over the parts), `accuracy`, `calibration_excess`, `brier` and
    `distance` (None without a scale). For each of these, `…_change` is the difference to the row before, and
    `…_change_se` its standard error over the judged tasks, paired (None in the first row). Which gold is drawn is a
    matter of chance, too; that is averaged over the parts, but is not in the standard error.

    The time: with P parts, 2 P + 1 fits with at most half of the gold, besides the P with all of it that the comparison
    of methods has made. As a fit takes longer the more gold it is checked on, that is about as much as the comparison.
    """
    judged = [trial.judge(method, share) for share in SHARES]
    rows = []
    for share, before, now in zip(SHARES, [None, *judged[:-1]], judged, strict=True):
        shown = [len(trial.shown(part, share)) for part in range(len(trial.parts))]
        rows.append({"gold": round(float(np.mean(shown))), **_row(now, before, trial.seed)})
    return rows


def clear_step(rows: Sequence[Json], decide: str = "label") -> tuple[str, bool] | None:
    """Whether the last step, to twice as much gold, made a clear difference: in which measure, and if for the better.

    The measure is what the decision is to improve, or else the Brier score; None if neither changed clearly.
    """
    last = rows[-1]
    for measure in ("distance" if decide == "distance" and last["distance"] is not None else "accuracy", "brier"):
        change = last[f"{measure}_change"]
        if abs(change) >= VISIBLE and abs(change) > CLEAR * last[f"{measure}_change_se"]:
            return measure, (change > 0) == (measure == "accuracy")
    return None


def _row(now: Judged, before: Judged | None, seed: int) -> Json:
    row: Json = {"calibration_excess": expected_calibration_excess(now.confidence, now.right, seed)}
    row |= {"calibration_excess_change": None, "calibration_excess_change_se": None}
    if before is not None:
        change = row["calibration_excess"] - expected_calibration_excess(before.confidence, before.right, seed)
        resampled, earlier = (resampled_calibration_errors(one.confidence, one.right, seed) for one in (now, before))
        row |= {"calibration_excess_change": change, "calibration_excess_change_se": float(np.std(resampled - earlier))}
    earlier_values = {} if before is None else _by_task(before)
    for name, values in _by_task(now).items():
        row |= {name: float(values.mean()) if len(values) else None, f"{name}_change": None, f"{name}_change_se": None}
        if name in earlier_values and len(values):
            difference = values - earlier_values[name]
            row |= {f"{name}_change": float(difference.mean()), f"{name}_change_se": standard_error(difference)}
    return row


def _by_task(judged: Judged) -> dict[str, Floats]:
    """The measures that are means over the judged tasks, task by task."""
    return {
        "accuracy": judged.right.astype(float),
        "brier": (judged.confidence - judged.right) ** 2,
        "distance": judged.distance[~np.isnan(judged.distance)],
    }
