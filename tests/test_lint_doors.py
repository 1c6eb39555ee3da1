"""What lint resolves and refuses: --resolve against a loopback index, its exit codes, its time and hostile files."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli
from rocm_doctor.lint import tree
from rocm_doctor.matrix import load

MATRIX = load()
PLAIN = "numpy\ntorch==2.9.1\n"
ROCM = "--index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1\n"


def invoked(*args: str) -> Result:
    return CliRunner().invoke(cli, ["lint", *args])


def repository(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".").replace("_DASH_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
    return folder


@pytest.mark.parametrize(("text", "code"), [(ROCM, 0), (PLAIN, 1), ("numpy\n", 3)], ids=["passes", "fails", "nothing was judged"])
@pytest.mark.parametrize("format_", ["text", "github", "junit", "sarif", "json"])
@pytest.mark.parametrize("strict", [(), ("--strict",)])
def test_three_words_and_three_exit_codes(text: str, code: int, format_: str, strict: tuple[str, ...], tmp_path: Path) -> None:
    repository(tmp_path, requirements_DASH_rocm_DOT_txt=text)
    assert invoked(str(tmp_path), "--gpu", "gfx1100", "--format", format_, *strict).exit_code == code


def test_a_baseline_accepts_what_is_known_and_nothing_new(tmp_path: Path) -> None:
    repository(tmp_path, requirements_DASH_rocm_DOT_txt=PLAIN)
    old = tmp_path / "old.json"
    assert invoked(str(tmp_path), "--gpu", "gfx1100", "--format", "json", "-o", str(old)).exit_code == 1
    assert invoked(str(tmp_path), "--gpu", "gfx1100", "--baseline", str(old)).exit_code == 0
    repository(tmp_path, Dockerfile_DOT_rocm="FROM rocm/dev-ubuntu-24.04:6.4\nENV PYTORCH_ROCM_ARCH=gfx942\nRUN make\n")
    assert invoked(str(tmp_path), "--gpu", "gfx1100", "--baseline", str(old)).exit_code == 1


def test_every_target_has_to_pass(tmp_path: Path) -> None:
    repository(tmp_path, requirements_DASH_gfx1100_DOT_txt=ROCM)
    assert invoked(str(tmp_path), "--gpu", "gfx1100").exit_code == 0
    assert invoked(str(tmp_path), "--gpu", "gfx1100", "--gpu", "gfx942").exit_code == 3


def test_what_is_late_is_not_read_and_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path, requirements_DASH_rocm_DOT_txt=ROCM)
    monkeypatch.setattr(tree, "SECONDS", -1.0)
    done = invoked(str(tmp_path), "--gpu", "gfx1100")
    assert (done.exit_code, "out of time" in done.output) == (3, True)


HOSTILE = (
    "requirements.txt",
    "pyproject.toml",
    "Dockerfile",
    "compose.yaml",
    "run.sh",
)


@pytest.mark.parametrize(
    "text",
    ["[" * 20_000, "a: &a [*a, *a]\n" * 50, "\\\n" * 20_000, "$(" * 5_000, "- " * 5_000, "-r requirements.txt\n", "services:\n" + " a" * 9_000, "${" * 9_000,
     "FROM a AS a\nFROM a AS a\nCOPY --from=a /venv /venv\n", "pip install " + "x" * 90_000, "if pip install; then " * 2_000, "lora_r: {" * 5_000, "\x00", "a.b." * 9_000],
    ids=str.__len__,
)  # fmt: skip
def test_hostile_files_end_in_a_verdict(text: str, tmp_path: Path) -> None:
    for name in HOSTILE:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    done = invoked(str(tmp_path), "--gpu", "gfx1100")
    assert done.exit_code in (0, 1, 3), done.exception


CUDA = "nvidia-cublas-cu12"
LISTINGS = {
    "pypi": {"torch": ["2.9.1", "2.14.1"], CUDA: ["12.8.4.1"]},
    "rocm": {"torch": ["2.9.1+rocm6.4"]},
}
"""What the package index and PyTorch's index of ROCm 6.4 list, in part (seen 2026-11-22)."""


