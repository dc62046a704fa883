"""An annotator can act as the owner of a project. That is why gold that Label Studio holds is not believed unless
`LS_CROWD_GOLD_SOURCES` says so: if this test fails because Label Studio has closed the way, that default can change."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.recipe import Recipe
from tests.conftest import STUDIO_HOME
from tests.support.sign_up import sign_up
from tests.support.studio import MOOD, make_project, people


@contextmanager
def model_server(received: list[str]) -> Iterator[str]:
    """A model backend of the annotator's own; it keeps the tokens that Label Studio sends it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"status": "UP"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
            received.extend([str(body["access_token"])] if "access_token" in body else [])
            self._answer({"model_version": "mine"})

        def _answer(self, content: dict[str, str]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.soak
def test_an_annotator_gets_the_owners_token_through_a_model_backend(label_studio: Server, tmp_path: Path) -> None:
    assert label_studio.url  # which means that Label Studio is installed
    received: list[str] = []
    settings = {"ML_BLOCK_LOCAL_IP": "false"}  # the annotator's server is on this machine; a public one needs nothing
    with Server(STUDIO_HOME, tmp_path / "data", environment=settings) as server, model_server(received) as url:
        owner = Http(server.url, server.key)
        project = make_project(owner, MOOD, [{people(owner, 1)[0]: {"mood": "good"}}])
        user, annotator = sign_up(server.url, "annotator")
        annotator.post("/api/jwt/settings", {"api_tokens_enabled": True, "legacy_api_tokens_enabled": True})
        annotator.post("/api/ml/", {"url": url, "title": "mine", "project": project.id, "auth_method": "NONE"})
        assert received, "Label Studio sent no token"
        impersonated = Http(server.url, received[-1])
        assert impersonated.get("/api/current-user/whoami")["id"] != user
        body = {"result": project.items({"mood": "bad"}), "ground_truth": True}
        forged = impersonated.post(f"/api/tasks/{project.tasks[0]}/annotations/", body)
        assert forged["updated_by"] == owner.get("/api/current-user/whoami")["id"]
    assert Recipe().gold_sources == {"plugin"}
