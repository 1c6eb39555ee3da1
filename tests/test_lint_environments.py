"""Which environments are found, whom each is for, and what the syntaxes around them mean: a case of each kind, and its neighbour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lint_text import report, repository, said, serious, uv_indexes, written

from rocm_doctor.lint.environments.listing import listed
from rocm_doctor.matrix import load

ROCM = "https://download.pytorch.org/whl/rocm6.4"
IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"
NOT_ROCM = "version.torch-not-rocm"


def purposes(root: Path, files: dict[str, str]) -> dict[str, str]:
    return {e.name: e.purpose.kind for e in repository(root, files).environments}


@pytest.mark.parametrize(("path", "text", "kind"), [
    ("requirements-rocm.txt", "torch\n", "amd"), ("requirements/cu124.txt", "torch\n", "nvidia"), ("requirements.txt", "torch\n", "neutral"),
    ("requirements.txt", "torch==2.9.1+cu126\n", "nvidia"), ("requirements.txt", f"--index-url {ROCM}\ntorch\n", "amd"),
    ("third_party/x/requirements.txt", "torch\n", "vendored"), ("docs/requirements.txt", "torch\n", "documentation"),
    ("examples/a/requirements.txt", "torch\n", "example"), ("tests/requirements.txt", "torch\n", "test"),
    ("Dockerfile", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n", "nvidia"), ("Dockerfile", f"FROM {IMAGE}\n", "amd"),
    ("docker/xpu/Dockerfile", "FROM ubuntu:24.04\nRUN pip install torch\n", "intel"), ("requirements-npu.txt", "torch\n", "other"),
    ("environment.yml", "dependencies:\n  - pytorch-cuda=12.4\n  - pytorch\n", "nvidia"),
    ("hip-libs-cuda.Dockerfile", "FROM nvidia/cuda:12.6.0-devel-ubuntu22.04\n", "nvidia"), ("hip-libs-cuda.Dockerfile", f"FROM {IMAGE}\n", "amd"),
    ("run.sh", "docker run --gpus all x/y:1 python train.py\n", "nvidia"), ("run.sh", "export HSA_ENABLE_SDMA=0\n", "amd"),
])  # fmt: skip
def test_whom_an_environment_is_for(tmp_path: Path, path: str, text: str, kind: str) -> None:
    assert list(purposes(tmp_path, {path: text}).values()) == [kind]


def test_a_submodule_is_vendored(tmp_path: Path) -> None:
    files = {".gitmodules": '[submodule "a"]\n  path = nodes/a\n', "nodes/a/requirements.txt": "torch==2.5.1\n"}
    assert purposes(tmp_path, files) == {"nodes/a/requirements.txt": "vendored"}


def test_other_environments_are_one_counted_line(tmp_path: Path) -> None:
    files = {f"requirements-cu12{n}.txt": "torch==2.9.1\n" for n in (1, 4, 6)} | {
        "requirements-rocm.txt": f"--index-url {ROCM}\ntorch==2.9.1\n"
    }
    found = report(tmp_path, files)
    assert said(found) == []
    assert found.summary.endswith("; 3 environments left out: 3 for NVIDIA")
    assert "for NVIDIA: 3, left out" in listed(repository(tmp_path, {}), load())


def test_a_repository_without_one_for_amd_gets_one_finding(tmp_path: Path) -> None:
    files = {
        "Dockerfile": "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch==2.9.1\n",
        "compose.yaml": "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    runtime: nvidia\n",
        "requirements-cu126.txt": "torch==2.9.1\n",
    }
    found = serious(report(tmp_path, files))
    assert [(f.id, f.title) for f in found] == [("repo.no-amd-environment", "no environment for AMD GPUs: all 3 are for NVIDIA")]
    assert "--index-url https://" in found[0].advice


def test_a_librarys_open_range_is_no_error(tmp_path: Path) -> None:
    text = '[build-system]\nrequires = []\n[project]\nname = "x"\nversion = "1"\ndependencies = ["torch{}"]\n'
    assert [s for _, s, _ in said(report(tmp_path, {"pyproject.toml": text.format(">=2.3")}))] == ["warning"]
    assert [s for _, s, _ in said(report(tmp_path, {"pyproject.toml": text.format("==2.9.1")}, declared=True))] == ["error"]


def test_a_list_with_an_open_range_is_met_by_a_torch_that_is_there_before(tmp_path: Path) -> None:
    for text, severity in (
        ("torch>=2.3\n", "warning"),
        ("torch>=2.3\ntorchvision==0.24.1\n", "error"),
        ("torch==2.9.1\n", "error"),
    ):
        assert [s for _, s, _ in said(report(tmp_path, {"requirements.txt": text}, declared=True))] == [severity]


README = "# Install\n```bash\npip install torch --index-url https://download.pytorch.org/whl/{}\n```\n"


def test_a_readme_that_installs_torch_for_amd_is_an_environment_for_amd(tmp_path: Path) -> None:
    """A hobby repository: the README is the only way in, so what is wrong there is more than a note."""
    files = {"README.md": README.format("rocm6.4"), "requirements.txt": "torch\nnumpy\n"}
    assert said(report(tmp_path, files)) == []
    assert said(report(tmp_path, files, gpu="gfx1151")) == [("arch.not-in-build", "warning", "README.md:3")]
    assert said(report(tmp_path, {**files, "requirements.txt": "torch==2.9.1\n"}))[0][1] == "warning"
    assert said(report(tmp_path, {**files, "README.md": README.format("cu126")}))[0][1] == "warning"
    rst = "Install\n=======\n\n.. code-block:: bash\n\n   pip install torch --index-url https://download.pytorch.org/whl/rocm6.4\n\nEnd\n"
    (tmp_path / "README.md").unlink()
    assert said(report(tmp_path, {"README.rst": rst})) == []
    assert said(report(tmp_path, {"README.rst": rst}, gpu="gfx1151")) == [("arch.not-in-build", "warning", "README.rst:6")]


def test_a_hosted_job_for_amd_builds_and_runs_nothing(tmp_path: Path) -> None:
    job = (
        "jobs:\n  rocm:\n    runs-on: {}\n    env:\n      PYTORCH_ROCM_ARCH: {}\n    steps:\n      - run: pip install torch==2.9.1 --index-url "
        + ROCM
    )
    path = ".github/workflows/wheels.yml"
    assert said(report(tmp_path, {path: job.format("ubuntu-22.04", "gfx1151")}, gpu="gfx1151")) == [
        ("arch.not-in-build", "warning", path + ":7")
    ]
    assert said(report(tmp_path, {path: job.format("ubuntu-22.04", "gfx942")}, gpu="gfx1151")) == [
        ("arch.not-in-build", "warning", path + ":5")
    ]
    own = {path: job.format("[self-hosted, rocm]", "gfx1151")}
    assert said(report(tmp_path, own, gpu="gfx1151")) == [("arch.not-in-build", "warning", path + ":7")]
    assert said(report(tmp_path, own, gpu="gfx1151", declared=True)) == [("arch.not-in-build", "error", path + ":7")]


def test_a_list_that_is_called_by_what_it_adds_is_a_choice(tmp_path: Path) -> None:
    files = {"requirements.txt": "torch\n", "requirements/vllm.txt": "vllm==0.9\n", "requirements/train.txt": "peft\n"}
    assert purposes(tmp_path, files) == {
        "requirements.txt": "neutral",
        "requirements/vllm.txt": "optional",
        "requirements/train.txt": "neutral",
    }


def test_the_torch_that_a_pinned_companion_brings(tmp_path: Path) -> None:
    assert "2.8.0" in report(tmp_path, {"requirements.txt": "torchaudio==2.8.0\n"}).findings[0].title


def test_examples_for_nvidia_settle_nothing(tmp_path: Path) -> None:
    image = "FROM nvcr.io/nvidia/pytorch:24.01-py3\n"
    assert [s for _, s, _ in said(report(tmp_path, {"examples/a/Dockerfile": image}, declared=True))] == ["warning"]
    assert [s for _, s, _ in said(report(tmp_path, {"Dockerfile": image}, declared=True))] == ["error"]


def test_a_file_of_an_environment_that_is_left_out_leaves_the_verdict_open_no_more(tmp_path: Path) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cpu\n-r gone.txt\ntorch~=2.6.0\n"
    assert (
        report(tmp_path, {"tool/requirements.txt": text, "requirements-rocm.txt": f"--index-url {ROCM}\ntorch==2.9.1\n"}).verdict
        == "ready"
    )


def test_a_repository_without_anything_for_windows_is_not_told_so(tmp_path: Path) -> None:
    assert said(report(tmp_path, {"Dockerfile.rocm": f"FROM {IMAGE}\n"}, gpu="gfx1151", os="windows")) == []


def test_environments_for_another_system_or_other_gpus_are_none_for_the_target(tmp_path: Path) -> None:
    files = {"Dockerfile.rocm": f"FROM {IMAGE}\n", "run.bat": "pip install peft\n"}
    assert [(i, s) for i, s, _ in said(report(tmp_path, files, gpu="gfx1151", os="windows"))] == [
        ("repo.no-amd-environment", "warning")
    ]
    assert said(report(tmp_path, files, gpu="gfx90a")) == []
    both = {
        **files,
        "setup.py": "setup(name='x', install_requires=['torch'])\n",
    }  # a library's range is for no system in particular
    assert [i for i, _, _ in said(report(tmp_path, both, gpu="gfx1151", os="windows"))] == ["repo.no-amd-environment"]
    (tmp_path / "setup.py").unlink()
    (tmp_path / "Dockerfile.rocm").unlink()
    found = serious(report(tmp_path, {"docker/mi300/Dockerfile": f"FROM {IMAGE}\n"}))
    assert [f.title for f in found] == [
        "no environment for gfx1100 on Linux: what the repository has for AMD GPUs is for other AMD GPUs"
    ]


def test_the_root_comes_before_the_tools_beside_it(tmp_path: Path) -> None:
    files = {"requirements.txt": "torch>=2.5\n", "tools/caption/requirements.txt": "torch==2.1.0\n"}
    assert said(report(tmp_path, files)) == [("repo.no-amd-environment", "warning", "requirements.txt:1")]


def test_images_for_nvidia_beside_a_package_settle_nothing(tmp_path: Path) -> None:
    image = {"docker/cuda/Dockerfile": "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"}
    package = {**image, "setup.py": "setup(name='x', install_requires=deps)\n"}
    assert [s for _, s, _ in said(report(tmp_path, image, declared=True))] == ["error"]
    assert [s for _, s, _ in said(report(tmp_path, package, declared=True))] == ["warning"]


def test_a_list_that_a_script_gives_to_uv_by_a_variable(tmp_path: Path) -> None:
    """uv takes torch from the extra index, which it asks first; pip would take the newest of all."""
    script = 'for list in requirements-*.txt; do uv pip install -r "$list"; done\n'
    files = {"requirements-rocm.txt": f"--extra-index-url {ROCM}\ntorch\n"}
    assert [i for i, _, _ in said(report(tmp_path, files))] == [NOT_ROCM]
    assert said(report(tmp_path, {**files, "lib.sh": script})) == []


def test_a_container_of_a_job_may_only_build(tmp_path: Path) -> None:
    run = "docker run -d rocm/pytorch:latest sleep infinity"
    job = f"jobs:\n  rocm:\n    runs-on: build-only\n    steps:\n      - run: {run}\n"
    assert said(report(tmp_path, {".github/workflows/a.yml": job})) == []
    assert [i for i, _, _ in said(report(tmp_path, {"start.sh": run + "\n"}))] == ["access.container"]


def test_a_yaml_file_that_only_might_be_a_configuration_leaves_nothing_open(tmp_path: Path) -> None:
    files = {
        "gallery/index.yaml": "dtype: bf16\n"
        + "a: &a ["
        + "x, " * 40
        + "]\n"
        + "".join(f"b{n}: [{'*a, ' * 400}]\n" for n in range(9)),
        "Dockerfile": f"FROM {IMAGE}\n",
    }
    assert report(tmp_path, files).verdict == "ready"


def test_the_gpus_that_code_says_it_supports(tmp_path: Path) -> None:
    text = 'SUPPORTED_ROCM_ARCHS = ["gfx942", "gfx950"]\n'
    for name in ("setup.py", "pkg/hip_utils.py"):
        assert said(report(tmp_path / name, {name: text})) == [("arch.not-in-build", "warning", f"{name}:1")]
        assert said(report(tmp_path / name, {name: text}, gpu="gfx942")) == []
    assert said(report(tmp_path / "other", {"setup.py": 'ARCHS_WITH_FP8 = ["gfx942"]\n'})) == []


@pytest.mark.parametrize(("name", "text", "line"), [
    ("CMakeLists.txt", 'project(x)\nset(AMDGPU_TARGETS "gfx90a;gfx942" CACHE STRING "")\n', 2),
    ("CMakeLists.txt", 'rocm_check_target_ids(SUPPORTED\n  TARGETS "gfx90a:xnack+;;gfx942")\n', 2),
    ("cmake/hip.cmake", "set(GPU_TARGETS\n    gfx90a\n    gfx942)\n", 2), ("Makefile", "GPU_TARGETS ?= gfx90a gfx942\n", 1),
])  # fmt: skip
def test_the_gpus_that_a_build_is_for_by_default(tmp_path: Path, name: str, text: str, line: int) -> None:
    assert said(report(tmp_path, {name: text})) == [("arch.not-in-build", "warning", f"{name}:{line}")]
    assert said(report(tmp_path, {name: text.replace("gfx942", "gfx1100")})) == []
    assert said(report(tmp_path, {name: text.replace("gfx942", "$(shell amdgpu-arch)")})) == []


def test_what_later_lines_of_a_build_add(tmp_path: Path) -> None:
    text = 'set(TARGETS "gfx906")\nif(HIP_VERSION VERSION_GREATER 6.5)\n  {}\nendif()\n'
    for line in ('set(TARGETS "${TARGETS};gfx1100")', "list(APPEND TARGETS gfx1100)"):
        assert said(report(tmp_path, {"CMakeLists.txt": text.format(line)})) == []
    assert len(said(report(tmp_path, {"CMakeLists.txt": text.format("set(OTHER gfx1100)")}))) == 1


@pytest.mark.parametrize(("script", "severity"), [
    ('if [ $# -ge 2 ]; then\n  GPU_TARGETS=$2\nelse\n  GPU_TARGETS="gfx90a;gfx942"\nfi\n', "warning"),
    ('if [ -z "$GPU_TARGETS" ]; then\n  GPU_TARGETS="gfx90a;gfx942"\nfi\n', "warning"), ('GPU_TARGETS="${1:-gfx90a;gfx942}"\n', "warning"),
    ('GPU_TARGETS="gfx90a;gfx942"\n', "error"),
])  # fmt: skip
def test_a_default_that_the_caller_of_a_script_may_change(tmp_path: Path, script: str, severity: str) -> None:
    text = f'{script}cmake -DGPU_TARGETS="$GPU_TARGETS" .\n'
    assert {s for _, s, _ in said(report(tmp_path, {"rocm/build.sh": text}, declared=True))} == {severity}


def test_one_part_of_a_build_that_leaves_the_gpu_out(tmp_path: Path) -> None:
    text = f"FROM {IMAGE}\nENV PYTORCH_ROCM_ARCH=gfx942;gfx1100\nENV AITER_ROCM_ARCH=gfx942\nRUN make\n"
    assert said(report(tmp_path, {"Dockerfile": text})) == []
    assert said(report(tmp_path, {"Dockerfile": text}, declared=True)) == [("arch.not-in-build", "warning", "Dockerfile:3")]
    assert said(report(tmp_path, {"Dockerfile": text}, gpu="gfx1201", declared=True))[0][1] == "error"


def test_the_default_index_of_a_lock_gives_windows_a_cpu_build(tmp_path: Path) -> None:
    """PyPI's torch for Windows is a CPU build that was not asked for; that of the CPU index was."""
    lock = 'version = 1\n[[package]]\nname = "x"\nversion = "1"\nsource = {{ editable = "." }}\ndependencies = [{{ name = "torch" }}]\n[[package]]\nname = "torch"\nversion = "2.9.1"\nsource = {{ registry = "{}" }}\n'
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch"]\n'
    for url, ids in (("https://pypi.org/simple", [NOT_ROCM]), ("https://download.pytorch.org/whl/cpu", [])):
        found = report(
            tmp_path, {"pyproject.toml": project, "uv.lock": lock.format(url)}, gpu="gfx1151", os="windows", declared=True
        )
        assert [f.id for f in serious(found) if f.id == NOT_ROCM] == ids, url


