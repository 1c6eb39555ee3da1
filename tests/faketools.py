"""Machines and tools that are not there: a file system root with AMD GPUs in it, and programs as ill-behaved as real ones."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rocm_doctor.model import Artifact, Why
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources.live import collect

KFD = "sys/class/kfd/kfd/topology/nodes"


class Card(NamedTuple):
    """A GPU as the kernel describes it. `target` as in gfx_target_version: 110000 is gfx1100."""

    target: int = 110000
    device: int = 0x744C
    slot: str = "0000:03:00.0"
    units: int = 96
    vram: int = 25753026560
    gtt: int = 33285996544
    wavefront: int = 32
    minor: int = 128
    driver: str = "amdgpu"
    simds_per_unit: int = 2

    @property
    def location(self) -> int:
        _, bus, rest = self.slot.split(":")
        device, _, function = rest.partition(".")
        return int(bus, 16) << 8 | int(device, 16) << 3 | int(function)


MI50 = Card(90006, 0x66A1, "0000:43:00.0", 60, 34342961152, 33285996544, 64, 128, simds_per_unit=4)
STRIX_HALO = Card(110501, 0x1586, "0000:c5:00.0", 40, 536870912, 66571993088, 32, 128)


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write each text under its name below `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def artifacts(texts: Mapping[str, str], missing: Mapping[str, Why] | None = None) -> Artifacts:
    """Artifacts with these texts, and those that could not be had."""
    had = [Artifact(name, "bundle", text) for name, text in texts.items()]
    return Artifacts(
        [*had, *(Artifact(name, "bundle", missing=why, note=f"note on {why}") for name, why in (missing or {}).items())]
    )


def machine(root: Path, *cards: Card, dkms: str | None = None) -> Path:
    """A root with these cards, claimed by amdgpu, open to everyone; `dkms`: version of AMD's own driver build."""
    write(root, _host())
    write(root, _cpu_node())
    for number, card in enumerate(cards):
        write(root, {**_kfd_node(number + 1, card), **_card(number, card), **_bus(card)})
        if card.driver == "amdgpu":
            write(root, {f"dev/dri/renderD{card.minor}": ""})
    write(root, {"sys/module/amdgpu/initstate": "live\n", "sys/module/amdgpu/parameters/noretry": "-1\n", "dev/kfd": ""})
    if dkms:
        write(root, {"sys/module/amdgpu/version": f"{dkms}\n"})
    return root


def bare_machine(root: Path) -> Path:
    """A root without any GPU."""
    return write(
        root, {**_host(), "sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086\n", "proc/modules": "ext4 770048 1 - Live 0x0\n"}
    )


def _host() -> dict[str, str]:
    return {
        "proc/version": "Linux version 6.8.0-45-generic (builder@example) (gcc 13.2.0) #45-Ubuntu SMP PREEMPT_DYNAMIC\n",
        "proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.8.0-45-generic ro quiet iommu=pt\n",
        "proc/sys/kernel/numa_balancing": "1\n",
        "proc/modules": "amdgpu 17100800 12 - Live 0x0000000000000000\nttm 110592 1 amdgpu, Live 0x0000000000000000\n",
        "proc/meminfo": "MemTotal:       65011712 kB\nMemFree: 50000000 kB\nMemAvailable: 60000000 kB\nSwapTotal: 0 kB\n",
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD Ryzen 9 7950X\nflags\t\t: fpu avx2\n\nprocessor\t: 1\n",
        "proc/self/cgroup": "0::/user.slice/session.scope\n",
        "sys/fs/cgroup/user.slice/memory.max": "34359738368\n",
        "sys/fs/cgroup/user.slice/session.scope/memory.max": "max\n",
        "etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=ubuntu\n',
        "etc/group": "root:x:0:\nrender:x:992:somebody\n",
        "dev/shm/.keep": "",
        "dev/kmsg": "6,812,2244241,-;amdgpu: Topology: Add CPU node\n6,813,2244300,-;usb 1-1: new device\n",
    }


def _cpu_node() -> dict[str, str]:
    return {f"{KFD}/0/properties": "cpu_cores_count 32\nsimd_count 0\nlocation_id 0\n", f"{KFD}/0/gpu_id": "0\n"}


def _kfd_node(number: int, card: Card) -> dict[str, str]:
    node = f"{KFD}/{number}"
    properties = {
        "cpu_cores_count": 0, "simd_count": card.units * card.simds_per_unit, "mem_banks_count": 1,
        "wave_front_size": card.wavefront, "simd_per_cu": card.simds_per_unit, "gfx_target_version": card.target,
        "vendor_id": 4098, "device_id": card.device, "location_id": card.location,
        "domain": int(card.slot.split(":")[0], 16), "drm_render_minor": card.minor, "num_xcc": 1,
    }  # fmt: skip
    return {
        f"{node}/properties": "".join(f"{key} {value}\n" for key, value in properties.items()),
        f"{node}/gpu_id": f"{20000 + number}\n",
        f"{node}/name": "ip discovery\n",
        f"{node}/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {card.vram}\nflags 0\nwidth 384\n",
        f"{node}/io_links/0/properties": f"type 2\nnode_from {number}\nnode_to 0\nweight 20\n",
    }


