"""The amdgpu kernel driver: loaded or not, in-tree or AMD's DKMS build, and what keeps it from loading.

AMD's DKMS build writes its version to /sys/module/amdgpu/version; the in-tree driver has no such file. `initstate` exists for
loadable modules only.

    ==> sys/module/amdgpu/version <==
    6.12.12
    ==> etc/modprobe.d/blacklist-amdgpu.conf <==
    blacklist amdgpu

>>> print(probe(sample))
driver.loaded = yes
driver.version = 6.12.12
driver.blacklisted = etc/modprobe.d/blacklist-amdgpu.conf
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.keyed import absence, first_value, read_keys
from rocm_doctor.probes.read.printed import leading_version
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

MODULE = "sys/module/amdgpu"
_BLACKLIST = regex(r"^\s*(?:blacklist\s+amdgpu\b|install\s+amdgpu\s+/(?:usr/)?bin/(?:true|false)\b)")
_VFIO = regex(r"^\s*options\s+vfio[-_]pci\s(?:.*[\s,])?ids=\S*1002:")


def probe(artifacts: Artifacts) -> ProbeResult:
    """Of the amdgpu module: driver.{loaded,version,on_disk,blacklisted,vfio,others} and ttm.pages_limit."""
    result = ProbeResult()
    _read_loaded(result, artifacts)
    _record_version(result, artifacts)
    _record_modprobe_settings(result, artifacts)
    _record_other_drivers(result, artifacts)
    for name in ("amdttm", "ttm"):
        limit = first_value(artifacts.get(f"sys/module/{name}/parameters/pages_limit"))
        if limit and limit.number is not None:
            result.record("ttm.pages_limit", limit.number, limit.reading)
            break
    return result


def _record_other_drivers(result: ProbeResult, artifacts: Artifacts) -> None:
    """driver.others: GPU drivers that are loaded beside amdgpu."""
    modules = read_keys(artifacts.get("proc/modules"))
    names = [name for name in ("nvidia", "nouveau", "radeon", "vfio_pci") if name in modules]
    if names:
        result.record("driver.others", tuple(names), modules[names[0]].reading)


def _read_loaded(result: ProbeResult, artifacts: Artifacts) -> None:
    """driver.loaded: from the module's folder, else from the kernel's list of modules."""
    nothing = absence(artifacts.get(MODULE))
    inside = next((a for a in artifacts if a.name.startswith(MODULE) and not a.missing), None)
    listed = read_keys(artifacts.get("proc/modules")).get("amdgpu")
    state = first_value(artifacts.get(f"{MODULE}/initstate"))
    if state:
        result.record("driver.loaded", state.value == "live", state.reading)
    elif listed:
        result.record("driver.loaded", True, listed.reading)
    elif inside:
        result.record("driver.loaded", True, Reading(inside.name, "", inside.text.strip()[:80]))
    elif nothing:
        result.record("driver.loaded", False, nothing)
        result.record("driver.version", None, nothing)
    for listing in artifacts.like("lib/modules/*"):
        if not listing.missing:
            found = listing.text.strip()
            quote = found.partition(":")[0] or "no amdgpu.ko among the modules of this kernel"
            result.record("driver.on_disk", bool(found), Reading(listing.name, "", quote[:200]))


def _record_version(result: ProbeResult, artifacts: Artifacts) -> None:
    """The loaded module's version. Without the module there is none, whatever packages are installed."""
    source = artifacts.get(f"{MODULE}/version")
    nothing, stated = absence(source), first_value(source)
    number = leading_version(stated.value) if stated else None
    if stated and number:
        result.record("driver.version", number, stated.reading)
    elif nothing:
        result.record("driver.version", None, nothing)


def _record_modprobe_settings(result: ProbeResult, artifacts: Artifacts) -> None:
    """driver.blacklisted and driver.vfio, each from the first line of a file that says so."""
    for artifact in artifacts.like("etc/modprobe.d/*"):
        for name, pattern in (("driver.blacklisted", _BLACKLIST), ("driver.vfio", _VFIO)):
            found = next(((n, line) for n, line in enumerate(artifact.text.splitlines(), 1) if pattern.match(line)), None)
            if found:
                number, line = found
                result.record(name, artifact.name, Reading(artifact.name, f"line {number}", line.strip()[:200]))
