"""Requirements files as pip reads them: one requirement or option a line, other files by `-r`. A constraints file (`-c`) is not read: it may pin
anything otherwise."""

from __future__ import annotations

import posixpath

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed
from packaging.utils import canonicalize_name

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Fault, Install, PackageIndex, Place, Requirement, Step, Unread, UnreadReason
from rocm_doctor.lint.readers.options import ROLES, parse_options
from rocm_doctor.lint.tree import Tree

MAX_DEPTH = 8
MAX_LINE = 4000
ELSEWHERE = regex(r"#\s*rocm-doctor:\s*torch comes from elsewhere")
"""The comment by which a file says that it is installed where torch is there already."""
_BEHIND = regex(r"\s+--?[a-zA-Z][\w-]*(?:[=\s].*)?$")
"""Options behind a requirement: pip reads them, and an index among them has no effect."""
_PATH = regex(r"(?:\.{0,2}/|file:|\.$)|.*\.(?:whl|tar\.gz|zip)(?:$|[#?])|[a-z+]+://")


def read(tree: Tree, path: str) -> list[Environment]:
    """The environment of a requirements file; none for a text without requirements."""
    file = read_file(tree, path)
    steps = file.steps() if file.requirements or file.indexes else ()
    if not steps and not file.unread and not file.faults:
        return []
    return [
        Environment(
            "requirements", Place(path, 1), steps=steps, unread=tuple(file.unread), files=tuple(dict.fromkeys(file.files)),
            faults=tuple(file.faults), has_torch_elsewhere=file.has_torch_elsewhere,
        )
    ]  # fmt: skip


def read_file(tree: Tree, path: str, depth: int = 0) -> RequirementsFile:
    """The lines of a requirements file and of those that it includes."""
    reading = RequirementsFile(tree, path)
    if depth < MAX_DEPTH:
        reading.read(depth)
    return reading


class RequirementsFile:
    """What a requirements file asks for, with the files that it includes. `has_torch_elsewhere`: a comment says that torch comes from elsewhere."""

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree, self.path = tree, path
        self.requirements: list[Requirement] = []
        self.indexes: list[PackageIndex] = []
        self.unread: list[Unread] = []
        self.faults: list[Fault] = []
        self.files = [path]
        self.has_torch_elsewhere = False
        self.refusals: list[Fault] = []
        self.has_disk_path = False

    def steps(self) -> tuple[Step, ...]:
        """The unread lines that may install packages, then one installation of all requirements."""
        place = self.requirements[0].place if self.requirements else Place(self.path, 1)
        install = Install("pip", place, tuple(self.requirements), tuple(self.indexes), is_complete=False)
        return (*(u for u in self.unread if u.installs), install)

    def read(self, depth: int) -> None:
        text = self.tree.text(self.path)
        if text is None:
            self.unread.append(Unread(Place(self.path, 1), UnreadReason.DENIED, True))
            return
        self.has_torch_elsewhere = ELSEWHERE.search(text) is not None
        for number, line in logical_lines(text):
            self.take(line, Place(self.path, number, line[:200]), depth)
        if len(self.refusals) <= len(self.requirements):
            self.faults += self.refusals  # else the text is not a list of requirements

    def take(self, line: str, place: Place, depth: int = 0) -> None:
        """Add one line: a requirement or an option."""
        if "${" in line or len(line) > MAX_LINE:
            self.unread.append(Unread(place, UnreadReason.VARIABLE if "${" in line else UnreadReason.SIZE, True))
        elif line.startswith("-"):
            self._option(line, place, depth)
        else:
            self._requirement(line, place)

    def _option(self, line: str, place: Place, depth: int) -> None:
        for name, words in parse_options(line.split(None, 1)):
            value = (words or "").strip().strip("\"'")
            if name in ROLES and value:
                self.indexes.append(PackageIndex(value, ROLES[name], place))
            elif name == "--constraint" and value:
                self.unread.append(Unread(place, UnreadReason.CONSTRAINT, True))
            elif name == "--requirement" and value:
                self._include(value, place, depth)
            elif name == "--editable" and value:
                self._requirement(value, place)

    def _include(self, value: str, place: Place, depth: int) -> None:
        other = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), value))
        if "://" in value or not self.tree.has(other):
            self.unread.append(Unread(place, UnreadReason.MISSING, True))
            if "://" not in value and not other.startswith("..") and not value.startswith("/"):
                title = f"it includes {value}, which is not in the repository"
                self.faults.append(Fault(place, "missing", title, "pip stops at a requirements file that it cannot open."))
        elif other not in self.files:
            file = read_file(self.tree, other, depth + 1)
            self.requirements += file.requirements
            self.indexes += file.indexes
            self.unread += file.unread
            self.files += file.files
            self.has_torch_elsewhere = self.has_torch_elsewhere or file.has_torch_elsewhere

    def _requirement(self, line: str, place: Place) -> None:
        wanted = requirement(line, place)
        if isinstance(wanted, Requirement):
            self.requirements.append(wanted)
            if wanted.url.startswith("file:///") and not self.has_disk_path:
                self.has_disk_path = True
                cause = f"pip takes it from {wanted.url[:120]} alone, and stops where there is no such path: name a version."
                self.faults.append(Fault(place, "path", f"{wanted.name} is taken from a path of its writer's disk", cause))
        elif wanted is UnreadReason.MISSING:
            self.unread.append(Unread(place, wanted, True))
        else:
            self.unread.append(Unread(place, UnreadReason.SYNTAX))
            cause = "It is not a requirement: pip installs nothing of the file."
            self.refusals.append(Fault(place, "refused", "pip does not take this line", cause))


