"""What holds a running training back, from what the kernel says of its GPU and what psutil says of its process. Nothing is attached to it.

The GPU: files of amdgpu under /sys/class/drm/card*/device (busy percentages, VRAM and GTT, hwmon's power and temperatures, clocks, the
PCIe link) and /sys/class/kfd/kfd/proc (which process holds how much VRAM). The process: its threads, children, I/O and page faults.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

GIB, MIB = 1 << 30, 1 << 20
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
    """One look. Bytes, watts, degrees, MHz, percent; None where a file is missing or cannot be read. `cpu` is seconds of the process's busiest
    thread and of all, `workers` seconds of each child, `faults` major page faults, all since the process began."""

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
    """The process, its GPU, how long it was looked at, the cause that explains most and the rest."""

    pid: int
    command: str
    gpu: str
    seconds: float
    causes: tuple[Cause, ...]
    figures: Mapping[str, float | None]


def number(path: Path, scale: float = 1.0) -> float | None:
    """The number in a file, times `scale`; None if it is missing or is no number."""
    try:
        return float(path.read_text().split()[0]) * scale
    except (OSError, ValueError, IndexError):
        return None


def devices(sysfs: Path) -> list[Path]:
    """The device folders of AMD's GPUs."""
    found = sorted(sysfs.glob("class/drm/card[0-9]*/device"))
    return [path for path in found if "-" not in path.parent.name and _text(path / "vendor") == "0x1002"]


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text().strip()
    return ""


def holders(sysfs: Path) -> dict[int, float]:
    """Bytes of VRAM by process, as KFD counts them."""
    found = {}
    for folder in sysfs.glob("class/kfd/kfd/proc/[0-9]*"):
        sizes = [number(file) for file in folder.glob("vram_*")]
        found[int(folder.name)] = sum(size for size in sizes if size)
    return found


def look_at_gpu(device: Path) -> dict[str, float | None]:
    """The figures of one GPU."""
    hwmon = next(iter(sorted(device.glob("hwmon/hwmon*"))), device)
    clocks = [
        float(w.split(":")[1].lower().replace("mhz", "").replace("*", ""))
        for w in _text(device / "pp_dpm_sclk").splitlines()
        if ":" in w
    ]
    now = next((c for c, w in zip(clocks, _text(device / "pp_dpm_sclk").splitlines()) if "*" in w), None)
    heat, limits = [], []
    for label in hwmon.glob("temp*_input"):
        heat.append(number(label, 1e-3))
        limits.append(number(label.with_name(label.name.replace("_input", "_crit")), 1e-3))
    hottest = max(
        ((h, c) for h, c in zip(heat, limits) if h is not None and c), key=lambda pair: pair[0] - pair[1], default=(None, None)
    )
    return {
        "busy": number(device / "gpu_busy_percent"), "memory_busy": number(device / "mem_busy_percent"),
        "vram": number(device / "mem_info_vram_used"), "vram_total": number(device / "mem_info_vram_total"),
        "gtt": number(device / "mem_info_gtt_used"), "gtt_total": number(device / "mem_info_gtt_total"),
        "power": _first(number(hwmon / "power1_average", 1e-6), number(hwmon / "power1_input", 1e-6)), "cap": number(hwmon / "power1_cap", 1e-6),
        "heat": hottest[0], "heat_limit": hottest[1], "clock": now, "clock_most": max(clocks, default=None),
        "width": number(device / "current_link_width"), "width_most": number(device / "max_link_width"),
        "speed": number(device / "current_link_speed"), "speed_most": number(device / "max_link_speed"),
    }  # fmt: skip


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def sample(process: Any, device: Path | None, sysfs: Path) -> Sample:
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
    others = tuple(sorted(pid for pid, size in holders(sysfs).items() if pid not in mine and size > 64 * MIB))
    gpu = look_at_gpu(device) if device else {}
    return Sample(time.monotonic(), gpu, max(threads, default=0.0), sum(process.cpu_times()[:2]), workers, read, faults, others)


def watch(
    pid: int | None, seconds: float, sysfs: Path = Path("/sys"), tell: Callable[[str], None] = lambda _line: None
) -> Watched:
    """Look at the process (None: the one that holds most VRAM) for so many seconds, or until it ends or Ctrl-C. Raises WatchError."""
    import psutil

    held = holders(sysfs)
    pid = pid or max(held, key=lambda one: held[one], default=None)
    if not pid:
        raise WatchError("no process uses a GPU here: give the PID of the training")
    found = devices(sysfs)
    device = max(found, key=lambda one: number(one / "mem_info_vram_used") or 0.0, default=None)
    samples: list[Sample] = []
    try:
        process = psutil.Process(pid)
        command = " ".join(process.cmdline())[:200]
        until = time.monotonic() + seconds
        while time.monotonic() < until or len(samples) < 2:
            samples.append(sample(process, device, sysfs))
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
    name = _text(device / "product_name") if device else ""
    return Watched(
        pid,
        command,
        name or (device.parent.name if device else ""),
        samples[-1].at - samples[0].at,
        tuple(judge(figures)),
        figures,
    )


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
    found = [rule(f) for rule in RULES]
    causes = [cause for cause in found if cause]
    if any(cause.id != "link" for cause in causes):
        return causes
    busy = f.get("busy")
    seen = (f"GPU busy {_percent(busy)}, busiest thread {_percent(f['thread'])} of a core",)
    if busy is not None and busy >= BUSY:
        return [
            Cause("computes", "the GPU computes: nothing outside it holds the run back", seen, "rocm-doctor tune --config FILE"),
            *causes,
        ]
    return [Cause("unknown", "what holds the run back is not known", seen), *causes]


