"""The methods of crowd-kit, to compare with: they get the same answers and return a label for every task."""

from __future__ import annotations

import signal
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PEERS = {
    "mv": "MajorityVote",
    "wawa": "Wawa",
    "ds": "DawidSkene",
    "onecoin": "OneCoinDawidSkene",
    "glad": "GLAD",
    "mmsr": "MMSR",
    "mace": "MACE",
}


def peer_names(option: str | None) -> list[str]:
    """Return the peers named in a command-line option: all for an empty text, none for None."""
    if option is None:
        return []
    names = option.split(",") if option else list(PEERS)
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise SystemExit(f"There is no peer {unknown[0]!r}; choose among {', '.join(PEERS)}.")
    return names


def frame_of(tasks: Any, annotators: Any, labels: Any) -> Any:
    """Return the data frame that crowd-kit works on."""
    import pandas as pd

    return pd.DataFrame({"task": tasks, "worker": annotators, "label": labels})


def run_peer(name: str, frame: Any, true_labels: Mapping[Any, Any] | None = None, **settings: Any) -> dict[Any, Any]:
    """Return task → label; only Dawid-Skene accepts true labels."""
    import crowdkit.aggregation
    import pandas as pd

    method = getattr(crowdkit.aggregation, PEERS[name])(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations and overflows inside crowd-kit
        if true_labels is None:
            return dict(method.fit_predict(frame))
        return dict(method.fit_predict(frame, true_labels=pd.Series(dict(true_labels))))


def run_peer_with_confidence(name: str, frame: Any, longest: int) -> tuple[dict[Any, Any], dict[Any, float]] | None:
    """Return task → label and task → its probability; None, with a printed note, if it fails or takes too many seconds.

    A method without probabilities has no confidences.
    """
    import crowdkit.aggregation

    method = getattr(crowdkit.aggregation, PEERS[name])()
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(longest)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = dict(method.fit_predict(frame))
    except Exception as failure:  # whatever a peer raises, the comparison continues
        print(f"  crowd-kit's {PEERS[name]} failed: {type(failure).__name__}: {failure}", flush=True)
        return None
    finally:
        signal.alarm(0)
    probabilities = getattr(method, "probas_", None)
    if probabilities is None:
        return labels, {}
    column = {label: position for position, label in enumerate(probabilities.columns)}
    rows = dict(zip(probabilities.index, probabilities.to_numpy(), strict=True))
    return labels, {task: float(rows[task][column[label]]) for task, label in labels.items()}


def _give_up(*_: object) -> None:
    raise TimeoutError("it takes too long")


def peer_or_nothing(name: str, frame: Any, true_labels: Mapping[Any, Any] | None = None) -> dict[Any, Any] | None:
    """Return the labels of `run_peer`, or None with a printed note if crowd-kit itself fails."""
    try:
        return run_peer(name, frame, true_labels)
    except Exception as failure:  # whatever a peer raises, the comparison continues
        print(f"  crowd-kit's {PEERS[name]} failed: {type(failure).__name__}: {failure}", flush=True)
        return None
