"""The server of the Model Context Protocol: every tool is a command of the command line, and its arguments are options of that command.

A call runs the command in a child process with limits of time and output: nothing is imported or judged here. It reads this machine, texts
that it is given, and files below the roots; only `smoke` computes. Answers are redacted, as every shared format is.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import anyio
import anyio.to_thread
import click
import mcp.types as wire
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from rocm_doctor._version import __version__
from rocm_doctor.redaction.shared import redact_plain
from rocm_doctor.workers.process import MIB, run

LIMIT = 120.0
"""Seconds of one call. `lint` of a large repository takes three, a simulation of `fit` up to a minute."""
LONGEST = 20_000
"""Characters of an answer: about 5,000 tokens."""
INSTRUCTIONS = (
    "rocm-doctor knows which software works on which AMD GPU, with sources. Call `check` with the text of a failing run before you "
    "guess at a cause, `plan` before you install torch, `verify` before you type what you remember, `lint` after you changed what a repository installs, `fit` before a long run. "
    "Tell the user the commands; do not run those that change the system unasked."
)
# `-m` and `-c` would put the working directory, which may be a stranger's repository, before the installed packages.
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; from rocm_doctor.cli import main; main()"
_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
_WORD = Annotated[str, msgspec.Meta(max_length=200, pattern=_PRINTABLE)]
_PATH = Annotated[str, msgspec.Meta(max_length=4096, pattern=_PRINTABLE)]
_VERSION = Annotated[str, msgspec.Meta(pattern=r"^3\.\d{1,2}$", description="Version of Python, with gpu: 3.12")]
"""Of --python: a tool cannot name an interpreter, as examining runs it."""
_TEXT = Annotated[str, msgspec.Meta(max_length=4_000_000, description="A log, a bug report or tools' output")]


class Failed(Exception):
    """The command could not answer; the text has its message."""


class Tool(NamedTuple):
    """A command as a tool: what it answers, its options and arguments that a client may give, and what is always given.

    formats: those of its --format that a client may choose, the first by default. takes_text: the client may give a `text`, which the command
    gets as a file. examines: without a GPU or a path it is about this machine, so --python goes with it.
    """

    about: str
    arguments: str
    formats: tuple[str, ...] = ()
    command: str = ""
    always: tuple[str, ...] = ()
    takes_text: bool = False
    examines: bool = False
    redact: bool = False


TOOLS = {
    "check": Tool("Will training work on the AMD GPU? If not: why, with evidence and commands. Without text and paths: this machine.",
                  "paths", ("agent", "json"), always=("--no-smoke",), takes_text=True, examines=True),
    "facts": Tool("What was read of this machine (or of paths), not judged: each value with the file and line.", "paths", command="probe",
                  examines=True, redact=True),
    "plan": Tool("Which torch, ROCm and packages to install for a GPU (this machine's by default), best first, as commands, with the reasons.",
                 "gpu os rocm python with train kernel driver", ("text", "json", "requirements", "uv")),
    "env": Tool("The environment variables that a stack needs, each with its reason; nothing if none is needed.", "gpu rocm os"),
    "audit": Tool("For which GPUs the installed libraries contain code. Files are read as bytes, nothing is loaded.", "path gpu",
                  ("text", "json"), examines=True, redact=True),
    "fit": Tool("Does a fine-tuning run fit into the GPU's memory? The predicted peak, what else would fit, or what would be enough. "
                "Options win over the configuration.", "model config gpu method batch seq rank vram", ("text", "json"), always=("--fast",)),
    "lint": Tool("Will the environments that a training repository declares work on a GPU? Requirements, locks, Dockerfiles, scripts; "
                 "nothing runs.", "paths gpu rocm python os", ("agent", "json")),
    "explain": Tool("What a GPU, a package, a version, a system, a variable, a diagnosis or an error line is, whether it works, and what to do.",
                    "words verbose"),
    "verify": Tool("Are these commands and versions right for the GPU? checked, corrected (run ours), not known, or withheld. Nothing is run.",
                   "lines gpu os python", examines=True),
    "smoke": Tool("Compute on this machine's GPUs, from a copy to a LoRA step, in child processes that may crash or hang; half a minute.",
                  "stage", always=("--stage-limit=20", "--format=agent"), examines=True),
}  # fmt: skip
_ARGUMENTS = {
    "paths": "Files or folders: logs, bundles, captures; for lint a repository, or files of it",
    "path": "An environment, a folder, a wheel or a library",
    "words": "RX 9070 XT, gfx1100, bitsandbytes==0.49, torch 2.9.1, ROCm 6.4, WSL, a variable, an id",
    "lines": "pip install torch==2.9.1 --index-url ..., or: torch 2.9 on ROCm 6.4",
}
"""What the arguments of commands are: click has a help text for options alone."""


class Tools:
    """The tools of one server: the command line, the folders that they may read, and the interpreter to examine."""

    def __init__(self, commands: click.Group, roots: Sequence[Path], python: str | None) -> None:
        self.roots = [root.resolve() for root in roots]
        self.examined = [f"--python={python}"] if python else []
        self.params = {name: _parameters(commands, name, tool) for name, tool in TOOLS.items()}

    def types(self, name: str) -> dict[str, Any]:
        """The type of each argument of a tool."""
        tool = TOOLS[name]
        return {
            **({"text": _TEXT} if tool.takes_text else {}),
            **{key: _type(key, param) for key, param in self.params[name].items()},
            **({"format": Literal[tool.formats]} if tool.formats else {}),
        }

    def schema(self, name: str) -> dict[str, Any]:
        """The JSON Schema of a tool's arguments. It admits no others: the answer would be to another question."""
        properties = {key: msgspec.json.schema(kind) for key, kind in self.types(name).items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What the command prints, cut at a line if it is too long. Raises Failed for an argument that the tool does not have or
        that has another type, and if the command fails."""
        types = self.types(name)
        given = {}
        for key, value in arguments.items():
            if key not in types:
                raise Failed(f"{name} has no argument `{key[:100]}`: it takes {', '.join(types)}")
            try:
                given[key] = msgspec.convert(value, types[key])
            except msgspec.ValidationError as exc:
                raise Failed(f"{key}: {exc}") from exc
        with tempfile.TemporaryDirectory() as folder:
            text = self._answer(name, given, Path(folder, "text.md"))
        if TOOLS[name].redact and given.get("format") != "json":
            text = redact_plain(text)
        kept = text if len(text) <= LONGEST else text[: text.rfind("\n", 0, LONGEST) + 1 or LONGEST]
        return kept if kept == text else f"{kept}[cut: {len(text) - len(kept)} more characters; ask for less, or run the command]"

    def _answer(self, name: str, given: Mapping[str, Any], file: Path) -> str:
        """What the command of a tool prints for valid arguments; `file` is for the client's text."""
        tool, options, behind = TOOLS[name], list[str](), list[str]()
        for key, param in self.params[name].items():
            into = behind if isinstance(param, click.Argument) else options
            into.extend(self._words(key, param, given[key]) if key in given else ())
        if tool.formats:
            options.append(f"--format={given.get('format', tool.formats[0])}")
        if "text" in given:
            file.write_text(given["text"], "utf-8", errors="replace")
            behind.append(str(file))
        elif tool.examines and not given.keys() & {"paths", "path", "gpu"}:
            options += self.examined
        return answer((tool.command or name, *tool.always, *options, "--", *behind), self.roots[0])

    def _words(self, key: str, param: click.Parameter, value: Any) -> Iterator[str]:
        """A value as words of a command line: one that begins with a dash stays a value."""
        if isinstance(value, bool):
            yield from [f"--{key}"] if value else []
            return
        for item in value if isinstance(value, list) else [value]:
            word = self.inside(item) if isinstance(param.type, click.Path) else item
            yield word if isinstance(param, click.Argument) else f"--{key}={word}"

    def inside(self, path: str) -> str:
        """The path, resolved if it exists, so that a link leads nowhere else. Raises Failed for one outside of the roots."""
        try:
            resolved = (self.roots[0] / path).resolve()
            if not any(resolved.is_relative_to(root) for root in self.roots):
                raise Failed(f"{path}: outside of the folders that may be read; start `rocm-doctor mcp` with --root")
            return str(resolved) if resolved.exists() else path
        except OSError as exc:
            raise Failed(f"{path[:100]}: {exc.strerror}") from exc


def _parameters(commands: click.Group, name: str, tool: Tool) -> dict[str, click.Parameter]:
    """The parameters of a tool by the names that a client gives: those of the flags, without dashes."""
    context = click.Context(commands)
    command = commands.get_command(context, tool.command or name)
    assert command is not None, name
    by_flag = {flag.lstrip("-"): param for param in command.params for flag in param.opts}
    return {key: by_flag[key] for key in tool.arguments.split()}


def _type(key: str, param: click.Parameter) -> Any:
    """The type of a parameter's value, with its help as the description."""
    if key == "python":
        return _VERSION
    kind: Any = _PATH if isinstance(param.type, click.Path) else _WORD
    if isinstance(param.type, click.Choice):
        kind = Literal[tuple(param.type.choices)]
    elif isinstance(param.type, click.IntRange):
        kind = Annotated[int, msgspec.Meta(ge=int(param.type.min or 0), le=1_000_000_000)]
    elif isinstance(param.type, click.types.BoolParamType):
        kind = bool
    if param.nargs == -1 or param.multiple:
        kind = Annotated[list[kind], msgspec.Meta(max_length=50)]
    return Annotated[kind, msgspec.Meta(description=_ARGUMENTS.get(key) or getattr(param, "help", "") or "")]


def answer(arguments: Sequence[str], cwd: Path) -> str:
    """What the command prints; exit codes 1 (findings) and 3 (undetermined) are answers. Raises Failed for any other one, and if
    it does not end in time."""
    # The agent is a reader itself: no other one is asked.
    env = {name: value for name, value in os.environ.items() if not name.startswith("ROCM_DOCTOR_READER")}
    done = run([sys.executable, "-c", _START, *arguments], limit=LIMIT, cap=8 * MIB, cwd=str(cwd), env=env)
    if done.state == "capped":
        return done.stdout
    if done.state != "finished":
        raise Failed(f"rocm-doctor {arguments[0]}: {done.state} after {done.seconds:.0f} s")
    if done.returncode not in (0, 1, 3):
        raise Failed(done.stderr.strip()[-2000:] or f"rocm-doctor {arguments[0]} ended with {done.returncode}")
    return done.stdout


def server(commands: click.Group, roots: Sequence[Path], python: str | None) -> Server[Any]:
    """The server with all tools."""
    tools = Tools(commands, roots, python)

    async def list_tools(_context: Any, _params: Any) -> wire.ListToolsResult:
        return wire.ListToolsResult(
            tools=[
                wire.Tool(
                    name=name,
                    description=tool.about,
                    input_schema=tools.schema(name),
                    annotations=wire.ToolAnnotations(
                        read_only_hint=name != "smoke", destructive_hint=False, open_world_hint=False
                    ),
                )
                for name, tool in TOOLS.items()
            ]
        )

    async def call_tool(_context: Any, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        try:
            if params.name not in TOOLS:
                raise Failed(f"no tool {params.name[:100]}: there are {', '.join(TOOLS)}")
            text = await anyio.to_thread.run_sync(partial(tools.call, params.name, params.arguments or {}))
        except Failed as exc:
            return wire.CallToolResult(content=[wire.TextContent(type="text", text=str(exc))], is_error=True)
        return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)])

    return Server("rocm-doctor", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def serve(commands: click.Group, roots: Sequence[Path], python: str | None) -> None:
    """Run the server over standard input and output until the client goes."""

    async def talk() -> None:
        program = server(commands, roots, python)
        async with stdio_server() as (coming, going):
            await program.run(coming, going, program.create_initialization_options())

    anyio.run(talk)
