"""What an image asks its package archive for and the archive does not have, from catalog/apt.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Setting, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class _Archive(msgspec.Struct, frozen=True):
    name: str
    called: tuple[str, ...]
    images: tuple[str, ...]
    pythons: tuple[str, ...]
    gone: dict[str, str]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    plain: tuple[str, ...] = ()


def not_in_archive(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """`apt-get install` of a package that the system of an image does not have: the build of the image ends there."""
    if not environment.apt or environment.image is None or environment.purpose.kind != "amd":
        return
    image = _OF_DOCKER.sub("", environment.image.value)
    known = matrix.section("apt", _Archive)
    bare = next((one for one in known if any(re.match(rf"{re.escape(i)}(?![\w.])", image) for i in one.images)), None)
    python = next((s for s in environment.apt if _PYTHON.fullmatch(s.value) and not s.default), None)
    if bare and python and (version := python.value.split("-")[0].removeprefix("python")) not in bare.pythons:
        have = [f"python{p}" for p in bare.pythons]
        yield _finding(
            environment,
            target,
            matrix,
            bare,
            python,
            id="version.python-unsupported",
            cause=f"Its archive has {' and '.join(have)}: {_ENDS}.",
            advice=f"Take {' or '.join(have)}, or have uv bring the other one: uv venv --python {version}.",
        )
    called = next((one for one in known if any(word in image for word in one.called) or _is_plain(one, image)), None)
    gone = next((s for s in environment.apt if called and s.value in called.gone), None)
    if called and gone:
        instead = called.gone[gone.value]
        yield _finding(
            environment,
            target,
            matrix,
            called,
            gone,
            id="version.wheel-missing",
            cause=f"Earlier releases had it: {_ENDS}.",
            advice=f"Take {instead} in its place." if instead else f"Leave {gone.value} out.",
        )


_ENDS = "apt-get ends with an error, and the build of the image with it"
_OF_DOCKER = regex(r"^(?:docker\.io/)?(?:library/)?")
_PYTHON = regex(r"python3\.\d{1,2}(?:-(?:venv|dev|minimal|full))?")


def _is_plain(one: _Archive, image: str) -> bool:
    return any(re.fullmatch(rf"{re.escape(name)}(?:-slim)?", image) for name in one.plain)


def _finding(
    environment: Environment, target: Target, matrix: Matrix, archive: _Archive, asked: Setting, id: str, **fields: Any
) -> Finding:
    base = [environment.image.place] if environment.image else []
    return found(
        matrix, id, environment, target, [asked.place, *base], row="", title=f"{archive.name} has no package {asked.value}",
        commands=(), sources=archive.sources, grade=archive.grade, **fields,
    )  # fmt: skip
