"""The image and the compose file name nothing that the project does not have."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from ls_crowd_plugin.cli import COMMANDS
from ls_crowd_plugin.settings import SETTINGS

DOCKER = Path(__file__).parents[2] / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
OURS = {name: service for name, service in COMPOSE["services"].items() if service.get("image") == "ls-crowd"}
NAMES = {setting.name for setting in SETTINGS} | {f"{setting.name}_FILE" for setting in SETTINGS if setting.secret}


def instruction(name: str) -> str:
    """The last of its kind, lines joined."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(f"{name} ") for line in joined.splitlines() if line.startswith(f"{name} ")][-1]


class TestImage:
    def test_runs_commands_that_exist(self) -> None:
        assert json.loads(instruction("ENTRYPOINT")) == ["ls-crowd"]
        assert json.loads(instruction("CMD"))[0] in COMMANDS

    def test_sets_settings_that_exist(self) -> None:
        variables = dict(pair.split("=", 1) for pair in shlex.split(instruction("ENV")))
        assert {name for name in variables if name.startswith(("LS_CROWD", "LABEL_STUDIO"))} <= NAMES

    def test_listens_where_it_says(self) -> None:
        variables = dict(pair.split("=", 1) for pair in shlex.split(instruction("ENV")))
        assert instruction("EXPOSE") == variables["LS_CROWD_PORT"]
        assert f"127.0.0.1:{variables['LS_CROWD_PORT']}/healthz" in instruction("HEALTHCHECK")

    def test_runs_without_privileges_or_build_tools(self) -> None:
        assert int(instruction("USER")) > 1000
        assert "apt-get" not in DOCKERFILE
        assert "pip uninstall --yes pip" in DOCKERFILE

    def test_copies_files_that_exist(self) -> None:
        for names in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
            for name in names.split():
                assert (DOCKER.parent / name).exists()

    def test_passes_the_linter(self) -> None:
        hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
        done = subprocess.run([hadolint, DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")

    def test_takes_no_more_than_it_needs(self) -> None:
        """Whatever is not named is left out of the context: secrets, environments, tests."""
        lines = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        assert lines[0] == "*"
        assert {line[1:] for line in lines if line.startswith("!")} == {
            "pyproject.toml",
            "README.md",
            "LICENSE",
            "ls_crowd_plugin",
        }


class TestCompose:
    def test_has_all_services(self) -> None:
        assert set(COMPOSE["services"]) == {"label-studio", "postgres", "crowd", "worker"}

    @pytest.mark.parametrize("name", OURS)
    def test_runs_commands_that_exist(self, name: str) -> None:
        assert OURS[name]["command"][0] in COMMANDS

    @pytest.mark.parametrize("name", OURS)
    def test_sets_settings_that_exist(self, name: str) -> None:
        assert set(OURS[name]["environment"]) <= NAMES

    @pytest.mark.parametrize("name", OURS)
    def test_reads_every_secret_from_a_file(self, name: str) -> None:
        secret = {setting.name for setting in SETTINGS if setting.secret}
        assert not secret & set(OURS[name]["environment"])
        files = {value for value in OURS[name]["environment"].values() if value.startswith("/run/secrets/")}
        assert files == {f"/run/secrets/{secret_name}" for secret_name in OURS[name]["secrets"]}
        assert set(OURS[name]["secrets"]) <= set(COMPOSE["secrets"])

    @pytest.mark.parametrize("name", OURS)
    def test_lets_it_write_nowhere_else(self, name: str) -> None:
        assert OURS[name]["read_only"] is True
        assert OURS[name]["cap_drop"] == ["ALL"]

    def test_gives_the_service_an_address_that_label_studio_accepts(self) -> None:
        """A one-word host is refused in webhooks, a private address unless the guard is off."""
        (alias,) = OURS["crowd"]["networks"]["inside"]["aliases"]
        assert "." in alias
        assert OURS["crowd"]["environment"]["LS_CROWD_PUBLIC_URL"] == f"http://{alias}:9090"
        assert COMPOSE["services"]["label-studio"]["environment"]["SSRF_PROTECTION_ENABLED"] == "false"

    def test_opens_ports_to_this_machine_only(self) -> None:
        ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
        assert ports
        assert all(port.startswith("127.0.0.1:") for port in ports)

    def test_names_volumes_networks_and_secrets_that_it_declares(self) -> None:
        for service in COMPOSE["services"].values():
            volumes = {volume.partition(":")[0] for volume in service.get("volumes", [])}
            assert volumes <= set(COMPOSE["volumes"])
            assert set(service["networks"]) <= set(COMPOSE["networks"])
            assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])

    def test_gives_a_worker_enough_time_to_stop(self) -> None:
        from ls_crowd_plugin.cli.serve import STOP_SECONDS

        assert all(int(service["stop_grace_period"].removesuffix("s")) > STOP_SECONDS for service in OURS.values())
