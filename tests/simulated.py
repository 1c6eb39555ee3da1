"""Simulated live machines: a root with its own /sys, /dev, /proc, /etc and Python environment, in which commands run as on a real one.

tests/machines/NAME.yaml describes a machine (`Machine` has its keys), tests/machines/cards/cards.yaml the GPUs. `build` writes the root;
`run` enters it by namespaces and starts a command as the user `kim`. No GPU computes there, a ROCm torch has no libraries, and there is
no network. Root is needed to enter: mounts, and groups that are not one's own.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import yaml

from rocm_doctor.matrix import load

FOLDER = Path(__file__).parent / "machines"
PROJECT = Path(__file__).parents[1]
GIB = 2**30
GROUPS = {"video": 44, "render": 993}
_TOPOLOGY = "sys/class/kfd/kfd/topology/nodes"
_NEEDED = (
    "click", "msgspec", "packaging", "yaml", "_yaml", "tree_sitter", "tree_sitter_bash", "backports", "tomli", "pip", "psutil",
)  # fmt: skip
"""What the doctor and `pip` import, by the name of the module; all but pip are dependencies of the project."""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GPU as the kernel describes it. `target` as in gfx_target_version: 110000 is gfx1100. Memory in GiB."""

    target: int
    device: int
    units: int
    vram: float
    wavefront: int = 32
    integrated: bool = False
    pci_class: str = "0x030000"
    switch: bool = True
    """The card has a PCIe switch of its own (all Radeon since RDNA), whose upper port is the link to the slot."""


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a program in /opt/rocm/bin prints, and how it ends."""

    prints: str
    exit: int = 0


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine. Every key has the value of a healthy Ubuntu 24.04 unless the file says otherwise."""

    about: str
    """The person, in one sentence."""
    like: str = ""
    """Another machine: keys that this file leaves out come from it (`expect` does not)."""
    expect: dict[str, str] = {}
    """First line of standard output by command (`check` stands for `check --no-smoke -q`); `*` stands for any words."""
    exits: dict[str, int] = {}
    """Exit codes that differ from what the first line promises (✓ and ? are 0, ✗ is 1)."""
    gpus: tuple[str, ...] = ()
    """Names of cards, in the order of the kernel."""
    links: dict[int, str] = {}
    """PCIe link of a GPU's slot by its number, as `LANES SPEED`: `4 8.0`. The card has 16 lanes of 16.0 GT/s."""
    kernel: str = "6.8.0-60-generic"
    driver: str = "inbox"
    """Version of AMD's DKMS build, `inbox` for the kernel's own module, `none` when it is not loaded."""
    rocm: str = ""
    """/opt/rocm/.info/version; empty: no ROCm is installed."""
    os: str = "Ubuntu 24.04.3 LTS"
    cpu: str = "AMD Ryzen 9 7950X 16-Core Processor"
    memory: float = 64
    gtt: float = 0
    """System memory in GiB that the GPUs may map; 0: half of it, as the kernel sets it."""
    shm: str = "50%"
    cmdline: str = ""
    groups: tuple[str, ...] = ("video", "render")
    """Groups that list the user in /etc/group."""
    login: tuple[str, ...] | None = None
    """Groups of the running processes, when they differ from those of the file: those of the login."""
    container: str = ""
    wsl: bool = False
    kfd: bool = True
    """The device nodes are there; a container may lack them."""
    tools: dict[str, Tool] = {}
    torch: str = ""
    """Version of the torch in the user's environment, with the local part that says its build; empty: none."""
    packages: dict[str, str] = {}
    pipx: bool = False
    """The doctor has an environment of its own, while the user's is active."""
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    """Other files by their path; SITE stands for the site-packages of the user's environment."""
    kernel_log: str = ""

    @property
    def process_groups(self) -> tuple[str, ...]:
        return self.groups if self.login is None else self.login


