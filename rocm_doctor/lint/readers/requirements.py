"""requirements*.txt as pip reads them: logical lines, -r and -c with their cycles, index options, hashes, markers, URLs.

pip's own parser is private and pip-requirements-parser copies an old one; the grammar of a line is packaging's, the
options are few (https://pip.pypa.io/en/stable/reference/requirements-file-format/), so this file reads them itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed
from packaging.utils import canonicalize_name

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import About, Index, Place, ReadProblem, Requirement, Role, Tool
from rocm_doctor.lint.readers.files import Tree, folder_of, joined, quoted

_OPTION = regex(
    r"(--index-url|--extra-index-url|--find-links|--requirement|--constraint|--editable|--no-index|--pre|-i|-f|-r|-c|-e)(?:\s*=\s*|\s+|$)(.*)"
)
_ROLES: dict[str, Role] = {
    "-i": "default", "--index-url": "default", "--extra-index-url": "extra", "-f": "find-links", "--find-links": "find-links",
}  # fmt: skip
_WHEEL = regex(r"([A-Za-z0-9_.]+?)-([0-9][^-/]*)-(?:[^-/]+-)?[^-/]+-[^-/]+-[^-/]+\.whl")
_TAIL = regex(
    r" --(?:hash|config-settings?|global-option|install-option|no-binary|only-binary|prefer-binary|pre|require-hashes|trusted-host|use-feature)(?:[= ].*|$)"
)
# pip takes a requirement with such an option after it and ignores the option without a word.
_IGNORED = regex(r"\s(?:--(?:extra-)?index-url|--find-links|-i|-f)[=\s]+(\S+).*")
_GIT = regex(r"git\+\S*?/([\w.-]+?)(?:\.git)?(?:@[^#\s]*)?(?:#.*egg=([\w.-]+).*|#.*)?$")
_REPOSITORIES = {"flash-attention": "flash-attn", "pytorch": "torch", "vision": "torchvision", "audio": "torchaudio"}
_COMMENT = regex(r"(?:^|(?<=\s))#.*")
MAX_LINE = 4000
MAX_LINES = 10_000
MAX_REQUIREMENT = 500
MAX_DEPTH = 40
MAX_TROUBLES = 20


class RequirementsFile(NamedTuple):
    """What one requirements file and those that it includes ask for."""

    requirements: list[Requirement]
    constraints: list[Requirement]
    indexes: list[Index]
    included: list[str]


def read(tree: Tree, path: str) -> RequirementsFile:
    """A requirements file with everything it includes; a cycle or a missing file becomes a trouble at its line."""
    found = RequirementsFile([], [], [], [])
    _read(tree, path, found, found.requirements, (path,))
    return found


def in_force(indexes: Sequence[Index], tool: Tool = "pip", command: Sequence[Index] = ()) -> tuple[Index, ...]:
    """The indexes of a list that the tool asks, and those of the command that installs it. pip takes an --index-url in a list in place of every
    index named before it, the command's as well; for uv the command's has the last word.
    """
    every = [*command, *indexes]
    chosen = [n for n, one in enumerate(every) if one.role == "default"]
    if tool == "pip" and chosen and chosen[-1] >= len(command):
        return tuple(one for n, one in enumerate(every) if n >= chosen[-1] or one.role not in ("default", "extra"))
    by_command = any(one.role == "default" for one in command)
    return tuple(one for n, one in enumerate(every) if n < len(command) or one.role != "default" or not by_command)


def read_lines(tree: Tree, lines: Iterable[tuple[Place, str]], found: RequirementsFile) -> None:
    """Lines of a requirements list inside another file (conda's pip section)."""
    _lines(tree, lines, found, found.requirements, ())


def _read(tree: Tree, path: str, found: RequirementsFile, into: list[Requirement], chain: tuple[str, ...]) -> None:
    _lines(tree, logical_lines(path, tree.text(path) or ""), found, into, chain)


def _lines(
    tree: Tree, lines: Iterable[tuple[Place, str]], found: RequirementsFile, into: list[Requirement], chain: tuple[str, ...]
) -> None:
    for number, (place, line) in enumerate(lines):
        if number >= MAX_LINES:
            tree.problems.append(ReadProblem(place, f"more than {MAX_LINES} lines; the rest was not looked at"))
            return
        option = _OPTION.match(line)
        if option and option[1] in ("-r", "-c", "--requirement", "--constraint"):
            _include(tree, option[2], place, found, found.constraints if "c" in option[1].lstrip("-")[:1] else into, chain)
        elif option and option[1] in _ROLES:
            found.indexes.append(Index(option[2].strip("\"' "), _ROLES[option[1]], place))
        elif option and option[1] not in ("-e", "--editable"):
            continue
        elif not line.startswith("--"):
            into += one(as_folder(option[2]) if option else line, place, tree.problems)


def _include(
    tree: Tree, name: str, place: Place, found: RequirementsFile, into: list[Requirement], chain: tuple[str, ...]
) -> None:
    """The file of a -r or -c line."""
    path = joined(folder_of(place.file), name.strip("\"' "))
    if "://" in name or path is None:
        tree.problems.append(ReadProblem(place, f"{name} is outside of the repository and is not read"))
    elif path in chain or len(chain) > MAX_DEPTH:
        if path in found.included:
            return
        found.included.append(path)
        tree.problems.append(ReadProblem(place, f"{path} includes itself: {' -> '.join((*chain, path)[-4:])}"))
    elif path not in found.included:
        found.included.append(path)
        if tree.text(path, wanted=False) is None:
            tree.problems.append(_absent(path, place, brought=_is_brought(tree, path, place.file)))
        else:
            _read(tree, path, found, into, (*chain, path))


def _absent(path: str, place: Place, *, brought: bool) -> ReadProblem:
    if brought:
        return ReadProblem(place, f"{path} is included here and brought by something else")
    return ReadProblem(place, f"{path} is included here and cannot be read", "list")


def _is_brought(tree: Tree, path: str, by: str) -> bool:
    """True if a list that is not there may come with a submodule or a clone, or is named by another text of the repository, which may write it."""
    folder, _, name = path.rpartition("/")
    here = tree.text_if_there(".gitmodules") or ""
    if folder and (not tree.exists(folder) or re.search(rf"path\s*=\s*{re.escape(folder)}\s*$", here, re.M)):
        return True
    return tree.mention(re.compile(rb"\b" + re.escape(name.encode())), (name.lower().encode(),), {by}) is not None


def logical_lines(file: str, text: str) -> Iterator[tuple[Place, str]]:
    """Lines without comments, continued ones joined; each with the place of its first."""
    start, parts = 0, []
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", raw[:MAX_LINE]).rstrip()
        start = start or number
        parts.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        whole = " ".join(p.strip() for p in parts).strip()
        if whole:
            yield Place(file, start, quoted(whole)), whole
        start, parts = 0, []


def one(text: str, place: Place, problems: list[ReadProblem] | None = None) -> list[Requirement]:
    """The requirement of one line or argument: PEP 508, a wheel's URL or file; a folder or a bare URL asks for nothing we
    know.
    """
    text = _unquoted(_TAIL.sub("", " ".join(text[:MAX_LINE].split())))
    if problems is not None and (ignored := _IGNORED.search(text)):
        problems.append(
            ReadProblem(place, f"pip ignores the index {ignored[1].rstrip(';')} here: an index is a line of its own", "hint")
        )
        # With the option goes the marker behind it; an empty marker before it is none for pip.
        text = text[: ignored.start()].rstrip("; ")
    if len(text) > MAX_REQUIREMENT:
        return _refused(place, f"{len(text)} characters long", problems)
    address, _, marker = text.partition(" ;") if " ;" in text else text.partition(";")
    wheel = _WHEEL.search(address)
    if wheel and " @ " not in text:
        version = wheel[2].replace("%2B", "+").replace("%2b", "+")
        return [Requirement(str(canonicalize_name(wheel[1])), f"=={version}", place, url=address.strip(), marker=marker.strip())]
    if (source := _GIT.match(address.strip())) and " @ " not in text:
        name = str(canonicalize_name(source[2] or source[1]))
        return [Requirement(_REPOSITORIES.get(name, name), "", place, url=address.strip(), marker=marker.strip())]
    if text.startswith((".", "/", "-", "$")) or re.match(r"[a-z+]+://|[\w.-]+/[\w./-]+(?:\[[^\]]*\])?$", text) or not text:
        return []
    if "$" in text:
        return _partly_known(text, place)
    try:
        parsed = Parsed(text)
    except InvalidRequirement as exc:
        why = str(exc).splitlines()[0][:120]
        return _refused(place, why, problems, "refused" if _SOME_TAKE.fullmatch(text) and _LOCAL_RANGE not in why else "line")
    return [of_parsed(parsed, place)]


def as_folder(editable: str) -> str:
    """What `-e` is given, as a path: pip takes it for a folder unless it is an address, and never for a package's name."""
    address = "://" in editable or editable.startswith((".", "/", "$", "file:", "git+"))
    return editable if address else f"./{editable}"


def _partly_known(text: str, place: Place) -> list[Requirement]:
    """A requirement with a variable that no file sets: its name, and a version that is not known."""
    found = re.match(r"([A-Za-z][\w.-]*)(\[[^\]]*\])?\s*([=<>!~]=?|@|$)", text)
    return [Requirement(str(canonicalize_name(found[1])), UNKNOWN, place)] if found else []


UNKNOWN = "===$"
"""The range of a requirement whose version is a variable that no file sets."""


def _unquoted(text: str) -> str:
    """Without the quotes around the whole; those of a marker at the end (`sys_platform == 'linux'`) stay."""
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


# What packaging says of a range with a local version.
_LOCAL_RANGE = "Local version label"
# Versions that pip took before 24.1, markers, what conda writes (`numpy=1.26=py312_0`), and lines of a text that is no list.
_SOME_TAKE = regex(
    r"[\w.-]+(?:\[[^\]]*\])?\s*(?:\(?(?:\s*(?:===?|[<>!~]=?)\s*[^\s,;()<>=!~]+\s*,?)*\)?\s*(?:;.*)?|={1,2}[^\s=]+(?:=\S+)?|[\w.,'!?:;()-]+(?: [\w.,'!?:;()-]+){2,})"
)


def _refused(place: Place, why: str, problems: list[ReadProblem] | None, about: About = "refused") -> list[Requirement]:
    """No requirement; noted for the first such lines of a file, of which one says enough."""
    if problems is not None and sum(t.place.file == place.file for t in problems[-MAX_TROUBLES:]) < MAX_TROUBLES:
        problems.append(ReadProblem(place, f"no requirement that pip would take: {why}", about))
    return []


_MEANT = (
    (regex(r"^(?:\$ ?|! ?|%)?(?:python3? -m )?pip3? install(?: -U| --upgrade)?\s+"), ""),
    (regex(r"\s+--(?:no-deps|upgrade|force-reinstall|user|no-cache-dir|no-build-isolation)\b"), ""),
    (regex(r"^([A-Za-z][\w.-]*)\s*(?:=|:|\s)\s*v?(\d[\w.+]*)$"), r"\1==\2"),
    (regex(r"[<>~]=?\s*(\d[\w.]*\+\w[\w.]*)$"), r"==\1"),
)


def meant_by(line: str) -> str:
    """The requirement that a line which pip refuses is likely meant for; empty where that is not plain."""
    for pattern, instead in _MEANT:
        line = pattern.sub(instead, line.strip().rstrip(",;"))
    try:
        return str(Parsed(line))
    except InvalidRequirement:
        return ""


def of_parsed(parsed: Parsed, place: Place) -> Requirement:
    """Our form of a parsed requirement; the version of a wheel in its URL counts as pinned."""
    wheel = _WHEEL.search(parsed.url or "")
    spec = f"=={wheel[2].replace('%2B', '+').replace('%2b', '+')}" if wheel else str(parsed.specifier)
    return Requirement(
        str(canonicalize_name(parsed.name)), spec, place, tuple(sorted(parsed.extras)), parsed.url or "", str(parsed.marker or "")
    )
