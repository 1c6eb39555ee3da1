"""What commands do to an environment, as an independent reader of unknown repositories found it to be read wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said

WHEELS = "https://download.pytorch.org/whl/"
NOT_ROCM = "version.torch-not-rocm"
IMAGE = "FROM rocm/pytorch:rocm7.1.1_ubuntu22.04_py3.10_pytorch_release_2.9.1"
AMD_WHEEL = "https://repo.radeon.com/rocm/manylinux/rocm-rel-7.2/torch-$A+rocm7.2.0.lw.git7e1940d4-$Z-linux_x86_64.whl"


def ids(folder: Path, files: dict[str, str], gpu: str = "gfx1100", python: str = "3.12") -> list[str]:
    return [i for i, _, _ in said(report(folder, files, gpu, python=python))]


def test_a_word_that_the_grammar_cuts(tmp_path: Path) -> None:
    text = f"FROM rocm/dev-ubuntu-24.04:7.2\nENV PIP_BREAK_SYSTEM_PACKAGES=1\nENV A=2.9.1\nENV Z=cp312-cp312\nRUN pip install {AMD_WHEEL}\nRUN pip install peft\n"
    assert ids(tmp_path, {"Dockerfile": text}) == []


@pytest.mark.parametrize(("pin", "expected"), [
    ("2.9.1+rocm7.2.0.lw.git7e1940d4", []), ("2.9.1+rocm6.4", [("version.wheel-missing", "warning", "requirements-rocm.txt:1")]),
])  # fmt: skip
def test_a_list_for_amds_image(tmp_path: Path, pin: str, expected: list[tuple[str, str, str]]) -> None:
    """AMD's own builds are in its images; any other comes from an index that the caller names."""
    assert said(report(tmp_path, {"requirements-rocm.txt": f"torch=={pin}\n"})) == expected


@pytest.mark.parametrize(("command", "expected"), [
    ("python3 merge.py requirements.txt rocm.txt -o requirements.txt", []), ("uv pip compile in.txt --output-file requirements.txt", []),
    ("python3 check.py -o report.txt", [NOT_ROCM]),
])  # fmt: skip
def test_a_list_that_a_command_writes_anew(tmp_path: Path, command: str, expected: list[str]) -> None:
    text = f"{IMAGE}\nCOPY . .\nRUN {command}\nRUN pip install -r requirements.txt\n"
    assert ids(tmp_path, {"Dockerfile": text, "requirements.txt": "torch==2.6.0\n"}) == expected


@pytest.mark.parametrize(("edit", "expected"), [("RUN sed -i '/torch.*/d' requirements.txt\n", []), ("", [NOT_ROCM])])
def test_a_project_whose_list_was_changed(tmp_path: Path, edit: str, expected: list[str]) -> None:
    project = '[project]\nname = "x"\nversion = "1"\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = {file = ["requirements.txt"]}\n'
    files = {
        "Dockerfile": f"{IMAGE}\nCOPY . .\n{edit}RUN pip install .\n",
        "requirements.txt": "torch==2.6.0\n",
        "pyproject.toml": project,
    }
    assert ids(tmp_path, files) == expected


RETRY = """pip_retry() {{
  for ((i=1; i<=3; i++)); do
    if pip install "$@"; then return 0; fi
  done
}}
pip_retry --index-url {} torch==2.9.1
"""


def test_a_condition_that_installs(tmp_path: Path) -> None:
    assert ids(tmp_path / "a", {"install-rocm.sh": RETRY.format("https://repo.amd.com/rocm/whl/gfx90a/")}) == [
        "arch.not-in-build"
    ]
    assert ids(tmp_path / "b", {"install-rocm.sh": RETRY.format(f"{WHEELS}rocm6.4")}) == []


CONDA = "name: m\nchannels: [conda-forge]\ndependencies:\n  - python=3.12\n  - pip:\n"
CONDA += f"    - --extra-index-url {WHEELS}rocm6.0/\n    - torch==2.4.1+rocm6.0\n    - torchvision=={{}}\n"


