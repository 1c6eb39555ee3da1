"""`check --gpu`: an installed environment, judged for GPUs that need not be here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from rocm_doctor import pipeline
from rocm_doctor.bounded.files import head
from rocm_doctor.cli.common import (
    InputError,
    completes,
    interpreter,
    machine_options,
    options,
    resolve_gpu,
    this_system,
)
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Report
from rocm_doctor.sources.declared import Target

DECLARED = "declared"
target_options = options(
    click.option(
        "--gpu",
        "gpus",
        multiple=True,
        shell_complete=completes("targets"),
        help="Judge the installed environment for this GPU (gfx1100, 'RX 7900 XTX') and not this machine; `declared`: for the "
        "targets of [tool.rocm-doctor] or rocm-doctor.yaml here. Repeatable.",
    ),
    click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
        help="With --gpu: an unpacked image or a mounted file system to judge; --python is a path inside it.",
    ),
    machine_options,
)


def targets(gpus: Sequence[str], root: Path | None, given: Target, matrix: Matrix) -> list[Target]:
    """The targets that --gpu names, each once; InputError for an unknown GPU, or where none is declared.

    given: what the other options declare of each of them.
    """
    if not gpus and (root or given != Target("", os="")):
        raise InputError("--root, --rocm, --driver, --kernel and --os declare a machine for --gpu: name its GPU")
    here = Path()
    found = [
        one
        for gpu in gpus
        for one in (_read_targets(here, given) if gpu == DECLARED else [msgspec.structs.replace(given, gpu=gpu)])
    ]
    named = (
        msgspec.structs.replace(
            one, gpu=resolve_gpu(one.gpu, matrix, f" ({one.where})" * (one.where != given.where)), os=one.os or this_system()
        )
        for one in found
    )
    return list({one.gpu: one for one in named}.values())


def _read_targets(folder: Path, given: Target) -> list[Target]:
    """The targets that a repository declares. An option of the command line counts before the same field of a target."""
    from rocm_doctor.lint import policy
    from rocm_doctor.lint.tree import Tree

    found = []
    for one in policy.read(Tree(folder)).targets:
        where = f"{one.place.file} line {one.place.line}" if one.place else given.where
        fields = {key: getattr(given, key) or getattr(one, key) for key in ("rocm", "driver", "os")}
        found.append(Target(one.gpu, kernel=given.kernel, where=where, **fields))
    if not found:
        raise InputError(
            "--gpu declared: no targets in [tool.rocm-doctor] of pyproject.toml or in rocm-doctor.yaml in this folder"
        )
    return found


def framework_of_repository(gpus: Sequence[str]) -> str:
    """With `--gpu declared`: the one framework that the repository here imports; empty for none, or for several."""
    if DECLARED not in gpus:
        return ""
    from rocm_doctor.lint.readers import find_frameworks
    from rocm_doctor.lint.tree import Tree

    found = list(find_frameworks(Tree(Path())))
    return found[0] if len(found) == 1 else ""


def declares_targets() -> bool:
    """True if the current folder seems to declare targets."""
    files = [Path(name) for name in ("rocm-doctor.yaml", "rocm-doctor.yml", "pyproject.toml")]
    texts = {file.name: head(file, 1 << 16) for file in files if file.is_file()}
    return any(b"targets" in text and (name != "pyproject.toml" or b"tool.rocm-doctor" in text) for name, text in texts.items())


def judge(
    wanted: Sequence[Target],
    python: str | None,
    root: Path | None,
    matrix: Matrix,
    ignore: Sequence[str],
    named: Sequence[Artifact] = (),
) -> tuple[list[Report], list[Artifact]]:
    """A report for each target on one environment, and what was read of it; `named` is the framework of --framework. InputError if
    there is no interpreter."""
    from rocm_doctor.sources.declared import collect_environment
    from rocm_doctor.sources.live.python import interpreter_in_root, locate

    here = Path("/")
    examined = interpreter_in_root(python, root) if root else locate(interpreter(python), here, os.environ)
    if isinstance(examined, str):
        raise InputError(examined)
    read = [*collect_environment(examined, root or here, None if root else os.environ), *named]
    name = str(root or examined.prefix)
    return [pipeline.judge_environment(read, one, matrix, source=name, ignore=ignore) for one in wanted], read
