"""The Python of an image or a script: which one it has, and whether a system keeps it for its own packages."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, ReadProblem, Setting, Step
from rocm_doctor.lint.readers import expansion
from rocm_doctor.lint.readers.files import quoted
from rocm_doctor.lint.readers.instructions import Instruction

_NAMES_PYTHON = regex(
    r"""(?<!lib)python-?(3\.\d{1,2})\b|--python[= ]["']?(3\.\d{1,2})|python={1,2}["']?(3\.\d{1,2})|pyenv\s(?:install|global|local)\s[^;&|\n]*?(3\.\d{1,2})"""
)
_OF_CONDA = regex(r"Mini(?:conda|forge)3-py3(\d{1,2})_")
# The Python that a system brings: https://packages.ubuntu.com/python3 and https://packages.debian.org/python3
_OF_SYSTEM = ((r"ubuntu[:-]?20\.04|focal", "3.8"), (r"ubuntu[:-]?22\.04|jammy", "3.10"), (r"ubuntu[:-]?24\.04|noble", "3.12"),
              ("bookworm", "3.11"), ("trixie", "3.13"))  # fmt: skip
# What brings a Python of which no command says the version.
_ANOTHER_PYTHON = regex(
    r"\bpyenv\b|\buv (?:venv|python|sync|run)\b|(?:conda|forge|mamba)\d?[\w.-]*\.sh\b|\b(?:conda|mamba) (?:create|env)\b"
)
_OF_TAG = regex(r"(?:^|/)python:(3\.\d{1,2})\b|py(3\.\d{1,2})(?!\d)|python(3\.\d{1,2})(?!\d)")


def named_python(text: str, image: Setting, place: Place) -> Setting | None:
    """The Python of an image: the one that its commands name, else that of its base. None where several are named."""
    if pips := _of_system_pip(text, image):
        return Setting("python", pips, image.place)
    named = {version for m in _NAMES_PYTHON.finditer(text) for version in m.groups() if version}
    named |= {f"3.{m[1]}" for m in _OF_CONDA.finditer(text)}
    if named:
        return Setting("python", named.pop(), place) if len(named) == 1 else None
    if _ANOTHER_PYTHON.search(text):
        return None
    if m := _OF_TAG.search(image.value):
        return Setting("python", m[1] or m[2] or m[3], image.place)
    found = _of_system(image)
    return Setting("python", found, image.place) if found else None


def _of_system(image: Setting) -> str:
    """The Python of the system that an image's name says; empty where it says none."""
    return next((version for pattern, version in _OF_SYSTEM if re.search(pattern, image.value)), "")


_BARE_SYSTEM = regex(r"(?:^|/)(?:ubuntu|debian|rocm/dev-ubuntu-\d\d\.\d\d)(?::|$)")
_PLAIN_PIP = regex(r"(?<![\w./-])pip3?\s+install\b")
# Another pip, or another Python behind the name python3, which is that of apt's pip.
_NOT_SYSTEM_PIP = regex(
    r"-m\s+(?:pip|venv|virtualenv|ensurepip)\b|\bvirtualenv\s|conda|mamba|pyenv|get-pip|\buv\b|pip3\.\d|--python[= ]"
    r"|(?:\bln|alternatives)\s[^;&|]*\bpython3(?![.\w-])|\balias\b|/pip3?(?=\s|$)|\.sh\b|env\w*/bin\b|/bin/activate"
)


def _of_system_pip(text: str, image: Setting) -> str:
    """The Python of the system where its commands install by the pip of the system, whatever other Python they name; empty where they do not.

    apt's python3-pip begins with #!/usr/bin/python3: a `python` that is linked to another release changes nothing for it.
    """
    has_pip = _WITH_PIP.search(image.value) or _OWN_PIP.search(text)
    plain = _BARE_SYSTEM.search(image.value) and has_pip and _PLAIN_PIP.search(text) and not _NOT_SYSTEM_PIP.search(text)
    return _of_system(image) if plain else ""


_LINKS_PYTHON = regex(r"(?:\bln\s|alternatives\s)[^;&|]*?python(3\.\d{1,2})\s+\S*/python(?=\s|$)")
_LINKS_BY_NAME = regex(r"alternatives\s+--install\s+\S+/python\s+python\s+\S*/python(3\.\d{1,2})\b")
_STARTS = regex(r"(?:\S*/)?python(3\.\d{1,2})?(?:\s|$)")


def starts_another(text: str, image: Setting, command: str, place: Place | None) -> Setting | None:
    """The Python that an image starts its program with, where the pip of the system installs for another one."""
    pips = _of_system_pip(text, image)
    started = _STARTS.match(command) if pips and place else None
    linked = _LINKS_PYTHON.search(text) or _LINKS_BY_NAME.search(text)
    version = (started[1] or (linked[1] if linked else "")) if started else ""
    return Setting("python", version, place) if place and version and version != pips else None


