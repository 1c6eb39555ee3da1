"""What a person ran: commands, installations and the index of torch, container images and the versions in their tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.python.packages import record_wheels
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.pip_list import pinned_packages
from rocm_doctor.probes.text.prose_text import Sentence, lines

MOST = 20
_PROMPT = regex(
    r"^\s*(?:\([\w.-]{1,40}\)\s*)?(?:\[?[\w.<>-]{1,40}@[\w.<>-]{1,60}[\]: ][^$#\n]{0,120}[$#]|PS [A-Z]:\\[^>\n]{0,120}>"
    r"|[A-Z]:\\[^>\n]{0,120}>|[$%❯➜>])\s+(?!>)(\S.*)$"
)
_PROGRAMS = regex(
    r"^\s*((?:sudo\s+(?:-\S+\s+)*|time\s+|[A-Z][A-Z0-9_]{2,40}=\S+\s+){0,8}(?:python[\d.]*|py|pip[\d.]*|uv|uvx|conda|mamba"
    r"|docker|podman|apptainer|distrobox|toolbox|accelerate"
    r"|torchrun|deepspeed|vllm|ollama|llama-\w+|rocminfo|rocm-smi|amd-smi|clinfo|hipconfig|hipcc|apt(?:-get)?|dnf|pacman|yay"
    r"|wget|curl|git|make|cmake|ninja|bash|sh|export"
    r"|amdgpu-install|modprobe|\./[\w./-]+|\.\\[\w.\\-]+|axolotl|llamafactory-cli|tune|unsloth)\s+(?!\d+\.\d)[-\w\"'./~<].*)$"
)
_SPAN = regex(r"`([^`\n]{4,300})`")
_PROSE = regex(r"\b(?:is|was|does|did|the|gives?|fails?|works?|says|then|my|it)\b", re.I)
_PIP = regex(r"\b(?:pip[\d.]*|uv pip|uv add|python[\d.]* -m pip|poetry add)\s+(?:install|add)\b|\buv add\b|\bconda install\b")
_TORCH_WORD = regex(r"(?<![\w./-])torch(?:\[\w+\])?(?=[\s=<>~\"']|$)")
_INDEX = regex(
    r"https?://[^\s\"'\\)]+|(?<=[\s=])\.\.\.[^\s\"'\\)]+|(?:--index-url|--extra-index-url|-i|-f|--find-links)[ =](\S+)"
)
_OFFICIAL = regex(r"whl/(?:nightly/|test/)?(rocm(\d+\.\d+(?:\.\d+)?)|cu\d+|cpu|xpu)\b")
_RADEON = regex(r"rocm-rel-(\d+\.\d+(?:\.\d+)?)")
_THEROCK = regex(
    r"rocm\.nightlies\.amd\.com|rocm\.(?:prereleases|devreleases)\.amd\.com|repo\.amd\.com/rocm|/v2(?:-staging)?/gfx"
    r"|whl-multi-arch|whl-staging-multi-arch"
)
_NAMED_INDEX = regex(r"\b(nightly/)?(rocm(\d+\.\d+(?:\.\d+)?)|cu1[0-9]{2})\s+index\b|\bindex(?: of| for)? (rocm(\d+\.\d+))", re.I)
_FROM_PYPI = regex(r"\btorch\b[^,;]{0,30}\bfrom (?:pip|pypi)\b", re.I)
_WHEEL = regex(
    r"(?<![\w])((?:torch|torchvision|torchaudio|bitsandbytes|triton|pytorch_triton_rocm|flash_attn|xformers"
    r"|vllm))-(\d[\w.]*(?:(?:\+|%2B)[\w.]+)?)-(?:cp|py)(\d{1,3})"
)
_PULLED = regex(r"^\s*(?:Downloading|Collecting)\s+(?:https?://\S+/)?torch(?:-|==)(\d[\w.]*(?:(?:\+|%2B)[\w.]+)?)")
_IMAGE = regex(
    r"(?:rocm/(?:pytorch|pytorch-nightly|vllm|vllm-dev|dev-ubuntu-[\d.]+|sgl-dev):([\w.-]{3,120})"
    r"|(?<![\w/])(rocm\d+\.\d+(?:\.\d+)?_ubuntu[\w.]{3,100}))"
)
_ROCM_TAG = regex(r"rocm-?_?(\d+\.\d+(?:\.\d+)?)(?=[_-]|$)")
_INSTALLER = regex(
    r"amdgpu-install_(\d+\.\d+(?:\.\d+)?)\.\d{5,6}|/amdgpu-install/(\d+\.\d+(?:\.\d+)?)/"
    r"|therock-dist-\w+-gfx\w+-(\d+\.\d+\.\d+\w*)|rocm/apt/(\d+\.\d+(?:\.\d+)?)"
)


def record_commands(result: ProbeResult, document: Document, text: list[Sentence]) -> None:
    """said.install, said.torch_index, and versions in the names of wheels, images and installers."""
    commands = list(dict(islice(_commands(document), MOST)).items())
    installs = [(c, r) for c, r in commands if _PIP.search(c)]
    if installs:
        result.record("said.install", tuple(c for c, _ in installs), installs[0][1])
    for command, reading in installs:
        _install(result, command, reading)
    for sentence in text:
        _indexes(result, sentence)
        _files(result, sentence)
        _images(result, sentence)


def _commands(document: Document) -> Iterator[tuple[str, Reading]]:
    """Commands: behind a prompt, at the start of a line with a known program, or between backticks."""
    numbered = dict(lines(document.text))
    for number, line in numbered.items():
        reading = Reading(document.name, f"line {number}", " ".join(line[:400].split())[:200])
        found = _PROMPT.match(line[:600]) or (None if _PROSE.search(line[:200]) else _PROGRAMS.match(line[:600]))
        if found:
            yield " ".join(_continue(found.group(1), number, numbered).split())[:400], reading
        for span in _SPAN.findall(line[:2000]) if "`" in line else ():
            if _PROGRAMS.match(span):
                yield " ".join(span.split())[:400], reading


def _continue(command: str, number: int, lines: dict[int, str]) -> str:
    """The command with its continuation lines (backslash at the end; ten at most)."""
    for step in range(1, 11):
        if not command.rstrip().endswith("\\"):
            break
        command = command.rstrip()[:-1] + " " + lines.get(number + step, "")
    return command


def _install(result: ProbeResult, command: str, reading: Reading) -> None:
    """said.install and said.torch_index: where torch came from and what was pinned."""
    pinned = dict(pinned_packages(command))
    for name, version in pinned.items():
        result.record("torch.version" if name == "torch" else f"pkg.{name}", version, reading)
    record_wheels(result, {name: (version, reading) for name, version in pinned.items()})
    if _TORCH_WORD.search(command) and not _INDEX.search(command) and ".whl" not in command:
        result.record("said.torch_index", "pypi", reading)


def _indexes(result: ProbeResult, sentence: Sentence) -> None:
    text = sentence.text
    if _FROM_PYPI.search(text):
        result.record("said.torch_index", "pypi", sentence.reading)
    if "whl" not in text and "index" not in text and "amd.com" not in text and "rocm-rel" not in text:
        return
    reading = sentence.reading
    official = _OFFICIAL.search(text)
    named = _NAMED_INDEX.search(text)
    if official or named:
        tag = official.group(1) if official else (named.group(2) or named.group(4)) if named else ""
        result.record("said.torch_index", tag.lower(), reading)
        if "torch" in text or "index" in text:
            record_build(result, Build(f"0+{tag.lower()}"), reading)
    elif "radeon.com" in text and _RADEON.search(text):
        result.record("said.torch_index", "repo.radeon.com", reading)
        record_build(result, Build(f"0+rocm{_RADEON.findall(text)[0]}"), reading)
    elif _THEROCK.search(text):
        result.record("said.torch_index", "therock", reading)
        result.record("torch.build", "rocm", reading)
        result.record("torch.family", "therock", reading)


def _files(result: ProbeResult, sentence: Sentence) -> None:
    """Versions and Python tags in the file names of wheels."""
    text = sentence.text
    pulled = _PULLED.match(text)
    if pulled:
        result.record("said.torch_download", pulled.group(1).replace("%2B", "+"), sentence.reading)
        return
    for found in _WHEEL.finditer(text) if "-cp" in text or "-py" in text else ():
        name, version, python = found.group(1), found.group(2).replace("%2B", "+"), found.group(3)
        result.record("torch.version" if name == "torch" else f"pkg.{name.replace('_', '-')}", version, sentence.reading)
        if name == "torch":
            record_build(result, Build(version), sentence.reading)
        if len(python) > 1:
            result.record("python.version", f"{python[0]}.{python[1:]}", sentence.reading)
    installer = _INSTALLER.search(text)
    if installer:
        result.record("rocm.version", next(g for g in installer.groups() if g), sentence.reading)


def _images(result: ProbeResult, sentence: Sentence) -> None:
    """ROCm, distribution, Python and torch versions in the tags of AMD's images."""
    for found in _IMAGE.finditer(sentence.text) if "rocm" in sentence.text else ():
        tag = (found.group(1) or found.group(2)).rstrip(".")
        if re.search(r"\b(?:also|or)\b.{0,30}$", sentence.text[: found.start()], re.I):
            continue
        result.record("container", "docker", sentence.reading)
        for fact, pattern in (
            ("rocm.version", _ROCM_TAG),
            ("python.version", regex(r"_py(3\.\d{1,2})")),
            ("torch.version", regex(r"_pytorch_(?:release_)?(\d+\.\d+(?:\.\d+)?)")),
        ):
            value = pattern.search(tag)
            if value:
                result.record(fact, value.group(1), sentence.reading)
        ubuntu = re.search(r"_ubuntu(\d\d\.\d\d)", tag)
        if ubuntu:
            result.record("os", f"Ubuntu {ubuntu.group(1)}", sentence.reading)