@pytest.mark.parametrize("path", ["m.yml", "pip/m.yml", "conda/m.yml"])
def test_a_local_version_of_a_companion(tmp_path: Path, path: str) -> None:
    assert ids(tmp_path / "a", {path: CONDA.format("0.19.1+rocm6.0")}) == []
    assert ids(tmp_path / "b", {path: CONDA.format("0.19.1+cu124")}) == ["version.companion-mismatch"]


@pytest.mark.parametrize(("index", "expected"), [
    ("https://repo.amd.com/rocm/whl/gfx110X-all/", []), (f"{WHEELS}rocm6.4", ["version.companion-mismatch"]),
])  # fmt: skip
def test_amd_pairs_other_patch_releases(tmp_path: Path, index: str, expected: list[str]) -> None:
    text = f"pip install --index-url {index} torch==2.9.1 torchvision==0.24.0\n"
    assert ids(tmp_path, {"install-rocm.sh": text}) == expected


@pytest.mark.parametrize(("installed", "expected"), [
    ("bitsandbytes>=0.45", []), ("git+https://github.com/bitsandbytes-foundation/bitsandbytes", ["arch.not-in-build"]),
])  # fmt: skip
def test_a_list_of_gpus_for_what_comes_as_a_wheel(tmp_path: Path, installed: str, expected: list[str]) -> None:
    text = f"export BNB_ROCM_ARCH=gfx942\npip install torch==2.9.1+rocm6.4 --extra-index-url {WHEELS}rocm6.4\npip install '{installed}'\n"
    assert ids(tmp_path, {"run-rocm.sh": text}) == expected


@pytest.mark.parametrize(("gpu", "base", "value", "expected"), [
    ("gfx1100", "FROM rocm/pytorch:latest", "11.5.1", ["arch.override-wrong"]),  # RDNA 3.5 code on RDNA 3
    ("gfx1151", "FROM rocm/pytorch:latest", "11.0.0", []),
    ("gfx1031", "FROM rocm/pytorch:latest", "10.3.0", []),
])  # fmt: skip
def test_an_override_to_a_later_family(tmp_path: Path, gpu: str, base: str, value: str, expected: list[str]) -> None:
    text = f"{base}\nENV HSA_OVERRIDE_GFX_VERSION={value}\n"
    assert [i for i in ids(tmp_path, {"Dockerfile.rocm": text}, gpu) if i == "arch.override-wrong"] == expected


def test_one_package_is_not_said_twice(tmp_path: Path) -> None:
    """That vllm brings a CUDA torch says that its wheels are for CUDA."""
    text = f"{IMAGE}\nRUN pip install vllm\n"
    assert ids(tmp_path, {"Dockerfile": text}) == [NOT_ROCM]


@pytest.mark.parametrize(("commands", "expected"), [
    ("pip install unsloth", [NOT_ROCM]), ("pip install unsloth==2026.10.9", []), ("pip install xformers==0.0.33.post2 && pip install unsloth", []),
    ("pip install --no-deps unsloth", []),
])  # fmt: skip
def test_what_a_package_brings_through_another(tmp_path: Path, commands: str, expected: list[str]) -> None:
    """unsloth requires any xformers, and the newest a newer torch than the image has."""
    found = report(tmp_path, {"Dockerfile": f"{IMAGE}\nRUN {commands}\n"}, python="")
    assert [f.id for f in found.findings if f.id == NOT_ROCM and "xformers," in f.cause] == expected


@pytest.mark.parametrize(("base", "command", "expected"), [
    ("ubuntu:24.04", "pip3 install", ["version.package-mismatch"]), ("ubuntu", "pip3 install", ["version.package-mismatch"]),
    ("ubuntu:22.04", "pip3 install", []), ("ubuntu:24.04", "pip3 install --break-system-packages", []),
    ("ubuntu:24.04", "python3 -m venv /v && /v/bin/pip install", []), ("python:3.12", "pip install", []),
    ("rocm/dev-ubuntu-24.04:7.2", "pip3 install", ["version.package-mismatch"]),
])  # fmt: skip
def test_a_python_that_the_system_keeps(tmp_path: Path, base: str, command: str, expected: list[str]) -> None:
    text = f"FROM {base}\nRUN apt-get update && apt-get install -y python3-pip\nRUN {command} torch==2.9.1+rocm6.4 --extra-index-url {WHEELS}rocm6.4\n"
    assert [i for i in ids(tmp_path, {"Dockerfile.rocm": text}, python="") if i == "version.package-mismatch"] == expected


