"""Commands pasted with their output: the answers to the doctor's questions, and the same commands in other spellings.

A run is a line that is a command (behind a prompt, or known word for word) and the lines up to the next one. Each reader below takes the
runs of its own program: `python -c "import torch; print(...)"` (the code names what is printed), `id`, `ls -l`, `cat`, `env | grep`.

    ==> paste/text <==
    $ uname -sr
    Linux 6.8.0-60-generic
    $ lsmod | grep amdgpu
    amdgpu              17092608  12

>>> print(probe(sample))
kernel = 6.8.0-60-generic
platform = linux
wsl = no
said.ran = uname -sr, lsmod | grep amdgpu
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading, Value
from rocm_doctor.probes.kernel.host import record_command_line
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.printed import canonical
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_MOST_RUNS = 60
_MOST_LINES = 400
_PROMPT = regex(
    r"^[ \t>]*(?:\([\w.-]{1,40}\)[ \t]*)?"
    r"(?:\[?[\w.<>-]{1,40}@[\w.<>-]{1,60}[\]: ][^$#\n]{0,120}[$#]|PS [A-Z]:\\[^>\n]{0,120}>|[$%❯➜#]|>>>|In ?\[\d+\]:)[ \t]*(\S.*)?$"
)
_BARE = regex(
    r"^[ \t>]*((?:sudo )?(?:id|groups|systemd-detect-virt|uname|lsmod|pip list|pip3 list|rocminfo|lscpu|env \||cat /|ls (?:-\w+ )?/|grep MES|mokutil"
    r"|(?:python|python3|py)[\d.]* -c |Get-C)[^\n]*)$"
)
_ID = regex(r"uid=(\d{1,10})\(?([^)\s]*)\)?\s.*?groups=(\S+)")
_NO_FILE = regex(r"(?:cat|ls|grep): .{0,30}?'?(/[\w./-]+)'?: No such file")
_ROW = regex(r"^([A-Za-z][\w.-]*)\s+(\d[\w.+!]*)(?:\s+\S+)?$")


class CommandRun(NamedTuple):
    """One command with the lines that it printed, and where each was read."""

    command: str
    at: Reading
    output: list[tuple[str, Reading]]


def probe(artifacts: Artifacts) -> ProbeResult:
    """Facts from the output of known commands; `said.ran` are the commands."""
    result = ProbeResult()
    found = [run for document in artifacts.texts() for run in islice(runs(document), _MOST_RUNS)]
    for run in found:
        for reads, reader in _READERS:
            if reads.search(run.command):
                reader(result, run)
    if found:
        result.record("said.ran", tuple(run.command for run in found), found[0].at)
    return result


def runs(document: Document) -> Iterator[CommandRun]:
    """Each command of the text with its output; decoration lines do not end an output."""
    current: CommandRun | None = None
    for number, line in enumerate(document.text.split("\n"), 1):
        text = line[:2000].rstrip("\r")
        found = _PROMPT.match(text) or _BARE.match(text)
        reading = Reading(document.name, f"line {number}", " ".join(text.split())[:200])
        if found:
            if current:
                yield current
            current = CommandRun(found[1].strip(), reading, []) if found[1] else None
        elif current and len(current.output) < _MOST_LINES and text.strip():
            current.output.append((text.strip(), reading))
    if current:
        yield current


def _record_python(result: ProbeResult, run: CommandRun) -> None:
    """`python -c CODE`, or an expression that was typed: each printed line is read by the expressions that it shows."""
    output = [(re.sub(r"^Out ?\[\d+\]:\s*", "", text), reading) for text, reading in run.output]
    for text, reading in output if "torch" in run.command else ():
        if "No module named 'torch'" in text:
            result.record("torch.version", None, reading)
            return
    for expressions in _shown_expressions(run.command):
        names = [ast.unparse(expression) for expression in expressions]
        pattern = regex(r"\s+".join(_shape(name, one) for name, one in zip(names, expressions)))
        for number, (text, reading) in enumerate(output):
            if values := pattern.fullmatch(text):
                for name, value in zip([n for n in names if n in _PRINTED or n.endswith(".__version__")], values.groups()):
                    _add_printed(result, name, value, reading)
                output = output[number + 1 :]
                break


def _shown_expressions(command: str) -> list[list[ast.expr]]:
    """The arguments of each `print`, or the one expression that an interactive Python shows."""
    try:
        code = command if command.startswith(_TYPED) else shlex.split(command)[shlex.split(command).index("-c") + 1]
        tree = ast.parse(code)
    except (ValueError, IndexError, SyntaxError):
        return []
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "print"]
    typed = [[one.value] for one in tree.body if isinstance(one, ast.Expr)] if command.startswith(_TYPED) else []
    return [call.args for call in calls] or typed


def _shape(name: str, argument: ast.expr) -> str:
    """The pattern of what one expression leaves in the line; a group for one that is a fact."""
    if isinstance(argument, ast.Constant):
        return re.escape(str(argument.value))
    if name in _PRINTED:
        return f"'?({_PRINTED[name][0]})'?"
    return r"'?([^\s']+)'?" if name.endswith(".__version__") else ".*?"


_TYPED = ("torch.", "sys.", "platform.", "print(")
_WORD, _LIST, _FLAG = r"[^\s']+", r"\[[^\]]*\]", "True|False"
_PRINTED: dict[str, tuple[str, str]] = {
    "torch.__version__": (_WORD, "torch.version"),
    "torch.version.hip": (_WORD, "torch.hip"),
    "torch.version.cuda": (_WORD, "torch.cuda"),
    "torch.cuda.is_available()": (_FLAG, "torch.available"),
    "torch.cuda.get_arch_list()": (_LIST, "torch.arch_list"),
    "torch.cuda.get_device_properties(0).gcnArchName": (r"gfx\w+[^\s']*", "gpu.gfx"),
    "torch.cuda.get_device_name(0)": (r"\S.*?", "gpu.marketing_name"),
    "platform.python_version()": (_WORD, "python.version"),
    "sys.version.split()[0]": (_WORD, "python.version"),
    "sys.prefix": (r"\S.*", "python.prefix"),
}
"""Pattern and fact of a printed expression."""


def _add_printed(result: ProbeResult, name: str, value: str, reading: Reading) -> None:
    if name not in _PRINTED:
        result.record(f"pkg.{canonical(name.partition('.')[0])}", value, reading)
        return
    shape, fact = _PRINTED[name]
    if fact.startswith("gpu."):
        gpu = result.listing(complete=False).gpu()
        result.record(fact[4:], value.partition(":")[0] if fact == "gpu.gfx" else value, reading, into=gpu)
        return
    result.record(fact, _value(shape, value), reading)
    if fact == "torch.version":
        record_build(result, Build(value), reading)
    if fact == "torch.hip" and value != "None":
        result.record("torch.build", "rocm", reading)


def _value(shape: str, value: str) -> Value:
    if shape == _FLAG:
        return value == "True"
    if shape == _LIST:
        return tuple(re.findall(r"'([^']*)'", value))
    return None if value == "None" else value


def _record_id(result: ProbeResult, run: CommandRun) -> None:
    """`id`: `uid=1000(ada) gid=1000(ada) groups=1000(ada),992(render)`; `id -nG` and `groups`: names in one line."""
    for text, reading in run.output:
        found = _ID.match(text)
        if found:
            groups = re.findall(r"(\d+)(?:\(([^)]*)\))?", found[3])
            result.record("user.root", found[1] == "0", reading)
            result.record("user.gids", tuple(number for number, _ in groups), reading)
            result.record("user.groups", tuple(name or number for number, name in groups), reading)
            return
    names = re.search(r"\bid -(?:nG|Gn)\b|\bgroups\b", run.command)
    words = run.output[0][0].partition(" : ")[2].split() or run.output[0][0].split() if run.output else []
    if names and words and all(re.fullmatch(r"[\w.-]{1,32}", word) for word in words):
        result.record("user.groups", tuple(words), run.output[0][1])


_SINGLE = (
    (regex(r"\buname -s?r\b"), regex(r"(?:Linux )?(\d+\.\d+\.\d+[\w.+~-]*)"), "kernel"),
    (regex(r"/opt/rocm/\.info/version"), regex(r"(\d+\.\d+\.\d+)(?:-\S+)?"), "rocm.version"),
    (regex(r"/sys/module/amdgpu/version"), regex(r"(\d+\.\d+\.\d+)"), "driver.version"),
    (regex(r"^systemd-detect-virt --vm$"), regex(r"([a-z][a-z0-9-]{1,20})"), "virtual_machine"),
    (regex(r"/proc/sys/kernel/numa_balancing"), regex(r"([012])"), "numa_balancing"),
    (regex(r"/proc/cmdline"), regex(r"(.*=.*)"), "cmdline"),
)
"""Commands whose answer is the one line of this form; that the file does not exist means that there is none."""


def _record_single(result: ProbeResult, run: CommandRun) -> None:
    for command, shape, fact in _SINGLE:
        for text, reading in run.output if command.search(run.command) else ():
            if (missing := _NO_FILE.match(text)) and command.search(missing[1]):
                result.record(fact, None, reading)
            elif not missing and (found := shape.fullmatch(text)):
                if fact == "cmdline":
                    record_command_line(result, text, reading)
                else:
                    result.record(fact, _single_value(fact, found[1]), reading)
                if fact == "driver.version":
                    result.record("driver.loaded", True, reading)
                elif fact == "kernel":
                    result.record("platform", "linux", reading)
                    result.record("wsl", "microsoft" in found[1].lower(), reading)
                break


def _single_value(fact: str, text: str) -> Value:
    return text != "0" if fact == "numa_balancing" else None if text == "none" else text


def _record_files(result: ProbeResult, run: CommandRun) -> None:
    """container and dxg.exists from `ls` of files that show them."""
    missing = {found[1] for text, _ in run.output if (found := _NO_FILE.match(text))}
    marks = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
    if all(mark in run.command for mark in marks):
        shown = [mark for mark in marks if mark not in missing and any(mark in text for text, _ in run.output)]
        there = marks[shown[0]] if shown else None
        if there or missing >= marks.keys():
            result.record("container", there, run.output[0][1])
    if "/dev/dxg" in run.command and run.output:
        result.record("dxg.exists", "/dev/dxg" not in missing, run.output[0][1])


def _record_modules(result: ProbeResult, run: CommandRun) -> None:
    """driver.loaded from `lsmod | grep amdgpu`: no output (except another command's error) means not loaded."""
    if all(_NO_FILE.match(text) for text, _ in run.output):
        result.record("driver.loaded", False, run.at)


def _record_packages(result: ProbeResult, run: CommandRun) -> None:
    """A plain `pip list` (text/pip_list.py reads its rows) is complete: what is not listed is not installed."""
    rows = [found[1] for text, _ in run.output if (found := _ROW.match(text))]
    if len(rows) >= 3 and any(text.startswith("Package") for text, _ in run.output[:4]):
        result.record("pkg.", True, run.at)
        if all(canonical(name) != "torch" for name in rows):
            result.record("torch.version", None, run.at)


def _record_variables(result: ProbeResult, run: CommandRun) -> None:
    """`env | grep ...` with the question's list of prefixes (text/env_text.py reads its lines): what is not printed is not set."""
    result.record("env.", True, run.at)


def _record_video(result: ProbeResult, run: CommandRun) -> None:
    """GPUs from Windows' list of display adapters: `Name : AMD Radeon RX 9070 XT`."""
    for text, reading in run.output:
        found = re.match(r"Name\s*:\s*(.*(?:Radeon|AMD).*)$", text)
        if found:
            result.record("platform", "windows", reading)
            result.record("marketing_name", found[1].strip(), reading, into=result.listing(complete=False).gpu())


_READERS: tuple[tuple[re.Pattern[str], Callable[[ProbeResult, CommandRun], None]], ...] = (
    (regex(r"\b(?:python|py)[\d.]* -c |^(?:torch|sys|platform)\.|^print\("), _record_python),
    (regex(r"^(?:sudo )?(?:id|groups)\b|; ?(?:id|groups)\b"), _record_id),
    (regex(r"\buname -|\bcat /|^systemd-detect"), _record_single),
    (regex(r"\bls\b[^|]* /"), _record_files),
    (regex(r"\blsmod \| grep (?:-\w )?amdgpu\b"), _record_modules),
    (regex(r"^(?:python3? -m )?pip3? list$"), _record_packages),
    (regex(r"^env \| grep -E '\^\(ACCELERATE\||^Get-ChildItem Env: "), _record_variables),
    (regex(r"Win32_VideoController"), _record_video),
)
