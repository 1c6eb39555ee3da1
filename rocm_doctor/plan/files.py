"""The files of an environment, whichever framework it is for: requirements.txt, pyproject for uv, conda, a Dockerfile, a script."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from packaging.requirements import Requirement

from rocm_doctor.plan.catalog import System
from rocm_doctor.plan.commands import Argv


class UnknownFormat(ValueError):
    """The plan cannot be written in this format; the text says why."""


class Contents(NamedTuple):
    """What the files hold. `bound`: requirements from the index `source`; `plain`: those from the package index, if pip is to ask it as well
    (`alone` is false); `later`: arguments of the pip commands that have to follow, which no file can hold. `installs`: all commands that install;
    `script`: the lines of a shell. `image`: what a Dockerfile starts from, if not Python's. `unfit`: why a format cannot be written."""

    heading: Sequence[str]
    python: str
    source: str
    bound: Sequence[str]
    plain: Sequence[str]
    installs: Sequence[Argv]
    script: Sequence[str]
    later: Sequence[str] = ()
    env: Mapping[str, str] = {}
    system: System = "linux"
    image: str = ""
    alone: bool = False
    explicit: bool = False
    """True: nothing else is to come from the index."""
    unfit: Mapping[str, str] = {}


def requirements(made: Contents) -> str:
    """requirements.txt: the index as an option, exact versions whose local part only that index has."""
    return "\n".join([*_comments(made), *_requirements(made), ""])


def _comments(made: Contents) -> list[str]:
    return [f"# {' '.join(line.split())}" for line in made.heading]


def _requirements(made: Contents) -> Iterator[str]:
    if made.source:
        yield f"--{'' if made.alone else 'extra-'}index-url {made.source}"
    yield from made.bound
    yield from () if made.alone else made.plain
    yield from (f"# afterwards: pip install {arguments}" for arguments in (*(made.plain if made.alone else ()), *made.later))


def uv(made: Contents) -> str:
    """pyproject.toml for uv. The index is bound to its own requirements, so that nothing else comes from it."""
    if made.later:
        raise UnknownFormat(f"pyproject.toml cannot say `pip install {made.later[0]}`; take --format shell")
    sources = [f'{Requirement(one).name} = {{ index = "rocm" }}' for one in made.bound]
    index = [
        "",
        "[[tool.uv.index]]",
        'name = "rocm"',
        f'url = "{made.source}"',
        f"explicit = {'true' if made.explicit else 'false'}",
    ]
    return "\n".join(
        [
            *_comments(made),
            "[project]",
            'name = "training"',
            'version = "0"',
            *([f'requires-python = "=={made.python}.*"'] if made.python else []),
            "dependencies = [",
            *(f'    "{one}",' for one in (*made.bound, *made.plain)),
            "]",
            *(["", "[tool.uv.sources]", *sources, *index] if made.source else []),
            "",
        ]
    )


def conda(made: Contents) -> str:
    """environment.yml: Python from conda, the rest from pip, as the catalog has no channel with ROCm builds."""
    pip = [line for line in _requirements(made) if not line.startswith("#")]
    rows = ["name: training", "dependencies:", f"  - python{made.python and f'={made.python}'}", "  - pip", "  - pip:"]
    env = ["variables:", *(f'  {name}: "{value}"' for name, value in made.env.items())] if made.env else []
    return "\n".join([*_comments(made), *rows, *(f'      - "{line}"' for line in pip), *env, ""])


DEVICES = {
    "linux": "--device=/dev/kfd --device=/dev/dri --group-add $(stat -c %g /dev/kfd) "
    "--group-add $(stat -c %g /dev/dri/renderD128)",
    "wsl": "--device=/dev/dxg -v /usr/lib/wsl/lib:/usr/lib/wsl/lib -v /opt/rocm/lib/librocdxg.so:/usr/lib/librocdxg.so",
}


def container(system: System, image: str) -> str:
    """The command that starts a container of an image with the GPUs of the host."""
    return f"docker run --rm -it {DEVICES[system]} --ipc=host --security-opt seccomp=unconfined {image}"


def dockerfile(made: Contents) -> str:
    """A Dockerfile on a plain Python image: these wheels bring their ROCm, the driver is the host's."""
    env = [f"ENV {name}={shlex.quote(value)}" for name, value in made.env.items()]
    runs = [f"RUN {shlex.join((*command[:2], '--no-cache-dir', *command[2:]))}" for command in made.installs]
    image = made.image or f"python:{made.python or '3.12'}-slim"
    return "\n".join([*_comments(made), f"# {container(made.system, 'IMAGE')}", f"FROM {image}", *env, *runs, ""])


def shell(made: Contents) -> str:
    """A script for sh (PowerShell on Windows)."""
    return "\n".join([*_comments(made), *made.script, ""])


FILES: dict[str, Callable[[Contents], str]] = {
    "requirements": requirements,
    "uv": uv,
    "conda": conda,
    "dockerfile": dockerfile,
    "shell": shell,
}


def write(form: str, made: Contents) -> str:
    """The text of a file. Raises UnknownFormat."""
    if form in made.unfit:
        raise UnknownFormat(made.unfit[form])
    return FILES[form](made)