def names() -> list[str]:
    """The machines that are described, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def described(name: str) -> Machine:
    """The machine of that name. Raises msgspec.ValidationError for a key that no machine has."""
    keys = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    if "like" in keys:
        parent = msgspec.to_builtins(described(keys["like"]))
        keys = {**{k: v for k, v in parent.items() if k not in ("expect", "exits")}, **keys}
    return msgspec.convert(keys, Machine)


@functools.cache
def cards() -> dict[str, Card]:
    return msgspec.convert(yaml.safe_load((FOLDER / "cards" / "cards.yaml").read_text(encoding="utf-8")), dict[str, Card])


def why_not() -> str:
    """Why machines cannot be entered here; empty if they can."""
    if not sys.platform.startswith("linux"):
        return "simulated machines are made of Linux namespaces"
    if os.geteuid() != 0:
        return "simulated machines need root: run `sudo -E python -m pytest tests/test_machines.py`"
    if not (shutil.which("unshare") and shutil.which("chroot")):
        return "unshare and chroot (util-linux, coreutils) are not installed"
    probe = subprocess.run(
        ["unshare", "-mnpf", "mount", "-t", "proc", "proc", "/proc"], capture_output=True, text=True, check=False
    )
    return f"this container may not mount: {probe.stderr.strip()}" if probe.returncode else ""


def run(root: Path, machine: Machine, command: str, limit: float = 60) -> subprocess.CompletedProcess[str]:
    """The command, run by a shell in the machine as its user; output as text."""
    argv = _enter(root, machine, command)
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=limit, check=False)


def _enter(root: Path, machine: Machine, command: str) -> list[str]:
    groups = ",".join(str(GROUPS[name]) for name in machine.process_groups)
    login = ["chroot", "--userspec=1000:1000", f"--groups={groups}", str(root), "/usr/bin/env", "-i"]
    variables = [f"{name}={value}" for name, value in environment(machine).items()]
    enter = ["unshare", "-mnpf", "--kill-child", "sh", "-ec", f'{_mounts(root, machine)}\nexec "$@"', "enter", *login, *variables]
    return [*enter, "/bin/sh", "-c", f"cd; {command}"]


class Shell:
    """Commands in one machine, each once. Those of the doctor alone are forks of one process there (tests/inside.py): a tenth of the time."""

    def __init__(self, root: Path, machine: Machine) -> None:
        self._root, self._machine = root, machine
        self._ran: dict[str, subprocess.CompletedProcess[str]] = {}
        start = f'set -- "$(command -v rocm-doctor)"; exec "$(sed -n "1s/^#!//p" "$1")" {PROJECT}/tests/inside.py "$1"'
        self._doctor = subprocess.Popen(
            _enter(root, machine, start), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        with self._doctor as doctor:  # it ends with its input
            assert doctor.stdin
            doctor.stdin.close()
            doctor.wait(60)

    def run(self, command: str, limit: float = 60) -> subprocess.CompletedProcess[str]:
        """What the command printed, and its exit code."""
        if command not in self._ran:
            alone = command.startswith("rocm-doctor ") and not set("|&;<>$`*") & set(command)
            self._ran[command] = self._ask(command, limit) if alone else run(self._root, self._machine, command, limit)
        return self._ran[command]

    def _ask(self, command: str, limit: float) -> subprocess.CompletedProcess[str]:
        assert self._doctor.stdin
        assert self._doctor.stdout
        guard = threading.Timer(limit, self._doctor.kill)
        guard.start()
        self._doctor.stdin.write(json.dumps(shlex.split(command)[1:]) + "\n")
        self._doctor.stdin.flush()
        answer = self._doctor.stdout.readline()
        guard.cancel()
        assert answer, f"{command}: no answer in {limit} s"
        return subprocess.CompletedProcess(command, **json.loads(answer))


def environment(machine: Machine) -> dict[str, str]:
    """The variables of the user's shell, with the environment active."""
    path = "/home/kim/venv/bin:/home/kim/.local/bin:/opt/rocm/bin:/usr/local/bin:/usr/bin:/bin"
    login = {"HOME": "/home/kim", "USER": "kim", "LOGNAME": "kim", "LANG": "C.UTF-8", "VIRTUAL_ENV": "/home/kim/venv"}
    return {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **login, **machine.env}


def build(machine: Machine, root: Path) -> Path:
    """Write the files of the machine under `root`, which is returned."""
    load()  # compiles the matrix, which the machine can read and not write
    own = {name.replace("SITE", _site("home/kim/venv")): text for name, text in machine.files.items()}
    files = {**_system(machine), **_kernel(machine), **_devices(machine), **_rocm(machine), **_python(machine), **own}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith(_LINK):
            path.symlink_to(text.removeprefix(_LINK))
        else:
            path.write_text(text, encoding="utf-8")
    for name in (
        *(f"opt/rocm/bin/{tool}" for tool in machine.tools),
        *(n for n in files if n.startswith("home/") and "/bin/rocm" in n),
    ):
        (root / name).chmod(0o755)
    for node in (root / "dev").rglob("*"):
        if node.name == "kfd" or node.name.startswith("renderD"):
            os.chown(node, 0, GROUPS["render"])
            node.chmod(0o660)
    for path in (root / "home/kim", *(root / "home/kim").rglob("*")):
        os.chown(path, 1000, 1000, follow_symlinks=False)
    for real in ("proc", "tmp", "run", "dev/shm", *(place.lstrip("/") for place in _bound())):
        (root / real).mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    (root / "tmp").chmod(0o1777)
    for link in ("bin", "lib", "lib64", "sbin"):
        if Path("/", link).is_symlink():
            (root / link).symlink_to(Path("/", link).readlink())
    return root


