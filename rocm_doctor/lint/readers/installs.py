"""The commands of a shell text that install something: pip, uv, conda."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from packaging.utils import canonicalize_name

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import (
    CHANGED,
    UNKNOWN_LIST,
    Index,
    Place,
    ReadProblem,
    Requirement,
    Role,
    Setting,
    Step,
    Tool,
)
from rocm_doctor.lint.readers import brought, cloned, filtered, installers, projects, requirements, rewritten, undefined
from rocm_doctor.lint.readers.files import joined
from rocm_doctor.lint.readers.shell import ANEW, EDITED, Context, Script, Used

_INDEX_OPTIONS: dict[str, Role] = {
    "-i": "default", "--index-url": "default", "--default-index": "default", "--extra-index-url": "extra", "--index": "extra",
    "-f": "find-links", "--find-links": "find-links",
}  # fmt: skip
_WITH_VALUE = frozenset((
    "-t", "--target", "--prefix", "--root", "--python", "-p", "--platform", "--python-version", "--cache-dir", "--timeout",
    "--retries", "--no-binary", "--only-binary", "--trusted-host", "--proxy", "--src", "--progress-bar", "--config-settings",
    "-C", "--group", "--extra", "--torch-backend", "--index-strategy", "--prerelease", "--resolution",
    "--no-build-isolation-package", "--package", "--refresh-package", "--root-user-action", "--default-timeout", "--upgrade-strategy", "--report", "--log",
    "--exists-action", "--keyring-provider", "--use-feature", "--use-deprecated", "--abi", "--implementation", "--cert", "--client-cert",
    "--global-option", "--config-setting", "--build-constraint", "--build-constraints", "-b", "--overrides", "--override", "--excludes",
    "--reinstall-package", "--upgrade-package", "-P", "--python-platform", "--exclude-newer", "--link-mode", "--directory", "--project",
))  # fmt: skip
_ENV_INDEX: dict[str, Role] = {
    "PIP_INDEX_URL": "default", "UV_INDEX_URL": "default", "UV_DEFAULT_INDEX": "default", "PIP_EXTRA_INDEX_URL": "extra",
    "UV_EXTRA_INDEX_URL": "extra", "UV_INDEX": "extra", "PIP_FIND_LINKS": "find-links", "UV_FIND_LINKS": "find-links",
}  # fmt: skip
_PIP = regex(r"(?:\S*/)?(?:pip[\d.]*|python\S*(?: -\w)* -m pip|py(?: -[\d.]+)? -m pip|uv pip) install(?: |$)")
_REMOVES = regex(_PIP.pattern.replace("install(?: |$)", "uninstall "))
_FILES = ("-r", "--requirement", "-c", "--constraint")


def env_indexes(variables: Iterable[Setting]) -> list[Index]:
    """The indexes that pip and uv take from the environment."""
    return [
        Index(url, _ENV_INDEX[s.name], s.place)
        for s in variables
        if s.name in _ENV_INDEX
        for url in s.value.split()
        if "://" in url
    ]


def install(argv: list[str], place: Place, context: Context, found: Script) -> Step | None:
    """The install that a command is: pip, python -m pip, uv pip, uv add, conda install. Other tools name the file that they
    read.
    """
    text = " ".join(argv)
    if step := cloned.command(argv, place, context):
        return step
    if m := _PIP.match(text):
        return _pip("uv" if m[0].startswith("uv") else "pip", argv[len(m[0].split()) :], place, context, found)
    if m := _REMOVES.match(text):
        gone = tuple(str(canonicalize_name(word)) for word in argv[len(m[0].split()) :] if re.match(r"[A-Za-z]", word))
        return Step("uv" if m[0].startswith("uv") else "pip", place, removed=gone)
    if re.match(r"uv add\b", text):
        return _pip("uv", argv[2:], place, context, found)
    if re.match(r"(?:micromamba|mamba|conda) (?:install|create)\b", text):
        step = _conda(argv[2:], place)
        if any(r.name not in ("torch", "torchvision", "torchaudio") and "torch" in r.name for r in step.requirements):
            installers.note(place, found)
        return step
    if m := re.match(r"(?:\S*/)?pip[\d.]* config set global\.(index-url|extra-index-url|find-links) (\S+)", text):
        found.variables.append(Setting("PIP_" + m[1].upper().replace("-", "_"), m[2], place))
    elif argv[:2] == ["git", "clone"] and (into := _of_its_own(argv[2:], context)):
        context.copied[context.at(into)] = ""
    elif re.match(r"git clone\b.*[/:](?:pytorch|ROCm)/pytorch(?:\.git)?(?:\s|$)", text):
        found.open_ends.append(ReadProblem(place, "PyTorch is built from source: whether that succeeds is not known"))
        return Step("pip", place, opaque=True)
    elif m := re.match(
        r"(?:(uv) (?:sync|run)|(poetry|pdm) (?:sync|install))\b(?!.*--no-(?:sync|project|install-package[ =]torch)\b)", text
    ):
        asked = re.findall(r"(?:--extra|--extras|-E|-G|--group|--with|--only)[ =]([\w.,-]+)", text)
        extras = [name for names in asked for name in names.split(",") if name]
        frozen = re.search(r"--(?:frozen|locked)\b", text) is not None
        project, lock = context.path("pyproject.toml") or "", context.path(f"{m[1] or m[2]}.lock") or ""
        removed = context.names.get(EDITED + lock) == rewritten.REMOVED
        locked = frozen or "WORKDIR" not in context.names or (context.tree.is_file(lock) and not removed)
        if changed := rewritten.changed((project, "" if removed else lock), context):
            found.problems.append(ReadProblem(place, f"{changed} {CHANGED}", "packages"))
        found.used.append(Used(m[1] or m[2], project, tuple(extras), len(found.steps), frozen=frozen, locked=locked, lock=lock))
        return undefined.step(argv, place, context)
    elif m := re.search(r"(?:conda|mamba) env (?:create|update).* (?:-f|--file)[ =](\S+)", text):
        found.used.append(Used("conda", context.path(m[1]) or "", (), len(found.steps)))
    return None


def _of_its_own(words: list[str], context: Context) -> str:
    """The folder that the repository itself is cloned into, at no other branch; empty for any other repository."""
    at = next((n for n, word in enumerate(words) if re.match(r"(?:https?|ssh)://|git@", word)), None)
    if at is None or {"-b", "--branch"} & {*words[:at]} or any(word.startswith("--branch=") for word in words):
        return ""
    name = words[at].rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
    checkout = re.split(r"\+|__", context.tree.root.name)[-1]
    own = {projects.own_name(context.tree), str(canonicalize_name(checkout))} - {""}
    after = [word for word in words[at + 1 :] if not word.startswith("-")]
    return (after[0] if after else name) if str(canonicalize_name(name)) in own else ""


# A pattern or a variable for wheels that were built or downloaded before.
_UNNAMED_WHEEL = regex(r"[*?$][^/]*\.whl\)?$|(?:^|/)[^-/]+\.whl$|\$\w*(?:WHEEL|WHL)\w*$|\$\{\w*(?:WHEEL|WHL)\w*\}$", re.I)


# What uv takes from the index of its torch backend.
_OF_BACKEND = ("torch", "torchvision", "torchaudio", "pytorch-triton-rocm", "triton-rocm", "pytorch-triton", "triton")


_WITHOUT = "without"
"""Among the options of a command: what pip leaves out."""


class _Arguments(NamedTuple):
    """What the words of one pip command ask for. `listed`: the indexes of the lists that it installs."""

    needed: list[Requirement]
    constraints: list[Requirement]
    indexes: list[Index]
    listed: list[Index]
    options: dict[str, str]


def _pip(tool: Tool, argv: list[str], place: Place, context: Context, found: Script) -> Step | None:
    lists = {word for word in argv if (one := filtered.inside(word)) and context.tree.is_file(context.path(one.file) or "")}
    plain = [word for word in argv if word not in lists]
    argv = [part for word in argv for part in (["-r", word] if word in lists and word[0] != "<" else [word])]
    asked = _Arguments([], [], env_indexes(found.variables), [], {})
    before, ends = len(found.used), len(found.open_ends)
    rest = iter([part for word in argv for part in (word.split("=", 1) if word.startswith("--") and "=" in word else [word])])
    for word in rest:
        _word(word, rest, tool, place, context, found, asked)
    if "--no-build-isolation" in asked.options:
        found.used[before:] = [file._replace(isolated=False) for file in found.used[before:]]
    if "--no-deps" in asked.options:
        found.used[before:] = [file for file in found.used[before:] if not file.path.endswith(".toml")]
        del found.open_ends[ends:]
    apart = _apart(asked.options, context) if tool == "pip" else ""
    eager = asked.options.get("--upgrade-strategy") == "eager" and bool({"-U", "--upgrade"} & asked.options.keys())
    anew = tool == "pip" and (eager or bool(_ANEW & asked.options.keys()))
    checks = tool == "pip" or "--system" in asked.options or any(s.name == "UV_SYSTEM_PYTHON" for s in found.variables)
    checks = checks and not {"--ignore-requires-python", "--python", "-p", "--python-version"} & asked.options.keys()
    found.used[before:] = [file._replace(apart=apart, anew=anew, checks=checks) for file in found.used[before:]]
    if "--dry-run" in asked.options:
        return None
    opaque = any(_UNNAMED_WHEEL.search(word) for word in argv)
    nothing = not (asked.needed or asked.constraints or opaque or found.problems) and len(found.used) == before
    if "--no-deps" not in asked.options or "torch" in place.quote.lower():
        installers.pip(plain, place, context, found, nothing=nothing, configured=_is_configured(tool, found, context))
    by_variable = next((s.value for s in reversed(found.variables) if s.name == "UV_TORCH_BACKEND"), "") if tool == "uv" else ""
    backend = asked.options.get("--torch-backend", by_variable)
    if backend:
        asked.indexes.append(Index(f"torch-backend:{backend}", "bound", place, _OF_BACKEND))
    return Step(
        tool,
        place,
        tuple(asked.needed),
        tuple(asked.constraints),
        requirements.in_force(asked.listed, tool, asked.indexes),
        strategy=asked.options.get("--index-strategy", ""),
        upgrade=bool({"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed", "--reinstall"} & asked.options.keys()),
        no_deps="--no-deps" in asked.options,
        opaque=opaque,
        apart=apart,
        anew=anew,
        without=asked.options.get(_WITHOUT, ""),
        isolated=not any("no-build-isolation" in option for option in asked.options)
        and not any(s.name.endswith("NO_BUILD_ISOLATION") for s in found.variables),
    )


# pip then takes each package that is needed from the indexes, those that others depend on as well.
_ANEW = frozenset(("--force-reinstall", "-I", "--ignore-installed"))


# Folders of an interpreter, whose packages pip sees, and environments, which are entered by their PATH.
_SEEN = regex(r"/usr(?:/local)?|.*(?:venv|conda|env\b|\.local|sys\.prefix|\$).*", re.I)


def _apart(options: dict[str, str], context: Context) -> str:
    """The folder of `--prefix` or `--root`: pip does not see what an earlier command put there, unless Python is told to look there."""
    folder = context.at(options.get("--prefix") or options.get("--root") or "/")
    return "" if folder == "/" or _SEEN.fullmatch(folder) or folder in context.names.get("PYTHONPATH", "") else folder


_SETTINGS = frozenset(("PIP_CONSTRAINT", "PIP_CONFIG_FILE", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_CONFIG_FILE"))


def _is_configured(tool: Tool, found: Script, context: Context) -> bool:
    """True if a variable names constraints or a configuration for the installer, or uv finds one of its own: a file, or the project's table."""
    if any(s.name in _SETTINGS for s in found.variables):
        return True
    path = context.path("pyproject.toml") or ""
    project = projects.read(context.tree, path) if tool == "uv" and context.tree.is_file(path) else None
    return tool == "uv" and (context.tree.is_file("uv.toml") or bool(project and project.by_uv))


