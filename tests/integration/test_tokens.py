"""Tokens of both kinds and TLS with a real Label Studio; secrets stay secret."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests
import trustme

from ls_crowd_plugin.demo.server import OWNER, Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.store import Store
from tests.conftest import RunCommand
from tests.support.proxy import ProxiedRequest, Proxy
from tests.support.studio import Project, sync_once

SyncWith = Callable[[trustme.CA, trustme.CA, str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(many_tasks: Project) -> Project:
    return many_tasks


@pytest.fixture(scope="module")
def personal_token(label_studio: Server) -> str:
    """A personal access token, created as a person creates one."""
    session = requests.Session()
    session.get(f"{label_studio.url}/user/login/")
    form = {"email": OWNER, "password": label_studio.password, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    headers = {"Referer": label_studio.url}
    session.post(f"{label_studio.url}/user/login/", data=form, headers=headers).raise_for_status()
    headers["X-CSRFToken"] = session.cookies["csrftoken"]
    return str(session.post(f"{label_studio.url}/api/token/", headers=headers).json()["token"])


class TestTokens:
    def test_of_both_kinds_work(
        self, personal_token: str, project: Project, owner: Http, sqlite_store: Store, label_studio: Server
    ) -> None:
        assert sync_once(Http(label_studio.url, personal_token), sqlite_store, project).written.created == 24
        assert sync_once(owner, sqlite_store, project).plan.is_empty

    @pytest.mark.parametrize(
        ("kind", "fault"),
        [
            ("personal", ""),
            ("legacy", "500"),
            ("personal that is wrong", ""),
            ("legacy that is wrong", ""),
            ("personal", "500"),
        ],
    )
    def test_leak_nowhere(
        self,
        kind: str,
        fault: str,
        personal_token: str,
        project: Project,
        owner: Http,
        proxy: Proxy,
        tmp_path: Path,
    ) -> None:
        """Neither to the terminal, even with --debug, nor to the list of processes, nor into the database."""
        key = personal_token if kind.startswith("personal") else owner._key
        if "wrong" in kind:
            key = key[:-6] + "abc123"
        listed: list[str] = []
        environment = {
            **os.environ,
            "LABEL_STUDIO_URL": proxy.url.replace("//", "//somebody:hunter2-password@"),
            "LABEL_STUDIO_API_KEY": key,
            "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'leak.db'}",
            "PYTHONDEVMODE": "1",
        }
        command = [sys.executable, "-m", "ls_crowd_plugin", "sync", "--debug", str(project.id)]

        def list_processes(_: ProxiedRequest) -> str:
            listed.extend(_command_lines())
            return fault

        proxy.fault = list_processes
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, error = process.communicate()
        assert process.returncode == (1 if fault or "wrong" in kind else 0), error
        secrets = {key, "hunter2-password"} | {
            request.authorization.split()[1] for request in proxy.requests if request.authorization
        }
        assert listed
        files = [path.read_bytes() for path in tmp_path.iterdir()]
        for secret in secrets:
            for place in (out, error, *files, *(line.encode() for line in listed)):
                assert secret.encode() not in place
        proxy.fault = lambda _: ""


def _command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            yield path.read_text(encoding="utf-8", errors="replace")


class TestTls:
    """Label Studio behind a proxy with a certificate of a private authority."""

    @pytest.fixture
    def sync_with(self, project: Project, label_studio: Server, run_command: RunCommand, tmp_path: Path) -> SyncWith:
        def run(signed_by: trustme.CA, trusted: trustme.CA, host: str) -> subprocess.CompletedProcess[str]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            signed_by.issue_cert(host).configure_cert(context)
            trusted.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
            with Proxy(label_studio.url, tls=context).running() as proxy:
                return run_command(
                    "sync",
                    str(project.id),
                    LABEL_STUDIO_URL=proxy.url,
                    LABEL_STUDIO_API_KEY=label_studio.key,
                    LABEL_STUDIO_CA_BUNDLE=str(tmp_path / "ca.pem"),
                    LS_CROWD_DATABASE_URL=f"sqlite:///{tmp_path / 'tls.db'}",
                )

        return run

    def test_with_the_named_authority_works(self, sync_with: SyncWith) -> None:
        authority = trustme.CA()
        done = sync_with(authority, authority, "127.0.0.1")
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize("wrong", ["authority", "host"])
    def test_with_a_certificate_that_is_not_trusted_is_refused_in_a_sentence(
        self, wrong: str, sync_with: SyncWith
    ) -> None:
        authority = trustme.CA()
        trusted = trustme.CA() if wrong == "authority" else authority
        done = sync_with(authority, trusted, "elsewhere.example" if wrong == "host" else "127.0.0.1")
        assert done.returncode == 1
        assert re.search(r"certificate this machine does not trust; .*LABEL_STUDIO_CA_BUNDLE", done.stderr)
