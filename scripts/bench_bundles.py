"""Time and memory of `check`, `probe` and `bundle` on bundles as large as they may be, filled with one hostile content after the other.

    python scripts/bench_bundles.py [--content NAME ...] [--formats json html ...]

Half of each bundle is a log, a sixth free text, a third the output of known tools. One `check` writes all formats, so no single one takes
more. Ends with 1 when a command takes more than 10 s
of processor time or 300 MiB, or ends otherwise than with 0, 1 or 2 (all blanks: empty). Linux only: the children's use is read from the kernel.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rocm_doctor.bounded.files import MIB
from rocm_doctor.reports import FORMATS
from rocm_doctor.sources.bundle.archives import TOTAL

SECONDS, MEMORY = 10, 300
TOOLS = (
    "cmd/rocminfo",
    "cmd/amd-smi static --json",
    "cmd/rocm-smi -a",
    "cmd/lspci",
    "env",
    "py/packages",
    "cmd/clinfo",
    "kernel/log",
)
_DRAW = random.Random(5)


def of(piece: str) -> Callable[[int], str]:
    """One piece again and again."""
    return lambda size: (piece * (size // len(piece) + 1))[:size]


def each(line: Callable[[int], str]) -> Callable[[int], str]:
    """Lines of which no two are the same."""

    def made(size: int) -> str:
        lines: list[str] = []
        length = 0
        while length < size:
            lines.append(line(len(lines)))
            length += len(lines[-1]) + 1
        return "\n".join(lines)[:size]

    return made


def drawn(letters: str, length: int) -> str:
    return "".join(_DRAW.choices(letters, k=length))


CONTENTS: dict[str, Callable[[int], str]] = {
    "one line": of("x"),
    "short lines": of("a\n"),
    "blanks": of(" "),
    "carriage returns": of("\r"),
    "NUL": of("\0"),
    "escape sequences": of("\x1b[31m"),
    "emoji and letters that grow": of("\u0130\U0001f600"),
    "slashes": of("/"),
    "backslashes": of("\\"),
    "dots": of("1.2.3."),
    "brackets": of("["),
    "nested JSON": of('{"a":['),
    "JSON of empty lists": lambda size: "[" + "[]," * ((size - 4) // 3) + "[]]",
    "quotes in JSON": of('"a":"b\\"c",'),
    "quoted mail": of("> "),
    "base64": lambda size: base64.b64encode(_DRAW.randbytes(size))[:size].decode(),
    "hex": lambda size: _DRAW.randbytes(size).hex()[:size],
    "lines of hex": each(lambda n: _DRAW.randbytes(32).hex()),
    "colons": of("fe80:1234:"),
    "IPv6": of("2001:db8:1:2:3:4:5:6 "),
    "APIKEY=": of("APIKEY="),
    "keys": each(lambda n: f"key{n}: {drawn('abcdefABCDEF0123456789', 24)}"),
    "one key": of("APIKEY=abcd1234\n"),
    "variables": each(lambda n: f"V{n}_TOKEN=x{n}"),
    "private keys": of("-----BEGIN PRIVATE KEY-----\n"),
    "URLs": each(lambda n: f"https://host{n}.example.net/a/b?token={n:08x}abcdefgh"),
    "mail addresses": each(lambda n: f"u{n}a@h{n}b.net"),
    "prompts": each(lambda n: f"[u{n}x@h{n}y ~]$ ls"),
    "homes": each(lambda n: f"/home/u{n}ser/x"),
    "one home": of("/home/jroe/x "),
    "serial numbers": each(lambda n: f"Serial Number: AB{n:08d}"),
    "NCCL": each(lambda n: f"node{n}a:123:12{n % 10} [0] NCCL INFO x"),
    "ls -l": each(lambda n: f"crw-rw---- 1 u{n} g{n} 226, 0 Nov 1 10:00 /dev/x"),
    "ps": of("USER PID TTY\n"),
    "login": of("login "),
    "tracebacks": of('Traceback (most recent call last):\n  File "/home/jroe/x.py", line 3, in f\nRuntimeError: HIP error: invalid device function\n'),
    "site-packages": of("by_keyinclude-system-site-packages."),
    "kernel log": each(lambda n: f"[{n}.{n % 1000000:06d}] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq={n}"),
    "words of the field": of("amdgpu HIP ROCm gfx1100 error invalid torch\n"),
    "words": each(lambda n: " ".join(drawn("abcdefghijklmnopqrstuvwxyz", 5) for _ in range(10))),
    "packages": each(lambda n: f"package{n} 1.{n}"),
    "versions": of("torch==2.5.0+rocm6.2\n"),
    "rocminfo": of("*******\nAgent 2\n*******\n  Name:                    gfx1100\n  Uuid:                    GPU-1234567890abcdef\n"),
}  # fmt: skip


MEASURE = """
import json, os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, child.returncode]))
"""
"""Runs a command from a small process: the peak of a child is never below that of the process that started it."""


class Used(NamedTuple):
    """Processor time in seconds, the peak in MiB, and the exit code of one command."""

    seconds: float
    memory: int
    code: int

    @property
    def too_much(self) -> bool:
        return self.seconds > SECONDS or self.memory > MEMORY or self.code not in (0, 1, 2)


def bundle(content: str, path: Path, size: int = TOTAL - MIB // 4) -> None:
    """A zip of `size` bytes of this content."""
    made = CONTENTS[content]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr("log/train.log", _bytes(made(size // 2), size // 2))
        packed.writestr("ticket.txt", _bytes(made(size // 6), size // 6))
        for name in TOOLS:
            packed.writestr(name, _bytes(made(size // 3 // len(TOOLS)), size // 3 // len(TOOLS)))


def _bytes(text: str, size: int) -> bytes:
    return text.encode("utf-8", "replace")[:size]


def used(*arguments: str) -> Used:
    """What `rocm-doctor` with these arguments used."""
    command = [sys.executable, "-m", "rocm_doctor", *arguments]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    seconds, memory, code = json.loads(done.stdout)
    return Used(seconds, memory, code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--content", nargs="*", choices=CONTENTS, default=list(CONTENTS), metavar="NAME")
    parser.add_argument("--formats", nargs="*", choices=FORMATS, help="a run for each; by default one run writes all of them")
    args = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-bench-") as folder:
        path = Path(folder, "bundle.zip")
        for content in args.content:
            bundle(content, path)
            if args.formats:
                runs = {f"check {name}": used("check", str(path), "--format", name) for name in args.formats}
            else:
                every = [word for name in FORMATS for word in ("--format", name, "-o", str(Path(folder, name)))]
                runs = {"check in all formats": used("check", str(path), *every)}
            runs["probe"] = used("probe", str(path), "--format", "json")
            runs["bundle"] = used("bundle", str(path), "-o", str(Path(folder, "out.zip")))
            wrong += sum(one.too_much for one in runs.values())
            told = ", ".join(f"{n} {u.seconds:.1f} s {u.memory} MiB{' <-' if u.too_much else ''}" for n, u in runs.items())
            print(f"{content:28} {told}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