def _percent(value: float | None) -> str:
    return "not read" if value is None else f"{value:.0f} %"


def _others(f: Mapping[str, float | None]) -> Cause | None:
    return (
        Cause(
            "shared",
            "another process uses the GPU",
            (f"{f['others']:.0f} other processes hold VRAM",),
            "end it, or choose another GPU",
        )
        if f["others"]
        else None
    )


def _paging(f: Mapping[str, float | None]) -> Cause | None:
    if (f.get("faults") or 0.0) < FAULTS:
        return None
    seen = (f"{f['faults']:.0f} pages a second are read back from disk",)
    return Cause("host-memory", "the host's memory is too small", seen, "fewer loader workers, or less of the data in memory")


def _spill(f: Mapping[str, float | None]) -> Cause | None:
    used, total, gtt = f.get("vram"), f.get("vram_total"), f.get("gtt")
    if used is None or not total or gtt is None or used < 0.95 * total or gtt < max(GIB, 0.05 * total):
        return None
    seen = (f"VRAM {used / GIB:.1f} of {total / GIB:.1f} GiB, and {gtt / GIB:.1f} GiB in GTT",)
    return Cause(
        "spill", "the run spills into system memory, which the GPU reads over PCIe", seen, "rocm-doctor fit --config FILE"
    )


def _heat(f: Mapping[str, float | None]) -> Cause | None:
    heat, limit = f.get("heat"), f.get("heat_limit")
    if heat is None or not limit or heat < limit - 5 or not _slowed(f):
        return None
    return Cause(
        "heat",
        "the GPU is slowed down by heat",
        (f"{heat:.0f} °C, limit {limit:.0f} °C", _clock(f)),
        "more air, or a lower power cap",
    )


def _power(f: Mapping[str, float | None]) -> Cause | None:
    power, cap = f.get("power"), f.get("cap")
    if power is None or not cap or power < 0.95 * cap or not _slowed(f):
        return None
    return Cause(
        "power",
        "the GPU is slowed down by its power cap",
        (f"{power:.0f} W of {cap:.0f} W", _clock(f)),
        "a higher cap, if the board allows it",
    )


def _slowed(f: Mapping[str, float | None]) -> bool:
    clock, most = f.get("clock"), f.get("clock_most")
    return clock is not None and most is not None and clock < 0.9 * most and (f.get("busy") or 0.0) >= IDLE


def _clock(f: Mapping[str, float | None]) -> str:
    return f"{f['clock']:.0f} MHz of {f['clock_most']:.0f} MHz"


def _waits(f: Mapping[str, float | None]) -> Cause | None:
    """Why a GPU that is not busy waits; None where it is busy."""
    busy, thread, worker = f.get("busy"), f["thread"] or 0.0, f["worker"] or 0.0
    if busy is not None and busy >= BUSY:
        return None
    seen = [f"GPU busy {_percent(busy)}", f"busiest thread {thread:.0f} % of a core"]
    if f["workers"]:
        seen.append(f"{f['workers']:.0f} child processes, the busiest at {worker:.0f} %")
    if worker >= FULL and thread < FULL:
        return Cause(
            "data",
            "the GPU waits for data: the loader's workers have no time left",
            tuple(seen),
            "more dataloader_num_workers, or the data prepared before the run",
        )
    if thread >= FULL:
        how = "the data is prepared in the main process" if not f["workers"] else "the kernels are started one by one"
        return Cause(
            "cpu",
            "the GPU waits for the CPU: one thread has no time left",
            (*seen, f"perhaps {how}"),
            "a larger micro-batch, dataloader_num_workers above 0, torch.compile",
        )
    if (f.get("read") or 0.0) > READS:
        return Cause(
            "disk",
            "the GPU waits for the disk",
            (*seen, f"{(f['read'] or 0.0) / MIB:.0f} MiB a second read"),
            "the data on a faster disk, or in memory",
        )
    if busy is not None and busy < IDLE and (f["cpu"] or 0.0) < IDLE:
        return Cause(
            "stopped",
            "nothing runs: the process waits for something else (another rank, a lock, a network)",
            tuple(seen),
            "py-spy dump --pid PID",
        )
    return None


def _link(f: Mapping[str, float | None]) -> Cause | None:
    width, most = f.get("width"), f.get("width_most")
    if not width or not most or width >= most:
        return None
    return Cause("link", "the PCIe link is narrower than the GPU could have", (f"x{width:.0f} of x{most:.0f}",), "another slot")


RULES = (_others, _paging, _spill, _heat, _power, _waits, _link)


def page(found: Watched) -> str:
    """The cause with what was seen, and the figures."""
    lines = [
        f"process {found.pid}: {found.command}",
        f"looked at for {found.seconds:.0f} s, on {found.gpu or 'no AMD GPU that the kernel lists'}",
        "",
    ]
    for cause in found.causes:
        lines += [cause.words, *(f"  {one}" for one in cause.seen), *([f"  try: {cause.remedy}"] if cause.remedy else []), ""]
    known = {name: value for name, value in found.figures.items() if value is not None}
    return "\n".join([*lines, "  ".join(f"{name} {value:.4g}" for name, value in known.items())])
