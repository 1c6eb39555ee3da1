"""Does the process get at the device? The first thing that is in the way is the finding, and what follows is not said twice."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Snapshot
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.findings import finding, readings

_DENIED = ("*permission denied*", "*eacces*", "*operation not permitted*", "*eperm*")

_WHY_NOT_LOADED = {
    "driver.blacklisted": "a file of modprobe.d keeps it out",
    "nomodeset": "the kernel command line blocks it",
    "secure_boot": "secure boot may have refused the module",
}


def access(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """At most one finding: the first of no device, no driver, not passed into the container, not permitted."""
    if snapshot.get("platform").value in ("windows", "macos"):
        return
    found = (
        _no_node(snapshot, matrix)
        or _refused_by_driver(snapshot, matrix)
        or _not_permitted(snapshot, matrix)
        or _no_gpu_listed(snapshot, matrix)
    )
    if found:
        yield found


def _no_node(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    if snapshot.get("kfd.exists").value is not False or snapshot.get("wsl").value is True:
        return _wsl(snapshot, matrix)
    evidence = readings(snapshot, "kfd.exists")
    if snapshot.get("pci.gpus").value == 0:
        return _nothing_there(snapshot, matrix)
    if isinstance(snapshot.get("container").value, str):
        title = f"no AMD GPU visible, because /dev/kfd is not passed into this {snapshot.get('container').value} container"
        return finding(matrix, "access.container", title=title, evidence=evidence + readings(snapshot, "container"))
    if _unclaimed(snapshot) or snapshot.get("driver.loaded").value is False:
        return _driver(snapshot, matrix)
    if snapshot.get("driver.loaded").value is True:
        return finding(matrix, "access.kfd-missing", evidence=evidence + readings(snapshot, "driver.loaded"))
    return finding(
        matrix, "access.kfd-missing", evidence=evidence, confidence="low", settle="lsmod | grep amdgpu; lspci -nn -d 1002:"
    )


def _wsl(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """In WSL there is no /dev/kfd; /dev/dxg takes its place, and only a missing one is a fault that can be read."""
    if snapshot.get("wsl").value is True and snapshot.get("dxg.exists").value is False:
        return finding(
            matrix, "access.wsl", title="/dev/dxg is missing in this WSL", evidence=readings(snapshot, "wsl", "dxg.exists")
        )
    return None


def _unclaimed(snapshot: Snapshot) -> bool:
    return any(g.get("driver").known and g.get("driver").value is None and "driver" in g.facts for g in snapshot.gpus)


def _nothing_there(snapshot: Snapshot, matrix: Matrix) -> Finding:
    return finding(
        matrix,
        "access.no-gpu",
        title="no AMD GPU visible, because no AMD display device is on the PCI bus",
        evidence=readings(snapshot, "pci.gpus", "kfd.exists"),
    )


def _driver(snapshot: Snapshot, matrix: Matrix) -> Finding:
    """amdgpu is not there: with a card in the machine it is the driver, without one there is nothing to drive."""
    evidence = readings(snapshot, "kfd.exists", "driver.loaded")
    if snapshot.gpus_listed and not snapshot.gpus:
        title = "no AMD GPU visible, because the kernel lists none and amdgpu is not loaded"
        return finding(matrix, "access.no-gpu", title=title, evidence=evidence)
    why = next((words for name, words in _WHY_NOT_LOADED.items() if snapshot.get(name).value not in (None, False)
                and snapshot.get(name).known), "")  # fmt: skip
    more = readings(snapshot, *(n for n in _WHY_NOT_LOADED if _said(snapshot, n) and snapshot.get(n).value is not False))
    return finding(
        matrix, "access.driver-not-loaded", title="amdgpu is not loaded" + (f": {why}" if why else ""), evidence=evidence + more
    )


def _refused_by_driver(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The node is there, and the open fails for another reason than permissions: the driver did not take the GPU for compute."""
    error = snapshot.get("kfd.error")
    if not isinstance(error.value, str) or _denied(snapshot) or "no such file" in error.value.casefold():
        return None
    return finding(
        matrix,
        "access.driver-not-loaded",
        title=f"no AMD GPU visible, because the driver refuses to open /dev/kfd ({error.value})",
        cause="Permissions are not what is in the way. amdgpu is there and did not start this GPU for compute; its log says why.",
        evidence=readings(snapshot, "kfd.error"),
        severity="warning",
        confidence="low",
        advice="Read what the kernel says of kfd and amdgpu.",
        commands=(),
        settle="sudo dmesg | grep -E 'kfd|amdgpu'",
    )


def _denied(snapshot: Snapshot) -> bool:
    return any(holds("word", p, snapshot.get("kfd.error")) is True for p in _DENIED)


def _not_permitted(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    denied = _denied(snapshot)
    if snapshot.get("kfd.openable").value is not False and snapshot.get("render.openable").value is not False and not denied:
        return None
    node = "/dev/kfd" if snapshot.get("kfd.openable").value is False or denied else "the render node"
    name = "kfd" if node == "/dev/kfd" else "render"
    evidence = readings(
        snapshot, *(n for n in (f"{name}.openable", f"{name}.error", f"{name}.gid", "user.groups") if _said(snapshot, n))
    )
    group, gid = snapshot.get(f"{name}.group").value, snapshot.get(f"{name}.gid").value
    if isinstance(snapshot.get("container").value, str):
        commands = (f"docker run --device=/dev/kfd --device=/dev/dri --group-add {gid or '$(stat -c %g /dev/kfd)'} ...",)
        return finding(
            matrix,
            "access.container",
            title=f"{node} is in the container but closed to this user",
            evidence=evidence,
            commands=commands,
        )
    commands = (f"sudo usermod -a -G {group if isinstance(group, str) and group != 'root' else 'render,video'} $LOGNAME",)
    return finding(matrix, "access.permission", title=f"this user may not open {node}", evidence=evidence, commands=commands)


def _said(snapshot: Snapshot, name: str) -> bool:
    fact = snapshot.get(name)
    return fact.known and fact.value is not None


def _no_gpu_listed(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The node is there and open, and the kernel lists no GPU behind it."""
    if not snapshot.gpus_listed or snapshot.gpus or snapshot.get("kfd.openable").value is not True:
        return None
    return finding(
        matrix,
        "access.no-gpu",
        title="no AMD GPU visible, because the kernel's topology lists none",
        evidence=readings(snapshot, "kfd.openable"),
        settle="sudo dmesg | grep -E 'amdgpu|kfd'",
    )
