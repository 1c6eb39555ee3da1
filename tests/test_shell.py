"""The shell: completion in bash, zsh and fish, the manual page."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from rocm_doctor.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
PAGE = ROOT / "docs" / "rocm-doctor.1"


def completed(line: str) -> list[str]:
    """What the shell offers for the last word of a line."""
    *words, last = f"{line}|".split()
    return [item.value for item in ShellComplete(cli, {}, "rocm-doctor", "_X").get_completions(words, last.removesuffix("|"))]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("che", "check"),
        ("explain arch.not-in", "arch.not-in-build"),
        ("explain hsa_override", "HSA_OVERRIDE_GFX_VERSION"),
        ("explain gfx110", "gfx1100"),
        ("explain expandable-", "expandable-unsupported"),
        ("check --ignore version.torch-n", "version.torch-not-rocm"),
        ("lint --ignore expandable-", "expandable-unsupported"),
        ("plan --gpu gfx11", "gfx1100"),
        ("fix --gpu gfx9", "gfx906"),
        ("env --gpu gfx9", "gfx906"),
        ("lint --gpu gfx12", "gfx1201"),
        ("fit --gpu gfx94", "gfx942"),
        ("audit --gpu gfx90", "gfx90a"),
        ("plan --with bits", "bitsandbytes"),
        ("plan --with bitsandbytes,peft,fl", "bitsandbytes,peft,flash-attn"),
        ("fit --model qwen2.5-7", "qwen2.5-7b"),
        ("explain tor", "torch"),
        ("plan --gpu RX79", "RX7900XTX"),
    ],
)
def test_completion_offers(line: str, offered: str) -> None:
    found = completed(line)
    assert offered in found
    start = line.split()[-1].casefold()
    assert all(one.casefold().startswith(start) for one in found)


def test_a_package_is_offered_once() -> None:
    assert "bitsandbytes,bitsandbytes" not in completed("plan --with bitsandbytes,")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with the command on it."""
    command = tmp_path / "rocm-doctor"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m rocm_doctor "$@"\n')
    command.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def shell(name: str, script: str, path: str) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    done = subprocess.run(
        [name, "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bash_completes(path: str) -> None:
    script = (
        'eval "$(rocm-doctor completion bash)"; COMP_WORDS=(rocm-doctor explain arch.not-in); COMP_CWORD=2; COMPREPLY=(); '
        "_rocm_doctor_completion rocm-doctor; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    assert shell("bash", script, path).split() == ["arch.not-in-build"]


def test_fish_completes(path: str) -> None:
    script = "rocm-doctor completion fish | source; complete -C 'rocm-doctor plan --gpu gfx1100'"
    assert shell("fish", script, path).startswith("gfx1100\tRadeon")


def test_zsh_takes_the_script(path: str) -> None:
    assert shell(
        "zsh", 'autoload -U compinit; compinit -D -u; eval "$(rocm-doctor completion zsh)"; print $_comps[rocm-doctor]', path
    ) == ("_rocm_doctor_completion\n")


def test_the_manual_page_has_every_command_and_option() -> None:
    page = PAGE.read_text("utf-8").replace("\\-", "-")
    for name in COMMANDS:
        assert f'.SS "rocm-doctor {name} ' in page, name
    for option in ("--no-smoke", "--with NAMES", "--rocm TEXT", "--root DIRECTORY"):
        assert f"{option}" in page
    assert "--sysroot" not in page, "a hidden option"


@pytest.mark.parametrize("width", ["60", "100"])
def test_man_has_nothing_to_warn_of(width: str) -> None:
    if shutil.which("man") is None:
        pytest.skip("no man here")
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(PAGE)]
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": width}
    assert subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True).stderr == ""


def test_mandoc_has_nothing_to_warn_of() -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("no mandoc here")
    assert (
        subprocess.run(["mandoc", "-T", "lint", str(PAGE)], capture_output=True, text=True, timeout=60, check=False).stdout == ""
    )


def test_the_doctor_alone_lists_its_commands(path: str) -> None:
    done = subprocess.run(
        ["rocm-doctor"], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60, check=False
    )
    assert set(re.findall(r"^  (\w+)  ", done.stdout + done.stderr, re.M)) >= set(COMMANDS)
