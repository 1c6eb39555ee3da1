"""ROCm installations: which exist, of which release, and which one the loader takes.

A library's full file name holds its version: librocm-core.so.1.0.60401 is ROCm 6.4.1.

    ==> opt/rocm-6.4.1/.info/version <==
    6.4.1-83
    ==> etc/ld.so.conf.d/rocm.conf <==
    /opt/rocm-6.4.1/lib

>>> print(probe(sample))
rocm.installations = /opt/rocm-6.4.1=6.4.1
rocm.source = opt
rocm.version = 6.4.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.keyed import absence, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_VERSION = regex(r"^(.+)/\.info/version$")
_LISTING = regex(r"^(.+)/\.listing$")
_RELEASE = regex(r"(\d+\.\d+(?:\.\d+)?(?:(?:a|b|rc|\.dev)\d+)?)(?:[-.]\S*)?$")
_CORE = regex(r"librocm-core\.so\.\d+\.\d+\.(\d{1,2})(\d{2})(\d{2})$", re.MULTILINE)
_RUNTIME = ("libamdhip64.so", "libhsa-runtime64.so")
_OF_SYSTEM = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib64/rocm", "usr/lib", "usr/local/lib")
_SYSTEM = ("usr/lib", "lib/", "lib64", "usr/local/lib")


class Installation(NamedTuple):
    """A ROCm installation: its folder (without leading slash), its release if stated, and where that was read."""

    place: str
    version: str | None
    source: str
    reading: Reading


def probe(artifacts: Artifacts) -> ProbeResult:
    """rocm.{version,installations,source,on_path}: of several the release that the loader takes, else the link /opt/rocm."""
    result = ProbeResult()
    link = _link(artifacts)
    found = _installations(artifacts, link)
    path = read_keys(artifacts.get("env"), "=").get("LD_LIBRARY_PATH")
    folders = [part.strip("/") for part in path.value.split(":") if part.startswith("/")] if path else []
    holders = (_holder(found, _resolve(folder, link)) for folder in _loader_folders(artifacts, folders))
    chosen = next(filter(None, holders), None) or found.get(_resolve("opt/rocm", link))
    if len(found) == 1:
        chosen = next(iter(found.values()))
    if found:
        result.record("rocm.installations", tuple(map(_installation_name, found.values())), next(iter(found.values())).reading)
    elif nothing := absence(artifacts.get("opt/rocm")):
        result.record("rocm.installations", (), nothing)
    if chosen:
        result.record("rocm.source", chosen.source, chosen.reading)
    if chosen and chosen.version:
        result.record("rocm.version", chosen.version, chosen.reading)
    if path:
        holders = (_holder(found, _resolve(folder, link)) for folder in folders)
        result.record(
            "rocm.on_path", tuple(dict.fromkeys(_installation_name(holder) for holder in holders if holder)), path.reading
        )
    return result


def _installations(artifacts: Artifacts, link: str | None) -> dict[str, Installation]:
    """Installations by folder; the link /opt/rocm and its target count once."""
    found: dict[str, Installation] = {}
    for artifact in artifacts:
        one = _read_version_file(artifact, artifacts) or _version_of_library(artifact)
        if one:
            place = _resolve(one.place, link)
            if place not in found or (found[place].version is None and one.version):
                found[place] = one._replace(place=place)
    return found


def _link(artifacts: Artifacts) -> str | None:
    """The target of the link /opt/rocm, without leading slash."""
    link = read_keys(artifacts.get("opt/rocm"), ":").get("link")
    return (link.value if link.value.startswith("/") else f"/opt/{link.value}").strip("/") if link else None


def _resolve(folder: str, link: str | None) -> str:
    """The folder with the link /opt/rocm resolved."""
    under = folder == "opt/rocm" or folder.startswith("opt/rocm/")
    return f"{link}{folder[len('opt/rocm') :]}" if link and under else folder


def _read_version_file(artifact: Artifact, artifacts: Artifacts) -> Installation | None:
    """The installation that a `.info/version` file describes."""
    found = _VERSION.match(artifact.name)
    if not found or artifact.missing:
        return None
    text = artifact.text.strip().splitlines()[0].strip() if artifact.text.strip() else ""
    release = _RELEASE.match(text)
    place = found.group(1)
    therock = "rocm_sysdeps" in (artifacts.text(f"{place}/lib/.listing") or "") or re.search(r"/core(?:-[\d.]+)?$", place)
    return Installation(
        place, release.group(1) if release else None, "therock" if therock else "opt", Reading(artifact.name, "", text[:80])
    )


def _version_of_library(artifact: Artifact) -> Installation | None:
    """The installation that a runtime library belongs to: the distribution's, or a folder without a version file."""
    found = _LISTING.match(artifact.name)
    if not found or artifact.missing or artifact.name.startswith("py/") or not _has_runtime(artifact.text):
        return None
    folder = found.group(1)
    core = _CORE.search(artifact.text)
    version = ".".join(str(int(part)) for part in core.groups()) if core else None
    system = folder.startswith(_SYSTEM)
    place = folder if system else folder.rpartition("/")[0]
    quote = core.group() if core else next(line for line in artifact.text.splitlines() if line.startswith(_RUNTIME))
    return Installation(place, version, "distribution" if system else "opt", Reading(artifact.name, "", quote))


def _has_runtime(text: str) -> bool:
    return any(line.startswith(_RUNTIME) for line in text.splitlines())


def _loader_folders(artifacts: Artifacts, path: list[str]) -> Iterator[str]:
    """The folders that hold the HIP runtime, in the loader's order: LD_LIBRARY_PATH (`path`), ld.so.conf.d, the system's."""
    configured = [line.strip() for artifact in artifacts.like("etc/ld.so.conf.d/*") for line in artifact.text.splitlines()]
    for folder in (*path, *(line.strip("/") for line in configured if line.startswith("/")), *_OF_SYSTEM):
        if "libamdhip64.so" in (artifacts.text(f"{folder}/.listing") or ""):
            yield folder


def _installation_name(one: Installation) -> str:
    return f"/{one.place}={one.version or '?'}"


def _holder(found: dict[str, Installation], folder: str) -> Installation | None:
    """The installation to which a library folder belongs."""
    return found.get(folder) or found.get(folder.rpartition("/")[0])
