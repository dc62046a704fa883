"""Both kinds of key are accepted, access tokens are renewed in time, and no secret appears in a message."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ls_crowd_plugin.errors import LabelStudioError, NotAllowed, NotFound, Rejected, Unreachable
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.labelstudio.retries import MAX_TRIES
from tests.support.scripted_server import LEGACY_KEY, PERSONAL_KEY, Reply, ScriptedServer, web_token


class TestLegacyTokens:
    def test_are_sent_unchanged(self, server: ScriptedServer, http: Http) -> None:
        http.get("/api/x")
        assert [request.authorization for request in server.requests] == [f"Token {LEGACY_KEY}"]

    def test_are_never_exchanged(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(401, {"detail": "Invalid token."})]
        with pytest.raises(NotAllowed):
            http.get("/api/x")
        assert (len(server.requests), server.token_requests) == (1, [])

    def test_may_contain_two_dots(self, server: ScriptedServer) -> None:
        Http(server.url, "a.b.c").get("/api/x")
        assert server.requests[0].authorization == "Token a.b.c"

    def test_are_not_replaced_by_passwords_for_other_programs(
        self, server: ScriptedServer, http: Http, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login somebody password else\n", encoding="utf-8")
        monkeypatch.setenv("NETRC", str(netrc))
        http.get("/api/x")
        assert server.requests[0].authorization == f"Token {LEGACY_KEY}"

    @pytest.mark.parametrize("key", ["pasted…with-dots", "two\nlines"], ids=["not latin", "two lines"])
    def test_that_cannot_be_sent_are_reported(self, key: str, server: ScriptedServer) -> None:
        with pytest.raises(LabelStudioError):
            Http(server.url, key, sleep=lambda _: None).get("/api/x")


class TestPersonalTokens:
    def test_are_exchanged_for_an_access_token(self, server: ScriptedServer, personal: Http) -> None:
        personal.get("/api/x")
        assert (server.token_requests[0].body, server.requests[0].authorization) == (
            {"refresh": PERSONAL_KEY},
            f"Bearer {web_token('access-1')}",
        )

    def test_are_sent_only_to_the_exchange(self, server: ScriptedServer, personal: Http) -> None:
        personal.post("/api/x", {"a": 1})
        assert PERSONAL_KEY not in str(server.requests)

    @pytest.mark.parametrize("status", [400, 401, 403])
    def test_that_are_refused_say_where_to_get_another(
        self, status: int, server: ScriptedServer, personal: Http
    ) -> None:
        server.token_replies = [Reply(status, {"detail": "Token is invalid or expired"})]
        with pytest.raises(NotAllowed, match="Account & Settings"):
            personal.get("/api/x")

    def test_are_exchanged_again_after_a_failure(self, server: ScriptedServer, personal: Http) -> None:
        server.token_replies = [Reply(503), Reply(reset=True)]
        server.replies = [Reply(body={"done": True})]
        assert personal.get("/api/x") == {"done": True}

    def test_leave_a_creation_undone_if_the_exchange_broke_off(self, server: ScriptedServer, personal: Http) -> None:
        server.token_replies = [Reply(reset=True)] * MAX_TRIES
        with pytest.raises(Unreachable):
            personal.post("/api/x", {})

    @pytest.mark.parametrize("body", [{}, [], "access", None], ids=["object", "list", "text", "nothing"])
    def test_that_bring_no_access_token_are_reported(self, body: Any, server: ScriptedServer, personal: Http) -> None:
        server.token_replies = [Reply(body=body)] * MAX_TRIES
        with pytest.raises(LabelStudioError):
            personal.get("/api/x")


class TestAccessTokens:
    def test_are_used_again(self, server: ScriptedServer, personal: Http) -> None:
        for _ in range(3):
            personal.get("/api/x")
        assert len(server.token_requests) == 1

    def test_are_renewed_before_they_expire(
        self, server: ScriptedServer, personal: Http, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        personal.get("/api/x")
        later = time.monotonic() + 290
        monkeypatch.setattr(time, "monotonic", lambda: later)
        personal.get("/api/x")
        assert len(server.token_requests) == 2

    def test_that_are_refused_are_renewed(self, server: ScriptedServer, personal: Http) -> None:
        server.replies = [Reply(401, {"detail": "expired"}), Reply(body={"done": True})]
        assert personal.get("/api/x") == {"done": True}
        assert [request.authorization for request in server.requests] == [
            f"Bearer {web_token('access-1')}",
            f"Bearer {web_token('access-2')}",
        ]

    def test_that_are_refused_are_renewed_for_a_creation_too(self, server: ScriptedServer, personal: Http) -> None:
        server.replies = [Reply(401, {"detail": "expired"}), Reply(201, {"id": 1})]
        assert personal.post("/api/x", {}) == {"id": 1}

    def test_are_renewed_only_once(self, server: ScriptedServer, personal: Http) -> None:
        server.replies = [Reply(401, {"detail": "no"})]
        with pytest.raises(NotAllowed):
            personal.get("/api/x")
        assert (len(server.requests), len(server.token_requests)) == (2, 2)


class TestSecrets:
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 503])
    @pytest.mark.parametrize("key", [LEGACY_KEY, PERSONAL_KEY], ids=["legacy", "personal"])
    def test_that_the_server_repeats_are_removed_from_messages(
        self, key: str, status: int, server: ScriptedServer
    ) -> None:
        newest = web_token("access-2" if status == 401 else "access-1")
        server.replies = [Reply(status, {"detail": f"{key} {newest}"})]
        with pytest.raises(LabelStudioError) as caught:
            Http(server.url, key, sleep=lambda _: None).get("/api/x")
        assert key not in str(caught.value)
        assert key == LEGACY_KEY or newest not in str(caught.value)

    def test_are_not_in_the_message_about_a_refused_exchange(self, server: ScriptedServer, personal: Http) -> None:
        server.token_replies = [Reply(401, {"detail": PERSONAL_KEY})]
        with pytest.raises(NotAllowed) as caught:
            personal.get("/api/x")
        assert PERSONAL_KEY not in str(caught.value)

    def test_include_access_tokens_that_were_replaced(self, server: ScriptedServer, personal: Http) -> None:
        server.replies = [Reply(401), Reply(400, {"detail": web_token("access-1")})]
        with pytest.raises(Rejected) as caught:
            personal.get("/api/x")
        assert "signature-access-1" not in str(caught.value)

    def test_are_in_no_representation(self, http: Http, personal: Http) -> None:
        personal.get("/api/x")
        shown = repr(http) + repr(personal) + str(personal) + repr(LabelStudio(personal))
        assert all(secret not in shown for secret in (LEGACY_KEY, PERSONAL_KEY, web_token("access-1")))

    def test_include_a_password_in_the_address(self, server: ScriptedServer) -> None:
        server.replies = [Reply(404)]
        with pytest.raises(NotFound) as caught:
            Http(server.url.replace("http://", "http://me:hunter2@"), LEGACY_KEY).get("/api/x")
        assert "hunter2" not in str(caught.value)
