"""Whether what a container runs uses a GPU, as far as the repository says: by its program, its module, or the script's imports."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.readers.files import Tree, joined
from rocm_doctor.lint.readers.instructions import Instruction, instructions, start_command
from rocm_doctor.lint.readers.projects import own_name

Use = Literal["no", "unknown", "yes"]
MAX_FILES = 40
"""Scripts and modules that are read for one container."""
_STRENGTH: tuple[Use, ...] = ("no", "unknown", "yes")
GPU_MODULES = frozenset((
    "torch", "jax", "tensorflow", "vllm", "sglang", "deepspeed", "cupy", "unsloth", "trl", "torchtune", "axolotl", "llamafactory",
    "lightning", "pytorch_lightning", "megatron", "exllamav2", "comfy",
))  # fmt: skip
_GPU_PROGRAMS = frozenset((
    "torchrun", "accelerate", "deepspeed", "vllm", "sglang", "axolotl", "llamafactory-cli", "trl", "tune", "rocminfo", "llama-server",
    "llama-cli", "llama-bench", "text-generation-launcher",
))  # fmt: skip
_SERVERS = regex(r"/(?:vllm|sglang|ollama|text-generation-inference|llama\.cpp)(?:[-:@]|$)")
# Modules that compute on the CPU only.
_PLAIN_MODULES = frozenset((
    "numpy", "pandas", "scipy", "sklearn", "matplotlib", "seaborn", "PIL", "requests", "httpx", "aiohttp", "yaml", "dotenv", "tqdm", "rich",
    "click", "typer", "pydantic", "flask", "fastapi", "starlette", "uvicorn", "redis", "celery", "boto3", "bs4", "huggingface_hub", "psutil",
    "openai", "jinja2", "jsonschema", "polars", "pyarrow", "sqlalchemy", "psycopg2", "pytest", "setuptools",
))  # fmt: skip
# What only looks at an image, prepares something or serves what needs no GPU, though Python runs it.
ASIDE = regex(
    r"__version__|--version|--help|\bpip\d? |huggingface-cli|hf download|download|tensorboard|\b(?:ruff|mypy|black|pytest|chown|chmod|cp|mkdir|ls|cat|find)\b|^make\b"
)
_PREPARES = regex(r"convert|export|build|prepare|preprocess|tokeni[sz]e|setup|install|version|collect_env", re.I)
# What a program asks of a framework that only looks at it.
_LOOKS = regex(r"__\w+__|version(?:\.\w+)?|(?:cuda|backends)\.(?:is_\w+|get_arch_list|version)|config\.\w+")


class Files(NamedTuple):
    """Where the files of a container are looked for: the folders of the repository that it may hold."""

    tree: Tree
    folders: tuple[str, ...]

    def text(self, name: str) -> tuple[str, str] | None:
        """The path and text of a file by its name in the container; None if the repository has none."""
        parts = name.strip("/").split("/") if "$" not in name else []
        for start in range(len(parts) if name.startswith("/") else min(1, len(parts))):
            for folder in self.folders:
                path = joined(folder, "/".join(parts[start:]))
                if path and (text := self.tree.text_if_there(path)) is not None:
                    return path, text
        return None


def of(words: Sequence[str], files: Files, seen: set[str] | None = None) -> Use:
    """Whether a command uses a GPU; `unknown` for what cannot be read."""
    seen = set() if seen is None else seen
    argv = list(itertools.dropwhile(lambda word: _WRAPPERS.fullmatch(word.rsplit("/", 1)[-1]), words))
    if not argv:
        return "unknown"
    name = argv[0].rsplit("/", 1)[-1]
    if name in ("bash", "sh", "zsh") and len(argv) > 1:
        script = next((n for n, word in enumerate(argv) if re.fullmatch(r"-\w*c", word)), 0)
        return _of_shell(argv[script + 1], files, seen) if script and script + 1 < len(argv) else of(argv[1:], files, seen)
    if name in _GPU_PROGRAMS:
        return "yes"
    if re.fullmatch(r"python[\d.]*", name):
        return _of_python(argv[1:], files, seen)
    if ASIDE.search(" ".join(argv)):
        return "no"
    if (found := files.text(argv[0])) and len(seen) < MAX_FILES and found[0] not in seen:
        seen.add(found[0])
        return _of_code(found[1], found[0], files, seen) if found[0].endswith(".py") else _of_shell(found[1], files, seen)
    return "unknown"


def of_start(dockerfile: str, words: Sequence[str], files: Files) -> Use:
    """Whether a container of an image uses a GPU, by the Dockerfile of the image and the words that its caller gives."""
    read = list(instructions("", dockerfile))
    entry, command, _ = start_command(read)
    if not (entry or words or command) and _is_bare(read):
        return "no"  # it runs the shell of a system in which nothing was put
    return of((*split(entry), *(words or split(command))), files)


def _is_bare(read: Sequence[Instruction]) -> bool:
    """True if an image is a plain system, and nothing that is put into it can use a GPU."""
    return all(
        _SYSTEM.match(words)
        if verb == "FROM"
        else verb in ("ARG", "ENV", "WORKDIR") or (verb == "RUN" and not _BRINGS.search(words))
        for verb, words, _ in read
    )


_SYSTEM = regex(r"(?:docker\.io/)?(?:library/)?(?:ubuntu|debian|alpine|fedora|busybox|rockylinux|almalinux)(?:[:@]\S*)?\s*$")
_BRINGS = regex(r"rocm|torch|\bhip|\bpip|conda|\buv\b|make|curl|wget|\bgit\b", re.I)


def of_image(image: str, tree: Tree) -> Use:
    """Whether what an image starts by itself uses a GPU: a known server, or the project of the repository, where that asks for torch."""
    if _SERVERS.search(f"/{image}"):
        return "yes"
    own = own_name(tree)
    ours = own and re.match(rf"{re.escape(own)}(?:[-_]\w+)*$", image.rsplit("/", 1)[-1].partition(":")[0])
    return "yes" if ours and _ASKS.search(tree.text("pyproject.toml", wanted=False) or "") else "unknown"


_ASKS = regex(r"^[ \t]*[\"']?torch\b", re.M)


_WRAPPERS = regex(r"(?:exec|env|time|nohup|uv|poetry|run|tini|dumb-init|--|\w+=\S*|-[gs])")


def split(command: str) -> list[str]:
    """The words of a command; of one with open quotes, its parts between blanks."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _of_shell(text: str, files: Files, seen: set[str]) -> Use:
    """The strongest of the commands of a script; at least unknown, as not all of its grammar is followed."""
    lines = re.split(r"&&|\|\||[;|\n]", text.replace("\\\n", " "))
    found = [of(words, files, seen) for line in lines if not line.lstrip().startswith("#") and (words := split(line))]
    return "yes" if "yes" in found else "unknown" if "unknown" in found else "no"


