"""Settings: where they come from, their defaults, and errors that name them without revealing secrets."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.setting_values import NO_PROJECTS, Projects
from ls_crowd_plugin.settings import SETTINGS, Setting, Settings, read_settings

LEAST = {"LABEL_STUDIO_URL": "http://localhost:8080", "LABEL_STUDIO_API_KEY": "secret-key"}


def test_have_defaults() -> None:
    assert read_settings(LEAST) == Settings(
        recipe=Recipe(
            method="auto",
            separate_fits=False,
            gold_sources=frozenset({"plugin"}),
            experts=frozenset(),
            gold_field="",
            min_iou=0.5,
            only_complete=False,
            task_meta="auto",
            annotator_scores=True,
            ordered=frozenset(),
            decide="label",
        ),
        url="http://localhost:8080",
        key="secret-key",
        ca_bundle="",
        database_url="",
        host="127.0.0.1",
        port=9090,
        configured_url="",
        trusted_proxies=(),
        webhook_secret="",
        password="",
        projects=NO_PROJECTS,
        settle_seconds=300.0,
        audit_seconds=600.0,
        quiet_seconds=0.5,
        max_wait_seconds=15.0,
        poll_seconds=60.0,
        answer_price=0.0,
        trail_days=365.0,
        memory_mb=4096,
    )


def test_defaults_of_the_recipe_are_those_of_the_table() -> None:
    assert read_settings(LEAST).recipe == Recipe()


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS if setting.secret])
def test_that_are_secret_are_shown_nowhere_and_may_be_in_a_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sqlite:///hidden\n", encoding="utf-8")
    others = {other: value for other, value in LEAST.items() if other != name}
    found = read_settings({**others, f"{name}_FILE": str(tmp_path / "secret")})
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
        ("LS_CROWD_TRAIL_DAYS", "-1"),
        ("LS_CROWD_MEMORY_MB", "100"),
        ("LS_CROWD_MEMORY_MB", "-1"),
        ("LS_CROWD_MEMORY_MB", "1000.5"),
        ("LS_CROWD_MIN_IOU", "0"),
        ("LS_CROWD_MIN_IOU", "1.1"),
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
    environment = {name: value for name, value in LEAST.items() if name != missing}
    if isinstance(blank, str):
        environment[missing] = blank
    with pytest.raises(UnusableInput, match=f"^{missing} is not set; set it to .*\\.$"):
        read_settings(environment)


def test_of_label_studio_are_not_needed_by_every_command() -> None:
    found = read_settings({"LS_CROWD_DATABASE_URL": "sqlite:///x.db"}, needs_label_studio=False)
    assert (found.url, found.key, found.database_url) == ("", "", "sqlite:///x.db")


def test_may_have_spaces_around_them() -> None:
    assert read_settings({**LEAST, "LABEL_STUDIO_API_KEY": " secret-key\n"}).key == "secret-key"


def test_are_read_from_the_environment(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.touch()
    environment = {
        "LABEL_STUDIO_CA_BUNDLE": str(authority),
        "LS_CROWD_DATABASE_URL": "sqlite:///x.db",
        "LS_CROWD_METHOD": "gem",
        "LS_CROWD_EXPERTS": "3, 14,",
        "LS_CROWD_ANNOTATOR_SCORES": "off",
    }
    found = read_settings({**LEAST, **environment})
    assert (found.ca_bundle, found.database_url) == (str(authority), "sqlite:///x.db")
    assert found.recipe == Recipe(method="gem", experts=frozenset({3, 14}), annotator_scores=False)


@pytest.mark.parametrize(("value", "on"), [("on", True), ("ON", True), ("off", False), ("Off", False), ("", True)])
def test_a_switch_is_on_or_off(value: str, on: bool) -> None:
    assert read_settings({**LEAST, "LS_CROWD_ANNOTATOR_SCORES": value}).recipe.annotator_scores is on


def test_a_switch_that_is_neither_is_refused() -> None:
    with pytest.raises(UnusableInput, match="LS_CROWD_ANNOTATOR_SCORES is 'maybe'; use on or off"):
        read_settings({**LEAST, "LS_CROWD_ANNOTATOR_SCORES": "maybe"})


@pytest.mark.parametrize("value", ["ann", "1;2", "1.5"])
def test_experts_that_are_not_ids_are_refused(value: str) -> None:
    with pytest.raises(UnusableInput, match="LS_CROWD_EXPERTS"):
        read_settings({**LEAST, "LS_CROWD_EXPERTS": value})


@pytest.mark.parametrize("setting", [row for row in SETTINGS if row.allowed], ids=lambda row: row.name)
def test_with_a_few_values_take_no_other(setting: Setting) -> None:
    for value in setting.allowed:
        read_settings({**LEAST, setting.name: value})
    with pytest.raises(UnusableInput, match=f"{setting.name} is 'sideways'; use {setting.allowed[0]}"):
        read_settings({**LEAST, setting.name: "sideways"})


def test_older_words_for_values_are_still_read() -> None:
    settings = [read_settings({**LEAST, "LS_CROWD_FIT": word}) for word in ("apart", "Apart", "separate")]
    assert [one.recipe.separate_fits for one in settings] == [True] * 3


def test_an_authority_that_is_not_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableInput, match=r"LABEL_STUDIO_CA_BUNDLE .* is not a file"):
        read_settings({**LEAST, "LABEL_STUDIO_CA_BUNDLE": str(tmp_path / "ca.pem")})


class TestAlias:
    """LS_CROWD_REGION_OVERLAP is an older name of LS_CROWD_MIN_IOU."""

    def test_is_still_read(self) -> None:
        assert read_settings({**LEAST, "LS_CROWD_REGION_OVERLAP": "0.7"}).recipe.min_iou == 0.7

    def test_yields_to_the_new_name(self) -> None:
        both = {"LS_CROWD_REGION_OVERLAP": "0.7", "LS_CROWD_MIN_IOU": "0.3"}
        assert read_settings({**LEAST, **both}).recipe.min_iou == 0.3

    def test_is_read_from_a_file(self, tmp_path: Path) -> None:
        assert TestFile.read(tmp_path, "LS_CROWD_REGION_OVERLAP = 0.7", **LEAST).recipe.min_iou == 0.7

    def test_in_the_environment_takes_precedence_over_the_new_name_in_a_file(self, tmp_path: Path) -> None:
        found = TestFile.read(tmp_path, "LS_CROWD_MIN_IOU = 0.3", **LEAST, LS_CROWD_REGION_OVERLAP="0.7")
        assert found.recipe.min_iou == 0.7

    def test_is_named_where_its_value_is_wrong(self) -> None:
        with pytest.raises(UnusableInput, match=r"^LS_CROWD_REGION_OVERLAP is"):
            read_settings({**LEAST, "LS_CROWD_REGION_OVERLAP": "7"})

    def test_is_no_name_of_another_setting(self) -> None:
        aliases = [row.alias for row in SETTINGS if row.alias]
        assert aliases == ["LS_CROWD_REGION_OVERLAP"]
        assert not set(aliases) & {row.name for row in SETTINGS}

    def test_with_a_wrong_value_is_refused(self) -> None:
        with pytest.raises(UnusableInput, match="use a number above 0 and at most 1"):
            read_settings({**LEAST, "LS_CROWD_REGION_OVERLAP": "2"})


class TestRecipe:
    def test_has_a_setting_for_every_field(self) -> None:
        assert {row.field for row in SETTINGS if row.recipe} == {field.name for field in fields(Recipe)}

    def test_has_the_same_digest_whatever_the_order_of_experts(self) -> None:
        one, two = (Recipe(experts=frozenset(ids)) for ids in ([1, 2, 300], [300, 2, 1]))
        assert one.digest() == two.digest()


def test_ordered_controls_are_named_with_commas() -> None:
    found = [read_settings({**LEAST, "LS_CROWD_ORDERED": text}) for text in ("Quality, how bad,", "")]
    assert [one.recipe.ordered for one in found] == [{"Quality", "how bad"}, set()]


class TestGoldSources:
    def test_are_any_of_a_few_words(self) -> None:
        sources = read_settings({**LEAST, "LS_CROWD_GOLD_SOURCES": "Plugin, task_data"}).recipe.gold_sources
        assert sources == {"plugin", "task_data"}

    def test_of_another_kind_are_refused(self) -> None:
        with pytest.raises(
            UnusableInput, match="contains 'marks'; use any of plugin, ground_truth, experts or task_data"
        ):
            read_settings({**LEAST, "LS_CROWD_GOLD_SOURCES": "plugin,marks"})


class TestProjects:
    def test_are_ids_or_all(self) -> None:
        assert read_settings({**LEAST, "LS_CROWD_PROJECTS": "3, 4"}).projects == Projects(False, frozenset({3, 4}))
        assert read_settings({**LEAST, "LS_CROWD_PROJECTS": "All"}).projects == Projects(True, frozenset())

    def test_include_what_they_name(self) -> None:
        assert Projects(True, frozenset()).include(7)
        assert Projects(False, frozenset({7})).include(7)
        assert not NO_PROJECTS.include(7)


class TestAddresses:
    def test_of_the_service_are_made_from_host_and_port(self) -> None:
        found = read_settings({**LEAST, "LS_CROWD_HOST": "10.0.0.5", "LS_CROWD_PORT": "80"})
        assert found.public_url == "http://10.0.0.5:80"

    def test_of_the_service_are_as_configured(self) -> None:
        found = read_settings({**LEAST, "LS_CROWD_PUBLIC_URL": "https://crowd.example/"})
        assert found.public_url == "https://crowd.example"

    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            ("http://me:hunter2@studio.example:8080/x", "http://studio.example:8080/x"),
            ("http://hunter2@studio.example", "http://studio.example"),
            ("http://me:hunter2/@://hunter2@studio.example", "http://studio.example"),
            ("me:hunter2@studio.example", "studio.example"),
            ("https://studio.example/x", "https://studio.example/x"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ],
    )
    def test_are_shown_without_a_password(self, written: str, shown: str) -> None:
        found = read_settings({**LEAST, "LABEL_STUDIO_URL": written, "LS_CROWD_PUBLIC_URL": written})
        assert (found.url_shown, found.public_url_shown) == (shown, shown)
        assert "hunter2" not in repr(found)


class TestTrustedProxies:
    def test_are_addresses_and_networks(self) -> None:
        found = read_settings({**LEAST, "LS_CROWD_TRUSTED_PROXIES": "192.0.2.1, 10.0.0.0/8,2001:db8::/32,"})
        assert list(map(str, found.trusted_proxies)) == ["192.0.2.1/32", "10.0.0.0/8", "2001:db8::/32"]

    @pytest.mark.parametrize("value", ["proxy", "10.0.0.1/8", "10.0.0.1;10.0.0.2", "*", "1.2.3"])
    def test_that_are_no_addresses_are_refused(self, value: str) -> None:
        with pytest.raises(UnusableInput, match=r"LS_CROWD_TRUSTED_PROXIES is .* use addresses or networks"):
            read_settings({**LEAST, "LS_CROWD_TRUSTED_PROXIES": value})


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
        assert found.url == "http://studio.example"
        assert (found.recipe.experts, found.recipe.annotator_scores) == (frozenset({3, 14}), False)

    def test_yields_to_the_environment(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, "LS_CROWD_METHOD = 'neg'", **LEAST, LS_CROWD_METHOD="gem").recipe.method == "gem"

    def test_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match=r"LS_CROWD_CONFIG .* cannot be read"):
            read_settings({"LS_CROWD_CONFIG": str(tmp_path / "none.toml")})

    def test_that_is_not_toml_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match="is not TOML"):
            self.read(tmp_path, "LS_CROWD_METHOD: neg")

    def test_with_a_setting_that_does_not_exist_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match="holds 'LS_CROWD_METHODS', which is not a setting"):
            self.read(tmp_path, "LS_CROWD_METHODS = 'neg'")


class TestKeyFile:
    @staticmethod
    def read(path: Path, **more: str) -> Settings:
        address = {"LABEL_STUDIO_URL": LEAST["LABEL_STUDIO_URL"]}
        return read_settings({**address, "LABEL_STUDIO_API_KEY_FILE": str(path), **more})

    def test_holds_the_key(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("key-of-the-file\n", encoding="utf-8")
        assert self.read(tmp_path / "key").key == "key-of-the-file"

    def test_is_not_read_where_the_key_itself_is_set(self, tmp_path: Path) -> None:
        assert self.read(tmp_path / "missing", LABEL_STUDIO_API_KEY="secret-key").key == "secret-key"

    def test_that_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match=r"LABEL_STUDIO_API_KEY_FILE .*missing cannot be read"):
            self.read(tmp_path / "missing")

    def test_that_is_a_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UnusableInput, match="LABEL_STUDIO_API_KEY_FILE"):
            self.read(tmp_path)

    def test_that_is_not_text_is_named(self, tmp_path: Path) -> None:
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
