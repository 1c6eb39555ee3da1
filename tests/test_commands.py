"""Commands that are pasted: every one of the matrix and of the code parses, is known, is shown whole, and takes no hostile value."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
import pytest

from rocm_doctor import commands as known
from rocm_doctor.commands import EFFECTS, classify, fill, remarks, select_commands, settings
from rocm_doctor.cures.offer import drop_contradictions
from rocm_doctor.matrix import load
from rocm_doctor.matrix.checks import commands as checks
from rocm_doctor.matrix.checks.commands import complaints
from rocm_doctor.matrix.rows import Diagnosis, Row
from rocm_doctor.model import Command, Finding, Report, Snapshot
from rocm_doctor.pipeline import judge
from rocm_doctor.plan.catalog import load_catalog as known_catalog
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.reports.terminal import command_lines
from rocm_doctor.sources.paste import cut

MATRIX = load()
ROOT = Path(__file__).resolve().parents[1]
ENTRIES: tuple[Row | Diagnosis, ...] = (*MATRIX.rows, *MATRIX.diagnoses.values())
STEPS = MATRIX.classify([c for step in known_catalog(MATRIX).steps for c in step.commands])
QUESTIONS = MATRIX.classify([q.command for q in MATRIX.questions])
OF_DATA = [*(c for e in ENTRIES for c in (*e.commands, *e.verify, *([e.settle] if e.settle else ()))), *STEPS, *QUESTIONS]


ROOMS = ("rules", "lint", "plan", "fit", "smoke", "reports", "facts", "differential", "binaries")
"""Where code may hand over a command. What sources run by themselves is not shown to anyone."""


_PATTERN = re.compile(r"[?\\]|\S\|\S")
"""What a regular expression has and a command of ours has not."""


def templates() -> Iterator[str]:
    """The texts in the code that begin with a program: what it hands over as commands."""
    programs = MATRIX.programs
    begins = re.compile(rf"""["'}}](?:{"|".join(map(re.escape, programs))}) """)
    texts = (path.read_text(encoding="utf-8") for room in ROOMS for path in sorted((ROOT / "rocm_doctor" / room).rglob("*.py")))
    for text in filter(begins.search, texts):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and "\n" not in node.value:
                first, rest = node.value.split(" ", 1)
                if (
                    first in programs
                    and not _PATTERN.search(node.value)
                    and rest[:1].islower() | (rest[:1] in "-{")
                    and not rest.endswith(".")
                ):
                    yield node.value


OF_CODE = [Command(known._SLOT.sub("1", text).strip()) for text in dict.fromkeys(templates())]
ALL = list(dict.fromkeys([*OF_DATA, *OF_CODE]))


def test_there_are_commands_in_data_and_code() -> None:
    assert len(OF_DATA) > 400
    assert len(OF_CODE) > 8


def test_commands_of_the_code_pass_the_lint() -> None:
    found = {command.text: list(complaints(command, MATRIX.programs)) for command in (*OF_CODE, *STEPS, *QUESTIONS)}
    assert {text: said for text, said in found.items() if said} == {}


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_itself_parses_every_command() -> None:
    texts = [c.text for c in ALL if c.shell == "sh"]
    done = subprocess.run(["bash", "-n"], input="\n".join(texts), text=True, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("video $USER", "begins with `video`"),
        ("torch.backends.cudnn.enabled = False", "begins with"),
        ("set ROCBLAS_USE_HIPBLASLT=0", "begins with `set`"),
        ('ls "$(frob x)"', "begins with `frob`"),
        ("rm $(python -c 'import torch')/lib/*.so", "deletes"),
        ("rm -rf $CACHE/x", "deletes"),
        ("find `pwd` -name x -delete", "deletes"),
        ("if true; then", "does not parse"),
        ("echo 'open", "does not parse"),
        ("ls   # and look", "comment"),
        ("ls\nls", "one line"),
        ("", "one line"),
    ],
)
def test_the_lint_refuses(text: str, said: str) -> None:
    assert said in "; ".join(complaints(Command(text), MATRIX.programs))


