"""A real Chromium: the system's, installed from the system's packages where the tests may do that."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

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
    """The path of a Chromium; skips the test, and says why, where there is none and none may be installed."""
    found = _found()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, check=False, **quietly)  # type: ignore[call-overload]
        found = _found()
    if found is None:
        pytest.skip("There is no Chromium, and it cannot be installed here; install the package chromium.")
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield opened
        finally:
            opened.close()


def log_in_to_label_studio(page: Page, server: Server) -> None:
    """As its owner."""
    page.goto(f"{server.url}/user/login/")
    page.fill("input[name=email]", OWNER)
    page.fill("input[name=password]", server.password)
    page.click("button[type=submit]")
    page.wait_for_url(lambda url: "/user/login" not in url)


def _found() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)
