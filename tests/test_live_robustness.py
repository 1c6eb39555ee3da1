"""Whatever bytes stand in whatever file: facts or nothing, never an exception. Real captures, mutilated, where they are there."""

from __future__ import annotations

import importlib
import random
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faketools import KFD
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.model import Artifact, Why
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

PROBES = (
    *(f"kernel.{name}" for name in ("kfd", "drm", "pci", "devices", "driver", "host", "container", "kernel_log")),
    "python.rocm",
)
NAMES = (
    f"{KFD}/1/properties", f"{KFD}/1/gpu_id", f"{KFD}/1/mem_banks/0/properties", f"{KFD}/1/io_links/0/properties",
    "sys/class/kfd",
    "sys/class/drm/card0/device/vendor", "sys/class/drm/card0/device/uevent", "sys/class/drm/card0/device/mem_info_vram_total",
    "sys/bus/pci/devices", "sys/bus/pci/devices/0000:03:00.0/uevent", "sys/bus/pci/devices/0000:03:00.0/class", "dev/kfd",
    "dev/dri/renderD128", "sys/class/drm/renderD128/device/uevent", "sys/module/amdgpu/version", "sys/module/amdgpu/initstate",
    "sys/module/amdgpu/parameters/noretry", "proc/modules", "etc/modprobe.d/x.conf", "sys/module/ttm/parameters/pages_limit",
    "proc/version", "uname", "proc/sys/kernel/osrelease", "proc/cmdline", "proc/cpuinfo", "proc/meminfo", "proc/self/limits",
    "sys/fs/cgroup/memory.max", "user/groups", "limits/process", "dev/shm", "etc/os-release", "proc/1/cgroup", ".dockerenv",
    "env",
    "sys/firmware/efi/efivars/SecureBoot-x", "kernel/log", "paste/1-dmesg", "paste/1-kfd", "paste/text", "log/x",
    "opt/rocm",
    "opt/rocm/.info/version", "opt/rocm/lib/.listing", "etc/ld.so.conf.d/rocm.conf", "opt/rocm/share/hip/version",
)  # fmt: skip
CAPTURES = Path(__file__).parents[2] / "shared" / "corpus" / "captures"
KINDS = ("kfd_topology", "drm_sysfs", "dmesg")

probing: tuple[Callable[[Artifacts], ProbeResult], ...] = tuple(
    importlib.import_module(f"rocm_doctor.probes.{name}").probe for name in PROBES
)
words = st.sampled_from(
    ["simd_count", "gfx_target_version", "-1", "0x1002", "max", "99999999999999999999999", "exists: yes", "open:", "DRIVER=",
     "=", ":", "\n", "amdgpu 0000:03:00.0: ", "[ 1.0] ", "link: ", "/", "libamdhip64.so.6.", ".", " -> ", "iommu=",
     "\x00", "\u2028", "²", "٣"]
)  # fmt: skip
texts = st.one_of(
    st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")), st.lists(words, max_size=12).map("".join)
)
reasons: st.SearchStrategy[Why | None] = st.sampled_from([None, None, None, "denied", "absent-source"])


@given(st.dictionaries(st.sampled_from(NAMES), st.tuples(texts, reasons), max_size=8))
def test_any_bytes_in_any_file(files: dict[str, tuple[str, Why | None]]) -> None:
    have = Artifacts(Artifact(name, "bundle", "" if why else text, missing=why) for name, (text, why) in files.items())
    for probe in probing:
        notes = probe(have)
        assert all(
            reading.artifact in {a.name for a in have} | _FOLDERS for fact in notes.facts.values() for reading in fact.readings
        )


_FOLDERS = {"sys/class/kfd/kfd/topology", "sys/bus/pci/devices", *("usr/lib/.listing",)}


def captures() -> Iterator[list[Artifact]]:
    for kind in KINDS:
        for path in sorted((CAPTURES / kind).glob("*")):
            if path.name.endswith(".tar.gz"):
                with tarfile.open(path) as archive:
                    members = [(info.name.removeprefix("./"), archive.extractfile(info)) for info in archive if info.isfile()]
                    yield [Artifact(name, "bundle", file.read().decode("utf-8", "replace")) for name, file in members if file]
            elif path.suffix == ".txt":
                yield [Artifact("kernel/log", "bundle", path.read_text(encoding="utf-8", errors="replace"))]


def mutilated(text: str, chance: random.Random) -> str:
    """Cut, with a piece doubled or a few characters replaced."""
    start, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
    way = chance.randrange(4)
    if way == 0:
        return text[:start]
    if way == 1:
        return text[:start] + text[end:]
    if way == 2:
        return text[:end] + text[start:]
    return "".join(chance.choice("0 9\n:=-\x00é") if chance.random() < 0.02 else letter for letter in text)


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="no captures of real machines beside this checkout")
def test_mutilated_captures() -> None:
    chance = random.Random(20261121)
    for files in captures():
        for _ in range(3):
            have = Artifacts(Artifact(a.name, "bundle", mutilated(a.text, chance)) for a in files)
            for probe in probing:
                probe(have)
