"""Requests return the JSON of their answers, and refusals become sentences."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.errors import LabelStudioError, NotAllowed, NotFound, Rejected
from ls_crowd_plugin.labelstudio import Http
from tests.support.scripted_server import LEGACY_KEY, Reply, ScriptedServer


class TestAnswers:
    def test_are_returned(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(body={"title": "ünï"})]
        assert http.get("/api/x") == {"title": "ünï"}

    def test_without_content_are_none(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(204)]
        assert http.delete("/api/x") is None

    def test_set_the_server_time(self, server: ScriptedServer, http: Http) -> None:
        server.clock = "Fri, 01 Jan 2100 00:00:00 GMT"
        http.get("/api/x")
        assert http.server_time().year == 2100


class TestAddresses:
    def test_include_parameters(self, server: ScriptedServer, http: Http) -> None:
        http.get("/api/x", page=2, include="id,title")
        assert server.requests[0].path == "/api/x?page=2&include=id%2Ctitle"

    def test_may_end_with_a_slash(self, server: ScriptedServer) -> None:
        Http(server.url + "/", LEGACY_KEY).get("/api/x")
        assert server.requests[0].path == "/api/x"

    @pytest.mark.parametrize("url", ["localhost:8080", "nothing", "ftp://host", "http://"])
    def test_that_are_invalid_are_reported(self, url: str) -> None:
        with pytest.raises(Rejected, match="is not an address"):
            Http(url, LEGACY_KEY, sleep=lambda _: None).get("/api/x")


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "error", "words"),
        [
            (401, NotAllowed, "LABEL_STUDIO_API_KEY"),
            (403, NotAllowed, "use the key of somebody"),
            (404, NotFound, "nothing at /api/x"),
            (400, Rejected, "refused GET /api/x"),
            (409, Rejected, "refused GET /api/x"),
        ],
    )
    def test_are_sentences(
        self, status: int, error: type[LabelStudioError], words: str, server: ScriptedServer, http: Http
    ) -> None:
        server.replies = [Reply(status, {"detail": "because"})]
        with pytest.raises(error, match=rf"{words}.*because|because.*{words}"):
            http.get("/api/x")

    @pytest.mark.parametrize("status", [400, 401, 403, 404])
    def test_are_not_repeated(self, status: int, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(status)]
        with pytest.raises(LabelStudioError):
            http.get("/api/x")
        assert len(server.requests) == 1

    def test_name_the_validation_error(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(400, {"detail": "Validation error", "validation_errors": {"score": ["too big"]}})]
        with pytest.raises(Rejected, match="too big"):
            http.get("/api/x")

    def test_with_a_long_html_page_stay_short(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(404, b"<html>" + b"x" * 10_000)]
        with pytest.raises(NotFound) as caught:
            http.get("/api/x")
        assert len(str(caught.value)) < 500

    def test_with_long_json_stay_short(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(400, {"detail": "x" * 10_000})]
        with pytest.raises(Rejected) as caught:
            http.get("/api/x")
        assert len(str(caught.value)) < 500

    @pytest.mark.parametrize("method", ["patch", "delete", "post"])
    def test_include_redirected_changes(self, method: str, server: ScriptedServer, http: Http) -> None:
        redirect = Reply(302, headers=(("Location", f"{server.url}/elsewhere"),))
        server.replies = [redirect, Reply(body={"id": 1})]
        with pytest.raises(LabelStudioError, match="redirects"):
            getattr(http, method)("/api/x", {})
