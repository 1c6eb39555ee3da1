"""Whatever a bundle holds: `check`, `probe` and every format end in bounded time, and what was left out is said."""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rocm_doctor import pipeline
from rocm_doctor.bounded.numbers import whole
from rocm_doctor.cli import cli, common
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.limits import LINES
from rocm_doctor.redaction import find, rules
from rocm_doctor.redaction.shared import redact_artifacts
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.reports.several import render_several
from rocm_doctor.sources.paste import cut
from rocm_doctor.training.literals import read_yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
fuzz = importlib.import_module("fuzz")
bench = importlib.import_module("bench_bundles")
KNOWN = (
    "cmd/rocminfo", "cmd/rocm-smi -a", "cmd/amd-smi static --json", "cmd/clinfo", "cmd/hipconfig", "env", "proc/cpuinfo", "proc/modules",
    "user/groups", "py/packages", "smoke/results.jsonl",
)  # fmt: skip


@pytest.mark.timed
def test_a_bundle_of_nothing_but_short_lines() -> None:
    artifacts = [Artifact(name, "bundle", "a=b\n" * (2 << 20)) for name in KNOWN]
    artifacts.append(Artifact("log/train.log", "bundle", "step\n" * (1 << 20)))
    start = time.process_time()
    report = pipeline.judge(artifacts, load())
    assert {e.artifact for e in report.snapshot.errors if "too long" in e.quote} == set(KNOWN)
    assert report.verdict == "undetermined"
    for format_ in FORMATS:
        render(format_, report, RenderOptions())
    assert time.process_time() - start < 10
    assert f"only the first {LINES} lines" in render("text", report, RenderOptions())


@pytest.mark.timed
@pytest.mark.parametrize("line", ["V{n}=x\n", "p{n}==1.0\n"])
def test_names_without_end(line: str) -> None:
    text = "".join(line.format(n=n) for n in range(200_000))
    start = time.process_time()
    report = pipeline.judge([Artifact("env", "bundle", text), Artifact("py/packages", "bundle", text)], load())
    for format_ in FORMATS:
        render(format_, report, RenderOptions())
    assert time.process_time() - start < 10


@pytest.mark.slow
def test_more_files_than_anybody_reads(tmp_path: Path) -> None:
    for n in range(600):
        (tmp_path / f"note-{n}.txt").write_text("HIP error: invalid device function\n")
    done = CliRunner().invoke(cli, ["check", str(tmp_path), "--strict"])
    assert "more than 500 files of free text" in done.output


@pytest.mark.timed
def test_a_device_with_a_long_run_of_blanks_in_its_name() -> None:
    line = f"03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi{' ' * 400}31]\n"
    start = time.process_time()
    seen = pipeline.read_facts(cut(line, "paste"), load())
    assert seen.gpus
    assert time.process_time() - start < 5


@pytest.mark.timed
def test_a_line_of_quotation_marks() -> None:
    start = time.process_time()
    assert cut("> " * (4 << 20) + "x", "paste")
    assert time.process_time() - start < 5


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
@pytest.mark.parametrize("name", TEMPLATES)
def test_odd_digits_are_no_numbers(name: str, digits: str) -> None:
    report = pipeline.judge([Artifact(name, "bundle", TEMPLATES[name].replace("{d}", digits))], load())
    assert not [e for e in report.snapshot.errors if "crashed" in e.quote]
    assert whole(digits) is None