_LINK = "-> "
"""A file whose text begins with it is a symbolic link."""


def _bound() -> list[str]:
    """Folders of the real machine that are seen at the same place: programs, the Python, the project and what it imports."""
    sites = {
        str(Path(found.origin).parents[1 if found.submodule_search_locations else 0])
        for found in _modules().values()
        if found.origin
    }
    unmerged = [
        f"/{name}" for name in ("bin", "lib", "lib64", "sbin") if Path("/", name).is_dir() and not Path("/", name).is_symlink()
    ]
    places = sorted({"/usr", sys.base_prefix, str(PROJECT), *sites, *unmerged})
    return [place for place in places if not any(place.startswith(f"{other}/") for other in places)]


@functools.cache
def _modules() -> Mapping[str, importlib.machinery.ModuleSpec]:
    found = ((name, importlib.util.find_spec(name)) for name in _NEEDED)
    return {name: spec for name, spec in found if spec}


def _mounts(root: Path, machine: Machine) -> str:
    """Shell commands that complete the root in a mount namespace of its own."""
    at = shlex.quote(str(root))
    lines = [f"mount --bind -o ro {shlex.quote(place)} {at}{shlex.quote(place)}" for place in _bound()]
    lines.append(f"mount -t proc proc {at}/proc")
    for name in ("version", "cmdline", "meminfo", "cpuinfo", "modules", "sys/kernel/osrelease", "sys/kernel/numa_balancing"):
        if Path("/proc", name).exists():
            lines.append(f"mount --bind {at}/simulated/proc/{name} {at}/proc/{name}")
    lines += [f"mount --bind /dev/{name} {at}/dev/{name}" for name in ("null", "zero", "urandom")]
    lines.append(f"mount -t tmpfs -o mode=1777,size={machine.shm} shm {at}/dev/shm")
    return "\n".join(lines)


def _system(machine: Machine) -> dict[str, str]:
    """The distribution, the user, and the kernel's own words on the machine."""
    name, version = machine.os.split(" ", 1)
    members = {group: "kim" if group in machine.groups else "" for group in GROUPS}
    kib = int(machine.memory * 2**20)
    files = {
        "etc/os-release": f'NAME="{name}"\nID={name.lower()}\nVERSION_ID="{version[:5]}"\nPRETTY_NAME="{machine.os}"\n',
        "etc/group": "root:x:0:\n" + "".join(f"{g}:x:{GROUPS[g]}:{who}\n" for g, who in members.items()) + "kim:x:1000:\n",
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nkim:x:1000:1000:Kim:/home/kim:/bin/sh\n",
        "etc/ld.so.cache": f"{_LINK}/dev/null",
        "simulated/proc/version": f"Linux version {machine.kernel} (builder@box) (gcc 13) #1 SMP\n",
        "simulated/proc/sys/kernel/osrelease": f"{machine.kernel}\n",
        "simulated/proc/sys/kernel/numa_balancing": "0\n",
        "simulated/proc/cmdline": f"BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro quiet {machine.cmdline}\n",
        "simulated/proc/meminfo": f"MemTotal: {kib} kB\nMemFree: {kib // 2} kB\nMemAvailable: {kib // 2} kB\nSwapTotal: 0 kB\n",
        "simulated/proc/cpuinfo": f"processor\t: 0\nmodel name\t: {machine.cpu}\nflags\t\t: fpu sse2 avx2\n\n",
        "simulated/proc/modules": "amdgpu 20000000 1 - Live 0x0\n" if machine.driver != "none" else "ext4 1 1 - Live 0x0\n",
    }
    return files | ({".dockerenv": ""} if machine.container == "docker" else {})


