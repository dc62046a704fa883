"""The gate for passwords: each client has a limit of its own, and a flood of wrong ones keeps no right one out."""

from __future__ import annotations

import threading
import time

import pytest
from werkzeug.security import generate_password_hash

from ls_crowd_plugin.web import password as password_module
from ls_crowd_plugin.web.password import MAX_ATTEMPTS, MAX_CLIENTS, MAX_THREADS, PasswordGate, Verdict, _Failures
from tests.support.waiting import eventually

HASH = generate_password_hash("right", "pbkdf2:sha256:1")


@pytest.fixture
def gate() -> PasswordGate:
    """Of a password that was generated, so that only its hash is known."""
    return PasswordGate("", HASH)


def fail_often(gate: PasswordGate, client: str) -> None:
    assert {gate.check(client, "wrong") for _ in range(MAX_ATTEMPTS)} == {Verdict.WRONG}


def test_knows_the_right_password(gate: PasswordGate) -> None:
    assert [gate.check("a", word) for word in ("right", "wrong", "", "right")] == [
        *(Verdict.RIGHT, Verdict.WRONG, Verdict.WRONG, Verdict.RIGHT)
    ]


def test_limits_each_client(gate: PasswordGate) -> None:
    fail_often(gate, "a")
    assert gate.check("a", "right") is Verdict.TOO_MANY
    assert gate.check("b", "right") is Verdict.RIGHT


def test_forgets_failures_after_a_minute(gate: PasswordGate, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_often(gate, "a")
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert gate.check("a", "right") is Verdict.RIGHT


def test_remembers_a_limited_number_of_clients() -> None:
    failures = _Failures()
    for number in range(MAX_CLIENTS + 100):
        failures.add(str(number))
    assert len(failures._times) == MAX_CLIENTS
    for _ in range(MAX_ATTEMPTS):
        failures.add("last")
    assert failures.are_too_many("last")


@pytest.mark.parametrize("is_configured", [True, False])
def test_lets_the_right_password_in_while_wrong_ones_take_their_time(
    is_configured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a flood of wrong ones takes no more threads than it may."""
    gate, finish = PasswordGate("right" if is_configured else "", HASH), threading.Event()
    if not is_configured:
        assert gate.check("owner", "right") is Verdict.RIGHT  # from then on it is known

    def check_slowly(*_: str) -> bool:
        return not finish.wait(30)

    monkeypatch.setattr(password_module, "check_password_hash", check_slowly)
    threads = [threading.Thread(target=gate.check, args=(str(number), "wrong")) for number in range(MAX_THREADS)]
    for thread in threads:
        thread.start()
    eventually(lambda: gate._threads._value == 0, 10)
    assert gate.check("another", "wrong") is Verdict.BUSY
    assert gate.check("owner", "right") is Verdict.RIGHT
    finish.set()
    for thread in threads:
        thread.join(10)
    assert gate.check("another", "wrong") is Verdict.WRONG
