"""`rocm-doctor mcp`: tools of the Model Context Protocol over standard input and output.

Every tool is a command of the command line. It reads this machine, texts that it is given, and files below the roots; only `smoke` computes. Answers are redacted, as every shared format is.
"""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import Tool, ToolAnnotations
from pydantic import Field

from rocm_doctor._version import __version__
from rocm_doctor.integrations.agents.command import Failed, Roots, answer
from rocm_doctor.redaction.shared import redact_plain

_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
Word = Annotated[str, Field(max_length=200, pattern=_PRINTABLE)]
FilePath = Annotated[str, Field(max_length=4096, pattern=_PRINTABLE)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Form = Literal["agent", "json"]
Size = Annotated[str, Field(pattern=r"^\d{1,9}(\.\d{1,9})?(GiB|GB|MiB|MB)?$", description="Memory: 24GiB")]
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
COMPUTES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


LONGEST = 20_000
"""Characters of an answer: about 5,000 tokens."""


class Tools:
    """The tools of one server: its roots, and the interpreter to examine."""

    def __init__(self, roots: Roots, python: str | None) -> None:
        self.roots = roots
        self.examined = [f"--python={python}"] if python else []

    def check(
        self,
        text: Annotated[str | None, Field(max_length=4_000_000, description="A log, a bug report or tools' output")] = None,
        paths: Annotated[list[FilePath], Field(max_length=50, description="Logs, bundles, captured files or folders")] = [],  # noqa: B006
        format: Form = "agent",
    ) -> str:
        """Will training work on the AMD GPU? If not: why, with evidence and commands. Without text and paths: this machine."""
        if text is None:
            where = [] if paths else self.examined
            return self._run("check", "--no-smoke", *where, f"--format={format}", "--", *map(self._inside, paths))
        return self._run_on_text(text, "check", f"--format={format}", "--", after=map(self._inside, paths))

    def explain(
        self,
        name: Annotated[
            Word, Field(description="RX 9070 XT, gfx1100, bitsandbytes==0.49, torch 2.9.1, ROCm 6.4, WSL, a variable, an id")
        ],
        whole: Annotated[bool, Field(description="Everything that is known, with the source of each statement")] = False,
    ) -> str:
        """What a GPU, a package, a version, a system, a variable, a diagnosis or an error line is, whether it works, and what to do."""
        return self._run("explain", *(["--verbose"] if whole else []), "--", name)

    def search(self, words: Annotated[Word, Field(description="bf16, rocblas, RX 79")]) -> str:
        """The names that `explain` takes and that fit some words, one a line."""
        return self._run("explain", "--list", "--", words)

    def plan(
        self,
        gpu: Annotated[Word | None, Field(description="gfx1100 or a product; empty: this machine's")] = None,
        os: Literal["linux", "windows", "wsl"] | None = None,
        rocm: Annotated[Word | None, Field(description="Only stacks of this ROCm release: 6.4")] = None,
        python: Annotated[str | None, Field(pattern=r"^3\.\d{1,2}$")] = None,
        packages: Annotated[list[Word], Field(max_length=20, description="Besides torch: bitsandbytes, flash-attn")] = [],  # noqa: B006
        train: Literal["full", "lora", "qlora"] | None = None,
        kernel: Word | None = None,
        driver: Word | None = None,
        format: Literal["text", "json", "requirements", "uv", "dockerfile"] = "text",
    ) -> str:
        """Which torch, ROCm and packages to install for a GPU, best first, as commands, with the reasons."""
        asked = {
            "gpu": gpu,
            "os": os,
            "rocm": rocm,
            "python": python,
            "with": ",".join(packages),
            "train": train,
            "kernel": kernel,
            "driver": driver,
        }
        return self._run("plan", f"--format={format}", *_options(asked))

    def env(
        self,
        gpu: Annotated[Word | None, Field(description="gfx1100 or a product; empty: this machine's")] = None,
        rocm: Word | None = None,
        os: Literal["linux", "windows", "wsl"] | None = None,
    ) -> str:
        """The environment variables that a stack needs, each with its reason; nothing if none is needed."""
        return self._run("env", *_options({"gpu": gpu, "rocm": rocm, "os": os}))

    def smoke(
        self,
        stages: Annotated[list[Word], Field(max_length=10, description="Only these: matmul, bf16, lora")] = [],  # noqa: B006
    ) -> str:
        """Compute on this machine's GPUs, from a copy to a LoRA step, in child processes that may crash or hang; half a minute."""
        return self._run("smoke", "--stage-limit=20", *self.examined, *(f"--stage={one}" for one in stages), "--format=agent")

    def facts(
        self,
        paths: Annotated[list[FilePath], Field(max_length=50, description="Logs, bundles, captured files or folders")] = [],  # noqa: B006
    ) -> str:
        """What was read of this machine (or of paths), not judged: each value with the file and line."""
        where = [] if paths else self.examined
        return self._run("probe", *where, "--", *map(self._inside, paths), redact=True)

    def similar(self, text: Annotated[str, Field(max_length=400_000, description="A log or a bug report")]) -> str:
        """Solved reports that read like a text: address, cause and fix."""
        return self._run_on_text(text, "explain", "--like")

    def verify(
        self,
        lines: Annotated[
            list[Word], Field(max_length=50, description="pip install torch==2.9.1 --index-url ..., or: torch 2.9 on ROCm 6.4")
        ],
        gpu: Annotated[Word | None, Field(description="gfx1100 or a product; empty: this machine's")] = None,
        os: Literal["linux", "windows", "wsl"] | None = None,
        python: Annotated[str | None, Field(pattern=r"^3\.\d{1,2}$", description="With gpu")] = None,
    ) -> str:
        """Are these commands and versions right for the GPU? checked, corrected (run ours), not known, or withheld. Nothing is run."""
        examined = [] if gpu else self.examined
        return self._run("verify", *examined, *_options({"gpu": gpu, "os": os, "python": python if gpu else None}), "--", *lines)

    def fit(
        self,
        model: Annotated[Word | None, Field(description="qwen2.5-7b, a hub id of a preset, or a config.json")] = None,
        config: Annotated[
            list[FilePath],
            Field(max_length=3, description="The run's configuration or script; accelerate's, DeepSpeed's after it"),
        ] = [],  # noqa: B006
        gpu: Annotated[Word, Field(description="gfx1100, a product, or auto for this machine's")] = "auto",
        method: Literal["full", "lora", "qlora"] | None = None,
        batch: Count | None = None,
        seq: Count | None = None,
        rank: Count | None = None,
        gpus: Annotated[int, Field(ge=1, le=4096)] = 1,
        vram: Size | None = None,
        format: Literal["text", "json"] = "text",
    ) -> str:
        """Does a fine-tuning run fit into the GPU's memory? The predicted peak, what else would fit, or what would be enough. Options win over
        the configuration."""
        known = self._inside(model) if model and (self.roots.folders[0] / model).exists() else model
        asked = {
            "model": known,
            "gpu": gpu,
            "method": method,
            "batch": batch,
            "seq": seq,
            "rank": rank,
            "gpus": gpus,
            "vram": vram,
        }
        files = [f"--config={self._inside(path)}" for path in config]
        return self._run("fit", "--fast", f"--format={format}", *files, *_options(asked))

    def lint(
        self,
        path: Annotated[FilePath, Field(description="A repository, or a file of it")] = ".",
        gpu: Annotated[Word | None, Field(description="gfx1100 or a product; empty: the targets that it declares")] = None,
        rocm: Word | None = None,
        python: Annotated[str | None, Field(pattern=r"^3\.\d{1,2}$")] = None,
        os: Literal["linux", "windows", "wsl"] | None = None,
        format: Form = "agent",
    ) -> str:
        """Will the environments that a training repository declares work on a GPU? Requirements, locks, Dockerfiles, scripts; nothing runs."""
        asked = {"gpu": gpu, "rocm": rocm, "python": python, "os": os}
        return self._run("lint", f"--format={format}", *_options(asked), "--", self._inside(path))

    def audit(
        self,
        path: Annotated[FilePath | None, Field(description="An environment, a folder, a wheel or a library")] = None,
        gpus: Annotated[list[Word], Field(max_length=16, description="Judge for these targets: gfx906, gfx90a:xnack-")] = [],  # noqa: B006
        format: Literal["text", "json"] = "text",
    ) -> str:
        """For which GPUs the installed libraries contain code. Files are read as bytes, nothing is loaded."""
        wanted = [f"--gpu={gpu}" for gpu in gpus]
        where = ["--", self._inside(path)] if path is not None else self.examined
        return self._run("audit", f"--format={format}", *wanted, *where, redact=format == "text")

    def _run(self, *arguments: str, redact: bool = False) -> str:
        """What the command prints, cut at a line if it is too long. `redact`: it does not do so itself."""
        try:
            text = answer(arguments, self.roots.folders[0])
        except Failed as exc:
            raise ToolError(str(exc)) from exc
        text = redact_plain(text) if redact else text
        kept = text if len(text) <= LONGEST else text[: text.rfind("\n", 0, LONGEST) + 1 or LONGEST]
        return kept if kept == text else f"{kept}[cut: {len(text) - len(kept)} more characters; ask for less, or run the command]"

    def _run_on_text(self, text: str, *arguments: str, after: Iterable[str] = ()) -> str:
        """What the command prints of a text, which it gets as a file behind its arguments."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "text.md")
            file.write_text(text, "utf-8", errors="replace")
            return self._run(*arguments, str(file), *after)

    def _inside(self, path: str) -> str:
        try:
            return self.roots.inside(path)
        except (Failed, OSError) as exc:
            raise ToolError(str(exc)) from exc


def _options(asked: dict[str, Any]) -> list[str]:
    """`--name=value` for what was given: a value that begins with a dash stays a value."""
    return [f"--{name}={value}" for name, value in asked.items() if value not in (None, "")]


class Strict(MCPServer[Any]):
    """A server whose tools refuse an argument that they do not have: the SDK drops it, and the answer would be to another question."""

    async def list_tools(self) -> list[Tool]:
        """The tools, each with a schema that admits no other argument."""
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema["additionalProperties"] = False
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """The answer of a tool. Raises ToolError for an argument that it does not have."""
        known = next((list(tool.input_schema["properties"]) for tool in await self.list_tools() if tool.name == name), None)
        strange = [one for one in arguments if known is not None and one not in known]
        if strange:
            near = difflib.get_close_matches(strange[0], known or (), 1, 0.4)
            hint = f"did you mean `{near[0]}`? " if near else ""
            raise ToolError(f"{name} has no argument `{strange[0][:100]}`: {hint}It takes {', '.join(known or ())}")
        return await super().call_tool(name, arguments, context)


INSTRUCTIONS = (
    "rocm-doctor knows which software works on which AMD GPU, with sources. Call `check` with the text of a failing run before you "
    "guess at a cause, `plan` before you install torch, `verify` before you type what you remember, `lint` after you changed what a repository installs, `fit` before a long run. "
    "Tell the user the commands; do not run those that change the system unasked."
)


def server(roots: Roots, python: str | None) -> MCPServer[Any]:
    """The server with all tools."""
    made: MCPServer[Any] = Strict("rocm-doctor", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    tools = Tools(roots, python)
    reading: tuple[Callable[..., Any], ...] = (
        tools.check, tools.facts, tools.plan, tools.env, tools.audit, tools.fit, tools.lint, tools.explain, tools.search, tools.similar,
        tools.verify,
    )  # fmt: skip
    for tool in reading:
        made.tool(annotations=READS, structured_output=False)(tool)
    made.tool(annotations=COMPUTES, structured_output=False)(tools.smoke)
    return made
