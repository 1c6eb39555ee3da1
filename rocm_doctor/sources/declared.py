"""A target that is declared in place of this machine, and the environment that is judged for it.

Nothing of this machine's kernel, driver or devices is read: the GPU is somewhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.model import Artifact

if TYPE_CHECKING:
    from rocm_doctor.sources.live.python import Interpreter

TARGET = "declared/target"


class DeclaredMachine(msgspec.Struct, frozen=True):
    """The machine that an environment is for; an empty field is not declared.

    gpu: gfx target. rocm, driver, kernel: releases; `driver: inbox` is the kernel's own. os: linux, windows or wsl. where: the place
    that declares it, for people.
    """

    gpu: str
    rocm: str = ""
    driver: str = ""
    kernel: str = ""
    os: str = "linux"
    where: str = "command line"


def target_artifact(target: DeclaredMachine) -> Artifact:
    """The target as text, one `key: value` a line, for probes/text/declared.py."""
    driver = "adrenalin" if target.os == "windows" else "driver"
    declared = {"gpu": target.gpu, "rocm": target.rocm, driver: target.driver, "kernel": target.kernel, "os": target.os}
    fields = {key: value for key, value in declared.items() if value}
    return Artifact(TARGET, "declared", "".join(f"{key}: {value}\n" for key, value in fields.items()), note=target.where)


def collect_environment(examined: Interpreter, root: Path, env: Mapping[str, str] | None) -> list[Artifact]:
    """The environment of an interpreter, and the ROCm and system around it, below `root`. `env`: the variables in force there; None:
    not known."""
    from rocm_doctor.sources.live.code import code_objects
    from rocm_doctor.sources.live.env import environment
    from rocm_doctor.sources.live.files import read, resolve
    from rocm_doctor.sources.live.python import interpreter_files
    from rocm_doctor.sources.live.rocm import rocm_files

    os_release = resolve(root, root / "etc/os-release")
    release = read(root, str(os_release.relative_to(root) if os_release.is_file() else "usr/lib/os-release"))
    variables = [] if env is None else [environment(env)]
    found = interpreter_files(examined)
    return [*release, *variables, *rocm_files(root, env or {}), *found, *code_objects(found, root, env or {})]


def package_list(packages: Mapping[str, str], python: str = "") -> list[Artifact]:
    """An environment of which only the packages are known: versions by name, with the local part of the wheel (2.9.1+rocm6.4)."""
    text = "".join(f"{name}=={version}\n" for name, version in sorted(packages.items()))
    about = f"version: {python}\n" if python else ""
    return [Artifact("py/packages", "declared", text), Artifact("py/interpreter", "declared", about)]
