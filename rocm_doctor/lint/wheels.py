"""Packages that come as the public wheel of an index. No binaries lie in a repository, so what a row asks of them is not asked
here: the row is judged by the version, and said of the wheels.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Environment, Requirement, Step, Target
from rocm_doctor.lint.rules.addresses import Source
from rocm_doctor.lint.rules.indexes import meant, sources
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Row

Names = frozenset[str]
_CODE = "code."


def published(environment: Environment, target: Target) -> Names:
    """The packages of the environment whose last installation takes the wheel that their project publishes."""
    last = {r.name: (step, r) for step in environment.steps for r in step.requirements if meant(r, target)}
    return frozenset(name for name, (step, r) in last.items() if name in _PUBLISHED and _from_wheel(step, r, target))


def _from_wheel(step: Step, r: Requirement, target: Target) -> bool:
    asked, _ = sources(step, r.name, target)
    public = not r.url or r.url.startswith(_PUBLIC)  # a lock has the address of the wheel
    return step.tool != "conda" and public and "+" not in r.spec and all(map(_PUBLISHED[r.name], asked))


_PUBLIC = "https://files.pythonhosted.org/"


def _of_bitsandbytes(source: Source) -> bool:
    """Every wheel of a release is the same one; only an index that is not known may hold another build."""
    return _of_xformers(source) or (source.origin is not None and "download.pytorch.org" in source.origin.url)


def _of_xformers(source: Source) -> bool:
    """The default index and those of CUDA: the ROCm indexes of PyTorch have wheels of their own."""
    return source.build in ("cuda", "cpu")


_PUBLISHED = {"bitsandbytes": _of_bitsandbytes, "xformers": _of_xformers}
WITH_CODE = frozenset(_PUBLISHED)
"""The packages whose published wheels hold code for GPUs."""


def by_version(matrix: Matrix, names: Names) -> Iterator[Row]:
    """The rows; those that want to know that code is missing in one of these packages no longer ask for it."""
    dropped = {_CODE + name for name in names}
    for row in matrix.rows:
        when = {k: v for k, v in row.when.items() if k not in dropped or not (v == "absent" or v.startswith("!"))}
        yield msgspec.structs.replace(row, when=when) if len(when) < len(row.when) else row


def said_of_wheels(one: Finding, matrix: Matrix) -> Finding:
    """A finding whose row asks for code inside files, as far as a version can tell: likely, and about the wheel."""
    row = matrix.row(one.row) if one.row else None
    if row is None or not any(name.startswith(_CODE) for name in row.when):
        return one
    return msgspec.structs.replace(one, confidence="medium", title=one.title.replace("the installed ", "the published wheel of "))
