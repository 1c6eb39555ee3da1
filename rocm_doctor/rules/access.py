"""Can the process open the GPU? The first obstacle is the finding; its consequences are not reported."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.commands import fill
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import THE_MACHINE, Command, Fact, Finding, Reading, Severity, Snapshot, Subject
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.findings import comment_out, finding, gpu_subject, readings

_DENIED = ("*permission denied*", "*eacces*", "*operation not permitted*", "*eperm*")


def access(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """At most one finding: the first missing step between the process and the GPU."""
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
    loaded = snapshot.get("driver.loaded").value
    if loaded is False or (loaded is None and has_unclaimed_gpu(snapshot)):
        return _driver(snapshot, matrix)
    if loaded is True:
        return finding(
            matrix,
            "access.kfd-missing",
            evidence=evidence + readings(snapshot, "driver.loaded"),
            advice="amdgpu is loaded and enables compute on no GPU: look in the kernel log for what amdgpu and kfd said.",
            commands=('sudo dmesg | grep -iE "amdgpu|kfd"',),
        )
    return finding(
        matrix, "access.kfd-missing", evidence=evidence, confidence="low", settle="lsmod | grep amdgpu; lspci -nn -d 1002:"
    )


def _wsl(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for WSL, which has /dev/dxg instead of /dev/kfd: only its absence can be read."""
    if snapshot.get("dxg.exists").value is False:
        return finding(
            matrix, "access.wsl", title="/dev/dxg does not exist in this WSL", evidence=readings(snapshot, "wsl", "dxg.exists")
        )
    return None


def has_unclaimed_gpu(snapshot: Snapshot) -> bool:
    """True if no driver has claimed any of the GPUs on the bus."""
    drivers = _drivers(snapshot)
    return bool(drivers) and all(one.value is None for one in drivers)


def _drivers(snapshot: Snapshot) -> list[Fact]:
    """The driver of each GPU; empty where one was not read."""
    drivers = [gpu.get("driver") for gpu in snapshot.gpus if "driver" in gpu.facts]
    return drivers if len(drivers) == len(snapshot.gpus) and all(one.known for one in drivers) else []


def unclaimed_gpu_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a machine whose GPUs are all with other drivers, or with none although amdgpu is loaded."""
    drivers = _drivers(snapshot)
    other = next((one for one in drivers if one.value is not None), None)
    if other and all(one.value != "amdgpu" for one in drivers):
        return _claim_finding(other, snapshot, matrix, "error", THE_MACHINE)
    if snapshot.get("driver.loaded").value is True and has_unclaimed_gpu(snapshot):
        evidence = readings(snapshot, "driver.loaded") + tuple(one for fact in drivers for one in fact.readings)
        return finding(matrix, "access.driver-not-bound", evidence=evidence)
    return None


def _partial_claim_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a GPU of another driver beside one that amdgpu has: a note, or a warning if only integrated ones are left."""
    drivers = _drivers(snapshot)
    left = [gpu for gpu, driver in zip(snapshot.gpus, drivers) if driver.value == "amdgpu"]
    severity: Severity = "warning" if all(gpu.get("is_apu").value is True for gpu in left) else "note"
    for n, (gpu, driver) in enumerate(zip(snapshot.gpus, drivers)):
        if driver.value not in (None, "amdgpu"):
            return _claim_finding(driver, snapshot, matrix, severity, gpu_subject(gpu, n))
    return None


