"""The server of the Model Context Protocol, driven by the SDK's own client over standard input and output, and the format for agents."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner

from rocm_doctor import pipeline
from rocm_doctor.cli import cli
from rocm_doctor.matrix import load
from rocm_doctor.reports import RenderOptions, render

ROOT = Path(__file__).resolve().parents[1]
LOG = "RX 7900 XTX\nRuntimeError: HIP error: invalid device function\n"
T = TypeVar("T")


def sdk() -> Any:
    """The SDK, imported by the tests that need it: it takes a second."""
    return pytest.importorskip("mcp", reason="the extra `mcp` is not installed")


def served(root: Path, talk: Callable[[Any], Awaitable[T]], *options: str) -> T:
    """What a client gets from a server that was started as an agent starts it."""
    sdk()
    from mcp.client.stdio import StdioServerParameters

    argv = ["-m", "rocm_doctor", "mcp", "--root", str(root), *options]
    return told(StdioServerParameters(command=sys.executable, args=argv, cwd=str(ROOT)), talk)


def told(server: Any, talk: Callable[[Any], Awaitable[T]]) -> T:
    """What a client gets from a server: one to be started, or one in this process."""

    async def session() -> T:
        async with sdk().Client(server) as client:
            return await talk(client)

    return asyncio.run(session())


def text(result: Any) -> str:
    assert not result.is_error, result.content[0].text
    return str(result.content[0].text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "train.log").write_text(LOG)
    (tmp_path / "requirements-rocm.txt").write_text("--index-url https://download.pytorch.org/whl/cu128\ntorch==2.9.1\n")
    (tmp_path / "click.py").write_text("raise SystemExit('the working directory was imported')\n")
    return tmp_path


@pytest.mark.slow
def test_the_client_lists_tools_and_calls_one(root: Path) -> None:
    sdk()
    from rocm_doctor.integrations.agents.server import server

    (root / "axolotl.yml").write_text(
        "base_model: Qwen/Qwen2.5-7B\nadapter: qlora\nlora_r: 16\nmicro_batch_size: 2\n", encoding="utf-8"
    )

    async def talk(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["smoke"]
        assert all(tool.description for tool in tools.values())
        assert "arch.not-in-build" in text(await client.call_tool("check", {"paths": ["train.log"]}))
        own = await client.call_tool("fit", {"config": "axolotl.yml", "gpu": "gfx1100", "vram": "24GiB", "seq": 256})
        assert "qlora rank 16, bfloat16, autocast bfloat16, 2 x 256 tokens" in text(own)
        assert (await client.call_tool("check", {"paths": ["../train.log"]})).is_error
        lines = ["pip install torch==2.99 --index-url https://download.pytorch.org/whl/rocm6.4", "rm -rf /", "ROCm 9.9"]
        judged = text(await client.call_tool("verify", {"lines": lines, "gpu": "gfx1100", "python": "3.12", "os": "linux"}))
        assert [line.partition(":")[0] for line in judged.splitlines() if line[0] != " "] == [
            "corrected",
            "withheld",
            "not known",
        ]
        assert "run: pip install torch==" in judged
        assert "gfx1100" in text(await client.call_tool("facts", {"paths": ["train.log"]}))
        assert "HIP_VISIBLE_DEVICES" in text(await client.call_tool("explain", {"words": ["hip_visible_devices"]}))
        assert "HSA_OVERRIDE" in text(await client.call_tool("env", {"gpu": "gfx1031", "os": "linux", "rocm": "6.4"}))
        for name, arguments, words in (
            ("check", {"path": "train.log"}, "no argument `path`: it takes text, paths, format"),
            ("check", {"log": LOG}, "no argument `log`"),
            ("plan", {"gpu": "gfx1100", "rocm_version": "6.4"}, "it takes gpu, os, rocm, "),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error, name
            assert words in result.content[0].text
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
        whole = await client.call_tool("explain", {"words": ["gfx1100"], "verbose": True})
        assert len(text(whole)) <= 20_100
        assert "rocm6.4" in text(await client.call_tool("plan", {"gpu": "gfx1100", "rocm": "6.4"}))

    told(server(cli, [root], None), talk)


@pytest.mark.slow
def test_the_client_lists_and_calls_every_tool(root: Path) -> None:
    calls: dict[str, tuple[dict[str, Any], str]] = {
        "check": ({"text": LOG}, "arch.not-in-build"),
        "explain": ({"words": ["arch.not-in-build"]}, "was built without this GPU's code"),
        "plan": ({"gpu": "gfx1100", "with": ["peft"], "python": "3.12"}, "torch 2."),
        "fit": ({"model": "qwen2.5-7b", "gpu": "gfx1100", "vram": "24GiB"}, "It fits"),
        "lint": ({"gpu": ["gfx1100"]}, "version.torch-not-rocm"),
        "audit": ({"path": "."}, "no GPU code"),
    }

    async def talk(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {*calls, "env", "facts", "smoke", "verify"}
        assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["smoke"]
        for name, (arguments, expected) in calls.items():
            assert tools[name].input_schema["properties"].keys() >= arguments.keys()
            assert tools[name].description
            assert expected in text(await client.call_tool(name, arguments)), name
        assert "arch.not-in-build" in text(await client.call_tool("check", {"paths": ["train.log"]}))
        assert text(await client.call_tool("check", {})).startswith("verdict: ")

    served(root, talk)


@pytest.mark.slow
def test_a_long_answer_is_cut_and_says_so(root: Path) -> None:
    gpus = "\n".join(f"  Name:  gfx1100\n  Marketing Name: AMD Radeon {n}\n  Uuid: GPU-{n:016x}" for n in range(2300))

    async def talk(client: Any) -> str:
        return text(await client.call_tool("check", {"text": LOG + gpus, "format": "json"}))

    answer = served(root, talk)
    assert len(answer) < 20_100
    assert re.search(r"\[cut: \d{6,} more characters", answer)


@pytest.mark.slow
def test_hostile_arguments_are_refused(root: Path) -> None:
    (root / "link").symlink_to("/etc")
    hostile: list[tuple[str, dict[str, Any]]] = [
        *(
            ("check", {"paths": [path]})
            for path in ("/etc/passwd", "../" * 9 + "etc/passwd", "link/passwd", "~root/x", "a\x00b", "a\nb")
        ),
        *(("audit", {"path": path}) for path in ("/usr/lib", "..", "", "--help") if path),
        ("lint", {"paths": ["/"]}),
        ("lint", {"gpu": ["--help"]}),
        ("lint", {"gpu": ["gfx1100"], "python": "3.12; id"}),
        ("explain", {"words": ["--output=/etc/passwd"]}),
        ("explain", {"words": ["x" * 10_000]}),
        ("explain", {"words": ["-h"]}),
        ("explain", {"words": "gfx1100", "verbose": "yes"}),
        ("check", {"log": "invalid device function"}),
        ("plan", {"gpu": "gfx1100", "rocm_version": "6.4"}),
        ("plan", {"gpu": "gfx1100", "with": ["--format=json"]}),
        ("plan", {"gpu": "gfx1100\n--output=x"}),
        ("plan", {"gpu": "gfx1100", "python": "/bin/sh"}),
        ("fit", {"model": "../../../etc"}),
        ("fit", {"config": "/etc/hostname"}),
        ("fit", {"model": "qwen2.5-7b", "batch": -1}),
        ("fit", {"model": "qwen2.5-7b", "vram": "1e400"}),
        ("check", {"text": 7}),
        ("check", {"text": "x" * 4_000_001}),
        ("check", {"text": "x", "format": "html"}),
        ("nonsense", {}),
    ]

    async def talk(client: Any) -> None:
        for name, arguments in hostile:
            try:
                result = await client.call_tool(name, arguments)
            except sdk().MCPError as exc:
                assert "nonsense" in str(exc)  # noqa: PT017 an unknown tool is an error of the protocol
                continue
            assert result.is_error, (name, arguments, result.content[0].text[:300])
            assert len(result.content[0].text) < 5000
            assert "root:" not in result.content[0].text

    served(root, talk)
    assert {path.name for path in root.iterdir()} == {"train.log", "requirements-rocm.txt", "click.py", "link"}


@pytest.mark.slow
def test_answers_are_redacted(root: Path) -> None:
    async def talk(client: Any) -> str:
        said = LOG + "Traceback: File /home/quokka/train.py\nHF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789\n"
        return text(await client.call_tool("check", {"text": said})) + text(
            await client.call_tool("check", {"text": said, "format": "json"})
        )

    assert "quokka" not in (answer := served(root, talk))
    assert "hf_abc" not in answer


def test_without_the_sdk_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = CliRunner().invoke(cli, ["mcp"])
    assert (done.exit_code, 'pip install "rocm-doctor[mcp] @ git+https' in done.output) == (2, True)


def test_the_skill_names_commands_that_exist() -> None:
    skill = CliRunner().invoke(cli, ["agents", "--print", "skill"]).output
    assert skill.startswith("---\nname: rocm-doctor\ndescription: ")
    for command in {line.split("`rocm-doctor ")[1].split("`")[0] for line in skill.splitlines() if "`rocm-doctor " in line}:
        assert CliRunner().invoke(cli, [command.split()[0], "--help"]).exit_code == 0, command


@pytest.mark.parametrize("name", ["mi50-wrong-override", "two-rx7900xt-rccl-hang", "windows-cpu-wheel"])
def test_the_format_for_agents_is_short_and_whole(name: str) -> None:
    folder = ROOT / "fixtures" / name
    report = pipeline.judge(pipeline.read_paths([folder]), load(), kind="capture")
    agent, terminal = (render(one, report, RenderOptions()) for one in ("agent", "text"))
    assert len(agent) < len(terminal)
    assert agent.startswith(f"verdict: {report.verdict}: ")
    for finding in report.findings:
        if finding.severity != "note" and not finding.follows_from:
            assert all(part in agent for part in (finding.id, finding.title, *(c.text for c in finding.commands)))
