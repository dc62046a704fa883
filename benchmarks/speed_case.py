"""One measurement of time and memory, in a process of its own: python -m benchmarks.speed_case METHOD ANSWERS LABELS.

METHOD is one of ours or `peer:NAME`. Prints JSON: seconds (the best of several runs), accuracy, peak memory in MB, and
the memory in use before the first run.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ls_crowd_plugin.demo.crowds import large_crowd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ls_crowd_plugin.demo import SimulatedCrowd

ENOUGH_SECONDS = 3.0
MAX_RUNS = 5
PEER_SETTINGS: dict[str, dict[str, Any]] = {"ds": {"n_iter": 10}}  # its default of 100 iterations would be even slower


def main() -> None:
    """Measure the case on the command line."""
    method, answers, labels = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    run = _runner(method)
    run(large_crowd(seed=1, answers=1000, labels=labels))  # imports and caches
    crowd = large_crowd(seed=0, answers=answers, labels=labels)
    before = _peak_memory()
    seconds: list[float] = []
    while not seconds or (len(seconds) < MAX_RUNS and sum(seconds) < ENOUGH_SECONDS):
        started = time.perf_counter()
        labels_of_tasks = run(crowd)
        seconds.append(time.perf_counter() - started)
    peak = _peak_memory()
    accuracy = float(np.mean([labels_of_tasks[task] == label for task, label in crowd.truth.items()]))
    print(json.dumps({"seconds": min(seconds), "accuracy": accuracy, "peak": peak, "before": before}))


def _runner(method: str) -> Callable[[SimulatedCrowd], Mapping[Any, Any]]:
    """Return a function from a crowd of integer arrays to the labels of its tasks."""
    if method.startswith("peer:"):
        from .peers import frame_of, run_peer

        name = method.removeprefix("peer:")
        settings = PEER_SETTINGS.get(name, {})
        return lambda crowd: run_peer(name, frame_of(crowd.tasks, crowd.annotators, crowd.labels), **settings)
    from ls_crowd_plugin.aggregation import aggregate

    def ours(crowd: SimulatedCrowd) -> Mapping[Any, Any]:
        result = aggregate(crowd.tasks, crowd.annotators, crowd.labels, method=method, label_set=crowd.label_set)
        labels: Mapping[Any, Any] = result.labels
        return labels

    return ours


def _peak_memory() -> float:
    """Return the largest resident size so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main()