def _kernel(machine: Machine) -> dict[str, str]:
    """sysfs: the PCI bus, DRM, the KFD topology, the module."""
    files = dict(_pci("pci0000:00/0000:00:00.0", {"vendor": "0x8086", "device": "0x14d8", "class": "0x060000"}))
    if machine.wsl:
        return files
    loaded = machine.driver != "none"
    gtt = (machine.gtt or machine.memory / 2) * GIB
    for number, name in enumerate(machine.gpus):
        card = cards()[name]
        bus = 3 + 4 * number
        path, bridges = _place(machine, number, card, bus)
        files |= bridges
        files |= _pci(path, _gpu_files(card, path.rpartition("/")[2], loaded, gtt))
        if loaded:
            device = f"{_LINK}../../../devices/{path}"
            files |= {f"sys/class/drm/card{number}/device": device, f"sys/class/drm/renderD{128 + number}/device": device}
            files |= _node(number, card, bus, gtt if card.integrated and gtt > card.vram * GIB else card.vram * GIB)
    if loaded:
        files |= {
            f"{_TOPOLOGY}/0/properties": "cpu_cores_count 32\nsimd_count 0\ngfx_target_version 0\nlocation_id 0\n",
            f"{_TOPOLOGY}/0/gpu_id": "0\n",
            "sys/module/amdgpu/initstate": "live\n",
            "sys/module/ttm/parameters/pages_limit": f"{int(gtt) // 4096}\n",
        }
    return files | ({"sys/module/amdgpu/version": f"{machine.driver}\n"} if machine.driver not in ("none", "inbox") else {})


def _place(machine: Machine, number: int, card: Card, bus: int) -> tuple[str, dict[str, str]]:
    """The path of a GPU below /sys/devices, and the bridges above it: a root port, and the card's own switch."""
    port = f"pci0000:00/0000:00:{number + 1:02x}.1"
    bridge = {"device": "0x14db", "class": "0x060400"}
    files = dict(_pci(port, {"vendor": "0x1022", **bridge}))
    if card.integrated or not card.switch:
        return f"{port}/0000:{bus:02x}:00.0", files
    lanes, speed = machine.links.get(number, "16 16.0").split()
    upper, lower = f"{port}/0000:{bus - 2:02x}:00.0", f"{port}/0000:{bus - 2:02x}:00.0/0000:{bus - 1:02x}:00.0"
    files |= _pci(upper, {"vendor": "0x1002", **bridge, **_link(lanes, speed)})
    files |= _pci(lower, {"vendor": "0x1002", **bridge, **_link("16", "16.0")})
    return f"{lower}/0000:{bus:02x}:00.0", files


def _link(lanes: str, speed: str) -> dict[str, str]:
    full = {"max_link_width": "16", "max_link_speed": "16.0 GT/s PCIe"}
    return {"current_link_width": lanes, "current_link_speed": f"{speed} GT/s PCIe", **full}


def _gpu_files(card: Card, slot: str, loaded: bool, gtt: float) -> dict[str, str]:
    claimed = "DRIVER=amdgpu\n" if loaded else ""
    files = {
        "vendor": "0x1002", "device": f"0x{card.device:04x}", "class": card.pci_class, "power/runtime_status": "active",
        "uevent": f"{claimed}PCI_CLASS={int(card.pci_class, 16):X}\nPCI_ID=1002:{card.device:04X}\nPCI_SLOT_NAME={slot}",
    }  # fmt: skip
    if loaded:
        sizes = {"mem_info_vram_total": card.vram * GIB, "mem_info_vram_used": 2**27, "mem_info_gtt_total": gtt}
        files |= {name: str(int(size)) for name, size in sizes.items()}
    return files if card.integrated else files | _link("16", "16.0")


