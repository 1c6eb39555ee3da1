"""Mutated inputs for every reader, in this process: no exception but those that it declares, no crashed probe, bounded time and memory.

    python scripts/fuzz.py zip --inputs 100000 [--seed 1]
    python scripts/fuzz.py all --inputs 1000000             shared among the readers

Prints a line for each reader and ends with 1 for any defect. An input depends on the reader, the seed and its number alone. Runs from a source tree (PYTHONPATH=.) with the package's own dependencies. Texts come from fixtures/ and, in a checkout that has it beside it, ../shared/corpus; containers are built here. What breaks is
written to the folder that --keep names, with the reader, the seed and the number of the run.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import io
import json
import random
import resource
import signal
import struct
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from rocm_doctor import pipeline
from rocm_doctor.binaries.inspect import inspect
from rocm_doctor.binaries.view import View
from rocm_doctor.binaries.wheel import audit_wheel
from rocm_doctor.bounded import Unreadable, jsons, tomls, yamls
from rocm_doctor.cli import cli
from rocm_doctor.lint import readers
from rocm_doctor.lint.tree import Tree
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.pairs import roots
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.sources.bundle import BundleError
from rocm_doctor.sources.bundle.archives import members
from rocm_doctor.sources.paste import cut, decode

ROOT = Path(__file__).resolve().parent.parent
PLACES = (ROOT / "fixtures", ROOT.parent / "shared" / "corpus")
LIMIT = 5.0
"""Seconds that one input may take (process time: a busy machine is not the program's fault)."""
MEMORY = 500
"""MiB that the process may grow by."""
HANGS = 60
"""Seconds after which an input is given up."""
LARGEST = 60_000
LETTERS = (0, 9, 10, 32, 42, 58, 92, 124, 0x2028, 0x130, 0x1F600)
HOSTILE = (
    "{" * 400, "\0", "\ufffd" * 50, "a|b*c" * 200, "%s%n" * 50, "((((" * 300, "1." * 2000, "gfx" * 900, "\u0130" * 100, "\r",
    "\x1b[31m", "`" * 999, "HSA_OVERRIDE_GFX_VERSION=" * 80, "/" * 3000, "-" * 5000, "torch==" * 300, "{crash}",
    "rocm" + "0" * 2000, " " * 4000 + "x",
)  # fmt: skip
TEXTS = (".md", ".txt", ".log", ".json")


def seeds() -> list[str]:
    """Texts to start from, cut to a size that keeps a run short."""
    found = (p for place in PLACES for p in sorted(place.rglob("*")) if p.suffix in TEXTS and p.is_file())
    texts = (p.read_bytes().decode("utf-8", "replace")[:LARGEST] for p in found)
    return [text for text in texts if text.strip()]


def dropped(rng: random.Random, text: str, other: str) -> str:
    lines = text.split("\n")
    return "\n".join(line for line in lines if rng.random() > 0.2)


def shuffled(rng: random.Random, text: str, other: str) -> str:
    lines = text.split("\n")
    rng.shuffle(lines)
    return "\n".join(lines)


def spliced(rng: random.Random, text: str, other: str) -> str:
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other)) :]


def interleaved(rng: random.Random, text: str, other: str) -> str:
    return "\n".join(line for pair in zip(text.split("\n"), other.split("\n")) for line in pair)


def scratched(rng: random.Random, text: str, other: str) -> str:
    letters = list(text)
    for _ in range(1 + len(letters) // 50):
        letters[rng.randrange(len(letters))] = chr(rng.choice((*LETTERS, rng.randrange(1, 0xD7FF))))
    return "".join(letters)


def hostile(rng: random.Random, text: str, other: str) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(HOSTILE) * rng.randrange(1, 4) + text[place:]


def joined(rng: random.Random, text: str, other: str) -> str:
    return text.replace("\n", rng.choice((" ", "", "\r", "\n> ", "\n    ", "\r\n")))


Mutation = Callable[[random.Random, str, str], str]
MUTATIONS: tuple[Mutation, ...] = (dropped, shuffled, spliced, interleaved, scratched, hostile, joined)


def mutated(rng: random.Random, texts: Sequence[str]) -> str:
    text = rng.choice(texts)
    for _ in range(rng.randrange(1, 4)):
        text = rng.choice(MUTATIONS)(rng, text or "x", rng.choice(texts))[:LARGEST]
    return text


NUMBERS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)


