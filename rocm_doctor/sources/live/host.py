"""The machine around the GPU: kernel and distribution, limits, groups, and whether this is a container or a guest."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.files import group_names, keep_lines, marker, read, read_all, read_text

_SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_TEXTS = (
    "proc/version", "proc/sys/kernel/osrelease", "proc/cmdline", "proc/sys/kernel/numa_balancing",
    "proc/1/cgroup", "sys/hypervisor/type", "sys/class/dmi/id/sys_vendor",
)  # fmt: skip


def host_files(root: Path) -> list[Artifact]:
    """Artifacts on the host and the container, from files only."""
    release = list(read(root, "etc/os-release")) or list(read(root, "usr/lib/os-release"))
    trimmed = (one for name, keep in _TRIMMED.items() for one in read_all(root, name, keep=keep))
    return [*read_all(root, *_TEXTS), *release, *trimmed, *_secure_boot(root), *_containers(root)]


def _first_processor(text: str) -> str:
    return keep_lines("model name|flags")(text.split("\n\n", 1)[0])


def _secure_boot(root: Path) -> Iterator[Artifact]:
    """The EFI variable: four bytes of attributes and one that is 1 when secure boot is on, written as hexadecimal text."""
    for raw in read(root, _SECURE_BOOT):
        yield raw if raw.missing else Artifact(raw.name, "live", raw.text.encode("utf-8", "replace").hex(" ") + "\n")


def _containers(root: Path) -> Iterator[Artifact]:
    yield from marker(root, ".dockerenv", note_absent=True)
    yield from read(root, "run/.containerenv", note_absent=True, keep=keep_lines("engine=|rootless="))
    yield from marker(root, "run/.toolboxenv")
    yield from read(root, "run/systemd/container")
    yield from marker(root, "dev/dxg", note_absent="microsoft" in read_text(root, "proc/version").lower())
    yield from read_all(root, "proc/1/environ", keep=_container_variable)


def _container_variable(text: str) -> str:
    return "".join(entry + "\n" for entry in text.split("\0") if entry.startswith("container="))


_TRIMMED = {
    "proc/meminfo": keep_lines("MemTotal"), "proc/cpuinfo": _first_processor,
}  # fmt: skip


def process_facts(root: Path) -> list[Artifact]:
    """What only the running process knows: its system, user, groups and limits."""
    found = [*_shared_memory(root)]
    if str(root) == "/" or not sys.platform.startswith("linux"):
        found.append(Artifact("uname", "live", _uname() + "\n"))
        found.append(Artifact("host", "live", f"name: {platform.node()}\n{_host_id(root)}"))
    if sys.platform != "win32":
        found.append(Artifact("user/groups", "live", _user(root)))
    if sys.platform.startswith("linux"):
        found.append(Artifact("limits/process", "live", f"memlock: {_memlock()}\nglibc: {_glibc()}\n"))
    return found


def _host_id(root: Path) -> str:
    """A line with a number for this machine: a hash of its random id, from which neither the id nor the name can be had."""
    id_ = read_text(root, "etc/machine-id").strip()
    return f"id: {hashlib.sha256(f'rocm-doctor {id_}'.encode()).hexdigest()[:8]}\n" if id_ else ""


def _uname() -> str:
    """System, release and machine; never the host's name."""
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        return f"Windows {version.major}.{version.minor}.{version.build} {os.environ.get('PROCESSOR_ARCHITECTURE', '')}".rstrip()
    name = os.uname()
    return f"{name.sysname} {name.release} {name.machine}"


def _user(root: Path) -> str:
    if sys.platform == "win32":
        return ""
    gids = sorted({os.getegid(), *os.getgroups()})
    names = group_names(root)
    mine = [names.get(gid, str(gid)) for gid in gids]
    return f"uid: {os.geteuid()}\ngids: {' '.join(map(str, gids))}\ngroups: {' '.join(mine)}\n{_joined_groups(root, mine)}"


def _joined_groups(root: Path, groups: list[str]) -> str:
    """A line with the groups whose list in the group file names the user and which this login does not have; empty without any."""
    users = (line.split(":") for line in read_text(root, "etc/passwd").splitlines())
    user = next((row[0] for row in users if len(row) > 2 and row[2] == str(os.geteuid())), "")
    rows = (line.split(":") for line in read_text(root, "etc/group").splitlines())
    joined = [row[0] for row in rows if len(row) > 3 and user in row[3].split(",") and row[0] not in groups] if user else []
    return f"joined: {' '.join(joined)}\n" if joined else ""


def _memlock() -> int:
    """Limit of locked memory in bytes, -1 for none."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return -1 if soft == resource.RLIM_INFINITY else soft


def _glibc() -> str:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    except (ValueError, OSError):
        return ""


def _shared_memory(root: Path) -> Iterator[Artifact]:
    if sys.platform == "win32":
        return
    try:
        size = os.statvfs(root / "dev/shm")
    except OSError:
        return
    yield Artifact("dev/shm", "live", f"exists: yes\nsize: {size.f_frsize * size.f_blocks}\n")
