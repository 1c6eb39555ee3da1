"""Ten repositories that are wrong as real ones were, and three that are not: what is found, where, and that nothing else is."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from rocm_doctor.cli import cli

REPOS = Path(__file__).resolve().parents[1] / "fixtures" / "repos"
NAMES = sorted(path.name for path in REPOS.iterdir())


def lint(*args: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(cli, ["lint", *args, "--format", "json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout) if result.exit_code < 2 else {"text": result.output}


def place(finding: dict[str, Any]) -> str:
    first = finding["evidence"][0]
    return f"{first['artifact']}:{first.get('place', '').removeprefix('line ')}"


@pytest.mark.parametrize("name", NAMES)
def test_each_repository_gives_what_its_thread_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = yaml.safe_load((REPOS / name / "expected.yaml").read_text("utf-8"))
    shutil.copytree(REPOS / name, tmp_path / name, ignore=shutil.ignore_patterns("expected.yaml"))
    monkeypatch.chdir(tmp_path / name)
    code, report = lint(".", *expected["args"])
    found = report["findings"]
    for wanted in expected["findings"]:
        hits = [f for f in found if f["id"] == wanted["id"] and place(f) == wanted["place"]]
        assert hits, (wanted, [(f["id"], place(f)) for f in found])
        assert hits[0]["severity"] == wanted.get("severity", hits[0]["severity"])
    if not expected["findings"]:
        assert [f["title"] for f in found if f["severity"] != "note"] == []
        assert report["verdict"] == "ready"
    assert code == int(any(f["severity"] == "error" for f in found))


@pytest.mark.parametrize("name", NAMES)
def test_every_place_opens_the_line_that_it_quotes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOS / name)
    expected = yaml.safe_load(Path("expected.yaml").read_text("utf-8"))
    for finding in lint(".", *expected["args"])[1]["findings"]:
        for reading in finding["evidence"]:
            if reading["artifact"] in ("command line", "matrix") or not reading.get("place", "").startswith("line "):
                continue
            lines = Path(reading["artifact"]).read_text("utf-8").splitlines()
            line = lines[int(reading["place"].split()[1]) - 1]
            words = reading.get("quote", "").split()
            assert not words or words[0].strip("\"'") in line or reading["quote"].startswith("target "), (reading, line)


def test_there_are_ten_wrong_and_three_healthy_ones() -> None:
    assert sum(name.startswith("healthy-") for name in NAMES) == 3
    assert len(NAMES) == 13


def test_files_are_named_from_where_the_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOS)
    _, report = lint("pip-extra-index", "--gpu", "gfx1100")
    assert place(report["findings"][0]) == "pip-extra-index/requirements.txt:3"


def test_a_product_name_will_do_for_a_gpu_and_an_ambiguous_one_is_refused() -> None:
    assert lint(str(REPOS / "healthy-mi50"), "--gpu", "Instinct MI50", "--rocm", "6.3")[0] == 0
    code, report = lint(str(REPOS / "healthy-mi50"), "--gpu", "GeForce RTX 4090")
    assert code == 2
    assert "gfx1100" in report["text"]


def test_without_a_target_it_says_how_to_give_one() -> None:
    code, report = lint(str(REPOS / "healthy-mi50"))
    assert code == 2
    assert "--gpu" in report["text"]


def test_a_baseline_leaves_out_what_was_there_before(tmp_path: Path) -> None:
    repo = str(REPOS / "pip-extra-index")
    base = tmp_path / "base.json"
    CliRunner().invoke(cli, ["lint", repo, "--gpu", "gfx1100", "--format", "json", "-o", str(base)])
    assert lint(repo, "--gpu", "gfx1100")[0] == 1
    assert lint(repo, "--gpu", "gfx1100", "--baseline", str(base))[0] == 0


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.mark.parametrize(("until", "left", "stale"), [("2099-01-01", 0, 0), ("2020-01-01", 1, 1)])
def test_an_ignore_holds_until_its_day(tmp_path: Path, until: str, left: int, stale: int) -> None:
    policy = f"targets:\n  a: {{gpu: gfx1100}}\nignores:\n  - {{id: version.torch-not-rocm, reason: known, until: {until}}}\n"
    write(tmp_path, requirements_DOT_txt="torch==2.9.1\n", **{"rocm-doctor_DOT_yaml": policy})
    findings = lint(str(tmp_path))[1]["findings"]
    assert sum(f["id"] == "version.torch-not-rocm" for f in findings) == left
    assert sum(f["id"] == "repo.stale-ignore" for f in findings) == stale


def test_an_ignore_without_a_reason_or_a_day_does_not_hold(tmp_path: Path) -> None:
    policy = (
        "targets:\n  a: {gpu: gfx1100}\nignores:\n  - {id: version.torch-not-rocm, until: 2099-01-01}\n  - {id: x, reason: y}\n"
    )
    write(tmp_path, requirements_DOT_txt="torch==2.9.1\n", **{"rocm-doctor_DOT_yaml": policy})
    code, report = lint(str(tmp_path))
    assert code == 1
    assert [place(f).rsplit("/", 1)[-1] for f in report["findings"] if f["id"] == "repo.unreadable"] == [
        "rocm-doctor.yaml:4",
        "rocm-doctor.yaml:5",
    ]


def resolved(tmp_path: Path, *args: str, **files: str) -> list[tuple[str, str]]:
    report = lint(str(write(tmp_path, **files)), "--gpu", "gfx1100", "--rocm", "6.3", "--python", "3.12", *args)[1]
    return [(f["id"], f["severity"]) for f in report["findings"] if f["severity"] != "note"]


EXTRA = "--extra-index-url https://download.pytorch.org/whl/rocm6.3\n"
NOT_ROCM = ("version.torch-not-rocm", "error")
NO_AMD = ("repo.no-amd-environment", "warning")


@pytest.mark.parametrize(("text", "expected"), [
    ("torch\n", [("repo.no-amd-environment", "warning")]),  # met by a ROCm build that is there before
    ("torch==2.9.1\n" + EXTRA, []),  # 2.9.1+rocm6.3 is higher than 2.9.1
    ("torch\n" + EXTRA, [NOT_ROCM]),  # something newer is elsewhere
    ("torch<=2.9.1\n" + EXTRA, []),  # no release is to come in that range
    ("torch\n" + EXTRA.replace("extra-index", "index"), []),
    ("torch==2.9.1+rocm6.3\n" + EXTRA, []),
    ("torch==2.9.1+cu126\n", [NO_AMD]),
    ("torch==2.10.0\n" + EXTRA.replace("extra-index", "index"), [("version.wheel-missing", "error")]),
    ("torch==2.9.1\ntorchvision==0.20.1\n" + EXTRA, [("version.companion-mismatch", "error")]),
    ("torch==2.9.1; sys_platform == 'win32'\n", []),
    ("torch @ https://download.pytorch.org/whl/rocm6.3/torch-2.9.1%2Brocm6.3-cp312-cp312-manylinux_2_28_x86_64.whl\n", []),
    ("--index-url https://packages.example.com/simple\ntorch\n", []),  # unknown index: nothing is claimed
    ("torch==2.9.1 --hash=sha256:abc \\\n  --hash=sha256:def\n", [NO_AMD]),
])  # fmt: skip
def test_what_pip_would_take(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert resolved(tmp_path, requirements_DOT_txt=text) == expected


UV = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch"]\n[tool.uv]\n{}\n[[tool.uv.index]]\nname = "r"\nurl = "https://download.pytorch.org/whl/rocm6.3"\n{}\n'


@pytest.mark.parametrize(("text", "expected"), [
    (UV.format("", ""), []),  # the first index that has it settles it
    (UV.format('index-strategy = "unsafe-best-match"', ""), [NOT_ROCM]),
    (UV.format("", "explicit = true"), [NO_AMD]),
    (UV.format("", '[tool.uv.sources]\ntorch = { index = "r" }'), []),
    (UV.format("", 'explicit = true\n[tool.uv.sources]\ntorch = { index = "r" }'), [("version.wheel-missing", "error")]),
])  # fmt: skip
def test_what_uv_would_take(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert resolved(tmp_path, pyproject_DOT_toml=text) == expected


DOCKER = "FROM rocm/pytorch:rocm6.3_ubuntu24.04_py3.12_pytorch_release_2.4.0\n"


@pytest.mark.parametrize(("text", "expected"), [
    ("RUN pip install peft 'torch>=2.3'\n", []),
    ("RUN pip install torch==2.6.0\n", [NOT_ROCM]),
    ("RUN pip install -U torch\n", [NOT_ROCM]),
    ("RUN pip install --no-deps xformers\n", []),
    ("RUN pip install xformers\n", [NOT_ROCM]),
    ("RUN pip install torchvision==0.19.0\n", []),
    ("ENV PIP_INDEX_URL=https://download.pytorch.org/whl/rocm6.3\nRUN pip install -U torch\n", []),
    ("FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n", []),  # a stage for NVIDIA beside the one for AMD
    ("RUN <<EOF\npip install torch==2.6.0\nEOF\n", [NOT_ROCM]),
])  # fmt: skip
def test_what_an_image_ends_up_with(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    found = resolved(tmp_path, Dockerfile=DOCKER + text)
    assert [f for f in found if f[0] != "version.companion-mismatch"] == expected


@pytest.mark.parametrize(("torch", "line", "replaced"), [
    ("2.9.1", "xformers", True), ("2.10.0", "xformers", False), ("2.12.0", "peft xformers", False), ("2.10.0", "vllm", True),
])  # fmt: skip
def test_the_newest_xformers_takes_the_torch_that_is_there(tmp_path: Path, torch: str, line: str, replaced: bool) -> None:
    """xformers 0.0.35 requires torch>=2.10; every release of vllm requires one exact torch."""
    docker = f"FROM rocm/pytorch:rocm7.1_ubuntu24.04_py3.12_pytorch_release_{torch}\nRUN pip install {line}\n"
    found = [f for f in resolved(tmp_path, Dockerfile=docker) if f == NOT_ROCM]
    assert found == ([NOT_ROCM] if replaced else [])


def test_a_file_for_other_hardware_is_not_judged(tmp_path: Path) -> None:
    cuda, rocm = {"requirements-cu121_DOT_txt": "torch==2.5.1\n"}, {"requirements-rocm_DOT_txt": "torch==2.9.1\n" + EXTRA}
    assert resolved(tmp_path, **cuda) == [NO_AMD]
    assert resolved(tmp_path, **rocm) == []


@pytest.mark.timed
def test_two_thousand_files_in_about_a_second(tmp_path: Path) -> None:
    for n in range(2000):
        folder = tmp_path / f"d{n % 40}"
        folder.mkdir(exist_ok=True)
        name, text = (f"requirements-{n}.txt", "torch==2.9.1\npeft\n") if n % 20 == 0 else (f"m{n}.py", "import torch\n")
        (folder / name).write_text(text)
    start = time.process_time()
    code, report = lint(str(tmp_path), "--gpu", "gfx1100")
    assert time.process_time() - start < 3
    assert (code, [f["id"] for f in report["findings"]]) == (0, ["repo.no-amd-environment"])
