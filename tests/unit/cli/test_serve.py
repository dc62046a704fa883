"""What `ls-crowd serve` gives the application: no password in an address is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ls_crowd_plugin.cli.serve import _app_context
from ls_crowd_plugin.settings import read_settings
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.web import create_app
from tests.support.known_crowd import PROJECT, store_crowd
from tests.support.pages import log_in, read_page
from tests.support.service import PASSWORD

HIDDEN = "hunter2"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: nothing here depends on the database."""
    return f"sqlite:///{tmp_path / 'crowd.db'}"


def test_addresses_have_no_password(store: Store) -> None:
    settings = read_settings(
        {
            "LABEL_STUDIO_URL": f"http://me:{HIDDEN}@studio.example:8080/",
            "LABEL_STUDIO_API_KEY": "key",
            "LS_CROWD_PUBLIC_URL": f"https://me:{HIDDEN}@crowd.example",
            "LS_CROWD_PASSWORD": PASSWORD,
            "LS_CROWD_WEBHOOK_SECRET": "secret",
        }
    )
    context = _app_context(settings, store)
    assert (context.studio_url, context.public_url) == ("http://studio.example:8080", "https://crowd.example")
    assert HIDDEN not in repr(settings)
    page = create_app(context).test_client().post("/login").get_data(as_text=True)
    assert "open https://crowd.example instead" in page


@pytest.mark.slow
@pytest.mark.parametrize("path", ["", "/task/1"])
def test_pages_link_to_label_studio_without_its_password(store: Store, path: str) -> None:
    address = f"http://me:{HIDDEN}@studio.example"
    environment = {"LABEL_STUDIO_URL": address, "LABEL_STUDIO_API_KEY": "key", "LS_CROWD_PASSWORD": PASSWORD}
    store_crowd(store)
    client = create_app(_app_context(read_settings(environment), store)).test_client()
    log_in(client)
    page = read_page(client, f"/project/{PROJECT}{path}")
    assert f'href="http://studio.example/projects/{PROJECT}/data' in page
    assert HIDDEN not in page
