"""The live source on roots that we wrote, and on the machine that runs the tests, whatever it is."""

from __future__ import annotations

import importlib
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faketools import (
    KFD,
    MI50,
    STRIX_HALO,
    Card,
    alive,
    bare_machine,
    environment,
    hanging,
    left_behind,
    machine,
    pid_of,
    script,
    tool,
    write,
)

from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources import bundle, live
from rocm_doctor.sources.live import collect
from rocm_doctor.sources.live import tools as live_tools
from rocm_doctor.sources.live.kernel import kernel_files


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path is short enough for the address of a socket."""
    with tempfile.TemporaryDirectory(prefix="rd") as folder:
        yield Path(folder)


def by_name(artifacts: list[Artifact]) -> dict[str, Artifact]:
    return {a.name: a for a in artifacts}


def read(root: Path, bin_: Path, **env: str) -> dict[str, Artifact]:
    return by_name(collect(root=root, env=environment(bin_, **env)))


def test_a_card_is_read_from_every_side(tmp_path: Path, bin_: Path) -> None:
    got = read(machine(tmp_path / "root", Card(), dkms="6.12.12"), bin_)
    assert "gfx_target_version 110000" in got[f"{KFD}/1/properties"].text
    assert "size_in_bytes 25753026560" in got[f"{KFD}/1/mem_banks/0/properties"].text
    assert "node_to 0" in got[f"{KFD}/1/io_links/0/properties"].text
    assert got["sys/class/drm/card0/device/mem_info_gtt_total"].text == "33285996544\n"
    assert "DRIVER=amdgpu" in got["sys/bus/pci/devices/0000:03:00.0/uevent"].text
    assert got["sys/module/amdgpu/version"].text == "6.12.12\n"
    assert got["dev/kfd"].text.endswith("open: ok\n")
    assert got["dev/dri/renderD128"].text.endswith("open: ok\n")


def test_serial_numbers_are_not_read(tmp_path: Path, bin_: Path) -> None:
    root = machine(tmp_path / "root", Card())
    write(
        root, {"sys/class/drm/card0/device/unique_id": "deadbeef00\n", "sys/class/drm/card0/device/serial_number": "SN123456\n"}
    )
    text = "".join(a.text for a in read(root, bin_).values())
    assert "deadbeef00" not in text
    assert "SN123456" not in text


def test_absence_is_said_where_it_means_something(tmp_path: Path, bin_: Path) -> None:
    got = read(bare_machine(tmp_path / "root"), bin_)
    missing = {name for name, a in got.items() if a.missing == "absent-source"}
    assert missing >= {"sys/class/kfd", "sys/module/amdgpu", "dev/kfd", "dev/dri", ".dockerenv", "opt/rocm"}
    assert got["sys/bus/pci/devices"].text == "devices: 1\n"


def test_no_list_of_modules(tmp_path: Path, bin_: Path) -> None:
    got = read(write(tmp_path / "root", {"proc/version": "Linux version 6.18.0 (x)\n"}), bin_)
    assert got["proc/modules"].missing == "absent-source"


def test_a_node_that_cannot_be_opened(short: Path) -> None:
    """The words of the kernel's refusal are kept; here a socket stands where the device should be."""
    root = machine(short / "root", Card())
    (root / "dev/kfd").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "dev/kfd"))
        got = read(root, short / "bin")
    assert got["dev/kfd"].text.endswith("open: No such device or address\n")
    assert got["dev/dri/renderD128"].text.endswith("open: ok\n")


@pytest.mark.skipif(not hasattr(os, "seteuid") or os.geteuid() != 0, reason="only root can become nobody")
def test_what_may_not_be_read_is_denied(short: Path) -> None:
    root = machine(short / "root", MI50)
    short.chmod(0o755)
    (root / f"{KFD}/1/properties").chmod(0)
    (root / "dev/kmsg").chmod(0)
    os.seteuid(65534)
    try:
        got = by_name(collect(root=root, env={"PATH": ""}))
    finally:
        os.seteuid(0)
    assert got[f"{KFD}/1/properties"].missing == "denied"
    assert "Permission denied" in got[f"{KFD}/1/properties"].note
    assert got["kernel/log"].missing == "denied"


