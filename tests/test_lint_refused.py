"""What pip refuses, holds on to or goes back to: constraints, lower bounds, Pythons, folders, addresses of a disk, lines that are none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lint_text import report, said, serious

WHEELS = "https://download.pytorch.org/whl/"
ROCM = f"{WHEELS}rocm6.4"
LIST = "requirements-rocm.txt"
IMAGE = "rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0"
NOT_ROCM, NO_PYTHON, NO_WHEEL = "version.torch-not-rocm", "version.python-unsupported", "version.wheel-missing"


def ids(folder: Path, files: dict[str, str], severity: str = "error") -> list[str]:
    return [i for i, s, _ in said(report(folder, files)) if s == severity]


@pytest.mark.parametrize(("limits", "asked", "replaced"), [
    ("torch==2.3.0", "bitsandbytes>=0.49.1", False), ("torch==2.3.0+rocm6.2", "bitsandbytes", False), ("torch==2.3.0", "vllm", False),
    ("torch<3", "bitsandbytes", True), ("numpy<2", "bitsandbytes", True),
])  # fmt: skip
def test_a_constraint_that_pins_the_torch_that_is_there_holds_it(tmp_path: Path, limits: str, asked: str, replaced: bool) -> None:
    files = {
        "Dockerfile.rocm": f"FROM {IMAGE}\nCOPY *.txt .\nRUN pip install -c constraints.txt -r requirements.txt\n",
        "constraints.txt": limits + "\n",
        "requirements.txt": asked + "\n",
    }
    assert (NOT_ROCM in ids(tmp_path, files)) is replaced


@pytest.mark.parametrize(
    ("spec", "replaced"), [("", True), (">=0.4.0", True), (">=0.4,!=0.5", True), ("<0.20", False), ("==0.12.0", False)]
)
def test_a_lower_bound_changes_nothing_for_pip(tmp_path: Path, spec: str, replaced: bool) -> None:
    text = f"pip install torch --index-url {ROCM}\npip install 'vllm{spec}'\n"
    assert (NOT_ROCM in ids(tmp_path, {"install_rocm.sh": text})) is replaced


def test_an_image_has_the_package_that_it_is_called_by(tmp_path: Path) -> None:
    text = "FROM rocm/vllm:rocm6.4.1_vllm_0.9.1_20250702\nRUN pip install 'vllm>=0.4.0' 'peft'\n"
    assert NOT_ROCM not in ids(tmp_path, {"Dockerfile.rocm": text})


@pytest.mark.parametrize("option", ["-e sub", "-e ./sub", "-e sub/inner", "--editable sub"])
def test_what_is_installed_in_place_is_a_folder(tmp_path: Path, option: str) -> None:
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch"]\n'
    lines = f"--index-url {ROCM}\ntorch==2.9.1\n{option}\n"
    files = {LIST: lines, "sub/pyproject.toml": project, "sub/inner/pyproject.toml": project}
    assert [(f.id, f.title) for f in serious(report(tmp_path / "a", files))] == []
    text = f"pip install torch==2.9.1 --index-url {ROCM}\npip install --index-url {ROCM} {option}\n"
    assert ids(tmp_path / "b", {"install_rocm.sh": text, **files}) == []


TAGGED = "rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0"


@pytest.mark.parametrize(("allowed", "command", "refused"), [
    (">=3.13", "pip install -e .", True), (">=3.11", "uv pip install --system -e .", True), (">=3.11", "pip install --ignore-requires-python .", False),
    (">=3.10.5", "pip install .", False), (">=3.11", "python3.12 -m venv /v && /v/bin/pip install .", False), (">=3.11", "uv pip install .", False),
    (">=3.11", "pyenv install 3.12.1 && pip install .", False), (">=3.11", "bash Miniforge3-Linux-x86_64.sh -b && pip install .", False),
    ("<3.10", "pip install .", True), (">=3.9", "pip install .", False),
])  # fmt: skip
def test_the_python_of_an_image_against_that_of_the_project(tmp_path: Path, allowed: str, command: str, refused: bool) -> None:
    files = {
        "Dockerfile.rocm": f"FROM {TAGGED}\nCOPY . .\nRUN {command}\n",
        "pyproject.toml": f'[project]\nname = "x"\nversion = "1"\nrequires-python = "{allowed}"\ndependencies = ["rich"]\n',
    }
    found = [f for f in serious(report(tmp_path, files)) if f.id == NO_PYTHON and "installs it" in f.title]
    assert [f.severity for f in found] == ["error"] * refused


@pytest.mark.parametrize(("url", "severity"), [
    ("file:///croot/packaging_1734472117206/work", "error"), ("file:///C:/Users/me/x", "error"), ("file:///opt/packaging-24.0-py3-none-any.whl", "warning"), ("file:./vendored", ""), ("https://x.org/p.whl", ""),
])  # fmt: skip
def test_a_path_of_the_machine_that_wrote_the_list(tmp_path: Path, url: str, severity: str) -> None:
    text = f"packaging @ {url}\n--extra-index-url {ROCM}\ntorch==2.9.1+rocm6.4\n"
    found = serious(report(tmp_path, {LIST: text}))
    assert [(f.id, f.severity) for f in found] == ([(NO_WHEEL, severity)] if severity else [])


@pytest.mark.parametrize(("line", "refused"), [
    ("bitsandbytes @ pip install --no-deps https://x/y.whl", True), ("peft --no-deps", True), ("peft trl", True), ("torch>=2.9+rocm6.4", True),
    ("peft --no-binary :all:", False), ("peft --pre", False), ("peft>=0.1.*", False), ("peft=0.9", False), ("vendored/peft", False), ("peft; python>3", False),
])  # fmt: skip
def test_a_line_that_no_pip_takes_ends_the_list(tmp_path: Path, line: str, refused: bool) -> None:
    lines = f"--extra-index-url {ROCM}\n{line}\ntorch==2.9.1+rocm6.4\n"
    expected = [("repo.unreadable", "error", f"{LIST}:2")] if refused else []
    assert said(report(tmp_path / "a", {LIST: lines})) == expected
    image = {"Dockerfile.rocm": "FROM python:3.12-slim\nCOPY . .\nRUN pip install -r deps.txt\n", "deps.txt": lines}
    assert [i for i, s, _ in said(report(tmp_path / "b", image)) if s == "error"] == ["repo.unreadable"] * refused


@pytest.mark.parametrize(("line", "meant"), [
    ("torch:2.3.0", "torch==2.3.0"), ("torch:2.3.0,", "torch==2.3.0"), ("pip install peft>=0.9", "peft>=0.9"), ("torch>=2.9+rocm6.4", "torch==2.9+rocm6.4"), ("peft --no-deps", "peft"),
    ("transformers v4.57.0", "transformers==4.57.0"), ("peft trl", "one requirement"),
])  # fmt: skip
def test_what_a_line_that_no_pip_takes_is_meant_for(tmp_path: Path, line: str, meant: str) -> None:
    """The list with the line of the advice is silent."""
    lines = f"--extra-index-url {ROCM}\n{line}\ntorch==2.9.1+rocm6.4\n"
    (found,) = serious(report(tmp_path / "a", {LIST: lines}))
    assert found.advice.startswith(f"Write {meant} on line 2 of {LIST}, or a # before it")
    if " " not in meant:
        assert said(report(tmp_path / "b", {LIST: lines.replace(line, meant)})) in ([], [(NO_WHEEL, "error", f"{LIST}:2")])


@pytest.mark.parametrize("line", ["packaging @ file:///croot/packaging_1734472117206/work", "peft trl"])
@pytest.mark.parametrize(("name", "installed", "error"), [
    ("requirements-lock.txt", "requirements.txt", False), ("requirements-rocm-lock.txt", "requirements-rocm.txt", False),
    ("requirements-lock.txt", "", False), ("requirements-rocm.txt", "", True), ("requirements.txt", "requirements.txt", True),
])  # fmt: skip
@pytest.mark.parametrize("dockerfile", ["Dockerfile.rocm", "Dockerfile"])
def test_a_list_that_nothing_installs_stops_nothing(
    tmp_path: Path, line: str, name: str, installed: str, error: bool, dockerfile: str
) -> None:
    image = {dockerfile: f"FROM {IMAGE}\nCOPY . .\nRUN pip install -r {installed}\n"} if installed else {}
    files = {"requirements.txt": "peft\n", "requirements-rocm.txt": "peft\n"} if installed else {"requirements.txt": "peft\n"}
    files |= {name: f"--extra-index-url {ROCM}\n{line}\ntorch==2.9.1+rocm6.4\n"}
    found = ids(tmp_path, {**files, **image})
    by_path = line.startswith("packaging") and installed == name  # an image may have a file there
    assert bool({NO_WHEEL, "repo.unreadable"} & set(found)) is (error and not by_path)


def test_a_text_that_is_no_list(tmp_path: Path) -> None:
    text = f"First install torch\nthen the rest of it\npip install torch --index-url {ROCM}\n"
    assert [s for _, s, _ in said(report(tmp_path, {LIST: text}))].count("error") == 0


HASH = "--hash=sha256:" + "a" * 64


def test_a_list_of_hashes_is_compiled_again(tmp_path: Path) -> None:
    text = f"--extra-index-url {ROCM}\nsix==1.17.0 {HASH}\ntorch==2.9.0+rocm6.4 \\\n    {HASH}\n"
    (found,) = serious(report(tmp_path, {"requirements-rocm.txt": text}, "gfx1103"))
    assert "compile it again with its hashes" in found.advice
    assert "Write on line" not in found.advice


def test_the_companions_that_a_remedy_makes_wrong_are_named(tmp_path: Path) -> None:
    text = f"--extra-index-url {WHEELS}rocm6.2\ntorch>=2.4\ntorchvision==0.16.0\ntorchaudio==2.0.2\npytorch-triton-rocm==2.1.0\n"
    (found, *_) = serious(report(tmp_path, {LIST: text}))
    assert found.id == NOT_ROCM
    assert "Write torchvision==0.25.0+rocm7.1 on line 3" in found.advice
    assert "Write torchaudio==2.10.0+rocm7.1 on line 4" in found.advice
    assert "Take pytorch-triton-rocm out of line 5" in found.advice


def test_a_requirement_of_an_extra_is_on_the_line_of_that_extra(tmp_path: Path) -> None:
    text = (
        '[project]\nname = "x"\nversion = "1"\n[project.optional-dependencies]\ncpu = ["torch"]\nrocm64 = [\n  "torch",\n  "pytorch-triton-rocm",\n]\n'
        f'[tool.uv.sources]\ntorch = [{{ index = "r", extra = "rocm64" }}]\n[[tool.uv.index]]\nname = "r"\nurl = "{ROCM}"\nexplicit = true\n'
    )
    (found,) = [f for f in serious(report(tmp_path, {"pyproject.toml": text}, "gfx1103")) if f.id == "arch.not-in-build"]
    assert "line 7" in [r.place for r in found.evidence]
    assert "line 5" not in [r.place for r in found.evidence]


def test_a_release_that_requires_one_torch_decides_beside_a_range(tmp_path: Path) -> None:
    (found, *_) = serious(report(tmp_path, {"requirements.txt": "torch>=2.0.1\ntorchdata==0.6.1\n"}))
    assert "torch resolves to 2.0.1" in found.title
    assert "Take torchdata out of line 2 of requirements.txt" in found.advice


def test_a_release_that_requires_another_torch_than_the_pin(tmp_path: Path) -> None:
    lines = f"--extra-index-url {ROCM}\ntorch==2.9.1+rocm6.4\ntorchdata=="
    assert said(report(tmp_path / "a", {LIST: lines + "0.6.1\n"})) == [("version.package-mismatch", "error", f"{LIST}:3")]
    assert said(report(tmp_path / "b", {LIST: lines + "0.11.0\n"})) == []


@pytest.mark.parametrize(("asked", "replaced"), [("torchdata==0.6.1", True), ("torchtext==0.18.0", False), ("torchdata", False)])
def test_a_release_that_requires_one_torch_replaces_the_one_that_is_there(tmp_path: Path, asked: str, replaced: bool) -> None:
    text = f"pip install torch==2.9.1 --index-url {ROCM}\npip install {asked}\n"
    assert (NOT_ROCM in ids(tmp_path, {"install_rocm.sh": text})) is replaced


@pytest.mark.parametrize(("words", "severity"), [
    ("mamba-ssm==1.2.0.post1", "warning"), ("--no-build-isolation mamba-ssm==1.2.0.post1", ""), ("mamba-ssm==2.2.4", ""), ("mamba-ssm", ""),
    ("flash-attn>=2.5", "warning"), ("causal-conv1d", ""), ("--extra-index-url https://wheels.example.org flash-attn", ""),
])  # fmt: skip
def test_a_build_that_imports_torch_in_isolation(tmp_path: Path, words: str, severity: str) -> None:
    def found(files: dict[str, str]) -> list[str]:
        return [f.severity for f in serious(report(tmp_path / str(len(files)), files)) if "its build imports torch" in f.title]

    text = f"pip install torch==2.9.1 --index-url {ROCM}\npip install {words}\n"
    assert found({"install_rocm.sh": text}) == ([severity] if severity else [])
    if not words.startswith("--"):
        listed = f"--extra-index-url {ROCM}\ntorch==2.9.1+rocm6.4\n{words}\n"
        assert found({LIST: listed, "a.txt": ""}) == (["warning"] if severity else [])


@pytest.mark.parametrize(("spec", "python", "title"), [
    ("==2.14.600", "3.12", "no such release"), ("==2.14.600", "3.11", "no such release"), (">=2.15", "3.11", "no such release"),
    ("==2.14.0.600", "3.12", "no wheel for Python 3.12"), ("==2.14.0.600", "3.11", ""), ("", "3.11", ""),
])  # fmt: skip
def test_a_release_that_never_existed_is_no_question_of_the_python(tmp_path: Path, spec: str, python: str, title: str) -> None:
    found = serious(report(tmp_path, {LIST: f"tensorflow-rocm{spec}\n"}, python=python))
    assert [title in f.title for f in found] == ([True] if title else [])
    assert all("2.14.0.600" in f.advice for f in found if "no such" in f.title)


def test_of_two_indexes_the_last_one_counts(tmp_path: Path) -> None:
    """pip drops what stands above an --index-url of a list: the index has to be asked below it."""
    lines = f"--index-url {ROCM}\ntorch\n--index-url https://pypi.org/simple\npeft\n"
    (found,) = [f for f in serious(report(tmp_path / "a", {LIST: lines})) if f.severity == "error"]
    pin, index = re.findall(r"Write (\S+) on line 2|Write (\S+ \S+) on line 3", found.advice)
    assert index[1].startswith("--extra-index-url ")
    after = lines.replace("--index-url https://pypi.org/simple", index[1]).replace("torch\n", f"{pin[0]}\n")
    assert said(report(tmp_path / "b", {LIST: after})) == []


def test_nothing_is_added_above_a_mirror_that_pip_takes_in_its_place(tmp_path: Path) -> None:
    found = serious(report(tmp_path, {LIST: "torch\n--index-url https://pypi.tuna.tsinghua.edu.cn/simple\npeft\n"}))
    assert [f.title for f in found if "CUDA build" in f.title]
    assert not any("Add above" in f.advice for f in found)
