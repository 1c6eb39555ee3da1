"""What is wrong in the text itself: a line that pip refuses, a file that is not there, a redirect in place of a version."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.lint.model import Problem
from rocm_doctor.lint.rules.case import Case

_FORMAT = "https://pip.pypa.io/en/stable/reference/requirements-file-format/"


def faults(case: Case) -> Iterator[Problem]:
    """`repo.unreadable` for each fault of an environment for AMD."""
    for fault in case.environment.faults if case.is_amd else ():
        yield case.problem(
            "repo.unreadable",
            fault.title,
            fault.cause,
            (fault.place,),
            key=(fault.kind, fault.place.file),  # one cause for each file
            sources=fault.sources or (_FORMAT,),
        )
