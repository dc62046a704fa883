"""Settings come from the environment, have defaults, and say what is missing without giving secrets away."""

from __future__ import annotations

from pathlib import Path

import pytest

from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.settings import SETTINGS, Setting, Settings, read_settings

LEAST = {"LABEL_STUDIO_URL": "http://localhost:8080", "LABEL_STUDIO_API_KEY": "secret-key"}


def test_have_defaults() -> None:
    assert read_settings(LEAST) == Settings(
        url="http://localhost:8080",
        key="secret-key",
        ca_bundle="",
        database_url="",
        method="auto",
        apart=False,
        experts=frozenset(),
        gold_field="",
        overlap=0.5,
        when_complete=False,
        task_meta="auto",
        annotator_scores=True,
        host="127.0.0.1",
        port=9090,
        public_url="http://127.0.0.1:9090",
        webhook_secret="",
        password="",
        projects=frozenset(),
        all_projects=False,
        quiet_seconds=1.0,
        longest_seconds=15.0,
        poll_seconds=60.0,
    )


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS if setting.secret])
def test_that_are_secret_show_nowhere_and_may_be_in_a_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sqlite:///hidden\n", encoding="utf-8")
    given = {other: value for other, value in LEAST.items() if other != name}
    found = read_settings({**given, f"{name}_FILE": str(tmp_path / "secret")})
    assert "sqlite:///hidden" in vars(found).values()
    assert "hidden" not in repr(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LS_CROWD_PORT", "99999"),
        ("LS_CROWD_PORT", "0"),
        ("LS_CROWD_PORT", "http"),
        ("LS_CROWD_QUIET_SECONDS", "-1"),
        ("LS_CROWD_POLL_SECONDS", "nan"),
        ("LS_CROWD_POLL_SECONDS", "inf"),
        ("LS_CROWD_PROJECTS", "some"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(name: str, value: str) -> None:
    with pytest.raises(UnusableInput, match=name):
        read_settings({**LEAST, name: value})


def test_come_from_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LEAST.items():
        monkeypatch.setenv(name, value)
    assert read_settings().url == "http://localhost:8080"


@pytest.mark.parametrize("missing", LEAST)
@pytest.mark.parametrize("blank", [{}, "", "  "], ids=["unset", "empty", "blank"])
def test_that_are_missing_are_named(missing: str, blank: str | dict[str, str]) -> None:
    given = {name: value for name, value in LEAST.items() if name != missing}
    if isinstance(blank, str):
        given[missing] = blank
    with pytest.raises(UnusableInput, match=f"^{missing} is not set; set it to .*\\.$"):
        read_settings(given)


def test_may_have_spaces_around_them() -> None:
    assert read_settings({**LEAST, "LABEL_STUDIO_API_KEY": " secret-key\n"}).key == "secret-key"


def test_are_taken_where_given(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.touch()
    given = {
        "LABEL_STUDIO_CA_BUNDLE": str(authority),
        "LS_CROWD_DATABASE_URL": "sqlite:///x.db",
        "LS_CROWD_METHOD": "gem",
        "LS_CROWD_EXPERTS": "3, 14,",
        "LS_CROWD_ANNOTATOR_SCORES": "off",
    }
    found = read_settings({**LEAST, **given})
    assert (found.ca_bundle, found.database_url, found.method, found.experts, found.annotator_scores) == (
        str(authority),
        "sqlite:///x.db",
        "gem",
        frozenset({3, 14}),
        False,
    )


@pytest.mark.parametrize(("value", "on"), [("on", True), ("ON", True), ("off", False), ("Off", False), ("", True)])
def test_a_switch_is_on_or_off(value: str, on: bool) -> None:
    assert read_settings({**LEAST, "LS_CROWD_ANNOTATOR_SCORES": value}).annotator_scores is on


def test_a_switch_that_is_neither_is_refused() -> None:
    with pytest.raises(UnusableInput, match="LS_CROWD_ANNOTATOR_SCORES is 'maybe'; use on or off"):
        read_settings({**LEAST, "LS_CROWD_ANNOTATOR_SCORES": "maybe"})


@pytest.mark.parametrize("value", ["ann", "1;2", "1.5"])
def test_experts_that_are_no_ids_are_refused(value: str) -> None:
    with pytest.raises(UnusableInput, match="LS_CROWD_EXPERTS"):
        read_settings({**LEAST, "LS_CROWD_EXPERTS": value})


@pytest.mark.parametrize("setting", [each for each in SETTINGS if each.allowed], ids=lambda each: each.name)
def test_with_a_few_values_take_no_other(setting: Setting) -> None:
    for value in setting.allowed:
        read_settings({**LEAST, setting.name: value})
    with pytest.raises(UnusableInput, match=f"{setting.name} is 'sideways'; use {setting.allowed[0]}"):
        read_settings({**LEAST, setting.name: "sideways"})


def test_an_authority_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableInput, match=r"LABEL_STUDIO_CA_BUNDLE .* is no file"):
        read_settings({**LEAST, "LABEL_STUDIO_CA_BUNDLE": str(tmp_path / "ca.pem")})


class TestFile:
    @staticmethod
    def read(folder: Path, text: str, **environment: str) -> Settings:
        file = folder / "crowd.toml"
        file.write_text(text, encoding="utf-8")
        return read_settings({"LS_CROWD_CONFIG": str(file), **environment})

    def test_holds_settings(self, tmp_path: Path) -> None:
        text = """
        LABEL_STUDIO_URL = "http://studio.example"
        LABEL_STUDIO_API_KEY = "secret-key"
        LS_CROWD_EXPERTS = [3, 14]
        LS_CROWD_ANNOTATOR_SCORES = false
        """
        found = self.read(tmp_path, text)
        assert (found.url, found.experts, found.annotator_scores) == (
            "http://studio.example",
            frozenset({3, 14}),
            False,
        )

    def test_gives_way_to_the_environment(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, "LS_CROWD_METHOD = 'neg'", **LEAST, LS_CROWD_METHOD="gem").method == "gem"

    def test_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match=r"LS_CROWD_CONFIG .* cannot be read"):
            read_settings({"LS_CROWD_CONFIG": str(tmp_path / "none.toml")})

    def test_that_is_not_toml_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match="is not TOML"):
            self.read(tmp_path, "LS_CROWD_METHOD: neg")

    def test_with_a_setting_that_does_not_exist_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match="holds 'LS_CROWD_METHODS', which is no setting"):
            self.read(tmp_path, "LS_CROWD_METHODS = 'neg'")


