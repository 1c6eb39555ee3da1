"""The texts in which a tool's output may occur, and versions and names in their lines."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts

_VERSION = regex(r"v?(\d+(?:\.\d+)*(?:[-.+_]?[A-Za-z0-9][\w.+~-]*)?)", re.ASCII)


def documents(artifacts: Artifacts, kind: str, *globs: str) -> list[Document]:
    """The texts where a tool's output may occur: artifacts cut out as that kind or whose name fits a glob; without any, all
    pasted texts and logs."""
    own = artifacts.like(f"paste/*-{kind}", *globs)
    return [artifacts.document(a) for a in own or artifacts.like("paste/text*", "log/*")]


def texts(artifacts: Artifacts) -> list[Document]:
    """All pasted texts and logs, uncut."""
    return [artifacts.document(a) for a in artifacts.like("paste/text*", "log/*")]


def leading_version(value: str) -> str | None:
    """The version that a value starts with (`3.10.12 (main, ...)` gives 3.10.12); None if it does not start with one."""
    found = _VERSION.match(value.strip().strip("'\"`"))
    return found.group(1).rstrip(".,;:)") if found else None


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
