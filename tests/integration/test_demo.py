"""`ls-crowd demo`: a consensus in both places, a quick second start, and everything stopped at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import requests

from ls_crowd_plugin.demo.server import Server
from tests.conftest import STUDIO_HOME, RunCommand
from tests.support.waiting import eventually


def test_reaches_consensus_in_both_places_and_stops(run_command: RunCommand, label_studio: Server) -> None:
    del label_studio  # only needed because it is installed then
    done = run_command("demo", "--home", STUDIO_HOME, "--reset", "--check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The consensus is in the dashboard and in Label Studio." in done.stdout
    addresses = re.findall(r"open (http://127.0.0.1:\d+)", done.stdout)
    assert len(addresses) == 2
    for address in addresses:
        assert not _answers(address)


def test_keeps_annotating_until_it_is_stopped(label_studio: Server) -> None:
    del label_studio
    command = [sys.executable, "-m", "ls_crowd_plugin", "demo", "--home", str(STUDIO_HOME)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    output = b""

    def printed(word: bytes) -> bool:
        nonlocal output
        output += process.stdout.read() or b"" if process.stdout is not None else b""
        assert process.poll() is None, output
        return word in output

    try:
        started = time.monotonic()
        eventually(lambda: printed(b"Ctrl-C stops everything"), 120)
        eventually(lambda: printed(b"4 more annotations"), 60)
        addresses = re.findall(r"open (http://127.0.0.1:\d+)", output.decode())
        process.send_signal(signal.SIGINT)
        assert process.wait(150) == 0, time.monotonic() - started
        for address in addresses:
            assert not _answers(address)
    finally:
        process.terminate()  # what it started would outlive a kill
        process.wait(90)
        process.stdout.close()


def _answers(address: str) -> bool:
    try:
        return bool(requests.get(address, timeout=5).status_code)
    except requests.exceptions.ConnectionError:
        return False
