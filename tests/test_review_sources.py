"""What a source and a merge may not do: swap two cards, fill the memory, wait for ever, let a secret out."""

from __future__ import annotations

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
from rocm_doctor.redact import Redactor, redact_report
from rocm_doctor.reports import Look, render
from rocm_doctor.sources.bundle import BundleError, read
from rocm_doctor.sources.paste import cut

HEAD = "ROCk module is loaded\n=====================\nHSA Agents\n==========\n"
MIB = 1 << 20


def agent(number: int, gfx: str, name: str, bdf: int, chip: int) -> str:
    return (
        f"*******\nAgent {number}\n*******\n  Name:                    {gfx}\n  Marketing Name:          {name}\n"
        f"  Node:                    {number}\n  Device Type:             GPU\n  BDFID:                   {bdf}\n"
        f"  Chip ID:                 {chip}({chip:#x})\n"
    )


@pytest.mark.xfail(strict=True, reason="complete lists of one length are joined by order even where the names say otherwise")
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


@pytest.mark.xfail(strict=True, reason="an equal address makes one card of two machines' cards")
def test_two_machines_in_one_paste_are_two_cards() -> None:
    one = HEAD + agent(1, "gfx1100", "Radeon RX 7900 XTX", 768, 0x744C) + "*** Done ***\n"
    two = HEAD + agent(1, "gfx906", "AMD Radeon VII", 768, 0x66AF) + "*** Done ***\n"
    text = f"My desktop:\n```\n{one}```\nand my server:\n```\n{two}```\n"
    assert len(pipeline.read_facts(cut(text, "paste"), load()).gpus) == 2


@pytest.mark.xfail(strict=True, reason="members are bounded one by one and not together")
def test_an_archive_that_unfolds_to_a_gigabyte_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(12):
            archive.writestr(f"log/{number}.txt", b"a" * (30 * MIB))
    with pytest.raises(BundleError):
        read(tmp_path / "bomb.zip")


@pytest.mark.xfail(strict=True, reason="a pipe is opened like a file")
@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in the file system")
def test_a_pipe_nobody_writes_to_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    argv = [sys.executable, "-m", "rocm_doctor", "check", str(tmp_path / "pipe")]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=4, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("it waits for ever")
    assert done.returncode == 2


@pytest.mark.xfail(strict=True, reason="lstrip('./') takes the dot of a hidden name too")
def test_a_hidden_file_keeps_its_name_in_a_tar(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").write_text("exists: yes\n")
    with tarfile.open(tmp_path / "t.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / ".dockerenv", "./.dockerenv")
    assert [a.name for a in read(tmp_path / "t.tar.gz")] == [".dockerenv"]


@pytest.mark.xfail(strict=True, reason="a secret's name stands in the key and only its value is looked at")
def test_a_captured_environment_gives_no_secret_away() -> None:
    secret = "0123456789abcdef0123456789abcdef01234567"
    report = pipeline.judge([Artifact("env", "bundle", f"WANDB_API_KEY={secret}\n")], load())
    for style in ("json", "text", "html"):
        assert secret not in render(style, redact_report(report, Redactor()), Look(verbose=True))


@pytest.mark.parametrize("command", ["check", "bundle"])
def test_an_output_that_cannot_be_written_is_a_usage_error(command: str, tmp_path: Path) -> None:
    fixture = Path(__file__).parent.parent / "fixtures" / "rx7900xtx-ready"
    argv = [sys.executable, "-m", "rocm_doctor", command, str(fixture), "-o", str(tmp_path / "no" / "such" / "file")]
    assert subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 2