def test_powershell_is_parsed_as_powershell() -> None:
    assert not list(complaints(Command("$env:A = '0'", shell="powershell"), MATRIX.programs))
    assert list(complaints(Command("$env:A = '0", shell="powershell"), MATRIX.programs))


HOSTILE = [
    "a;id",
    "$(id)",
    "`id`",
    "x y",
    "a\nb",
    "../../etc",
    "'",
    '"',
    "a|b",
    "a&b",
    "-rf",
    "",
    "\u202e",
    "x" * 500,
    "1.0\n",
    "é",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_no_slot_takes_a_value_that_a_shell_would_read(value: str) -> None:
    for kind in known._SLOTS:
        made = fill(f"pip show {{{kind}}}", **{kind: value})
        assert not made or made == (f"pip show {value}",), f"{kind}: a value that is taken is one plain word"
        assert not made or not set(value) & set(" ;|&$`'\"\n()<>\\*?[]{}!#"), kind


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("version", "2.9.1+rocm6.4"), ("package", "flash-attn"), ("gfx", "gfx90a"), ("group", "render,video"), ("gid", "992"),
        ("variable", "HSA_XNACK"), ("value", "max_split_size_mb:128"), ("url", "https://download.pytorch.org/whl/rocm6.4"),
        ("image", "rocm/pytorch:rocm7.0_ubuntu24.04_py3.12"),
    ],
)  # fmt: skip
def test_each_slot_takes_what_it_is_for(kind: str, value: str) -> None:
    assert fill(f"x {{{kind}_a}}", **{f"{kind}_a": value}) == (f"x {value}",)


def test_rules_put_values_into_commands_by_slots_only() -> None:
    """An f-string that begins with a program and holds a value is a command that nobody quoted."""
    found = []
    for path in [*(ROOT / "rocm_doctor/rules").glob("*.py"), *(ROOT / "rocm_doctor/lint/rules").glob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        keywords = [n for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg in ("title", "cause", "advice")]
        prose = {id(part) for keyword in keywords for part in ast.walk(keyword)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant) and id(node) not in prose:
                program, blank, _ = str(node.values[0].value).partition(" ")
                values = [ast.unparse(v.value) for v in node.values if isinstance(v, ast.FormattedValue)]
                if blank and program in MATRIX.programs and not {*values} <= {"NAME", "pins", "owner[0]"}:
                    found.append(f"{path.name}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_no_renderer_breaks_a_command(width: int) -> None:
    finding = Finding("a.b", "title", "error", "high", "cause", commands=tuple(ALL), verify=tuple(ALL[:3]), settle=ALL[0])
    report = Report(2, "0", "0", "problems", "summary", (finding,), (), Snapshot())
    lines = render("text", report, RenderOptions(width=width)).split("\n")
    for command in ALL:
        assert any(line == "  $ " + command.text or (line.endswith("$ " + command.text) and len(line) <= width) for line in lines)
    markdown = render("markdown", report, RenderOptions(width=width)).split("\n")
    assert {c.text for c in ALL} <= {*markdown}


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_a_long_command_is_alone_on_its_line(width: int) -> None:
    text = "ls " + "x" * width
    assert [click.unstyle(line) for line in command_lines("do", [Command(text)], width)] == ["  do", "  $ " + text]


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("sudo dmesg | grep -i amdgpu", "reads"), ("pip list", "reads"), ("pip install x", "environment"), ("export A=1", "environment"),
        ("NCCL_DEBUG=INFO torchrun x.py", "reads"), ("sudo modprobe amdgpu", "system"), ("sudo usermod -aG render $USER", "login"),
        ("sudo apt install x && sudo update-initramfs -u", "reboot"), ("rm -rf ~/.cache/miopen", "destructive"),
        ("python -m venv .venv", "environment"), ("python -c 'import torch'", "reads"), ("find . -name x -delete", "destructive"),
    ],
)  # fmt: skip
def test_an_effect_is_that_of_the_worst_program(text: str, effect: str) -> None:
    assert classify(text, MATRIX.programs).effect == effect
    assert effect in EFFECTS


def test_a_stated_type_is_kept() -> None:
    assert classify(Command("ls", effect="reboot", distributions=("arch",)), MATRIX.programs).effect == "reboot"


