"""What tests of pages share: logging in, reading a page, and checking its HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from flask.testing import FlaskClient

from tests.support.service import PASSWORD

WITHOUT_END_TAG = ("meta", "link", "input", "br", "path", "rect")


def csrf_token_in(page: str) -> str:
    """Return the token of the first form of a page."""
    return page.split('name="token" value="')[1].split('"')[0]


def log_in(client: FlaskClient, password: str = PASSWORD) -> int:
    """Log in through the form, and return the status of the response."""
    token = csrf_token_in(client.get("/login").get_data(as_text=True))
    return client.post("/login", data={"token": token, "password": password}).status_code


def read_page(client: FlaskClient, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, path
    return response.get_data(as_text=True)


class HtmlChecker(HTMLParser):
    """Collects what a page links to and what it shows outside <details>; fails on what the content policy forbids and
    on an end tag that does not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open_tags: list[str] = []
        self.addresses: list[str] = []
        self._outside: list[str] = []
        self.feed(page)

    @property
    def text_outside_details(self) -> str:
        return " ".join(self._outside)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attributes if name in ("href", "src", "action")]
        assert not [name for name, _ in attributes if name == "style" or name.startswith("on")], "against the policy"
        if "details" not in self.open_tags:
            self._outside += [str(value) for name, value in attributes if name in ("title", "aria-label")]
        if tag not in WITHOUT_END_TAG:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in WITHOUT_END_TAG:
            assert self.open_tags.pop() == tag

    def handle_data(self, data: str) -> None:
        if "details" not in self.open_tags:
            self._outside.append(data)