@pytest.mark.parametrize(
    "argv",
    [
        ["lint", ".", "--gpu", "gfx1100", "--rocm"],
        ["lint", ".", "--gpu", "gfx1100", "--python"],
        ["plan", "--gpu", "gfx1100", "--driver"],
        ["fit", "--gpu", "gfx1100", "--model", "llama-3.2-1b", "--vram"],
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


@pytest.mark.timed
@pytest.mark.parametrize(
    "piece",
    [
        "APIKEY=",
        "-----BEGIN PRIVATE KEY-----",
        " token ",
        "://",
        "hostname: a\n",
        "Bearer ",
        "[a@b ~",
        "h:1:2 [0] NCCL INFO ",
        "--api-key ",
    ],
)
def test_redaction_takes_no_longer_than_its_text(piece: str) -> None:
    start = time.process_time()
    redact_artifacts([Artifact("log/x", "bundle", piece * (500_000 // len(piece)))])
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["\x1b[2J::stop-commands::x", "##[add-mask]x"])
def test_names_of_several_machines_are_as_harmless(name: str) -> None:
    reports = [pipeline.judge([], load(), source=name + str(number)) for number in range(2)]
    for format_ in ("text", "json", "markdown", "github"):
        text = render_several(format_, reports, RenderOptions())
        assert "\x1b" not in text
        assert "##[" not in text
        assert not re.search(r"^\s*::stop", text, re.MULTILINE)


@pytest.mark.timed
@pytest.mark.skipif(sys.platform != "linux", reason="reads what a child used from the kernel")
@pytest.mark.parametrize("content", ["prompts", "one key", "short lines", "emoji and letters that grow", "NCCL"])
def test_the_largest_bundles_take_ten_seconds_and_300_mib(content: str, tmp_path: Path) -> None:
    """`python scripts/bench_bundles.py` tries all contents, commands and formats."""
    bench.bundle(content, tmp_path / "x.zip")
    for command in (["check", "--format", "json"], ["probe", "--format", "json"], ["bundle", "-o", str(tmp_path / "out.zip")]):
        used = bench.used(command[0], str(tmp_path / "x.zip"), *command[1:])
        assert used.seconds < bench.SECONDS
        assert used.memory < bench.MEMORY
        assert used.code in (0, 1)


def test_a_bundle_over_the_limit_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for n in range(3):
            packed.writestr(f"log/{n}.log", b"step 1 loss 2.5 .............................................\n" * 150_000)
    done = CliRunner().invoke(cli, ["check", str(tmp_path / "x.zip")])
    assert done.exit_code == 2
    assert "more than 12 MiB in all; give the files of the capture only" in done.output


@pytest.mark.timed
def test_folders_of_packages_named_again_and_again() -> None:
    start = time.process_time()
    pipeline.judge(
        cut("by_keyinclude-system-site-packages." * 1_700 + "\n/venv/lib/python3.12/site-packages/x\n", "paste"), load()
    )
    assert time.process_time() - start < 4


@pytest.mark.timed
@pytest.mark.parametrize("filler", ["a1.", "1.", "ab", "0", "-", " ", "\t", "a ", "'", "\\", "a/", "a,", "a=", "a:", "a@"])
def test_no_rule_of_redaction_is_slow_behind_its_hint(filler: str) -> None:
    """A long run of anything behind a hint: one try of one rule takes no time to speak of."""
    searched = find._rules()
    slow = []
    for rule, pattern in zip(searched._rules, searched._patterns):
        for hint in rule.hints:
            text = f"x {hint}{filler * (9_000 // len(filler))} x"
            start = time.process_time()
            _ = rules.TRIED[rule.at](pattern, text, 2) if rule.at in rules.TRIED else pattern.match(text, 2)
            if time.process_time() - start > 0.5:
                slow.append((rule.pattern.source, hint))
    assert not slow


def test_a_report_is_cleaned_and_redacted_once_for_all_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(name: str) -> None:
        real = getattr(common, name)

        def call(*args: object) -> object:
            calls.append(name)
            return real(*args)

        monkeypatch.setattr(common, name, call)

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
    "2001:db8:1:2:3:4:5:6", "jroe@lab42.example", "0123456789abcdef" * 4, "/scratch/jroe9/x", "Nov  1 10:00:00 wolfram7x kernel: x",
    "2026-01-02T03:04:05 wolfram7x kernel: x", "2026-01-02 03:04:05 wolfram7x kernel: x", "USER PID %CPU\njroe9 1 0.0", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n",
)  # fmt: skip


@pytest.mark.parametrize("text", _ALL_SHAPES)
def test_no_shape_is_passed_over_in_a_short_text(text: str) -> None:
    _by_rules, *others = find.by_structure(text)
    assert others
    assert any(list(search) for search in others)


def test_a_name_and_version_are_searched_by_the_rules_alone() -> None:
    assert len(list(find.by_structure("package123 1.123"))) == 1


PRINTED = (
    "*******\nAgent 2\n*******\n  Name:                    gfx1100\n  Marketing Name:          Radeon RX 7900 XTX\nPyTorch version: 2.8.0+rocm6.4\n"
    "[ 12.345678] amdgpu 0000:03:00.0: amdgpu: ring gfx timeout\nHIP error: invalid device function\n"
)
CHARACTERS = [*map(chr, range(32, 127)), "\t", *"─═│█▌"]
PAIRS = [a + b for a in CHARACTERS for b in CHARACTERS if a != b]


def _judged(text: str) -> None:
    pipeline.judge(cut(text, "paste"), load(), kind="capture")


def _redacted(text: str) -> None:
    redact_artifacts([Artifact("log/x", "paste", text)])


def _seconds(work: Callable[[str], None], text: str) -> float:
    start = time.process_time()
    work(text)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("work", [_judged, _redacted])
@pytest.mark.parametrize("before", ["", PRINTED])
@pytest.mark.parametrize("behind", ["", "\n" + PRINTED])
def test_a_banner_of_any_character_is_read_in_linear_time(work: Callable[[str], None], before: str, behind: str) -> None:
    """Banners of `#`, `=` or box characters are in every log: 50 KB take a third of a second, quadratic patterns took minutes."""
    for character in CHARACTERS:
        for text in (character * 50_000, f"{character * 25}\n" * 2_000):
            assert _seconds(work, before + text + behind) < 1.5, character


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("work", [_judged, _redacted])
def test_pairs_of_characters_are_read_in_linear_time(work: Callable[[str], None]) -> None:
    """Every pair is tried by its turn: each run takes a 20th of the 10,000."""
    for pair in PAIRS[random.randrange(20) :: 20]:
        assert _seconds(work, pair * 6_000) < 1, pair


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("unit", ["#", "=", "- ", "* ", "─", "::", "a/", "\\n", "<>", "{}", "[[", "``", "(("])
def test_every_command_reads_a_banner_in_linear_time(unit: str, tmp_path: Path) -> None:
    """Four times the text takes at most six times as long."""

    def seconds(size: int) -> dict[str, float]:
        text = PRINTED + unit * (size // len(unit)) + "\n" + PRINTED
        (tmp_path / "x.txt").write_text(text)
        issue = {"number": 1, "title": "x", "body": text, "user": {"login": "x"}}
        (tmp_path / "event.json").write_text(json.dumps({"action": "opened", "issue": issue}))
        took = {}
        for words in ("check x.txt", "probe x.txt", "bundle x.txt -o x.zip", "diff x.txt x.txt", "triage event.json"):
            argv = [str(tmp_path / word) if "." in word else word for word in words.split()]
            start = time.process_time()
            done = CliRunner().invoke(cli, argv)
            took[words] = time.process_time() - start
            assert done.exit_code in (0, 1), done.output
        return took

    seconds(1_000)
    short, long = seconds(50_000), seconds(200_000)
    assert not {words: (short[words], long[words]) for words in long if long[words] > 6 * short[words] + 0.2}


REPOSITORIES: dict[str, tuple[str, Callable[[int], str]]] = {
    "arms of a case": ("run.sh", lambda n: 'case "$1" in\n' + "".join(f"a{k}) pip install torch==2.{k % 9}.0;;\n" for k in range(n)) + "esac\n"),
    "variables that double": ("Makefile", lambda n: "".join(f"A{k}=$(A{k + 1})$(A{k + 1})\n" for k in range(n)) + "all:\n\tpip install $(A0)\n"),
    "one long line": ("run.sh", lambda n: "pip install " + " ".join(f"p{k}==1.0" for k in range(10 * n)) + "\n"),
    "a long banner": ("run.sh", lambda n: "#" * 500 * n + "\npip install torch\n"),
    "blocks in blocks": ("run.sh", lambda n: "if true; then\n" * n + "pip install torch\n" + "fi\n" * n),
    "loops in loops": ("run.sh", lambda n: f"for a in {' '.join(map(str, range(n)))}; do " * 3 + "pip install torch==$a; " + "done; " * 3 + "\n"),
    "arguments that double": ("Dockerfile", lambda n: "FROM rocm/pytorch\n" + "".join(f"ARG A{k}=$A{k - 1}$A{k - 1}\n" for k in range(n))),
    "quotes without end": ("run.sh", lambda n: "\"'`$(" * 10 * n),
    "lists that take themselves": ("requirements.txt", lambda n: "-r requirements.txt\n" * n),
}  # fmt: skip


@pytest.mark.timed
@pytest.mark.parametrize("kind", REPOSITORIES)
def test_lint_reads_any_kind_of_repetition_in_bounded_time(kind: str, tmp_path: Path) -> None:
    name, made = REPOSITORIES[kind]
    (tmp_path / name).write_text(made(200))
    start = time.process_time()
    done = CliRunner().invoke(cli, ["lint", str(tmp_path), "--gpu", "gfx1100"])
    assert time.process_time() - start < 3
    assert done.exit_code in (0, 1, 3), done.output


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x85", "\u2028"])
def test_a_value_of_a_configuration_is_found_behind_any_end_of_a_line(end: str) -> None:
    text = f"a: é{end}b: two{end}"
    leaf = read_yaml(text)["b"]
    assert text[leaf.start : leaf.end] == "two"