def _word(word: str, rest: Iterator[str], tool: Tool, place: Place, context: Context, found: Script, asked: _Arguments) -> None:
    """One word of a pip command; an option with a value takes that from `rest`."""
    if word in _INDEX_OPTIONS:
        asked.indexes.append(Index(next(rest, ""), _INDEX_OPTIONS[word], place))
    elif word in _FILES:
        included = _file(next(rest, ""), place, context, found, limits=word not in _FILES[:2])
        (asked.needed if word in _FILES[:2] else asked.constraints).extend(included.requirements)
        asked.constraints.extend(included.constraints)
        asked.listed.extend(included.indexes)
    elif word in _WITH_VALUE:
        asked.options[word] = next(rest, "")
    elif word in ("-e", "--editable"):
        if folder := next(rest, ""):
            _word(requirements.as_folder(folder), rest, tool, place, context, found, asked)
    elif word.startswith("-"):
        asked.options[word] = "yes"
    elif re.match(r"\.(?:[/\\]|\[|$)|/", word) and not word.endswith((".whl", ".tar.gz", ".zip")):
        folder, _, extras = word.partition("[")
        path = _project(folder.rstrip("/") + "/pyproject.toml", context)
        if changed := _changed_beside(path, context):
            found.problems.append(ReadProblem(place, f"{changed} {CHANGED}"))
            return
        if not _is_there(path, context):
            found.open_ends.append(ReadProblem(place, f"the project in {folder.rstrip('/')} {UNKNOWN_LIST}"))
        named = tuple(e.strip() for e in extras.rstrip("]").split(",") if e.strip())
        found.used.append(Used("uv pip" if tool == "uv" else tool, path, named, len(found.steps)))
        asked.options[_WITHOUT] = undefined.without(path, named, context)
    else:
        for one in requirements.one(word, place):
            if one.name == projects.own_name(context.tree) and not one.url:
                found.used.append(Used("uv pip" if tool == "uv" else tool, "pyproject.toml", one.extras, len(found.steps)))
            else:
                asked.needed.append(one)


