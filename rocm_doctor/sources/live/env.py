"""The environment variables that matter to ROCm and training. Secrets are never read into an artifact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.variables import NAMES, PREFIXES
from rocm_doctor.sources.live.files import read_all

ALSO = (
    "PYTHONNOUSERSITE", "CONDA_DEFAULT_ENV", "WSL_DISTRO_NAME", "container", "APPTAINER_NAME", "SINGULARITY_NAME", "TOOLBOX_PATH",
    "DISTROBOX_ENTER_PATH", "SLURM_JOB_ID", "MKL_THREADING_LAYER",
)  # fmt: skip
"""Variables that show where the process runs, besides those that ROCm and training read."""
ENV_ONLY_SET = ("KUBERNETES_SERVICE_HOST",)
"""Variables whose presence matters and whose value is private."""
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASS", "CREDENTIALS", "AUTH", "APIKEY")


def environment(env: Mapping[str, str]) -> Artifact:
    """The variables that matter to ROCm and training, `NAME=value` a line, never one that may hold a secret."""
    kept = {name: value for name, value in sorted(env.items()) if _matters(name)}
    only_set = {name: "set" for name in ENV_ONLY_SET if name in env}
    lines = (f"{name}={_withhold_secret(value)}\n" for name, value in {**kept, **only_set}.items())
    return Artifact("env", "live", "".join(lines))


_OF_USER = (".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".config/fish/config.fish")
_OF_SYSTEM = ("etc/environment", "etc/profile", "etc/bash.bashrc", "etc/bashrc", "etc/profile.d/*")
_SETS = regex(r"\s*(?:export\s+|set\s+-\w+\s+)?([A-Z][A-Z0-9_]*)[= ]\s*[\"']?([^\s\"';#]*)")


def startup_files(root: Path, env: Mapping[str, str]) -> Iterator[Artifact]:
    """`user/FILE` and `etc/FILE`, of each line of a start-up file that sets a variable which matters `NAME=value`."""
    if home := env.get("HOME", "").strip("/"):
        for one in read_all(root, *(f"{home}/{name}" for name in _OF_USER), keep=_settings):
            yield msgspec.structs.replace(one, name=f"user/{one.name.removeprefix(home + '/')}")
    yield from read_all(root, *_OF_SYSTEM, keep=_settings)


def _settings(text: str) -> str:
    """The settings in a text; each other line is left empty, so that lines keep their numbers."""
    lines = map(_SETS.match, text.splitlines())
    return "".join(f"{hit[1]}={_withhold_secret(hit[2])}\n" if hit and _matters(hit[1]) else "\n" for hit in lines)


def _matters(name: str) -> bool:
    wanted = name in NAMES or name in ALSO or name.startswith(PREFIXES)
    return wanted and not any(part in _SECRET for part in name.upper().split("_"))


def _withhold_secret(value: str) -> str:
    """The value on one line; withheld where it looks like a credential all the same."""
    suspicious = ("hf_", "ghp_", "github_pat_", "sk-", "xox", "AKIA", "eyJ", "glpat-")
    if value.startswith(suspicious) or ("://" in value and "@" in value):
        return "<withheld>"
    return " ".join(value.splitlines())[:4096]
