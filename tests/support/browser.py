"""A real Chromium: the one of the system, which is installed with apt where the tests may do that."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from ls_crowd_plugin.demo.server import OWNER, Server

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """Return the path of a Chromium; skip the test if there is none and it cannot be installed."""
    if _installed_chromium() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install_chromium()
    path = _installed_chromium()
    if path is None:
        pytest.skip("There is no Chromium, and it cannot be installed here; install the package chromium.")
    return path


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield running
        finally:
            running.close()


def log_in_to_label_studio(page: Page, server: Server) -> None:
    """Log in as the owner."""
    page.goto(f"{server.url}/user/login/")
    page.fill("input[name=email]", OWNER)
    page.fill("input[name=password]", server.password)
    page.click("button[type=submit]")
    page.wait_for_url(lambda url: "/user/login" not in url)


def _install_chromium() -> None:
    """Install it, unless another process of the tests is doing that: then wait."""
    with (Path(tempfile.gettempdir()) / "ls-crowd-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _installed_chromium() is None:
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
                subprocess.run(["apt-get", "-qq", *command], env=environment, check=False, capture_output=True)


def _installed_chromium() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)