def _pci(path: str, files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield f"sys/bus/pci/devices/{path.rpartition('/')[2]}", f"{_LINK}../../../devices/{path}"
    yield from ((f"sys/devices/{path}/{name}", f"{text}\n") for name, text in files.items())


def _node(number: int, card: Card, bus: int, memory: float) -> dict[str, str]:
    """The KFD node of a GPU; node 0 is the processor. `memory`: bytes that the GPU allocates from, which on an APU is the larger of the
    carve-out and the system memory that it may map."""
    node = f"{_TOPOLOGY}/{number + 1}"
    simds = 4 if card.wavefront == 64 else 2
    properties = {
        "cpu_cores_count": 0, "simd_count": card.units * simds, "mem_banks_count": 1, "wave_front_size": card.wavefront,
        "simd_per_cu": simds, "gfx_target_version": card.target, "vendor_id": 4098, "device_id": card.device, "location_id": bus << 8,
        "domain": 0, "drm_render_minor": 128 + number, "num_xcc": 1,
    }  # fmt: skip
    return {
        f"{node}/properties": "".join(f"{key} {value}\n" for key, value in properties.items()),
        f"{node}/gpu_id": f"{40977 + number}\n",
        f"{node}/name": "ip discovery\n",
        f"{node}/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {int(memory)}\nflags 0\nwidth 256\n",
        f"{node}/io_links/0/properties": f"type 2\nnode_from {number + 1}\nnode_to 0\nweight 20\n",
    }


def _devices(machine: Machine) -> dict[str, str]:
    """Device nodes, as plain files: whether they open is all that counts."""
    files = dict.fromkeys(("dev/null", "dev/zero", "dev/urandom"), "")
    if machine.wsl:
        files["dev/dxg"] = ""
    elif machine.kfd and machine.driver != "none":
        files |= {"dev/kfd": "", **{f"dev/dri/renderD{128 + number}": "" for number in range(len(machine.gpus))}}
    lines = (f"6,{100 + n},{1000000 * (n + 5)},-;{line}" for n, line in enumerate(machine.kernel_log.splitlines()))
    return files | ({"dev/kmsg": "".join(f"{line}\n" for line in lines)} if machine.kernel_log else {}) | {
        "dev/fd": f"{_LINK}/proc/self/fd"
    }  # fmt: skip


def _rocm(machine: Machine) -> dict[str, str]:
    if not machine.rocm:
        return {"opt/.keep": ""}
    tools = {
        f"opt/rocm/bin/{name}": f"#!/bin/sh\ncat <<'END'\n{tool.prints}\nEND\nexit {tool.exit}\n"
        for name, tool in machine.tools.items()
    }
    libraries = ("libamdhip64.so", "libhsa-runtime64.so", "librocblas.so", "libMIOpen.so", "librccl.so", "libhipblaslt.so")
    return {"opt/rocm/.info/version": f"{machine.rocm}\n", **{f"opt/rocm/lib/{name}": "" for name in libraries}, **tools}


def _python(machine: Machine) -> dict[str, str]:
    """The user's environment with what is installed in it, and the doctor in it or in one of its own."""
    venv = "home/kim/venv"
    own = "home/kim/.local/share/pipx/venvs/rocm-doctor" if machine.pipx else venv
    files = {**_venv(venv), **_venv(own), **_doctor(own)}
    installed = {**machine.packages, **({"torch": machine.torch} if machine.torch else {})}
    for name, version in installed.items():
        record = f"{_site(venv)}/{name.replace('-', '_')}-{version}.dist-info"
        files |= {f"{record}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", f"{record}/RECORD": ""}
    return {**files, **_torch(machine.torch, _site(venv))} if machine.torch else files


def _site(venv: str) -> str:
    return f"{venv}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def _venv(place: str) -> dict[str, str]:
    program = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    version = ".".join(map(str, sys.version_info[:3]))
    return {
        f"{place}/pyvenv.cfg": f"home = {program.parent}\ninclude-system-site-packages = false\nversion = {version}\n",
        **{f"{place}/bin/{name}": f"{_LINK}{program}" for name in ("python", "python3", program.name)},
        f"{_site(place)}/.keep": "",
    }


def _doctor(place: str) -> dict[str, str]:
    """The installed doctor: its program, and a path file to the project and what it imports, none of which is examined."""
    imports = "home/kim/imports"
    origins = {name: Path(spec.origin) for name, spec in _modules().items() if spec.origin}
    targets = [origin.parent if origin.name == "__init__.py" else origin for origin in origins.values()]
    program = f"#!/{place}/bin/python\nimport sys\nfrom rocm_doctor.cli import program\nsys.exit(program())\n"
    command = "home/kim/.local/bin/rocm-doctor" if "pipx" in place else f"{place}/bin/rocm-doctor"
    return {
        f"{_site(place)}/doctor.pth": f"{PROJECT}\n/{imports}\nimport kernel_of_the_machine\n",
        **{f"{imports}/{target.name}": f"{_LINK}{target}" for target in targets},
        f"{imports}/kernel_of_the_machine.py": _UNAME,
        command: program,
    }


_UNAME = """import os
real, release = os.uname(), open("/proc/sys/kernel/osrelease").read().strip()
os.uname = lambda: os.uname_result((*real[:2], release, *real[3:]))
"""
"""No namespace has a kernel release of its own, so that Python says it in place of the kernel."""


def _torch(version: str, site: str) -> dict[str, str]:
    """torch by its version file, as the wheel of that local version has it."""
    local = version.partition("+")[2]
    hip = f"'{local.removeprefix('rocm')}.43482-0f2d60242'" if local.startswith("rocm") else None
    digits = local.removeprefix("cu")
    cuda = f"'{digits[:-1]}.{digits[-1]}'" if digits.isdigit() else None
    text = (
        f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\ngit_version = ''\nhip: Optional[str] = {hip}\n"
    )
    return {f"{site}/torch/__init__.py": "", f"{site}/torch/version.py": f"from typing import Optional\n{text}"}
