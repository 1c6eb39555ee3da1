"""What was checked on a machine, one line for each part: the body of a healthy machine's report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocm_doctor.binaries.targets import override_target
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Check, Finding, Snapshot
from rocm_doctor.rules.driver_range import driver_release
from rocm_doctor.rules.findings import known_gpus
from rocm_doctor.rules.frameworks import FRAMEWORKS, Framework, amd_frameworks
from rocm_doctor.rules.override import NAME

LIBRARIES = (
    "transformers", "peft", "accelerate", "trl", "bitsandbytes", "flash-attn", "unsloth", "deepspeed", "vllm", "flax", "optax",
)  # fmt: skip
"""Packages for fine-tuning that a healthy report names, in this order."""


def checks(snapshot: Snapshot, findings: Sequence[Finding], matrix: Matrix) -> tuple[Check, ...]:
    """A check for each part without a finding of severity error or warning. Its result is `ok` with words for what was read;
    `not-judged`, for the driver and the access to the GPU, if a target was declared in place of a machine; else `unknown`, also
    for a driver that the catalog lacks. In place of torch each AMD framework that is installed has its own check, if there is
    any."""
    serious = {f.id for f in findings if f.severity != "note"}
    made = []
    for name, about, look in PARTS:
        if any(one.startswith(about) for one in serious):
            continue
        if name == "torch" and (frameworks := amd_frameworks(snapshot)):
            made += [Check(framework.name, "ok", _build_words(framework, snapshot)) for framework in frameworks]
            continue
        words = look(snapshot, matrix)
        if name == "driver" and _not_compared(snapshot, matrix):
            made.append(Check(name, "unknown", f"{words}: not in the catalog, so not compared with ROCm"))
        elif words:
            made.append(Check(name, "ok", words))
        else:
            made.append(Check(name, "not-judged" if name in unjudged_parts(snapshot) else "unknown"))
    return tuple(made)


def unjudged_parts(snapshot: Snapshot) -> tuple[str, ...]:
    """The parts that only a machine can tell, if a target was declared in place of one; else none."""
    return ("driver", "access") if snapshot.value("declared") is True else ()


def _driver(snapshot: Snapshot, _: Matrix) -> str:
    if snapshot.value("platform") == "windows":
        version = snapshot.value("driver.windows")
        return f"Adrenalin {version}" if isinstance(version, str) else ""
    if snapshot.value("wsl") is True:
        return "WSL, /dev/dxg" if snapshot.value("dxg.exists") is True else ""
    version, kernel = snapshot.value("driver.version"), snapshot.value("kernel")
    if isinstance(version, str):
        return f"amdgpu {version}" + (f" on kernel {kernel}" if isinstance(kernel, str) else "")
    if snapshot.value("driver.loaded") is True or snapshot.value("kfd.exists") is True:
        return f"amdgpu of kernel {kernel}" if isinstance(kernel, str) else "amdgpu is loaded"
    return ""


def _not_compared(snapshot: Snapshot, matrix: Matrix) -> bool:
    """True for a DKMS module whose release the catalog does not have. The kernel's own driver has no version."""
    version = snapshot.value("driver.version")
    return isinstance(version, str) and driver_release(version, matrix) is None


def _access(snapshot: Snapshot, _: Matrix) -> str:
    """How the GPU was reached: the device node that opens, or that a program has used it; empty if neither is known (Linux, WSL)."""
    if snapshot.value("platform") == "windows":
        return "no device node on Windows"
    name, node = ("dxg.exists", "/dev/dxg") if snapshot.value("wsl") is True else ("kfd.openable", "/dev/kfd")
    fact = snapshot.get(name)
    if fact.value is not True:
        return ""
    if not any(reading.artifact == node[1:] for reading in fact.readings):
        return "a program has used the GPU"
    if name == "dxg.exists":
        return "/dev/dxg exists"
    return f"{node}{' and the render nodes open' if snapshot.value('render.openable') is True else ' opens'} for this user"


def _build_words(one: Framework, snapshot: Snapshot) -> str:
    version, rocm = one.version(snapshot), snapshot.value(f"{one.key}.rocm")
    named = str(version.value) if version.known else "version not known"
    return named + (f", built for ROCm {rocm}" if isinstance(rocm, str) else "")


def _code(snapshot: Snapshot, matrix: Matrix) -> str:
    targets = list(dict.fromkeys(str(gpu.value("gfx")) for _, gpu in known_gpus(snapshot)))
    held = [framework.name for framework in FRAMEWORKS if all(framework.has_code(snapshot, matrix, gfx) for gfx in targets)]
    if not targets or not held:
        return ""
    override = snapshot.value("env." + NAME)
    under = f" with {NAME}={override}" if isinstance(override, str) else ""
    loaded = (override_target(override) if isinstance(override, str) else None) or targets[0]
    if snapshot.value("smoke.matmul") == "passed":
        return f"a matmul ran on {', '.join(targets)}{under}"
    kernels = f"{' and '.join(held)} {'has' if len(held) == 1 else 'have'} kernels for"
    alike = [loaded] == targets or not under
    return f"{kernels} {', '.join(targets)}" if alike else f"{kernels} {loaded}, as which {', '.join(targets)} runs{under}"


def _libraries(snapshot: Snapshot, _: Matrix) -> str:
    found = [(name, snapshot.get(f"pkg.{name}")) for name in LIBRARIES]
    named = ", ".join(f"{name} {fact.value}" for name, fact in found if isinstance(fact.value, str))
    if named:
        return f"{named}: no known conflict"
    return "none for training is installed" if all(fact.known for _, fact in found) else ""


PARTS: tuple[tuple[str, tuple[str, ...], Callable[[Snapshot, Matrix], str]], ...] = (
    ("driver", ("access.driver", "access.kfd", "access.wsl", "version.driver", "version.kernel"), _driver),
    ("access", ("access.",), _access),
    ("torch", ("version.torch", "version.rocm", "version.companion"), lambda *_: ""),
    ("GPU code", ("arch.",), _code),
    ("libraries", ("lib.", "version.package"), _libraries),
)
"""Name, beginnings of the diagnoses that concern it, and what finds its words, from the kernel up. In the place of torch comes each
framework that is built for AMD GPUs."""
