"""What a stranger sends costs a bounded time and memory, and ends as a message: every container and every syntax."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rocm_doctor.bounded import Unreadable, archives, files, jsons, tomls, yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.cli import cli
from rocm_doctor.sources.bundle import BundleError, read

MIB = 1 << 20


def cases(inputs: Iterable[str], large: Iterable[str]) -> pytest.MarkDecorator:
    """One test for each input; the large ones take seconds each, and run with the slow tests."""
    return pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in large)) for n in inputs])


@contextmanager
def cheap(seconds: float = 8, mib: int = 300) -> Iterator[None]:
    """Fail beyond this time (counting memory makes the block twice as slow) or memory."""
    tracemalloc.start()
    start = time.process_time()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.process_time() - start < seconds
    assert peak < mib * MIB


def zipped(name: str, data: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(name or zipfile.ZipInfo(""), data)
    return out.getvalue()


def with_bytes(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old)
    assert len(old) == len(new)
    return data.replace(old, new)


def pax(size: int) -> bytes:
    """A tar whose extended header says that it is that long, and is."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf() + bytes(size) + bytes(1024)


def long_name(size: int) -> bytes:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, size
    return info.tobuf() + b"a" * size + bytes(1024)


def skipped_member() -> bytes:
    """A tar.gz with a member of 700 MiB of a type that nobody reads."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.CHRTYPE, 0
    huge = tarfile.TarInfo("y")
    huge.type, huge.size = b"Z", 700 * MIB
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed:
        packed.write(huge.tobuf())
        for _ in range(700):
            packed.write(bytes(MIB))
    return out.getvalue()


def folders(count: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed:
        info = tarfile.TarInfo("d")
        info.type = tarfile.DIRTYPE
        packed.write(info.tobuf() * count + bytes(1024))
    return out.getvalue()


def directory_of(names: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(names):
            archive.writestr(f"log/{number:06d}", b"")
    return out.getvalue()


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "bzip2.zip": lambda: zipped("log/x", bytes(64 * MIB), zipfile.ZIP_BZIP2),
    "lzma.zip": lambda: zipped("log/x", bytes(64 * MIB), zipfile.ZIP_LZMA),
    "method.zip": lambda: with_bytes(zipped("log/x", b"text" * 99), b"\x08\x00", b"\x63\x00"),
    "name-not-utf8.zip": lambda: with_bytes(zipped("log/\u00e9", b"text"), "\u00e9".encode(), b"\xc3\x28"),
    "version.zip": lambda: with_bytes(zipped("log/x", b"text"), b"\x14\x00\x00\x00\x08", b"\x5d\x00\x00\x00\x08"),
    "cut.zip": lambda: zipped("log/x", random.Random(1).randbytes(9000))[:5000],
    "names.zip": lambda: directory_of(60_000),
    "pax.tar": lambda: pax(30 * MIB),
    "pax.tar.gz": lambda: gzip.compress(pax(60 * MIB), 1),
    "longname.tar.gz": lambda: gzip.compress(long_name(60 * MIB), 1),
    "skipped.tar.gz": skipped_member,
    "folders.tar.gz": lambda: folders(120_000),
    "one-byte.gz": lambda: b"\x1f\x8b\x08",
    "cut.tar.gz": lambda: gzip.compress(pax(3000))[:60],
    "cut.gz": lambda: gzip.compress(b"Nov 21 kernel: amdgpu\n" * 999)[:-9],
    "no.gz": lambda: b"\x1f\x8b" + bytes(500),
}


@cases(ARCHIVES, large=("names.zip", "folders.tar.gz", "skipped.tar.gz", "lzma.zip", "bzip2.zip"))
def test_no_archive_costs_more_than_its_limits(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(ARCHIVES[name]())
    with cheap(), pytest.raises(BundleError, match=name.replace(".", r"\.")):
        read(tmp_path / name)
    assert CliRunner().invoke(cli, ["check", str(tmp_path / name)]).exit_code == 2


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_other_compressions_are_not_text(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(pack(bytes(MIB)))
    with pytest.raises(BundleError, match="not text"):
        read(tmp_path / "x")


@pytest.mark.parametrize("name", ["", "./..", "../../etc/passwd", "sys/../../../tmp/x", "C:\\x\\..\\y", "cmd/\x1b[2Jrocminfo\nx"])
def test_names_of_members_stay_inside_and_printable(name: str, tmp_path: Path) -> None:
    data = zipped(name, b"text")
    (tmp_path / "x.zip").write_bytes(data)
    for artifact in read(tmp_path / "x.zip"):
        assert artifact.name.isprintable()
        assert not {"", "..", "."} & set(artifact.name.split("/"))


def test_a_good_archive_is_read_whichever_way_it_is_packed(tmp_path: Path) -> None:
    (tmp_path / "rocminfo").write_text("Agent 1\n")
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(tmp_path / "rocminfo", "./cmd/rocminfo")
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress((tmp_path / "x.tar").read_bytes()))
    (tmp_path / "x.zip").write_bytes(zipped("cmd/rocminfo", b"Agent 1\n"))
    (tmp_path / "two.gz").write_bytes(gzip.compress(b"amdgpu: one\n") + gzip.compress(b"amdgpu: two\n"))
    for name in ("x.tar", "x.tar.gz", "x.zip"):
        assert [(a.name, a.text) for a in read(tmp_path / name)] == [("cmd/rocminfo", "Agent 1\n")]
    assert read(tmp_path / "two.gz")[0].text == "amdgpu: one\namdgpu: two\n"


# ---- syntaxes

DEEP = 50_000
"""Levels: half of them are too many for any parser that calls itself."""
YAML_BOMB = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)
YAMLS = {
    "flow": "a: " + "[" * DEEP,
    "mapping": "{a: " * DEEP,
    "sequence": "- " * DEEP,
    "keys": "? " * DEEP,
    "aliases": YAML_BOMB,
    "itself": "a: &a [*a]",
    "deep by aliases": "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 3000)),
    "merges": "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: v}}\n" for n in range(1, 40)),
    "same keys": "a: b\n" * 200_000,
    "directives": "".join(f"%TAG !a{n}! tag:x\n" for n in range(200_000)) + "--- a\n",
    "digits": "a: " + "9" * 5000,
    "sexagesimal": "a: 1" + ":1" * 100_000,
    "no such day": "a: 2026-99-99",
    "empty number": 'a: !!int ""',
    "unhashable": "? [a]\n: b",
    "object": "!!python/object/apply:os.system [id]",
}


@pytest.mark.parametrize("name", YAMLS)
def test_no_yaml_costs_more_than_its_limits(name: str) -> None:
    with cheap(2), pytest.raises(Unreadable):
        yamls.values(YAMLS[name])


def test_measuring_yaml_changes_nothing_of_honest_texts() -> None:
    text = "x: &base {image: rocm/pytorch, env: [A=1]}\nservices:\n  a: {<<: *base, shm_size: 8g}\n  b: *base\n"
    assert yamls.values(text)["services"]["a"] == {"image": "rocm/pytorch", "env": ["A=1"], "shm_size": "8g"}
    assert len(yamls.documents("a: 1\n---\nb: 2\n")) == 2


TOMLS = {
    "dotted": "a" + ".a" * 40_000 + " = 1",
    "spaced": "a" + " . 'a'" * 40_000 + " = 1",
    "table": "[a" + ".a" * 40_000 + "]",
    "inline": "x = {a" + ".a" * 40_000 + " = 1}",
    "many tables": "".join(f"[a{n}.b.c.d]\nb.c.d.e = 1\n" for n in range(20_000)),
    "digits": "a = " + "9" * 5000,
    "array": "a = " + "[" * DEEP,
    "tables in tables": "a = " + "{a=" * DEEP,
    "one long word": "a" * (4 * MIB),
    "quotes": '"' * (4 * MIB),
    "a key over lines": "x = {" + "a.\n" * 40_000 + "a = 1}",
    "more lines than are joined": "x = {" + "\n" * (4 * MIB),
}


@cases(TOMLS, large=("one long word", "quotes", "more lines than are joined"))
def test_no_toml_costs_more_than_its_limits(name: str) -> None:
    with cheap(seconds=30), pytest.raises(Unreadable):
        tomls.values(TOMLS[name])


JSONS = {
    "lists": b"[" * DEEP,
    "objects": b'{"a":' * DEEP,
    "not utf-8": b'{"a": "\xff\xfe"}',
    "half a pair": b'{"a": "\\ud83d"}',
    "digits": b"[" + b"9" * 5000 + b"]",
    "cut": b'{"a": ',
}


def test_json_without_a_bottom_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        jsons.decode(b'[{"a":' * DEEP, Any)


@pytest.mark.parametrize("name", JSONS)
def test_no_json_gets_past_its_decoder(name: str) -> None:
    with cheap(1), pytest.raises(Unreadable):
        jsons.decode(JSONS[name], dict[str, str])
    with contextlib.suppress(Unreadable):
        json.dumps(jsons.loads(JSONS[name].decode("utf-8", "replace")), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
    ],
)
def test_half_a_pair_becomes_a_mark_and_whole_ones_stay(text: str, value: str) -> None:
    assert jsons.loads(text) == value
    assert len(jsons.whole_letters(text)) == len(text)


# ---- whatever opens a file

OPENERS = {
    "--baseline": ["check", "--example", "--baseline", "FILE"],
    "--log": ["check", "--example", "--log", "FILE"],
    "check": ["check", "FILE"],
    "audit": ["audit", "FILE"],
    "audit wheel": ["audit", "FILE.whl"],
    "fit --config": ["fit", "--config", "FILE.yaml", "--gpu", "gfx1100"],
    "fit --model": ["fit", "--model", "FILE.json", "--gpu", "gfx1100"],
    "matrix lint": ["matrix", "lint", "FILE.yaml"],
}
CONTENTS: dict[str, bytes | None] = {
    "fifo": None,
    "sparse": b"",
    "deep yaml": b"a: " + b"[" * DEEP,
    "deep json": b"[" * DEEP,
    "not utf-8": b'{"base_model": "\xff"}',
    "digits": b'{"base_model": ' + b"9" * 5000 + b"}",
    "half a pair": b'{"model_type": "\\ud83d", "torch": "\\ud83d"}',
    "short gzip": b"\x1f\x8b\x08",
    "short zip": b"PK\x03\x04",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="makes FIFOs")
@pytest.mark.parametrize("way", OPENERS)
def test_no_file_holds_crashes_or_fills_us(way: str, tmp_path: Path) -> None:
    for content, data in CONTENTS.items():
        argv = [a.replace("FILE", str(tmp_path / content.replace(" ", "-"))) for a in OPENERS[way]]
        for path in {Path(a) for a in argv if a.startswith(str(tmp_path))}:
            if data is None:
                os.mkfifo(path)
            else:
                path.write_bytes(data)
            if content == "sparse":
                os.truncate(path, 1 << 30)
        with cheap():
            result = CliRunner().invoke(cli, argv)
        assert result.exception is None or isinstance(result.exception, SystemExit), (content, result.exception)
        assert result.exit_code in (0, 1, 2), (content, result.output)
        assert data is not None or result.exit_code in (0, 2), content


def test_a_pipe_among_the_libraries_of_an_environment(tmp_path: Path) -> None:
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    os.mkfifo(tmp_path / "torch" / "lib" / "libtorch_hip.so")
    os.mkfifo(tmp_path / "torch" / "version.py")
    result = CliRunner().invoke(cli, ["audit", str(tmp_path)])
    assert result.exit_code == 0
    assert "not an ordinary file" in result.output


def test_a_file_larger_than_its_limit_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(2 * MIB))
    with pytest.raises(Unreadable, match="2 MiB, more than the 1 MiB"):
        files.read(tmp_path / "x", MIB)
    assert files.head(tmp_path / "x", 3) == bytes(3)


# ---- a repository

REPOSITORY = {
    "compose.yaml": b"services: " + b"{a: " * DEEP,
    "rocm-doctor.yaml": b"? " * DEEP,
    "pyproject.toml": b"a" + b".a" * 40_000 + b" = 1",
    "requirements.txt": b"#" * (5 * MIB),
    "run.bat": b'set A=%A%%A%"\n' * 200_000,
    "run.ps1": b"$env:A = 'x'\n" * 11_000,
    "run.sh": b"export HIP_X=$A$A\n" * 11_000,
    "launch.sh": b"# HIP_X\n" * 200_000,
}


@cases(REPOSITORY, large=("run.bat", "run.ps1", "run.sh", "launch.sh"))
def test_a_file_that_is_not_read_lets_nothing_past_the_gate(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(REPOSITORY[name])
    (tmp_path / "pyproject.toml").touch()
    argv = ["lint", str(tmp_path), "--gpu", "gfx1100", "--strict"]
    with cheap():
        result = CliRunner().invoke(cli, argv)
    if not name.endswith((".bat", ".ps1", ".sh")):  # a script that installs nothing is no environment
        assert name in result.output
        assert "not read" in result.output
    codes = (1, 3) if name == "rocm-doctor.yaml" else (3,)
    assert result.exit_code in codes, result.output
    assert CliRunner().invoke(cli, argv[:-1]).exit_code in codes


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_names_that_are_not_utf8_and_folders_without_end(tmp_path: Path) -> None:
    repository = os.fsencode(tmp_path) + b"/rep\xff\x1b[2J"
    Path(os.fsdecode(repository)).mkdir()
    Path(os.fsdecode(repository + b"/requirements-\xfe.txt")).write_text("torch\n")
    deep = os.open(repository, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    try:
        argv = ["lint", os.fsdecode(repository), "--gpu", "gfx1100"]
        for format_ in ("json", "sarif", "github", "junit", "markdown"):
            argv += ["--format", format_, "-o", str(tmp_path / format_)]
        done = subprocess.run([sys.executable, "-m", "rocm_doctor", *argv, "--format", "text", "-o", "-"],
                              capture_output=True, timeout=60, check=False)  # fmt: skip
        assert done.returncode == 3, done.stderr
        for written in (done.stdout, *(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())):
            assert b"\x1b" not in written
            assert written.decode()
    finally:  # Python removes folders by recursion, and pytest with it
        subprocess.run(["rm", "-rf", os.fsdecode(repository)], timeout=60, check=True)


def test_the_reader_of_a_report_takes_reports(tmp_path: Path) -> None:
    CliRunner().invoke(cli, ["check", "--example", "--format", "json", "-o", str(tmp_path / "r.json")])
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "problems"
    again = CliRunner().invoke(cli, ["check", "--example", "--baseline", str(tmp_path / "r.json")])
    assert again.exit_code == 0
    assert archives.safe_name("a/../b") == "a/b"


def test_a_pattern_is_compiled_at_its_first_use() -> None:
    broken = regex("(")
    with pytest.raises(re.error):
        broken.search("")
    found = regex(r"gfx(\d+)", re.I).search("GFX1100")
    assert found
    assert found[1] == "1100"


ODD_FILES: dict[str, str | bytes] = {
    "deep.json": "[" * 25_000, "bad.json": b'{"a": "\xff"}', "half.json": '"\\ud83d"', "digits.json": "9" * 5000, "deep.yaml": "[" * 25_000,
    "bomb.yaml": YAML_BOMB, "self.yaml": "a: &a [*a]\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_FILES)
def test_a_file_given_with_an_option(name: str, tmp_path: Path) -> None:
    """Files of other kinds than a bundle."""
    content, path, capture = ODD_FILES[name], tmp_path / name, tmp_path / "rocminfo"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    capture.write_text("Agent 2\n  Name: gfx1100\n")
    given = [("check", str(capture), option, str(path)) for option in ("--baseline", "--log")]
    for words in (*given, ("fit", "--config", str(path)), ("fit", "--model", str(path))):
        assert CliRunner().invoke(cli, words).exit_code in (0, 1, 2), words