def test_kernel_log_keeps_lines_on_gpus(tmp_path: Path, bin_: Path) -> None:
    got = read(machine(tmp_path / "root", Card()), bin_)
    assert got["kernel/log"].text == "[    2.244241] amdgpu: Topology: Add CPU node\n"


def test_the_journal_stands_in_for_a_closed_log(short: Path) -> None:
    root = machine(short / "root", Card())
    (root / "run/systemd/journal").mkdir(parents=True)
    (root / "dev/kmsg").unlink()
    tool(
        short / "bin",
        "journalctl",
        out="[1.5] kernel: amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\n[1.6] kernel: usb 1-1: hello\n",
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "dev/kmsg"))
        got = read(root, short / "bin")
    assert got["kernel/log"].text == "[1.5] kernel: amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\n"


def test_a_pipe_does_not_hold_us(tmp_path: Path, bin_: Path) -> None:
    root = machine(tmp_path / "root", Card())
    (root / "etc/os-release").unlink()
    os.mkfifo(root / "etc/os-release")
    assert read(root, bin_)["etc/os-release"].text == ""


def test_large_files_are_trimmed_to_what_counts(tmp_path: Path, bin_: Path) -> None:
    got = read(machine(tmp_path / "root", Card()), bin_)
    assert "MemFree" not in got["proc/meminfo"].text
    assert got["proc/modules"].text.startswith("amdgpu ")
    assert "ttm" not in got["proc/modules"].text.split("\n")[0].split()[0]
    assert "processor\t: 1" not in got["proc/cpuinfo"].text


def test_secrets_stay_out_of_the_environment(tmp_path: Path, bin_: Path) -> None:
    env = {
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0", "VLLM_API_KEY": "geheim1", "TORCH_AUTH_TOKEN": "geheim2", "HF_TOKEN": "geheim3",
        "TOKENIZERS_PARALLELISM": "false", "ROCM_PATH": "https://me:geheim4@example.com", "TRITON_X": "hf_geheim5",
        "EDITOR": "vi",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    }  # fmt: skip
    text = read(bare_machine(tmp_path / "root"), bin_, **env)["env"].text
    assert "geheim" not in text
    assert "10.96" not in text
    assert "EDITOR" not in text
    assert "HSA_OVERRIDE_GFX_VERSION=11.0.0\n" in text
    assert "TOKENIZERS_PARALLELISM=false\n" in text
    assert "KUBERNETES_SERVICE_HOST=set\n" in text


def test_rocm_installations(tmp_path: Path, bin_: Path) -> None:
    root = bare_machine(tmp_path / "root")
    write(
        root,
        {
            "opt/rocm-6.4.1/.info/version": "6.4.1-83\n",
            "opt/rocm-6.4.1/lib/libamdhip64.so.6.4.43483": "",
            "opt/rocm-6.4.1/lib/libother.so": "",
        },
    )
    (root / "opt/rocm-6.4.1/lib/libamdhip64.so.6").symlink_to("libamdhip64.so.6.4.43483")
    (root / "opt/rocm").symlink_to("rocm-6.4.1")
    got = read(root, bin_)
    assert got["opt/rocm"].text == "link: /opt/rocm-6.4.1\n"
    assert got["opt/rocm-6.4.1/.info/version"].text == "6.4.1-83\n"
    listing = got["opt/rocm/lib/.listing"].text
    assert "libamdhip64.so.6 -> libamdhip64.so.6.4.43483\n" in listing
    assert "libother" not in listing


@pytest.mark.parametrize(
    ("cards", "known"),
    [((Card(),), True), ((MI50, STRIX_HALO), True), ((), False), ((Card(target=0),), False), ((Card(vram=0),), True)],
)
def test_when_the_topology_is_enough(tmp_path: Path, cards: tuple[Card, ...], known: bool) -> None:
    assert live.kernel_knows(kernel_files(machine(tmp_path, *cards))) is known


@pytest.mark.parametrize("path", [os.environ.get("PATH", ""), ""])
def test_the_tools_that_are_really_here(tmp_path: Path, path: str) -> None:
    """With whatever ROCm tools this machine has, and without any: artifacts, and no child that outlives us."""
    mark = tmp_path.name
    got = by_name(collect(env={**os.environ, "PATH": path, "MARK": mark}))
    assert left_behind(mark) == []
    tools = {name for name, a in got.items() if name.startswith("cmd/") and a.missing != "no-tool"}
    assert path or not tools or Path("/opt").exists()


