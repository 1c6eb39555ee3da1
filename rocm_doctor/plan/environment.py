"""An environment of Python: where its interpreter is, what is installed, and what of that goes along into a new one."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from packaging.utils import canonicalize_name

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.plan.machine import TORCH
from rocm_doctor.workers.process import run

_PROBE = r"""
import json, re, sys
from importlib.metadata import distributions
def url(dist):
    found = json.loads(dist.read_text("direct_url.json") or "{}")
    path, vcs = found.get("url", ""), found.get("vcs_info", {})
    if found.get("dir_info", {}).get("editable"):
        return "-e " + path.removeprefix("file://")
    return "%s+%s@%s" % (vcs["vcs"], path, vcs["commit_id"]) if vcs else path
packages = [[d.metadata["Name"], d.version, url(d), [re.match(r"[\w.-]+", r).group() for r in d.requires or []
             if "extra ==" not in r or r.startswith("amd-torch-device")]]
            for d in distributions() if d.metadata["Name"]]
print(json.dumps({"prefix": sys.prefix, "base": sys.base_prefix, "executable": sys.executable,
                  "version": "%d.%d" % sys.version_info[:2], "packages": packages}))
"""


_OF_ROCM = ("rocm-sdk-", "amd-torch-")
"""Beginnings of the packages that a torch of AMD's index is made of."""


class EnvironmentProblem(Exception):
    """There is no such environment, or a new one cannot be made; the text says why and what would help."""


class InstalledPackage(msgspec.Struct, frozen=True, array_like=True):
    """An installed package. `url`: where it came from, as pip takes it, if not from an index; `needs`: what it requires."""

    name: str
    version: str
    url: str = ""
    needs: tuple[str, ...] = ()

    def requirement(self) -> str:
        """It as a line of a requirements file."""
        return (
            self.url
            if self.url.startswith("-e ")
            else f"{self.name} @ {self.url}"
            if self.url
            else f"{self.name}=={self.version}"
        )


class PythonEnvironment(msgspec.Struct, frozen=True):
    """An interpreter, its environment, and the packages in it."""

    prefix: str
    base: str
    executable: str
    version: str
    packages: tuple[InstalledPackage, ...] = ()

    def versions(self) -> dict[str, str]:
        """The installed versions by canonical name."""
        return {canonicalize_name(package.name): package.version for package in self.packages}

    def packages_to_carry(self, replaced: Collection[str], framework: Collection[str] = TORCH) -> list[InstalledPackage]:
        """The packages to carry over: all except the replaced ones, the framework with its ROCm packages, and what only these
        require."""
        by_name: dict[str, InstalledPackage] = {canonicalize_name(p.name): p for p in self.packages}
        brought = _closure(framework, by_name)
        beside = {
            name: p for name, p in by_name.items() if name not in (*framework, "pip", "rocm") and not name.startswith(_OF_ROCM)
        }
        stays = _closure([name for name in beside if name not in brought], beside) - {*map(canonicalize_name, replaced)}
        return [p for name, p in beside.items() if name in stays]


def _closure(names: Collection[str], packages: dict[str, InstalledPackage]) -> set[str]:
    """Names of the installed packages among these, and of all installed packages that they require, directly or not."""
    closure: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in packages and name not in closure:
            closure.add(name)
            waiting += map(canonicalize_name, packages[name].needs)
    return closure


def read_environment(python: str) -> PythonEnvironment:
    """The environment of an interpreter. Raises EnvironmentProblem when it does not answer."""
    answered = run([python, "-I", "-c", _PROBE], limit=30.0)
    if answered.returncode != 0:
        why = "; ".join(answered.stderr.strip().splitlines()[-1:]) or answered.state
        raise EnvironmentProblem(f"{python} does not answer ({why[:200]}): make the environment anew")
    try:
        return jsons.decode(answered.stdout, PythonEnvironment)
    except Unreadable as exc:
        raise EnvironmentProblem(f"{python} answered something else: {answered.stdout.strip()[:200]}") from exc
