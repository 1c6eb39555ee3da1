"""rocm-doctor from Python: `check()` returns the report on this machine, `require()` stops a training script that would fail.

    from rocm_doctor import require
    require(gpus=2, min_vram="24GiB", packages=["torch>=2.6", "peft"])

Both only read files: they do not import torch and start no tool, so they may run before `import torch`. `rocm-doctor check` also
runs the ROCm tools and the smoke test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Report, Severity
from rocm_doctor.sources.bundle import BundleError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = ["BundleError", "Finding", "NoAmdGpu", "NotReady", "Report", "check", "read_report", "require"]

_SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class NotReady(RuntimeError):
    """The machine does not meet the requirements. `report` is the full report, the text has the reasons."""

    def __init__(self, report: Report, text: str) -> None:
        super().__init__(text)
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        """Both arguments, so that the exception comes out of a worker process as it was raised."""
        return type(self), (self.report, str(self))


class NoAmdGpu(NotReady):
    """The machine has no AMD GPU: catch it to run the same script on other hardware."""


def check(
    *paths: str | Path,
    text: str | None = None,
    python: str | None = None,
    gpu: str | None = None,
    ignore: Collection[str] = (),
) -> Report:
    """The report on this machine, or on captured texts and bundles if paths are given. Nothing is redacted in its fields; what is shown
    of it is (`print`, notebooks, `render`, `to_json`).

    text: a log or a bug report to judge, as it is.
    python: interpreter to examine instead of the running one.
    gpu: target or product to judge the installed environment for, in place of this machine.
    ignore: diagnosis ids, row keys, or `ID:row`, as `--ignore` takes them.

    Raises BundleError for a path that cannot be read, ValueError for an invalid argument.
    """
    from rocm_doctor import pipeline

    matrix = _matrix(ignore)
    given = [("text", text is not None), ("paths", bool(paths)), ("python", python is not None), ("gpu", gpu is not None)]
    names = [name for name, is_given in given if is_given]
    if names[:1] in (["text"], ["paths"]) and len(names) > 1:
        raise ValueError(f"{', '.join(names[1:])}: cannot be combined with {names[0]}")
    if text is not None:
        from rocm_doctor.sources.paste import cut

        return pipeline.judge(cut(text, "the text"), matrix, source="the text", kind="capture", ignore=tuple(ignore))
    if paths:
        source = ", ".join(map(str, paths))
        return pipeline.judge(
            pipeline.read_paths([Path(path) for path in paths]), matrix, source=source, kind="capture", ignore=tuple(ignore)
        )
    return _check_installed(gpu, python, matrix, tuple(ignore))


def require(
    *paths: str | Path,
    target: str | None = None,
    gpus: int = 1,
    min_vram: str | int | None = None,
    packages: Collection[str] = (),
    fail_on: Severity = "error",
    strict: bool = False,
    python: str | None = None,
    ignore: Collection[str] = (),
) -> Report:
    """The report of `check` if the machine meets all requirements; else NotReady with the reasons, NoAmdGpu without an AMD GPU.

    target: a GPU of this gfx target or product.
    gpus: minimum number of GPUs to train on, without hidden ones and integrated ones beside a discrete GPU.
    min_vram: memory of each of them, `24GiB` (which a card that is sold with 24 GiB meets) or bytes.
    packages: installed packages, `peft` or `torch>=2.6`.
    fail_on: the least severity of a finding that counts.
    strict: an undetermined verdict fails, too.
    The rest is as for `check`. An unknown value does not meet a requirement.

    Raises ValueError for an invalid argument, BundleError for a path that cannot be read.
    """
    from rocm_doctor.facts.enrich import find_target

    matrix = _matrix(ignore)
    if fail_on not in _SEVERITIES:
        raise ValueError(f"fail_on={fail_on!r}: expected one of {', '.join(_SEVERITIES)}")
    if isinstance(gpus, bool) or not isinstance(gpus, int) or gpus < 1:
        raise ValueError(f"gpus={gpus!r}: expected a number of at least 1")
    target = None if target is None else find_target(target, matrix)
    memory = _memory_bound(min_vram)
    requirements = [_read_requirement(package) for package in _check_list(packages, "packages")]
    report = check(*paths, python=python, ignore=ignore)
    if _lacks_amd_gpu(report):
        raise NoAmdGpu(report, "rocm-doctor: no AMD GPU in this machine")
    reasons = [*_unmet_hardware(report, target, gpus, memory), *_unmet_packages(report, requirements)]
    failing = _SEVERITIES[: _SEVERITIES.index(fail_on) + 1]
    reasons += [_describe(f) for f in report.findings if f.severity in failing and not f.follows_from]
    if strict and report.verdict == "undetermined":
        reasons.append(report.summary)
    if reasons:
        raise NotReady(report, "rocm-doctor: not ready to train\n" + "\n".join(f"- {reason}" for reason in reasons))
    return report


def read_report(path: str | Path) -> Report:
    """The report in a JSON file that this or an earlier version wrote. Raises OSError if it cannot be read, ValueError if it is
    not a report."""
    from rocm_doctor.reports.json import read

    return read(Path(path).read_bytes())


def _check_installed(gpu: str | None, python: str | None, matrix: Matrix, ignore: tuple[str, ...]) -> Report:
    """The report on this machine, or on the installed environment for a GPU that need not be here."""
    from rocm_doctor import pipeline
    from rocm_doctor.facts.enrich import find_target
    from rocm_doctor.sources.declared import DeclaredMachine, collect_environment
    from rocm_doctor.sources.live import collect
    from rocm_doctor.sources.live.python import locate

    examined = locate(python, Path("/"), os.environ)
    if isinstance(examined, str):
        raise ValueError(f"python={examined}")
    if gpu is None:
        return pipeline.judge(collect(python=python, tools=False), matrix, ignore=ignore)
    artifacts = collect_environment(examined, Path("/"), os.environ)
    target = DeclaredMachine(find_target(gpu, matrix))
    return pipeline.judge_environment(artifacts, target, matrix, source=examined.prefix, ignore=ignore)


def _matrix(ignore: Collection[str]) -> Matrix:
    """The matrix. Raises ValueError for an unknown id to ignore."""
    from rocm_doctor.matrix import load

    matrix = load()
    ids = {*matrix.diagnoses, *(row.key for row in matrix.rows)}
    for name in _check_list(ignore, "ignore"):
        if not ids.issuperset(str(name).split(":", 1)):
            raise ValueError(f"ignore={name!r}: unknown diagnosis or row")
    return matrix


def _check_list(values: Collection[str], name: str) -> Collection[str]:
    """The values. Raises ValueError for a plain string, which would be read letter by letter."""
    if isinstance(values, str):
        raise ValueError(f"{name}={values!r}: expected a list, [{values!r}]")
    return values


def _memory_bound(size: str | int | None) -> tuple[str, float]:
    """(size as it was given, bytes) that each GPU must have; ("", 0) for None. A card that is sold with 24 GiB has a little less
    for programs, so a size with a unit is met by 97 % of it. Raises ValueError if it is not a size."""
    if size is None:
        return "", 0.0
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)(?:([KMGT])iB)?", str(size))
    if isinstance(size, bool) or not parts:
        raise ValueError(f"min_vram={size!r}: expected bytes, or a size such as '24GiB'")
    return str(size), float(parts[1]) * (1024.0 ** (1 + "KMGT".index(parts[2])) * 0.97 if parts[2] else 1)


def _read_requirement(package: str) -> Requirement:
    """A name and a version range. Raises ValueError if it is not a requirement, or has an address, a marker or extras."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(package)
    except InvalidRequirement as exc:
        raise ValueError(f"packages: {package!r} is not a requirement: {exc}") from exc
    if requirement.url or requirement.marker or requirement.extras:
        raise ValueError(f"packages: {package!r}: expected a name and a version range only")
    return requirement


