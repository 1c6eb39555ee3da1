"""`check --gpu`: an installed environment, judged for GPUs that need not be here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from rocm_doctor import pipeline
from rocm_doctor.cli.inputs import InputError, interpreter, resolve_gpu, this_system
from rocm_doctor.cli.options import FOLDER, F, gather, gpu_option, machine_options, options
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Report
from rocm_doctor.sources.declared import DeclaredMachine

DECLARED = "declared"


class Gate(NamedTuple):
    """What the options of `gate_options` say: the GPUs, the image that holds the environment, and what is declared of each machine."""

    gpus: tuple[str, ...]
    root: Path | None
    rocm: str
    driver: str
    kernel: str
    system: str | None

    def targets(self, matrix: Matrix) -> list[DeclaredMachine]:
        """The targets that --gpu names, each once; none without --gpu. InputError for an unknown GPU, or where none is declared."""
        given = DeclaredMachine("", self.rocm, self.driver, self.kernel, self.system or "")
        if not self.gpus and any(self[1:]):
            raise InputError("--root, --rocm, --driver, --kernel and --os declare a machine for --gpu: name its GPU")
        targets = [
            target
            for gpu in self.gpus
            for target in (_read_targets(given) if gpu == DECLARED else [msgspec.structs.replace(given, gpu=gpu)])
        ]
        places = {target: "" if target.where == given.where else f" ({target.where})" for target in targets}
        resolved = (
            msgspec.structs.replace(target, gpu=resolve_gpu(target.gpu, matrix, place), os=target.os or this_system())
            for target, place in places.items()
        )
        return list({target.gpu: target for target in resolved}.values())


def gate_options(command: F) -> F:
    """The options of a command that judges for a GPU elsewhere, as one argument `gate`."""
    gpu = gpu_option(
        "Judge the installed environment for this GPU (gfx1100, 'RX 7900 XTX') and not this machine; `declared`: for the "
        "targets of [tool.rocm-doctor] or rocm-doctor.yaml here. Repeatable.",
        multiple=True,
    )
    root = click.option(
        "--root",
        type=FOLDER,
        help="With --gpu: an unpacked image or a mounted file system to judge; --python is a path inside it.",
    )
    return gather("gate", Gate, options(gpu, root, machine_options))(command)


def _read_targets(given: DeclaredMachine) -> list[DeclaredMachine]:
    """The targets that the repository here declares. A field that the command line gives replaces that of each target. Raises
    InputError if none is declared."""
    from rocm_doctor.lint import policy
    from rocm_doctor.lint.tree import Tree

    targets = []
    for target in policy.read(Tree(Path())).targets:
        where = f"{target.place.file} line {target.place.line}" if target.place else given.where
        fields = {key: getattr(given, key) or getattr(target, key) for key in ("rocm", "driver", "os")}
        targets.append(DeclaredMachine(target.gpu, kernel=given.kernel, where=where, **fields))
    if not targets:
        raise InputError(
            "--gpu declared: no targets in [tool.rocm-doctor] of pyproject.toml or in rocm-doctor.yaml in this folder"
        )
    return targets


def judge(
    targets: Sequence[DeclaredMachine],
    python: str | None,
    root: Path | None,
    matrix: Matrix,
    ignore: Sequence[str] = (),
    beside: Sequence[Artifact] = (),
) -> tuple[list[Report], list[Artifact]]:
    """(reports, artifacts): a report for each target on one environment, and what was read of it with the artifacts `beside` it.
    Raises InputError if there is no interpreter."""
    from rocm_doctor.sources.declared import collect_environment
    from rocm_doctor.sources.live.python import interpreter_in_root, locate

    base = root.resolve() if root else Path("/")
    examined = interpreter_in_root(python, base) if root else locate(interpreter(python), base, os.environ)
    if isinstance(examined, str):
        raise InputError(examined)
    artifacts = [*collect_environment(examined, base, None if root else os.environ), *beside]
    name = str(base if root else examined.prefix)
    return [pipeline.judge_environment(artifacts, target, matrix, source=name, ignore=ignore) for target in targets], artifacts
