"""Name, kind and meaning of every fact: rows, probes and reports use these names and no others (tests/recorded.py).

A fact of the machine has the same name in `Snapshot.facts` (`torch.version`). A fact of a GPU has the prefix `gpu.` in conditions
(`gpu.gfx`) and none in `Gpu.facts`. A family ends in `.` and takes any name (`env.HIP_VISIBLE_DEVICES`).

How a value compares (`Kind`): `version` (PEP 440 ranges, see versions.py), `release` (the same behind the line of releases:
`upstream:>=2.7,<2.12|amd:<2.10`; a range without a line holds for both), `word` (globs, any case), `number` (bounds,
with optional KiB/MiB/GiB), `flag` (yes or no), `list` (true when any element fits), `log` (words in one line of a log).
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

Kind = Literal["version", "release", "word", "number", "flag", "list", "log"]


class Coord(NamedTuple):
    """How a fact compares, and its meaning."""

    kind: Kind
    meaning: str


COORDS: dict[str, Coord] = {
    # the machine
    "declared": Coord("flag", "the GPU is declared: the installed environment was read, and no machine"),
    "platform": Coord("word", "linux, windows or macos"),
    "os": Coord("word", "distribution or Windows edition as it names itself"),
    "host.hostname": Coord("word", "name of the machine, where a text names one only; a pseudonym after redaction"),
    "host.id": Coord("word", "number made of the machine's own id by a one-way hash: the same in every report of this machine"),
    "kernel": Coord("version", "kernel release, as uname -r prints it"),
    "cmdline": Coord("word", "kernel command line"),
    "cpu": Coord("word", "processor model name"),
    "glibc": Coord("version", "C library version"),
    "ram_bytes": Coord("number", "main memory in bytes"),
    "wsl": Coord("flag", "the Windows Subsystem for Linux"),
    "dxg.exists": Coord("flag", "/dev/dxg exists (WSL)"),
    "pci.gpus": Coord("number", "AMD display devices on the PCI bus"),
    "container": Coord("word", "docker, podman, lxc, k8s, apptainer, toolbox, distrobox; absent outside of one"),
    "container.rootless": Coord("flag", "the container's engine runs without root"),
    "virtual_machine": Coord("word", "hypervisor of the guest; absent on bare metal"),
    "secure_boot": Coord("flag", "UEFI secure boot is on"),
    "iommu": Coord("word", "mode from the kernel command line: pt, on, off, or default"),
    "nomodeset": Coord("word", "the word of the kernel command line that keeps amdgpu from loading, such as nomodeset"),
    "numa_balancing": Coord("flag", "automatic NUMA balancing is on"),
    "shm_bytes": Coord("number", "size of /dev/shm in bytes"),
    "memlock_bytes": Coord("number", "limit of locked memory in bytes; -1 is unlimited"),
    "cgroup_memory_bytes": Coord("number", "memory limit of the control group in bytes; absent when there is none"),
    "user.groups": Coord("list", "names (or numeric ids) of the process's groups"),
    "user.joined": Coord(
        "list", "groups that list the user in the group file and that this login, which is older, does not have"
    ),
    "user.gids": Coord("list", "numeric ids of the process's groups"),
    "user.member_of": Coord("word", "group that rocminfo says this user is in"),
    "user.missing_group": Coord("word", "group that rocminfo or amd-smi says this user is not in"),
    "user.root": Coord("flag", "the process is root"),
    # device nodes and driver
    "kfd.exists": Coord("flag", "/dev/kfd exists"),
    "kfd.openable": Coord("flag", "this user can open /dev/kfd for reading and writing"),
    "kfd.error": Coord("word", "the words of the failed open of /dev/kfd"),
    "kfd.gid": Coord("word", "numeric owner group of /dev/kfd"),
    "kfd.group": Coord("word", "name of the owner group of /dev/kfd"),
    "kfd.nodes": Coord("number", "GPU nodes of the KFD topology; 0 also without a topology"),
    "kfd.denied": Coord(
        "list", "nodes of the KFD topology that may not be read: GPUs that the container's device rules keep away"
    ),
    "render.nodes": Coord("list", "/dev/dri/renderD* that exist"),
    "render.openable": Coord("flag", "this user can open every render node that belongs to an AMD GPU"),
    "render.gid": Coord("word", "numeric owner group of the render nodes"),
    "render.group": Coord("word", "name of the owner group of the render nodes"),
    "driver.loaded": Coord("flag", "the amdgpu module is loaded or built in"),
    "driver.builtin": Coord("flag", "amdgpu is built into the kernel or is the kernel's own module"),
    "driver.version": Coord(
        "version", "version of the DKMS amdgpu module (6.12.12), as printed; absent with the kernel's own, or if none is loaded"
    ),
    "driver.parameters": Coord("list", "amdgpu module parameters that differ from their defaults, name=value"),
    "driver.error": Coord("word", "first error of amdgpu or kfd in the kernel log"),
    "driver.events": Coord(
        "list", "events of the GPU in the kernel log: driver_load, ring_timeout, gpu_reset, page_fault, firmware_missing, ..."
    ),
    "driver.on_disk": Coord("flag", "the running kernel has an amdgpu module to load"),
    "driver.blacklisted": Coord("word", "file under /etc/modprobe.d that keeps amdgpu from loading"),
    "driver.vfio": Coord("word", "file under /etc/modprobe.d that gives AMD devices to vfio-pci"),
    "driver.others": Coord("list", "other graphics drivers that are loaded: nvidia, nouveau, radeon, vfio_pci"),
    "driver.windows": Coord("version", "Adrenalin version on Windows"),
    "firmware.mes": Coord("word", "MES firmware version"),
    "firmware.linux": Coord("word", "release (a date) of the linux-firmware package"),
    "ttm.pages_limit": Coord("number", "pages that GPUs may map of main memory"),
    # ROCm and HIP
    "rocm.version": Coord("version", "ROCm release installed on the system (or the SDK wheels), not the one inside torch"),
    "rocm.loaded": Coord(
        "version",
        "ROCm release whose libraries torch loads: its own where the wheel carries them, else the system's (facts/derive.py)",
    ),
    "rocm.installations": Coord("list", "every ROCm found, as path=version"),
    "rocm.loader": Coord("word", "the ROCm library folder that the loader would take first"),
    "rocm.source": Coord("word", "how ROCm was installed: opt, distribution, wheels, therock"),
    "rocm.on_path": Coord("list", "ROCm installations that LD_LIBRARY_PATH leads to, as path=version"),
    "runtime.version": Coord("version", "HSA runtime version as rocminfo prints it (1.14); not a ROCm version"),
    "hip.version": Coord("version", "HIP version of hipconfig or of the runtime"),
    "rdma.ports": Coord("number", "ports of RDMA network adapters"),
    "rdma.active": Coord("number", "RDMA ports that are active"),
    "rdma.down": Coord("list", "RDMA ports that are not active, without those that are switched off"),
    "rdma.without_gid": Coord("list", "active RDMA ports without an address (GID)"),
    "tools.slow": Coord("list", "tools that took longer than 5 s to answer"),
    "tool.": Coord("word", "how a tool ended that did not answer: hung, or died by a signal"),
    "hsa.status": Coord("word", "HSA error that rocminfo ended with"),
    # Python and packages
    "python.version": Coord("version", "version of the examined interpreter"),
    "python.prefix": Coord("word", "its sys.prefix"),
    "python.env": Coord("word", "venv, conda, system, uv; doctor: its own, as no environment is active"),
    "pkg.": Coord("version", "version of an installed package; absent when it is not installed"),
    "torch.version": Coord("version", "torch's version with its local part (2.9.1+rocm6.4)"),
    "torch.release": Coord(
        "release", "torch's version behind the line it comes from: upstream (PyTorch's wheels) or amd (AMD's) (facts/derive.py)"
    ),
    "torch.hip": Coord("version", "torch.version.hip; absent in a CPU or CUDA build"),
    "torch.cuda": Coord("version", "torch.version.cuda; absent in a ROCm or CPU build"),
    "torch.rocm": Coord("version", "ROCm release torch was built with: local part, then version.rocm, then version.hip"),
    "jax.build": Coord("word", "rocm, cuda, cpu: by JAX's plugin"),
    "jax.rocm": Coord("version", "ROCm that JAX's plugin is for"),
    "jax.plugin": Coord("version", "version of JAX's GPU plugin"),
    "jax.parts": Coord("word", "same when plugin and PJRT client are there at jax's version, else differ"),
    "jax.device": Coord("word", "devices that JAX listed: rocm, cuda, cpu"),
    "jax.other_rocm": Coord("flag", "JAX's plugin is for another major release of ROCm than the system's (facts/frameworks.py)"),
    "tensorflow.build": Coord("word", "rocm, cuda, cpu: by the package that TensorFlow came as"),
    "tensorflow.rocm": Coord("version", "ROCm that tensorflow-rocm was built with"),
    "tensorflow.device": Coord("word", "devices that TensorFlow listed: gpu, cpu"),
    "tensorflow.other_rocm": Coord(
        "flag", "TensorFlow is for another major release of ROCm than the system's (facts/frameworks.py)"
    ),
    "torch.build": Coord("word", "rocm, cuda, cpu"),
    "torch.family": Coord("word", "wheel family: bundled (A), rpath-packages (B), amd-listing (C), therock (D), source"),
    "torch.arch_list": Coord("list", "gfx targets as torch.cuda.get_arch_list() printed them"),
    "torch.available": Coord("flag", "torch.cuda.is_available() as it was printed"),
    "torch.device_dists": Coord("list", "gfx targets of installed device wheels (amd-torch-device-*, rocm-sdk-device-*)"),
    "torch.other_rocm": Coord(
        "flag", "torch was built with another ROCm than the system has, by the first two numbers (facts/derive.py)"
    ),
    "torch.expandable_segments": Coord(
        "flag", "the allocator option expandable_segments as the environment sets it (facts/derive.py)"
    ),
    # environment
    "env.": Coord("word", "environment variable as the process sees it; absent when it is not set"),
    "startup.": Coord("flag", "a start-up file of a shell sets this variable"),
    # evidence from binaries and runs
    "code.": Coord("list", "gfx targets of the code objects inside a library"),
    "soname.": Coord("list", "ROCm libraries (sonames) that a library is linked to"),
    "smoke.interpreter": Coord("word", "interpreter that ran the smoke test"),
    "smoke.torch": Coord("word", "torch version that ran the smoke test"),
    "smoke.jax": Coord("word", "JAX version that ran the smoke test"),
    "smoke.tensorflow": Coord("word", "TensorFlow version that ran the smoke test"),
    "smoke.kind": Coord("word", "device that ran the smoke test: hip, cuda, cpu, unknown"),
    "smoke.card": Coord("word", "name of the GPU that ran the smoke test"),
    "smoke.masked": Coord("word", "yes when a visibility variable was set during the smoke test"),
    "smoke.integrated-first": Coord("word", "yes when device 0 is integrated and a discrete GPU follows it"),
    "smoke.first": Coord("word", "first smoke stage, in order of blame, that failed, died or hung"),
    "smoke.first-how": Coord("word", "result of that stage"),
    "smoke.": Coord(
        "word",
        "result of a smoke stage, of all frameworks or of one (smoke.jax.matmul): passed, failed:..., died:SIGSEGV, timeout, skipped:...",
    ),
    # speed, from a report of `rocm-doctor bench` or from other benchmarks
    "rate.": Coord(
        "number", "figure that a benchmark measured (matmul-bf16 in TFLOP/s, memory-triad in GB/s); that of the slowest GPU"
    ),
    "speed.kind": Coord("word", "device that ran the benchmark: hip, cuda, cpu"),
    "speed.gpu": Coord("word", "GPU that ran the benchmark, as the tool names it"),
    "speed.torch": Coord("word", "torch version that ran the benchmark"),
    "speed.attention": Coord("word", "attention path that torch takes by itself: flash, efficient, cudnn, math"),
    "speed.attention-gain": Coord("number", "fastest attention path against the one that torch takes"),
    "speed.bf16-gain": Coord("number", "matrix products in bf16 against fp32"),
    "speed.blas": Coord("word", "BLAS library that torch prefers: rocblas, hipblaslt, default"),
    "speed.blas-fastest": Coord("word", "BLAS library that is the fastest at a training shape"),
    "speed.blas-gain": Coord("number", "the fastest BLAS library against the preferred one"),
    "speed.cap-share": Coord("number", "power limit in force, as a part of the board's default"),
    "speed.clock-share": Coord("number", "shader clock under load, as a part of the highest"),
    "speed.link-share": Coord("number", "bandwidth of the PCIe link in use, as a part of what GPU and slot can have"),
    "speed.loader-share": Coord("number", "tokens that a DataLoader delivers, as a part of those that a training step takes"),
    "speed.numa-local": Coord("flag", "the benchmark could only run on CPUs of the GPU's NUMA node"),
    "speed.numa-nodes": Coord("number", "NUMA nodes of the machine"),
    "speed.peer-access": Coord("flag", "one GPU can reach the memory of the next one directly"),
    "speed.peer-share": Coord("number", "copies from GPU to GPU, as a part of copies from the host"),
    "speed.pinned-gain": Coord("number", "copies from pinned memory against pageable memory"),
    "speed.power-share": Coord("number", "board power under load, as a part of the power limit"),
    "speed.profile": Coord("word", "performance level of the driver: auto, low, high, manual, profile_*"),
    "speed.shape-gain": Coord("number", "best matrix shape against a training shape, in bf16"),
    "speed.temperature": Coord("number", "hottest temperature under load, in degrees Celsius"),
    "speed.tf32-gain": Coord("number", "matrix products with tf32 (xf32) allowed against plain fp32"),
    "speed.throttle": Coord("list", "reasons for which the driver lowered the clocks: power, thermal, hardware, power-brake"),
    "speed.tunable-gain": Coord("number", "a training shape after TunableOp against before"),
    "speed.": Coord(
        "word",
        "verdict on a figure or a group of them (matmul, memory, copies, attention-passes): slow, as-expected, cannot-tell",
    ),
    # a training run that a text shows (facts/run.py)
    "run.shown": Coord("flag", "the text shows a training run: its progress or its trainer's log"),
    "run.batch": Coord("number", "micro-batch"),
    "run.seq": Coord("number", "tokens of a sequence, at most"),
    "run.tokens": Coord("number", "tokens of a micro-batch, at most"),
    "run.checkpointing": Coord("flag", "gradient checkpointing is on"),
    "run.autocast": Coord("word", "type of mixed precision: float16 or bfloat16"),
    "run.busy_percent": Coord("number", "time in which the GPU computes, in percent: of the busiest GPU"),
    "run.vram_percent": Coord("number", "device memory in use on the busiest GPU, in percent"),
    "run.power-share": Coord("number", "power of the busiest GPU, as a part of its limit"),
    "run.clock_mhz": Coord("number", "shader clock of the busiest GPU, in MHz"),
    "run.temperature": Coord("number", "hottest temperature of the busiest GPU, in degrees Celsius"),
    "run.gtt_bytes": Coord("number", "system memory that the busiest GPU uses, in bytes"),
    "run.killed": Coord("flag", "the shell says that a process was killed, and no more"),
    "oom.kind": Coord("word", "why an allocation failed: pieces (PyTorch held enough unused) or full"),
    # what a text says beside its tool output
    "said.release": Coord("version", "version of the program that the text is about"),
    "said.program": Coord("word", "program of the catalog that the text is about"),
    "said.asks": Coord("word", "first question that the text asks"),
    "said.asks_support": Coord("word", "ROCm release of which the text asks whether it supports the GPU; any: it names none"),
    "said.frameworks": Coord("list", "frameworks that the text names, or the one that --framework names: torch, jax, tensorflow"),
    "said.not_found": Coord("list", "packages of which pip found no release, or none for this Python"),
    "said.ran": Coord("list", "commands in the text, shown with their output"),
    "said.torch_index": Coord(
        "word", "index of the torch that the text installs: rocm6.4, cu128, cpu, pypi, therock, repo.radeon.com"
    ),
    "said.nvidia": Coord("word", "NVIDIA GPU that the text names"),
    "log": Coord("log", "words of one line of a log, traceback or message"),
    "log.": Coord("log", "a further line that must (or, with !, must not) be in the logs"),
    # one GPU
    "gpu.gfx": Coord("word", "gfx target of the chip as the kernel names it"),
    "gpu.gfx_reported": Coord("word", "gfx target that the runtime reports, where an override changed it"),
    "gpu.isa": Coord("word", "full ISA name with feature flags"),
    "gpu.family": Coord("word", "family of the catalog: GCN5.1, CDNA3, RDNA2, ..."),
    "gpu.codename": Coord("word", "chip's codename of the catalog: Navi 31, Strix Halo"),
    "gpu.marketing_name": Coord("word", "name as the tool prints it"),
    "gpu.product": Coord("word", "name of the product in the catalog, for a device id that only one product has"),
    "gpu.partition": Coord("word", "compute partition mode of an Instinct: SPX (whole), DPX, TPX, QPX, CPX"),
    "gpu.device_id": Coord("number", "PCI device id"),
    "gpu.subsystem_id": Coord("number", "PCI subsystem id (on an Instinct it is the device id)"),
    "gpu.pci_bdf": Coord("word", "PCI address, domain:bus:device.function"),
    "gpu.compute_units": Coord("number", "compute units (CUs, not WGPs)"),
    "gpu.wavefront_size": Coord("number", "32 or 64"),
    "gpu.vram_bytes": Coord("number", "device memory in bytes (on an APU the carve-out)"),
    "gpu.carveout_bytes": Coord(
        "number", "memory that the firmware set aside for the GPU (DRM); on a discrete GPU the same as vram_bytes"
    ),
    "gpu.opencl_bytes": Coord("number", "memory that OpenCL reports (on an APU a share of system memory)"),
    "gpu.gtt_bytes": Coord("number", "GTT limit in bytes"),
    "gpu.vram_used_bytes": Coord("number", "device memory in use by anybody when it was read, in bytes"),
    "gpu.is_apu": Coord("flag", "integrated with the CPU"),
    "gpu.driver": Coord("word", "kernel driver that has claimed the device; absent when none has"),
    "gpu.node": Coord("number", "KFD topology node"),
    "gpu.render_node": Coord("word", "its /dev/dri/renderD*"),
    "gpu.uuid": Coord(
        "word", "serial number as rocminfo (GPU-...) or amd-smi prints it; placeholders such as GPU-XX are not a value"
    ),
    "gpu.vbios": Coord("word", "video BIOS version"),
    "gpu.link_width": Coord("number", "PCIe lanes in use"),
    "gpu.link_speed": Coord("word", "PCIe transfer rate in use"),
    "gpu.link_max_width": Coord("number", "PCIe lanes that the GPU has"),
    "gpu.link_max_speed": Coord("word", "PCIe transfer rate that the GPU has"),
    "gpu.vram_used_percent": Coord("number", "part of the device memory in use, where a tool prints no bytes, in percent"),
    "gpu.busy_percent": Coord("number", "time in which the GPU computes, in percent"),
    "gpu.power_watts": Coord("number", "power when it was read, in watts"),
    "gpu.clock_mhz": Coord("number", "shader clock when it was read, in MHz"),
    "gpu.temperature": Coord("number", "hottest temperature when it was read, in degrees Celsius"),
    "gpu.gtt_used_bytes": Coord("number", "system memory that the GPU uses, in bytes"),
    "gpu.power_cap_watts": Coord("number", "power limit in force, in watts"),
    "gpu.power_default_watts": Coord("number", "power limit that the board has by default, in watts"),
    "gpu.links": Coord("list", "links to other KFD nodes as kind:node (xgmi:3, pcie:0)"),
    "gpu.ras_uncorrectable": Coord(
        "number", "errors that the GPU could not correct since the driver was loaded, of all its blocks"
    ),
    "gpu.ras_correctable": Coord("number", "errors that the GPU corrected since the driver was loaded"),
    "gpu.ras_correctable_per_day": Coord("number", "errors that the GPU corrected, by the day since the machine was started"),
    "gpu.retired_pages": Coord("number", "pages of device memory that were taken out of use as bad"),
    "gpu.xgmi_errors": Coord("number", "errors on the links to other GPUs (XGMI), corrected or not"),
    "gpu.pcie_replays": Coord("number", "packets that were sent again over PCIe"),
    "gpu.pcie_errors": Coord("number", "uncorrectable PCIe errors of the GPU's port, without requests that are not supported"),
    "gpu.held_bytes": Coord("number", "device memory that compute processes hold, in bytes"),
    "gpu.numa_node": Coord("number", "NUMA node"),
    "gpu.visible": Coord("flag", "left visible by ROCR_/HIP_/CUDA_VISIBLE_DEVICES"),
}

_FAMILIES = tuple(name for name in COORDS if name.endswith("."))


@cache
def coord(name: str) -> Coord | None:
    """The coordinate of that name, or of the family it belongs to; None for a name that this file does not define."""
    if name in COORDS:
        return None if name.endswith(".") else COORDS[name]
    return next((COORDS[f] for f in _FAMILIES if name.startswith(f) and len(name) > len(f)), None)
