"""Requests survive a server that fails on demand, are not repeated where that could do harm, and keep their secrets."""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ls_crowd_plugin.errors import LabelStudioError, NotAllowed, NotThere, Rejected, Unknown, Unreachable
from ls_crowd_plugin.labelstudio import Http, LabelStudio, client
from ls_crowd_plugin.labelstudio.http import LONGEST_ASKED_PAUSE, TRIES

LEGACY = "0123456789abcdef-legacy-key"


def token(kind: str) -> str:
    """Something in the form of a JSON web token."""
    parts = (json.dumps(each).encode() for each in ({"alg": "HS256"}, {"kind": kind}))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), f"signature-{kind}"])


PERSONAL = token("refresh")


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    body: Any = field(default_factory=dict)  # JSON, or bytes as they are
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False  # promise more bytes than are sent
    reset: bool = False  # read the request, then drop the connection
    late: threading.Event | None = None  # answer only after this


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    authorization: str
    body: Any


class Server(ThreadingHTTPServer):
    """Answers from a list of replies, the last one again and again, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[Reply] = [Reply()]
        self.refreshes: list[Reply] = []  # for the token's address; empty hands out access tokens
        self.clock = ""  # empty is the right time
        self.asked: list[Request] = []
        self.refreshed: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply_to(self, request: Request) -> Reply:
        if request.path == "/api/token/refresh/":
            self.refreshed.append(request)
            if self.refreshes:
                return self.refreshes.pop(0)
            return Reply(body={"access": token(f"access-{len(self.refreshed)}")})
        self.asked.append(request)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        request = Request(
            self.command, self.path, self.headers.get("Authorization", ""), json.loads(sent) if sent else None
        )
        reply = self.server.reply_to(request)
        if reply.late is not None:
            reply.late.wait(10)
        if reply.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        body = b"" if reply.status == 204 else body
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + (50 if reply.cut else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = reply.cut

    do_GET = do_POST = do_PATCH = do_DELETE = serve  # noqa: N815  the names http.server looks for

    def date_time_string(self, timestamp: float | None = None) -> str:
        return self.server.clock or super().date_time_string(timestamp)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def http(server: Server, pauses: list[float]) -> Http:
    return Http(server.url, LEGACY, sleep=pauses.append)


@pytest.fixture
def personal(server: Server, pauses: list[float]) -> Http:
    return Http(server.url, PERSONAL, sleep=pauses.append)


GONE = Reply(reset=True)
TROUBLES = {
    "500": Reply(500),
    "502": Reply(502, b"<html>bad gateway</html>"),
    "503": Reply(503),
    "504": Reply(504),
    "reset": GONE,
    "truncated": Reply(body=b'{"id": 1', cut=True),
    "half a JSON": Reply(body=b'{"id": '),
    "no JSON": Reply(body=b"<html>log in</html>"),
}
each_trouble = pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)


class TestReading:
    def test_gives_the_answer(self, server: Server, http: Http) -> None:
        server.replies = [Reply(body={"title": "ünï"})]
        assert http.get("/api/x") == {"title": "ünï"}

    def test_sends_parameters(self, server: Server, http: Http) -> None:
        http.get("/api/x", page=2, include="id,title")
        assert server.asked[0].path == "/api/x?page=2&include=id%2Ctitle"

    def test_of_an_answer_without_content_gives_nothing(self, server: Server, http: Http) -> None:
        server.replies = [Reply(204)]
        assert http.delete("/api/x") is None

    def test_a_slash_at_the_end_of_the_address_does_not_matter(self, server: Server) -> None:
        Http(server.url + "/", LEGACY).get("/api/x")
        assert server.asked[0].path == "/api/x"

    def test_server_time_follows_the_servers_clock(self, server: Server, http: Http) -> None:
        server.clock = "Fri, 01 Jan 2100 00:00:00 GMT"
        http.get("/api/x")
        assert http.server_time().year == 2100


class TestRepeating:
    @each_trouble
    def test_a_reading_outlives_trouble(self, trouble: Reply, server: Server, http: Http) -> None:
        server.replies = [trouble, trouble, Reply(body={"done": True})]
        assert http.get("/api/x") == {"done": True}

    @each_trouble
    def test_a_change_outlives_trouble(self, trouble: Reply, server: Server, http: Http) -> None:
        server.replies = [trouble, Reply(body={"done": True})]
        assert http.patch("/api/x", {"a": 1}) == {"done": True}

    @each_trouble
    def test_ends_with_one_sentence(self, trouble: Reply, server: Server, http: Http) -> None:
        server.replies = [trouble]
        with pytest.raises(Unreachable, match=rf"did not answer GET /api/x: .*; tried {TRIES} times\.$"):
            http.get("/api/x")

    def test_ends_after_so_many_tries(self, server: Server, http: Http) -> None:
        server.replies = [Reply(503)]
        with pytest.raises(Unreachable):
            http.get("/api/x")
        assert len(server.asked) == TRIES

    def test_sends_the_same_body_again(self, server: Server, http: Http) -> None:
        server.replies = [Reply(503), Reply()]
        http.patch("/api/x", {"a": 1})
        assert [request.body for request in server.asked] == [{"a": 1}, {"a": 1}]

    def test_waits_longer_from_try_to_try(self, server: Server, http: Http, pauses: list[float]) -> None:
        server.replies = [Reply(503)]
        with pytest.raises(Unreachable):
            http.get("/api/x")
        assert len(pauses) == TRIES - 1
        assert pauses == sorted(pauses)

    def test_does_not_wait_if_nothing_is_wrong(self, http: Http, pauses: list[float]) -> None:
        http.get("/api/x")
        assert pauses == []

    @pytest.mark.parametrize("status", [429, 503])
    def test_waits_as_many_seconds_as_the_server_asks(
        self, status: int, server: Server, http: Http, pauses: list[float]
    ) -> None:
        server.replies = [Reply(status, headers=(("Retry-After", "7"),)), Reply()]
        http.get("/api/x")
        assert pauses == [7.0]

    def test_waits_until_the_time_the_server_asks(self, server: Server, http: Http, pauses: list[float]) -> None:
        until = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=40), usegmt=True)
        server.replies = [Reply(429, headers=(("Retry-After", until),)), Reply()]
        http.get("/api/x")
        assert 30 < pauses[0] <= 40

    def test_a_time_that_has_passed_is_not_waited_for(self, server: Server, http: Http, pauses: list[float]) -> None:
        server.replies = [Reply(429, headers=(("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"),)), Reply()]
        http.get("/api/x")
        assert pauses == [0.0]

    @pytest.mark.parametrize("asked", ["86400", "inf"])
    def test_does_not_wait_for_a_day(self, asked: str, server: Server, http: Http, pauses: list[float]) -> None:
        server.replies = [Reply(429, headers=(("Retry-After", asked),)), Reply()]
        http.get("/api/x")
        assert pauses[0] <= LONGEST_ASKED_PAUSE

    @pytest.mark.parametrize("asked", ["soon", "nan", ""])
    def test_what_says_no_time_is_waited_for_as_usual(
        self, asked: str, server: Server, http: Http, pauses: list[float]
    ) -> None:
        server.replies = [Reply(429, headers=(("Retry-After", asked),)), Reply()]
        http.get("/api/x")
        assert 0.0 < pauses[0] < 1.0

    def test_an_answer_that_comes_too_late_is_asked_for_again(self, server: Server) -> None:
        late = threading.Event()
        server.replies = [Reply(late=late), Reply(body={"done": True})]
        impatient = Http(server.url, LEGACY, timeout=(5.0, 0.2), sleep=lambda _: None)
        assert impatient.get("/api/x") == {"done": True}
        late.set()

    def test_a_server_that_is_not_there_is_named(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(Unreachable, match=url):
                Http(url, LEGACY, sleep=lambda _: None).get("/api/x")


class TestCreating:
    @each_trouble
    def test_is_not_repeated_once_it_may_have_been_done(self, trouble: Reply, server: Server, http: Http) -> None:
        server.replies = [trouble, Reply(201, {"id": 1})]
        with pytest.raises(Unknown, match="broke off POST /api/x"):
            http.post("/api/x", {})
        assert len(server.asked) == 1

    def test_is_not_repeated_after_a_time_out(self, server: Server) -> None:
        late = threading.Event()
        server.replies = [Reply(late=late), Reply()]
        with pytest.raises(Unknown):
            Http(server.url, LEGACY, timeout=(5.0, 0.2), sleep=lambda _: None).post("/api/x", {})
        late.set()
        assert len(server.asked) == 1

    def test_is_repeated_if_the_server_was_too_busy_to_begin(self, server: Server, http: Http) -> None:
        server.replies = [Reply(429), Reply(429), Reply(201, {"id": 1})]
        assert http.post("/api/x", {}) == {"id": 1}

    @each_trouble
    def test_is_repeated_where_that_does_no_harm(self, trouble: Reply, server: Server, http: Http) -> None:
        server.replies = [trouble, Reply(201, {"id": 1})]
        assert http.post("/api/x", {}, repeatable=True) == {"id": 1}

    def test_is_repeated_if_nobody_was_there_to_hear_it(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            with pytest.raises(Unreachable):
                Http(f"http://127.0.0.1:{taken.getsockname()[1]}", LEGACY, sleep=lambda _: None).post("/api/x", {})

    def test_is_repeated_if_the_servers_name_was_not_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*_: object, **__: object) -> None:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        with pytest.raises(Unreachable):
            Http("http://label-studio.example", LEGACY, sleep=lambda _: None).post("/api/x", {})

    @pytest.mark.parametrize("method", ["patch", "delete", "post"])
    def test_or_changing_that_was_sent_elsewhere_is_not_taken_for_done(
        self, method: str, server: Server, http: Http
    ) -> None:
        elsewhere = Reply(302, headers=(("Location", f"{server.url}/elsewhere"),))
        server.replies = [elsewhere, Reply(body={"id": 1})]
        ask: Callable[[str, Any], Any] = getattr(http, method)
        with pytest.raises(LabelStudioError):
            ask("/api/x", {})


class TestTokens:
    def test_a_legacy_one_is_sent_as_it_is(self, server: Server, http: Http) -> None:
        http.get("/api/x")
        assert [request.authorization for request in server.asked] == [f"Token {LEGACY}"]

    def test_a_legacy_one_is_never_refreshed(self, server: Server, http: Http) -> None:
        server.replies = [Reply(401, {"detail": "Invalid token."})]
        with pytest.raises(NotAllowed):
            http.get("/api/x")
        assert (len(server.asked), server.refreshed) == (1, [])

    def test_a_key_with_two_dots_that_is_no_web_token_is_a_legacy_one(self, server: Server) -> None:
        Http(server.url, "a.b.c").get("/api/x")
        assert server.asked[0].authorization == "Token a.b.c"

    def test_a_personal_one_is_exchanged_for_an_access_token(self, server: Server, personal: Http) -> None:
        personal.get("/api/x")
        assert (server.refreshed[0].body, server.asked[0].authorization) == (
            {"refresh": PERSONAL},
            f"Bearer {token('access-1')}",
        )

    def test_a_personal_one_is_sent_to_nothing_but_the_exchange(self, server: Server, personal: Http) -> None:
        personal.post("/api/x", {"a": 1})
        assert PERSONAL not in str(server.asked)

    def test_an_access_token_is_used_again(self, server: Server, personal: Http) -> None:
        for _ in range(3):
            personal.get("/api/x")
        assert len(server.refreshed) == 1

    def test_an_access_token_is_renewed_before_it_runs_out(
        self, server: Server, personal: Http, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        personal.get("/api/x")
        later = time.monotonic() + 290
        monkeypatch.setattr(time, "monotonic", lambda: later)
        personal.get("/api/x")
        assert len(server.refreshed) == 2

    def test_an_access_token_that_is_refused_is_renewed(self, server: Server, personal: Http) -> None:
        server.replies = [Reply(401, {"detail": "expired"}), Reply(body={"done": True})]
        assert personal.get("/api/x") == {"done": True}
        assert [request.authorization for request in server.asked] == [
            f"Bearer {token('access-1')}",
            f"Bearer {token('access-2')}",
        ]

    def test_a_creation_refused_for_its_token_is_sent_again(self, server: Server, personal: Http) -> None:
        server.replies = [Reply(401, {"detail": "expired"}), Reply(201, {"id": 1})]
        assert personal.post("/api/x", {}) == {"id": 1}

    def test_an_access_token_is_renewed_only_once(self, server: Server, personal: Http) -> None:
        server.replies = [Reply(401, {"detail": "no"})]
        with pytest.raises(NotAllowed):
            personal.get("/api/x")
        assert (len(server.asked), len(server.refreshed)) == (2, 2)

    @pytest.mark.parametrize("status", [400, 401, 403])
    def test_a_personal_one_that_is_not_taken_says_where_to_get_another(
        self, status: int, server: Server, personal: Http
    ) -> None:
        server.refreshes = [Reply(status, {"detail": "Token is invalid or expired"})]
        with pytest.raises(NotAllowed, match="Account & Settings"):
            personal.get("/api/x")

    def test_the_exchange_outlives_trouble(self, server: Server, personal: Http) -> None:
        server.refreshes = [Reply(503), GONE]
        server.replies = [Reply(body={"done": True})]
        assert personal.get("/api/x") == {"done": True}

    def test_a_creation_is_not_unknown_if_only_the_exchange_broke_off(self, server: Server, personal: Http) -> None:
        server.refreshes = [GONE] * TRIES
        with pytest.raises(Unreachable):
            personal.post("/api/x", {})

    @pytest.mark.parametrize("body", [{}, [], "access", None], ids=["object", "list", "text", "nothing"])
    def test_an_exchange_without_access_token_is_an_error_in_words(
        self, body: Any, server: Server, personal: Http
    ) -> None:
        server.refreshes = [Reply(body=body)] * TRIES
        with pytest.raises(LabelStudioError):
            personal.get("/api/x")

    def test_passwords_kept_for_other_programs_do_not_take_their_place(
        self, server: Server, http: Http, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login somebody password else\n", encoding="utf-8")
        monkeypatch.setenv("NETRC", str(netrc))
        http.get("/api/x")
        assert server.asked[0].authorization == f"Token {LEGACY}"

    @pytest.mark.parametrize("key", ["pasted…with-dots", "two\nlines"], ids=["not latin", "two lines"])
    def test_a_key_that_cannot_be_sent_is_an_error_in_words(self, key: str, server: Server) -> None:
        with pytest.raises(LabelStudioError):
            Http(server.url, key, sleep=lambda _: None).get("/api/x")


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "error", "words"),
        [
            (401, NotAllowed, "LABEL_STUDIO_API_KEY"),
            (403, NotAllowed, "use another"),
            (404, NotThere, "nothing at GET /api/x"),
            (400, Rejected, "refused GET /api/x"),
            (409, Rejected, "refused GET /api/x"),
        ],
    )
    def test_are_sentences(
        self, status: int, error: type[LabelStudioError], words: str, server: Server, http: Http
    ) -> None:
        server.replies = [Reply(status, {"detail": "because"})]
        with pytest.raises(error, match=rf"{words}.*because|because.*{words}"):
            http.get("/api/x")

    @pytest.mark.parametrize("status", [400, 401, 403, 404])
    def test_are_not_asked_again(self, status: int, server: Server, http: Http) -> None:
        server.replies = [Reply(status)]
        with pytest.raises(LabelStudioError):
            http.get("/api/x")
        assert len(server.asked) == 1

    def test_tell_what_is_wrong_with_the_request(self, server: Server, http: Http) -> None:
        server.replies = [Reply(400, {"detail": "Validation error", "validation_errors": {"score": ["too big"]}})]
        with pytest.raises(Rejected, match="too big"):
            http.get("/api/x")

    def test_of_pages_of_html_are_still_short(self, server: Server, http: Http) -> None:
        server.replies = [Reply(404, b"<html>" + b"x" * 10_000)]
        with pytest.raises(NotThere) as caught:
            http.get("/api/x")
        assert len(str(caught.value)) < 500

    def test_of_much_json_are_still_short(self, server: Server, http: Http) -> None:
        server.replies = [Reply(400, {"detail": "x" * 10_000})]
        with pytest.raises(Rejected) as caught:
            http.get("/api/x")
        assert len(str(caught.value)) < 500

    @pytest.mark.parametrize("url", ["localhost:8080", "nothing", "ftp://host", "http://"])
    def test_of_an_address_that_is_none_say_so(self, url: str) -> None:
        with pytest.raises(Rejected, match="is no address"):
            Http(url, LEGACY, sleep=lambda _: None).get("/api/x")


class TestSecrets:
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 503])
    @pytest.mark.parametrize("key", [LEGACY, PERSONAL], ids=["legacy", "personal"])
    def test_a_server_that_repeats_them_does_not_bring_them_into_a_message(
        self, key: str, status: int, server: Server
    ) -> None:
        newest = token("access-2" if status == 401 else "access-1")
        server.replies = [Reply(status, {"detail": f"{key} {newest}"})]
        with pytest.raises(LabelStudioError) as caught:
            Http(server.url, key, sleep=lambda _: None).get("/api/x")
        assert key not in str(caught.value)
        assert key == LEGACY or newest not in str(caught.value)

    def test_a_refused_exchange_does_not_bring_them_into_a_message(self, server: Server, personal: Http) -> None:
        server.refreshes = [Reply(401, {"detail": PERSONAL})]
        with pytest.raises(NotAllowed) as caught:
            personal.get("/api/x")
        assert PERSONAL not in str(caught.value)

    def test_an_access_token_that_was_replaced_is_still_secret(self, server: Server, personal: Http) -> None:
        server.replies = [Reply(401), Reply(400, {"detail": token("access-1")})]
        with pytest.raises(Rejected) as caught:
            personal.get("/api/x")
        assert "signature-access-1" not in str(caught.value)

    def test_are_in_no_representation(self, http: Http, personal: Http) -> None:
        personal.get("/api/x")
        shown = repr(http) + repr(personal) + str(personal) + repr(LabelStudio(personal))
        assert all(secret not in shown for secret in (LEGACY, PERSONAL, token("access-1")))

    def test_a_password_in_the_address_is_in_no_message(self, server: Server) -> None:
        server.replies = [Reply(404)]
        with pytest.raises(NotThere) as caught:
            Http(server.url.replace("http://", "http://me:hunter2@"), LEGACY).get("/api/x")
        assert "hunter2" not in str(caught.value)


class TestTaskPages:
    """The list of tasks comes in pages, and a page past the end is an error of the server's."""

    @pytest.fixture(autouse=True)
    def small_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(client, "PAGE", 2)

    def test_are_read_to_the_end_and_not_past_it(self, server: Server, http: Http) -> None:
        pages = [[1, 2], [3, 4]]
        server.replies = [Reply(body={"total": 4, "tasks": [{"id": task} for task in page]}) for page in pages]
        server.replies.append(Reply(404))
        assert LabelStudio(http).task_ids(7) == {1, 2, 3, 4}

    def test_of_no_tasks_are_one_request(self, server: Server, http: Http) -> None:
        server.replies = [Reply(body={"total": 0, "tasks": []})]
        assert list(LabelStudio(http).task_pages(7)) == [[]]
        assert len(server.asked) == 1

    def test_tell_how_far_they_are(self, server: Server, http: Http) -> None:
        pages = [[1, 2], [3]]
        server.replies = [Reply(body={"total": 3, "tasks": [{"id": task} for task in page]}) for page in pages]
        told: list[tuple[int, int]] = []
        list(LabelStudio(http).task_pages(7, told=lambda done, total: told.append((done, total))))
        assert told == [(2, 3), (3, 3)]

    def test_are_read_from_the_start_if_the_last_one_goes_meanwhile(self, server: Server, http: Http) -> None:
        """A task of the first page went, so what was on the last page is on the first now."""
        before, after = ({"total": 3, "tasks": [{"id": 1}, {"id": 2}]}, {"total": 2, "tasks": [{"id": 2}, {"id": 3}]})
        server.replies = [Reply(body=before), Reply(404), Reply(body=after)]
        assert LabelStudio(http).task_ids(7) == {1, 2, 3}

    def test_that_never_end_well_are_an_error(self, server: Server, http: Http) -> None:
        page = Reply(body={"total": 3, "tasks": [{"id": 1}, {"id": 2}]})
        server.replies = [page, Reply(404)] * 20
        with pytest.raises(NotThere):
            LabelStudio(http).task_ids(7)

    def test_ask_only_for_what_changed(self, server: Server, http: Http) -> None:
        server.replies = [Reply(body={"total": 0, "tasks": []})]
        list(LabelStudio(http).task_pages(7, since="2026-01-01T00:00:00.000000Z"))
        assert "updated_at" in server.asked[0].path.split("query=")[1]


def test_model_versions_are_counted_in_both_forms_of_the_answer(server: Server, http: Http) -> None:
    counted = [{"model_version": "crowd-consensus", "count": 3}]
    server.replies = [Reply(body={"static": counted, "live": []}), Reply(body=counted)]
    studio = LabelStudio(http)
    assert [studio.versions(7), studio.versions(7)] == [{"crowd-consensus": 3}] * 2


def test_a_label_studio_that_lacks_something_is_named_with_its_version(server: Server, http: Http) -> None:
    server.replies = [Reply(404), Reply(body={"release": "1.4.0"})]
    with pytest.raises(Rejected, match=r"This Label Studio \(1\.4\.0\) cannot count .*; update it"):
        LabelStudio(http).versions(7)


def test_a_label_studio_with_another_list_of_tasks_is_named(server: Server, http: Http) -> None:
    server.replies = [Reply(body=[{"id": 1}]), Reply(404)]
    with pytest.raises(Rejected, match=r"This Label Studio \(of unknown version\) cannot list tasks"):
        LabelStudio(http).task_ids(7)
