"""Whether a file is in an image when it is asked for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place
from rocm_doctor.lint.readers.files import joined
from rocm_doctor.lint.readers.shell import Context

# What may bring a file into an image, other than a COPY that is followed.
_BRINGS = regex(
    r"^[ \t]*(?:ADD|ONBUILD)\b|--from=|--mount=|^[ \t]*COPY\b.*[$*?<\[\"']|\bclone\b|\b(?:curl|wget)\b[^;&|]*(?:://|\$)|\b(?:tar|unzip|cp|mv|tee|rsync|ln|svn|hf|gh)\s"
    r"|[^\"'0-9a-z=<>&]\s*>|<<|\bbash\b|\bsh\s|\.sh\b|\bpython\S*\s+(?!-m\s+(?:pip|venv)\b)(?!3?-)\S+\.py",
    re.M | re.I,
)
_PLAIN_BASE = regex(
    r"^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(?:docker\.io/)?(?:library/)?(?:(?:ubuntu|debian|python|fedora)[:@]|rocm/(?:dev-|pytorch:))\S*",
    re.I | re.M,
)


def home_of(name: str, place: Place, context: Context) -> str:
    """The folder that has a list, above the one that an image is built from, as another file says, which lacks it; empty where that is not so."""
    base = posixpath.basename(name) if name.startswith("/") else posixpath.normpath(name)
    text = _up_to(place, context)
    plain = re.fullmatch(r"[\w./-]+", name) and len(_PLAIN_BASE.findall(text)) == len(re.findall(r"(?mi)^[ \t]*FROM\b", text)) > 0
    if not (context.declared and plain) or _BRINGS.search(text) or context.tree.is_file(joined(context.folder, base) or "?"):
        return ""
    parts = context.folder.split("/") if context.folder else []
    above = ["/".join(parts[:count]) for count in reversed(range(len(parts)))]
    home = next((folder for folder in above if context.tree.is_file(f"{folder}/{base}".lstrip("/"))), None)
    copied = re.compile(rb"\b(?:cp|mv|rsync|ln)\b[^\n]*" + re.escape(base.encode()))
    if home is None or context.tree.mention(copied, (base.encode().lower(),)):
        return ""
    return home or "the root"


def _up_to(place: Place, context: Context) -> str:
    return "\n".join(one for one in context.tree.lines(place.file)[: place.line] if not one.lstrip().startswith("#"))


def is_not_copied(name: str, place: Place, context: Context) -> bool:
    """True if a list lies where an image is built, and no instruction up to the line brings it, or may bring it, into the image."""
    beside = joined(context.folder, posixpath.basename(name))
    text = _up_to(place, context)
    return (
        not context.start
        and (context.names.get("WORKDIR", "/") != "/" or "rocm/pytorch" not in text)
        and re.fullmatch(r"[\w./-]+", name) is not None
        and beside is not None
        and context.tree.is_file(beside)
        and len(_PLAIN_BASE.findall(text)) == len(re.findall(r"(?mi)^[ \t]*FROM\b", text)) > 0
        and _BRINGS.search(text) is None
        and all(context.tree.exists(joined(context.folder, one) or "?") for one in _copied(text))
    )


def _copied(text: str) -> Iterator[str]:
    """What is copied, by its names in the folder of the build: where one is not there, the build has another folder."""
    for line in re.findall(r"(?mi)^[ \t]*COPY[ \t]+(.*)", text):
        yield from [word for word in line.split() if not word.startswith("--")][:-1]
