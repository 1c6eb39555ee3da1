"""What holds a running training back, from what the kernel says of its GPU and what psutil says of its process. Nothing is attached to it.

The GPU: files of amdgpu under /sys/class/drm/card*/device (busy percentages, VRAM and GTT, hwmon's power and temperatures, clocks, the
PCIe link) and /sys/class/kfd/kfd/proc (which process holds how much VRAM). The process: its threads, children, I/O and page faults.
"""

from __future__ import annotations

import contextlib
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.kernel.kfd import address

GIB, MIB = 1 << 30, 1 << 20
_CLOCK = regex(r":\s*(\d{1,6})\s*Mhz\s*(\*?)", re.I)
EVERY = 0.5
"""Seconds between two samples: gpu_busy_percent is a mean over some milliseconds."""
BUSY, IDLE = 85.0, 10.0
"""Percent from which a GPU computes all the time, and below which it does nothing."""
FULL = 90.0
"""Percent of one CPU core from which a thread or a loader worker has no time left."""
FAULTS = 50.0
"""Pages a second read back from disk, from which the host's memory is too small."""
READS = 20 * MIB
"""Bytes a second from disk, from which a process that waits is taken to wait for the disk."""


class WatchError(ValueError):
    """Nothing to watch; the message says what to give."""


class Sample(msgspec.Struct, frozen=True):
    """One look. Bytes, watts, degrees, MHz, percent; None where a file is missing or cannot be read.

    Since the process began: `thread` CPU seconds of its busiest thread, `cpu` of all its threads, `workers` of each child by PID, `read` bytes
    read from disk, `faults` major page faults. `others`: PIDs of other processes that hold VRAM.
    """

    at: float
    gpu: Mapping[str, float | None]
    thread: float
    cpu: float
    workers: Mapping[int, float]
    read: float | None
    faults: float | None
    others: tuple[int, ...]


class Cause(msgspec.Struct, frozen=True):
    """What holds the run back, with what was seen; `remedy` is what to change."""

    id: str
    words: str
    seen: tuple[str, ...]
    remedy: str = ""


class Watched(msgspec.Struct, frozen=True):
    """The process, its GPU, how long it was looked at, the cause that explains most and the rest. `pace`: how much of the GPU's peak the
    run uses; empty where the configuration and the seconds of a step were not given."""

    pid: int
    command: str
    gpu: str
    seconds: float
    causes: tuple[Cause, ...]
    figures: Mapping[str, float | None]
    pace: str = ""


def read_number(path: Path, scale: float = 1.0) -> float | None:
    """The number in a file, times `scale`; None if it is missing or is not a number."""
    try:
        return float(path.read_text().split()[0]) * scale
    except (OSError, ValueError, IndexError):
        return None


def list_devices(sysfs: Path) -> list[Path]:
    """The device folders of AMD's GPUs."""
    found = sorted(sysfs.glob("class/drm/card[0-9]*/device"))
    return [path for path in found if "-" not in path.parent.name and _read_text(path / "vendor") == "0x1002"]


def _read_text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text().strip()
    return ""


def vram_by_process(sysfs: Path) -> dict[int, float]:
    """Bytes of VRAM by process, as KFD counts them."""
    found = {}
    for folder in sysfs.glob("class/kfd/kfd/proc/[0-9]*"):
        sizes = [read_number(file) for file in folder.glob("vram_*")]
        found[int(folder.name)] = sum(size for size in sizes if size)
    return found


def device_of(pid: int, devices: list[Path], sysfs: Path) -> Path | None:
    """The device whose VRAM the process holds most of, as KFD counts it; where KFD does not say, the one with most VRAM in use."""
    held: dict[str, float] = {}
    for file in sysfs.glob(f"class/kfd/kfd/proc/{pid}/vram_*"):
        held[file.name.removeprefix("vram_")] = read_number(file) or 0.0
    on_bus: dict[str, float] = {}
    for node in sysfs.glob("class/kfd/kfd/topology/nodes/*"):
        fields = dict(line.split()[:2] for line in _read_text(node / "properties").splitlines() if " " in line)
        place = address(int(fields.get("domain", 0)), int(fields.get("location_id", 0)))
        if place:
            on_bus[place] = held.get(_read_text(node / "gpu_id"), 0.0)
    used = {device: read_number(device / "mem_info_vram_used") or 0.0 for device in devices}
    return max(devices, key=lambda one: (on_bus.get(one.resolve().name, 0.0), used[one]), default=None)