def mutated_bytes(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Bytes with some replaced, a number set to an odd one, a piece cut, doubled or taken from another."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(data) + 1)
        way = rng.randrange(6)
        if way == 0 and data:
            data[place % len(data)] = rng.randrange(256)
        elif way == 1:
            size = rng.choice((1, 2, 4))
            data[place : place + size] = (rng.choice(NUMBERS) & (256**size - 1)).to_bytes(size, "little")
        elif way == 2:
            del data[place : place + rng.randrange(1, 200)]
        elif way == 3:
            data[place:place] = data[place : place + rng.randrange(1, 200)] * rng.randrange(1, 4)
        elif way == 4:
            other = rng.choice(seeds)
            data[place : place + 100] = other[rng.randrange(len(other)) :][: rng.randrange(1, 300)]
        else:
            data[place:] = data[place:][: rng.randrange(2000)]
    return bytes(data[: 2 * LARGEST])


# ---- seeds

NESTED = ("[", "{", "{a: ", '{"a":', "- ", "? ", "&a ", "*a", "a.", "[a.", "<<: ", "!!int ", "%TAG ! x\n", "\n", ": ", ",", "]", "}", '"',
          "'", "9" * 500, "\\ud83d", "1:", "...", "---\n", "|\n ", "#", "=", "'''", '"""')  # fmt: skip
SYNTAX = (
    '{"torch_version": "2.5.0+rocm6.2", "gpu_name": "AMD Radeon \\ud83d\\ude00", "gpus": [{"gfx_target_version": "gfx1100"}]}',
    "services:\n  a: &a {image: rocm/pytorch, devices: [/dev/kfd], shm_size: 8g}\n  b: {<<: *a}\n",
    "base_model: x\nload_in_4bit: true\nmicro_batch_size: 2\n",
    "name: t\ndependencies:\n  - python=3.12\n  - pip:\n    - torch==2.9.1\n",
    '[project]\nname = "x"\ndependencies = ["torch==2.9.1"]\n[tool.uv.sources]\ntorch = {index = "r"}\n',
    'version = 1\n[[package]]\nname = "torch"\nversion = "2.9.1"\n',
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: pip install torch\n",
)


def packed(members: dict[str, bytes], method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: dict[str, bytes], form: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


MEMBERS = {"cmd/rocminfo": b"Agent 1\n  Name: gfx906\n", "env": b"HIP_VISIBLE_DEVICES=0\n", "log/" + "x" * 150: b"HIP error\n" * 40,
           "artifacts.json": b'[{"name": "env", "origin": "live"}]'}  # fmt: skip
ZIPS = [packed(MEMBERS, m) for m in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)]
TARS = [tarred(MEMBERS, form) for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)]
GZIPS = [gzip.compress(data) for data in (*TARS, b"[    1.0] amdgpu: ring gfx timeout\n" * 20)]
REPOSITORY = (
    "requirements.txt", "pyproject.toml", "uv.lock", "poetry.lock", "environment.yml", "Dockerfile", "compose.yaml", "run.sh", ".env",
    ".github/workflows/ci.yml", "train.yaml", "ds_config.json", "rocm-doctor.yaml", "x.bat",
)  # fmt: skip
NAMES = (
    "cmd/rocminfo", "cmd/amd-smi static --json", "cmd/rocm-smi -a", "env", "uname",
    "py/interpreter", "py/packages", "py/torch/version.py", "sys/module/amdgpu/version", "proc/meminfo", "proc/cpuinfo", "etc/os-release",
    "sys/class/kfd/kfd/topology/nodes/1/properties", "opt/rocm/.info/version", "kernel/log", "log/train.log", "code/audit.json",
    "smoke/results.jsonl", "dev/kfd", "user/groups", "limits/process", "proc/1/cgroup",
)  # fmt: skip


def binaries() -> list[bytes]:
    """An ELF file, a PE file and an offload bundle with their tables, as short as they can be."""
    elf = b"\x7fELF\x02\x01\x01\x40" + bytes(8) + struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 64, 128, 0x41F, 64, 56, 1, 64, 3, 2)
    bundle = (
        b"__CLANG_OFFLOAD_BUNDLE__"
        + struct.pack("<Q", 1)
        + struct.pack("<QQQ", 4096, 64, 32)
        + b"hipv4-amdgcn-amd-amdhsa--gfx906 "
    )
    names = b"\0.hip_fatbin\0.hipFatBinSegment\0libamdhip64.so.6\0"
    machine = (
        b"MZ"
        + bytes(58)
        + struct.pack("<I", 64)
        + b"PE\0\0"
        + struct.pack("<HHIIIHH", 0x8664, 2, 0, 0, 0, 240, 0x22)
        + bytes(400)
    )
    return [elf + bytes(64) + names + bundle + bytes(500), machine + b"hip_fat" + bundle, bundle + bytes(4200), b"KPAK" + bytes(200),
            b"CCOB" + struct.pack("<HHI", 2, 1, 99) + bytes(300)]  # fmt: skip


