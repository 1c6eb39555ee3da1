"""The values that a cure takes from a report: facts, and what follows from them and the catalog."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import fill, slot_pattern
from rocm_doctor.cures.kernels import find_package
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Command, Finding, Gpu, ReportKind, Snapshot
from rocm_doctor.rules.build import python_series
from rocm_doctor.rules.findings import gpu_subject
from rocm_doctor.rules.frameworks import PLAN
from rocm_doctor.rules.logs import Logs

INSTALL = "pip install torch"
"""The mark in a cure for the commands that install the first stack of `plan`."""
_SLOT = regex(r"\{(\w+)\}")
_LIBRARY = regex(r"\b(lib[\w+-]+\.so(?:\.\d+)*)")
_PAGE = 4096
_LEFT = 8 * 2**30
"""Bytes of main memory that stay with the system when a GPU may map the rest."""


class Values:
    """The values of one report. `words` and `commands` fill them in."""

    def __init__(self, snapshot: Snapshot, gpu: Gpu | None, logs: Logs, matrix: Matrix, kind: ReportKind) -> None:
        self.snapshot, self.gpu, self.logs, self.matrix, self.kind = snapshot, gpu, logs, matrix, kind

    def words(self, text: str) -> str:
        """The sentence with each slot as its value, or as the slot's words where the value is not known."""
        return " ".join(_SLOT.sub(lambda slot: self.value(slot[1]) or self.matrix.slots[slot[1]].words, text).split())

    def commands(self, templates: Iterable[Command]) -> tuple[Command, ...]:
        """The commands with their values. Before one with a value that is not known comes the command that tells it. No torch is
        uninstalled where no command installs another one."""
        filled = {command.text: command for template in templates for command in self._fill(template)}
        installs = any(command.purpose in ("install", "fix") for command in filled.values())
        return tuple(
            command for command in filled.values() if installs or command.purpose != "remove" or "torch" not in command.packages
        )

    def _fill(self, template: Command) -> Iterator[Command]:
        if template.text == INSTALL:
            yield from self._typed(install_commands(self.snapshot, self.gpu, self.matrix, self.kind) or (PLAN,))
            return
        names = _SLOT.findall(template.text)
        values = {name: value for name in names if (value := self.value(name)) and re.fullmatch(slot_pattern(name), value)}
        missing = [self.matrix.slots[name] for name in dict.fromkeys(names) if name not in values]
        text = template.text
        for slot in missing:
            text = text.replace("{" + slot.name + "}", slot.placeholder)
        for line in fill(text, **values) if values else (text,):
            yield from self._typed(slot.tells for slot in missing if slot.tells)
            placeholders = tuple(slot.placeholder for slot in missing)
            yield from self._typed(
                [msgspec.structs.replace(template, text=line, placeholders=(*template.placeholders, *placeholders))]
            )

    def _typed(self, commands: Iterable[Command | str]) -> tuple[Command, ...]:
        return self.matrix.classify(commands)

    def value(self, name: str) -> str:
        """The value of a slot; empty where it is not known. Raises KeyError for a slot that the catalog does not have."""
        slot = self.matrix.slots[name]
        if not slot.fact:
            return _WORKED_OUT[name](self)
        of_gpu = slot.fact.startswith("gpu.")
        fact = (self.gpu.get(slot.fact[4:]) if self.gpu else None) if of_gpu else self.snapshot.get(slot.fact)
        value = fact.value if fact else None
        if isinstance(value, tuple):
            return value[-1] if value else ""
        return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""

    def gfx(self) -> str:
        value = self.gpu.value("gfx") if self.gpu else None
        return value if isinstance(value, str) else ""


def subject_gpu(finding: Finding, snapshot: Snapshot) -> Gpu | None:
    """The GPU that the finding is about; else the first one to train on."""
    subject = next((gpu for n, gpu in enumerate(snapshot.gpus) if gpu_subject(gpu, n).name == finding.subject), None)
    return subject or first_gpu(snapshot)


def first_gpu(snapshot: Snapshot) -> Gpu | None:
    """The first GPU to train on, discrete before integrated; None where none is known."""
    return min(snapshot.gpus, key=lambda gpu: gpu.value("is_apu") is True, default=None)


def install_commands(snapshot: Snapshot, gpu: Gpu | None, matrix: Matrix, kind: ReportKind) -> tuple[str, ...]:
    """The commands of `plan` for another machine's GPU; none on the machine itself, where `plan` and `fix` are offered."""
    gfx = gpu.value("gfx") if gpu else None
    if kind in ("machine", "smoke") or gfx not in matrix.gfx:
        return ()
    from rocm_doctor.plan.catalog import load_catalog
    from rocm_doctor.plan.commands import install
    from rocm_doctor.plan.machine import declare_machine, system_from_snapshot
    from rocm_doctor.plan.search import first_stack

    machine = declare_machine(str(gfx), python_series(snapshot), matrix, system_from_snapshot(snapshot))
    stack = first_stack(machine, load_catalog(matrix))
    return tuple(shlex.join(argv) for argv in install(stack, machine)) if stack else ()


_OFFERED = ("sibling", "faulty", "disputed", "not-needed", "last-resort")
"""Verdicts on an override that a person may be given, best first. One that is reported to break is never given."""


def _override(values: Values) -> str:
    """The value of HSA_OVERRIDE_GFX_VERSION with which the GPU runs a compatible target's code; empty where no source knows one."""
    target = values.matrix.gfx.get(values.gfx())
    by_verdict = {override.verdict: override.value for override in reversed(target.overrides)} if target else {}
    return next((by_verdict[verdict] for verdict in _OFFERED if verdict in by_verdict), "")


def _pages(values: Values) -> str:
    """ttm.pages_limit for the memory of the machine, less what the system keeps."""
    memory = values.snapshot.value("ram_bytes")
    return str((memory - _LEFT) // _PAGE) if isinstance(memory, int) and memory > 2 * _LEFT else ""


def _library(values: Values) -> str:
    """The name of the first shared library that a line says is missing."""
    line = values.logs.find("cannot open shared object|not found*.so|lib*.so*not found|.so*no such file")
    name = _LIBRARY.search(line.quote) if line else None
    return name[1] if name else ""


def _kernel_package(values: Values) -> str:
    """The name of the package with the newest kernel of this release of the distribution (catalog/systems.yaml)."""
    package = find_package(str(values.snapshot.value("os")), values.matrix)
    return package.name if package else ""


_WHEELS = "https://download.pytorch.org/whl/"
_IN_INDEX = regex(r"rocm\d+\.\d+(?:\.\d+)?")


def _index(values: Values) -> str:
    """The index of the torch in use, as its number or the text names it."""
    texts = (values.snapshot.value(name) for name in ("said.torch_index", "torch.version"))
    release = next((hit for text in texts if isinstance(text, str) and (hit := _IN_INDEX.search(text))), None)
    return _WHEELS + release[0] if release else ""


def _program(values: Values) -> str:
    """What the program that the report is about is called."""
    key = values.snapshot.value("said.program")
    return next((application.title for application in values.matrix.applications if application.key == key), "")


_WORKED_OUT: dict[str, Callable[[Values], str]] = {
    "gfx": Values.gfx,
    "version_override": _override,
    "value_pages": _pages,
    "value_library": _library,
    "kernel_package": _kernel_package,
    "url_index": _index,
    "value_program": _program,
}
