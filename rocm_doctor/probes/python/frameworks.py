"""What JAX and TensorFlow were built for, from the names and versions of the installed packages; nothing is imported.

JAX's GPU comes as two packages of one version, a plugin and a PJRT client, and their name has the ROCm: jax-rocm7-plugin is for
ROCm 7, jax-rocm60-plugin for 6.0. tensorflow-rocm has it as the last part of its version: 2.14.0.600 is for ROCm 6.0.

    ==> py/packages <==
    jax==0.11.2
    jaxlib==0.11.2
    jax-rocm7-pjrt==0.11.2
    jax-rocm7-plugin==0.10.2
    tensorflow-rocm==2.14.0.600

>>> print(probe(sample))
jax.build = rocm
jax.rocm = 7
jax.plugin = 0.10.2
jax.parts = differ
tensorflow.build = rocm
tensorflow.rocm = 6.0
"""

from __future__ import annotations

from collections.abc import Mapping

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import canonical

_PART = regex(r"jax-(rocm|cuda)(\d+)-(plugin|pjrt)")
_TENSORFLOW = {"tensorflow-rocm": "rocm", "tensorflow-cpu": "cpu", "tensorflow": "cuda"}
"""PyPI's tensorflow for Linux is a CUDA build, which runs on the CPU where there is no CUDA."""
_RELEASE = regex(r"\d+\.\d+\.\d+\.(\d)(\d)\d")
Found = Mapping[str, tuple[str, Reading]]


def probe(artifacts: Artifacts) -> ProbeResult:
    """jax.* and tensorflow.*, where these packages are installed."""
    result = ProbeResult()
    source = artifacts.get("py/packages")
    if source is None or source.missing:
        return result
    found: dict[str, tuple[str, Reading]] = {}
    for number, line in enumerate(source.text.splitlines(), 1):
        name, equals, version = line.strip().partition("==")
        if equals:
            found.setdefault(canonical(name), (version.strip(), Reading(source.name, f"line {number}", line.strip())))
    if "jax" in found:
        _jax(result, found)
    for name, build in _TENSORFLOW.items():
        if name in found:
            version, reading = found[name]
            result.record("tensorflow.build", build, reading)
            release = _RELEASE.fullmatch(version)
            if build == "rocm" and release:
                result.record("tensorflow.rocm", f"{release[1]}.{release[2]}", reading)
            break
    return result


def _jax(result: ProbeResult, found: Found) -> None:
    """The build by its plugin, or by the PJRT client without one; whether all parts have jax's version."""
    parts = {match[3]: (match, *found[name]) for name in sorted(found) if (match := _PART.fullmatch(name))}
    if not parts:
        result.record("jax.build", "cpu", found["jax"][1])
        return
    match, version, reading = parts.get("plugin") or parts["pjrt"]
    result.record("jax.build", match[1], reading)
    if match[1] == "rocm":
        result.record("jax.rocm", match[2] if len(match[2]) < 2 or match[2] == "10" else f"{match[2][0]}.{match[2][1]}", reading)
    if "plugin" in parts:
        result.record("jax.plugin", version, reading)
    same = {_public(found["jax"][0]), *(_public(part[1]) for part in parts.values())}
    result.record("jax.parts", "same" if len(same) == 1 and len(parts) == 2 else "differ", reading)


def _public(version: str) -> str:
    """The release that a part goes with: without the local part and a rebuild's number (0.9.1.post6, 0.9.1+rocm7.13)."""
    return version.partition("+")[0].partition(".post")[0]
