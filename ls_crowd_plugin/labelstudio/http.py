"""Requests to Label Studio that survive its bad moments: tokens, time-outs, retries, and errors as sentences.

Plain requests and not the SDK's client: after a broken connection or a 5xx that one repeats every request, also one
that creates something and may have been carried out, which would leave two predictions where one is meant.
"""

from __future__ import annotations

import base64
import json
import random
import time
import weakref
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests

from ..errors import LabelStudioError, NotAllowed, NotThere, Rejected, Unknown, Unreachable

TRIES = 6
LONGEST_PAUSE = 30.0
LONGEST_ASKED_PAUSE = 120.0  # a longer Retry-After is cut to this
ACCESS_SECONDS = 240.0  # Label Studio's access tokens live 300 s
NO_ADDRESS = (
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidSchema,
)
PASSING = frozenset({429, 500, 502, 503, 504})  # may be gone at the next try


class Http:
    """JSON in, JSON out. Reading, replacing and deleting are repeated as often as needed; creating is not repeated
    once it may have been carried out."""

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
        self._where = _without_password(self.url)
        self._is_refresh_token = _is_jwt(key)
        self._access, self._access_until = "", 0.0
        self._session = requests.Session()
        weakref.finalize(self, self._session.close)
        self._verify = verify  # given with each request: of the session's, the environment would take the place
        self._session.headers["Accept"] = "application/json"
        self._timeout, self._sleep = timeout, sleep
        self._clock_ahead = timedelta(0)  # how far the server's clock is ahead of this machine's

    def server_time(self) -> datetime:
        """The time on the server's clock, which its data carry, to about a second."""
        return datetime.now(timezone.utc) + self._clock_ahead

    def get(self, path: str, **parameters: Any) -> Any:
        return self._ask("GET", path, parameters=parameters)

    def patch(self, path: str, body: Any) -> Any:
        return self._ask("PATCH", path, body=body)

    def delete(self, path: str, body: Any = None, *, seconds: float | None = None) -> Any:
        return self._ask("DELETE", path, body=body, seconds=seconds)

    def post(self, path: str, body: Any, *, repeatable: bool = False, seconds: float | None = None) -> Any:
        """Creates something; raises Unknown if it broke off and is not `repeatable`."""
        return self._ask("POST", path, body=body, repeatable=repeatable, seconds=seconds)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Any = None,
        repeatable: bool = True,
        authorised: bool = True,
        seconds: float | None = None,  # how long an answer may take, where that is longer than usual
    ) -> Any:
        asked, trouble, renewed = f"{method} {path}", "", False
        wait: float | None = None
        for attempt in range(TRIES):
            if attempt:
                self._sleep(_pause(attempt, wait))
            wait = None
            headers = {"Authorization": self._authorization()} if authorised else {}
            self._check_sendable(headers)
            try:
                answer = self._session.request(
                    method,
                    self.url + path,
                    params=parameters,
                    json=body,
                    headers=headers,
                    timeout=(self._timeout[0], max(self._timeout[1], seconds or 0.0)),
                    verify=self._verify,
                    auth=_as_it_is,  # or a password in ~/.netrc would take the token's place
                    allow_redirects=False,  # a change sent elsewhere would become a mere reading
                )
            except requests.exceptions.SSLError:
                raise Unreachable(
                    f"Label Studio at {self._where} has a certificate this machine does not trust; name its authority's"
                    " file in LABEL_STUDIO_CA_BUNDLE."
                ) from None
            except NO_ADDRESS:
                raise Rejected(f"{self._where!r} is no address; use something like http://host:8080.") from None
            except requests.exceptions.RequestException as error:
                trouble = f"the connection failed ({type(error).__name__})"
                if not repeatable and not _never_sent(error):
                    raise Unknown(f"Label Studio broke off {asked}: {trouble}.") from None
                continue
            self._read_clock(answer)
            if answer.status_code == 401 and authorised and self._is_refresh_token and not renewed:
                self._access, renewed = "", True  # ran out on the way, or clocks differ
                continue
            if answer.status_code in PASSING:
                trouble = f"it answered {answer.status_code}"
                wait = _retry_after(answer)
                if not repeatable and answer.status_code != 429:
                    raise Unknown(f"Label Studio broke off {asked}: {trouble}.")
                continue
            if 300 <= answer.status_code < 400:
                raise Rejected(
                    f"Label Studio at {self._where} sends {asked} elsewhere ({answer.status_code}); set"
                    " LABEL_STUDIO_URL to the address it answers at, https or a path included."
                )
            if answer.status_code >= 400:
                raise self._refusal(answer, asked)
            if answer.status_code == 204 or not answer.content:
                return None
            try:
                return answer.json()
            except ValueError:
                trouble = "its answer was cut off or is no JSON"
                if not repeatable:
                    raise Unknown(f"Label Studio broke off {asked}: {trouble}.") from None
        raise Unreachable(f"Label Studio at {self._where} did not answer {asked}: {trouble}; tried {TRIES} times.")

    def _check_sendable(self, headers: Mapping[str, str]) -> None:
        try:
            "".join(headers.values()).encode("latin-1")
        except UnicodeEncodeError:
            raise NotAllowed("LABEL_STUDIO_API_KEY holds characters no key has; copy it again.") from None

    def _read_clock(self, answer: requests.Response) -> None:
        try:
            there = parsedate_to_datetime(answer.headers["Date"])
        except (KeyError, TypeError, ValueError):
            return
        self._clock_ahead = there.astimezone(timezone.utc) - datetime.now(timezone.utc)

    def _authorization(self) -> str:
        if not self._is_refresh_token:
            return f"Token {self._key}"
        if not self._access or time.monotonic() > self._access_until:
            until = time.monotonic() + ACCESS_SECONDS
            try:
                answer = self._ask("POST", "/api/token/refresh/", body={"refresh": self._key}, authorised=False)
            except (NotAllowed, Rejected):
                raise NotAllowed(
                    f"Label Studio at {self._where} does not take the access token in LABEL_STUDIO_API_KEY; make a new"
                    " one under Account & Settings."
                ) from None
            access = answer.get("access") if isinstance(answer, dict) else None
            if not isinstance(access, str) or not access:
                raise Unreachable(f"Label Studio at {self._where} gave no access token for LABEL_STUDIO_API_KEY.")
            self._access, self._access_until = access, until
            self._secrets.add(access)
        return f"Bearer {self._access}"

    def _refusal(self, answer: requests.Response, asked: str) -> LabelStudioError:
        said = self._said(answer)
        if answer.status_code == 401:
            cure = "check LABEL_STUDIO_API_KEY; a legacy token must be switched on in the organisation's settings"
            return NotAllowed(f"Label Studio at {self._where} refused the token for {asked} (401: {said}); {cure}.")
        if answer.status_code == 403:
            return NotAllowed(f"Label Studio at {self._where} does not allow {asked} (403: {said}); use another key.")
        if answer.status_code == 404:
            return NotThere(f"Label Studio at {self._where} has nothing at {asked} (404: {said}).")
        return Rejected(f"Label Studio at {self._where} refused {asked} ({answer.status_code}: {said}).")

    def _said(self, answer: requests.Response) -> str:
        """What the server says of its refusal, short and without any secret."""
        try:
            told = answer.json()
        except ValueError:
            told = answer.reason
        if isinstance(told, dict):
            told = told.get("validation_errors") or told.get("detail") or told
        said = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        for secret in self._secrets:
            said = said.replace(secret, "…")
        return said if len(said) <= 300 else said[:300] + "…"


def _is_jwt(key: str) -> bool:
    """Whether a key is a personal access token (a JSON web token) and not a legacy one."""
    parts = key.split(".")
    if len(parts) != 3:
        return False
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4))), dict)
    except ValueError:
        return False


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _without_password(url: str) -> str:
    """An address fit for a message."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _never_sent(error: requests.exceptions.RequestException) -> bool:
    """Whether the connection failed before a request could have reached the server."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    return any(name in repr(error) for name in ("NewConnectionError", "NameResolutionError"))


def _retry_after(answer: requests.Response) -> float | None:
    """Seconds the server asks to wait, if it says so in either of the two ways there are."""
    asked = answer.headers.get("Retry-After")
    if not asked:
        return None
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 0.0), LONGEST_ASKED_PAUSE) if seconds == seconds else None


def _pause(attempt: int, asked: float | None) -> float:
    """Doubling from half a second, with some randomness so that many clients do not come back at once."""
    return asked if asked is not None else min(0.25 * 2**attempt, LONGEST_PAUSE) * random.uniform(0.75, 1.25)  # noqa: S311