def _bus(card: Card) -> dict[str, str]:
    place = f"sys/bus/pci/devices/{card.slot}"
    claimed = f"DRIVER={card.driver}\n" if card.driver else ""
    event = f"{claimed}PCI_CLASS=30000\nPCI_ID=1002:{card.device:04X}\nPCI_SLOT_NAME={card.slot}\n"
    return {
        f"{place}/vendor": "0x1002\n",
        f"{place}/device": f"0x{card.device:04x}\n",
        f"{place}/class": "0x030000\n",
        f"{place}/uevent": event,
    }


def _card(number: int, card: Card) -> dict[str, str]:
    if card.driver != "amdgpu":
        return {}
    own = {name.rpartition("/")[2]: text for name, text in _bus(card).items()}
    sizes = {"mem_info_vram_total": f"{card.vram}\n", "mem_info_vram_used": "20000000\n", "mem_info_gtt_total": f"{card.gtt}\n"}
    link = {"current_link_width": "16\n", "max_link_width": "16\n", "current_link_speed": "16.0 GT/s PCIe\n", "numa_node": "-1\n"}
    seat = {
        f"sys/class/drm/card{number}/device/{name}": text
        for name, text in {**own, **sizes, **link, "vbios_version": "113-X\n"}.items()
    }
    return {**seat, f"sys/class/drm/renderD{card.minor}/device/uevent": own["uevent"]}


def tool(folder: Path, name: str, *, out: str = "", err: str = "", status: int = 0, then: str = "") -> Path:
    """A program that prints `out` and `err`, runs the shell text `then`, and exits with `status`."""
    folder.mkdir(parents=True, exist_ok=True)
    said = folder / f".{name}.out"
    said.write_text(out, encoding="utf-8")
    lines = [
        "#!/bin/sh",
        f"cat {shlex.quote(str(said))}",
        f"printf %s {shlex.quote(err)} >&2" if err else ":",
        then or ":",
        f"exit {status}",
    ]
    return script(folder, name, "\n".join(lines) + "\n")


def script(folder: Path, name: str, text: str) -> Path:
    """An executable file with that text."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def hanging(folder: Path, name: str, out: str = "") -> Path:
    """A program that prints `out`, notes its process id in `NAME.pid` and never exits; it does not care for SIGTERM."""
    return tool(
        folder,
        name,
        out=out,
        then=f"trap '' TERM; echo $$ > {shlex.quote(str(folder / (name + '.pid')))}; while :; do sleep 1; done",
    )


def parent_of_a_straggler(folder: Path, name: str, out: str = "") -> Path:
    """A program that exits at once and leaves a child that holds its output open."""
    return tool(folder, name, out=out, then=f"sleep 300 & echo $! > {shlex.quote(str(folder / (name + '.pid')))}")


def flood(folder: Path, name: str, megabytes: int) -> Path:
    """A program that prints that much, line by line the same."""
    body = f"import os, sys\nline = b'Name: gfx1100 ' * 4000 + b'\\n'\nfor _ in range({megabytes} * 18):\n    os.write(1, line)\n"
    return script(folder, name, f"#!{sys.executable} -IS\n{body}")


def garbage(folder: Path, name: str) -> Path:
    """A program that prints bytes that are no text."""
    return script(folder, name, f"#!{sys.executable} -IS\nimport os\nos.write(1, bytes(range(256)) * 64)\n")


def dying(folder: Path, name: str, out: str = "") -> Path:
    """A program that is killed by a segmentation fault after it has printed."""
    return tool(folder, name, out=out, then="kill -SEGV $$")


def pid_of(folder: Path, name: str) -> int:
    return int((folder / f"{name}.pid").read_text(encoding="utf-8"))


def alive(pid: int) -> bool:
    """True if the process still runs after a moment in which it may die (one that is dead and not yet reaped does not run)."""
    until = time.monotonic() + 1.0
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def left_behind(mark: str) -> list[str]:
    """Command lines of processes that still run with `MARK=<mark>` in their environment, wherever they were adopted."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARK={mark}".encode() in (process / "environ").read_bytes() and alive(int(process.name)):
                found.append((process / "cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return found


def environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment whose PATH leads to the fake tools first and to a shell after that, and to no ROCm."""
    system = folder.parent / "system-bin"
    system.mkdir(exist_ok=True)
    for name in ("sh", "cat", "sleep", "kill", "printf", "echo"):
        source = next((p for p in (Path("/bin", name), Path("/usr/bin", name)) if p.exists()), None)
        if source and not (system / name).exists():
            (system / name).symlink_to(source)
    return {"PATH": f"{folder}{os.pathsep}{system}", "HOME": str(folder), **more}


def run(root: Path, folder: Path) -> list[Artifact]:
    """What the live source reads of that machine with the fake tools of that folder."""
    return collect(root=root, env=environment(folder))


def named(artifacts: list[Artifact], name: str) -> Artifact:
    return next(a for a in artifacts if a.name == name)