CHART = {
    "helm/mount/entrypoint.sh": "pip install -r requirements.txt\n",
    "helm/mount/requirements.txt": "scipy==1.10.1\naccelerate\n",
}


def test_a_chart_runs_its_scripts_in_its_image(tmp_path: Path) -> None:
    """It has a torch, and a Python of its own."""
    values = 'image: "rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0"\n'
    assert ids(tmp_path / "a", {**CHART, "helm/values.yaml": values}) == []
    assert ids(tmp_path / "b", CHART) != []
    two = values + 'other:\n  image: "rocm/vllm:latest"\n'
    assert ids(tmp_path / "c", {**CHART, "helm/values.yaml": two}) != []


@pytest.mark.parametrize(("version", "severity"), [("3.10", "warning"), ("3.12", "error")])
def test_a_repository_with_a_python_of_its_own(tmp_path: Path, version: str, severity: str) -> None:
    """A list does not say with which Python it is installed; the scripts of its project may."""
    files = {
        "backend/requirements-rocm.txt": f"--extra-index-url {WHEELS}rocm6.4\ntorch==2.9.1+rocm6.4\nnumpy<1.26\n",
        "common/setup.sh": f'PYTHON_VERSION="${{PYTHON_VERSION:-{version}}}"\nuv venv\nuv pip install wheel\n',
    }
    assert [s for i, s, _ in said(report(tmp_path, files)) if i == "version.python-unsupported"] == [severity]


def test_a_list_beside_one_for_amd(tmp_path: Path) -> None:
    amd = {"rvc/requirements-amd.txt": f"--extra-index-url {WHEELS}rocm6.4\ntorch==2.9.1+rocm6.4\n"}
    assert ids(tmp_path / "a", {**amd, "rvc/requirements.txt": "numba==0.56.4\n"}) == []
    assert ids(tmp_path / "b", {**amd, "app/requirements.txt": "torch\nnumba==0.56.4\n"}) == ["version.python-unsupported"]


@pytest.mark.parametrize(("file", "severity"), [("requirements.txt", "warning"), ("backend/requirements.txt", "note")])
def test_a_list_of_a_part_that_needs_no_gpu(tmp_path: Path, file: str, severity: str) -> None:
    found = report(tmp_path, {"Dockerfile.rocm": IMAGE, file: "numba==0.56.4\n"}, python="3.12").findings
    assert [f.severity for f in found if f.id == "version.python-unsupported"] == [severity]


@pytest.mark.parametrize(("folder", "severities"), [("retired_parts", []), ("parts", ["warning"])])
def test_a_folder_whose_name_says_that_it_is_used_no_more(tmp_path: Path, folder: str, severities: list[str]) -> None:
    found = report(tmp_path, {f"{folder}/requirements.txt": "torch\nnumba==0.56.4\n"}, python="3.12").findings
    assert [f.severity for f in found if f.id == "version.python-unsupported"] == severities


@pytest.mark.parametrize(("folder", "expected"), [("5.5", []), (".apt_5.5", []), ("5.1", ["arch.not-in-build"])])
def test_the_rocm_of_a_system_is_the_last_one(tmp_path: Path, folder: str, expected: list[str]) -> None:
    old = "wget https://repo.radeon.com/amdgpu-install/22.40.3/ubuntu/jammy/amdgpu-install_5.4.50403-1_all.deb"
    new = f'echo "deb [arch=amd64] http://repo.radeon.com/rocm/apt/{folder}/ jammy main" > /etc/apt/sources.list.d/rocm.list'
    text = f"FROM ubuntu:22.04\nRUN {old}\nRUN {new}\n"
    assert ids(tmp_path, {"Dockerfile.rocm": text}) == expected