def requirement(words: str, place: Place) -> Requirement | UnreadReason:
    """The requirement that a line or a word of a command states; MISSING for a path or address without a name, SYNTAX for no requirement."""
    words = _BEHIND.sub("", words).strip()
    if _PATH.match(words) and " @ " not in words:
        url, _, marker = words.partition(" ;")
        address = parse_address(url.strip(), place)
        return msgspec.structs.replace(address, marker=marker.strip()) if isinstance(address, Requirement) and marker else address
    return parse_specification(words, place) or UnreadReason.SYNTAX


def parse_specification(words: str, place: Place) -> Requirement | None:
    """The requirement that a specification of PEP 508 states; None for other words."""
    try:
        parsed = Parsed(words)
    except InvalidRequirement:
        return None
    marker = str(parsed.marker) if parsed.marker else ""
    return Requirement(
        canonicalize_name(parsed.name), str(parsed.specifier), place, tuple(sorted(parsed.extras)), marker, parsed.url or ""
    )


_WHEEL = regex(r"(?:^|/)([A-Za-z0-9_.]+?)-([0-9][\w.!+%]*?)(?:-\d\w*)?-[\w.]+-[\w.]+-([\w.]+)\.whl(?:$|[#?])")
_EGG = regex(r"#(?:.*&)?egg=([\w.-]+)")
_GIT = regex(r"git\+[a-z]+://[^#@]*/([\w.-]+?)(?:\.git)?/?(?:[@#].*)?$")


def parse_address(url: str, place: Place) -> Requirement | UnreadReason:
    """The package at an address: by the name of its wheel, its egg, or its repository; MISSING where none of them says it."""
    if wheel := _WHEEL.search(url):
        marker = 'sys_platform == "win32"' if wheel[3].startswith("win") else ""
        return Requirement(canonicalize_name(wheel[1]), f"=={wheel[2].replace('%2B', '+')}", place, marker=marker, url=url)
    named = _EGG.search(url) or _GIT.match(url)
    return Requirement(canonicalize_name(named[1]), "", place, url=url) if named else UnreadReason.MISSING


def logical_lines(text: str) -> list[tuple[int, str]]:
    """(line number, text) of each line with text; comments are removed, and continued lines are joined."""
    logical: list[tuple[int, str]] = []
    joined, first = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip()
        first = first if joined else number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            joined += line[:-1] + " "
            continue
        line = _COMMENT.sub("", joined + line).strip()
        joined = ""
        if line:
            logical.append((first, line))
    return logical


_COMMENT = regex(r"(?:^|\s)#.*$")
