"""What `plan` and `env` print: commands that parse, four formats, variables that something reads; and how the commands end."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from rocm_doctor.cli import cli
from rocm_doctor.matrix import load
from rocm_doctor.plan.variables import PlanVariable, variable_lines


@cache
def ran(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


MI50 = ("plan", "--gpu", "gfx906", "--python", "3.12", "--os", "linux", "--train", "lora")
SIBLING = ("plan", "--gpu", "gfx1034", "--python", "3.12", "--os", "linux", "--train", "lora", "--rocm", "7.2")
EXTRAS = ("plan", "--gpu", "gfx1103", "--python", "3.12", "--os", "linux", "--train", "qlora")


@pytest.mark.parametrize("case", [MI50, SIBLING, EXTRAS])
def test_commands_can_be_pasted(case: tuple[str, ...]) -> None:
    document = json.loads(ran(*case, "--format", "json").output)
    for stack in document["stacks"]:
        for command in stack["commands"]:
            words = shlex.split(command)
            assert words[:2] == ["pip", "install"]
            assert "\n" not in command
        for requirement in stack["requirements"]:
            Requirement(requirement)


def test_text_says_what_to_type_why_and_who_says_so() -> None:
    out = ran(*MI50).output
    assert "pip install torch==2.9.1+rocm6.3 torchvision==0.24.1+rocm6.3" in out
    assert "--index-url https://download.pytorch.org/whl/rocm6.3" in out
    assert "https://github.com/unslothai/unsloth/pull/7354" in out
    assert "torch 2.4.1+rocm6.0" in out


def test_verbose_groups_the_reasons() -> None:
    out = ran(*MI50, "-v").output
    assert "its rocBLAS has no kernels for gfx906" in out
    assert out.count("no wheel for Python 3.12") == 1


def test_requirements_bind_torch_by_its_local_version() -> None:
    text = ran(*MI50, "--format", "requirements").output
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert rows[0] == "--extra-index-url https://download.pytorch.org/whl/rocm6.3"
    assert [str(Requirement(r).name) for r in rows[1:4]] == ["torch", "torchvision", "torchaudio"]
    assert all("+rocm6.3" in r for r in rows[1:4]), "only that index has such versions"


def test_a_nightly_is_not_written_where_another_index_could_answer() -> None:
    text = ran(
        "plan",
        "--gpu",
        "gfx1030",
        "--python",
        "3.12",
        "--os",
        "windows",
        "--train",
        "lora",
        "--format",
        "requirements",
        "--rocm",
        "nightly",
    ).output
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert rows[0].startswith("--index-url https://nightly.repo.amd.com/")
    assert not any("transformers" in r for r in rows)


def test_uv_binds_the_index_to_torch() -> None:
    project = msgspec.toml.decode(ran(*MI50, "--format", "uv").output)
    assert project["tool"]["uv"]["index"][0]["explicit"] is True
    assert project["tool"]["uv"]["sources"]["pytorch-triton-rocm"] == {"index": "rocm"}
    for requirement in project["project"]["dependencies"]:
        Requirement(requirement)


@pytest.mark.parametrize("form", ["text", "requirements", "uv", "json"])
def test_nothing_known_ends_with_one_and_says_so(form: str, tmp_path: Path) -> None:
    done = ran("plan", "--gpu", "gfx1033", "--python", "3.12", "--os", "linux", "--format", form)
    assert done.exit_code == 1
    assert "gradients" in done.output


def test_usage_errors_name_the_remedy() -> None:
    unknown = ran("plan", "--gpu", "gfx1", "--python", "3.12")
    assert unknown.exit_code == 2
    assert "known are gfx" in unknown.output
    strange = ran("plan", "--gpu", "gfx906", "--with", "nonesuch")
    assert strange.exit_code == 2
    assert "bitsandbytes" in strange.output
    assert ran("plan", "--gpu", "gfx906", "--driver", "new").exit_code == 2
    assert "needs --gpu" in ran("plan", "--driver", "6.12.12").output
    assert "no plans for free-threaded Python" in ran("plan", "--gpu", "gfx906", "--python", "3.14t").output


def test_a_driver_that_no_table_has_is_remarked_on() -> None:
    assert (
        "is not in the catalog"
        in ran("plan", "--gpu", "gfx1100", "--python", "3.12", "--os", "linux", "--driver", "6.3.6").output
    )
    assert (
        "is not in the catalog"
        not in ran("plan", "--gpu", "gfx1100", "--python", "3.12", "--os", "linux", "--driver", "6.8.5").output
    )


def test_a_plan_is_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "requirements.txt"
    done = ran(*MI50, "--format", "requirements", "-o", str(target))
    assert done.exit_code == 0
    assert done.stdout == ""
    assert "torch==2.9.1+rocm6.3" in target.read_text(encoding="utf-8")


def test_env_prints_reason_source_and_setting() -> None:
    out = ran("env", "--gpu", "gfx1034", "--python", "3.12", "--os", "linux", "--rocm", "7.2").stdout
    comment, setting = out.splitlines()[:2]
    assert comment.startswith("# ")
    assert comment.endswith("]")
    assert "10.3.0" in setting


def test_env_is_silent_where_nothing_is_needed() -> None:
    done = ran("env", "--gpu", "gfx942", "--python", "3.12", "--os", "linux")
    assert done.exit_code == 0
    assert done.stdout == ""


def test_env_sets_nothing_that_nothing_reads() -> None:
    unread = [name for name, entry in load().env.items() if entry.exists == "no"]
    for gfx in ("gfx1100", "gfx1035", "gfx906"):
        out = ran("env", "--gpu", gfx, "--python", "3.12", "--os", "linux").output
        assert not any(f"export {name}=" in out for name in unread)


@given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1))
def test_bash_lines_survive_any_value(value: str) -> None:
    setting = variable_lines((PlanVariable("NAME", value, "why", "source"),), "sh")[1]
    assert shlex.split(setting) == ["export", f"NAME={value}"]


@pytest.mark.parametrize("system", ["linux", "windows", "wsl"])
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_every_command_of_a_new_environment_exists_there(system: str, tool: str) -> None:
    """Nothing is activated: a command is the system's own, the doctor's, uv's, or names the interpreter of the environment."""
    out = ran("plan", "--gpu", "gfx1201", "--python", "3.12", "--os", system, "--train", "qlora", "--tool", tool).output
    block = out.partition("venv .venv")[2].partition(" other stack")[0].splitlines()
    commands = [line.split() for line in block if line.startswith("  ") and not line.strip().startswith("#")]
    assert commands
    python = r".venv\Scripts\python.exe" if system == "windows" else ".venv/bin/python"
    for words in commands:
        settings = words[0] in ("export", "unset", "echo", "Set-Content")
        assert settings or words[0] in ("uv", "rocm-doctor", python) or words[0].startswith("$env:"), words
        assert settings or python in words, words