@cache
def wheel(name: str, version: str) -> bytes:
    needs = f"Requires-Dist: {CUDA}\n" if name == "torch" and "+" not in version else ""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        archive.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{folder}/RECORD", "")
    return data.getvalue()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        index, *parts = [part for part in self.path.split("/") if part]
        if self.path.endswith(".whl"):
            name, version = parts[-1].split("-")[:2]
            self._send(wheel(name.replace("_", "-"), version.replace("%2B", "+")), "application/zip")
            return
        name = parts[-1]
        versions = LISTINGS[index].get(name)
        if versions is None:
            self.send_error(404)
            return
        files = [f"{name.replace('-', '_')}-{v}-py3-none-any.whl" for v in versions]
        sums = [hashlib.sha256(wheel(name, v)).hexdigest() for v in versions]
        links = "".join(
            f'<a href="/{index}/files/{f.replace("+", "%2B")}#sha256={s}">{f}</a>\n' for f, s in zip(files, sums, strict=True)
        )
        self._send(f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")

    do_HEAD = do_GET

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def index() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def resolved(folder: Path, text: str) -> tuple[int, dict[str, str], str]:
    """Exit code, errors (id to title) and summary of `lint --resolve` for gfx1100."""
    repository(folder, requirements_DASH_rocm_DOT_txt=text)
    out = folder / "report.json"
    done = invoked(str(folder), "--gpu", "gfx1100", "--resolve", "--format", "json", "-o", str(out))
    report = json.loads(out.read_bytes())
    return done.exit_code, {f["id"]: f["title"] for f in report["findings"] if f["severity"] == "error"}, report["summary"]


@pytest.fixture
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """uv, of the extra `slow`, on the path."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        pytest.skip("uv is not installed")
    monkeypatch.setattr(shutil, "which", lambda *_: found)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.slow
@pytest.mark.usefixtures("uv")
def test_resolve_judges_what_the_resolver_takes(index: str, tmp_path: Path) -> None:
    code, errors, summary = resolved(tmp_path, f"--index-url {index}/pypi/simple/\ntorch==2.9.1\n")
    assert code == 1
    assert "version.torch-not-rocm" in errors
    assert "uv takes torch 2.9.1" in summary


@pytest.mark.slow
@pytest.mark.usefixtures("uv")
def test_resolve_knows_the_order_of_indexes(index: str, tmp_path: Path) -> None:
    """With an extra index, uv takes torch from it, though the other one has a higher version."""
    code, errors, summary = resolved(
        tmp_path, f"--index-url {index}/pypi/simple/\n--extra-index-url {index}/rocm/simple/\ntorch\n"
    )
    assert (code, errors) == (0, {}), summary
    assert "takes torch 2.9.1+rocm6.4" in summary


@pytest.mark.slow
@pytest.mark.usefixtures("uv")
def test_resolve_says_that_there_is_no_solution(index: str, tmp_path: Path) -> None:
    code, errors, summary = resolved(tmp_path, f"--index-url {index}/rocm/simple/\ntorch==2.14.1\n")
    assert code == 1
    assert "version.wheel-missing" in errors
    assert "no solution" in summary


@pytest.mark.slow
@pytest.mark.usefixtures("uv")
def test_resolve_says_that_an_index_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    code, errors, summary = resolved(tmp_path, "--index-url http://127.0.0.1:9/simple/\ntorch==2.9.1\n")
    assert (code, errors) == (3, {})
    assert "did not answer" in summary


LOCK = """version = 1
requires-python = ">=3.12"

[[package]]
name = "trainer"
version = "1"
source = { virtual = "." }
dependencies = [
    { name = "torch", version = "2.9.1+rocm6.4", source = { registry = "https://example.org/rocm" }, marker = "sys_platform == 'linux'" },
    { name = "torch", version = "2.9.1", source = { registry = "https://example.org/pypi" }, marker = "sys_platform != 'linux'" },
]

[package.metadata]
requires-dist = [{ name = "torch" }]

[[package]]
name = "torch"
version = "2.9.1"
source = { registry = "https://example.org/pypi" }
resolution-markers = ["sys_platform != 'linux'"]
sdist = { url = "https://example.org/t.tar.gz", hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000" }

[[package]]
name = "torch"
version = "2.9.1+rocm6.4"
source = { registry = "https://example.org/rocm" }
resolution-markers = ["sys_platform == 'linux'"]
sdist = { url = "https://example.org/r.tar.gz", hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000" }
"""
PROJECT = '[project]\nname = "trainer"\nversion = "1"\nrequires-python = ">=3.12"\ndependencies = ["torch"]\n[tool.uv]\npackage = false\n'


@pytest.mark.slow
@pytest.mark.usefixtures("uv")
def test_resolve_takes_a_lock_as_it_is(tmp_path: Path) -> None:
    """No index is asked: uv chooses the fork for Linux."""
    repository(tmp_path, rocm__uv_DOT_lock=LOCK, rocm__pyproject_DOT_toml=PROJECT)
    out = tmp_path / "report.json"
    invoked(str(tmp_path / "rocm/pyproject.toml"), "--gpu", "gfx1100", "--resolve", "--format", "json", "-o", str(out))
    assert "uv.lock takes torch 2.9.1+rocm6.4 (1 packages, judged)" in json.loads(out.read_bytes())["summary"]


def test_without_uv_nothing_is_resolved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    assert "uv is not installed" in resolved(tmp_path, "torch==2.9.1\n")[2]


def test_what_is_quoted_stands_in_the_line_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\nversion = "0"\nrequires-python = ">=3.12"\ndependencies = ["torch==2.9.1", "bitsandbytes"]\n\n'
        '[tool.rocm-doctor.targets]\ndesk = {gpu = "gfx1100", python = "3.12"}\n'
    )
    (tmp_path / "Dockerfile").write_text("FROM nvidia/cuda:12.4.0-base\nENV HSA_OVERRIDE_GFX_VERSION=10.3.0\n")
    report = json.loads(CliRunner().invoke(cli, ["lint", str(tmp_path), "--format", "json"]).stdout)
    quoted = [one for finding in report["findings"] for one in finding["evidence"] if one["origin"] == "text"]
    assert quoted
    for one in quoted:
        line = (tmp_path / one["artifact"]).read_text().splitlines()[int(one["place"].removeprefix("line ")) - 1]
        assert one["quote"].strip() in line, one