def _of_python(argv: Sequence[str], files: Files, seen: set[str]) -> Use:
    words = [word for word in argv if not re.fullmatch(r"-[uBEsIObi]+|-[XW]\S*", word)]
    first, rest = (words[0], words[1:]) if words else ("", [])
    if first == "-c" and rest:
        return _of_code(rest[0], "", files, seen)
    module = rest[0] if first == "-m" and rest else ""
    if module.split(".")[0] in GPU_MODULES and _PREPARES.search(module) is None:
        return "yes"
    if ASIDE.search(" ".join(words)):
        return "no"
    names = [f"{module.replace('.', '/')}{end}" for end in (".py", "/__main__.py")] if module else [first]
    found = next((one for one in map(files.text, names) if one), None) if first.endswith(".py") or module else None
    if found is None or found[0] in seen or len(seen) >= MAX_FILES:
        return "unknown"
    seen.add(found[0])
    use = _of_code(found[1], found[0], files, seen)
    return "unknown" if use == "yes" and _PREPARES.search(found[0].rsplit("/", 1)[-1]) else use


def _of_code(text: str, path: str, files: Files, seen: set[str]) -> Use:
    """By what a program imports, and the modules of the repository that it imports."""
    module = _parsed(text)
    if module is None:
        return "unknown"
    uses = [_of_import(name, path, module, files, seen) for name in dict.fromkeys(_imported(module))]
    return max(uses, key=_STRENGTH.index, default="no")


def imports(text: str) -> Iterator[str]:
    """The first part of the name of each module that a program imports, from anywhere but its own package; none of one that cannot be parsed."""
    if module := _parsed(text):
        yield from dict.fromkeys(name.split(".")[0] for name in _imported(module) if not name.startswith("."))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_import(name: str, path: str, program: ast.Module, files: Files, seen: set[str]) -> Use:
    top = name.split(".")[0]
    if top in GPU_MODULES:
        return "unknown" if _only_looks(program, top) else "yes"
    here = files._replace(folders=tuple(dict.fromkeys((path.rpartition("/")[0], *files.folders))))
    below = name.lstrip(".").replace(".", "/")
    found = next((one for end in (".py", "/__init__.py") if (one := here.text(below + end))), None) if below else None
    if found is None:
        return "no" if top in _PLAIN_MODULES or top in _standard() else "unknown"
    if found[0] in seen or len(seen) >= MAX_FILES:
        return "no"
    seen.add(found[0])
    return _of_code(found[1], found[0], here, seen)


def _imported(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            yield from [dots + node.module] if node.module else [dots + alias.name for alias in node.names]


def _only_looks(module: ast.Module, name: str) -> bool:
    """True if a program asks a framework for its version and the like, and for nothing else."""
    if any(isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == name for node in ast.walk(module)):
        return False
    asked = [ast.unparse(node) for node in ast.walk(module) if isinstance(node, ast.Attribute)]
    own = [one[len(name) + 1 :] for one in asked if one.startswith(f"{name}.")]
    whole = [one for one in own if not any(other.startswith(f"{one}.") for other in own)]
    return all(_LOOKS.match(one) for one in whole)


@cache
def _standard() -> frozenset[str]:
    return frozenset(sys.stdlib_module_names)