def _claim_finding(driver: Fact, snapshot: Snapshot, matrix: Matrix, severity: Severity, subject: Subject) -> Finding:
    """The finding for a GPU that another driver has claimed, with the commands that take the settings of vfio-pci out."""
    name, cmdline, options = str(driver.value), snapshot.get("cmdline"), snapshot.get("driver.vfio")
    words, off, places = [], [], []
    if name == "vfio-pci":
        words = [one for one in str(cmdline.value or "").split() if one.startswith("vfio-pci.ids=")]
        off = [*(c for word in words for c in _boot_line_commands(matrix, word)), *_comment_command(options)]
        places = [*words, *([f"the line of /{options.value}"] if isinstance(options.value, str) else [])]
    purpose = " (it is set aside for a virtual machine)" if name == "vfio-pci" else ""
    return finding(
        matrix,
        "access.driver-not-bound",
        title=f"{name} has claimed the GPU{purpose}",
        cause=f"A GPU has one driver at a time. amdgpu cannot claim this one while {name} keeps it.",
        advice=f"Take out {' and '.join(places) or f'the setting that gives the GPU to {name}'}. Then write the boot image anew and restart."
        + (" Or train inside the virtual machine." if purpose else ""),
        evidence=driver.readings + (cmdline.readings if words else ()) + (options.readings if purpose else ()),
        severity=severity,
        subject=subject,
        commands=(*off, *_BOOT_IMAGE) if off else ("cat /proc/cmdline", *fill("grep -r {value} /etc/modprobe.d", value=name)),
    )


def _nothing_there(snapshot: Snapshot, matrix: Matrix) -> Finding:
    return finding(
        matrix,
        "access.no-gpu",
        title="no AMD GPU visible, because no AMD display device is on the PCI bus",
        evidence=readings(snapshot, "pci.gpus", "kfd.exists"),
    )