def one_of(pythons: Sequence[Setting]) -> Setting | None:
    """The Python of the environments that commands make, where they all get the same one."""
    values = {one.value for one in pythons}
    return pythons[0] if len(values) == 1 and pythons[0].value[:1].isdigit() else None


def of_scripts(environments: Sequence[Environment]) -> list[Environment]:
    """The environments; a script that an image runs, and that names no Python of its own, has the Python of that image."""
    inside: dict[str, list[Setting]] = {}
    for one in environments:
        if one.sort == "image" and one.python:
            for file in {step.place.file for step in one.steps}:
                inside.setdefault(file, []).append(one.python)
    return [
        msgspec.structs.replace(one, python=one_of(inside[one.place.file]))
        if one.sort == "script" and one.python is None and one.place.file in inside
        else one
        for one in environments
    ]


_ASKS_APT = regex(r"\bapt(?:-get)?\s(?:\\\n|[^;&|\n])*?\binstall\s(?P<words>(?:\\\n|[^;&|\n])*)")
_PACKAGE = regex(r"(?<!\S)[a-z][a-z0-9.+-]+(?=[\s=\\]|$)")
MAX_PACKAGES = 400
# What may bring a package that the archive of the system lacks.
_ANOTHER_ARCHIVE = regex(
    r"add-apt-repository|deadsnakes|\bppa\b|\.sh\b|/etc/apt/(?!keyrings|preferences|sources\.list\.d/(?:rocm|amdgpu))"
)


def asked_of_apt(found: Sequence[Instruction], names: dict[str, str]) -> tuple[Setting, ...]:
    """The packages that an image asks apt-get for, where its build ends without them. `default`: another archive may have them."""
    asked: list[Setting] = []
    another = False
    for verb, words, place in found:
        another = another or (verb in ("COPY", "RUN", "ADD") and _ANOTHER_ARCHIVE.search(words) is not None)
        text = expansion.filled(words, names) if verb == "RUN" and "||" not in words else ""
        for command in _ASKS_APT.finditer(text):
            for m in _PACKAGE.finditer(text, command.start("words"), command.end("words")):
                below = text.count("\n", 0, m.start())
                at = msgspec.structs.replace(place, line=place.line + below, quote=quoted(text.split("\n")[below]))
                asked.append(Setting("apt", m[0], at, default=another))
    return tuple(asked[:MAX_PACKAGES])


# Ubuntu from 23.04 and Debian from 12 on keep their Python for their own packages: https://peps.python.org/pep-0668
_KEEPS = regex(
    r"(?:^|/)(?:ubuntu(?::(?:latest|rolling|2[3-9]\.\d\d|noble)\S*)?|debian(?::(?:latest|stable|1[2-9]|bookworm|trixie)\S*)?|rocm/dev-ubuntu-2[4-9]\.\d\d(?::\S*)?)$"
)
# AMD's development images are Ubuntu's with its pip: https://github.com/ROCm/ROCm-docker/blob/c0dbf1d2/dev/Dockerfile-ubuntu-24.04
_WITH_PIP = regex(r"(?:^|/)rocm/dev-ubuntu-")
_OWN_PIP = regex(r"\bapt(?:-get)?\b[^;&|]*\bpython3-pip\b")
_ANOTHER_PIP = regex(
    r"break.system.packages|EXTERNALLY-MANAGED|venv|virtualenv|conda|mamba|pyenv|deadsnakes|get-pip|\buv\b|python3\.\d+|pip\.conf",
    re.I,
)


def kept_by_system(text: str, image: Setting, steps: Sequence[Step]) -> Place | None:
    """Where the pip of a system that keeps its Python for itself installs; None where another Python or an option is named."""
    has_pip = _WITH_PIP.search(image.value) or _OWN_PIP.search(text)
    if not _KEEPS.search(image.value) or not has_pip or _ANOTHER_PIP.search(text):
        return None
    return _first_of_pip(steps)


def _first_of_pip(steps: Sequence[Step]) -> Place | None:
    return next((step.place for step in steps if step.tool == "pip" and step.requirements), None)


# A system before those that keep their Python.
_OLDER = regex(r"\b(?:20\.04|22\.04|focal|jammy|bullseye)\b")
_NEWER = regex(r"\b(?:2[4-9]\.\d\d|23\.(?:04|10)|noble|bookworm|trixie)\b")


def may_be_kept(text: str, steps: Sequence[Step]) -> ReadProblem | None:
    """The doubt on a script that installs with the pip that it has its system bring; None where it is for systems that allow it."""
    if not _OWN_PIP.search(text) or _ANOTHER_PIP.search(text) or (_OLDER.search(text) and not _NEWER.search(text)):
        return None
    place = _first_of_pip(steps)
    said = "Ubuntu from 23.04 and Debian from 12 on refuse line {}: pip is that of the system"
    return ReadProblem(place, said.format(place.line)) if place else None