# ---- readers: what is made of a mutated input; an exception that is not declared is a defect


class Reader(NamedTuple):
    """`make` mutates a seed, `run` reads it and gives what went wrong (nothing: an empty text); `share` of 1000 inputs."""

    make: Callable[[random.Random], Any]
    run: Callable[[Any], str]
    declared: tuple[type[Exception], ...]
    share: int


@functools.cache
def matrix() -> Matrix:
    return load()


@functools.cache
def texts() -> list[str]:
    return seeds()


def syntax(rng: random.Random) -> str:
    text = mutated(rng, SYNTAX)
    for _ in range(rng.randrange(3)):
        place = rng.randrange(len(text) + 1)
        text = text[:place] + rng.choice(NESTED) * rng.choice((1, 2, 70, 3000)) + text[place:]
    return text[:LARGEST]


def through_file(run: Callable[[Path], Any], name: str) -> Callable[[bytes], str]:
    folder = Path(tempfile.mkdtemp(prefix="rocm-doctor-fuzz-"))

    def running(data: bytes) -> str:
        (folder / name).write_bytes(data)
        run(folder / name)
        return ""

    return running


def unpacked(path: Path) -> None:
    """Every member, named and inflated."""
    for _ in members(path):
        pass


def in_repository(given: tuple[str, str]) -> str:
    name, text = given
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-fuzz-") as folder:
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", errors="replace")
        readers.read(Tree(Path(folder)))
    return ""


def judged(artifacts: Sequence[Artifact]) -> str:
    report = pipeline.judge(artifacts, matrix())
    return "; ".join(r.quote for r in report.snapshot.errors if r.artifact.startswith("probe "))


def probed(given: tuple[str, str]) -> str:
    facts = pipeline.read_facts([Artifact(given[0], "bundle", given[1])], matrix())
    return "; ".join(r.quote for r in facts.errors if r.artifact.startswith("probe "))


def redacted(text: str) -> str:
    redactor = Redactor()
    redactor.learn(text)
    redactor.replace(text)
    return ""


def inspected(data: bytes) -> str:
    inspect(View(io.BytesIO(data), len(data)), "x", "x")
    return ""


COMMANDS = (
    ("check", "{}", "--format", "json"), ("check", "{}", "--verbose"), ("check", "--log", "{}", "{}"), ("probe", "{}"), ("bundle", "{}", "-o", "{}.zip"),
    ("audit", "{}"), ("lint", "{}.d", "--gpu", "gfx1100"), ("triage", "{}"), ("fit", "--gpu", "gfx1100", "--config", "{}"), ("fleet", "judge", "{}"),
)  # fmt: skip
"""What a person runs on a file that a stranger sent; `{}` is the file, `{}.d` a folder that holds it."""


def command(rng: random.Random) -> tuple[tuple[str, ...], bytes]:
    words = rng.choice(COMMANDS)
    if rng.random() < 0.2:
        return words, mutated_bytes(rng, [*ZIPS, *TARS, *GZIPS])
    text = syntax(rng) if rng.random() < 0.3 else mutated(rng, texts())[: rng.choice((2_000, 20_000, 100_000))]
    if words[0] == "triage" and rng.random() < 0.9:
        text = json.dumps({"action": "opened", "issue": {"number": 1, "title": text[:80], "body": text, "user": {"login": "x"}}})
    return words, text.encode("utf-8", "replace")


def commanded(given: tuple[tuple[str, ...], bytes]) -> str:
    """The whole command on a file, and what it ended with if that is no documented exit code."""
    words, data = given
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-fuzz-") as folder:
        path = Path(folder, "x.txt")
        for place in (path, Path(f"{path}.d", "requirements.txt"), Path(f"{path}.d", "run.sh")):
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        done = CliRunner().invoke(cli, [word.replace("{}", str(path)) for word in words])
    ended = done.exception is None or isinstance(done.exception, SystemExit)
    return "" if ended and done.exit_code in (0, 1, 2, 3) else f"{' '.join(words)}: {done.exit_code}, {done.exception!r}"


