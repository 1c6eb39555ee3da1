"""Commands that may install or change Python packages without a file of the repository saying which: programs, pipes into a shell, package managers.

What follows them is judged as it is read, but that a torch was not installed before is not certain. What an installer brings that is not read at all leaves open
what is there in the end.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers import shell

# A text that runs pip, or rewrites a list.
_INSTALLS = regex(
    r"\bpip3?\b[\"', ]+install|-m[\"', ]+pip\b|\buv[\"', ]+(?:pip|sync|add)\b|TORCH_COMMAND|\b(?:conda|mamba)[\"', ]+install"
)
_REWRITES = regex(r"requirements[\w./-]*\.(?:txt|in)|pyproject\.toml|write_text|\bopen\([^)]*[\"'][wa]\+?[\"']")
_LISTS = regex(r"requirements[\w./-]*\.(?:txt|in)|pyproject\.toml")
_WRITES = regex(r"write_text|\bopen\([^)]*[\"'][wa]\+?[\"']|\.writelines?\(")
_RUNS = regex(r"subprocess|os\.system|os\.popen|os\.exec|pip\._internal|check_call|run_pip")
# A program that is downloaded and run, other than the installers of tools that bring no package of Python's.
_PIPED = regex(r"(?:curl|wget)\b([^\n|;]*)\|\s*(?:sudo\s+)?(?:-E\s+)?(?:/bin/)?(?:ba|z)?sh\b")
_TOOLS = regex(
    r"astral\.sh|rustup|nodesource|get\.docker|install\.python-poetry|pdm|pyenv|ollama|bun\.sh|deno|nvm|fnm|volta|pixi|micro\.mamba|conda|mambaforge|get-pip"
    r"|starship|oh-my|tailscale|just\.systems|code-server|hf\.co/cli|huggingface|git-lfs|packagecloud|kitware|llvm|golang|helm|kubectl|pnpm|uv[/-]install|cloudflare"
    r"|syft|trivy|brew|chezmoi"
)
_HANDED = regex(r"python[\d.]*[ \t]*(?:-[ \t]*)?<<-?[ \t]*[\"']?(\w+)[\"']?[^\n]*\n(.*?)\n[ \t]*\1\b", re.S)
_CONFIGURED = regex(r"\bpip\.conf\b|\bpip\.ini\b|\buv\.toml\b")
_ONTO_LIST = regex(r"(?<![\d&>])>\s*[\"']?[\w./${}-]*(?:requirements|reqs)[\w./-]*\.(?:txt|in)\b")
_MANAGERS = regex(
    r"(?:\S*/)?(?:apt|apt-get|dnf|microdnf|yum|zypper|pacman|yay|paru|apk|emerge|spack|nix\S*|guix|brew|pkg|module|ml|load)$"
)
_OWN_TORCH = regex(r"(?:py)?torch(?!vision|audio)", re.I)
_QUIET_SCRIPTS = regex(
    r"setup\.py|get-pip\.py|build_amd\.py|hipify\S*\.py|train\S*\.py|test\S*\.py|download\S*\.py|collect_env\.py"
)
_QUIET_MODULES = frozenset((
    "pip", "venv", "build", "compileall", "ensurepip", "virtualenv", "site", "pytest", "unittest", "http.server", "json.tool", "zipfile",
    "piptools", "poetry", "nltk.downloader", "spacy", "playwright", "uvicorn", "gunicorn", "jupyter", "notebook", "torch.distributed.run",
    "torch.distributed.launch", "accelerate.commands.launch", "deepspeed", "vllm.entrypoints.openai.api_server", "torch.utils.collect_env",
))  # fmt: skip
_TARGETS = regex(r"torch|pip|python|rocm|amd|deps|depend|setup|requirements|env|install-\w+|venv|sync")
_MODULES = regex(r"install|setup|bootstrap|launch|torch|rocm")


def body(text: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    """Note what only the whole text of a shell shows: pipes into a shell, programs in here-documents, redirections onto a list, the configuration of pip."""
    piped = any(not _TOOLS.search(m[1]) for m in _PIPED.finditer(text))
    programs = [m[2] for m in _HANDED.finditer(text)]
    handed = any(_INSTALLS.search(one) or _REWRITES.search(one) for one in programs)
    for name in (name for one in programs if _WRITES.search(one) for name in _LISTS.findall(one)):
        if path := context.path(name):
            context.names[shell.EDITED + path] = shell.ANEW
    if piped or handed or _CONFIGURED.search(text) or _ONTO_LIST.search(text):
        note(place, found)


def note(place: Place, found: shell.Script, *, doubt: bool = True) -> None:
    """Record that a command may have installed something that is not known; `doubt`: it may replace a torch that is there as well."""
    problem = ReadProblem(place, f"{place.words} may install packages that are not known", "before")
    if problem not in found.problems:
        found.problems.append(problem)
    if doubt:
        found.doubts.append(problem)


def command(argv: list[str], place: Place, context: shell.Context, found: shell.Script) -> None:
    """Note a command that none of the readers knows, if it may install packages."""
    name = posixpath.basename(argv[0])
    if (
        (re.fullmatch(r"python[\d.]*|py", name) and _python(argv[1:], context))
        or (
            name in ("make", "just")
            and any(_TARGETS.search(word) for word in argv[1:] if not word.startswith("-") and "=" not in word)
        )
        or (name == "eval" and not re.search(r"activate|shellenv|ssh-agent|hook", " ".join(argv)))
        or (_MANAGERS.fullmatch(argv[0]) and any(_OWN_TORCH.search(word) for word in argv[1:]))
        or (name.endswith((".sh", ".bash")) and _OWN_TORCH.search(name) is not None)
        or (name in ("ansible-playbook", "ansible-pull"))
        or ("install" in argv and any(re.fullmatch(r"(?:\S*/)?pip3?", word) for word in argv))
    ):
        note(place, found)


def _python(argv: list[str], context: shell.Context) -> bool:
    """True if a run of Python may install packages: by its code, by the script of the repository, or where that is not known."""
    words = [word for word in argv if not re.fullmatch(r"-[uBEsIOb]+|-X\S*|-W\S*", word)]
    first, rest = (words[0], words[1:]) if words else ("", [])
    if first == "-c":
        return any(_INSTALLS.search(word) or _REWRITES.search(word) for word in rest[:1])
    if first == "-m":
        return bool(rest) and rest[0] not in _QUIET_MODULES and _MODULES.search(rest[0]) is not None
    return first.endswith(".py") and program(first, context)


def program(name: str, context: shell.Context) -> bool:
    """True if a program of Python may install packages."""
    path = None if "$" in name else context.path(name)
    text = context.tree.text_if_there(path)
    base = posixpath.basename(name)
    if text is None or re.match(r"install|setup_|bootstrap|launch", base):
        return not _QUIET_SCRIPTS.fullmatch(base)
    return installs(text)


# A package by a variable or by what a command prints, not only its version.
_UNNAMED = regex(r"(?:^|\s)[\"']?[$`]")
_WHERE = frozenset(("-p", "--python", "--cache-dir"))
"""Options before a word that says where a command installs, not what."""
_FROM = regex(r"(?:-[ifrc]|--(?:extra-)?index-url|--index|--default-index|--find-links|--requirement|--constraint)[ =]+\S+")


def pip(argv: list[str], place: Place, context: shell.Context, found: shell.Script, *, nothing: bool, configured: bool) -> None:
    """Note a pip command that asks for what is only known when it runs: by a variable, an argument of the build, or its configuration.

    `nothing`: it names nothing that was understood. `configured`: a file of uv's may name its indexes.
    """
    plain = _FROM.sub("", place.quote.partition(" install ")[2])
    by_argument = any(re.search(rf"\$\{{?{re.escape(one)}\b", plain) for one in context.arguments)
    asked = (word for before, word in itertools.pairwise(("", *argv)) if before not in _WHERE and not word.startswith("-"))
    if nothing or configured or by_argument or any(re.search(r"[$`]", word) for word in asked):
        note(place, found, doubt=nothing or _UNNAMED.search(_FROM.sub("", " ".join(argv))) is not None)


def installs(text: str) -> bool:
    """True if a program or script runs an installer, and does not only tell its user to; or if it changes a list with torch."""
    if _LISTS.search(text) and "torch" in text and _WRITES.search(text):
        return True
    return _INSTALLS.search(text) is not None and (
        _RUNS.search(text) is not None or text.startswith("#!/bin/") or "import " not in text
    )


_FETCHED = "FETCHED"
_ADDRESS = regex(r"https?://[^\s\"')]+")
_INSTALLER = regex(r"(?:.*/)?(?:[\w-]*install(?:er)?|bootstrap|prepare_env\w*|setup_env\w*|one_click)\.py$")
_USES_PIP = regex(r"\bpip\b|\buv\b|requirements")


def unread(argv: Sequence[str], place: Place, context: shell.Context, found: shell.Script) -> ReadProblem | None:
    """An installer that a command runs and whose code is not followed: one from the network, of a clone or of a package, or a program in
    Python that uses pip.
    """
    if name := _fetched(argv, context) or _own(argv, context) or _of_package(argv, found) or _of_clone(argv, context):
        return ReadProblem(place, f"{name} installs what is not read")
    return None


def _fetched(argv: Sequence[str], context: shell.Context) -> str:
    """The address of an installer that a shell runs as it comes from the network; empty for anything else, and for known tools."""
    name, words = argv[0].rsplit("/", 1)[-1], " ".join(argv[1:])
    if name in ("curl", "wget"):
        context.names[_FETCHED] = (_ADDRESS.search(words) or [""])[0]
    elif name in ("bash", "sh", "zsh"):
        before = context.names.pop(_FETCHED, "") if not words or re.match(r"-(?:s|$|[a-z]*s?\s*--?(?:\s|$))", words) else ""
        inside = _ADDRESS.search(words) if re.search(r"\b(?:curl|wget)\b", words) else None
        address = inside[0] if inside else before
        return "" if _TOOLS.search(address) else address
    else:
        context.names.pop(_FETCHED, None)
    return ""


def _own(argv: Sequence[str], context: shell.Context) -> str:
    """The installer in Python that a command runs, by its name: a program that runs pip, or one that is called an installer and not there."""
    name = next((word for word in argv[1:] if word.endswith(".py")), "") if argv[0].startswith("python") else ""
    text = context.tree.text_if_there(context.path(name)) if name else ""
    if text is None or _INSTALLER.match(name):
        return name if _INSTALLER.match(name) and (text is None or _USES_PIP.search(text)) else ""
    return name if not _QUIET_SCRIPTS.fullmatch(posixpath.basename(name)) and installs(text) else ""


# Programs of packages that install nothing of Python's, or what is read elsewhere.
_QUIET_PROGRAMS = frozenset(
    (
        "playwright",
        "pre-commit",
        "jupyter",
        "poetry",
        "pdm",
        "pipenv",
        "uv",
        "pipx",
        "conda",
        "pip",
        "nodeenv",
        "cmake",
        "meson",
        "ninja",
    )
)


def _of_package(argv: Sequence[str], found: shell.Script) -> str:
    """A program that came with a package and is told to install something: `comfy install` of comfy-cli."""
    name = posixpath.basename(argv[0])
    packages = (r.name for step in found.steps for r in step.requirements)
    installs_more = "install" in argv[1:] and name not in _QUIET_PROGRAMS
    return name if installs_more and any(p == name or p.startswith(f"{name}-") for p in packages) else ""


_SETS_UP = regex(r"(?:\./)?[\w./-]*(?:install|setup|bootstrap|webui|launch)[\w.-]*\.(?:sh|bash)")


def _of_clone(argv: Sequence[str], context: shell.Context) -> str:
    """A script, by a relative path, that sets something up in a folder that the repository has not: that of a clone."""
    name = next((word for word in argv[argv[0] in ("bash", "sh", "zsh", "source", ".") :] if not word.startswith("-")), "")
    return name if _SETS_UP.fullmatch(name) and not name.startswith("/") and context.path(name) is None else ""
