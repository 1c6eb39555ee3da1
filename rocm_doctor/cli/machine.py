"""What the commands judge: artifacts of this machine, with a smoke test if asked for, and of captured texts."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from rocm_doctor import pipeline
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.cli.inputs import InputError, notice_when_slow
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Report
from rocm_doctor.probes.read.printed import canonical


@contextmanager
def capture_errors() -> Iterator[None]:
    """Within this block a capture that cannot be read is an InputError."""
    from rocm_doctor.sources.bundle import BundleError

    try:
        yield
    except BundleError as exc:
        raise InputError(str(exc)) from exc


def read_captures(paths: Sequence[Path], logs: Sequence[Path] = ()) -> list[Artifact]:
    """Artifacts of captured files, folders and archives as one machine, `-` for standard input, and of failing logs. Raises InputError."""
    with capture_errors():
        stream = [artifact for path in paths if str(path) == "-" for artifact in _read_stream()]
        return stream + pipeline.read_paths([path for path in paths if str(path) != "-"], logs)


def read_each_capture(paths: Sequence[Path], logs: Sequence[Path] = ()) -> list[pipeline.Named]:
    """The captures under these paths by name, each with its artifacts; with logs all of them are one. Raises InputError."""
    from rocm_doctor.sources.bundle import read_each

    with capture_errors():
        captures = [
            capture
            for path in paths
            for capture in ([("standard input", _read_stream())] if str(path) == "-" else read_each(path))
        ]
        if not logs:
            return captures
        artifacts = [artifact for _, capture in captures for artifact in capture]
        return [(", ".join(name for name, _ in captures), artifacts + pipeline.read_paths([], logs))]


def _read_stream() -> list[Artifact]:
    from rocm_doctor.sources.bundle import read_stream

    if sys.stdin is None:
        raise InputError("standard input is closed; give a file, or pipe the text into `rocm-doctor check -`")
    return read_stream(sys.stdin.buffer)


def example_bundle() -> Path:
    """The packaged example; in a source checkout, the fixture that it is built from."""
    package = Path(__file__).parent.parent
    packaged = package / "data" / "example"
    return packaged if packaged.is_dir() else package.parent / "fixtures" / "mi50-wrong-override"


def live(
    python: str | None,
    sysroot: Path | None = None,
    logs: Sequence[Path] = (),
    *,
    smoke: bool = False,
    beside: Sequence[Artifact] = (),
) -> list[Artifact]:
    """Artifacts of this machine and those `beside` it, with the smoke test's if requested and if there are a GPU and a framework."""
    from rocm_doctor.sources.live import collect

    with notice_when_slow("still reading this machine: waiting for a tool"):
        artifacts = collect(python=python, root=sysroot or Path("/"))
    artifacts += [*(read_captures((), logs) if logs else ()), *beside]
    if was_interrupted(artifacts):
        click.echo("interrupted: the report covers what was read until then", err=True)
    elif smoke and sysroot is None and not (framework := choose_smoke_framework(artifacts)):
        click.echo("smoke test skipped: it needs a GPU, and JAX or a ROCm build of torch", err=True)
    elif smoke and sysroot is None:
        from rocm_doctor.smoke.runner import run_smoke

        artifacts += run_smoke(python, framework=framework, on_progress=lambda line: click.echo(line, err=True))
    return artifacts


def examine(python: str | None, matrix: Matrix) -> Report:
    """The report on this machine without a smoke test: plan, fix, env and fit start from what `check` says. Ctrl-C ends the command."""
    artifacts = live(python)
    if was_interrupted(artifacts):
        raise KeyboardInterrupt
    return pipeline.judge(artifacts, matrix)


def was_interrupted(artifacts: Sequence[Artifact]) -> bool:
    """True if Ctrl-C ended the reading of this machine or its smoke test."""
    return any(artifact.note == "interrupted" for artifact in artifacts)


_NO_HIP = regex(r"^hip\b[^=\n]*=\s*None\s*$", re.MULTILINE)


def choose_smoke_framework(artifacts: list[Artifact]) -> str:
    """The framework to test: torch, jax if its build is for AMD GPUs, or auto for both, or if JAX alone is installed. Empty
    without any, and without a device (the kernel's node, WSL's, or on Windows a GPU that hipInfo lists). A torch whose version
    file says that it is a build for the CPU or CUDA is not tested: what it computes says nothing of the GPU."""
    texts = {a.name: a.text for a in artifacts if not a.missing}
    node = any("exists: yes" in texts.get(name, "") for name in ("dev/kfd", "dev/dxg"))
    if not node and "device#" not in texts.get("cmd/hipInfo", ""):
        return ""
    if declared := texts.get("declared/framework"):
        framework = declared.partition(":")[2].strip()
        return framework if framework in ("torch", "jax") else ""
    names = {canonical(line.partition("==")[0]) for line in texts.get("py/packages", "").splitlines()}
    built = ["jax"] if any(name.startswith("jax-rocm") for name in names) else []
    if "py/torch/version.py" in texts:
        built += [] if _NO_HIP.search(texts["py/torch/version.py"]) else ["torch"]
        return built[0] if len(built) == 1 else "auto" if built else ""
    return "auto" if "jax" in names else ""
