"""`ls-crowd password --reset`: a new password counts, the old one does not, and everybody has to log in again."""

from __future__ import annotations

from pathlib import Path

import pytest
from werkzeug.security import check_password_hash

from ls_crowd_plugin.cli import main
from ls_crowd_plugin.cli.serve import NAME_OF_HASH
from ls_crowd_plugin.store import open_store
from ls_crowd_plugin.store.secrets import get_secret


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'crowd.db'}"
    monkeypatch.setenv("LS_CROWD_DATABASE_URL", url)
    return url


def stored(url: str) -> str | None:
    with open_store(url) as store, store.data.connect() as connection:
        return get_secret(connection, NAME_OF_HASH)


def test_a_reset_makes_a_new_password_each_time(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    passwords = []
    for _ in range(2):
        assert main(["password", "--reset"]) == 0
        passwords.append(capsys.readouterr().out.splitlines()[0].rpartition(" ")[2])
    old, new = passwords
    kept = str(stored(url))
    assert (check_password_hash(kept, old), check_password_hash(kept, new)) == (False, True)
    assert new not in kept


def test_a_password_that_a_setting_gives_is_not_reset(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LS_CROWD_PASSWORD", "open-sesame")
    assert main(["password", "--reset"]) == 2
    assert "LS_CROWD_PASSWORD sets the password" in capsys.readouterr().err
    assert stored(url) is None


def test_without_the_option_nothing_is_changed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["password"]) == 2
    assert "--reset makes a new one" in capsys.readouterr().err
    assert stored(url) is None
