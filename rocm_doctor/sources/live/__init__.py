"""This machine, read into artifacts: the kernel's files first, tools beside them, the examined Python last. Nothing is judged."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.code import code_objects
from rocm_doctor.sources.live.devices import describe_nodes, device_nodes, open_command
from rocm_doctor.sources.live.env import environment, startup_files
from rocm_doctor.sources.live.files import exists
from rocm_doctor.sources.live.host import host_files, process_facts
from rocm_doctor.sources.live.kernel import KFD, kernel_files, kernel_log
from rocm_doctor.sources.live.python import python_files
from rocm_doctor.sources.live.rocm import rocm_files
from rocm_doctor.sources.live.tools import (
    INTERRUPTED,
    NO_TOOLS,
    Running,
    find,
    finish_tools,
    search_path,
    start_command,
    start_tools,
    stop_tools,
)
from rocm_doctor.workers.process import make_result

_JOURNAL = "journalctl -k -b -q --no-pager --no-hostname -o short-monotonic"
_JOURNAL_WORDS = regex(r"amdgpu|kfd|\[drm|iommu|AMD-Vi|oom|out of memory|Linux version", re.IGNORECASE)


def collect(
    python: str | None = None, root: Path = Path("/"), tools: bool = True, env: Mapping[str, str] | None = None
) -> list[Artifact]:
    """Everything that can be read of this machine, as artifacts. Raises nothing for what is missing, refused or hanging.

    `python`: interpreter (or folder of an environment) to examine in place of our own. `root`: where the file system starts.
    `tools`: start ROCm's tools. `env`: the environment to record and to start tools in; the process's own when None.
    Ctrl-C while tools are waited for ends the waiting: what was read is returned, and `was_interrupted` says so of it.
    """
    env = os.environ if env is None else env
    if sys.platform != "linux":
        return _read_root(python, root, tools, env)
    kernel, rocm, nodes, log = kernel_files(root), rocm_files(root, env), device_nodes(root), kernel_log(root)
    helpers = _start_helpers(root, nodes, log, kernel, env)
    queue = NO_TOOLS
    try:
        if tools:
            queue = start_tools(root, env, kernel_knows=kernel_knows(kernel), driver=_driver_signs(kernel, nodes))
        installed = python_files(python, root, env)
        shell = [environment(env), *startup_files(root, env)]
        rest = [*host_files(root), *process_facts(root), *shell, *rocm, *installed, *code_objects(installed, root, env)]
        printed = finish_tools(queue, helpers)
    finally:
        stop_tools([*helpers, *queue.running])
    devices = describe_nodes(root, nodes, _helper_output("open", helpers))
    return [*kernel, *devices, _add_journal(log, helpers), *rest, *printed]


def was_interrupted(artifacts: Iterable[Artifact]) -> bool:
    """True if the user stopped `collect` while it waited for tools: what these say is then not all that could be had."""
    return INTERRUPTED in artifacts


def _read_root(python: str | None, root: Path, tools: bool, env: Mapping[str, str]) -> list[Artifact]:
    """Windows and macOS: no sysfs; the Python side, the environment, and what HIP's own program says."""
    queue = start_tools(root, env, kernel_knows=False, driver=True) if tools else NO_TOOLS
    try:
        installed = python_files(python, root, env)
        rest = [*process_facts(root), environment(env), *installed, *code_objects(installed, root, env)]
        return [*rest, *finish_tools(queue)]
    finally:
        stop_tools(queue.running)


def kernel_knows(kernel: Sequence[Artifact]) -> bool:
    """True if the topology names at least one GPU, and of each its target and its memory."""
    nodes = [a for a in kernel if re.fullmatch(KFD + r"/\d+/properties", a.name)]
    gpus = [a for a in nodes if not a.missing and re.search(r"^simd_count [1-9]", a.text, re.MULTILINE)]
    banks = {a.name.split("/mem_banks/")[0] for a in kernel if "/mem_banks/" in a.name and re.search(r"heap_type [12]\b", a.text)}
    have_targets = all(re.search(r"^gfx_target_version [1-9]", a.text, re.MULTILINE) for a in gpus)
    return (
        bool(gpus)
        and have_targets
        and not any(a.missing for a in nodes)
        and all(a.name.rpartition("/")[0] in banks for a in gpus)
    )


def _driver_signs(kernel: Sequence[Artifact], nodes: Sequence[str]) -> bool:
    """True if anything speaks for a GPU driver: the module, a topology, a device node, or AMD's hardware on the bus."""
    signs = ("sys/module/amdgpu", "sys/class/kfd", "sys/class/drm/card", "sys/bus/pci/devices/")
    return bool(nodes) or any(a.name.startswith(signs) and not a.missing for a in kernel)


def _start_helpers(
    root: Path, nodes: Sequence[str], log: Artifact, kernel: Sequence[Artifact], env: Mapping[str, str]
) -> list[Running]:
    """Short commands of the system itself: opening the device nodes, and the journal where the kernel log is closed to us."""
    helpers = []
    if nodes and os.access("/bin/sh", os.X_OK):
        helpers.append(start_command("open", open_command(root, nodes), env, limit=3.0))
    journal = find("journalctl", search_path(root, env))
    has_driver = any(a.name.startswith(("sys/module/amdgpu/", "sys/bus/pci/devices/0")) for a in kernel)
    if log.missing == "denied" and journal and has_driver and exists(root, "run/systemd/journal"):
        helpers.append(start_command("journal", [journal, *_JOURNAL.split()[1:]], env, limit=3.0))
    return helpers


def _helper_output(command: str, helpers: Sequence[Running]) -> str | None:
    """What a helper printed; None when it was not started."""
    result = next((make_result(one.child) for one in helpers if one.command == command), None)
    return result.stdout + result.stderr if result and result.state != "not-found" else None


def _add_journal(log: Artifact, helpers: Sequence[Running]) -> Artifact:
    """The kernel log, taken from the journal where the journal could be had and the log itself could not."""
    lines = [line for line in (_helper_output("journal", helpers) or "").splitlines() if _JOURNAL_WORDS.search(line)]
    return Artifact("kernel/log", "live", "\n".join(lines) + "\n", note="journalctl -k, lines on GPUs") if lines else log
