"""The commands that the matrix states. A report is a file that a stranger may have written: of its commands only these are kept."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import slot_pattern
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.advice import AdviceCase, Cure
from rocm_doctor.matrix.rows import Diagnosis, Row
from rocm_doctor.model import Command, Report

_SLOT = regex(r"\{(\w+)\}")


def drop_foreign_commands(report: Report, matrix: Matrix) -> Report:
    """The report with such commands only as the matrix states."""

    def ours(commands: Iterable[Command]) -> tuple[Command, ...]:
        return tuple(c for c in commands if is_ours(c.text, matrix))

    findings = tuple(
        msgspec.structs.replace(
            f,
            commands=ours(f.commands),
            verify=ours(f.verify),
            settle=f.settle if f.settle and is_ours(f.settle.text, matrix) else None,
        )
        for f in report.findings
    )
    questions = tuple(q for q in report.questions if is_ours(q.command.text, matrix))
    return msgspec.structs.replace(report, findings=findings, questions=questions)


def is_ours(text: str, matrix: Matrix) -> bool:
    """True for a command that the matrix states, or that a template of it makes."""
    return text in matrix.once(stated_commands) or any(pattern.fullmatch(text) for pattern in matrix.once(command_patterns))


def stated_commands(matrix: Matrix) -> frozenset[str]:
    """The text of every command that rows, diagnoses, cases, cures and questions state."""
    entries: list[Row | Diagnosis] = [*matrix.rows, *matrix.diagnoses.values()]
    stated = [c for entry in entries for c in (*entry.commands, *entry.verify, entry.settle) if c]
    stated += [c for cure in matrix.cures for c in (*cure.commands, *cure.verify)]
    stated += [c for case in matrix.cases.values() for c in (*(case.commands or ()), *case.verify, case.settle) if c]
    stated += [slot.tells for slot in matrix.slots.values() if slot.tells]
    return frozenset(c.text for c in (*stated, *(asked.command for asked in matrix.questions)))


def command_patterns(matrix: Matrix) -> tuple[re.Pattern[str], ...]:
    """What each command of a cure or a case that takes values looks like with them: a command of another shape is not ours."""
    entries: list[Cure | AdviceCase] = [*matrix.cures, *matrix.cases.values()]
    stated = [c for entry in entries for c in (*(entry.commands or ()), *entry.verify) if _SLOT.search(c.text)]
    return tuple(re.compile(_shape(command.text, matrix)) for command in stated)


def _shape(text: str, matrix: Matrix) -> str:
    """The pattern of a template: its words as they are, and in each slot a value of its kind or the placeholder."""
    parts = _SLOT.split(text)
    words = {name: f"{re.escape(slot.placeholder)}|" for name, slot in matrix.slots.items()}
    slots = (f"(?:{words.get(name, '')}{slot_pattern(name)})" for name in parts[1::2])
    return "".join(part for pair in itertools.zip_longest(map(re.escape, parts[::2]), slots, fillvalue="") for part in pair)