def test_a_distribution_gets_its_own_commands() -> None:
    both = MATRIX.classify(["sudo dnf downgrade linux-firmware", "sudo apt install x", "uname -r"])
    assert [c.text[:8] for c in select_commands(both, "linux", "Ubuntu 25.10")] == ["sudo apt", "uname -r"]
    assert [c.text[:8] for c in select_commands(both, "linux", "Fedora Linux 43")] == ["sudo dnf", "uname -r"]
    assert len(select_commands(both, "linux", "")) == 3


def test_a_command_for_one_distribution_is_not_for_its_family() -> None:
    hwe = [Command("sudo apt install linux-generic-hwe-24.04", distributions=("ubuntu",))]
    shown = [
        bool(select_commands(hwe, "linux", name)) for name in ("Ubuntu 24.04.2 LTS", "Debian GNU/Linux 13", "Fedora Linux 43", "")
    ]
    assert shown == [True, False, False, True]


@pytest.mark.parametrize(
    ("text", "shell", "wanted"),
    [
        ("export A=1 B='x y'", "sh", {"A": "1", "B": "x y"}), ("A=1 python train.py B=2", "sh", {"A": "1"}), ("unset A B", "sh", {"A": None, "B": None}),
        ("pip install x==1", "sh", {}), ("$env:A = '1'; $env:B = 'x y'", "powershell", {"A": "1", "B": "x y"}),
        ("Remove-Item Env:A -ErrorAction SilentlyContinue", "powershell", {"A": None}),
    ],
)  # fmt: skip
def test_the_variables_that_a_command_sets(text: str, shell: Literal["sh", "powershell"], wanted: dict[str, str | None]) -> None:
    assert settings(Command(text, shell=shell)) == wanted


def test_of_opposite_commands_the_first_is_kept() -> None:
    def finding(*texts: str) -> Finding:
        return Finding("a.b", "t", "error", "high", "c", commands=tuple(Command(text) for text in texts))

    found = drop_contradictions([finding("export A=1", "ls"), finding("unset A", "export B=2"), finding("A=1 x", "export B=3")])
    assert [[c.text for c in one.commands] for one in found] == [["export A=1", "ls"], ["export B=2"], ["A=1 x"]]


def test_no_report_sets_and_unsets_a_variable() -> None:
    """Two AMD GPUs of which one needs an override and one is harmed by it: the report proposes one of the two, not both."""
    text = (
        "rocminfo:\n  Name:                    gfx908\n  Name:                    gfx1032\ntorch 2.4.1+rocm6.1, HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
        "RuntimeError: HIP error: invalid device function\n"
    )
    report = judge(cut(text, "x"), MATRIX)
    stated = [settings(c) for f in report.findings for c in f.commands]
    for name in {name for one in stated for name in one}:
        assert len({one[name] for one in stated if name in one}) == 1, name


def test_windows_gets_powershell() -> None:
    given = MATRIX.classify(
        ["export A=1 B='x y'", "unset A", "sudo dmesg", "pip list", Command("$env:C = '1'", "powershell", "windows")]
    )
    assert [(c.text, c.shell) for c in select_commands(given, "windows", "")] == [
        ("$env:A = '1'; $env:B = 'x y'", "powershell"),
        ("Remove-Item Env:A -ErrorAction SilentlyContinue", "powershell"),
        ("pip list", "sh"),
        ("$env:C = '1'", "powershell"),
    ]
    assert all(c.shell == "sh" for c in select_commands(given, "linux", ""))


def test_what_comes_after_a_command_is_said() -> None:
    assert remarks(classify("sudo usermod -aG render $USER", MATRIX.programs)) == "log out and in again afterwards"
    assert "replace MODEL" in remarks(classify("rocm-doctor fit --model MODEL", MATRIX.programs))


def test_bash_is_parsed_without_the_grammar_of_powershell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel without `[dev]` does not have it."""
    checks._parser.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_powershell", None)
    try:
        assert checks.first_words("echo $(stat -c %g /dev/kfd) 2>&1 | grep -E 'a|(b)'") == ["echo", "stat", "grep"]
        assert list(checks.complaints(Command("Get-Item {", shell="powershell"), {})) == []
    finally:
        checks._parser.cache_clear()
