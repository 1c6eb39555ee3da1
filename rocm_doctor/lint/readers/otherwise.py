"""Values that a repository gives the same name in more than one place: a default that a script, an overlay or a document replaces."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import OVERRIDE, REQUIRES_PYTHON, ROCR, Environment, Place, Setting
from rocm_doctor.lint.environments.words import cards
from rocm_doctor.lint.readers import projects
from rocm_doctor.lint.readers.files import Tree

MAX_FOUND = 400
MAX_NOTEBOOKS = 10
_REFERS = regex(r"\$\{?([A-Za-z_]\w+)")
_PYTHONS = regex(
    r"(?:python(?:-version)?|pyenv)[ =@_\w]*?[\"': =~>\[-]*3\.(\d\d?)\b|^3\.(\d\d?)(?:\.\d+)?[ \t]*$|\bpy3(\d\d?)_", re.I | re.M
)
# Of a list only what its comments say: a marker bounds a line.
_IN_COMMENT = regex(rf"^[ \t]*#.*?(?:{_PYTHONS.pattern})", re.I | re.M)
# What says at the root which Python a project is for: documents, settings of tools and of environments; lists have theirs in comments.
_OF_PYTHON = regex(
    r"readme.*|\.(?:python-version|tool-versions)|runtime\.txt|install.*\.txt|\.?[\w-]*\.(?:md|rst|toml|cfg|ini|ya?ml)|(?:\w+\.)?(?:docker|container)file[\w.-]*|makefile|pipfile|justfile",
    re.I,
)


def assigned(tree: Tree, environments: Iterable[Environment]) -> tuple[Setting, ...]:
    """Every value that a text of the repository, read or not, gives the override or a name on which an index or an image for AMD depends.
    An override has the GPUs that the comments around it name.
    """
    amd = [one for one in environments if one.purpose.kind == "amd"]
    if not amd:
        return ()
    decisive = {name for one in amd for name in _names(one)}
    names = decisive | {OVERRIDE}
    said = "|".join(map(re.escape, sorted(names))).encode()
    given = re.compile(
        rb"(?:\b(?:unset|export)|-e|--env|-u) +(?P<taken>" + said + rb")\b(?![=:])"
        rb"|\b(?P<name>" + said + rb")\b(?:[\"']?\]?[ \t]*[:=]+[ \t]*|[\"'], *(?=[\"'\d$]))\\?[\"']?(?P<value>[^\s\"',;)#\\]*)"
    )
    hints = tuple(name.lower().encode() for name in names)
    found = (
        Setting((m["name"] or m["taken"]).decode(), _value(m["value"] or b""), place, gfx=_said_of(m))
        for place, m in itertools.islice(tree.mentions(given, hints), MAX_FOUND)
        if not place.file.endswith((".lock", ".html"))
    )
    found = (s for s in found if not re.fullmatch(rf"\$\{{?{s.name}\}}?", s.value))
    if OVERRIDE not in decisive:  # what no environment sets, only what sets it for its own machine may
        found = (s for s in found if s.name != OVERRIDE or not _TELLS.search(s.place.file))
    by_gpu = _by_gpu(tree) if OVERRIDE in decisive else ()
    return tuple(
        s
        for s in itertools.chain(found, by_gpu)
        if s.name != OVERRIDE or _RELEASE.fullmatch(s.value) or not s.value or "$" in s.value
    )


_TELLS = regex(r"\.(?:md|rst|txt|adoc|html|py|ipynb|json)$", re.I)
_LISTED = re.compile(OVERRIDE.encode() + rb"(?![\"'`\]]*[ \t]*[:=])[^\n]*((?:\n[^\n]*){2,8})")
_ROW = regex(r"\s*(?:[-*|+•]|\d+\.)")


def _by_gpu(tree: Tree) -> Iterator[Setting]:
    """Where a document tells its reader to choose the override by the GPU: it names several of them in a list or table below it."""
    for place, m in itertools.islice(tree.mentions(_LISTED, (OVERRIDE.lower().encode(),)), MAX_FOUND):
        rows = m[1].decode("utf-8", "replace").split("\n")
        if place.file.endswith((".md", ".rst", ".txt", ".adoc")) and sum(bool(_ROW.match(r) and cards(r)) for r in rows) > 1:
            yield Setting(OVERRIDE, "$GPU", place)


_COMMENT = re.compile(rb"[ \t]*(?:#|//|::|REM\b)([^\n]*)")


def _said_of(found: re.Match[bytes]) -> tuple[str, ...]:
    """The GPUs that the comments name: those at the head of the file, those right above the line, and what follows on the line."""
    if found.lastgroup != "value" or found["name"] != OVERRIDE.encode():
        return ()
    text = found.string
    begin, end = text.rfind(b"\n", 0, found.start()) + 1, text.find(b"\n", found.end())
    above = text[max(0, begin - _NEAR) : begin].split(b"\n")[:-1]
    near = itertools.takewhile(_COMMENT.match, reversed(above))
    head = itertools.takewhile(_COMMENT.match, text[:_NEAR].split(b"\n"))
    behind = text[found.end() : end if end >= 0 else len(text)].partition(b"#")[2]
    return cards(b" ".join((*head, *near, behind)).decode("utf-8", "replace"))


_NEAR = 2_000
_DEFAULT = regex(r"\$\{\w+:?[-=](.*?)\}?")
_RELEASE = regex(r"\d+\.\d+\.\d+")


def _value(given: bytes) -> str:
    """A value as it is written, or its default."""
    text = given.decode("utf-8", "replace").strip("`'\"").rstrip(".`]")
    default = _DEFAULT.fullmatch(text)
    return default[1] if default else text


def _names(one: Environment) -> Iterator[str]:
    """The override and ROCR's variable, where they are set, and the variables in the words that name an index, torch or the base image."""
    yield from {OVERRIDE, ROCR} & {s.name for s in one.variables}
    places = [i.place for step in one.steps for i in step.indexes] + [
        r.place for step in one.steps for r in step.requirements if r.name == "torch"
    ]
    places += [s.place for s in one.variables if s.name == OVERRIDE] + ([one.image.place] if one.image else [])
    for place in places:
        yield from (
            m[1] for m in _REFERS.finditer(place.quote) if re.search(r"ROCM|HIP|GFX|TORCH|INDEX|BASE|IMAGE|HSA|AMD", m[1], re.I)
        )


