"""The command line as a user meets it: exit codes, and errors that name the remedy.

`run` calls it here; `child` starts it as `python -m rocm_doctor`, where the exit itself is judged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema
import pytest
from called import called as run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocm_doctor.cli import COMMANDS, cli
from rocm_doctor.cli.delivery import Reporting
from rocm_doctor.model import Finding, Report, Snapshot

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
REPORT_SCHEMA = json.loads((ROOT / "rocm_doctor" / "schemas" / "report.json").read_text(encoding="utf-8"))


def child(*args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "rocm_doctor", *args]
    return subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env})


def test_help_has_every_command_and_examples() -> None:
    text = child("--help").stdout
    assert all(name in text for name in COMMANDS)
    assert "rocm-doctor check --example" in text


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(name: str) -> None:
    done = run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage: rocm-doctor" in done.stdout


def test_the_example_gives_a_whole_verdict() -> None:
    done = run("check", "--example")
    assert done.returncode == 1
    assert "arch.override-wrong" in done.stdout
    assert "unset HSA_OVERRIDE_GFX_VERSION" in done.stdout


def test_a_healthy_machine_gets_one_screen_and_one_line_when_quiet() -> None:
    done = run("check", str(FIXTURES / "rx7900xtx-ready"))
    assert done.returncode == 0
    assert "\n✓ ready to train" in done.stdout
    assert len(done.stdout.splitlines()) <= 20
    assert run("check", "-q", str(FIXTURES / "rx7900xtx-ready")).stdout.startswith("✓ ready to train")


@pytest.mark.parametrize(("fixture", "code"), [("windows-cpu-wheel", 1), ("rx7900xtx-ready", 0)])
def test_the_exit_code_does_not_depend_on_the_format(fixture: str, code: int) -> None:
    assert {run("check", str(FIXTURES / fixture), "--format", form).returncode for form in ("json", "junit")} == {code}


def test_json_keeps_to_its_schema() -> None:
    for fixture in ("mi50-wrong-override", "rx7900xtx-ready"):
        jsonschema.validate(json.loads(run("check", str(FIXTURES / fixture), "--format", "json").stdout), REPORT_SCHEMA)


def test_several_formats_at_once(tmp_path: Path) -> None:
    a, b = tmp_path / "a.sarif", tmp_path / "b.json"
    done = run("check", "--example", "--format", "sarif", "-o", str(a), "--format", "json", "-o", str(b))
    assert done.returncode == 1
    assert json.loads(a.read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert json.loads(b.read_text(encoding="utf-8"))["verdict"] == "problems"


def test_a_pasted_report_from_standard_input() -> None:
    done = run("check", "-", "--format", "json", stdin="RX 6600\nRuntimeError: Found no NVIDIA driver on your system.\n")
    assert json.loads(done.stdout)["findings"][0]["id"] == "version.torch-not-rocm"


def test_fail_on_and_ignore_decide_the_exit_code() -> None:
    path = str(FIXTURES / "windows-cpu-wheel")
    assert run("check", path, "--fail-on", "never").returncode == 0
    assert run("check", path, "--ignore", "version.torch-not-rocm").returncode == 0


def test_a_file_that_cannot_be_written_is_the_users_to_mend(tmp_path: Path) -> None:
    for words in (
        ["plan", "--gpu", "gfx1100", "--format", "json"],
        ["check", str(FIXTURES / "rx7900xtx-ready"), "--format", "json"],
        ["bundle", str(FIXTURES / "rx7900xtx-ready")],
    ):
        done = run(*words, "-o", str(tmp_path / "none" / "x"))
        assert (done.returncode, "No such file" in done.stderr) == (2, True), done.stderr


def test_env_without_a_gpu_says_how_to_name_one() -> None:
    assert "--gpu gfx1100" in run("env").stderr
    assert "rocm-doctor plan" not in run("env").stderr


def test_strict_tells_undetermined_from_ready() -> None:
    assert run("check", "-", stdin="hello").returncode == 0
    assert run("check", "-", "--strict", stdin="hello").returncode == 3


def test_a_baseline_leaves_out_what_is_known(tmp_path: Path) -> None:
    path, base = str(FIXTURES / "windows-cpu-wheel"), tmp_path / "base.json"
    run("check", path, "--format", "json", "-o", str(base))
    assert run("check", path, "--baseline", str(base)).returncode == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["check", "no-such-file.txt"], "no-such-file.txt"),
        (["check", "--format", "pdf"], "pdf"),
        (["explain", "arch.notin-bild"], "`arch.not-in-build`"),
        (["no-such-command"], "no-such-command"),
        (["check", "--example", "-o", "a", "-o", "b"], "one --format for each -o"),
    ],
)
def test_usage_errors_name_the_fault(args: list[str], words: str) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_damaged_bundle_says_so(tmp_path: Path) -> None:
    bad = tmp_path / "ticket.zip"
    bad.write_bytes(b"PK\x03\x04 and nothing of a zip")
    done = run("check", str(bad))
    assert (done.returncode, "ticket.zip" in done.stderr) == (2, True)


def test_a_fault_of_our_own_is_a_ticket() -> None:
    code = "import rocm_doctor.cli.check as c, rocm_doctor.cli as m, sys; c.pipeline.judge = None; "
    code += "sys.argv[1:] = ['check', '--example']; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4
    assert "```" in done.stderr
    assert str(ROOT.parent) not in done.stderr, "no path of this machine"


def test_a_bundle_is_redacted_and_replays(tmp_path: Path) -> None:
    ticket = tmp_path / "ticket.zip"
    assert run("bundle", str(FIXTURES / "two-rx7900xt-rccl-hang"), "-o", str(ticket)).returncode == 0
    assert {"report.json", "report.md", "artifacts.json"} <= set(zipfile.ZipFile(ticket).namelist())
    ids = [f["id"] for f in json.loads(run("check", str(ticket), "--format", "json").stdout)["findings"]]
    assert ids[0] == "platform.iommu"


def test_the_last_line_tells_a_warning_from_an_error(tmp_path: Path) -> None:
    text = tmp_path / "report.md"
    text.write_text("HIP error: an illegal memory access was encountered\n", encoding="utf-8")
    done = run("check", str(text))
    assert (done.returncode, "✗" in done.stdout) == (0, False), done.stdout
    text.write_text("HIP error: invalid device function\n", encoding="utf-8")
    assert "\n✗ the binary" in run("check", str(text)).stdout


def test_no_colour_codes_into_a_pipe() -> None:
    assert "\x1b" not in run("check", "--example").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of Unix")
def test_text_is_as_wide_as_the_terminal() -> None:
    import fcntl
    import pty
    import struct
    import termios

    longest = []
    for columns in (60, 100):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        argv = [sys.executable, "-m", "rocm_doctor", "check", str(FIXTURES / "rx7900xtx-ready")]
        env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"NO_COLOR": "1"}
        subprocess.run(argv, stdout=theirs, stderr=subprocess.DEVNULL, timeout=60, check=True, env=env)
        longest.append(max(map(len, os.read(ours, 1 << 16).decode().splitlines())))
    assert longest[0] <= 60 < 80 < longest[1] <= 100, longest


def test_completion_scripts() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "rocm-doctor" in run("completion", shell).stdout


def test_a_reader_that_goes_away_is_no_fault() -> None:
    done = subprocess.run(
        f"{sys.executable} -m rocm_doctor check --example -v | head -1", shell=True, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
    assert "itself failed" not in done.stderr


def _report(severities: list[str], verdict: str) -> Report:
    found = tuple(Finding(id="x", title="t", severity=s, confidence="high", cause="c") for s in severities)  # type: ignore[arg-type]
    return Report(1, "0", "0", verdict, "s", found, (), Snapshot())  # type: ignore[arg-type]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(["error", "warning", "note"])),
    st.sampled_from(["ready", "problems", "undetermined"]),
    st.sampled_from(["error", "warning", "note", "never"]),
    st.booleans(),
)
def test_the_exit_code_is_a_function_of_the_report(severities: list[str], verdict: str, fail_on: str, strict: bool) -> None:
    order = ["error", "warning", "note"]
    reached = fail_on != "never" and any(order.index(s) <= order.index(fail_on) for s in severities)
    want = 1 if reached else 3 if strict and verdict == "undetermined" else 0
    assert Reporting(fail_on=fail_on, strict=strict).exit_code(_report(severities, verdict)) == want


@pytest.mark.skipif(sys.platform == "win32", reason="Unix names of standard output")
def test_an_output_that_is_standard_output_keeps_what_others_wrote(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    with log.open("w") as file:
        file.write("before\n")
        file.flush()
        subprocess.run(
            [
                sys.executable,
                "-m",
                "rocm_doctor",
                "check",
                "-q",
                str(FIXTURES / "rx7900xtx-ready"),
                "--format",
                "text",
                "-o",
                "/dev/stdout",
            ],
            stdout=file,
            check=True,
            cwd=tmp_path,
        )
    assert log.read_text(encoding="utf-8").startswith("before\n")
    assert "ready to train" in log.read_text(encoding="utf-8")


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield from commands(found, f"{path}{name} ") if isinstance(found, click.Group) else [(f"{path}{name}", found)]


def test_the_same_flag_means_the_same_on_every_command() -> None:
    """A format goes with a file to write; --gpu names a target and --os a system; --python is spelled alike."""
    for name, command in commands(cli):
        flags = {flag: one for one in command.params for flag in one.opts}
        assert ("--format" in flags) <= ("-o" in flags), name
        if "--gpu" in flags:
            assert flags["--gpu"].type.name == "text", name
        if "--os" in flags:
            assert getattr(flags["--os"].type, "choices", None) == ("linux", "windows", "wsl"), name
        if "--verbose" in flags:
            assert "-v" in flags, name
