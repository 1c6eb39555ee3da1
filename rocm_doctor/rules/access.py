"""Does the process get at the device? The first thing that is in the way is the finding, and what follows is not said twice."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.commands import filled
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading, Snapshot
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.findings import finding, readings

_DENIED = ("*permission denied*", "*eacces*", "*operation not permitted*", "*eperm*")

_WHY_NOT_LOADED = {
    "driver.blacklisted": "a file of modprobe.d keeps it out",
    "nomodeset": "the kernel command line blocks it",
    "secure_boot": "secure boot may have refused the module",
}


def access(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """At most one finding: the first step on the way to the device that is not there."""
    if snapshot.get("platform").value in ("windows", "macos"):
        return
    steps = (_wsl,) if snapshot.get("wsl").value is True else _STEPS
    found = next(filter(None, (step(snapshot, matrix) for step in steps)), None)
    if found:
        yield found


def _no_node(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    if snapshot.get("kfd.exists").value is not False:
        return None
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
    if snapshot.get("dxg.exists").value is False:
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
        owner = filled("{gid}", gid=gid) or ("$(stat -c %g /dev/kfd)",)
        commands: tuple[str, ...] = (f"docker run --device=/dev/kfd --device=/dev/dri --group-add {owner[0]} IMAGE",)
        return finding(
            matrix,
            "access.container",
            title=f"{node} is in the container but closed to this user",
            evidence=evidence,
            commands=commands,
        )
    if snapshot.get("user.root").value is True:
        return _refused_to_root(snapshot, matrix, node, evidence)
    if _in_group(snapshot, name):
        return _refused_to_member(snapshot, matrix, node, evidence)
    groups = group if isinstance(group, str) and group != "root" else "render,video"
    commands = filled("sudo usermod -a -G {group} $LOGNAME", group=groups)
    return finding(matrix, "access.permission", title=f"this user may not open {node}", evidence=evidence, commands=commands)


def _in_group(snapshot: Snapshot, name: str) -> bool:
    """Whether the user is in the group that owns the node, or in one that rocminfo takes for it."""
    if isinstance(snapshot.get("user.member_of").value, str):
        return True
    owner, groups = snapshot.get(f"{name}.group").value, snapshot.get("user.groups").value
    return isinstance(owner, str) and isinstance(groups, tuple) and owner in groups


def _refused_to_root(snapshot: Snapshot, matrix: Matrix, node: str, evidence: tuple[Reading, ...]) -> Finding:
    """Groups do not bind root: a container's device rules, a user namespace or SELinux does."""
    return finding(
        matrix,
        "access.container",
        title=f"root may not open {node}: a container or a security policy refuses it",
        cause="The node's group does not apply to root. A container without the device, a user namespace or SELinux refuses the open.",
        advice="Pass /dev/kfd and /dev/dri into the container. With SELinux, add `--security-opt label=disable`.",
        evidence=evidence + readings(snapshot, "user.root"),
        commands=("docker run --device=/dev/kfd --device=/dev/dri --security-opt label=disable IMAGE",),
    )


def _refused_to_member(snapshot: Snapshot, matrix: Matrix, node: str, evidence: tuple[Reading, ...]) -> Finding:
    names = [n for n in ("user.member_of", "user.groups") if _said(snapshot, n)][:1]
    return finding(
        matrix,
        "access.permission",
        title=f"this user may not open {node}, although a group of the user owns it",
        cause="Membership counts from the next login on. It does not help where the node belongs to another group, or in a container "
        "that maps groups to other numbers.",
        advice="Log out and in again. If that does not help, compare the numbers of the node's group and of yours.",
        evidence=evidence + readings(snapshot, *names),
        commands=("id; ls -ln /dev/kfd /dev/dri",),
    )


def _said(snapshot: Snapshot, name: str) -> bool:
    fact = snapshot.get(name)
    return fact.known and fact.value is not None


def _no_render_node(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """/dev/kfd alone is half the way: HIP opens the card's render node too."""
    if snapshot.get("render.nodes").value != () or snapshot.get("kfd.exists").value is not True:
        return None
    kind = snapshot.get("container").value
    return finding(
        matrix,
        "access.container" if isinstance(kind, str) else "access.driver-not-loaded",
        title="/dev/kfd is there and no render node is" + (f": pass /dev/dri into this {kind} container too" if kind else ""),
        evidence=readings(snapshot, "render.nodes", "kfd.exists"),
    )


def _topology_hidden(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """Nodes of the topology that may not be read: the control group's device filter hides those cards from the process."""
    if not snapshot.get("kfd.denied").value or not snapshot.get("kfd.denied").known:
        return None
    return finding(
        matrix,
        "access.container",
        title="the kernel refuses to show GPUs to this process",
        cause="Nodes of the KFD topology may not be read: a device filter of the control group hides them.",
        evidence=readings(snapshot, "kfd.denied"),
    )


def _no_gpu_listed(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The node is there and open, and the kernel's topology has no GPU behind it."""
    if snapshot.get("kfd.openable").value is not True:
        return None
    if snapshot.gpus_listed and not snapshot.gpus:
        title, diagnosis = "no AMD GPU visible, because the kernel's topology lists none", "access.no-gpu"
    elif snapshot.get("kfd.nodes").value == 0:
        title, diagnosis = "amdgpu has not started this GPU for compute", "access.driver-not-loaded"
    else:
        return None
    evidence = readings(snapshot, *(n for n in ("kfd.nodes", "kfd.openable") if _said(snapshot, n)))
    return finding(matrix, diagnosis, title=title, evidence=evidence, settle="sudo dmesg | grep -E 'amdgpu|kfd'")


def _runtime_dead(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The way is open and the HSA runtime still does not come up: rocminfo died, hung, or ended with an error of HSA."""
    names = [n for n in ("hsa.status", "tool.rocminfo") if isinstance(snapshot.get(n).value, str)]
    if not names:
        return None
    return finding(
        matrix,
        "access.runtime",
        title=f"the HSA runtime does not come up (rocminfo: {snapshot.get(names[0]).value})",
        evidence=readings(snapshot, *names),
        severity="warning",
        confidence="low",
    )


_STEPS = (_no_node, _refused_by_driver, _not_permitted, _no_render_node, _topology_hidden, _no_gpu_listed, _runtime_dead)