def _lacks_amd_gpu(report: Report) -> bool:
    facts = report.snapshot
    has_no_device = facts.value("pci.gpus") == 0 or facts.value("platform") == "macos"
    return has_no_device and not facts.gpus and facts.value("wsl") is not True


def _unmet_hardware(report: Report, target: str | None, count: int, bound: tuple[str, float]) -> Iterator[str]:
    from rocm_doctor.rules.findings import training_gpus

    cards = training_gpus(report.snapshot)
    targets = [str(gpu.value("gfx")) for _, gpu in cards if gpu.get("gfx").known]
    if target and target not in targets:
        yield f"{target} is required, and {', '.join(targets) or 'no AMD GPU'} is what this machine has"
    if len(cards) < count and (count > 1 or cards or report.snapshot.gpus_listed):
        yield f"{count} GPU{'s' if count > 1 else ''} to train on required, {len(cards)} found"
    for subject, gpu in cards if bound[1] else ():
        memory = gpu.get("vram_bytes") if gpu.get("vram_bytes").known else gpu.get("carveout_bytes")
        size = memory.value if isinstance(memory.value, (int, float)) else None
        if size is None or size < bound[1]:
            state = "not known" if size is None else f"{size / 2**30:.1f} GiB found"
            yield f"{subject.name}: {bound[0]} of memory required, {state}"


def _unmet_packages(report: Report, requirements: Sequence[Requirement]) -> Iterator[str]:
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        fact = report.snapshot.get("torch.version" if name == "torch" else f"pkg.{name}")
        state = f"{fact.value} found" if isinstance(fact.value, str) else "not installed" if fact.known else "not known"
        try:
            fits = isinstance(fact.value, str) and requirement.specifier.contains(Version(fact.value), prereleases=True)
        except InvalidVersion:
            fits = False
        if not fits:
            yield f"{name}{requirement.specifier} required, {state}"


def _describe(finding: Finding) -> str:
    return "\n  ".join([finding.title, finding.cause, *(f"$ {c.text}" for c in finding.commands)])