def look_at_gpu(device: Path) -> dict[str, float | None]:
    """The figures of one GPU."""
    hwmon = next(iter(sorted(device.glob("hwmon/hwmon*"))), device)
    levels = _CLOCK.findall(_read_text(device / "pp_dpm_sclk"))
    clocks = [float(mhz) for mhz, _ in levels]
    now = next((float(mhz) for mhz, mark in levels if mark), None)
    inputs = list(hwmon.glob("temp*_input"))
    heats = [(read_number(one, 1e-3), read_number(one.with_name(one.name.replace("_input", "_crit")), 1e-3)) for one in inputs]
    known = [(heat, limit) for heat, limit in heats if heat is not None and limit]
    hottest = max(known, key=lambda pair: pair[0] - pair[1], default=(None, None))
    watts = read_number(hwmon / "power1_average", 1e-6)
    return {
        "busy": read_number(device / "gpu_busy_percent"), "memory_busy": read_number(device / "mem_busy_percent"),
        "vram": read_number(device / "mem_info_vram_used"), "vram_total": read_number(device / "mem_info_vram_total"),
        "gtt": read_number(device / "mem_info_gtt_used"), "gtt_total": read_number(device / "mem_info_gtt_total"),
        "power": watts if watts is not None else read_number(hwmon / "power1_input", 1e-6), "cap": read_number(hwmon / "power1_cap", 1e-6),
        "heat": hottest[0], "heat_limit": hottest[1], "clock": now, "clock_most": max(clocks, default=None),
        "width": read_number(device / "current_link_width"), "width_most": read_number(device / "max_link_width"),
        "speed": read_number(device / "current_link_speed"), "speed_most": read_number(device / "max_link_speed"),
    }  # fmt: skip


def take_sample(process: Any, device: Path | None, sysfs: Path) -> Sample:
    """One look at the process and its GPU. Raises psutil.NoSuchProcess when the process has ended."""
    import psutil

    threads = [t.user_time + t.system_time for t in process.threads()]
    workers = {}
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            workers[child.pid] = sum(child.cpu_times()[:2])
    read = faults = None
    with contextlib.suppress(psutil.Error, AttributeError):
        read = float(process.io_counters().read_bytes)
    with contextlib.suppress(OSError, ValueError, IndexError):
        faults = float(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[9])
    mine = {process.pid, *workers}
    others = tuple(sorted(pid for pid, size in vram_by_process(sysfs).items() if pid not in mine and size > 64 * MIB))
    gpu = look_at_gpu(device) if device else {}
    return Sample(time.monotonic(), gpu, max(threads, default=0.0), sum(process.cpu_times()[:2]), workers, read, faults, others)


def watch(
    pid: int | None, seconds: float, sysfs: Path = Path("/sys"), tell: Callable[[str], None] = lambda _line: None
) -> Watched:
    """Look at the process (None: the one that holds most VRAM) for so many seconds, or until it ends or Ctrl-C. Raises WatchError."""
    import psutil

    held = vram_by_process(sysfs)
    pid = pid or max(held, key=lambda one: held[one], default=None)
    if not pid:
        raise WatchError("no process uses a GPU here: give the PID of the training")
    found = list_devices(sysfs)
    device = device_of(pid, found, sysfs)
    samples: list[Sample] = []
    try:
        process = psutil.Process(pid)
        command = " ".join(process.cmdline())[:200]
        until = time.monotonic() + seconds
        while time.monotonic() < until or len(samples) < 2:
            samples.append(take_sample(process, device, sysfs))
            if len(samples) % 4 == 0:
                tell(f"looking at process {pid}: {until - time.monotonic():.0f} s left")
            time.sleep(EVERY)
    except psutil.NoSuchProcess as exc:
        if len(samples) < 2:
            raise WatchError(f"no process {pid} here") from exc
    except psutil.AccessDenied as exc:
        raise WatchError(f"permission denied to look at process {pid}: run as its user") from exc
    except KeyboardInterrupt:
        if len(samples) < 2:
            raise
    figures = summary(samples)
    name = _read_text(device / "product_name") if device else ""
    gpu = name or (device.parent.name if device else "")
    return Watched(pid, command, gpu, samples[-1].at - samples[0].at, tuple(judge(figures)), figures)


def summary(samples: Sequence[Sample]) -> dict[str, float | None]:
    """Medians of the GPU's figures, rates of the process's: `thread`, `cpu` and `worker` (the busiest) in percent of a core."""
    first, last = samples[0], samples[-1]
    span = max(last.at - first.at, 1e-3)
    figures: dict[str, float | None] = {}
    for name in dict.fromkeys(key for one in samples for key in one.gpu):
        values = [value for one in samples if (value := one.gpu.get(name)) is not None]
        figures[name] = statistics.median(values) if values else None
    workers = [100 * (last.workers[pid] - first.workers[pid]) / span for pid in last.workers if pid in first.workers]
    figures |= {
        "thread": 100 * (last.thread - first.thread) / span, "cpu": 100 * (last.cpu - first.cpu) / span,
        "workers": float(len(workers)), "worker": max(workers, default=0.0),
        "read": None if last.read is None or first.read is None else (last.read - first.read) / span,
        "faults": None if last.faults is None or first.faults is None else (last.faults - first.faults) / span,
        "others": float(len(last.others)),
    }  # fmt: skip
    return figures