# The interpreter that a notebook was last run with, as it records it.
_RAN = regex(r"\"name\"\s*:\s*\"python\"[^{}]*\"version\"\s*:\s*\"3\.(\d\d?)()()")


def pythons(tree: Tree, environments: Iterable[Environment]) -> tuple[Setting, ...]:
    """The Pythons that a document or the settings of a tool at the root, a workflow, a notebook, or the file of an environment for AMD names; and those
    that a project allows in which a list for AMD lies.
    """
    at_root = [name for name in tree.matching("*") if _OF_PYTHON.fullmatch(name)] + tree.matching(".github/workflows/*.y*ml")
    notebooks = tree.matching("*.ipynb")[:MAX_NOTEBOOKS]
    amd = [e for e in environments if e.purpose.kind == "amd"]
    own = [e.place.file for e in amd if e.sort in ("script", "image", "service")]
    lists = [e.place.file for e in amd if e.sort == "requirements"]
    said = tuple(
        Setting("python", f"3.{m[1] or m[2] or m[3]}", Place(path, text.count("\n", 0, m.start()) + 1))
        for paths, names in ((at_root + own, _PYTHONS), (notebooks, _RAN), (lists, _IN_COMMENT))
        for path in dict.fromkeys(paths)
        if (text := tree.text_if_there(path))
        for m in names.finditer(text)
    )
    return (*said, *_allowed(tree, lists))


_REQUIRES = regex(r"""python_requires\s*=\s*["']?([^"'\n]+)""")


def _allowed(tree: Tree, lists: Iterable[str]) -> Iterator[Setting]:
    """What the projects that lists lie in say of Python, by the files that build them."""
    folders = dict.fromkeys("/".join(one.split("/")[:n]) for one in lists for n in range(one.count("/") + 1))
    for folder in folders:
        for name in ("setup.py", "setup.cfg"):
            path = f"{folder}/{name}".lstrip("/")
            if (text := tree.text_if_there(path)) and (m := _REQUIRES.search(text)):
                yield Setting(REQUIRES_PYTHON, m[1].strip(), Place(path, text.count("\n", 0, m.start()) + 1))
        path = f"{folder}/pyproject.toml".lstrip("/")
        project = projects.read(tree, path) if tree.is_file(path) else None
        if project and (allowed := projects.requires_python(project)):
            yield allowed
