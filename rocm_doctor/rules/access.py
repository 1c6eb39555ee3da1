"""Can the process open the GPU? The first obstacle is the finding; its consequences are not reported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import THE_MACHINE, Fact, Finding, Severity, Snapshot, Subject
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.findings import case_commands, comment_out, finding, gpu_subject, readings

_DENIED = "*permission denied*|*eacces*|*operation not permitted*|*eperm*"
_BOOT_IMAGE = ("sudo update-initramfs -u", "sudo dracut --force")


def access(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """At most one finding: the first missing step between the process and the GPU."""
    if snapshot.value("platform") in ("windows", "macos"):
        return
    steps = (_wsl,) if snapshot.value("wsl") is True else _STEPS
    yield from islice(filter(None, (step(snapshot, matrix) for step in steps)), 1)


def _wsl(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for WSL, which has /dev/dxg instead of /dev/kfd: only its absence can be read."""
    missing = snapshot.value("dxg.exists") is False
    return finding(matrix, "access.wsl/no-dxg", readings(snapshot, "wsl", "dxg.exists")) if missing else None


def _no_node(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a missing /dev/kfd: no GPU, a container, or the driver."""
    kind, loaded = snapshot.value("container"), snapshot.value("driver.loaded")
    if snapshot.value("kfd.exists") is not False:
        return None
    if snapshot.value("pci.gpus") == 0:
        return finding(matrix, "access.no-gpu/none-on-bus", readings(snapshot, "pci.gpus", "kfd.exists"))
    if isinstance(kind, str):
        return finding(matrix, "access.container/no-kfd", readings(snapshot, "kfd.exists", "container"), kind=kind)
    if loaded is False or (loaded is None and has_unclaimed_gpu(snapshot)):
        return _driver(snapshot, matrix)
    if loaded is True:
        return finding(matrix, "access.kfd-missing/idle-driver", readings(snapshot, "kfd.exists", "driver.loaded"))
    return finding(matrix, "access.kfd-missing/unknown-driver", readings(snapshot, "kfd.exists"))


def has_unclaimed_gpu(snapshot: Snapshot) -> bool:
    """True if no driver has claimed any of the GPUs on the bus."""
    drivers = _drivers(snapshot)
    return bool(drivers) and all(driver.value is None for driver in drivers)


def _drivers(snapshot: Snapshot) -> list[Fact]:
    """The driver of each GPU; empty where one was not read."""
    drivers = [gpu.get("driver") for gpu in snapshot.gpus if "driver" in gpu.facts]
    return drivers if len(drivers) == len(snapshot.gpus) and all(driver.known for driver in drivers) else []


def unclaimed_gpu_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a machine whose GPUs are all with other drivers, or with none although amdgpu is loaded."""
    drivers = _drivers(snapshot)
    other = next((driver for driver in drivers if driver.value is not None), None)
    if other and all(driver.value != "amdgpu" for driver in drivers):
        return _claim_finding(other, snapshot, matrix, "error", THE_MACHINE)
    if snapshot.value("driver.loaded") is True and has_unclaimed_gpu(snapshot):
        evidence = readings(snapshot, "driver.loaded") + tuple(reading for fact in drivers for reading in fact.readings)
        return finding(matrix, "access.driver-not-bound", evidence)
    return None


def _partial_claim_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a GPU that another driver than amdgpu has; None without one. It is a note, or a warning if amdgpu has only
    integrated GPUs."""
    drivers = _drivers(snapshot)
    left = [gpu for gpu, driver in zip(snapshot.gpus, drivers) if driver.value == "amdgpu"]
    severity: Severity = "warning" if all(gpu.value("is_apu") is True for gpu in left) else "note"
    for n, (gpu, driver) in enumerate(zip(snapshot.gpus, drivers)):
        if driver.value not in (None, "amdgpu"):
            return _claim_finding(driver, snapshot, matrix, severity, gpu_subject(gpu, n))
    return None


def _claim_finding(driver: Fact, snapshot: Snapshot, matrix: Matrix, severity: Severity, subject: Subject) -> Finding:
    """The finding for a GPU that another driver has claimed, with the commands that take the settings of vfio-pci out."""
    if driver.value != "vfio-pci":
        case = "access.driver-not-bound/claimed"
        return finding(matrix, case, driver.readings, severity=severity, subject=subject, value=driver.value)
    cmdline, options = snapshot.get("cmdline"), snapshot.get("driver.vfio")
    words = [one for one in str(cmdline.value or "").split() if one.startswith("vfio-pci.ids=")]
    off = [*(c for word in words for c in case_commands(matrix, "access.driver-not-loaded/boot-line", value=word))]
    off += matrix.classify(_comment_command(options))
    places = " and ".join([*words, *([f"the line of /{options.value}"] if isinstance(options.value, str) else [])])
    return finding(
        matrix,
        "access.driver-not-bound/vfio",
        (*driver.readings, *(cmdline.readings if words else ()), *options.readings),
        severity=severity,
        subject=subject,
        commands=(*off, *_BOOT_IMAGE) if off else None,
        places=places or "the setting that gives the GPU to vfio-pci",
    )


def _driver(snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding for a missing amdgpu: the driver if an AMD GPU is on the bus, else the missing GPU."""
    evidence = readings(snapshot, "kfd.exists", "driver.loaded")
    file, word = snapshot.get("driver.blacklisted"), snapshot.get("nomodeset")
    if snapshot.gpus_listed and not snapshot.gpus:
        return finding(matrix, "access.no-gpu/none-listed", evidence)
    if isinstance(file.value, str):
        commands = (*_comment_command(file), *_BOOT_IMAGE)
        evidence += file.readings
        return finding(matrix, "access.driver-not-loaded/blacklist", evidence, commands=commands, file=file.value)
    if isinstance(word.value, str):
        return finding(matrix, "access.driver-not-loaded/boot-line", evidence + word.readings, value=word.value)
    if snapshot.value("driver.on_disk") is False:
        return finding(matrix, "access.driver-not-loaded/no-module", evidence + readings(snapshot, "driver.on_disk"))
    if snapshot.value("secure_boot") is True:
        return finding(matrix, "access.driver-not-loaded/secure-boot", evidence + readings(snapshot, "secure_boot"))
    return finding(matrix, "access.driver-not-loaded/unknown-reason", evidence)


def _comment_command(file: Fact) -> tuple[str, ...]:
    """The command that comments out the line of modprobe.d that the fact was read from."""
    line = next((n for r in file.readings if (n := r.place.removeprefix("line ")).isdigit()), "")
    return comment_out(line, f"/{file.value}") if line else ()


def _driver_refusal(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a node whose open fails for another reason than permissions: the driver did not enable compute."""
    error = snapshot.value("kfd.error")
    if not isinstance(error, str) or _is_denied(snapshot) or "no such file" in error.casefold():
        return None
    return finding(matrix, "access.driver-not-loaded/refused", readings(snapshot, "kfd.error"), error=error)


def _is_denied(snapshot: Snapshot) -> bool:
    return holds("word", _DENIED, snapshot.get("kfd.error")) is True


def permission_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a device node that this user may not open, or None where all open."""
    closed = snapshot.value("kfd.openable") is False or _is_denied(snapshot)
    if not closed and snapshot.value("render.openable") is not False:
        return None
    node, name = ("/dev/kfd", "kfd") if closed else ("the render node", "render")
    known = [n for n in (f"{name}.openable", f"{name}.error", f"{name}.gid", "user.groups") if _has_value(snapshot, n)]
    evidence, group, joined = readings(snapshot, *known), snapshot.value(f"{name}.group"), snapshot.value("user.joined")
    if isinstance(snapshot.value("container"), str):
        return finding(matrix, "access.container/closed-node", evidence, node=node)
    if snapshot.value("user.root") is True:
        return finding(matrix, "access.container/closed-to-root", evidence + readings(snapshot, "user.root"), node=node)
    if isinstance(joined, tuple) and group in joined:
        evidence += readings(snapshot, "user.joined")
        return finding(matrix, "access.permission/old-login", evidence, node=node, group=group)
    if _is_member(snapshot, name):
        names = [n for n in ("user.member_of", "user.groups") if _has_value(snapshot, n)][:1]
        return finding(matrix, "access.permission/member", evidence + readings(snapshot, *names), node=node)
    group = group if isinstance(group, str) and group != "root" else "render,video"
    return finding(matrix, "access.permission/no-member", evidence, node=node, group=group)


def _is_member(snapshot: Snapshot, name: str) -> bool:
    """True if the user is in the group that owns the node, or rocminfo states a group membership."""
    owner, groups = snapshot.value(f"{name}.group"), snapshot.value("user.groups")
    in_owner = isinstance(owner, str) and isinstance(groups, tuple) and owner in groups
    return isinstance(snapshot.value("user.member_of"), str) or in_owner


def _has_value(snapshot: Snapshot, name: str) -> bool:
    fact = snapshot.get(name)
    return fact.known and fact.value is not None


def _no_render_node(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a missing render node, which HIP opens besides /dev/kfd."""
    if snapshot.value("render.nodes") != () or snapshot.value("kfd.exists") is not True:
        return None
    kind, evidence = snapshot.value("container"), readings(snapshot, "render.nodes", "kfd.exists")
    if isinstance(kind, str):
        return finding(matrix, "access.container/no-render-node", evidence, kind=kind)
    return finding(matrix, "access.driver-not-bound/no-render-node", evidence)


def _topology_hidden(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for unreadable KFD nodes: the cgroup's device filter hides those GPUs from the process."""
    denied = snapshot.get("kfd.denied")
    return finding(matrix, "access.container/hidden", readings(snapshot, "kfd.denied")) if denied.known and denied.value else None


def no_gpu_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a node that opens while the kernel's topology lists no GPU."""
    if snapshot.value("kfd.openable") is not True:
        return None
    evidence = readings(snapshot, *(n for n in ("kfd.nodes", "kfd.openable") if _has_value(snapshot, n)))
    if snapshot.gpus_listed and not snapshot.gpus:
        return finding(matrix, "access.no-gpu/none-in-topology", evidence)
    return finding(matrix, "access.driver-not-bound/no-compute", evidence) if snapshot.value("kfd.nodes") == 0 else None


def _runtime_dead(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for an HSA runtime that fails although the device opens: rocminfo died, hung, or printed an HSA error."""
    names = [n for n in ("hsa.status", "tool.rocminfo") if isinstance(snapshot.value(n), str)]
    status = snapshot.value(names[0]) if names else ""
    return finding(matrix, "access.runtime/rocminfo", readings(snapshot, *names), status=status) if names else None


_STEPS = (
    unclaimed_gpu_finding,
    _no_node,
    _driver_refusal,
    permission_finding,
    _no_render_node,
    _topology_hidden,
    no_gpu_finding,
    _runtime_dead,
    _partial_claim_finding,
)
