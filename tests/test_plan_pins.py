"""What every plan promises: torch is pinned in each command, and each format carries every package that was asked for."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from rocm_doctor.cli import cli

ASKED = ("plan", "--gpu", "gfx1100", "--python", "3.12", "--os", "linux", "--train", "lora", "--with", "bitsandbytes")


@cache
def printed(form: str) -> str:
    return CliRunner().invoke(cli, [*ASKED, "--format", form], catch_exceptions=False).output


@cache
def stack() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed("json"))["stacks"][0]
    return found


def test_every_command_that_installs_pins_torch_so_that_none_replaces_it() -> None:
    commands = [shlex.split(command) for command in stack()["commands"]]
    installing = [words for words in commands if "install" in words]
    assert len(installing) > 1
    pins = [[re.sub(r"\[.*?\]", "", word) for word in words if re.match(r"torch(\[.*?\])?==", word)] for words in installing]
    later = [pin for words, pin in zip(installing[1:], pins[1:]) if any("==" in word for word in words)]
    assert pins[0] == [f"torch=={stack()['torch']}"]
    assert later == [pins[0]] * len(later)
    assert later


def test_the_json_lists_every_package_of_the_wish() -> None:
    named = {Requirement(one).name for one in stack()["requirements"]}
    assert {"torch", "transformers", "peft", "bitsandbytes"} <= named
    assert set(stack()["packages"]) <= named


@pytest.mark.parametrize("form", ["requirements", "uv", "text"])
def test_every_format_carries_every_package_with_its_version(form: str) -> None:
    missing = [one for one in stack()["requirements"] if one not in printed(form)]
    assert missing == []


@pytest.mark.skipif(sys.platform == "win32", reason="the lines are for a POSIX shell")
def test_the_constraint_holds_in_a_folder_whose_name_has_a_blank(tmp_path: Path) -> None:
    """pip splits PIP_CONSTRAINT at blanks; what it then reads is named by a conflict with another release."""
    folder = tmp_path / "my work #1"
    folder.mkdir()
    [pin] = [line for line in printed("text").splitlines() if "PIP_CONSTRAINT" in line]
    asks = f"{shlex.quote(sys.executable)} -m pip --disable-pip-version-check install --no-index torch==1.0"
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    ran = subprocess.run(["sh", "-c", f"{pin}\n{asks}"], cwd=folder, env=env, capture_output=True, text=True)
    assert f"The user requested (constraint) torch=={stack()['torch']}" in ran.stdout + ran.stderr