@pytest.mark.parametrize(("device", "expected"), [("gfx1151", ["arch.not-in-build"]), ("gfx1100", []), ("all", [])])
def test_the_device_package_of_another_gpu(tmp_path: Path, device: str, expected: list[str]) -> None:
    text = f'pip install --index-url https://repo.amd.com/rocm/whl-multi-arch/ "torch[device-{device}]==2.12.0+rocm7.14.0"\n'
    assert ids(tmp_path, {"setup-rocm.sh": text}) == expected


@pytest.mark.parametrize(("line", "expected"), [
    ("pytorch-triton-rocm==3.2.0", ["version.wheel-missing"]), ("pytorch-triton-rocm==2.1.0", []), ("torch==2.8.0+rocm6.4 pytorch-triton-rocm==3.4.0", ["version.wheel-missing"]), ("pytorch-triton-rocm", []),
    (f"pytorch-triton-rocm==3.2.0 --index-url {WHEELS}rocm6.1", []),
])  # fmt: skip
def test_a_package_that_only_pytorchs_index_has(tmp_path: Path, line: str, expected: list[str]) -> None:
    text = f"FROM rocm/dev-ubuntu-22.04:6.2.2\nRUN pip install torch --index-url {WHEELS}rocm6.1\nRUN pip install {line}\n"
    assert [i for i in ids(tmp_path, {"Dockerfile.rocm": text}) if i == "version.wheel-missing"] == expected


def test_the_remedy_names_every_list(tmp_path: Path) -> None:
    text = 'FROM rocm/dev-ubuntu-22.04:6.1.2\nENV HCC_AMDGPU_TARGET=gfx1030\nRUN cmake -DBNB_ROCM_ARCH="gfx1030" .\n'
    (one,) = [f for f in report(tmp_path, {"Dockerfile.rocm": text}).findings if f.id == "arch.not-in-build"]
    assert "HCC_AMDGPU_TARGET" in one.advice
    assert "BNB_ROCM_ARCH" in one.advice


@pytest.mark.parametrize(
    ("entry", "expected"), [("cmake . && make && python3 setup.py bdist_wheel", []), ("python3 train.py", ["access.container"])]
)
def test_a_container_that_only_builds(tmp_path: Path, entry: str, expected: list[str]) -> None:
    files = {
        "Dockerfile": f'FROM rocm/dev-ubuntu-22.04:6.2\nENTRYPOINT ["sh", "-c", "{entry}"]\n',
        "extract.sh": "docker build -t wheels-rocm:6.2 .\ndocker run -d --name w wheels-rocm:6.2\n",
    }
    assert ids(tmp_path, files) == expected


def test_a_list_of_gpus_that_nothing_here_takes(tmp_path: Path) -> None:
    assert (
        ids(
            tmp_path / "a",
            {"rocm/preflight.sh": "export BNB_ROCM_ARCH=gfx942\nexport HSA_NO_SCRATCH_RECLAIM=1\npip install numpy\n"},
        )
        == []
    )
    assert ids(tmp_path / "b", {"rocm/build.sh": "cmake -DBNB_ROCM_ARCH=gfx942 . && make\n"}) == ["arch.not-in-build"]


@pytest.mark.parametrize(("command", "expected"), [("docker cp w:/dist ./out", []), ("docker logs w", ["access.container"])])
def test_a_container_that_only_gives_its_files(tmp_path: Path, command: str, expected: list[str]) -> None:
    assert ids(tmp_path, {"extract.sh": f"docker run -d --name w wheels-rocm:6.2\n{command}\n"}) == expected


def test_an_environment_in_a_folder_that_a_command_gives(tmp_path: Path) -> None:
    line = 'conda run -p "$(cd "$HERE" && pwd)/env" pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cu128\n'
    assert [i for i, _, _ in said(report(tmp_path, {"install_rocm.sh": line}))] == ["version.torch-not-rocm"]