def _driver(snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding for a missing amdgpu: the driver if an AMD GPU is on the bus, else the missing GPU."""
    evidence = readings(snapshot, "kfd.exists", "driver.loaded")
    if snapshot.gpus_listed and not snapshot.gpus:
        title = "no AMD GPU visible, because the kernel lists none and amdgpu is not loaded"
        return finding(matrix, "access.no-gpu", title=title, evidence=evidence)
    blacklist = snapshot.get("driver.blacklisted")
    if isinstance(blacklist.value, str):
        return _blacklist_finding(matrix, blacklist, evidence)
    blocked = snapshot.get("nomodeset")
    if isinstance(blocked.value, str):
        return _boot_block(matrix, blocked, evidence)
    signed, missing = snapshot.get("secure_boot").value is True, snapshot.get("driver.on_disk").value is False
    secure = ": secure boot may have rejected the module" if signed else ""
    why = ": the running kernel has no such module on disk" if missing else secure
    return finding(
        matrix,
        "access.driver-not-loaded",
        title=f"amdgpu is not loaded{why}",
        evidence=evidence + readings(snapshot, *(["driver.on_disk"] if missing else ["secure_boot"] if signed else [])),
    )


def _boot_block(matrix: Matrix, word: Fact, evidence: tuple[Reading, ...]) -> Finding:
    """The finding for a word of the kernel command line that keeps amdgpu from loading, with the commands that take it out."""
    return finding(
        matrix,
        "access.driver-not-loaded",
        title=f"amdgpu is not loaded: {word.value} on the kernel command line keeps it off",
        cause=f"The boot loader starts the kernel with {word.value}. Without amdgpu no program can reach the GPU.",
        advice=f"Take {word.value} out of the boot loader's settings, and restart.",
        evidence=evidence + word.readings,
        commands=_boot_line_commands(matrix, str(word.value)),
    )


def _boot_line_commands(matrix: Matrix, word: str) -> tuple[Command | str, ...]:
    """The commands that take a word out of the kernel command line."""
    of_grub = fill("sudo sed -i 's/ *{value}//' /etc/default/grub", value=word)
    return (
        *(msgspec.structs.replace(one, distributions=("debian",)) for one in matrix.classify(of_grub)),
        "sudo update-grub",
        *fill("sudo grubby --update-kernel=ALL --remove-args={value}", value=word),
    )


_BOOT_IMAGE = ("sudo update-initramfs -u", "sudo dracut --force")


def _comment_command(file: Fact) -> tuple[str, ...]:
    """The command that comments out the line of modprobe.d that the fact was read from."""
    line = next((n for r in file.readings if (n := r.place.removeprefix("line ")).isdigit()), "")
    return comment_out(line, f"/{file.value}") if line else ()


def _blacklist_finding(matrix: Matrix, blacklist: Fact, evidence: tuple[Reading, ...]) -> Finding:
    """The finding for a line of modprobe.d that keeps amdgpu from loading, with the commands that comment it out."""
    return finding(
        matrix,
        "access.driver-not-loaded",
        title=f"amdgpu is not loaded: /{blacklist.value} blacklists it",
        cause="A file under /etc/modprobe.d tells the kernel not to load amdgpu. Without it no program can reach the GPU.",
        advice="Take the line out, write the boot image anew, and restart.",
        evidence=evidence + blacklist.readings,
        commands=(*_comment_command(blacklist), *_BOOT_IMAGE),
    )


def _driver_refusal(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a node whose open fails for another reason than permissions: the driver did not enable compute."""
    error = snapshot.get("kfd.error")
    if not isinstance(error.value, str) or _is_denied(snapshot) or "no such file" in error.value.casefold():
        return None
    return finding(
        matrix,
        "access.driver-not-loaded",
        title=f"no AMD GPU visible, because the driver refuses to open /dev/kfd ({error.value})",
        cause="This is not a permission problem: amdgpu is loaded but did not enable compute on this GPU. The kernel log has the reason.",
        evidence=readings(snapshot, "kfd.error"),
        severity="warning",
        confidence="low",
        advice="Read the kernel's messages about kfd and amdgpu.",
        commands=(),
        settle="sudo dmesg | grep -E 'kfd|amdgpu'",
    )


def _is_denied(snapshot: Snapshot) -> bool:
    return any(holds("word", p, snapshot.get("kfd.error")) is True for p in _DENIED)


def permission_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a device node that this user may not open, or None where all open."""
    denied = _is_denied(snapshot)
    if snapshot.get("kfd.openable").value is not False and snapshot.get("render.openable").value is not False and not denied:
        return None
    node = "/dev/kfd" if snapshot.get("kfd.openable").value is False or denied else "the render node"
    name = "kfd" if node == "/dev/kfd" else "render"
    evidence = readings(
        snapshot, *(n for n in (f"{name}.openable", f"{name}.error", f"{name}.gid", "user.groups") if _has_value(snapshot, n))
    )
    group, gid = snapshot.get(f"{name}.group").value, snapshot.get(f"{name}.gid").value
    if isinstance(snapshot.get("container").value, str):
        owner = fill("{gid}", gid=gid) or ("$(stat -c %g /dev/kfd)",)
        commands: tuple[str, ...] = (f"docker run --device=/dev/kfd --device=/dev/dri --group-add {owner[0]} IMAGE",)
        return finding(
            matrix,
            "access.container",
            title=f"{node} exists in the container but this user cannot open it",
            evidence=evidence,
            commands=commands,
        )
    if snapshot.get("user.root").value is True:
        return _root_refusal(snapshot, matrix, node, evidence)
    joined = snapshot.get("user.joined").value
    if isinstance(joined, tuple) and group in joined:
        return finding(
            matrix,
            "access.permission",
            title=f"permission denied on {node}: this login is older than the user's membership in {group}",
            cause="A login keeps the groups that the user had when it began. The user is in the group by now; these processes are not.",
            advice="Log out and in again (a desktop session too; over ssh, close every connection). newgrp does it for one shell.",
            evidence=evidence + readings(snapshot, "user.joined"),
            commands=fill("newgrp {group}", group=group),
        )
    if _is_member(snapshot, name):
        return _member_refusal(snapshot, matrix, node, evidence)
    groups = group if isinstance(group, str) and group != "root" else "render,video"
    commands = fill("sudo usermod -a -G {group} $LOGNAME", group=groups)
    return finding(matrix, "access.permission", title=f"permission denied on {node}", evidence=evidence, commands=commands)


def _is_member(snapshot: Snapshot, name: str) -> bool:
    """True if the user is in the group that owns the node, or rocminfo states a group membership."""
    if isinstance(snapshot.get("user.member_of").value, str):
        return True
    owner, groups = snapshot.get(f"{name}.group").value, snapshot.get("user.groups").value
    return isinstance(owner, str) and isinstance(groups, tuple) and owner in groups


def _root_refusal(snapshot: Snapshot, matrix: Matrix, node: str, evidence: tuple[Reading, ...]) -> Finding:
    """The finding for root, whom groups do not restrict: device rules of a container, a user namespace or SELinux do."""
    return finding(
        matrix,
        "access.container",
        title=f"permission denied on {node} for root, by a container or a security policy",
        cause="The node's group does not apply to root. A container without the device, a user namespace or SELinux refuses the open.",
        advice="Pass /dev/kfd and /dev/dri into the container. With SELinux, add `--security-opt label=disable`.",
        evidence=evidence + readings(snapshot, "user.root"),
        commands=("docker run --device=/dev/kfd --device=/dev/dri --security-opt label=disable IMAGE",),
    )


def _member_refusal(snapshot: Snapshot, matrix: Matrix, node: str, evidence: tuple[Reading, ...]) -> Finding:
    names = [n for n in ("user.member_of", "user.groups") if _has_value(snapshot, n)][:1]
    return finding(
        matrix,
        "access.permission",
        title=f"permission denied on {node}, although one of the user's groups owns it",
        cause="Membership counts from the next login on. It does not help where the node belongs to another group, or in a container "
        "that maps groups to other numbers.",
        advice="Log out and in again. If that does not help, compare the numbers of the node's group and of yours.",
        evidence=evidence + readings(snapshot, *names),
        commands=("id; ls -ln /dev/kfd /dev/dri",),
    )


def _has_value(snapshot: Snapshot, name: str) -> bool:
    fact = snapshot.get(name)
    return fact.known and fact.value is not None


def _no_render_node(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a missing render node, which HIP opens besides /dev/kfd."""
    if snapshot.get("render.nodes").value != () or snapshot.get("kfd.exists").value is not True:
        return None
    kind, evidence = snapshot.get("container").value, readings(snapshot, "render.nodes", "kfd.exists")
    if isinstance(kind, str):
        title = f"/dev/kfd exists, but no render node: pass /dev/dri into this {kind} container too"
        return finding(matrix, "access.container", title=title, evidence=evidence)
    title = "/dev/kfd exists, but no render node: amdgpu has set up no GPU, or /dev/dri is hidden from this process"
    return finding(matrix, "access.driver-not-bound", title=title, evidence=evidence, confidence="medium")


def _topology_hidden(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for unreadable KFD nodes: the cgroup's device filter hides those GPUs from the process."""
    if not snapshot.get("kfd.denied").value or not snapshot.get("kfd.denied").known:
        return None
    return finding(
        matrix,
        "access.container",
        title="the kernel hides GPUs from this process",
        cause="Nodes of the KFD topology are not readable: a device filter of the cgroup hides them.",
        evidence=readings(snapshot, "kfd.denied"),
    )


def no_gpu_finding(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for a node that opens while the kernel's topology lists no GPU."""
    if snapshot.get("kfd.openable").value is not True:
        return None
    if snapshot.gpus_listed and not snapshot.gpus:
        title, diagnosis = "no AMD GPU visible, because the kernel's topology lists none", "access.no-gpu"
    elif snapshot.get("kfd.nodes").value == 0:
        title, diagnosis = "amdgpu has not enabled compute on this GPU", "access.driver-not-bound"
    else:
        return None
    evidence = readings(snapshot, *(n for n in ("kfd.nodes", "kfd.openable") if _has_value(snapshot, n)))
    return finding(matrix, diagnosis, title=title, evidence=evidence, settle="sudo dmesg | grep -E 'amdgpu|kfd'")


def _runtime_dead(snapshot: Snapshot, matrix: Matrix) -> Finding | None:
    """The finding for an HSA runtime that fails although the device opens: rocminfo died, hung, or printed an HSA error."""
    names = [n for n in ("hsa.status", "tool.rocminfo") if isinstance(snapshot.get(n).value, str)]
    if not names:
        return None
    return finding(
        matrix,
        "access.runtime",
        title=f"the HSA runtime does not start (rocminfo: {snapshot.get(names[0]).value})",
        evidence=readings(snapshot, *names),
        severity="warning",
        confidence="low",
    )


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
