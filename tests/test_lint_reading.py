"""What a second reader of unknown repositories found to be read wrongly: a case of each kind, and its neighbour."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lint_text import report, repository, said, serious

NOT_ROCM = "version.torch-not-rocm"
WHEELS = "https://download.pytorch.org/whl/"
IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"


# Requirements


@pytest.mark.parametrize("line", [
    f'torch; --index-url {WHEELS}rocm6.4; sys_platform == "linux"', f"torch --index-url {WHEELS}rocm6.4", f"torch; -i {WHEELS}rocm6.4",
])  # fmt: skip
def test_a_requirement_survives_the_option_behind_it(tmp_path: Path, line: str) -> None:
    assert said(report(tmp_path, {"requirements-rocm.txt": line + "\n"})) == [(NOT_ROCM, "error", "requirements-rocm.txt:1")]
    fine = f"--index-url {WHEELS}rocm6.4\ntorch\n"
    assert said(report(tmp_path, {"requirements-rocm.txt": fine})) == []


def test_files_that_a_pattern_copies_into_an_image(tmp_path: Path) -> None:
    build = f"FROM {IMAGE}\nCOPY requirements*.txt /app/\nWORKDIR /app\nRUN pip install -r requirements-more.txt\n"
    files = {"Dockerfile": build, "requirements-more.txt": "torch==2.9.1\n"}
    assert (NOT_ROCM, "error", "requirements-more.txt:1") in said(report(tmp_path, files))
    other = {"Dockerfile": build.replace("requirements*", "other*"), "requirements-more.txt": "torch==2.9.1\n"}
    assert not any(
        place.startswith("requirements-more") for _, severity, place in said(report(tmp_path, other)) if severity == "error"
    )


def test_a_pattern_that_names_no_folder_of_the_repository(tmp_path: Path) -> None:
    build = f"FROM {IMAGE}\nCOPY gone/*.txt ../../*.txt /app/\nRUN pip install peft\n"
    assert serious(report(tmp_path, {"Dockerfile": build})) == []


@pytest.mark.parametrize(("setting", "os", "ids"), [
    ('[tool.uv]\ntorch-backend = "auto"\n', "linux", []),
    ('[tool.uv.pip]\ntorch-backend = "auto"\n', "linux", []),
    ('[tool.uv]\ntorch-backend = "auto"\n', "windows", ["repo.no-amd-environment"]),  # uv finds AMD GPUs on Linux only
    ("", "linux", ["repo.no-amd-environment"]),
])  # fmt: skip
def test_a_torch_that_uv_chooses_by_the_gpu(tmp_path: Path, setting: str, os: str, ids: list[str]) -> None:
    project = (
        '[build-system]\nrequires = ["setuptools"]\n[project]\nname = "x"\ndynamic = ["dependencies"]\n'
        '[tool.setuptools.dynamic]\ndependencies = {file = ["requirements.txt"]}\n'
    )
    found = report(tmp_path, {"pyproject.toml": project + setting, "requirements.txt": "torch>=2.8\n"}, os=os)
    assert [f.id for f in serious(found)] == ids


# Shell


WRAPPED = """run_pip() {
    local output
    output=$(pip install "$@" 2>&1) || exit 1
}
if [ "$USE_CUDA" = true ]; then
    run_pip torch --index-url "https://download.pytorch.org/whl/cu128"
elif [ "$USE_ROCM" = true ]; then
    run_pip torch --index-url "https://download.pytorch.org/whl/rocm6.4"