def _project(name: str, context: Context) -> str:
    """The project file of a folder that a command names, from where it is; a script in a folder may be called from the root."""
    path = context.path(name) or ""
    at_root = "" if context.moved or not context.start or _is_there(path, context) else joined("", name) or ""
    return at_root if _is_there(at_root, context) else path


def _is_there(path: str, context: Context) -> bool:
    """True if the repository has the project that a command installs, in any of the forms that pip takes."""
    folder = path.removesuffix("pyproject.toml")
    return bool(path) and any(context.tree.is_file(folder + name) for name in ("pyproject.toml", "setup.py", "setup.cfg"))


def _changed_beside(path: str, context: Context) -> str:
    """A list beside a project's file that a command changed: the project may take its dependencies from it."""
    folder = path.rpartition("/")[0]
    lists = (name.removeprefix(EDITED) for name in context.names if name.startswith(EDITED) and name != EDITED)
    return next((one for one in lists if path and one.rpartition("/")[0] == folder), "")


def _file(name: str, place: Place, context: Context, found: Script, *, limits: bool) -> requirements.RequirementsFile:
    """A -r or -c file of a command: beside the script, at the root, or wherever the one file of that name is."""
    made = filtered.inside(name) or filtered.of(context.names.get(filtered.MADE + context.at(name), ""))
    if made and not limits and context.tree.is_file(context.path(made.file) or ""):
        path = context.path(made.file) or ""
        found.used.append(Used("pip", path))
        listed = _as_edited(requirements.read(context.tree, path), path, place, context, found)
        if (rest := filtered.left(listed, path, made.without)) is not None:
            return rest
    base = name.rsplit("/", 1)[-1]
    near = () if context.moved or not context.start else (joined("", name), joined(context.folder, base), base)
    for path in (context.path(name), *near):
        if path and context.tree.is_file(path) and context.tree.text(path, wanted=False) is not None:
            found.used.append(Used("pip", path))
            return _as_edited(requirements.read(context.tree, path), path, place, context, found)
    unknown = "is not in the repository: what it allows is not known" if limits else UNKNOWN_LIST
    if brought.is_not_copied(name, place, context):
        found.problems.append(ReadProblem(place, f"{name} is not in the image when it is installed", "absent"))
    elif home := brought.home_of(name, place, context):
        built = context.folder or "the root"
        found.problems.append(
            ReadProblem(place, f"{name} is in {home} and not in {built}, which the image is built from", "absent")
        )
    else:
        found.problems.append(ReadProblem(place, f"{name} {unknown}", "limits" if limits else "packages"))
    return requirements.RequirementsFile([], [], [], [])


