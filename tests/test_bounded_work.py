"""Whatever a bundle holds: `check`, `probe` and every format end in bounded time, and what was left out is said."""

from __future__ import annotations

import importlib
import re
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from rocm_doctor import pipeline
from rocm_doctor.bounded.texts import whole
from rocm_doctor.cli import cli, delivery
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.redaction import find
from rocm_doctor.reports import FORMATS, RenderOptions
from rocm_doctor.reports.several import render_several

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
fuzz = importlib.import_module("fuzz")
KNOWN = (
    "cmd/rocminfo", "cmd/rocm-smi -a", "cmd/amd-smi static --json", "env", "proc/cpuinfo", "proc/modules",
    "user/groups", "py/packages", "smoke/results.jsonl",
)  # fmt: skip


@pytest.mark.slow
def test_more_files_than_anybody_reads(tmp_path: Path) -> None:
    for n in range(600):
        (tmp_path / f"note-{n}.txt").write_text("HIP error: invalid device function\n")
    done = CliRunner().invoke(cli, ["check", str(tmp_path), "--strict"])
    assert "more than 500 files of free text" in done.output


DIGITS = ("²", "①", "9" * 5000, "٣")
TEMPLATES = {
    "env": "HIP_VISIBLE_DEVICES={d}\nROCR_VISIBLE_DEVICES={d}\nCUDA_VISIBLE_DEVICES={d},1\nHSA_OVERRIDE_GFX_VERSION={d}.3.0\n",
    "uname": "Linux x {d}.8.0-{d} y",
    "cmd/hipInfo": "device# {d}\nName: AMD\npciBusID: {d}\npciDeviceID: {d}\npciDomainID: {d}\n",
    "cmd/rocminfo": "Agent {d}\n Name: gfx{d}\n Compute Unit: {d}\n Size: {d}(0x1) KB\n",
    "cmd/amd-smi static --json": '[{{"gpu": {d}, "vram": {{"size": {d}}}}}]',
    "py/torch/version.py": "__version__ = '{d}.1+rocm6.{d}'\nhip = '6.{d}'\n",
    "py/packages": "torch=={d}.1+rocm{d}.2\n",
    "sys/module/amdgpu/version": "{d}.{d}\n",
    "opt/rocm/.info/version": "{d}.{d}.0\n",
    "sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count {d}\ngfx_target_version {d}\n",
    "log/x": "[ {d}.{d}] amdgpu 0000:{d}:00.0: ring gfx timeout\nHSA_STATUS {d}\n",
}


@pytest.mark.parametrize("digits", DIGITS)
def test_odd_digits_are_no_numbers(digits: str) -> None:
    report = pipeline.judge([Artifact(name, "bundle", text.replace("{d}", digits)) for name, text in TEMPLATES.items()], load())
    assert not [e for e in report.snapshot.errors if "crashed" in e.quote]
    assert whole(digits) is None


@pytest.mark.parametrize(
    "argv",
    [
        ["lint", ".", "--gpu", "gfx1100", "--rocm"],
        ["lint", ".", "--gpu", "gfx1100", "--python"],
        ["plan", "--gpu", "gfx1100", "--driver"],
        ["fit", "--fast", "--gpu", "gfx1100", "--model", "llama-3.2-1b", "--vram"],
    ],
)
def test_odd_digits_in_options(argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for digits in DIGITS:
        result = CliRunner().invoke(cli, [*argv, digits])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code != 4


@pytest.mark.parametrize("reader", sorted(fuzz.READERS))
def test_a_short_run_of_the_fuzzer_finds_nothing(reader: str) -> None:
    faults = [
        (number, wrong)
        for number, _, wrong, _ in fuzz.campaign(reader, range(max(10, fuzz.READERS[reader].share // 2)), 99)
        if wrong
    ]
    assert not faults


@pytest.mark.parametrize("name", ["\x1b[2J::stop-commands::x", "##[add-mask]x"])
def test_names_of_several_machines_are_as_harmless(name: str) -> None:
    reports = [pipeline.judge([], load(), source=name + str(number)) for number in range(2)]
    for format_ in ("text", "json", "markdown", "github"):
        text = render_several(format_, reports, RenderOptions())
        assert "\x1b" not in text
        assert "##[" not in text
        assert not re.search(r"^\s*::stop", text, re.MULTILINE)


def test_a_bundle_over_the_limit_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for n in range(3):
            packed.writestr(f"log/{n}.log", b"step 1 loss 2.5 .............................................\n" * 150_000)
    done = CliRunner().invoke(cli, ["check", str(tmp_path / "x.zip")])
    assert done.exit_code == 2
    assert "more than 12 MiB in all; give the files of the capture only" in done.output


def test_a_report_is_cleaned_and_redacted_once_for_all_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(name: str) -> None:
        real = getattr(delivery, name)

        def call(*args: object) -> object:
            calls.append(name)
            return real(*args)

        monkeypatch.setattr(delivery, name, call)

    counted("clean")
    counted("_redact")
    report = tmp_path / "ticket.txt"
    report.write_text("torch 2.7.0\n")
    result = CliRunner().invoke(
        cli, ["check", str(report), *(w for f in FORMATS for w in ("--format", f, "-o", str(tmp_path / f)))]
    )
    assert result.exit_code in (0, 1), result.output
    assert sorted(calls) == ["_redact", "clean"]


_ALL_SHAPES = (
    "a 12ab34cd-1234-5678-9abc-def012345678", "GPU-1234567890abcdef", "UUID=1a2b3c4d", "de:ad:be:ef:00:11", "aabb.ccdd.eeff", "host 10.20.30.40",
    "2001:db8:1:2:3:4:5:6", "jroe@lab42.example", "0123456789abcdef" * 4, "Nov  1 10:00:00 wolfram7x kernel: x",
    "2026-01-02T03:04:05 wolfram7x kernel: x", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n",
)  # fmt: skip


@pytest.mark.parametrize("text", _ALL_SHAPES)
def test_no_shape_is_passed_over_in_a_short_text(text: str) -> None:
    _by_rules, *others = find.structure_searches(text)
    assert others
    assert any(list(search) for search in others)


def test_a_name_and_version_are_searched_by_the_rules_alone() -> None:
    assert len(list(find.structure_searches("package123 1.123"))) == 1


def test_a_model_whose_name_is_longer_than_a_file_name_may_be(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("base_model: " + "o|" * 5_000 + "\n")
    done = CliRunner().invoke(cli, ["fit", "--gpu", "gfx1100", "--config", str(tmp_path / "run.yaml")])
    assert "no preset, file or folder" in done.output


def test_a_word_of_any_length_is_escaped_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text('{"torch_version": "2.5.0+r' + "gfx" * 100_000 + '"}')
    assert CliRunner().invoke(cli, ["check", str(tmp_path / "x.txt"), "--format", "markdown"]).exit_code in (0, 1)