def quietly(run: Callable[[Any], Any]) -> Callable[[Any], str]:
    def running(given: Any) -> str:
        run(given)
        return ""

    return running


def _bytes_of(containers: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    return lambda rng: mutated_bytes(rng, containers)


def _named(names: Sequence[str], made: Callable[[random.Random], str]) -> Callable[[random.Random], tuple[str, str]]:
    return lambda rng: (rng.choice(names), made(rng))


READERS: dict[str, Reader] = {
    "zip": Reader(_bytes_of(ZIPS), through_file(unpacked, "x.zip"), (BundleError, Unreadable), 150),
    "tar": Reader(_bytes_of(TARS), through_file(unpacked, "x.tar"), (BundleError, Unreadable), 120),
    "gzip": Reader(_bytes_of(GZIPS), through_file(unpacked, "x.gz"), (BundleError, Unreadable), 120),
    "wheel": Reader(_bytes_of([packed({"torch/lib/libtorch_hip.so": d}, m) for d in binaries() for m in (0, 8)]),
                    through_file(audit_wheel, "x.whl"), (Unreadable,), 80),
    "binary": Reader(_bytes_of(binaries()), inspected, (), 150),
    "yaml": Reader(syntax, quietly(yamls.values), (Unreadable,), 100),
    "toml": Reader(syntax, quietly(tomls.values), (Unreadable,), 80),
    "json": Reader(syntax, quietly(lambda text: str(jsons.loads(text)).encode()), (Unreadable,), 75),
    "loose-json": Reader(syntax, quietly(roots), (), 60),
    "bytes": Reader(_bytes_of([t.encode(c, "replace") for t in SYNTAX for c in ("utf-8", "utf-16", "latin-1")]), quietly(decode), (), 20),
    "lint": Reader(_named(REPOSITORY, syntax), in_repository, (), 15),
    "redaction": Reader(lambda rng: mutated(rng, texts()), redacted, (), 8),
    "artifact": Reader(_named(NAMES, lambda rng: mutated(rng, texts())[:4000]), probed, (), 10),
    "report": Reader(lambda rng: mutated(rng, texts()), lambda text: judged(cut(text, "fuzz")), (), 7),
    "command": Reader(command, commanded, (), 5),
}  # fmt: skip


def peak() -> int:
    """MiB that this process has reached."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fault(reader: Reader, given: Any, most: int) -> tuple[str, float]:
    """What went wrong with this input (nothing: an empty text), and the seconds it took. `most`: MiB that the process may reach."""
    start = time.process_time()
    try:
        with at_most(HANGS):
            wrong = reader.run(given)
    except reader.declared:
        wrong = ""
    except Exception as exc:
        wrong = f"{type(exc).__name__}: {exc}"
    took = time.process_time() - start
    wrong = wrong or (f"{peak()} MiB" if peak() > most else "")
    return wrong or (f"{took:.2f} s" if took > LIMIT else ""), took


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in what takes longer: an input without an end is a defect, and no reason to wait."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def campaign(name: str, numbers: range, seed: int) -> Iterator[tuple[int, Any, str, float]]:
    """(number, input, what went wrong, seconds) of every run of one reader."""
    most = peak() + MEMORY  # a test runner holds more than the readers
    for number in numbers:
        given = READERS[name].make(random.Random(f"{name}-{seed}-{number}"))
        yield (number, given, *fault(READERS[name], given, most))


def kept(folder: Path, name: str, given: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = given if isinstance(given, bytes) else repr(given).encode("utf-8", "surrogatepass")
    (folder / name).write_bytes(data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=("all", *READERS))
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"), help="folder for the inputs that broke something")
    args = parser.parse_args()
    wrong = 0
    for name in READERS if args.reader == "all" else (args.reader,):
        inputs = args.inputs * READERS[name].share // 1000 if args.reader == "all" else args.inputs
        slowest, broken = 0.0, 0
        for number, given, why, took in campaign(name, range(inputs), args.seed):
            slowest = max(slowest, took)
            if why:
                broken += 1
                print(f"{name} {number}: {why}", flush=True)
                kept(args.keep, f"{name}-{args.seed}-{number}", given)
        wrong += broken
        print(f"{name}: {inputs:,} inputs, {broken} defects, slowest {slowest:.2f} s, {peak()} MiB at most", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
