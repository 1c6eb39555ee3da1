"""The amdgpu kernel driver: loaded or not, in-tree or AMD's DKMS build, changed parameters, and what keeps it from loading.

Defaults of the parameters: Linux drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c. AMD's DKMS build writes its version to
/sys/module/amdgpu/version; the in-tree driver has no such file. `initstate` exists for loadable modules only.

    ==> sys/module/amdgpu/version <==
    6.12.12
    ==> sys/module/amdgpu/parameters/ppfeaturemask <==
    0xffffffff
    ==> etc/modprobe.d/blacklist-amdgpu.conf <==
    blacklist amdgpu

>>> print(probe(sample))
driver.loaded = True
driver.version = 6.12.12
driver.builtin = False
driver.blacklisted = etc/modprobe.d/blacklist-amdgpu.conf
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.keyed import absence, first_value, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import leading_version

MODULE = "sys/module/amdgpu"
DEFAULTS = {
    "noretry": "-1", "gttsize": "-1", "vramlimit": "0", "vis_vramlimit": "0", "gartsize": "-1", "dpm": "-1", "runpm": "-1",
    "aspm": "-1", "msi": "-1", "bapm": "-1", "gpu_recovery": "-1", "ras_enable": "-1", "vm_size": "-1", "vm_block_size": "-1",
    "vm_fragment_size": "-1", "vm_fault_stop": "0", "vm_update_mode": "-1", "exp_hw_support": "0", "sched_policy": "0",
    "cwsr_enable": "1", "ignore_crat": "0", "debug_largebar": "0", "halt_if_hws_hang": "0", "no_system_mem_limit": "N",
    "send_sigterm": "0", "discovery": "-1", "fw_load_type": "-1", "ip_block_mask": "4294967295", "lockup_timeout": "",
    "reset_method": "-1", "num_kcq": "-1", "no_queue_eviction_on_vm_fault": "0", "disable_cu": "(null)",
    "virtual_display": "(null)", "force_asic_type": "-1", "emu_mode": "0", "compute_multipipe": "-1",
}  # fmt: skip
"""Parameters whose default is the same in all kernels that ROCm supports (gartsize prints as an unsigned -1 in some)."""
_SAME = {"4294967295": "-1", "0xffffffff": "4294967295", "": "(null)"}
_BLACKLIST = regex(r"^\s*(?:blacklist\s+amdgpu\b|install\s+amdgpu\s+/(?:usr/)?bin/(?:true|false)\b)")
_VFIO = regex(r"^\s*options\s+vfio[-_]pci\s(?:.*[\s,])?ids=\S*1002:")


def probe(artifacts: Artifacts) -> ProbeResult:
    """driver.{loaded,builtin,version,on_disk,parameters,blacklisted,vfio,others} and ttm.pages_limit."""
    result = ProbeResult()
    _read_loaded(result, artifacts)
    _record_version(result, artifacts)
    _record_parameters(result, artifacts)
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
        result.record("driver.builtin", False, stated.reading)
    elif nothing:
        result.record("driver.version", None, nothing)
        result.record("driver.builtin", True, nothing)


def _record_parameters(result: ProbeResult, artifacts: Artifacts) -> None:
    """driver.parameters: `name=value` of every parameter that differs from its known default."""
    found = [(a.name.rpartition("/")[2], a) for a in artifacts.like(f"{MODULE}/parameters/*")]
    known = [(name, _value(a.text), a) for name, a in found if name in DEFAULTS]
    changed = [(f"{name}={value}", a) for name, value, a in known if _normal_value(value) != _normal_value(DEFAULTS[name])]
    if known:
        source = changed[0][1] if changed else known[0][2]
        quote = ", ".join(words for words, _ in changed) or f"{len(known)} parameters are at their defaults"
        result.record("driver.parameters", tuple(words for words, _ in changed), Reading(source.name, "", quote[:200]))


def _value(text: str) -> str:
    return " ".join(text.split())[:80]


def _normal_value(value: str) -> str:
    """The value in one spelling; kernels print -1 unsigned, an empty string as `(null)` and a mask in hexadecimal."""
    return _SAME.get(_SAME.get(value, value), _SAME.get(value, value))


def _record_modprobe_settings(result: ProbeResult, artifacts: Artifacts) -> None:
    """driver.blacklisted and driver.vfio, each from the first line of a file that says so."""
    for artifact in artifacts.like("etc/modprobe.d/*"):
        for name, pattern in (("driver.blacklisted", _BLACKLIST), ("driver.vfio", _VFIO)):
            found = next(((n, line) for n, line in enumerate(artifact.text.splitlines(), 1) if pattern.match(line)), None)
            if found:
                number, line = found
                result.record(name, artifact.name, Reading(artifact.name, f"line {number}", line.strip()[:200]))