def test_a_project_of_uv_that_binds_no_torch_leaves_it_open(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.6"]\n[[tool.uv.index]]\nname = "a"\nurl = "https://x.test/"\nexplicit = true\n'
    assert [s for _, s, _ in said(report(tmp_path, {"pyproject.toml": text}))] == ["warning"]


def test_the_list_says_why_an_environment_is_left_out_for_a_target(tmp_path: Path) -> None:
    from rocm_doctor.lint.declared import Target

    files = {"docker/mi300/Dockerfile": f"FROM {IMAGE}\n", "Dockerfile.rocm": f"FROM {IMAGE}\n"}
    text = listed(repository(tmp_path, files), load(), [Target("t", "gfx1100")])
    assert [line.split("  left out: ")[-1] for line in text.splitlines() if "left out: " in line] == ["other AMD GPUs"]


def test_a_package_with_a_torch_of_its_own_says_no_version_that_is_not_known(tmp_path: Path) -> None:
    found = serious(report(tmp_path, {"requirements-rocm.txt": "vllm>=0.4.3,<=0.11.0\n"}))
    first = next(f for f in found if f.id == NOT_ROCM)
    assert "2.1" not in first.title
    assert first.advice.startswith("Do not install vllm from the package index. On ROCm: ")


def test_a_repository_that_says_nothing_of_gpus_is_not_ready(tmp_path: Path) -> None:
    assert (
        report(tmp_path, {"setup.sh": "pip install requests\n", "Dockerfile": "FROM golang:1.22\nRUN go build\n"}).verdict
        == "undetermined"
    )
    assert report(tmp_path, {"rocm.sh": f"pip install torch==2.9.1 --index-url {ROCM}\n"}).verdict == "ready"


def test_a_list_that_is_called_for_windows_is_for_windows(tmp_path: Path) -> None:
    files = {"bench/requirements-win.txt": "torch==2.8.0\n"}
    assert said(report(tmp_path, files)) == []
    assert [i for i, _, _ in said(report(tmp_path, files, gpu="gfx1151", os="windows"))] == ["repo.no-amd-environment"]
    assert len(said(report(tmp_path, {"bench/requirements-win-linux.txt": "torch==2.8.0\n"}))) == 1


# Dockerfiles


def test_uv_pip_takes_no_lock(tmp_path: Path) -> None:
    """`uv pip install -e .` keeps the ROCm torch that is there; `uv sync` takes what the lock says."""
    files = {
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.6"]\n[tool.uv]\n',
        "uv.lock": 'version = 1\n[[package]]\nname = "x"\nversion = "1"\nsource = { editable = "." }\ndependencies = [{ name = "torch" }]\n'
        '[[package]]\nname = "torch"\nversion = "2.9.1"\nsource = { registry = "https://pypi.org/simple" }\n',
    }
    for command, ids in (("uv pip install -e .", set()), ("uv sync", {NOT_ROCM})):
        image = f"FROM {IMAGE}\nCOPY . /app\nWORKDIR /app\nRUN {command}\n"
        assert {f.id for f in serious(report(tmp_path, {**files, "Dockerfile.rocm": image}))} == ids, command


@pytest.mark.parametrize("line", [
    "RUN pip install /wheels/*.whl", "RUN pip install $TORCH_WHEEL", "RUN git clone https://github.com/pytorch/pytorch.git && cd pytorch",
])  # fmt: skip
def test_a_torch_that_may_have_come_with_wheels_of_no_name(tmp_path: Path, line: str) -> None:
    image = "FROM rocm/dev-ubuntu-22.04:6.3.1-complete\n{}\nRUN pip install accelerate 'torch>=2.4'\n"
    assert said(report(tmp_path, {"Dockerfile": image.format(line)})) == []
    assert [i for i, _, _ in said(report(tmp_path, {"Dockerfile": image.format("RUN pip install numpy")}))] == [NOT_ROCM]


def test_a_comment_inside_a_continued_run(tmp_path: Path) -> None:
    text = f"FROM {IMAGE}\nRUN pip install transformers \\\n    # pinned\n    # because\n    torch==2.9.1\n"
    assert said(report(tmp_path, {"Dockerfile": text})) == [(NOT_ROCM, "error", "Dockerfile:2")]
    second = f"FROM {IMAGE}\nRUN pip install transformers && \\\n    # pinned\n    pip install \\\n    torch==2.9.1\n"
    assert said(report(tmp_path, {"Dockerfile": second})) == [(NOT_ROCM, "error", "Dockerfile:4")]


def test_a_base_image_that_is_an_argument_without_default(tmp_path: Path) -> None:
    text = 'ARG BASE\nFROM ${BASE} AS final\nENV HSA_OVERRIDE_GFX_VERSION="9.0.0"\n'
    found = repository(tmp_path, {"Dockerfile": text}).environments[0]
    assert "build argument without a default" in found.unresolved[0].message
    one = serious(report(tmp_path, {"Dockerfile": text}, gpu="gfx1100"))
    assert [(f.id, f.confidence) for f in one] == [("arch.override-wrong", "medium")]


def test_an_environment_that_is_copied_from_another_stage(tmp_path: Path) -> None:
    text = f"FROM ubuntu:24.04 AS build\nRUN pip install torch==2.9.1\nFROM {IMAGE}\nCOPY --from=build {{}} {{}}\n"
    assert said(report(tmp_path, {"Dockerfile.rocm": text.format("/opt/venv", "/opt/venv")})) == [
        (NOT_ROCM, "error", "Dockerfile.rocm:2")
    ]
    assert said(report(tmp_path, {"Dockerfile.rocm": text.format("/app/dist", "/app/dist")})) == []


def test_the_build_context_is_where_the_copied_names_are(tmp_path: Path) -> None:
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = ["xformers"]\n'
    docker = f"FROM {IMAGE}\nWORKDIR /app\nCOPY . /app\nRUN pip install -e .\n"
    assert said(report(tmp_path, {"pyproject.toml": project, "docker/rocm/Dockerfile": docker})) == [
        (NOT_ROCM, "error", "pyproject.toml:4")
    ]
    compose = "services:\n  a:\n    build: {context: ../.., dockerfile: docker/b/Dockerfile}\n    privileged: true\n"
    files = {"sub/pyproject.toml": project, "sub/docker/b/Dockerfile": docker, "sub/docker/b/compose.yaml": compose}
    assert (NOT_ROCM, "error", "sub/pyproject.toml:4") in said(report(tmp_path / "two", files))


@pytest.mark.parametrize("name", ["dockerfile-stages.png", "dockerfile.md", "Dockerfile.j2"])
def test_what_is_only_called_like_a_dockerfile(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x89PNG\0\0")
    assert report(tmp_path, {}).findings == ()


# uv


UV = """[project]
name = "app"
version = "1"
requires-python = ">=3.11"
dependencies = []
[project.optional-dependencies]
amd = ["torch==2.9.1"]
nvidia = ["torch==2.9.1"]
[tool.uv]
conflicts = [[{{extra = "amd"}}, {{extra = "nvidia"}}]]
[tool.uv.sources]
torch = [
  {{ index = "amd", extra = "amd" }},
  {{ index = "nvidia", extra = "nvidia" }},
]
""" + uv_indexes("{}", "cu126")


def test_sources_by_extra(tmp_path: Path) -> None:
    assert purposes(tmp_path, {"pyproject.toml": UV.format("rocm6.4")}) == {
        "pyproject.toml extra amd": "amd",
        "pyproject.toml extra nvidia": "nvidia",
    }
    assert NOT_ROCM not in {i for i, _, _ in said(report(tmp_path, {"pyproject.toml": UV.format("rocm6.4")}))}
    assert said(report(tmp_path, {"pyproject.toml": UV.format("cu128")})) == [(NOT_ROCM, "error", "pyproject.toml:7")]


def test_sources_by_marker(tmp_path: Path) -> None:
    text = (
        UV.format("rocm6.3")
        .replace('extra = "amd" }', "marker = \"sys_platform == 'linux'\" }")
        .replace('extra = "nvidia" }', "marker = \"sys_platform != 'linux'\" }")
        .replace("cu126", "cpu")
    )
    found = said(
        report(tmp_path, {"pyproject.toml": text.replace("dependencies = []", 'dependencies = ["torch==2.9.1"]')}, gpu="gfx1151")
    )
    assert "arch.not-in-build" in [i for i, _, _ in found]


LOCK = """version = 1
requires-python = ">=3.11"
[[package]]
name = "app"
version = "1"
source = { virtual = "." }
[package.optional-dependencies]
amd = [{ name = "torch", version = "2.9.1+rocm6.4", source = { registry = "https://download.pytorch.org/whl/rocm6.4" } }]
nvidia = [{ name = "torch", version = "2.9.1+cu126", source = { registry = "https://download.pytorch.org/whl/cu126" } }]
[[package]]
name = "torch"
version = "2.9.1+cu126"
source = { registry = "https://download.pytorch.org/whl/cu126" }
[[package]]
name = "torch"
version = "2.9.1+rocm6.4"
source = { registry = "https://download.pytorch.org/whl/rocm6.4" }
"""


def test_a_lock_with_forks_is_one_environment_for_each_extra(tmp_path: Path) -> None:
    files = {"pyproject.toml": UV.format("rocm6.4"), "uv.lock": LOCK}
    assert said(report(tmp_path, files)) == []
    wrong = LOCK.replace(
        'amd = [{ name = "torch", version = "2.9.1+rocm6.4", source = { registry = "https://download.pytorch.org/whl/rocm6.4" }',
        'amd = [{ name = "torch", version = "2.9.1+cu126", source = { registry = "https://download.pytorch.org/whl/cu126" }',
    )
    assert said(report(tmp_path, {**files, "uv.lock": wrong})) == [(NOT_ROCM, "error", "uv.lock:11")]


# Requirements


def test_a_marker_behind_a_wheels_address_and_the_wheels_own_tags(tmp_path: Path) -> None:
    url = "https://example.com/flash_attn-2.8.3-{}.whl"
    for name, marker, hit in (("cp312-cp312-linux_x86_64", "", True), ("cp312-cp312-linux_x86_64", '; platform_system == "Windows"', False),
                              ("cp313-cp313-linux_x86_64", "", False), ("cp312-cp312-win_amd64", "", False), ("py3-none-any", "", True)):  # fmt: skip
        found = report(tmp_path, {"requirements.txt": url.format(name) + marker + "\n"}, gpu="gfx906")
        assert ("lib.flash-attn" in {f.id for f in found.findings}) is hit, (name, marker)


def test_an_index_behind_a_requirement_is_ignored_by_pip(tmp_path: Path) -> None:
    text = "dependencies:\n  - python=3.11\n  - pip:\n    - torch --index-url https://download.pytorch.org/whl/rocm6.4\n"
    assert said(report(tmp_path, {"environment.yml": text}))[0] == (NOT_ROCM, "error", "environment.yml:4")


def test_a_local_version_is_higher_than_pypis(tmp_path: Path) -> None:
    text = "--index-url https://download.pytorch.org/whl/{}\n--extra-index-url https://pypi.org/simple\ntorch==2.9.1\n"
    assert said(report(tmp_path, {"requirements-amd.txt": text.format("cpu")})) == []
    assert said(report(tmp_path, {"requirements-amd.txt": text.format("rocm6.4")})) == []


def test_windows_takes_no_linux_wheels_and_no_linux_files(tmp_path: Path) -> None:
    text = f"--index-url {ROCM}\ntorch==2.8.0\n"
    assert said(report(tmp_path, {"requirements.txt": text}, os="linux")) == []
    batch = {"run.bat": "pip install peft\n"}
    found = serious(report(tmp_path, {"requirements.txt": text} | batch, os="windows"))
    assert [(f.id, f.severity) for f in found] == [("repo.no-amd-environment", "warning")]
    files = {"Dockerfile.rocm": "FROM ubuntu\nRUN pip install torch\n"}
    assert [i for i, _, _ in said(report(tmp_path / "d", files | batch, os="windows"))] == ["repo.no-amd-environment"]
    bare = serious(report(tmp_path / "b", {"requirements.txt": "torch\n"}, gpu="gfx1151", os="windows"))
    assert "download.pytorch.org/whl/rocm" not in bare[0].advice


def test_a_file_that_is_installed_elsewhere_is_judged_where_that_is_left_out(tmp_path: Path) -> None:
    files = {
        "requirements.txt": "torch==2.6.0\n",
        "install.bat": "pip install -r requirements.txt\n",
        ".github/workflows/ci.yml": "jobs:\n  t:\n    runs-on: ubuntu-latest\n    steps:\n      - run: pip install -r requirements.txt\n",
    }
    assert said(report(tmp_path, files)) == [("repo.no-amd-environment", "warning", "requirements.txt:1")]


def test_one_file_of_a_repository(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from rocm_doctor.cli import cli

    job = "jobs:\n  t:\n    runs-on: [self-hosted, rocm]\n    steps:\n      - run: pip install -r requirements/vllm.txt\n"
    written(tmp_path, {"requirements/vllm.txt": "torch==2.6.0\n", ".github/workflows/ci.yml": job, ".git/HEAD": ""})
    result = CliRunner().invoke(
        cli, ["lint", str(tmp_path / "requirements" / "vllm.txt"), "--gpu", "gfx1100", "--fail-on", "warning"]
    )
    assert result.exit_code == 1, result.output
    assert "requirements/vllm.txt" in result.output


def test_a_missing_requirements_file_is_said(tmp_path: Path) -> None:
    made = repository(tmp_path, {"setup.sh": "pip install -r cloned/requirements.txt torch\n"}).environments[0]
    assert "cloned/requirements.txt is not in the repository" in made.unresolved[0].message


# Shell


SCRIPT = """#!/bin/bash
case "$gpu_info" in
  *"Navi 1"*)
    export HSA_OVERRIDE_GFX_VERSION=10.3.0
    ;;
  *"Navi 2"*) export HSA_OVERRIDE_GFX_VERSION=10.3.0 ;;
esac
if command -v nvidia-smi; then
  pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cu126
elif command -v rocminfo; then
  pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4
else
  pip install torch==2.9.1
fi
"""


def test_branches_of_a_script(tmp_path: Path) -> None:
    assert said(report(tmp_path, {"install.sh": SCRIPT}, gpu="gfx1100")) == []
    assert purposes(tmp_path, {}) == {"install.sh": "amd", "install.sh branch nvidia": "nvidia"}
    assert "arch.override-pointless" in [f.id for f in report(tmp_path, {}, gpu="gfx1030").findings]
    wrong = SCRIPT.replace("rocm6.4", "cu126")
    assert said(report(tmp_path, {"install.sh": wrong})) == [(NOT_ROCM, "error", "install.sh:11")]


@pytest.mark.parametrize("text", [
    'A=(torch==2.9.1 peft)\npip install "${A[@]}"\n', 'f() { pip install "$1"; }\nf torch==2.9.1\n', "V=2.9.1\npip install torch==$V\n",
    "pip install \\\n  torch==2.9.1\n", "(cd a && pip install torch==2.9.1) | tee log\n",
])  # fmt: skip
def test_how_a_script_may_say_it(tmp_path: Path, text: str) -> None:
    found = serious(report(tmp_path, {"install-rocm.sh": text}))
    assert [(f.id, f.severity) for f in found] == [(NOT_ROCM, "error")]
    assert "2.9.1" in found[0].title


@pytest.mark.parametrize(("text", "severity"), [
    ('[ -n "$X" ] || pip install torch==2.9.1\n', "warning"), ('if [ "$1" = new ]; then\n  pip install torch==2.9.1\nfi\n', "warning"),
    ("f() { pip install torch==2.9.1; }\n", "warning"), ("f() { pip install torch==2.9.1; }\nf\n", "error"),
    ("X=yes\nif [ $X = yes ]; then\n  pip install torch==2.9.1\nfi\n", "error"),
    ("X=no\nif [ \"$1\" = a ]; then X=yes; fi\nif [ $X = yes ]; then\n  pip install torch==2.9.1\nfi\n", "warning"),
    ("if command -v rocminfo; then\n  pip install torch==2.9.1\nfi\n", "error"),
    ("if command -v nvidia-smi; then\n  true\nelse\n  pip install torch==2.9.1\nfi\n", "error"),
])  # fmt: skip
def test_a_branch_that_may_not_run_is_no_error(tmp_path: Path, text: str, severity: str) -> None:
    assert [(i, s) for i, s, _ in said(report(tmp_path, {"install-rocm.sh": text}))] == [(NOT_ROCM, severity)]


@pytest.mark.parametrize(("text", "ids"), [
    ("cd train\npip install -r list.txt\n", {NOT_ROCM}),
    ("(cd other && ls)\npip install -r list.txt\n", set()),
    ("cd train/deep\ncd ..\npip install -r list.txt\n", {NOT_ROCM}),
    ("git clone https://github.com/x/y\ncd y\npip install -r train/list.txt\n", set()),  # y's own list, whatever is here
    ("cd $(dirname $0)\ncd train\npip install -r list.txt\n", {NOT_ROCM}),
    ("pushd train\npip install numpy\npopd\npip install -r train/list.txt\n", {NOT_ROCM}),
])  # fmt: skip
def test_a_script_that_changes_its_folder(tmp_path: Path, text: str, ids: set[str]) -> None:
    files = {"list.txt": "numpy\n", "train/list.txt": "torch==2.8.0+cu126\n", "rocm.sh": "export HSA_ENABLE_SDMA=1\n" + text}
    assert {i for i, _, _ in said(report(tmp_path, files))} == ids
    job = "jobs:\n  rocm:\n    runs-on: [self-hosted, rocm]\n    steps:\n      - run: |\n" + "".join(
        f"          {line}\n" for line in text.splitlines()
    )
    (tmp_path / "rocm.sh").unlink()
    assert {
        i
        for i, _, _ in said(
            report(tmp_path, {**{k: v for k, v in files.items() if k != "rocm.sh"}, ".github/workflows/a.yml": job})
        )
    } == ids


def test_a_local_version_that_no_index_asked_has(tmp_path: Path) -> None:
    for more, ids in (
        ("", ["version.wheel-missing"]),
        (f"--extra-index-url {ROCM}\n", []),
        ("--find-links https://x.test/\n", []),
    ):
        assert [i for i, _, _ in said(report(tmp_path, {"requirements.txt": f"{more}torch==2.9.1+rocm6.4\n"}))] == ids, more


PLAIN, CU, CPU = "https://pypi.org/simple", "https://download.pytorch.org/whl/cu128", "https://download.pytorch.org/whl/cpu"


@pytest.mark.parametrize(("indexes", "build"), [
    ((PLAIN, ROCM), "rocm"), ((PLAIN, CU), "cuda"), ((PLAIN, CPU), "cpu"), ((CU, ROCM), "rocm"), ((CPU, ROCM), "rocm"), ((CPU, CU), "cuda"),
    ((PLAIN, CPU, CU, ROCM), "rocm"),
])  # fmt: skip
def test_which_index_wins_for_one_version(indexes: tuple[str, ...], build: str) -> None:
    """The order of local parts as packaging sorts them: none, cpu, cu128, rocm6.4; the order of the options is nothing to pip."""
    from itertools import permutations

    from packaging.version import Version

    from rocm_doctor.lint.declared import Index, Place, Step, Target
    from rocm_doctor.lint.rules.indexes import resolve
    from rocm_doctor.matrix import load

    local = {PLAIN: "2.9.1", CU: "2.9.1+cu128", CPU: "2.9.1+cpu", ROCM: "2.9.1+rocm6.4"}
    assert max(indexes, key=lambda url: Version(local[url])) == {"rocm": ROCM, "cuda": CU, "cpu": CPU}[build]
    place = Place("requirements.txt", 1)
    for first, *more in permutations(indexes):
        step = Step("pip", place, indexes=(Index(first, "default", place), *(Index(url, "extra", place) for url in more)))
        assert resolve(step, "==2.9.1", place, load(), Target("t", "gfx1100")).build == build


def test_a_heredoc_is_no_command(tmp_path: Path) -> None:
    assert (
        said(report(tmp_path, {"install-rocm.sh": "cat > x <<EOF\npip install torch==2.9.1\nEOF\nexport HSA_ENABLE_SDMA=1\n"}))
        == []
    )


def test_the_container_of_a_command_that_runs_elsewhere(tmp_path: Path) -> None:
    text = 'ssh box "docker run --device=/dev/kfd --device=/dev/dri --ipc=host rocm/mi50grad python3 tests/x.py"\n'
    made = repository(tmp_path, {"run.sh": text}).environments[0]
    assert [c.image for c in made.containers] == ["rocm/mi50grad"]


# Compose, workflows


COMPOSE = """services:
  base:
    image: rocm/pytorch:latest
    privileged: true
    devices: [/dev/kfd, /dev/dri]
    ipc: host
  train:
    extends: {service: base}
    command: torchrun train.py
"""


def test_extends_of_compose(tmp_path: Path) -> None:
    assert said(report(tmp_path, {"compose.yaml": COMPOSE})) == []
    alone = COMPOSE.replace("    extends: {service: base}\n", "    image: rocm/pytorch:latest\n")
    assert [(i, p) for i, _, p in said(report(tmp_path, {"compose.yaml": alone}))] == [("access.container", "compose.yaml:7")]
    other = "services:\n  x:\n    extends: {file: compose.yaml, service: base}\n"
    assert said(report(tmp_path / "f", {"compose.yaml": COMPOSE, "compose.dev.yaml": other})) == []


VARIANT = """FROM python:3.12-slim
ARG VARIANT={}
RUN if [ "$VARIANT" = "rocm" ]; then pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4; fi
"""


def test_a_service_whose_devices_come_by_a_file_merged_over_it(tmp_path: Path) -> None:
    base = "services:\n  app:\n    build: .\n"
    above = (
        "services:\n  app:\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    build: {context: ., args: {VARIANT: rocm}}\n"
    )
    both = {"docker-compose.yml": base, "docker-compose.rocm.yml": above, "Dockerfile": VARIANT.format("rocm")}
    assert said(report(tmp_path / "both", both)) == []
    alone = {"docker-compose.yml": base, "Dockerfile": VARIANT.format("rocm")}
    assert [i for i, _, _ in said(report(tmp_path / "alone", alone))] == ["access.container"]


def test_a_service_built_for_other_hardware_by_default_asks_for_no_amd_gpu(tmp_path: Path) -> None:
    files = {"docker-compose.yml": "services:\n  app:\n    build: .\n", "Dockerfile": VARIANT.format("cpu")}
    assert said(report(tmp_path, files)) == []


JOB = """on: {{workflow_dispatch: {{inputs: {{v: {{default: "2.9.1"}}}}}}}}
jobs:
  test:
    strategy:
      matrix:
        os: {}
        torch: ["2.8.0", "2.9.1"]
    runs-on: ${{{{ matrix.os }}}}
    steps:
      - run: pip install torch==${{{{ matrix.torch }}}} torchvision
      - if: matrix.torch == '9.9'
        run: pip install torch==9.9
"""


def test_the_matrix_of_a_job(tmp_path: Path) -> None:
    hosted = {".github/workflows/a.yml": JOB.format("[ubuntu-latest, windows-latest]")}
    assert said(report(tmp_path, hosted)) == []
    assert len(repository(tmp_path, {}).environments) == 4
    own = {".github/workflows/a.yml": JOB.format("[linux-mi300-gpu]")}
    found = serious(report(tmp_path / "own", own, gpu="gfx942"))
    assert [f.id for f in found] == [NOT_ROCM, NOT_ROCM] or [f.id for f in found] == [NOT_ROCM]
    packages = {r.name for e in repository(tmp_path / "own", {}).environments for s in e.steps for r in s.requirements}
    assert packages == {"torch", "torchvision"}


def test_an_expression_without_a_value_is_one_word(tmp_path: Path) -> None:
    text = "jobs:\n  t:\n    runs-on: [self-hosted, rocm]\n    steps:\n      - run: pip install torch==${{ needs.a.outputs.b || github.ref }} peft\n"
    made = repository(tmp_path, {".github/workflows/a.yml": text}).environments[0]
    assert {r.name for s in made.steps for r in s.requirements} == {"torch", "peft"}


def test_jobs_of_gitlab(tmp_path: Path) -> None:
    text = ".base:\n  image: rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\ntrain:\n  extends: .base\n  script: [pip install torch==2.9.1]\n"
    assert said(report(tmp_path, {".gitlab-ci.yml": text}, declared=True)) == [(NOT_ROCM, "error", ".gitlab-ci.yml:5")]


# Other places


@pytest.mark.parametrize(("files", "ids"), [
    ({"setup.py": 'from setuptools import setup\nREQ = ["torch==2.9.1"]\nsetup(name="x", install_requires=REQ)\n'}, {"repo.no-amd-environment"}),
    ({"setup.cfg": "[options]\ninstall_requires =\n  torch==2.9.1\n"}, {"repo.no-amd-environment"}),
    ({"Pipfile": '[packages]\ntorch = "==2.9.1"\n'}, {"repo.no-amd-environment"}),
    ({"pixi.toml": '[workspace]\nchannels = ["conda-forge"]\n[dependencies]\npytorch = "2.5"\n'}, {"repo.no-amd-environment"}),
    ({"README.md": "# x\n```bash\npip install torch\n```\n"}, {"repo.no-amd-environment"}),
    ({"Dockerfile": f"FROM {IMAGE}\nENV PYTORCH_ROCM_ARCH=gfx942;gfx90a\n"}, {"arch.not-in-build"}),
    ({"Dockerfile": f"FROM {IMAGE}\nENV PYTORCH_ROCM_ARCH=gfx942;gfx1100\n"}, set()),
    ({"Dockerfile": f"FROM {IMAGE}\nRUN cmake -S . -B b -DAMDGPU_TARGETS=gfx1151\n"}, {"arch.not-in-build"}),
    ({"requirements.txt": "--index-url https://rocm.nightlies.amd.com/v2/gfx1151/\ntorch\n"}, {"arch.not-in-build"}),
    ({"requirements.txt": "--index-url https://rocm.nightlies.amd.com/v2/gfx110X-all/\ntorch\n"}, set()),
    ({"requirements-rocm.txt": f"--extra-index-url {ROCM}\ntorch==2.9.1\nonnxruntime-gpu\n"}, {"version.package-mismatch"}),
])  # fmt: skip
def test_places(tmp_path: Path, files: dict[str, str], ids: set[str]) -> None:
    assert {i for i, _, _ in said(report(tmp_path, files))} == ids


@pytest.mark.parametrize(("text", "ids"), [
    ("optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\ndtype: fp32\n", {"lib.bitsandbytes"}),
    ("train:\n  optimizer: adamw8bit\n  dtype: fp16\n", {"lib.bitsandbytes"}),
    ("base_model: x\nbf16: true\n", {"numeric.bf16-or-fp16"}), ("base_model: x\nfp8: true\n", {"numeric.bf16-or-fp16"}),
    ("task: y\ndtype: fp8\ngpu_target: gfx950\n", set()),
])  # fmt: skip
def test_training_configurations(tmp_path: Path, text: str, ids: set[str]) -> None:
    assert {i for i, _, _ in said(report(tmp_path, {"train.yaml": text}, gpu="gfx906"))} == ids
    assert said(report(tmp_path, {"train.yaml": text}, gpu="gfx942")) == []


# Proposals and output


def test_a_proposal_is_inside_the_projects_range_and_the_same_as_plans(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.8,<2.10", "torchvision"]\n[tool.uv]\nindex-strategy = "first-index"\n'
    advice = serious(report(tmp_path, {"pyproject.toml": text, "uv.toml": ""}))[0].advice
    assert "2.14" not in advice
    plain = serious(report(tmp_path / "a", {"requirements.txt": "torch>=2.8,<2.10\ntorchvision\n"}))[0].advice
    assert "torch==2.9.1+rocm6.4" in plain
    assert "torchvision==0.24.1+rocm6.4" in plain


def test_one_cause_is_one_finding_with_all_its_places(tmp_path: Path) -> None:
    files = {f"configs/{n}.yaml": "base_model: x\nload_in_4bit: true\n" for n in range(30)}
    found = serious(report(tmp_path, files, gpu="gfx906"))
    assert len(found) == 1
    assert sum(r.place.startswith("line ") for r in found[0].evidence) == 25
    assert "in 30 places" in found[0].cause


def test_the_target_is_quoted_without_double_blanks(tmp_path: Path) -> None:
    quote = serious(report(tmp_path, {"requirements.txt": "torch\n"}))[0].evidence[-1].quote
    assert "  " not in quote


# What is said


@pytest.mark.parametrize(("command", "advice"), [
    ("docker run rocm/pytorch:latest python t.py", "Add --device=/dev/kfd and --device=/dev/dri to line 2 of rocm/start.sh, and --group-add with"),
    ("docker run --gpus all nvcr.io/nvidia/pytorch:24.01-py3 python t.py", "Take --gpus out and add --device=/dev/kfd and"),
    ('docker run --device=/dev/kfd --group-add 109 "$TAG_IMAGE" python t.py', "Add --device=/dev/dri to line 2 of rocm/start.sh."),
])  # fmt: skip
def test_a_container_is_changed_where_it_is_started(tmp_path: Path, command: str, advice: str) -> None:
    found = report(tmp_path, {"rocm/start.sh": f"export HSA_ENABLE_SDMA=0\n{command}\n"}).findings
    one = next(f for f in found if f.id == "access.container")
    assert one.advice.startswith(advice)
    assert one.commands == ()


def test_a_list_for_amd_in_a_folder_covers_those_beside_it(tmp_path: Path) -> None:
    """text-generation-webui's layout: what the CUDA lists ask for is nothing that a machine with an AMD GPU installs."""
    folder = "requirements/full/"
    files = {f"{folder}requirements_amd.txt": f"--index-url {ROCM}\ntorch==2.9.1\n", f"{folder}requirements.txt": "torch==2.9.1\nbitsandbytes\n",
             f"{folder}requirements_cuda128.txt": "bitsandbytes\n", "install-for-older-amd.bat": "pip install torch==2.6.0\n"}  # fmt: skip
    assert said(report(tmp_path, files)) == []
    assert said(report(tmp_path, files, gpu="gfx1151")) == [("arch.not-in-build", "error", f"{folder}requirements_amd.txt:2")]


def test_places_in_sarif_are_files_of_the_repository_and_fingerprints_stay(tmp_path: Path) -> None:
    import json

    from rocm_doctor.reports import RenderOptions
    from rocm_doctor.reports.sarif import render

    def results(text: str) -> Any:
        return json.loads(render(report(tmp_path, {"requirements-rocm.txt": text}), RenderOptions()))["runs"][0]["results"]

    first, moved = (results(text) for text in ("torch==2.9.1\n", "# moved\n\ntorch==2.9.1\n"))
    uris = {
        place["physicalLocation"]["artifactLocation"]["uri"]
        for r in first
        for key in ("locations", "relatedLocations")
        for place in r[key]
    }
    assert uris == {"requirements-rocm.txt"}
    assert [r["partialFingerprints"] for r in first] == [r["partialFingerprints"] for r in moved]


@pytest.mark.parametrize(("words", "left"), [
    (("requirements-rocm.txt",), 1), (("docker/*",), 1), (("arch.not-in-build",), 1), (("version.*",), 1), (("Dockerfile",), 0), ((), 2),
])  # fmt: skip
def test_select_and_ignore_take_a_diagnosis_or_a_path(tmp_path: Path, words: tuple[str, ...], left: int) -> None:
    import datetime

    from rocm_doctor.lint.declared import Target
    from rocm_doctor.lint.judge import lint
    from rocm_doctor.matrix import load

    files = {
        "requirements-rocm.txt": "torch==2.9.1+cu126\n",
        "docker/Dockerfile": "FROM ubuntu:24.04\nRUN pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/rocm6.1\n",
    }
    read = repository(tmp_path, files)

    def count(**named: tuple[str, ...]) -> int:
        found = lint(read, [Target("t", "gfx1151")], load(), name="x", today=datetime.date(2026, 11, 22), **named)
        return sum(f.severity == "error" for f in found.findings)

    assert count(select=words) == left
    assert count(ignore=words) == 2 - (left if words else 0)


def test_select_takes_a_row(tmp_path: Path) -> None:
    import datetime

    from rocm_doctor.lint.declared import Target
    from rocm_doctor.lint.judge import lint
    from rocm_doctor.matrix import load

    read = repository(
        tmp_path,
        {
            "a.sh": f"export HSA_ENABLE_SDMA=0\npip install torch==2.9.1 --index-url {ROCM}\n",
            "b.sh": "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n",
        },
    )
    whole = lint(read, [Target("t", "gfx1100")], load(), name="x", today=datetime.date(2026, 11, 22))
    row = next(f.row for f in whole.findings if f.row)
    only = lint(read, [Target("t", "gfx1100")], load(), name="x", today=datetime.date(2026, 11, 22), select=(row,))
    assert {f.row for f in only.findings} == {row}


@pytest.mark.parametrize(("line", "declared"), [
    ("module load LUMI PyTorch/2.2.2-rocm-5.6.1-python-3.10", True), ("module load rocm/6.2", True), ("ml PrgEnv-amd rocm", True),
    ("#SBATCH --gpus-per-node=mi250:8", True), ("#SBATCH --partition=standard-g", True), ("module load cuda/12.4", False),
    ("#SBATCH --partition=amd_epyc", False), ("#SBATCH --gres=gpu:a100:4", False),
])  # fmt: skip
def test_a_cluster_that_brings_the_environment(tmp_path: Path, line: str, declared: bool) -> None:
    found = report(
        tmp_path, {"train.sh": f"#!/bin/bash\n{line}\nsrun python train.py\n", "requirements.txt": "lightning==2.5.5\n"}
    )
    assert (found.verdict, [f.id for f in serious(found)]) == (
        ("undetermined", []) if declared else ("problems", ["repo.no-amd-environment"])
    )


@pytest.mark.parametrize(("torch", "more"), [
    ("torch --index-url https://download.pytorch.org/whl/rocm7.0", True), ("torch==2.0.1 --index-url https://download.pytorch.org/whl/cu118", True),
])  # fmt: skip
def test_what_is_built_on_an_old_image_is_said_beside_its_torch(tmp_path: Path, torch: str, more: bool) -> None:
    text = "FROM rocm/dev-ubuntu-22.04:5.4.2-complete\nRUN pip install {}\n{}"
    build = "RUN git clone https://github.com/x/y && cd y && cmake -B b && make -C b\n"
    places = {
        p for i, _, p in said(report(tmp_path / "built", {"Dockerfile": text.format(torch, build)})) if i == "arch.not-in-build"
    }
    assert ("Dockerfile:1" in places) is more


def test_two_stoppers_of_one_kind_in_one_image(tmp_path: Path) -> None:
    text = (
        "FROM rocm/dev-ubuntu-22.04:5.4.2-complete\nRUN git clone https://github.com/x/y && cmake -B b y && make -C b\n"
        "RUN pip install torch==2.0.1 --index-url https://download.pytorch.org/whl/rocm5.4.2\n"
    )
    places = {p for i, _, p in said(report(tmp_path, {"Dockerfile": text}, python="3.10")) if i == "arch.not-in-build"}
    assert places == {"Dockerfile:1", "Dockerfile:3"}


@pytest.mark.parametrize(
    ("there", "expected"), [(("README.md", "pyproject.toml"), False), (("README.md",), True), (("LICENSE",), True)]
)
def test_the_name_of_a_project_inside_is_not_what_each_of_its_files_is_for(
    tmp_path: Path, there: tuple[str, ...], expected: bool
) -> None:
    """A fork that someone made run on ROCm keeps the images and scripts of the project for NVIDIA."""
    files = {f"parts/tool-rocm/{name}": "x\n" for name in there} | {
        "parts/tool-rocm/docker/Dockerfile": "FROM nvidia/cuda:12.9.1-runtime-ubuntu24.04\nRUN apt-get install -y tool\n",
        "parts/tool-rocm/docker/start.sh": "docker run --gpus all nvidia/cuda:12.9.1-base nvidia-smi\n",
        "parts/tool-rocm/train/Dockerfile": "FROM python:3.12\nRUN pip install torch==2.9.1\n",
    }
    kinds = {
        e.place.file.rpartition("/")[2]: e.purpose.kind
        for e in repository(tmp_path, files).environments
        if "docker/" in e.place.file
    }
    assert (set(kinds.values()) == {"amd"}) is expected
    assert expected or set(kinds.values()) == {"nvidia"}
    assert {e.purpose.kind for e in repository(tmp_path, files).environments if "train/" in e.place.file} == {"amd"}


@pytest.mark.parametrize(("files", "judged"), [
    ({"Dockerfile.rocm": "# For Hygon DCU (ROCm)\nFROM ubuntu:22.04\nRUN pip install torch\n"}, False), ({"Dockerfile.dcu": "FROM ubuntu:22.04\nRUN pip install torch\n"}, False),
    ({"Dockerfile.rocm": "# For AMD GPUs and Hygon DCU\nFROM ubuntu:22.04\nRUN pip install torch\n"}, True), ({"Dockerfile.rocm": "FROM ubuntu:22.04\nRUN pip install torch\n"}, True),
])  # fmt: skip
def test_accelerators_of_hygon_are_no_gpus_of_amd(tmp_path: Path, files: dict[str, str], judged: bool) -> None:
    assert (("version.torch-not-rocm", "error") in {one[:2] for one in said(report(tmp_path, files))}) is judged


@pytest.mark.parametrize(("package", "kind"), [("cpuonly", "cpu"), ("numpy", "amd")])
def test_a_list_for_processors_of_amd(tmp_path: Path, package: str, kind: str) -> None:
    files = {"environment-amd.yml": f"name: x\ndependencies:\n  - python=3.11\n  - pytorch>=2.0\n  - {package}\n"}
    assert [e.purpose.kind for e in repository(tmp_path, files).environments] == [kind]


COMMAND = """import subprocess

def install(pip, more):
    subprocess.run([{words}])
"""


@pytest.mark.parametrize(("words", "found"), [
    ('pip, "install", "torch", "torchvision", "--index-url", "https://download.pytorch.org/whl/rocm5.2"', True),
    ('pip, "-m", "pip", "install", f"torch=={more}", "--index-url", "https://download.pytorch.org/whl/rocm5.2"', True),
    ('pip, "install", "numpy", "--index-url", "https://download.pytorch.org/whl/rocm5.2"', False),
    ('pip, "download", "torch", "--index-url", "https://download.pytorch.org/whl/rocm5.2"', False),
])  # fmt: skip
def test_the_words_of_a_command_in_python(tmp_path: Path, words: str, found: bool) -> None:
    there = [e for e in repository(tmp_path, {"install.py": COMMAND.format(words=words)}).environments if e.purpose.kind == "amd"]
    assert [(e.place.file, e.place.line, {r.name for s in e.steps for r in s.requirements} >= {"torch"}) for e in there] == [
        ("install.py", 4, True)
    ] * found
