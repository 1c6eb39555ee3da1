"""Edits of a repository's files that are safe to make by hand of a program: one line each, decided by the catalog alone.

An edit names the words that it replaces. Where they are not on the line exactly once, or two edits disagree, nothing is changed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rocm_doctor.lint.coverage import meant_for
from rocm_doctor.lint.declared import Environment, Place, Repository, Target
from rocm_doctor.lint.proposals import proposal
from rocm_doctor.lint.rules.built_for import leaving_out, takes_list, with_gpu
from rocm_doctor.lint.rules.companions import mismatched
from rocm_doctor.lint.rules.containers import DEVICES_YAML, lacking
from rocm_doctor.lint.rules.findings import is_hashed
from rocm_doctor.lint.rules.libraries import refuses
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.lint.swapped import replaces
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Report

_CONTINUED = 30


class Edit(NamedTuple):
    """`old` becomes `new` on a line; an empty `old` adds `new` below the line, indented as what follows it."""

    diagnosis: str
    place: Place
    old: str
    new: str


def edits(repository: Repository, report: Report, targets: Sequence[Target], matrix: Matrix) -> list[Edit]:
    """The edits for the errors and warnings of a report; those on one place that disagree between targets are left out."""
    said = {(f.id, *r.at) for f in report.findings if f.severity != "note" for r in f.evidence}
    found = [
        edit
        for target in targets
        for environment in meant_for(target, repository.environments, matrix)
        for make in _MAKERS
        for edit in make(environment, target, matrix)
        if not is_hashed(edit.place) and (edit.diagnosis, *edit.place.at) in said
    ]
    by_words: dict[tuple[str, int, str], set[Edit]] = {}
    for edit in found:
        by_words.setdefault((edit.place.file, edit.place.line, edit.old), set()).add(
            edit._replace(place=Place(edit.place.file, edit.place.line))
        )
    return [next(iter(same)) for same in by_words.values() if len(same) == 1]


def _companions(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Edit]:
    for r, right, _ in mismatched(environment, target, matrix):
        if environment.sort != "text" and not r.place.file.endswith(".lock"):
            yield Edit("version.companion-mismatch", r.place, f"{r.name}{r.spec}", f"{r.name}=={right}")


def _targets(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Edit]:
    for s in leaving_out(environment, target):
        if takes_list(s) and not refuses(environment, s, target, matrix):
            yield Edit("arch.not-in-build", s.place, s.value.strip().strip(";,"), with_gpu(s, target.gpu))


def _devices(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Edit]:
    for container in environment.containers:
        if (
            container.service
            and container.gpu
            and not container.privileged
            and not container.nvidia
            and not container.devices
            and lacking(container)
        ):
            yield Edit("access.container", container.place, "", DEVICES_YAML)


def _torch(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Edit]:
    """A list for AMD whose torch comes from elsewhere: the build that `plan` proposes inside its range, with its index."""
    state = last_state(environment, matrix, target)
    if (
        environment.sort != "requirements"
        or environment.purpose.kind != "amd"
        or state is None
        or state[2].build not in ("cuda", "none")
    ):
        return
    best = proposal(environment, target, matrix)
    asked = [r for step in environment.steps for r in step.requirements if r.name == "torch" and not r.url and not r.marker]
    line = next((one for one in best.lines if re.match(r"torch[=\[]", one)), "") if best else ""
    if best is None or len(asked) != 1 or not line:
        return
    place = asked[0].place
    if any(replaces(index, place) for step in environment.steps for index in step.indexes):
        return
    yield Edit("version.torch-not-rocm", place, place.quote, line)
    if not any(index.url.rstrip("/") == best.index.rstrip("/") for step in environment.steps for index in step.indexes):
        yield Edit("version.torch-not-rocm", place, "", f"--extra-index-url {best.index}")


_MAKERS: tuple[Callable[[Environment, Target, Matrix], Iterable[Edit]], ...] = (_companions, _targets, _devices, _torch)


def changed(root: Path, wanted: Sequence[Edit]) -> dict[str, tuple[str, str]]:
    """Each file that the edits change: its text before and after. A link, or a file that is not UTF-8, is left alone."""
    found: dict[str, tuple[str, str]] = {}
    for file in dict.fromkeys(edit.place.file for edit in wanted):
        path = root / file
        if path.is_symlink() or not path.is_file():
            continue
        try:
            before = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        lines = before.splitlines(keepends=True)
        # From the last line to the first, so that the lines above keep their numbers.
        for edit in sorted((e for e in wanted if e.place.file == file), key=lambda e: (-e.place.line, e.old == "")):
            _edit(lines, edit)
        if (after := "".join(lines)) != before:
            found[file] = before, after
    return found


def _edit(lines: list[str], edit: Edit) -> None:
    at = edit.place.line - 1
    if not 0 <= at < len(lines):
        return
    if edit.old:
        # A command may go on over several lines.
        there = [n for n in range(at, min(at + _CONTINUED, len(lines))) if edit.old in lines[n]]
        if there and lines[there[0]].count(edit.old) == 1 and all(_goes_on(line) for line in lines[at : there[0]]):
            lines[there[0]] = lines[there[0]].replace(edit.old, edit.new)
        return
    ending = "\r\n" if lines[at].endswith("\r\n") else "\n"
    below = next((line for line in lines[at + 1 :] if line.strip() and not line.lstrip().startswith("#")), lines[at])
    margin = below[: len(below) - len(below.lstrip())]
    while lines[at].rstrip().endswith("\\") and at + 1 < len(lines):
        at += 1
    if not lines[at].endswith("\n"):
        lines[at] += ending
    lines[at + 1 : at + 1] = [f"{margin}{line}{ending}" for line in edit.new.splitlines()]


def _goes_on(line: str) -> bool:
    return line.rstrip().endswith("\\") or line.lstrip().startswith("#") or line.rstrip().endswith(("[", "(", ",", "{"))


def diff(files: dict[str, tuple[str, str]]) -> str:
    """The change as `git apply` and `patch -p1` take it."""
    parts: list[str] = []
    for file, (before, after) in files.items():
        rows = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{file}", f"b/{file}")
        parts += [row if row.endswith("\n") else row + "\n\\ No newline at end of file\n" for row in rows]
    return "".join(parts)
