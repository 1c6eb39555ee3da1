"""The environment variables that matter to ROCm and training. Secrets are never read into an artifact."""

from __future__ import annotations

from collections.abc import Mapping

from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.variables import NAMES, PREFIXES

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
    lines = (f"{name}={_harmless(value)}\n" for name, value in {**kept, **only_set}.items())
    return Artifact("env", "live", "".join(lines))


def _matters(name: str) -> bool:
    wanted = name in NAMES or name in ALSO or name.startswith(PREFIXES)
    return wanted and not any(part in _SECRET for part in name.upper().split("_"))


def _harmless(value: str) -> str:
    """The value on one line; withheld where it looks like a credential all the same."""
    suspicious = ("hf_", "ghp_", "github_pat_", "sk-", "xox", "AKIA", "eyJ", "glpat-")
    if value.startswith(suspicious) or ("://" in value and "@" in value):
        return "<withheld>"
    return " ".join(value.splitlines())[:4096]
