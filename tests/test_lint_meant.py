"""Whom an environment is meant for by other words than its name: what it lacks for any other GPU is no error."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

OLD = "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"
NO_CODE = "arch.not-in-build"
NOT_ROCM = "version.torch-not-rocm"
Files = dict[str, str]


def weight(root: Path, files: Files, gpu: str, about: str = NO_CODE) -> set[str]:
    """How much is made of a diagnosis in the first of the files."""
    first = next(iter(files))
    found = (f for f in serious(report(root, files, gpu=gpu)) if f.id == about)
    return {f.severity for f in found if f.evidence[0].artifact == first}


@pytest.mark.parametrize(("head", "severity"), [
    ("# Setup on a cloud machine\n# Target: Instinct MI300X\n", "warning"), ("\n# For the RX 7900 XTX\n\n", "warning"), ("# MI300X and Strix Halo\n", "error"),
    ("# Setup for AMD GPUs\n", "error"), ("set -e\n# the MI300X needs this\n", "error"), ("# Not for the RX 580\n", "error"), ("# Tested on an RX 7900 XTX\n", "error"),
    ("# usage: ./install.sh gfx1100\n", "error"), ("set -e\nNC='\\033[0m'\necho -e \"${NC}Setup for the MI300X\"\n", "warning"), ("echo 'MI300X' > gpu\n", "error"),
    ("cd app\necho 'MI300X setup'\n", "error"), ("# Any GPU of AMD, such as the RX 7900 XTX\n", "error"),
])  # fmt: skip
def test_the_head_of_a_file_says_for_which_gpus_it_is(tmp_path: Path, head: str, severity: str) -> None:
    assert weight(tmp_path, {"install_rocm.sh": f"#!/bin/bash\n{head}{OLD}"}, "gfx1151") == {severity}


@pytest.mark.parametrize(("name", "readme", "severity"), [
    ("Dockerfile.bak", "# ours\n", "warning"), ("install_rocm.old.sh", "# ours\n", "warning"), ("Dockerfile.rocm", "# ours\n", "error"),
    ("Dockerfile.rocm.bak", "Build it: docker build -f Dockerfile.rocm.bak .\n", "error"), ("Dockerfile.rocm-old", "# ours\n", "warning"),
])  # fmt: skip
def test_a_copy_of_an_image_or_a_script_that_nothing_names_stops_nobody(
    tmp_path: Path, name: str, readme: str, severity: str
) -> None:
    image = "FROM rocm/dev-ubuntu-22.04:6.2\nRUN pip install torch==2.9.1\n"
    text = "#!/bin/bash\npip install torch==2.9.1\n" if name.endswith(".sh") else image
    found = weight(tmp_path, {name: text, "README.md": readme}, "gfx1100", NOT_ROCM)
    assert found == {severity}


@pytest.mark.parametrize(("gpu", "severity"), [("gfx942", "error"), ("gfx1100", "warning")])
@pytest.mark.parametrize(("name", "text"), [
    ("setup_rocm.sh", "# Run this on the MI300X\npip install torch==2.9.1\n"), ("setup_rocm.sh", "pip install torch==2.9.1\nexport BNB_ROCM_ARCH=gfx942\n"),
    ("requirements-rocm.txt", "# MI300X\n--extra-index-url https://download.pytorch.org/whl/rocm6.2\ntorch\n"),
    ("Dockerfile.rocm", "# MI300X\nFROM ubuntu:24.04\nRUN pip install torch==2.9.1\n"),
    ("Dockerfile.rocm", "FROM ubuntu:24.04\nENV PYTORCH_ROCM_ARCH=gfx942\nRUN pip install torch==2.9.1\n"),
])  # fmt: skip
def test_what_is_for_one_gpu_is_no_error_on_another_whatever_it_is(
    tmp_path: Path, name: str, text: str, gpu: str, severity: str
) -> None:
    assert weight(tmp_path, {name: text}, gpu, NOT_ROCM) == {severity}


@pytest.mark.parametrize(
    "line", ['export PYTORCH_ROCM_ARCH="gfx90a;gfx942"', "GFX=gfx942", 'export PYTORCH_ROCM_ARCH="${ARCH:-gfx942}"']
)
def test_a_choice_of_build_targets_is_not_whom_a_script_is_for(tmp_path: Path, line: str) -> None:
    assert weight(tmp_path, {"setup_rocm.sh": f"{line}\npip install torch==2.9.1\n"}, "gfx1100", NOT_ROCM) == {"error"}


@pytest.mark.parametrize(("readme", "severity"), [
    ("# Our appliance\n\nScripts for a mini PC with the Radeon 780M.\n", "warning"), ("# MI300X and Strix Halo\n", "error"), ("# Scripts\n", "error"),
])  # fmt: skip
def test_the_readme_of_a_folder_says_whom_its_files_are_for(tmp_path: Path, readme: str, severity: str) -> None:
    files = {"box/tools/torch_rocm.sh": OLD, "README.md": "# All of it\n", "box/README.md": readme}
    assert weight(tmp_path, files, "gfx1151") == {severity}


# Files of the same folder that say which GPU the machine has.
_OTHER = "HSA_OVERRIDE_GFX_VERSION=10.3.0"


@pytest.mark.parametrize(("more", "severity"), [
    ({"rocm.env": f"export {_OTHER}\n"}, "warning"), ({"run.sh": f"{_OTHER} python app.py\n"}, "warning"), ({"run.sh": "export PYTORCH_ROCM_ARCH=gfx1031\n"}, "warning"),
    ({"docker-compose.yml": "services:\napp:\n    environment:\n      HSA_OVERRIDE_GFX_VERSION: 10.3.0\n"}, "warning"),  # no YAML that Compose takes
    ({"more_rocm.sh": "# Run it on the MI300X machine\npip install peft\n"}, "warning"),
    # None says so of all that is there, or it is said elsewhere.
    ({"run.sh": f"{_OTHER} python app.py\n", "big.sh": "HSA_OVERRIDE_GFX_VERSION=11.0.1 python app.py\n"}, "error"),
    ({"bin/run.sh": f"{_OTHER} python app.py\n"}, "error"), ({"notes.md": f"With an RX 6800: `{_OTHER}`\n"}, "error"),
    ({"run.sh": f"# {_OTHER}\npython app.py\n"}, "error"), ({"run.sh": f'echo "try {_OTHER}"\npython app.py\n'}, "error"),
    ({"run.sh": "export PYTORCH_ROCM_ARCH='gfx90a;gfx942'\n"}, "error"), ({"run-rx6800.sh": f"{_OTHER} python app.py\n"}, "error"),
    ({"run.sh": f"{_OTHER} python app.py\n", "README.md": "AMD GPUs: run `./install_rocm.sh`.\n"}, "error"),
])  # fmt: skip
def test_the_setup_of_one_machine(tmp_path: Path, more: Files, severity: str) -> None:
    assert weight(tmp_path, {"install_rocm.sh": OLD} | more, "gfx1101") == {severity}


def test_an_override_for_other_gpus_stays_an_error_beside_another_file_with_it(tmp_path: Path) -> None:
    files = {
        "install_rocm.sh": OLD,
        "rocm.env": f"export {_OTHER}\n",
        "run_rocm.sh": f"export {_OTHER}\npython app.py\n",
        "Makefile": "run:\n\t. rocm.env\n\tbash install_rocm.sh\n\tbash run_rocm.sh\n",
    }
    found = said(report(tmp_path, files, gpu="gfx1101"))
    assert {s for i, s, _ in found if i == "arch.override-wrong"} == {"error"}


FREEZE = "anyio @ file:///home/build/work\ntorch==2.8.0\n"
DISK = "version.wheel-missing"


@pytest.mark.parametrize(("name", "more", "severity"), [
    ("requirements-rocm.txt", {}, {"error"}), ("requirements_rocm_backup.txt", {}, {"warning"}), ("requirements-rocm.old.txt", {}, {"warning"}),
    ("pre_rocm_requirements.txt", {}, {"warning"}), ("backups/requirements-rocm.txt", {}, set()), ("pre-requirements-rocm.txt", {}, {"error"}),
    ("requirements-rocm.txt", {"save.sh": "pip freeze > requirements-rocm.txt\n"}, {"warning"}),
    ("requirements-rocm.txt", {"save.sh": "pip list --format=freeze | tee requirements-rocm.txt\n"}, {"warning"}),
    ("requirements-rocm.txt", {"save.sh": "pip-compile r.in > requirements-rocm.txt\n"}, {"error"}),
    # Somebody installs it all the same.
    ("requirements-rocm.txt", {"save.sh": "pip freeze > requirements-rocm.txt\n", "README.md": "`pip install -r requirements-rocm.txt`\n"}, {"error"}),
    ("requirements_rocm_frozen.txt", {"README.md": "`pip install -r requirements_rocm_frozen.txt`\n"}, {"error"}),
])  # fmt: skip
def test_a_list_that_keeps_what_was_installed_once(tmp_path: Path, name: str, more: Files, severity: set[str]) -> None:
    assert weight(tmp_path, {name: FREEZE} | more, "gfx1100", DISK) == severity


CUDA = "pip install torch==2.9.1\n"


@pytest.mark.parametrize(("name", "more", "severity"), [
    ("pieces/torch_rocm.sh", {}, "warning"), ("pieces/requirements.txt", {}, "warning"),
    # It lies where such files are looked for, or something names it.
    ("pieces/requirements-rocm.txt", {}, "error"), ("torch_rocm.sh", {}, "error"), ("rocm/torch.sh", {}, "error"), ("scripts/torch_rocm.sh", {}, "error"), ("docker/rocm/torch_rocm.sh", {}, "error"), ("pieces/torch_rocm.sh", {"pieces/README.md": "# Pieces\n"}, "error"),
    ("pieces/torch_rocm.sh", {"README.md": "Run `pieces/torch_rocm.sh`.\n"}, "error"), ("pieces/torch_rocm.sh", {"README.md": "- `pieces/`: what to install\n"}, "error"),
    ("pieces/torch_rocm.sh", {"all.sh": "for one in pieces/*.sh; do bash $one; done\n"}, "error"), ("pieces/torch_rocm.sh", {"all.sh": "bash pieces/torch_$GPU.sh\n"}, "error"),
    ("pieces/torch_rocm.sh", {".github/workflows/a.yml": "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: ./pieces/torch_rocm.sh\n"}, "error"),
    ("pieces/torch_rocm.sh", {"README.md": "Run `torch_rocm.sh.old`.\n"}, "warning"), ("pieces/Dockerfile.rocm", {}, "error"),
])  # fmt: skip
def test_what_nothing_names_and_lies_where_nobody_looks(tmp_path: Path, name: str, more: Files, severity: str) -> None:
    text = {
        "txt": "--extra-index-url https://download.pytorch.org/whl/rocm6.2\ntorch\n",
        "rocm": f"FROM ubuntu:24.04\nRUN {CUDA}",
    }
    assert weight(tmp_path, {name: text.get(name.rpartition(".")[2], CUDA)} | more, "gfx1100", NOT_ROCM) == {severity}


EXTRA = """[project]
name = "x"
version = "1"
dependencies = ["torch==2.9.1"]
[project.optional-dependencies]
rocm = ["torch>=2.9,<2.10", "torchvision"]
[[tool.uv.index]]
name = "amd"
url = "https://download.pytorch.org/whl/rocm6.4"
explicit = true
[tool.uv.sources]
torch = [{ index = "amd", extra = "rocm" }]
"""
SYNC = "uv venv\nuv sync --extra rocm || uv sync\n"
ANEW = ".venv/bin/python -m pip install torch==2.9.1 torchvision --index-url https://download.pytorch.org/whl/rocm6.4 --no-deps\n"


@pytest.mark.parametrize(("lines", "severity"), [
    (".venv/bin/python -m pip uninstall -y torch torchvision || true\n" + ANEW, "warning"), (ANEW, "error"),
    (".venv/bin/python -m pip uninstall -y torch\n" + ANEW, "error"), (ANEW + ".venv/bin/python -m pip uninstall -y torch torchvision\n", "error"),
    (".venv/bin/python -m pip uninstall -y torch torchvision\n" + ANEW.replace("rocm6.4", "cu126"), "error"),
])  # fmt: skip
def test_what_a_script_takes_out_again_and_installs_anew(tmp_path: Path, lines: str, severity: str) -> None:
    files = {"pyproject.toml": EXTRA, "scripts/setup_rocm.sh": SYNC + lines}
    assert weight(tmp_path, files, "gfx1100", "version.companion-mismatch") == {severity}


def test_a_list_that_the_script_does_not_install_is_not_replaced_by_it(tmp_path: Path) -> None:
    anew = "pip uninstall -y torch\npip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"
    files = {"requirements-rocm.txt": "torch==2.9.1+cu126\n", "setup_rocm.sh": anew}
    assert weight(tmp_path, files, "gfx1100", NOT_ROCM) == {"error"}


AGED = "FROM rocm/pytorch:rocm5.2.3_ubuntu20.04_py3.7_pytorch_1.12.1\nCMD python train.py\n"


@pytest.mark.parametrize(("name", "image", "more", "severity"), [
    ("Dockerfile.rocm", AGED, {}, "warning"), ("Dockerfile.rocm", AGED, {"README.md": "With CUDA: `docker build -f Dockerfile.rocm .`\n"}, "warning"),
    ("a/Dockerfile", AGED, {"b/README.md": "On ROCm: `docker build .`\n"}, "warning"), ("a/rocm5.dockerfile", AGED, {"a/README.md": "On ROCm: `docker build .`\n"}, "warning"),
    ("Dockerfile.rocm", AGED, {"README.md": "With ROCm: `docker build -f Dockerfile.rocm .`\n"}, "error"), ("a/Dockerfile", AGED, {"a/README.md": "On ROCm: `docker build .`\n"}, "error"),
    ("Dockerfile", AGED, {"docs/amd.md": "# AMD GPUs\n\nThe image is that of Dockerfile.\n"}, "error"),
    ("Dockerfile.rocm", AGED.replace("5.2.3_ubuntu20.04_py3.7_pytorch_1.12.1", "6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0"), {}, "error"),
])  # fmt: skip
def test_an_image_of_years_ago(tmp_path: Path, name: str, image: str, more: Files, severity: str) -> None:
    assert weight(tmp_path, {name: image} | more, "gfx1201") == {severity}


@pytest.mark.parametrize(("folder", "readme", "severity"), [
    ("trainer-zluda", "", "warning"), ("trainer", "# Trainer for DirectML\n", "warning"), ("trainer", "# Trainer\n\n## With ZLUDA\n", "error"),
    ("trainer", "# Trainer for ROCm and ZLUDA\n", "error"), ("trainer-zluda", "# Trainer (ROCm)\n", "error"), ("trainer", "", "error"),
])  # fmt: skip
def test_a_repository_for_another_way_to_the_gpus_of_amd(tmp_path: Path, folder: str, readme: str, severity: str) -> None:
    listed = "--extra-index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1+rocm6.2\n"
    assert weight(tmp_path / folder, {"requirements-rocm.txt": listed, "README.md": readme}, "gfx1151") == {severity}


@pytest.mark.parametrize(
    ("more", "severity"), [({}, "warning"), ({"README.md": "With ROCm: `docker build -f Dockerfile.rocm .`\n"}, "error")]
)
def test_a_package_of_today_in_an_image_of_years_ago(tmp_path: Path, more: Files, severity: str) -> None:
    image = "FROM rocm/pytorch:rocm5.4.2_ubuntu22.04_py3.10_pytorch_2.0.0\nRUN pip install numpy==2.1.2\n"
    assert weight(tmp_path, {"Dockerfile.rocm": image} | more, "gfx90a", "version.package-mismatch") == {severity}


@pytest.mark.parametrize(("path", "more", "severity"), [
    ("site/extra_packages/pytorch/install", "make: pytorch/${VERSION} install\n", "warning"),
    ("site/extra_packages/pytorch/install", "run extra_packages/pytorch/install\n", "error"),
    ("site/extra_packages/pytorch/install", "run pytorch/install\n", "error"),
    ("scripts/install", "make install\n", "error"),
])  # fmt: skip
def test_a_script_that_is_called_by_a_plain_word(tmp_path: Path, path: str, more: str, severity: str) -> None:
    script = "#!/bin/bash\npip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm6.1\n"
    found = said(report(tmp_path, {path: script, "NOTES.md": more}, gpu="gfx1151"))
    assert found[:1] == [("arch.not-in-build", severity, f"{path}:2")]


@pytest.mark.parametrize(("head", "severity"), [
    ("# MoCha + ROCm (Polaris RX 560)", "warning"), ("# for the RX 580", "warning"), ("# for RX 5500", "warning"), ("# polarised light", "error"), ("# 560 steps", "error"),
])  # fmt: skip
def test_a_gpu_of_before_in_the_head_of_a_file(tmp_path: Path, head: str, severity: str) -> None:
    script = f"#!/bin/bash\n{head}\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\npython app.py\n"
    files = {"run_rocm.sh": script, "README.md": "Run `bash run_rocm.sh`.\n", "app.py": "import torch\n\ntorch.ones(1).cuda()\n"}
    assert [f.severity for f in serious(report(tmp_path, files)) if f.id == "arch.override-wrong"] == [severity]


LISTED = {"requirements-rocm.txt": "--index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1\n"}


@pytest.mark.parametrize(("document", "severity"), [
    ("# X\n\n## Supported hardware\n\n- MI300X (gfx942)\n- RX 7900 XTX (gfx1100)\n", "warning"),
    ("# X\n\n- GPU: MI300 (gfx942), Radeon RX 7900 series (gfx1100/1101)\n", "warning"),
    ("# X\n\n## Hardware\n\n| GPU | target |\n|---|---|\n| MI300X | gfx942 |\n| RX 7900 XTX | gfx1100 |\n", "warning"),
    ("# X\n\n## Requirements\n\ngfx942\n", "error"),
    ("# Hardware\n- gfx942\n- gfx90a\n# Supported\n- gfx1030", "warning"),
    ("# Supported\n- RX 7900 XTX, W7900 (gfx1100)\n# Hardware\n- MI300X (gfx942)\n", "error"),
    ("- AMD GPU: gfx942\n- MI300X\n", "error"),
    ("# Hardware\n- gfx942\n- gfx90a\n\0", "error"),
    ("# X\n\n## Speed\n\n- MI300X (gfx942): 12 s\n- RX 7900 XTX (gfx1100): 30 s\n", "error"),
    ("# X\n\n## Supported hardware\n\n- gfx942\n- gfx1100\n\n## Notes\n\nOn gfx1201 set a variable.\n", "error"),
    ("# X\n\n## Supported hardware\n\n- gfx942\n- RX 9070 (gfx1201)\n", "error"),
    ("# X\n\n## Supported hardware\n\n- gfx942\n\n## Notes\n\n- gfx1100 is slow\n", "error"),
])  # fmt: skip
def test_documents_that_list_the_gpus_that_they_are_for(tmp_path: Path, document: str, severity: str) -> None:
    files = {**LISTED, "README.md": "# X\n\nTraining on AMD GPUs.\n", "docs/hardware.md": document}
    (one,) = (f for f in serious(report(tmp_path, files, gpu="gfx1201")) if f.id == "arch.not-in-build")
    assert one.severity == severity
    assert ("on line" in one.advice and "of docs/hardware.md, is without gfx1201" in one.advice) is (severity == "warning")


@pytest.mark.parametrize(("asked", "severity"), [("torch", "error"), ("torchvision", "error"), ("peft", "warning")])
def test_an_index_from_before_the_gpu_from_which_no_torch_is_asked_for(tmp_path: Path, asked: str, severity: str) -> None:
    """instructlab takes a torch of its own range: whether the index of the list has one is not known."""
    text = f"name: x\ndependencies:\n  - python=3.11\n  - pip:\n    - {asked}\n    - --index-url https://download.pytorch.org/whl/nightly/rocm5.2\n"
    found = [f for f in serious(report(tmp_path, {"environment_amd.yaml": text}, "gfx1151")) if f.id == "arch.not-in-build"]
    assert [f.severity for f in found] == [severity]


@pytest.mark.parametrize(
    ("extra", "severity"), [("device-gfx1150", "warning"), ("device-all", "error"), ("device-gfx906,device-gfx1150", "error")]
)
def test_a_torch_with_the_device_packages_of_other_gpus_alone(tmp_path: Path, extra: str, severity: str) -> None:
    files = {
        "requirements-rocm.txt": f"--index-url https://repo.amd.com/rocm/whl-multi-arch/\ntorch[{extra}]==2.11.0+rocm7.14.0\n"
    }
    (one,) = (f for f in report(tmp_path, files, gpu="gfx906").findings if f.id == "arch.dropped-by-rocm")
    assert one.severity == severity


SWAP = "RUN rm -rf /v/torch/lib/rocblas/library && mv /opt/rocm/lib/rocblas/library /v/torch/lib/rocblas/\n"
OF_64 = {"requirements-rocm.txt": "--index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1\n"}


@pytest.mark.parametrize(("more", "severity"), [(SWAP, "warning"), ("", "error")])
def test_a_rocblas_that_the_repository_replaces(tmp_path: Path, more: str, severity: str) -> None:
    files = {**OF_64, "requirements-amd.txt": OF_64["requirements-rocm.txt"]}
    files["Dockerfile.rocm"] = f"FROM ubuntu:24.04\nCOPY *.txt ./\nRUN pip install -r requirements-rocm.txt\n{more}"
    found = [f for f in serious(report(tmp_path, files, "gfx906")) if f.id == "arch.blas-missing"]
    assert {f.severity for f in found} == {severity}
    assert all(("line 4 of Dockerfile.rocm" in f.advice) is bool(more) for f in found)


@pytest.mark.parametrize(("programs", "severity"), [
    ({}, "error"), ({"run.py": "import json\n"}, "warning"), ({"run.py": "import json\nimport torch.nn as nn\n"}, "error"), ({"run.py": "from transformers import x\n"}, "error"),
    ({"run.py": "def f():\n    import open_clip\n"}, "error"), ({"run.py": "from torchvision import x\n"}, "error"), ({"run.py": "import json\n# import torch\n"}, "warning"), ({"run.py": "x = 1\n"}, "error"),
    ({"run.py": "import json\n", "a.ipynb": '{"cells": [{"source": [\n "import torch\\n"]}]}'}, "error"), ({"run.js": "import torch\n"}, "error"),
])  # fmt: skip
def test_a_torch_that_no_program_imports(tmp_path: Path, programs: Files, severity: str) -> None:
    (one,) = (f for f in serious(report(tmp_path, {**OF_64, **programs}, "gfx906")) if f.id == "arch.blas-missing")
    assert one.severity == severity
    assert ("No program of the repository imports torch" in one.advice) is (severity == "warning")


def test_what_is_in_a_folder_of_history_is_used_no_more(tmp_path: Path) -> None:
    files = {"history/setup_rocm.sh": "pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"}
    assert not serious(report(tmp_path, files, "gfx906"))