fi
run_pip numpy
run_pip torchvision
"""


def test_a_function_that_passes_its_arguments_to_pip(tmp_path: Path) -> None:
    assert said(report(tmp_path, {"install.sh": WRAPPED})) == [(NOT_ROCM, "error", "install.sh:11")]
    assert said(report(tmp_path, {"install.sh": WRAPPED.replace("run_pip torchvision\n", "")})) == []


def test_a_script_whose_only_torch_is_for_other_hardware_is_for_that(tmp_path: Path) -> None:
    text = f'if [ "$CUDA_VERSION" = "12.8" ]; then\n  pip install torch --index-url {WHEELS}cu128\nfi\npip install flash-attn\n'
    assert report(tmp_path, {"base.sh": text}, gpu="gfx906").verdict != "ready"
    assert {e.purpose.kind for e in repository(tmp_path, {}).environments} == {"nvidia"}
    assert "lib.flash-attn" not in {f.id for f in serious(report(tmp_path, {}, gpu="gfx906"))}
    both = text + f"pip install torch --index-url {WHEELS}rocm6.3\n"
    assert "lib.flash-attn" in {f.id for f in serious(report(tmp_path, {"base.sh": both}, gpu="gfx906"))}


@pytest.mark.parametrize(("end", "count"), [
    ("wget https://example.com/$GFX_ARCHS.tar\n", 0), ("cmake -B out && make -C out\n", 1), ("export GFX_ARCHS\n", 1),
])  # fmt: skip
def test_a_list_of_gpus_where_nothing_is_built(tmp_path: Path, end: str, count: int) -> None:
    text = "export HSA_ENABLE_SDMA=0\nGFX_ARCHS='gfx900 gfx906'\n" + end
    found = report(tmp_path, {"kernels.sh": text})
    assert sum(f.id == "arch.not-in-build" for f in found.findings) == count


# Images


@pytest.mark.parametrize(("file", "gpu", "severities"), [
    ("Dockerfile.rocm_MI350-5", "gfx942", []), ("Dockerfile.rocm_MI350-5", "gfx950", []), ("Dockerfile.rocm", "gfx942", ["warning"]),
])  # fmt: skip
def test_an_image_that_is_called_for_another_gpu(tmp_path: Path, file: str, gpu: str, severities: list[str]) -> None:
    text = f"FROM {IMAGE}\nENV PYTORCH_ROCM_ARCH=gfx950\n"
    plain = f"FROM {IMAGE}\nENV PYTORCH_ROCM_ARCH=gfx942;gfx950\n"
    found = report(tmp_path, {f"docker/{file}": text, "docker/amd/Dockerfile": plain}, gpu=gpu)
    assert [f.severity for f in serious(found) if f.id == "arch.not-in-build"] == severities


TORCH = f"RUN pip install torch==2.8.0 --index-url {WHEELS}rocm6.4\n"


@pytest.mark.parametrize(("more", "missing"), [
    ("", True), ("RUN mv /tmp/rocblas/library/ /app/.venv/lib/python3.12/site-packages/torch/lib/rocblas/\n", False),
    ("RUN mv /tmp/rocblas/library/ /srv/elsewhere/\n", True),
])  # fmt: skip
def test_an_image_that_replaces_the_rocblas_of_torch(tmp_path: Path, more: str, missing: bool) -> None:
    found = report(tmp_path, {"Dockerfile": "FROM rocm/dev-ubuntu-24.04:6.3.4\n" + TORCH + more}, gpu="gfx906")
    assert ("arch.blas-missing" in {f.id for f in found.findings}) is missing


@pytest.mark.parametrize(("rest", "warned"), [
    (f"RUN pip install torch==2.5.1 --index-url {WHEELS}rocm6.1\n", False),  # torch loads the ROCm of its own wheel
    ("ENV PYTORCH_ROCM_ARCH=gfx906\n" f"RUN pip install torch==2.5.1 --index-url {WHEELS}rocm6.1\n", True),
    ("RUN pip install numpy\n", True),
])  # fmt: skip
def test_the_rocm_of_an_image_beside_that_of_torchs_wheel(tmp_path: Path, rest: str, warned: bool) -> None:
    found = report(tmp_path, {"Dockerfile": "FROM rocm/dev-ubuntu-22.04:7.0\n" + rest}, gpu="gfx906")
    assert ("arch.dropped-by-rocm" in {f.id for f in serious(found)}) is warned


# Guides


GUIDE = """# Installation
### For gfx110X (RX 7900)
```cmd
pip install torch --index-url https://rocm.nightlies.amd.com/v2/gfx110X-all/
```
### For gfx1151 (Strix Halo)
```cmd
pip install torch --index-url https://rocm.nightlies.amd.com/v2/gfx1151/
```
"""


def test_a_guide_with_one_index_for_each_family_of_gpus(tmp_path: Path) -> None:
    files = {
        "docs/AMD-INSTALLATION.md": GUIDE,
        "Dockerfile": "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN pip install torch\n",
    }
    assert serious(report(tmp_path, files, gpu="gfx1151", os="windows")) == []
    linux = serious(report(tmp_path, files, gpu="gfx1151"))
    assert [(f.id, f.severity) for f in linux] == [("repo.no-amd-environment", "warning")]
    assert "Windows" in linux[0].title
    missing = serious(report(tmp_path, files, gpu="gfx1201", os="windows"))
    assert [f.id for f in missing] == ["repo.no-amd-environment"]


def test_every_bug_of_the_first_reading_names_a_test_that_is_there() -> None:
    here = Path(__file__).parent
    rows = re.findall(r"^\| (\d+) \| .* \| (`test_.*`) \|$", (here.parent / "docs/lint.md").read_text("utf-8"), re.M)
    assert [int(number) for number, _ in rows] == list(range(1, 26))
    defined = {
        name for path in here.glob("test_lint_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.M)
    }
    assert {name for _, tests in rows for name in re.findall(r"`(test_\w+)`", tests)} <= defined


ALTERNATIVES = (
    'if [ "$OF" = noble ]; then {0}; elif [ "$OF" = jammy ]; then {1}; fi\n', 'case "$OF" in\nnoble) {0};;\njammy) {1};;\nesac\n',
    'if [ "$OF" = noble ]; then\n  {0}\nelse\n  {1}\nfi\n',
)  # fmt: skip


@pytest.mark.parametrize("text", ALTERNATIVES)
def test_values_of_different_branches_are_alternatives(tmp_path: Path, text: str) -> None:
    install = f"pip install torch --index-url {WHEELS}rocm$V\n"
    assert serious(report(tmp_path / "two", {"rocm.sh": text.format("V=7.2", "V=5.2") + install})) == []
    found = serious(report(tmp_path / "same", {"rocm.sh": text.format("V=5.2", "V=5.2") + install}))
    assert "version.python-unsupported" in [f.id for f in found]


@pytest.mark.parametrize("file", ["$LIST", "/outside/env.yml", "missing.yml"])
def test_a_conda_list_that_is_not_here_is_no_nameless_file(tmp_path: Path, file: str) -> None:
    files = {"setup_rocm.sh": f"pip install torch==2.9.1 --index-url {WHEELS}rocm6.4\nconda env create -f {file}\n"}
    assert "repo.unreadable" not in [i for i, _, _ in said(report(tmp_path, files))]


def test_a_quoted_build_argument_is_whole(tmp_path: Path) -> None:
    text = 'FROM rocm/dev-ubuntu-22.04:6.4\nARG GPU_DEVICE_TARGETS="gfx900 {} gfx90a" OTHER=1\nRUN make\n'
    assert said(report(tmp_path / "a", {"Dockerfile.rocm": text.format("gfx1100")}, gpu="gfx1100")) == []
    found = said(report(tmp_path / "b", {"Dockerfile.rocm": text.format("gfx1030")}, gpu="gfx1100"))
    assert [i for i, _, _ in found] == ["arch.not-in-build"]


def test_uv_is_told_the_environment_by_its_python(tmp_path: Path) -> None:
    """What is installed there is there when its Python runs a program, and so is the companion of another build."""
    text = f'uv venv "$W/venv"\nuv pip install --python "$W/venv/bin/python" torch --index-url {WHEELS}rocm6.4\n'
    text += 'uv pip install -p "$W/venv/bin/python" torchvision\n"$W/venv/bin/python" serve.py\n'
    files = {"setup_rocm.sh": text, "serve.py": "import torch\n"}
    found = [f for f in serious(report(tmp_path / "a", files)) if f.severity == "error"]
    assert [f.evidence[0].at for f in found] == [("setup_rocm.sh", "line 3")]
    fine = {**files, "setup_rocm.sh": text.replace("torchvision", f"torchvision --index-url {WHEELS}rocm6.4")}
    assert said(report(tmp_path / "b", fine)) == []
