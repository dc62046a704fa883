"""Requests to Label Studio that survive its bad moments: tokens, time-outs, retries, and errors as sentences.

This uses plain requests and not the SDK's client, because that repeats every request after a broken connection or a
5xx, even one that creates something and may have been carried out: two predictions would be left instead of one.
"""

from __future__ import annotations

import base64
import json
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests

from ..errors import BrokenAnswer, Interrupted, LabelStudioError, NotAllowed, NotFound, Rejected, Unreachable
from ..records import address_shown
from .connections import QuickAdapter
from .lenient_json import Parsed, parse
from .retries import MAX_TRIES, TRANSIENT_STATUSES, backoff, never_sent, retry_after

MAX_MESSAGE = 300  # characters of the server's own words in an error
ACCESS_TOKEN_SECONDS = 240.0  # Label Studio's access tokens live 300 s
BAD_ADDRESS_ERRORS = (
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidSchema,
)

Answer = Parsed


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    parameters: Mapping[str, str | int] = field(default_factory=dict)
    body: object = None
    repeatable: bool = True  # whether carrying it out twice does no harm
    authorised: bool = True  # whether it carries a token
    seconds: float = 0.0  # how long the answer may take, if that is longer than the time-out
    tries: int = MAX_TRIES

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


class _TransientError(Exception):
    """A try failed, and the next one may succeed."""

    def __init__(self, reason: str, *, may_be_done: bool = True, pause: float | None = None, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status  # of the answer, if there was one
        self.may_be_done = may_be_done  # whether the server may have carried the request out
        self.pause = pause  # seconds the server asks to wait


class Http:
    """JSON in, JSON out.

    Requests that read, replace or delete are repeated as often as needed; a request that creates something is not
    repeated once it may have been carried out.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        verify: bool | str = True,
        timeout: tuple[float, float] = (10.0, 300.0),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._key = key
        self._secrets = {secret for secret in (key, urlsplit(self.url).password) if secret}
        self._where = address_shown(self.url)
        self._is_refresh_token = _is_jwt(key)
        self._access_token, self._access_until = "", 0.0
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, QuickAdapter())
        weakref.finalize(self, self._session.close)
        self._session.headers["Accept"] = "application/json"
        self._verify = verify  # passed with each request: the environment would override the session's setting
        self._timeout, self._sleep = timeout, sleep
        self._clock_ahead = timedelta(0)  # how far the server's clock is ahead of this machine's

    def server_time(self) -> datetime:
        """Return the time on the server's clock, which stamps its data, to about a second."""
        return datetime.now(timezone.utc) + self._clock_ahead

    def get(self, path: str, *, tries: int = MAX_TRIES, **parameters: str | int) -> Answer:
        return self._ask(_Request("GET", path, parameters, tries=tries))

    def patch(self, path: str, body: object) -> Answer:
        return self._ask(_Request("PATCH", path, body=body))

    def delete(self, path: str, body: object = None, *, seconds: float = 0.0) -> Answer:
        return self._ask(_Request("DELETE", path, body=body, seconds=seconds))

    def post(self, path: str, body: object, *, repeatable: bool = False, seconds: float = 0.0) -> Answer:
        """Create something; raise Interrupted if the request broke off and is not `repeatable`."""
        return self._ask(_Request("POST", path, body=body, repeatable=repeatable, seconds=seconds))

    def _ask(self, request: _Request) -> Answer:
        """Send a request until it is answered, and return what the answer contains."""
        may_renew_token = request.authorised and self._is_refresh_token
        failure = _TransientError("")
        for attempt in range(request.tries):
            if attempt:
                self._sleep(backoff(attempt) if failure.pause is None else failure.pause)
            try:
                response = self._send(request)
                if response.status_code == 401 and may_renew_token:
                    self._access_token, may_renew_token = "", False
                    raise _TransientError("its access token expired", may_be_done=False)  # or the clocks differ
                return self._content(request, response)
            except _TransientError as error:
                failure = error
                if failure.may_be_done and not request.repeatable:
                    raise Interrupted(f"{request.name} to Label Studio broke off: {failure}.") from None
        kind = BrokenAnswer if failure.status == 500 else Unreachable
        raise kind(
            f"Label Studio at {self._where} failed to answer {request.name} in {request.tries} tries: {failure}."
        )

    def _send(self, request: _Request) -> requests.Response:
        """Send a request once."""
        headers = {"Authorization": self._authorization()} if request.authorised else {}
        _check_sendable(headers)
        try:
            response = self._session.request(
                request.method,
                self.url + request.path,
                params=request.parameters,
                json=request.body,
                headers=headers,
                timeout=(self._timeout[0], max(self._timeout[1], request.seconds)),
                verify=self._verify,
                auth=_unchanged,  # otherwise a password in ~/.netrc would replace the token
                allow_redirects=False,  # a redirected change would become a mere GET
            )
        except requests.exceptions.SSLError:
            raise Unreachable(
                f"Label Studio at {self._where} has a certificate this machine does not trust; set"
                " LABEL_STUDIO_CA_BUNDLE to the file of its certificate authority."
            ) from None
        except BAD_ADDRESS_ERRORS:
            raise Rejected(f"{self._where!r} is not an address; use something like http://host:8080.") from None
        except requests.exceptions.RequestException as error:
            reason = f"the connection failed ({type(error).__name__})"
            raise _TransientError(reason, may_be_done=not never_sent(error)) from None
        self._read_clock(response)
        return response

    def _content(self, request: _Request, response: requests.Response) -> Answer:
        """Return the JSON of an answer; raise the error that its status means."""
        status = response.status_code
        if status in TRANSIENT_STATUSES:
            # With 429 the server was too busy to begin.
            pause = retry_after(response)
            raise _TransientError(f"it answered {status}", may_be_done=status != 429, pause=pause, status=status)
        if 300 <= status < 400:
            raise Rejected(
                f"Label Studio at {self._where} redirects {request.name} ({status}); set LABEL_STUDIO_URL to the"
                " address where it really is, with https and a path if it has one."
            )
        if status >= 400:
            raise self._refusal(request, response)
        if status == 204 or not response.content:
            return None
        try:
            return parse(response.content)
        except ValueError:
            raise _TransientError("its answer was cut off or is not JSON") from None

    def _refusal(self, request: _Request, response: requests.Response) -> LabelStudioError:
        """Return the error about a request that was refused for good."""
        where, status, message = f"Label Studio at {self._where}", response.status_code, self._message(response)
        if status == 401:
            cure = "check LABEL_STUDIO_API_KEY, and for a legacy token that the organisation's settings allow those"
            return NotAllowed(f"{where} refused the token for {request.name} (401: {message}); {cure}.")
        if status == 403:
            return NotAllowed(
                f"{where} does not allow {request.name} (403: {message}); use the key of somebody who may do this."
            )
        if status == 404:
            return NotFound(f"{where} has nothing at {request.path} (404: {message}).")
        return Rejected(f"{where} refused {request.name} ({status}: {message}).")

    def _message(self, response: requests.Response) -> str:
        """Return the server's own words about a refusal, short and without secrets."""
        try:
            content = parse(response.content)
        except ValueError:
            content = response.reason
        if isinstance(content, dict):
            content = content.get("validation_errors") or content.get("detail") or content
        message = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        for secret in self._secrets:
            message = message.replace(secret, "…")
        return message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "…"

    def _authorization(self) -> str:
        """Return the Authorization header; a personal access token is exchanged for one that lives shortly."""
        if not self._is_refresh_token:
            return f"Token {self._key}"
        if not self._access_token or time.monotonic() > self._access_until:
            until = time.monotonic() + ACCESS_TOKEN_SECONDS
            self._access_token, self._access_until = self._new_access_token(), until
            self._secrets.add(self._access_token)
        return f"Bearer {self._access_token}"

    def _new_access_token(self) -> str:
        try:
            body = {"refresh": self._key}
            answer = self._ask(_Request("POST", "/api/token/refresh/", body=body, authorised=False))
        except (NotAllowed, Rejected):
            raise NotAllowed(
                f"Label Studio at {self._where} does not accept the access token in LABEL_STUDIO_API_KEY; create a new"
                " one under Account & Settings."
            ) from None
        token = answer.get("access") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token:
            raise Unreachable(f"Label Studio at {self._where} gave no access token for LABEL_STUDIO_API_KEY.")
        return token

    def _read_clock(self, response: requests.Response) -> None:
        try:
            server_time = parsedate_to_datetime(response.headers["Date"])
        except (KeyError, TypeError, ValueError):
            return
        self._clock_ahead = server_time.astimezone(timezone.utc) - datetime.now(timezone.utc)


def _is_jwt(key: str) -> bool:
    """Whether a key is a personal access token (a JSON web token) and not a legacy one."""
    parts = key.split(".")
    if len(parts) != 3:
        return False
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4))), dict)
    except ValueError:
        return False


def _check_sendable(headers: Mapping[str, str]) -> None:
    try:
        "".join(headers.values()).encode("latin-1")
    except UnicodeEncodeError:
        raise NotAllowed("LABEL_STUDIO_API_KEY contains characters that no key has; copy it again.") from None


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
