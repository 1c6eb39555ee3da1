"""Nothing that identifies a person or a machine, and no secret, is in anything that is shared; nothing technical is lost."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import zipfile
from functools import cache
from pathlib import Path

import msgspec
import pytest
from planted import FIRST, SECOND, Plant, plants

from rocm_doctor.model import Artifact, Finding, Reading, Report, Snapshot
from rocm_doctor.redaction.known import known
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.redaction.secrets import rules
from rocm_doctor.redaction.shared import having_read, redact_artifacts, redact_plain, redact_report, redact_snapshot
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.sources import bundle

SECRET_KINDS = {"token", "named key", "url", "private key"}
ALL = [*plants(FIRST, 20261121), *plants(SECOND, 20261122)]


@cache
def _shared(plant: Plant) -> dict[str, str]:
    """Everything that leaves about one ticket, by format: each line of it is quoted in the report."""
    artifacts = [Artifact("log/ticket.log", "bundle", plant.text)]
    known_names = having_read(artifacts, Redactor())
    lines = tuple(Reading("log/ticket.log", f"line {n}", line) for n, line in enumerate(plant.text.splitlines(), 1))
    finding = Finding(
        "access.permission", "title", "error", "high", "cause", subject=lines[0].quote, evidence=lines, advice=lines[-1].quote
    )
    snapshot = Snapshot(errors=lines)
    report = redact_report(Report(1, "0", "0", "problems", "summary", (finding,), (), snapshot), known_names)
    out = {style: render(style, report, RenderOptions(verbose=True)) for style in FORMATS}
    out["probe"] = msgspec.json.encode(redact_snapshot(snapshot, known_names)).decode()
    out["audit"] = json.dumps(redact_plain({"place": plant.text, plant.text: [plant.text]}, Redactor()), ensure_ascii=False)
    packed = zipfile.ZipFile(io.BytesIO(bundle.write(redact_artifacts(artifacts, Redactor()), {})))
    out["bundle"] = "\n".join(packed.read(name).decode() for name in packed.namelist())
    return out


def _leaks(kinds: set[str], inside: bool) -> list[str]:
    return [
        f"{style}: {secret} of {plant.text!r}"
        for plant in ALL
        if (plant.kind in kinds) is inside
        for style, text in _shared(plant).items()
        for secret in plant.secrets
        if secret.casefold() in text.casefold()
    ]


def test_two_hundred_and_more_are_planted_in_twelve_kinds() -> None:
    assert len({plant.kind for plant in ALL}) == 12
    assert sum(len(plant.secrets) for plant in ALL) >= 400


def test_no_planted_token_leaves_in_any_format() -> None:
    assert _leaks(SECRET_KINDS, inside=True) == []


def test_at_most_two_in_a_hundred_names_hosts_and_addresses_leave() -> None:
    chances = sum(len(p.secrets) * len(_shared(p)) for p in ALL if p.kind not in SECRET_KINDS)
    found = _leaks(SECRET_KINDS, inside=False)
    assert len(found) <= 0.02 * chances, "\n".join(found)


def test_redaction_of_what_is_redacted_changes_nothing() -> None:
    for plant in ALL:
        out = Redactor().text(plant.text)
        assert Redactor().text(out) == out, plant.text


@pytest.mark.parametrize(
    "kept",
    [
        "Linux Mint 22.2",
        "Rocky Linux release 9.3",
        "Red Hat Enterprise Linux Server 8.10",
        "SUSE Linux Enterprise 15.5",
        "pytorch_release_2.3.0",
        "git clone git@github.com:ROCm/x.git # the fork",
        "https://github.com/ROCm/ROCm/issues/1",
        "CMake 3.29.0.1",
        "AMDSMI 24.2.0.0",
        "torch 13.1.1.3",
        "root@gfx1100:~# rocminfo",
        "root@strix:~# ls",
        "Linux 7900xtx 6.8.0-45-generic #45-Ubuntu SMP",
        "HSA_OVERRIDE_GFX_VERSION=10.3.0 makes gfx1100 load gfx1030",
        "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2",
        "https://huggingface.co/meta-llama/Llama-3.1-8B/tree/main",
        "user: What is the capital of France?",
        "def connect(host: str = 'localhost', port: int = 29500)",
        "key=model.layers.0.self_attn.q_proj.weight",
        "pad_token_id=151645 max_tokens: 4096, tokenizer: LlamaTokenizerFast",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "docker run -it --device=/dev/kfd --group-add render rocm/pytorch:latest",
        "sha256:" + "ab" * 32,
        "crw-rw---- 1 root render 226, 128 Nov 21 09:00 /dev/dri/renderD128",
        "/home/user/x and /home/ubuntu/y",
        "threading.local() and from werkzeug.local import x",
        "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
        "Author: PyTorch Team",
        "localhost:29500 refused, [W socket.cpp:464] to [localhost]:29500",
        "groups=0(root),44(video),109(render)",
        "User=llm, as root it works",
        "layers offloaded, then on the first token:\n\n\nggml_cuda_compute_forward: RMS_NORM failed",
        "/home/user/bitsandbytes/csrc/ops.hip",
        "gpu:0 connected to cuda:0",
        "sk-learn-compatible-estimators-for-everyone",
    ],
)
def test_nothing_technical_is_lost(kept: str) -> None:
    assert Redactor().text(kept) == kept


@pytest.mark.parametrize(
    "piece",
    [
        "APIKEY=",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnop\n",
        "token=",
        "?sig=",
        "sk-",
        "eyJ",
        "@",
        "a@b:~$ ",
        "://",
        "login ",
        "ssh a@",
        "git@a:b/",
        "/home/a1b2/x ",
        "uid=1(",
        "USER PID TTY\n",
        "x:x:",
        "a.local ",
        "[jroe@b ",
        "\\\\a",
    ],
)
@pytest.mark.timed
def test_time_is_linear_in_any_content(piece: str) -> None:
    """Ten times the text takes about ten times as long; quadratic would be a hundred. Seconds would measure the machine."""
    short, long = (_seconds(piece * (size // len(piece))) for size in (20_000, 200_000))
    assert long < 40 * short + 0.2


def _seconds(text: str) -> float:
    start = time.process_time()
    Redactor().text(text)
    return time.process_time() - start


def test_any_number_of_names_is_known_everywhere() -> None:
    prompts = "".join(f"[quux{n}a@kaz{n}b x]$ ls\n" for n in range(2_000))
    out = Redactor().text(prompts + "and quux1999a met kaz1998b")
    assert "quux" not in out
    assert "kaz" not in out


def test_a_secret_that_a_quote_cuts_off_is_known_by_its_beginning() -> None:
    whole = "loading with " + "x " * 60 + "HF_TOKEN=hf_abcdEFGH0123456789abcdEFGH0123"
    redactor = having_read([Artifact("log/x", "paste", whole)], Redactor())
    assert "hf_abcdEF" not in redactor.replace(whole[:-20])


def test_every_shape_of_a_token_has_its_source() -> None:
    assert list(rules())
    for shape in known().tokens:
        assert shape.source.startswith("https://"), shape.service
        assert bool(shape.prefixes) != bool(shape.pattern), shape.service


def _run(*arguments: str) -> str:
    argv = [sys.executable, "-m", "rocm_doctor", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False).stdout


def test_bundle_shows_what_it_replaced_and_its_names_are_redacted(tmp_path: Path) -> None:
    (tmp_path / "in" / "log").mkdir(parents=True)
    (tmp_path / "in" / "log" / "kfischer.log").write_text("[kfischer@wombex7 x]$ run\nHF_TOKEN=hf_abcdefgh0123456789abcdefgh\n")
    out = tmp_path / "kfischer.zip"
    told = _run("bundle", str(tmp_path / "in"), "-o", str(out), "--show")
    assert "<user-1>" in told
    assert "kfischer" in told
    assert "log/kfischer.log line 1" in told
    assert "hf_abcdefgh0123" not in told
    with zipfile.ZipFile(out) as packed:
        whole = "\n".join([*packed.namelist(), *(packed.read(name).decode() for name in packed.namelist())])
    assert "kfischer" not in whole
    assert "wombex7" not in whole


def test_what_the_artifacts_give_away_is_replaced_in_a_report_that_quotes_another_line(tmp_path: Path) -> None:
    text = "[kfischer@wombex7 x]$ python x.py\nRuntimeError: HIP error: invalid device function on wombex7 of kfischer\n"
    (tmp_path / "t.txt").write_text(text)
    for style in ("json", "markdown", "html"):
        told = _run("check", str(tmp_path / "t.txt"), "--no-smoke", "--format", style)
        assert "invalid device function" in told
        assert "kfischer" not in told
        assert "wombex7" not in told


def test_audit_in_json_is_redacted_unless_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "kfischer" / "lib"
    folder.mkdir(parents=True)
    (folder / "libx.so").write_bytes(b"\x7fELF")
    assert "kfischer" not in _run("audit", str(folder), "--format", "json")
    assert "kfischer" in _run("audit", str(folder), "--format", "json", "--no-redact")
