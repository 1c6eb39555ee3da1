"""A Python that an image asks its package archive for, and the archive does not have, from catalog/apt.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Environment, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class _Archive(msgspec.Struct, frozen=True):
    name: str
    images: tuple[str, ...]
    pythons: tuple[str, ...]
    sources: tuple[str, ...]
    grade: Grade
    checked: str


def _archives(matrix: Matrix) -> tuple[_Archive, ...]:
    return msgspec.json.decode(matrix.raw.get("apt", b"[]"), type=tuple[_Archive, ...])


def not_in_archive(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """`apt-get install python3.12` on a system without that package: the build of the image ends there."""
    asked, image = environment.apt, environment.image
    if asked is None or image is None:
        return
    names = "|".join(re.escape(one) for one in ("docker.io/library/", "docker.io/", "library/"))
    base = re.sub(rf"^(?:{names})", "", image.value)
    one = next((a for a in matrix.once(_archives) if any(re.match(rf"{re.escape(i)}(?![\w.])", base) for i in a.images)), None)
    if one is None or asked.value in one.pythons:
        return
    yield found(
        matrix,
        "version.python-unsupported",
        environment,
        target,
        [asked.place, image.place],
        row="",
        title=f"{one.name} has no package python{asked.value}",
        cause=f"Its archive has {' and '.join(f'python{p}' for p in one.pythons)}: apt-get ends with an error, and the build of the image with it.",
        advice=f"Take {' or '.join(f'python{p}' for p in one.pythons)}, or have uv bring the other one: uv venv --python {asked.value}.",
        commands=(),
        sources=one.sources,
        grade=one.grade,
    )
