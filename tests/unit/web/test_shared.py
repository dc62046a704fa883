"""A shared result is fresh, unless another thread is computing it at that moment."""

from __future__ import annotations

import itertools
import threading

from ls_crowd_plugin.web.shared import Shared


def test_is_computed_whenever_it_is_asked_for() -> None:
    shared, numbers = Shared[int](), itertools.count()
    assert [shared.get(lambda: next(numbers)) for _ in range(3)] == [0, 1, 2]


def test_keeps_only_one_thread_busy() -> None:
    shared, started, finish = Shared[str](), threading.Event(), threading.Event()
    assert shared.get(lambda: "first") == "first"

    def compute() -> str:
        started.set()
        finish.wait(30)
        return "second"

    thread = threading.Thread(target=shared.get, args=(compute,))
    thread.start()
    started.wait(30)
    assert shared.get(lambda: "third") == "first"
    finish.set()
    thread.join(30)
    assert shared.get(lambda: "fourth") == "fourth"