class TestKeyFile:
    @staticmethod
    def read(path: Path, **more: str) -> Settings:
        address = {"LABEL_STUDIO_URL": LEAST["LABEL_STUDIO_URL"]}
        return read_settings({**address, "LABEL_STUDIO_API_KEY_FILE": str(path), **more})

    def test_holds_the_key(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("key-of-the-file\n", encoding="utf-8")
        assert self.read(tmp_path / "key").key == "key-of-the-file"

    def test_is_not_read_where_the_key_itself_is_given(self, tmp_path: Path) -> None:
        assert self.read(tmp_path / "missing", LABEL_STUDIO_API_KEY="secret-key").key == "secret-key"

    def test_that_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match=r"LABEL_STUDIO_API_KEY_FILE .*missing cannot be read"):
            self.read(tmp_path / "missing")

    def test_that_is_a_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match="LABEL_STUDIO_API_KEY_FILE"):
            self.read(tmp_path)

    def test_that_is_no_text_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_bytes(b"\xff\xfe\x00key")
        with pytest.raises(UnusableInput, match="LABEL_STUDIO_API_KEY_FILE"):
            self.read(tmp_path / "key")

    def test_that_is_empty_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("\n", encoding="utf-8")
        with pytest.raises(UnusableInput, match="LABEL_STUDIO_API_KEY_FILE"):
            self.read(tmp_path / "key")


class TestSecrets:
    def test_are_in_no_representation(self) -> None:
        found = read_settings({**LEAST, "LS_CROWD_DATABASE_URL": "postgresql://me:hunter2@host/name"})
        assert all(secret not in repr(found) + str(found) for secret in ("secret-key", "hunter2"))

    @pytest.mark.parametrize("wrong", ["LS_CROWD_ANNOTATOR_SCORES", "LS_CROWD_EXPERTS"])
    def test_are_in_no_message(self, wrong: str) -> None:
        with pytest.raises(UnusableInput) as caught:
            read_settings({**LEAST, wrong: "x"})
        assert "secret-key" not in str(caught.value)


def test_each_has_a_meaning_and_a_name_of_its_own() -> None:
    assert all(setting.meaning for setting in SETTINGS)
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