READ_BACK = (
    *(f"kernel.{name}" for name in ("kfd", "drm", "pci", "devices", "driver", "host", "container", "kernel_log")),
    *("python.rocm", "python.packages", "tools.rocminfo"),
)


def test_the_way_through_a_bundle(tmp_path: Path, bin_: Path) -> None:
    """Live, then written and read again: every probe says the same."""
    tool(bin_, "rocminfo", out="ROCk module is loaded\n", status=1)
    root = machine(tmp_path / "root", Card(), MI50._replace(minor=129), dkms="6.12.12")
    artifacts = collect(root=root, env=environment(bin_, HSA_XNACK="1"))
    (tmp_path / "b.zip").write_bytes(bundle.write(artifacts, {}))
    again = bundle.read(tmp_path / "b.zip")
    assert {a.name: (a.text, a.missing, a.note, a.returncode) for a in again} == {
        a.name: (a.text, a.missing, a.note, a.returncode) for a in artifacts
    }
    here, there = (Artifacts(sorted(each, key=lambda a: a.name)) for each in (artifacts, again))
    for name in READ_BACK:
        probe = importlib.import_module(f"rocm_doctor.probes.{name}").probe
        assert probe(here).facts == probe(there).facts
        assert [one.gpus for one in probe(here).listings] == [one.gpus for one in probe(there).listings]


def test_this_machine_whatever_it_is() -> None:
    artifacts = collect()
    assert len({a.name for a in artifacts}) == len(artifacts)
    assert {"env", "py/interpreter", "py/packages"} <= {a.name for a in artifacts}
    assert all(a.origin == "live" for a in artifacts)


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_give_what_they_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bin_: Path, system: str) -> None:
    """No sysfs, no group ids, no signals: the Python side, the environment and HIP's own program remain."""
    monkeypatch.setattr(sys, "platform", system)
    if system == "win32":
        version = type("Version", (), {"major": 10, "minor": 0, "build": 26100})
        monkeypatch.setattr(sys, "getwindowsversion", lambda: version, raising=False)
        for name in ("getgroups", "geteuid", "uname", "statvfs", "confstr"):
            monkeypatch.delattr(os, name)
    script(bin_, "hipInfo.exe", "#!/bin/sh\necho 'gcnArchName: gfx1151'\n")
    got = by_name(collect(env=environment(bin_, HIP_VISIBLE_DEVICES="0")))
    assert got["env"].text == "HIP_VISIBLE_DEVICES=0\n"
    assert not any(name.startswith(("sys/", "dev/kfd", "proc/")) for name in got)
    assert "py/packages" in got
    if system == "win32":
        assert got["uname"].text.startswith("Windows 10.0.26100")
        assert "gfx1151" in got["cmd/hipInfo"].text


def test_an_interrupt_leaves_no_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bin_: Path) -> None:
    hanging(bin_, "rocminfo", out="x\n")

    def interrupted(*_: object) -> list[Artifact]:
        while not (bin_ / "rocminfo.pid").exists():
            pass
        raise KeyboardInterrupt

    monkeypatch.setattr(live, "python_files", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect(root=bare_machine(tmp_path / "root"), env=environment(bin_))
    assert not alive(pid_of(bin_, "rocminfo"))
    assert live_tools.LIMIT == 5.0


@pytest.mark.parametrize(("status", "asked"), [("active\n", True), ("suspended\n", False), ("unsupported\n", True), (None, True)])
def test_the_link_of_a_sleeping_card_is_not_asked_for(tmp_path: Path, bin_: Path, status: str | None, asked: bool) -> None:
    """The kernel wakes a card to answer for its link (drivers/pci/pci-sysfs.c reads the config space)."""
    root = machine(tmp_path / "root", Card())
    if status:
        write(root, {"sys/class/drm/card0/device/power/runtime_status": status})
    got = read(root, bin_)["sys/class/drm/card0/device/current_link_speed"]
    assert (got.missing is None) is asked
    assert asked or "wake" in got.note
