"""Commands that may install or change Python packages without a file of the repository saying which.

What follows them is judged as it is read, but that a torch was not installed before is not certain.
"""

from __future__ import annotations

import posixpath
import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import MAY_INSTALL, STARTS, Place, ReadProblem
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
    r"astral\.sh|rustup|nodesource|get\.docker|pyenv|ollama|deno|bun\.sh|nvm|helm|git-lfs|pixi\.sh|micro\.mamba|starship|brew|chezmoi|tailscale"
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


def body(text: str, place: Place, found: shell.Script) -> None:
    """Note what only the whole text of a shell shows: pipes into a shell, programs in here-documents, redirections onto a list, the configuration of pip."""
    piped = any(not _TOOLS.search(m[1]) for m in _PIPED.finditer(text))
    handed = any(_INSTALLS.search(m[2]) or _REWRITES.search(m[2]) for m in _HANDED.finditer(text))
    if piped or handed or _CONFIGURED.search(text) or _ONTO_LIST.search(text):
        note(place, found)


def note(place: Place, found: shell.Script) -> None:
    """Record that a command may have installed something that is not known."""
    problem = ReadProblem(place, f"line {place.line} of {place.file} {MAY_INSTALL}")
    if problem not in found.problems:
        found.problems.append(problem)


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
    return _installs(text)


_FROM = regex(r"(?:-[ifrc]|--(?:extra-)?index-url|--index|--default-index|--find-links|--requirement|--constraint)[ =]+\S+")


def pip(argv: list[str], place: Place, context: shell.Context, found: shell.Script, *, nothing: bool, configured: bool) -> None:
    """Note a pip command that asks for what is only known when it runs: by a variable, an argument of the build, or its configuration.

    `nothing`: it names nothing that was understood. `configured`: a file of uv's may name its indexes.
    """
    plain = _FROM.sub("", place.quote.partition(" install ")[2])
    by_argument = any(re.search(rf"\$\{{?{re.escape(one)}\b", plain) for one in context.arguments)
    if nothing or configured or by_argument or any(re.search(r"[$`]", word) for word in argv if not word.startswith("-")):
        note(place, found)


def _installs(text: str) -> bool:
    """True if a program or script runs an installer, and does not only tell its user to; or if it changes a list with torch."""
    if _LISTS.search(text) and "torch" in text and _WRITES.search(text):
        return True
    return _INSTALLS.search(text) is not None and (
        _RUNS.search(text) is not None or text.startswith("#!/bin/") or "import " not in text
    )


def started(words: list[str], place: Place, context: shell.Context, found: shell.Script) -> None:
    """Note what an image starts, if that is a script or program of the repository that installs packages itself."""
    for word in words:
        name = posixpath.basename(word)
        path = context.path(word) if name.endswith((".sh", ".bash", ".py")) and "$" not in word else None
        text = context.tree.text_if_there(path)
        if text is not None and _installs(text):
            found.problems.append(ReadProblem(place, f"{path} {STARTS}"))