def _as_edited(
    listed: requirements.RequirementsFile, path: str, place: Place, context: Context, found: Script
) -> requirements.RequirementsFile:
    """The list without the packages that a command before this one named when it changed the file."""
    by = context.names.get(EDITED + path, context.names.get(EDITED))
    if by is None:
        return listed
    without = filtered.deleted(by) if by != ANEW else ()
    if without and (rest := filtered.left(listed, path, without)) is not None:
        return rest
    found.problems.append(ReadProblem(place, f"{path} {CHANGED}", "packages"))
    return listed._replace(requirements=[r for r in listed.requirements if by != ANEW and r.name.split("-")[0] not in by])


def _conda(argv: list[str], place: Place) -> Step:
    needed = [r for word in argv if re.match(r"[a-z][\w.-]*(?:[=<>!]|$)", word) for r in conda_requirement(word, place)]
    channels = [argv[n + 1] for n, word in enumerate(argv[:-1]) if word in ("-c", "--channel")]
    return Step(
        "conda", place, tuple(r for r in needed if r.name not in channels), (), tuple(Index(c, "extra", place) for c in channels)
    )


def conda_requirement(text: str, place: Place) -> list[Requirement]:
    """A conda match spec (`pytorch=2.4`, `python>=3.11`, `conda-forge::torch==2.5`) in pip's terms; conda's pytorch is torch."""
    text = text.split("::")[-1].strip()
    found = re.match(r"([A-Za-z][\w.-]*)\s*(.*)", text)
    if not found:
        return []
    name = {"pytorch": "torch", "pytorch-gpu": "torch"}.get(found[1], found[1])
    version = found[2].split("=")[1] if re.match(r"=[^=]", found[2]) else ""
    spec = f"=={version.rstrip('.*')}.*" if version else found[2].replace(" ", "")
    return [Requirement(name, spec, place, url="conda:" + text)] if re.fullmatch(r"[\w.,<>=!~*+ -]*", spec) else []
