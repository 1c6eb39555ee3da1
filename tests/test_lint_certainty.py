"""When a finding is an error, and when nothing found is a green verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

ROCM = "https://download.pytorch.org/whl/rocm6.4"
IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"
NOT_ROCM = "version.torch-not-rocm"
PINNED = {"requirements.txt": "torch==2.9.1\n"}


@pytest.mark.parametrize(("more", "declared"), [
    ({}, False), ({"README.md": "Needs an NVIDIA GPU.\n"}, False), ({"README.md": "On ROCm see the wiki.\n"}, True),
    ({"uv.txt": "Radeon RX 7900\n"}, True), ({"train.py": "if torch.version.hip:\n    pass\n"}, True),
    ({"poetry.lock": '# "pytorch-triton-rocm"\n'}, False),
])  # fmt: skip
def test_nothing_for_amd_has_one_level(tmp_path: Path, more: dict[str, str], declared: bool) -> None:
    found = serious(report(tmp_path, PINNED | more))
    assert [(f.id, f.severity) for f in found] == [("repo.no-amd-environment", "warning")]
    places = {r.artifact for r in found[0].evidence}
    assert (next(iter(more), "") in places) is ("is declared" in found[0].title) is declared
    lock = (
        'version = 1\n[[package]]\nname = "x"\nversion = "1"\nsource = { editable = "." }\ndependencies = [{ name = "torch" }]\n'
    )
    lock += '[[package]]\nname = "torch"\nversion = "2.8.0"\nsource = { registry = "https://pypi.org/simple" }\n'
    project = {"pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["y"]\n', "uv.lock": lock}
    assert [(f.id, f.severity) for f in serious(report(tmp_path / "b", project))] == [("repo.no-amd-environment", "warning")]


@pytest.mark.parametrize("more", [
    {"web/setup.js": "const index = 'whl/rocm' + version;\n"}, {"start.tpl.html": "docker run --device /dev/kfd\n"},
    {"README.md": "Take the wheels of https://repo.radeon.com/rocm/manylinux/.\n"},
])  # fmt: skip
def test_a_way_for_amd_that_is_not_read_is_not_denied(tmp_path: Path, more: dict[str, str]) -> None:
    found = report(tmp_path, PINNED | more)
    assert serious(found) == []
    assert found.verdict == "undetermined"
    assert f"what {next(iter(more))} line 1 has for AMD GPUs is not read" in found.summary
    assert serious(report(tmp_path, PINNED | more, declared=True))


def test_a_repository_for_others_that_speaks_of_amd_gets_a_warning(tmp_path: Path) -> None:
    files = {"Dockerfile": "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch==2.9.1\n"}
    assert [s for _, s, _ in said(report(tmp_path, files, declared=True))] == ["error"]
    found = serious(report(tmp_path, files | {"docs/faq.md": "AMD GPUs run it too.\n"}))
    assert [(f.severity, f.title.split(":")[0]) for f in found] == [("warning", "no environment for AMD GPUs is declared")]


def test_a_part_of_a_repository_is_not_what_everybody_installs(tmp_path: Path) -> None:
    assert [s for _, s, _ in said(report(tmp_path, {"applications/chat/requirements.txt": "torch==2.9.1\n"}))] == ["warning"]


def test_a_target_that_the_repository_declares_is_what_all_of_it_is_for(tmp_path: Path) -> None:
    files = PINNED | {"README.md": "For ROCm.\n", "train.yml": "base_model: x\nload_in_4bit: true\n"}
    assert {s for _, s, _ in said(report(tmp_path, files, gpu="gfx906"))} == {"warning"}
    assert {s for _, s, _ in said(report(tmp_path, files, gpu="gfx906", declared=True))} == {"error"}


@pytest.mark.parametrize(("files", "severity"), [
    ({"requirements-rocm.txt": "torch==2.9.1\n"}, "warning"),  # its caller may name the index
    ({"requirements-rocm.txt": "torch==2.9.1+cu126\n"}, "error"), ({"requirements-rocm.txt": f"torch --index-url {ROCM}\n"}, "error"),
    ({"Dockerfile.rocm": "FROM ubuntu:24.04\nRUN pip install torch==2.9.1\n"}, "error"),
    ({"Dockerfile.rocm": "FROM ubuntu:24.04\nRUN pip install -r nowhere.txt torch==2.9.1\n"}, "warning"),  # not all of it is read
    ({"run.sh": "export HIP_VISIBLE_DEVICES=0\npip install torch==2.9.1\n"}, "warning"),  # a setting that others share
    ({"Dockerfile": f"FROM {IMAGE}\nRUN pip install torch==2.9.1\n"}, "error"),
    ({"Dockerfile": f"FROM {IMAGE}\nRUN pip install nvidia-nccl-cu12 torch==2.9.1\n"}, "warning"),  # parts for both
])  # fmt: skip
def test_the_wrong_torch_in_an_environment_for_amd(tmp_path: Path, files: dict[str, str], severity: str) -> None:
    assert [(i, s) for i, s, _ in said(report(tmp_path, files)) if i == NOT_ROCM] == [(NOT_ROCM, severity)]


def test_what_a_library_lacks_can_be_done_without(tmp_path: Path) -> None:
    files = {
        "requirements-rocm.txt": "--extra-index-url https://download.pytorch.org/whl/rocm6.3\ntorch==2.9.1+rocm6.3\nbitsandbytes\n"
    }
    assert said(report(tmp_path, files, gpu="gfx906")) == [("lib.bitsandbytes", "warning", "requirements-rocm.txt:3")]


@pytest.mark.parametrize(("files", "gpu", "verdict"), [
    ({"requirements-rocm.txt": f"--index-url {ROCM}\ntorch==2.9.1\n"}, "gfx1100", "ready"),
    ({"requirements-rocm.txt": "--index-url https://download.pytorch.org/whl/nightly/rocm7.1\ntorch\n"}, "gfx1100", "undetermined"),
    ({"requirements-rocm.txt": "--index-url https://repo.amd.com/rocm/whl/gfx1151/\ntorch\n"}, "gfx1151", "ready"),
    ({"requirements-rocm.txt": "--index-url https://stable.repo.amd.com/rocm/whl-next/\ntorch[device-gfx1100]\n"}, "gfx1100", "ready"),
    ({"Dockerfile": f"FROM {IMAGE}\nRUN pip install peft==0.17.1\n"}, "gfx1100", "ready"),
    ({"Dockerfile": f"FROM {IMAGE}\nRUN pip install peft\n"}, "gfx1103", "undetermined"),
    ({"Dockerfile": "FROM rocm/pytorch-training:v25.6\n"}, "gfx942", "ready"), ({"Dockerfile": "FROM rocm/pytorch-training:v25.6\n"}, "gfx1100", "undetermined"),
    ({"Dockerfile": "FROM rocm/sgl-dev:v0.5-rocm700-mi35x\n"}, "gfx942", "undetermined"),
    ({"Dockerfile": f"FROM {IMAGE}\nRUN pip install https://x.test/vllm-0.17-cp312-cp312-linux_x86_64.whl\n"}, "gfx942", "undetermined"),
    ({"Dockerfile": f"FROM {IMAGE}\nRUN pip install -r nowhere.txt\n"}, "gfx942", "undetermined"),
    ({"CMakeLists.txt": 'set(GPU_TARGETS "gfx942;gfx1100" CACHE STRING "")\n'}, "gfx1100", "undetermined"),
    ({"archived/Dockerfile": f"FROM {IMAGE}\n"}, "gfx1100", "undetermined"),
    ({"README.md": f"```bash\npip install torch==2.9.1 --index-url {ROCM}\n```\n"}, "gfx1100", "undetermined"),
])  # fmt: skip
def test_a_green_verdict_needs_code_for_the_gpu(tmp_path: Path, files: dict[str, str], gpu: str, verdict: str) -> None:
    found = report(tmp_path, files, gpu=gpu)
    assert (found.verdict, said(found)) == (verdict, [])
    assert (", but " in found.summary) is (verdict == "undetermined")


@pytest.mark.parametrize("files", [
    {"requirements-rocm.txt": f"--index-url {ROCM}\ntorch==2.9.1\n"}, {"requirements-rocm.txt": f"--extra-index-url {ROCM}\ntorch==2.9.1\n"},
    {"requirements-rocm.txt": "--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1+rocm6.4; sys_platform == 'linux'\nbitsandbytes\n"},
])  # fmt: skip
def test_an_environment_whose_rocm_torch_is_for_linux(tmp_path: Path, files: dict[str, str]) -> None:
    found = [f for f in report(tmp_path, files, os="windows").findings if f.id == "repo.no-amd-environment"]
    assert [f.severity for f in found] == ["note"]
    assert found[0].title.endswith("for Linux")
    assert [f.severity for f in serious(report(tmp_path, files | {"run.bat": "pip install peft\n"}, os="windows"))] == ["warning"]


def test_a_batch_file_for_zluda_wants_the_cuda_torch(tmp_path: Path) -> None:
    text = "rem installs ZLUDA for AMD GPUs\npip install torch==2.2.1 --index-url https://download.pytorch.org/whl/cu118\n"
    assert [f.id for f in serious(report(tmp_path, {"install-amd.bat": text}, os="windows")) if f.id == NOT_ROCM] == []


@pytest.mark.parametrize(("text", "severity"), [
    ("pip install torch==2.9.1\n", "error"), ("if exist venv goto :done\npip install torch==2.9.1\n:done\n", "warning"),
    ("if ($Device -eq 'rocm') {\n  pip install torch==2.9.1\n}\n", "warning"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["install-rocm.bat", "install-rocm.ps1"])
def test_what_is_in_a_branch_of_windows_is_no_error(tmp_path: Path, name: str, text: str, severity: str) -> None:
    assert [(i, s) for i, s, _ in said(report(tmp_path, {name: text}, os="windows"))] == [(NOT_ROCM, severity)]


def test_a_list_for_amd_that_pip_refuses_is_one_error(tmp_path: Path) -> None:
    text = "torch>=2.0.0+rocm5.4.2\ntorchvision>=0.15.0+rocm5.4.2\n"
    found = serious(report(tmp_path, {"requirements-rocm.txt": text}))
    assert [(f.id, f.severity) for f in found if f.id == "repo.unreadable"] == [("repo.unreadable", "error")]
    assert [r.place for r in found[0].evidence][:2] == ["line 1", "line 2"]
    assert serious(report(tmp_path / "other", {"requirements.txt": "torch>=2.0.0+rocm5.4.2\n"})) == []


ANY = "name: x\nchannels:\n  - conda-forge\ndependencies:\n  - pip:\n    - --extra-index-url https://download.pytorch.org/whl/rocm5.1.1\n    - torch==1.12.1+rocm5.1.1\n"


def test_a_conda_environment_by_any_name_and_an_index_older_than_the_gpu(tmp_path: Path) -> None:
    assert said(report(tmp_path, {"environments/rocm.yml": ANY})) == [("arch.not-in-build", "error", "environments/rocm.yml:6")]
    assert said(report(tmp_path, {}, gpu="gfx906")) == []


COPIED = "FROM rocm/dev-ubuntu-24.04:7.1\nWORKDIR /x\nCOPY p_other.toml ./pyproject.toml\n{}RUN uv pip install -e .\n"
PROJECT = '[project]\nname = "x"\nversion = "1"\ndependencies = ["{}"]\n'


@pytest.mark.parametrize(("later", "renamed", "own", "ids"), [
    ("", "torch==2.9.1", "numpy", [NOT_ROCM]), ("COPY . .\n", "numpy", "torch==2.9.1", [NOT_ROCM]), ("COPY . .\n", "torch==2.9.1", "numpy", []),
    ("COPY sub .\n", "torch==2.9.1", "numpy", [NOT_ROCM]),
])  # fmt: skip
def test_a_project_that_is_copied_by_another_name(tmp_path: Path, later: str, renamed: str, own: str, ids: list[str]) -> None:
    files = {
        "Dockerfile.rocm": COPIED.format(later),
        "p_other.toml": PROJECT.format(renamed),
        "pyproject.toml": PROJECT.format(own),
        "sub/a.txt": "",
    }
    assert [f.id for f in serious(report(tmp_path, files)) if f.evidence[0].artifact.endswith("toml")] == ids


def test_a_dependency_group_that_uv_binds_is_an_environment(tmp_path: Path) -> None:
    text = (
        PROJECT.format("peft==0.17.1")
        + '[dependency-groups]\npypi = ["torch"]\nrocm = ["torch==2.9.1", "torchvision==0.24.1"]\n[tool.uv]\ndefault-groups = ["pypi"]\n'
        + '[tool.uv.sources]\ntorch = [{ index = "amd", group = "rocm" }]\ntorchvision = [{ index = "amd", group = "rocm" }]\n'
        + '[[tool.uv.index]]\nname = "amd"\nurl = "https://download.pytorch.org/whl/rocm6.4"\n'
    )
    found = report(tmp_path, {"pyproject.toml": text})
    assert (found.verdict, said(found)) == ("ready", [])
    assert [i for i, _, _ in said(report(tmp_path, {}, gpu="gfx1151"))] == ["arch.not-in-build"]


def test_one_environment_does_not_vouch_for_another(tmp_path: Path) -> None:
    good = {"Dockerfile": f"FROM {IMAGE}\nRUN pip install peft==0.17.1\n"}
    assert report(tmp_path, good).verdict == "ready"
    more = good | {"install-rocm.sh": "pip install torch --index-url https://download.pytorch.org/whl/nightly/rocm7.1\n"}
    found = report(tmp_path, more)
    assert (found.verdict, "install-rocm.sh" in found.summary) == ("undetermined", True)


@pytest.mark.parametrize(("gpu", "verdict"), [("gfx1100", "ready"), ("gfx942", "undetermined")])
def test_a_script_that_ends_for_other_gpus(tmp_path: Path, gpu: str, verdict: str) -> None:
    text = f'case "$GFX" in\n  gfx1100) export A=1;;\n  *) echo no; exit 1;;\nesac\npip install torch==2.9.1 --index-url {ROCM}\n'
    assert report(tmp_path, {"install-rocm.sh": text}, gpu=gpu).verdict == verdict


def test_a_missing_constraint_does_not_save_a_list_that_names_torch(tmp_path: Path) -> None:
    text = "FROM ubuntu:24.04\nRUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm6.2.4\nCOPY r.txt /\nRUN pip install -c nowhere.txt -r r.txt\n"
    found = report(tmp_path, {"Dockerfile.rocm": text, "r.txt": "torch>=2.8\n"})
    assert said(found) == [(NOT_ROCM, "error", "r.txt:1")]


def test_a_remedy_for_a_library_names_what_it_requires(tmp_path: Path) -> None:
    text = 'from setuptools import setup\nsetup(name="x", install_requires=["torch>=2.7,<2.7.1", "torchvision"])\n'
    advice = serious(report(tmp_path, {"setup.py": text}))[0].advice
    assert "torch==2.7.0+rocm6.3 torchvision==0.22.0+rocm6.3" in advice
    assert "tool.uv" not in advice


def test_the_reason_is_that_of_the_system(tmp_path: Path) -> None:
    files = {"Dockerfile": "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n", "requirements-cu126.txt": "torch==2.9.1\n"}
    causes = [serious(report(tmp_path, files, os=os))[0].cause for os in ("linux", "windows")]
    assert ["CUDA build" in cause for cause in causes] == [True, False]


def test_a_list_at_the_root_after_a_change_of_folder_by_a_variable(tmp_path: Path) -> None:
    files = {"docker/install-rocm.sh": "cd $WORKDIR\npip install -r requirements.txt\n", "requirements.txt": "torch==2.9.1\n"}
    assert [(s, p) for _, s, p in said(report(tmp_path, files))] == [("error", "requirements.txt:1")]


def test_data_is_not_read_as_a_training_configuration(tmp_path: Path) -> None:
    text = "base_model: x\nload_in_4bit: true\n"
    assert said(report(tmp_path, {"a.yml": text}, gpu="gfx906")) != []
    assert said(report(tmp_path, {"a.yml": text + "x: 1\n" * 60_000}, gpu="gfx906")) == []


@pytest.mark.parametrize(("more", "gpu", "severity"), [
    ({"run.sh": "export HSA_OVERRIDE_GFX_VERSION=11.0.0\npython train.py\n"}, "gfx1101", "warning"),
    ({"bin/run.sh": "export HSA_OVERRIDE_GFX_VERSION=10.3.0\npython train.py\n"}, "gfx1101", "error"),
    ({"bin/run.sh": "export HSA_OVERRIDE_GFX_VERSION=9.4.2\npython train.py\n"}, "gfx1101", "error"), ({}, "gfx1101", "error"),
])  # fmt: skip
def test_code_of_a_sibling_that_the_repository_runs(tmp_path: Path, more: dict[str, str], gpu: str, severity: str) -> None:
    files = {"install_rocm.sh": "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"}
    found = [f for f in serious(report(tmp_path, files | more, gpu=gpu)) if f.id == "arch.not-in-build"]
    assert [f.severity for f in found] == [severity]
    assert ("as on line 1 of run.sh" in found[0].advice) is (severity == "warning")


@pytest.mark.parametrize(("targets", "gpu", "severity"), [
    ("gfx942", "gfx1100", "warning"), ("gfx90a;gfx942", "gfx1100", "warning"), ("gfx942;gfx1100", "gfx1100", "error"),
    ("gfx1030", "gfx1100", "warning"), ("gfx942", "gfx942", ""),
])  # fmt: skip
def test_an_override_of_an_image_that_is_built_for_that_gpu(tmp_path: Path, targets: str, gpu: str, severity: str) -> None:
    text = f"FROM {IMAGE}\nENV HSA_OVERRIDE_GFX_VERSION=9.4.2\nENV PYTORCH_ROCM_ARCH={targets}\n"
    found = serious(report(tmp_path, {"Dockerfile": text}, gpu=gpu))
    assert [f.severity for f in found if f.id == "arch.override-wrong"] == [severity] * bool(severity)


@pytest.mark.parametrize(("targets", "severity"), [("gfx942", "warning"), ("gfx942;gfx1201", "error"), ("", "error")])
def test_what_an_image_for_other_gpus_lacks(tmp_path: Path, targets: str, severity: str) -> None:
    text = "FROM ubuntu:22.04\nRUN pip3 install torch==2.2.0 --index-url https://download.pytorch.org/whl/rocm5.7\n"
    more = f"ENV PYTORCH_ROCM_ARCH={targets}\n" if targets else ""
    assert ("arch.not-in-build", severity, "Dockerfile:2") in said(report(tmp_path, {"Dockerfile": text + more}, gpu="gfx1201"))


@pytest.mark.parametrize(("folder", "readme", "severity"), [
    ("a", "# ComfyUI on Strix Halo\n", "warning"), ("a", "Images for gfx1151\n=====\n", "warning"), ("vllm-gfx1151", "# vLLM\n", "warning"),
    ("a", "# setup\n\n[![ci](x)](y)\n\nPlaybooks for an AMD machine\n(Strix Halo) with 128 GB.\n", "warning"),
    ("a", "# setup\n\nRuns on MI300X, Strix Halo and RX 7900 XTX.\n", "error"), ("a", "# setup\n\n- Strix Halo\n", "error"),
    ("a", "# Training on RX 7900 XTX\n", "error"), ("a", "# A trainer\n\n## On Strix Halo\n", "error"), ("gfx1100", "", "error"), ("a", "", "error"),
])  # fmt: skip
def test_a_repository_whose_title_names_other_gpus(tmp_path: Path, folder: str, readme: str, severity: str) -> None:
    files = {"README.md": readme, "Dockerfile": f"FROM {IMAGE}\nENV HSA_OVERRIDE_GFX_VERSION=11.5.1\n"}
    found = [f for f in serious(report(tmp_path / folder, files)) if f.id == "arch.override-wrong"]
    assert [f.severity for f in found] == [severity]
    assert ("names other GPUs" in found[0].advice) is (severity == "warning")


@pytest.mark.parametrize(("asked", "severity"), [
    ("torch", "warning"), ("torch==2.4.1", "error"), ("-U torch", "error"), ("--force-reinstall torch", "error"),
])  # fmt: skip
def test_any_torch_behind_an_installer_that_is_not_read_may_be_there_already(tmp_path: Path, asked: str, severity: str) -> None:
    text = f"pip install comfy-cli\ncomfy install\npip install {asked} --index-url https://download.pytorch.org/whl/rocm6.0\n"
    found = said(report(tmp_path, {"setup_rocm.sh": text}, gpu="gfx1151"))
    assert ("arch.not-in-build", severity, "setup_rocm.sh:3") in found
    turned = "".join(sorted(text.splitlines(keepends=True), key=lambda line: line.startswith("comfy")))
    found = said(report(tmp_path / "b", {"setup_rocm.sh": turned}, gpu="gfx1151"))
    assert ("arch.not-in-build", "error", "setup_rocm.sh:2") in found


@pytest.mark.parametrize(("lines", "severity"), [
    (["pip install torch==2.9.1"], "error"), (["pip install torch==2.9.1", f"pip install torch --index-url {ROCM}"], "error"),
    (["pip install torch==2.9.1", f"pip install torchvision --no-deps --index-url {ROCM}"], "error"),
    (["pip install torch==2.9.1", f"pip install torchvision --index-url {ROCM}"], "warning"),
    (["pip install torchvision==0.24.1+rocm6.4 || true", "pip install torch==2.9.1"], "warning"),
])  # fmt: skip
def test_a_cuda_torch_beside_what_may_replace_it(tmp_path: Path, lines: list[str], severity: str) -> None:
    files = {"rocm/install.sh": "\n".join(["#!/bin/sh", *lines, ""])}
    found = [f for f in serious(report(tmp_path, files)) if f.title.startswith("torch resolves to")]
    assert [f.severity for f in found] == [severity]