def judge(f: Mapping[str, float | None]) -> list[Cause]:
    """The causes, the one that explains most first; one with the id `unknown` where nothing does."""
    causes = [*_machine_causes(f), *_waiting_causes(f)]
    if not causes:
        busy = f.get("busy")
        seen = (f"GPU busy {_percent(busy)}, busiest thread {_percent(f['thread'])} of a core",)
        computes = Cause(
            "computes", "the GPU computes: nothing outside it holds the run back", seen, "rocm-doctor tune --config FILE"
        )
        unknown = Cause("unknown", "what holds the run back is not known", seen)
        causes = [computes if busy is not None and busy >= BUSY else unknown]
    width, most = f.get("width"), f.get("width_most")
    if width and most and width < most:
        seen = (f"x{width:.0f} of x{most:.0f}",)
        causes.append(Cause("link", "the PCIe link is narrower than the GPU could have", seen, "another slot"))
    return causes


def _percent(value: float | None) -> str:
    return "not read" if value is None else f"{value:.0f} %"


def _machine_causes(f: Mapping[str, float | None]) -> Iterator[Cause]:
    """What the machine lacks: the GPU for itself, memory, cooling, power."""
    if f["others"]:
        seen: tuple[str, ...] = (f"{f['others']:.0f} other processes hold VRAM",)
        yield Cause("shared", "another process uses the GPU", seen, "end it, or choose another GPU")
    if (faults := f.get("faults") or 0.0) >= FAULTS:
        seen = (f"{faults:.0f} pages a second are read back from disk",)
        yield Cause("host-memory", "the host's memory is too small", seen, "fewer loader workers, or less of the data in memory")
    used, total, gtt = f.get("vram") or 0.0, f.get("vram_total") or 0.0, f.get("gtt") or 0.0
    if total and used >= 0.95 * total and gtt >= max(GIB, 0.05 * total):
        seen = (f"VRAM {used / GIB:.1f} of {total / GIB:.1f} GiB, and {gtt / GIB:.1f} GiB in GTT",)
        words = "the run spills into system memory, which the GPU reads over PCIe"
        yield Cause("spill", words, seen, "rocm-doctor fit --config FILE")
    clock, most = f.get("clock"), f.get("clock_most")
    if clock is None or most is None or clock >= 0.9 * most or (f.get("busy") or 0.0) < IDLE:
        return
    slowed = f"{clock:.0f} MHz of {most:.0f} MHz"
    heat, limit, power, cap = (f.get(name) for name in ("heat", "heat_limit", "power", "cap"))
    if heat is not None and limit and heat >= limit - 5:
        seen = (f"{heat:.0f} °C, limit {limit:.0f} °C", slowed)
        yield Cause("heat", "the GPU is slowed down by heat", seen, "more air, or a lower power cap")
    if power is not None and cap and power >= 0.95 * cap:
        seen = (f"{power:.0f} W of {cap:.0f} W", slowed)
        yield Cause("power", "the GPU is slowed down by its power cap", seen, "a higher cap, if the board allows it")


def _waiting_causes(f: Mapping[str, float | None]) -> Iterator[Cause]:
    """Why a GPU that is not busy waits; nothing where it is busy."""
    busy, thread, worker, read = f.get("busy"), f["thread"] or 0.0, f["worker"] or 0.0, f.get("read") or 0.0
    if busy is not None and busy >= BUSY:
        return
    seen: tuple[str, ...] = (f"GPU busy {_percent(busy)}", f"busiest thread {thread:.0f} % of a core")
    if f["workers"]:
        seen = (*seen, f"{f['workers']:.0f} child processes, the busiest at {worker:.0f} %")
    if worker >= FULL > thread:
        remedy = "more dataloader_num_workers, or the data prepared before the run"
        yield Cause("data", "the GPU waits for data: the loader's workers have no time left", seen, remedy)
    elif thread >= FULL:
        how = "the kernels are started one by one" if f["workers"] else "the data is prepared in the main process"
        remedy = "a larger micro-batch, dataloader_num_workers above 0, torch.compile"
        yield Cause("cpu", "the GPU waits for the CPU: one thread has no time left", (*seen, f"perhaps {how}"), remedy)
    elif read > READS:
        seen = (*seen, f"{read / MIB:.0f} MiB a second read")
        yield Cause("disk", "the GPU waits for the disk", seen, "the data on a faster disk, or in memory")
    elif busy is not None and busy < IDLE and (f["cpu"] or 0.0) < IDLE:
        words = "nothing runs: the process waits for something else (another rank, a lock, a network)"
        yield Cause("stopped", words, seen, "py-spy dump --pid PID")


def page(found: Watched) -> str:
    """The cause with what was seen, and the figures."""
    lines = [
        f"process {found.pid}: {found.command}",
        f"looked at for {found.seconds:.0f} s, on {found.gpu or 'no AMD GPU that the kernel lists'}",
        "",
    ]
    for cause in found.causes:
        lines += [cause.words, *(f"  {one}" for one in cause.seen), *([f"  try: {cause.remedy}"] if cause.remedy else []), ""]
    lines += [found.pace, ""] if found.pace else []
    known = {name: value for name, value in found.figures.items() if value is not None}
    return "\n".join([*lines, "  ".join(f"{name} {value:.4g}" for name, value in known.items())])
