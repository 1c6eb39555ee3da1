"""What a source and a merge may not do: swap two cards, fill the memory, wait for ever, let a secret out."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.redaction.shared import redact_report
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.sources.bundle import BundleError, archives, read, read_stream
from rocm_doctor.sources.paste import cut

HEAD = "ROCk module is loaded\n=====================\nHSA Agents\n==========\n"
MIB = 1 << 20


def agent(number: int, gfx: str, name: str, bdf: int, chip: int) -> str:
    return (
        f"*******\nAgent {number}\n*******\n  Name:                    {gfx}\n  Marketing Name:          {name}\n"
        f"  Node:                    {number}\n  Device Type:             GPU\n  BDFID:                   {bdf}\n"
        f"  Chip ID:                 {chip}({chip:#x})\n"
    )


def test_memory_goes_to_the_card_of_that_name() -> None:
    cards = agent(1, "gfx1100", "Radeon RX 7900 XTX", 768, 0x744C) + agent(2, "gfx1036", "AMD Radeon Graphics", 31232, 0x13C0)
    smi = (
        "======================= ROCm System Management Interface =======================\n"
        "GPU[0]\t\t: Card Series: \t\tAMD Radeon Graphics\nGPU[0]\t\t: VRAM Total Memory (B): 536870912\n"
        "GPU[1]\t\t: Card Series: \t\tRadeon RX 7900 XTX\nGPU[1]\t\t: VRAM Total Memory (B): 25753026560\n"
        "=========== End of ROCm SMI Log ======\n"
    )
    texts = [Artifact("cmd/rocminfo", "live", HEAD + cards + "*** Done ***\n"), Artifact("cmd/rocm-smi -a", "live", smi)]
    found = {g.get("gfx").value: g.get("vram_bytes").value for g in pipeline.read_facts(texts, load()).gpus}
    assert found == {"gfx1100": 25753026560, "gfx1036": 536870912}


def test_two_machines_in_one_paste_are_two_cards() -> None:
    one = HEAD + agent(1, "gfx1100", "Radeon RX 7900 XTX", 768, 0x744C) + "*** Done ***\n"
    two = HEAD + agent(1, "gfx906", "AMD Radeon VII", 768, 0x66AF) + "*** Done ***\n"
    text = f"My desktop:\n```\n{one}```\nand my server:\n```\n{two}```\n"
    found = pipeline.read_facts(cut(text, "paste"), load())
    assert [g.get("gfx").value for g in found.gpus] == ["gfx1100", "gfx906"]
    assert [g.get("gfx").disputed for g in found.gpus] == [(), ()]
    assert [e.quote.partition(":")[0] for e in found.errors] == ["two machines in one text"]


@pytest.mark.slow
def test_an_archive_that_unfolds_to_a_gigabyte_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(12):
            archive.writestr(f"log/{number}.txt", b"a" * (30 * MIB))
    with pytest.raises(BundleError):
        read(tmp_path / "bomb.zip")


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in the file system")
def test_a_pipe_nobody_writes_to_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    argv = [sys.executable, "-m", "rocm_doctor", "check", str(tmp_path / "pipe")]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=4, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("it waits for ever")
    assert done.returncode == 2


def test_a_hidden_file_keeps_its_name_in_a_tar(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").write_text("exists: yes\n")
    with tarfile.open(tmp_path / "t.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / ".dockerenv", "./.dockerenv")
    assert [a.name for a in read(tmp_path / "t.tar.gz")] == [".dockerenv"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such device")
def test_a_device_without_an_end_is_refused() -> None:
    with pytest.raises(BundleError, match="/dev/zero: not an ordinary file"):
        read(Path("/dev/zero"))
    with Path("/dev/zero").open("rb") as stream, pytest.raises(BundleError, match="standard input: more than 256 MiB"):
        read_stream(stream)


@pytest.fixture
def _an_eighth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of an eighth, so that logs are of 5 MiB and not of 40."""
    for name in ("LIMIT", "END", "LINES"):
        monkeypatch.setattr(archives, name, getattr(archives, name) // 8)


@pytest.mark.usefixtures("_an_eighth")
@pytest.mark.parametrize("way", ["file", "folder", "stream"])
def test_of_a_long_log_both_ends_are_read(tmp_path: Path, way: str) -> None:
    log = tmp_path / "capture" / "train.log"
    log.parent.mkdir()
    line = b"step 1 loss 2.5 " + b"." * 83 + b"\n"
    log.write_bytes(b"the very first line\n" + line * (5 * MIB // len(line)) + b"the very last line\n")
    (tmp_path / "capture" / "other.txt").write_text("a short note\n" if way == "folder" else "")
    with log.open("rb") as stream:
        found = read_stream(stream) if way == "stream" else read(log.parent if way == "folder" else log)
    text = next(a.text for a in found if "very" in a.text)
    assert text.startswith("the very first line\n")
    assert text.endswith("the very last line\n")
    assert "[rocm-doctor left out 3.5 MiB here;" in text
    assert set(text.splitlines()[1:-1]) - {line.decode().strip()} == {
        "[rocm-doctor left out 3.5 MiB here; line numbers from here on do not count them]"
    }
    assert way != "folder" or any("a short note" in a.text for a in found)


@pytest.mark.usefixtures("_an_eighth")
@pytest.mark.parametrize("way", ["zip", "tar"])
def test_of_a_long_log_in_an_archive_both_ends_are_read(tmp_path: Path, way: str) -> None:
    (tmp_path / "train.log").write_bytes(b"first\n" + (b"step" * 25 + b"\n") * (5 * MIB // 101) + b"last\n")
    if way == "zip":
        with zipfile.ZipFile(tmp_path / "t", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
            packed.write(tmp_path / "train.log", "log/train.log")
    else:
        with tarfile.open(tmp_path / "t", "w:gz", compresslevel=1) as archive:
            archive.add(tmp_path / "train.log", "log/train.log")
    (found,) = read(tmp_path / "t")
    assert found.text.startswith("first\n")
    assert found.text.endswith("last\n")
    assert "[rocm-doctor left out 3.5 MiB here" in found.text


@pytest.mark.usefixtures("_an_eighth")
def test_of_very_many_lines_both_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(b"first\n" + b"a\n" * (6 * MIB // 8) + b"last\n")
    text = read(tmp_path / "x.log")[0].text
    assert text.startswith("first\n")
    assert text.endswith("last\n")
    assert text.count("\n") < 50_010


@pytest.mark.usefixtures("_an_eighth")
def test_utf_16_stays_readable_behind_the_gap(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_bytes(
        ("first é\n" + ("step" * 25 + "\n") * (20 * MIB // 8 // 101) + "last é\n").encode("utf-16")
    )
    (text, *_) = read(tmp_path / "out.txt")
    assert text.text.startswith("first é\n")
    assert text.text.endswith("step\nlast é\n")


@pytest.mark.parametrize("make", ["zip", "tar"])
def test_too_many_members_are_refused_and_not_cut(tmp_path: Path, make: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_doctor.sources.bundle.archives.COUNT", 3)
    (tmp_path / "x").write_text("x")
    path = tmp_path / f"many.{make}"
    with zipfile.ZipFile(path, "w") if make == "zip" else tarfile.open(path, "w") as archive:
        for number in range(4):
            (archive.write if isinstance(archive, zipfile.ZipFile) else archive.add)(tmp_path / "x", f"log/{number}")
    with pytest.raises(BundleError, match="more than 3 files"):
        read(path)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("report.md", b"", "report.md: empty"),
        ("report.md", b"\n \n", "report.md: empty"),
        ("dmesg.txt.gz", gzip.compress(b"", mtime=0), "dmesg.txt.gz: empty"),
        ("x.bin", bytes(range(256)) * 40, "x.bin: not text"),
        ("core", b"\x7fELF\x02\x01\x01" + b"\0" * 90 + b"\x03\x01\x02\x05" * 9, "core: not text"),
        ("x.gz", gzip.compress(bytes(range(256)) * 40, mtime=0), "x.gz: not text"),
    ],
)
def test_what_holds_nothing_to_read_is_said_to(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BundleError) as raised:
        read(tmp_path / name)
    assert said in str(raised.value)
    if not name.endswith("gz"):
        with pytest.raises(BundleError, match="standard input: " + said.partition(": ")[2]):
            read_stream(io.BytesIO(data))


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[31mRuntimeError\x1b[0m\r\n\x07",
        "RuntimeError: \u4f60\u597d\n".encode("utf-16"),
        "RuntimeError\n".encode("utf-16-le"),
        "Fehler: ungültig\n".encode("latin-1"),
        b"Nov 21 kernel: amdgpu: ring reset\n" + b"\0" * 4096 + b"Nov 21 kernel: booted\n",
        b"step 1\x08\x08 2\r 3 ^C\x03\n",
    ],
)
def test_text_of_every_origin_is_text(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_bytes(data)
    assert read(tmp_path / "report.md")[0].text.strip()
    assert read_stream(io.BytesIO(data))


def test_a_binary_file_in_a_folder_is_named_and_passed_over(tmp_path: Path) -> None:
    (tmp_path / "core.bin").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "log.txt").write_text("RuntimeError: no\n")
    found = read(tmp_path)
    assert [(a.name, a.missing) for a in found] == [("core.bin", "unparsed"), ("paste/text", None)]


def test_a_captured_environment_gives_no_secret_away() -> None:
    secret = "0123456789abcdef0123456789abcdef01234567"
    report = pipeline.judge([Artifact("env", "bundle", f"WANDB_API_KEY={secret}\n")], load())
    for style in ("json", "text", "markdown"):
        assert secret not in render(style, redact_report(report, Redactor()), RenderOptions(verbose=True))
