"""ROCm's tools, run in parallel with reading files: bounded in time and bytes, with all their output kept.

Which run: `rocminfo` always, since only it tells what the runtime itself sees. The management tools are Python programs of 0.1
to 1 s each, and a driver that hangs keeps them in the kernel for ever (ROCm/legacy-rocm-build#5745). They are asked only where
they can add something: not where the kernel's topology names every GPU with its target and memory, and not where sysfs has no sign
of a driver (measured: Debian's rocm-smi takes 0.1 to 0.2 s to print nothing then).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from rocm_doctor.model import Artifact, Why
from rocm_doctor.sources.live.files import list_names
from rocm_doctor.workers.process import Child, ChildResult, ChildSpec, kernel_wait, make_result, pump, start, stop

LIMIT = 5.0
QUIET = 2.5
"""Seconds of silence after output before a tool that does not exit is ended: its output is complete (ROCm/librocdxg#17)."""
CAP = 4 << 20
"""Bytes of one tool's output. 64 partitions of an MI300X fill 0.7 MB of rocminfo."""

RUNTIME = ("rocminfo",)
MANAGEMENT = (
    "rocm-smi --showproductname --showmeminfo vram --showdriverversion --showbus --json",
    "amd-smi static --json",
    "amd-smi version",
)
WINDOWS = ("hipInfo",)


class Running(Struct, frozen=True):
    """A tool at work: the command line that names its artifact, the program's path, and the child."""

    command: str
    path: str
    child: Child


class ToolQueue(Struct, frozen=True):
    """The tools that run, and the artifacts of those that are not asked (`refused`), which say why."""

    running: tuple[Running, ...]
    refused: tuple[Artifact, ...]


NO_TOOLS = ToolQueue((), ())


def start_tools(root: Path, env: Mapping[str, str], *, kernel_knows: bool, driver: bool) -> ToolQueue:
    """Start the tools that are worth asking; the others become artifacts that say why not. `kernel_knows`: the kernel's topology
    tells all of every GPU. `driver`: there is a sign of a GPU driver."""
    folders = search_path(root, env)
    running: list[Running] = []
    refused: list[Artifact] = []
    for command in WINDOWS if sys.platform == "win32" else (*RUNTIME, *MANAGEMENT):
        name = command.split()[0]
        path = find(name, folders)
        is_worth_it = command not in MANAGEMENT or (driver and not kernel_knows)
        if path and is_worth_it:
            running.append(start_command(command, [path, *command.split()[1:]], env, quiet=QUIET))
        else:
            note = f"{name} is neither on PATH nor in /opt/rocm*/bin" if not path else _KNOWN if driver else _NO_DRIVER
            refused.append(Artifact(f"cmd/{command}", "live", missing="not-asked" if path else "no-tool", note=note))
    return ToolQueue(tuple(running), tuple(refused))


_KNOWN = "already known from the kernel's topology"
_NO_DRIVER = "sysfs has no sign of a driver, and it reads nothing without one"


def start_command(
    command: str, argv: Sequence[str], env: Mapping[str, str], limit: float = LIMIT, quiet: float | None = None
) -> Running:
    """Start a command in the user's environment (an override shows in rocminfo's output), with the C locale for the parsers. `limit`,
    `quiet`: seconds after which it is ended, in all and of silence after output."""
    variables = {**env, "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"}
    return Running(command, argv[0], start(ChildSpec(argv, limit, quiet, variables, CAP)))


def finish_tools(queue: ToolQueue, helpers: Sequence[Running] = ()) -> list[Artifact]:
    """Wait for helpers and tools; return the artifacts of the tools, and of those that were not asked. An interrupt ends the
    waiting and what still runs; what was printed is kept, and INTERRUPTED is the last artifact."""
    refused = list(queue.refused)
    try:
        while pump([one.child for one in (*helpers, *queue.running)], timeout=0.5):
            pass
    except KeyboardInterrupt:
        refused.append(INTERRUPTED)
    finally:
        stop_tools([*helpers, *queue.running])
    return [*(as_artifact(one.command, one.path, make_result(one.child)) for one in queue.running), *refused]


INTERRUPTED = Artifact("interrupted", "live", missing="timeout", note="interrupted")
"""The artifact that says that the user did not wait for all tools."""


def stop_tools(running: Sequence[Running]) -> None:
    """End those that still run; what they have printed is kept."""
    for one in running:
        stop(one.child, "interrupted")


def as_artifact(command: str, path: str, result: ChildResult) -> Artifact:
    """What the tool printed, however it ended. Its messages follow its output; JSON stays alone, its messages go to the note."""
    pure = "--json" in command and bool(result.stdout.strip())
    streams = (result.stdout, "" if pure else result.stderr)
    text = "\n".join(part.rstrip("\n") for part in streams if part.strip())
    notes = [f"run as {path}", *_ending(result)]
    if pure and result.stderr.strip():
        notes.append(f"messages: {' '.join(result.stderr.split())[:400]}")
    missing = None if text.strip() else _silence(result)
    return Artifact(
        f"cmd/{command}",
        "live",
        "" if missing else text + "\n",
        result.returncode,
        round(result.seconds, 3),
        missing,
        "; ".join(notes),
    )


def _ending(result: ChildResult) -> Iterator[str]:
    if result.state == "timeout":
        yield f"ended after {result.seconds:.1f} s; what it had printed was used"
    elif result.state == "capped":
        yield f"ended after {CAP >> 20} MiB of output; the first part was used"
    elif result.state == "abandoned":
        where = kernel_wait(result.pid) if result.pid else None
        yield f"process {result.pid} cannot be ended and was left behind (asleep in the kernel: {where or 'unknown'})"
    elif result.state == "interrupted":
        yield "interrupted"
    elif result.returncode is not None and result.returncode < 0:
        yield f"died by signal {-result.returncode}"
    elif result.state == "finished" and not result.stdout.strip():
        yield f"exit status {result.returncode} without output"


def _silence(result: ChildResult) -> Why | None:
    """Why there is no output. A tool that succeeds without output counts as read."""
    if result.state in ("timeout", "abandoned", "interrupted"):
        return "timeout"
    if result.state == "not-found":
        return "no-tool"
    if result.state == "denied":
        return "denied"
    return "crashed" if result.returncode is None or result.returncode < 0 else None


def search_path(root: Path, env: Mapping[str, str]) -> list[Path]:
    """Folders that are searched for tools: PATH first, as in a shell, then the installations."""
    installed = [root / "opt" / name / "bin" for name in sorted(list_names(root, "opt")) if name.startswith("rocm")]
    hip = [Path(env["HIP_PATH"], "bin")] if sys.platform == "win32" and env.get("HIP_PATH") else []
    return [*(Path(part) for part in env.get("PATH", "").split(os.pathsep) if part), *hip, *installed]


def find(name: str, folders: Sequence[Path]) -> str | None:
    """The first executable file of that name (shutil.which costs 6 ms of imports)."""
    file = f"{name}.exe" if sys.platform == "win32" else name
    paths = (folder / file for folder in folders)
    return next((str(path) for path in paths if os.access(path, os.X_OK) and path.is_file()), None)
