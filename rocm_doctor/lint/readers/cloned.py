"""Libraries that a script clones and builds from their source: where they lie, and at which revision."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Requirement, Step
from rocm_doctor.lint.readers.shell import Context

LIBRARIES = {
    "flash-attention": "flash-attn",
    "ctranslate2": "ctranslate2",
    "ctranslate2-rocm": "ctranslate2",
    "rocm-ctranslate2": "ctranslate2",
}
"""The package that a repository holds, by the repository's name in lower case."""
CLONED = "cloned "
"""Before the folder of a clone, as a name: its address, with the revision."""
_ADDRESS = regex(r"(?:https?://\S+/|git@\S+[:/])([\w.-]+?)(?:\.git)?/?")
_BUILDS = regex(r"(?:\S*/)?python[\d.]* setup\.py (?:.* )?(?:install|develop|build|build_ext|bdist_wheel)\b")
_INSTALLS = regex(r"(?:\S*/)?(?:uv pip|pip[\d.]*|python\S* -m pip) (?:install|wheel)\b")
_BRANCH = regex(r"(?:^|\s)(?:-b|--branch)[= ](\S+)")


def command(argv: list[str], place: Place, context: Context) -> Step | None:
    """The build of a library that was cloned before; a clone and a checkout are remembered."""
    text = " ".join(argv)
    if argv[:1] == ["git"]:
        _remember(argv[1:], context)
    elif _BUILDS.match(text):
        return _built(".", place, context)
    elif _INSTALLS.match(text):
        folders = [word for word in argv[2:] if word.startswith((".", "/")) or _source(word, context)]
        return next((step for one in folders if (step := _built(one, place, context))), None)
    return None


def is_build(step: Step) -> bool:
    """True for the build of a library that was cloned."""
    return any(r.name in LIBRARIES.values() and r.from_git for r in step.requirements)


def _remember(argv: list[str], context: Context) -> None:
    text = " ".join(argv)
    folder = argv[1] if argv[:1] == ["-C"] and len(argv) > 2 else "."
    words = [word for word in (argv[2:] if folder != "." else argv) if not word.startswith("-")]
    if "clone" in words[:1] and (at := next((n for n, word in enumerate(argv) if _ADDRESS.fullmatch(word)), None)) is not None:
        name = argv[at].rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
        branch = _BRANCH.search(text)
        after = [word for word in argv[at + 1 :] if not word.startswith("-") and not (branch and word == branch[1])]
        if name.lower() in LIBRARIES:
            context.names[f"{CLONED}{context.at(after[0] if after else name)}"] = argv[at] + (f"@{branch[1]}" if branch else "")
    elif words[:1] in (["checkout"], ["switch"], ["reset"]) and len(words) > 1:
        key = f"{CLONED}{context.at(folder)}"
        if key in context.names and words[1] != "HEAD":
            context.names[key] = f"{context.names[key].partition('@')[0]}@{words[1]}"


def _built(folder: str, place: Place, context: Context) -> Step | None:
    """The step that builds what was cloned into a folder; None where nothing is known to lie there."""
    source = _source(folder, context)
    address, _, revision = source.partition("@")
    name = LIBRARIES.get(address.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git").lower(), "")
    if not name:
        return None
    tag = re.fullmatch(r"v?(\d+(?:\.\d+)+(?:\.post\d+)?)", revision)
    asked = Requirement(name, f"=={tag[1]}" if tag else "", place, url=f"git+{source}")
    return Step("pip", place, requirements=(asked,))


def _source(folder: str, context: Context) -> str:
    """The address of what was cloned into a folder or into one above it, because some keep their Python package in a folder of its own."""
    at = context.at(folder)
    above = (at.rsplit("/", depth)[0] for depth in range(3))
    return next((context.names[key] for one in above if (key := f"{CLONED}{one}") in context.names), "")
