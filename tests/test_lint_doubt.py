"""Repositories in which something that is not read, or given elsewhere, decides: what is found there is no error."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

ROCM = "https://download.pytorch.org/whl/rocm6.4"
INSTALL = f"pip install torch --index-url {ROCM}"
OLD = "pip install torch==2.0.1 --index-url https://download.pytorch.org/whl/rocm5.4.2"
BASE = "FROM rocm/dev-ubuntu-22.04:6.4\n"
IMAGE = "FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\n"
LIST = {"requirements.txt": "torch>=2.4\ntransformers\n"}
LAST = "COPY . .\nRUN pip install -r requirements.txt\n"
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
GIVEN = "    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n"
NOT_ROCM = "version.torch-not-rocm"


def errors(root: Path, files: dict[str, str], gpu: str = "gfx1100") -> list[str]:
    return [f.id for f in report(root, files, gpu=gpu).findings if f.severity == "error"]


def test_without_a_doubt_it_is_an_error(tmp_path: Path) -> None:
    assert errors(tmp_path, LIST | {"Dockerfile.rocm": BASE + LAST}) == [NOT_ROCM]
    assert errors(tmp_path / "b", LIST | {"install_rocm.sh": "pip install -r requirements.txt\n"}) == [NOT_ROCM]


# What comes before the list, or what starts afterwards.
@pytest.mark.parametrize(("lines", "more"), [
    ("COPY . .\nRUN pip install $(cat torch.txt)\n", {}), ("RUN ./install_torch.sh\n", {}), ("COPY . .\nRUN python install.py\n", {}),
    ("COPY . .\nRUN python prepare.py\n", {"prepare.py": "import os\nos.system('pip install torch')\n"}),
    ("COPY --from=ghcr.io/x/torch-rocm /usr/lib/python3/dist-packages /usr/lib/python3/dist-packages\n", {}),
    ("RUN --mount=type=bind,from=build,src=/w,target=/w pip install /w/torch.whl\n", {}),
    ("RUN curl -fsSL https://x.org/install.sh | bash\n", {}), ("COPY . .\nRUN make torch-rocm\n", {}), ("COPY pip.conf /etc/pip.conf\n", {}),
    ("RUN printf '[global]' > /etc/pip.conf\n", {}), ("RUN conda install -c rocm pytorch-rocm\n", {}), ("RUN apt-get install -y python3-torch-rocm\n", {}),
    ("RUN pacman -S --noconfirm python-pytorch-rocm\n", {}), ("RUN spack install py-torch+rocm\n", {}), ("RUN pip install git+https://github.com/ROCm/pytorch\n", {}),
    (f"RUN python3 <<EOF\nimport os\nos.system('{INSTALL}')\nEOF\n", {}), ("RUN python -c \"open('requirements.txt', 'w').write('x')\"\n", {}),
    ("COPY . .\nRUN echo transformers > requirements.txt\n", {}), ("ARG MORE=\nRUN pip install $MORE transformers\n", {}),
    ("COPY start.sh /\nCMD bash start.sh\n", {"start.sh": INSTALL + " --force-reinstall\n"}),
    ("COPY launch.py /\nCMD python launch.py\n", {"launch.py": f"import os\nos.system('{INSTALL}')\n"}),
])  # fmt: skip
def test_a_command_of_an_image_that_may_install_torch(tmp_path: Path, lines: str, more: dict[str, str]) -> None:
    found = report(tmp_path, LIST | more | {"Dockerfile.rocm": BASE + lines + LAST})
    assert not any(f.severity == "error" for f in found.findings), said(found)


@pytest.mark.parametrize("lines", [
    f'CMD="{INSTALL}"\neval "$CMD"', "TORCH=$(python get_torch.py)\npip install $TORCH", 'eval "$(python get_torch.py)"',
    f"for p in torch; do pip install $p --index-url {ROCM}; done", f"echo torch | xargs pip install --index-url {ROCM}",
    f"sudo -H python3 -m {INSTALL}", "module load PyTorch/2.7.1-rocm", f"python - <<EOF\nimport os\nos.system('{INSTALL}')\nEOF",
    "ansible-playbook torch.yml",
])  # fmt: skip
def test_a_command_of_a_script_that_may_install_torch(tmp_path: Path, lines: str) -> None:
    assert not errors(tmp_path, LIST | {"install_rocm.sh": f"#!/bin/bash\n{lines}\npip install -r requirements.txt\n"})


@pytest.mark.parametrize("lines", [
    "RUN make -j", "RUN curl -LsSf https://astral.sh/uv/install.sh | sh", "RUN python -m pip install --upgrade pip", "RUN python -c 'print(1)'",
    "RUN apt-get install -y git", "RUN python3 <<EOF\nimport torch\nEOF", "COPY . .\nRUN python app.py", "COPY --from=ghcr.io/astral-sh/uv /uv /bin/uv", "RUN pip install ./x-1.0-py3-none-any.whl --no-deps", "CMD python train.py",
])  # fmt: skip
def test_a_command_that_brings_no_torch(tmp_path: Path, lines: str) -> None:
    app = "import torch\nprint('run pip install scipy')\nopen('log', 'w').write('x')\n"
    files = {"train.py": "import torch\n", "app.py": app, "Dockerfile.rocm": f"{BASE}COPY . .\n{lines}\n{LAST}"}
    assert errors(tmp_path, LIST | files) == [NOT_ROCM]


def test_a_dry_run_installs_nothing(tmp_path: Path) -> None:
    assert serious(report(tmp_path, {"Dockerfile.rocm": IMAGE + "RUN pip install --dry-run torch==2.9.1\n"})) == []


def test_the_torch_backend_of_uv_by_its_variable(tmp_path: Path) -> None:
    files = {"Dockerfile.rocm": f"{BASE}ENV UV_TORCH_BACKEND=rocm6.4\n{LAST.replace('pip', 'uv pip')}"}
    assert serious(report(tmp_path, LIST | files)) == []


SET = f"export {OVERRIDE}=10.3.0\npython train.py\n"


@pytest.mark.parametrize(("files", "at"), [
    ({"run_rocm.sh": f'export {OVERRIDE}="${{{OVERRIDE}:-10.3.0}}"\npython train.py\n'}, ""),
    ({"run_rocm.sh": SET, "README.md": f"RX 7900: `{OVERRIDE}=11.0.0`\n"}, "line 1 of README.md"),
    ({"run_rocm.sh": SET, "settings.py": f'os.environ["{OVERRIDE}"] = "11.0.0"\n'}, "line 1 of settings.py"),
    ({"Dockerfile.rocm": f"{IMAGE}ARG GFX=10.3.0\nENV {OVERRIDE}=$GFX\n"}, ""),
    ({"Dockerfile.rocm": f"{IMAGE}ENV {OVERRIDE}=10.3.0\n", "run.sh": f"docker run --device /dev/kfd --device /dev/dri -e {OVERRIDE} x\n"}, "line 1 of run.sh"),
    ({"Dockerfile.rocm": f"{IMAGE}ENV {OVERRIDE}=10.3.0\n", "entry.sh": f"unset {OVERRIDE}\n"}, "line 1 of entry.sh"),
    ({".env.example": f"{OVERRIDE}=10.3.0\n", "compose.rocm.yml": f"services:\n  a:\n    image: rocm/pytorch\n{GIVEN}"}, ""),
    ({".env": f"{OVERRIDE}=10.3.0\n", "run.sh": f"case $1 in a) export {OVERRIDE}=10.3.0;; b) export {OVERRIDE}=11.0.0;; esac\n"}, "line 1 of run.sh"),
])  # fmt: skip
def test_an_override_that_is_given_otherwise_elsewhere(tmp_path: Path, files: dict[str, str], at: str) -> None:
    found = report(tmp_path, files)
    wrong = [f for f in found.findings if f.id == "arch.override-wrong"]
    assert not any(f.severity == "error" for f in found.findings)
    assert at in " ".join(f.advice for f in wrong)


def test_an_override_is_an_error_where_no_other_value_suits(tmp_path: Path) -> None:
    for more in (
        {},
        {"README.md": f"`{OVERRIDE}=10.3.0`.\n"},
        {"c.env": f"{OVERRIDE}=${{{OVERRIDE}:-10.3.0}}\n"},
        {"d.md": f"{OVERRIDE}=9.0.0\n"},
    ):
        assert errors(
            tmp_path / f"x{len(more)}{next(iter(more), '')}", {"run_rocm.sh": SET, "start.txt": "bash run_rocm.sh\n"} | more
        ) == ["arch.override-wrong"]


@pytest.mark.parametrize(("text", "doubtful"), [
    (f"# For the RX 6800 XT\n\npython setup.py\nexport {OVERRIDE}=10.3.0\n", True), (f"ls\n# RDNA 2:\n# as the vendor says\nexport {OVERRIDE}=10.3.0\n", True),
    (f"export {OVERRIDE}=10.3.0  # Radeon 680M\n", True), (f"export {OVERRIDE}=10.3.0  # RX 6600\n", True), (f"export {OVERRIDE}=10.3.0  # RX 6600, RX 7600\n", False),
    (f"# RX 6600 needs more.\nls\nls\nls\nexport {OVERRIDE}=10.3.0\n", True), (f"ls\n# RX 6600\nls\nexport {OVERRIDE}=10.3.0\n", False),
    (f"ls\n# the right one\nexport {OVERRIDE}=10.3.0\n", False),
])  # fmt: skip
def test_an_override_that_comments_call_one_for_other_gpus(tmp_path: Path, text: str, doubtful: bool) -> None:
    """The head of the file, the comment right above, and the rest of the line say whom the value is for; what is said elsewhere is of something else."""
    assert errors(tmp_path / "a", {"run_rocm.sh": text, "Makefile": "run:\n\tbash run_rocm.sh\n"}) == (
        [] if doubtful else ["arch.override-wrong"]
    )
    both = errors(
        tmp_path / "b", {"run_rocm.sh": text, "rocm/run.sh": SET, "Makefile": "run:\n\tbash run_rocm.sh\n\tbash rocm/run.sh\n"}
    )
    assert both == ([] if doubtful else ["arch.override-wrong"])


@pytest.mark.parametrize(
    "name",
    ["run-5700xt.sh", "navi2/run.sh", "vega/run.sh", "steamdeck/run.sh", "strix-halo/run.sh", "rdna2/run.sh"],
)
def test_a_file_that_is_named_after_other_gpus(tmp_path: Path, name: str) -> None:
    assert not errors(tmp_path, {name: SET})


def test_what_an_override_hides_is_said_with_it(tmp_path: Path) -> None:
    image = f"FROM ubuntu:22.04\nENV {OVERRIDE}=10.3.0\nRUN pip install torch==1.13.1+rocm5.2 --extra-index-url https://download.pytorch.org/whl/rocm5.2\n"
    assert {"arch.override-wrong", "arch.not-in-build"} <= set(errors(tmp_path, {"Dockerfile": image}))


def test_each_place_of_an_override_is_named(tmp_path: Path) -> None:
    image = f"{IMAGE}ENV {OVERRIDE}=10.3.0\n"
    found = [
        f for f in serious(report(tmp_path, {"a/Dockerfile": image, "b/Dockerfile": image})) if f.id == "arch.override-wrong"
    ]
    assert len(found) == 1
    assert all(f"Delete line 2 of {folder}/Dockerfile." in found[0].advice for folder in "ab")


SERVICE = "services:\n  a:\n    image: rocm/pytorch:latest\n"


@pytest.mark.parametrize(("service", "more"), [
    (SERVICE, {"docker-compose.gpu.yml": f"services:\n  a:\n{GIVEN}"}), (f"include: [gpu.yml]\n{SERVICE}", {}),
    (SERVICE + '    devices: ["${KFD}", "${DRI}"]\n', {}), (SERVICE + '    volumes: ["/dev:/dev"]\n', {}),
    (SERVICE + "    command: make wheel\n", {}), (SERVICE + "    command: [chown, -R, '1000', /data]\n", {}),
    (SERVICE + "    command: tensorboard --logdir /logs\n", {}), (SERVICE + "    command: huggingface-cli download x\n", {}),
])  # fmt: skip
def test_a_service_that_gets_its_devices_in_another_way_or_needs_none(tmp_path: Path, service: str, more: dict[str, str]) -> None:
    assert not errors(tmp_path / "this", {"docker-compose.yml": service} | more)
    assert errors(tmp_path / "plain", {"docker-compose.yml": SERVICE + "    command: torchrun train.py\n"}) == [
        "access.container"
    ]


@pytest.mark.parametrize("run", [
    "docker run --rm rocm/pytorch:latest python -c 'import torch; print(torch.__version__)'", "docker run --runtime=amd rocm/pytorch:latest python t.py",
    "podman run --device amd.com/gpu=all rocm/pytorch:latest python t.py", "podman run --device nvidia.com/gpu=all x\npodman run --device /dev/kfd --device /dev/dri rocm/pytorch",
])  # fmt: skip
def test_a_container_that_gets_its_devices_in_another_way_or_needs_none(tmp_path: Path, run: str) -> None:
    assert not errors(tmp_path, {"run_rocm.sh": run + "\n"})


@pytest.mark.parametrize("more", [
    {"Makefile": "build:\n\tdocker build --build-arg ROCM_VERSION=6.4 .\n"}, {"docker-bake.hcl": 'args = { ROCM_VERSION = "6.4" }\n'},
    {"README.md": "docker build --build-arg ROCM_VERSION=6.4 .\n"}, {"Dockerfile.rocm64": f"FROM ubuntu:24.04\nRUN {INSTALL}\n"},
])  # fmt: skip
def test_a_release_that_is_a_build_argument_or_one_of_several(tmp_path: Path, more: dict[str, str]) -> None:
    image = {
        "Dockerfile.rocm": "FROM ubuntu:22.04\nARG ROCM_VERSION=5.4.2\nRUN pip install torch==2.0.1 --index-url https://download.pytorch.org/whl/rocm${ROCM_VERSION}\n"
    }
    assert errors(tmp_path / "alone", image) == ["arch.not-in-build"]
    assert not errors(tmp_path / "both", image | more)


def test_a_list_beside_one_that_serves_the_gpu(tmp_path: Path) -> None:
    old = {
        "requirements-rocm-legacy.txt": "--extra-index-url https://download.pytorch.org/whl/rocm5.4.2\ntorch==2.0.1+rocm5.4.2\n"
    }
    assert errors(tmp_path / "alone", old)
    assert not errors(tmp_path / "both", old | {"requirements-rocm.txt": f"--extra-index-url {ROCM}\ntorch==2.9.1+rocm6.4\n"})


@pytest.mark.parametrize("more", [
    {"README.md": "Use Python 3.10.\n"}, {".python-version": "3.10\n"}, {"runtime.txt": "python-3.10.12\n"}, {".tool-versions": "python 3.10.12\n"}, {".mise.toml": "[tools]\npython = \"3.10\"\n"}, {"tox.ini": "basepython = python3.10\n"}, {".github/workflows/test.yml": "python-version: \"3.10\"\n"},
    {"a.ipynb": '{"cells": [], "metadata": {"language_info": {"name": "python", "pygments_lexer": "ipython3", "version": "3.10.9"}}}'},
])  # fmt: skip
def test_another_python_that_the_repository_names(tmp_path: Path, more: dict[str, str]) -> None:
    listed = {"requirements-rocm.txt": "--extra-index-url https://download.pytorch.org/whl/rocm5.6\ntorch==2.1.2+rocm5.6\n"}
    assert errors(tmp_path / "alone", listed) == ["version.python-unsupported"]
    assert not errors(tmp_path / "both", listed | more)


@pytest.mark.parametrize(("text", "severity"), [
    ("Adapt HSA_OVERRIDE_GFX_VERSION to the GPU:\n\n- gfx1030: RX 6800\n- gfx1100: RX 7900\n", "warning"),
    ("| HSA_OVERRIDE_GFX_VERSION | GPU |\n|---|---|\n| 10.3.0 | RX 6700 |\n| 11.0.0 | RX 7600 |\n", "warning"),
    ("# Trainer\n## Use\nHSA_OVERRIDE_GFX_VERSION is set for the RX 6800.\n\n- fast\n- small\n", "error"), ("Works on:\n- RX 6800\n- RX 7900\n", "error"),
])  # fmt: skip
def test_a_document_that_has_the_override_chosen_by_the_gpu(tmp_path: Path, text: str, severity: str) -> None:
    compose = "services:\n  train-rocm:\n    image: rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\n    command: python train.py\n"
    compose += f"{GIVEN}    environment: [{OVERRIDE}=10.3.0]\n"
    found = report(tmp_path, {"compose.yaml": compose, "README.md": text, "train.py": "import torch\n"}, gpu="gfx1100").findings
    assert [f.severity for f in found if f.id == "arch.override-wrong"] == [severity]


@pytest.mark.parametrize(("targets", "severity"), [("gfx1030", "warning"), ("gfx1030;gfx1100", "error"), ("gfx906", "error")])
def test_a_repository_that_builds_for_other_gpus_alone(tmp_path: Path, targets: str, severity: str) -> None:
    files = {
        "Dockerfile.rocm": f'FROM rocm/dev-ubuntu-24.04:6.4\nRUN cmake -S . -B b -DAMDGPU_TARGETS="{targets}" && make\n',
        "train_rocm.sh": f"export {OVERRIDE}=10.3.0\nexport MIOPEN_FIND_MODE=3\npython train.py\n",
        "README.md": "Run `bash train_rocm.sh`.\n",
    }
    found = report(tmp_path, files, gpu="gfx1100").findings
    assert [f.severity for f in found if f.id == "arch.override-wrong"] == [severity]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pip install -r needed.txt", "nothing is known to bring code"),
        ("pip install ninja", "whether what is built for gfx1100 runs is not known"),
    ],
)
def test_what_a_document_builds_proves_nothing(tmp_path: Path, line: str, said: str) -> None:
    text = f"# Build\n\n```bash\n{line}\nPYTORCH_ROCM_ARCH=gfx1100 python setup.py bdist_wheel\n```\n"
    found = report(tmp_path, {"README.md": text}, gpu="gfx1100")
    assert found.verdict == "undetermined"
    assert said in found.summary


@pytest.mark.parametrize(("line", "there"), [
    ("# made with pip-compile and Python 3.10", []), ('numpy; python_version >= "3.9"', ["version.python-unsupported"]),
])  # fmt: skip
def test_another_python_that_a_comment_of_a_list_names(tmp_path: Path, line: str, there: list[str]) -> None:
    text = f"{line}\n--extra-index-url https://download.pytorch.org/whl/rocm5.6\ntorch==2.1.2+rocm5.6\n"
    assert errors(tmp_path, {"requirements-rocm.txt": text}) == there


@pytest.mark.parametrize(
    "first",
    ["python3.10 -m venv v", "conda create -n x python=3.10 -y\nconda activate x", "pyenv local 3.10.12", "PY=python3.10"],
)
def test_another_python_that_a_script_names(tmp_path: Path, first: str) -> None:
    assert not errors(
        tmp_path,
        {"install_rocm.sh": f"{first}\npip install torch==2.1.2+rocm5.6 --index-url https://download.pytorch.org/whl/rocm5.6\n"},
    )


def test_the_companions_that_an_image_has_satisfy_a_pin(tmp_path: Path) -> None:
    assert serious(report(tmp_path, {"Dockerfile.rocm": IMAGE + "RUN pip install torchvision==0.21.0\n"})) == []
    assert errors(tmp_path / "b", {"Dockerfile.rocm": IMAGE + "RUN pip install torchvision==0.20.0\n"})


def test_what_goes_wrong_now_and_then_is_a_warning(tmp_path: Path) -> None:
    listed = {"requirements.rocm.txt": "--extra-index-url https://download.pytorch.org/whl/rocm6.0\ntorch==2.4.0+rocm6.0\n"}
    assert {f.severity for f in serious(report(tmp_path, listed, gpu="gfx942"))} == {"warning"}


def test_a_companion_that_a_group_pins_beside_the_range_of_the_project(tmp_path: Path) -> None:
    project = f"""[project]
name = "x"
version = "1"
requires-python = ">=3.10"
dependencies = ["torch>=2.1", "torchvision>=0.16"]
[dependency-groups]
rocm = ["torch==2.9.1+rocm6.4", "torchvision==0.24.1+rocm6.4", "pytorch-triton-rocm==3.5.1"]
[[tool.uv.index]]
name = "amd"
url = "{ROCM}"
[tool.uv.sources]
torch = [{{ index = "amd", group = "rocm" }}]
torchvision = [{{ index = "amd", group = "rocm", marker = "python_version>='3.10' and sys_platform=='linux'" }}]
pytorch-triton-rocm = [{{ index = "amd", group = "rocm" }}]
"""
    assert not errors(tmp_path, {"pyproject.toml": project, "Makefile": "install-rocm:\n\tuv sync --frozen --group rocm\n"})


def test_a_wheel_of_ones_own_is_not_the_build_of_its_maker(tmp_path: Path) -> None:
    wheel = "flash_attn-2.0.4-cp312-cp312-linux_x86_64.whl"
    assert serious(report(tmp_path, {"Dockerfile.rocm": f"{IMAGE}ADD {wheel} /\nRUN pip install /{wheel}\n"})) == []
    assert serious(report(tmp_path / "b", {"Dockerfile.rocm": f"{IMAGE}RUN pip install flash-attn==2.8.3\n"}))


def test_what_a_document_does_in_a_container(tmp_path: Path) -> None:
    start = "```bash\ndocker run --device=/dev/kfd --device=/dev/dri --ipc=host -it rocm/pytorch:rocm6.4.3_ubuntu22.04_py3.10_pytorch_release_2.6.0\n```\n"
    then = "```bash\npip install . --extra-index-url=https://pypi.amd.com/rocm-6.4.3/simple/\n```\n"
    project = {"setup.py": 'from setuptools import setup\nsetup(name="x", install_requires=["torch"])\n'}
    assert serious(report(tmp_path, project | {"README.md": f"# X\n\n2. Start\n\n{start}\n3. Install\n\n{then}"})) == []
    assert serious(report(tmp_path / "b", project | {"README.md": f"# X\n\n3. Install\n\n{then}"}))


@pytest.mark.parametrize("name", ["profile.sh", "scripts/profile_queues.sh"])
def test_a_switch_for_debugging_in_a_script_that_profiles(tmp_path: Path, name: str) -> None:
    switch = "export AMD_LOG_LEVEL=4\nrocprof --hip-trace python bench.py\n"
    assert serious(report(tmp_path, {name: switch})) == []
    assert serious(report(tmp_path / "b", {"train.sh": switch}))


def test_a_combination_of_a_matrix_is_one_of_several(tmp_path: Path) -> None:
    job = """on: push
jobs:
  amd:
    runs-on: ubuntu-latest
    strategy: {matrix: {rocm: [RELEASES]}}
    steps:
      - uses: docker/build-push-action@v5
        with:
          file: Dockerfile
          build-args: |
            ROCM_VERSION=${{ matrix.rocm }}
"""
    image = {
        "Dockerfile": "FROM ubuntu:22.04\nARG ROCM_VERSION\nRUN pip install torch --index-url https://download.pytorch.org/whl/rocm${ROCM_VERSION}\n"
    }
    old = image | {".github/workflows/b.yml": job.replace("RELEASES", '"5.4.2"')}
    assert not errors(tmp_path, image | {".github/workflows/b.yml": job.replace("RELEASES", '"5.4.2", "6.4"')})
    assert errors(tmp_path / "old", old)


@pytest.mark.parametrize("more", [
    {"setup.sh": "python gen.py > more.txt\n"}, {".gitmodules": '[submodule "x"]\n\tpath = sub\n\turl = x\n', "sub/.keep": ""}, {},
])  # fmt: skip
def test_a_list_that_something_else_brings(tmp_path: Path, more: dict[str, str]) -> None:
    name = "more.txt" if "setup.sh" in more else "sub/more.txt"
    listed = {"requirements-rocm.txt": f"--extra-index-url {ROCM}\ntorch==2.9.1+rocm6.4\n-r {name}\n"}
    assert not errors(tmp_path, listed | more)
    assert errors(tmp_path / "b", {"requirements-rocm.txt": "torch==2.9.1+rocm6.4\n-r more.txt\n"}) == ["repo.unreadable"]


def test_constraints_by_a_variable_and_a_package_that_uv_leaves_out(tmp_path: Path) -> None:
    held = f"{IMAGE}ENV PIP_CONSTRAINT=/c.txt\nRUN pip install torch==2.8.0\n"
    assert not errors(tmp_path, {"Dockerfile.rocm": held})
    project = {"pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.4"]\n'}
    script = {"install_amd.sh": f"uv sync --no-install-package torch\nuv pip install torch --index-url {ROCM}\n"}
    assert not errors(tmp_path / "b", project | script)


def test_the_advice_does_not_take_out_what_is_not_named(tmp_path: Path) -> None:
    brought = serious(report(tmp_path, {"Dockerfile.rocm": f"{IMAGE}RUN pip install unsloth\n"}))
    assert "leave torch out" not in brought[0].advice
    assert "constraints file" in brought[0].advice


def test_a_block_with_an_index_of_rocm_is_for_amd_whatever_its_heading_names(tmp_path: Path) -> None:
    text = f"# GPU/NPU support\n\n* **AMD GPU**\n\n```shell\n{INSTALL}\n```\n"
    project = {"pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.0"]\n'}
    assert serious(report(tmp_path, project | {"README.md": text})) == []
    assert serious(report(tmp_path / "b", project | {"README.md": text.replace("rocm6.4", "cu128")}))


def test_an_image_and_its_service_that_set_the_same_override(tmp_path: Path) -> None:
    files = {
        "Dockerfile.rocm": f"{IMAGE}ENV PYTHONUNBUFFERED=1 \\\n    {OVERRIDE}=10.3.0\n",
        "compose.yaml": f"services:\n  a:\n    build:\n      context: .\n      dockerfile: Dockerfile.rocm\n    environment:\n      - {OVERRIDE}=10.3.0\n{GIVEN}",
        "README.md": f"The default is {OVERRIDE}=10.3.0.\n",
    }
    advice = " ".join(f.advice for f in serious(report(tmp_path, files)) if f.id == "arch.override-wrong")
    assert "line 3 of Dockerfile.rocm" in advice
    assert "lines 6 and 7 of compose.yaml" in advice
    assert "README" not in advice


def test_the_advice_names_a_torch_that_the_index_and_the_python_have(tmp_path: Path) -> None:
    def advice(name: str, files: dict[str, str]) -> str:
        return " ".join(f.advice for f in serious(report(tmp_path / name, files)))

    old = advice("old", {"setup_rocm.sh": "pip install torch==1.13.1 --index-url https://download.pytorch.org/whl/rocm5.2\n"})
    assert "Change the command on line 1 of setup_rocm.sh to: pip install torch==" in old
    python = advice(
        "python", {"requirements-rocm.txt": "--extra-index-url https://download.pytorch.org/whl/rocm5.6\ntorch==2.1.2+rocm5.6\n"}
    )
    assert "Python 3.8, 3.9, 3.10 or 3.11" in python
    assert "3.12 has wheels" not in python
    conda = "channels: [conda-forge]\ndependencies:\n  - python=3.12\n  - pip:\n    - --extra-index-url https://download.pytorch.org/whl/rocm5.4.2\n    - torch==2.0.1+rocm5.4.2\n"
    listed = advice("conda", {"environment-rocm.yml": conda})
    assert "in the pip section, on line 6" in listed
    assert "out of the conda packages" not in listed


@pytest.mark.parametrize("name", ["docker-compose.gpu.yml", "docker-compose.override.yml"])
def test_a_service_whose_devices_another_file_adds(tmp_path: Path, name: str) -> None:
    files = {"docker-compose.yml": SERVICE, name: f"services:\n  a:\n{GIVEN}"}
    assert serious(report(tmp_path, files)) == []
    assert serious(report(tmp_path / "b", {"docker-compose.yml": SERVICE}))


@pytest.mark.parametrize("line", [f'echo "export {OVERRIDE}=$GFX" >> gpu.env', f'echo "export {OVERRIDE}=\\"$GFX\\"" >> gpu.env'])
def test_a_line_that_writes_the_same_override_elsewhere_is_named(tmp_path: Path, line: str) -> None:
    text = (
        f"pip install torch --index-url https://download.pytorch.org/whl/rocm6.4\nGFX=gfx1100\nexport {OVERRIDE}=$GFX\n{line}\n"
    )
    (one,) = [f for f in report(tmp_path, {"rocm/install.sh": text}).findings if f.id == "arch.override-wrong"]
    assert "line 4 of rocm/install.sh" in one.advice
    assert "line 3 of rocm/install.sh" in one.advice


@pytest.mark.parametrize(("line", "open_"), [
    ("pip3 install torchvision", True), ("apt clean", True), ("LABEL a=b", False), ("user app", False), ("# pip3 install x", False), ("{% if x %}", False),
])  # fmt: skip
def test_a_line_that_is_no_instruction_leaves_a_dockerfile_open(tmp_path: Path, line: str, open_: bool) -> None:
    text = f"FROM rocm/dev-ubuntu-22.04:6.4-complete\nRUN pip3 install torch --index-url https://download.pytorch.org/whl/rocm6.4\n{line}\n"
    found = report(tmp_path, {"Dockerfile.rocm": text})
    assert ("is no instruction" in found.summary) is open_, found.summary


def test_a_project_that_a_program_in_the_build_writes_anew_is_not_known(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "app"\nversion = "1"\ndependencies = ["torch==2.11.0", "einops"]\n',
        "Dockerfile.rocm": "FROM rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.9.1\nCOPY . .\nRUN python - <<'PY'\n"
        'kept = [one for one in open("pyproject.toml") if \'torch==\' not in one]\nopen("pyproject.toml", "w").writelines(kept)\nPY\nRUN pip install -e .\n',
    }
    assert not [f for f in report(tmp_path, files).findings if f.severity != "note" and "Dockerfile.rocm" in f.subject]


def test_a_service_for_wsl_is_none_for_linux(tmp_path: Path) -> None:
    service = SERVICE + "    command: python train.py\n    devices: [/dev/dxg:/dev/dxg]\n"
    assert [f.id for f in serious(report(tmp_path, {"docker-compose.yml": service}))] == ["repo.no-amd-environment"]


@pytest.mark.parametrize(
    ("beside", "found"),
    [({}, True), ({"Dockerfile.arm": "FROM python:3.12\n"}, False), ({"Dockerfile.arm64": "FROM python:3.12\n"}, False)],
)
def test_amd_beside_arm_is_a_processor(tmp_path: Path, beside: dict[str, str], found: bool) -> None:
    image = {"Dockerfile.amd": "FROM python:3.12\nRUN pip install torch==2.9.1\n"}
    assert ("version.torch-not-rocm" in errors(tmp_path, {**image, **beside})) is found


@pytest.mark.parametrize(("program", "severity"), [
    ("import torch\nnet = torch.nn.Linear(2, 2)\n", "warning"), ("import torch\nnet = torch.nn.Linear(2, 2).to('cuda')\n", "error"), ("import torch\n", "error"),
])  # fmt: skip
def test_programs_that_name_no_device_do_without_a_gpu(tmp_path: Path, program: str, severity: str) -> None:
    listed = "--extra-index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1+rocm6.2\n"
    found = serious(report(tmp_path, {"requirements-rocm.txt": listed, "train.py": program}, "gfx1151"))
    assert [(f.id, f.severity) for f in found] == [("arch.not-in-build", severity)]


def test_what_conda_alone_has_is_left_out_of_a_list(tmp_path: Path) -> None:
    listed = "conda @ file:///croot/conda_1/work\nlibmambapy @ file:///croot/mamba_2/work\nidna @ file:///croot/idna_3/work\ntorch @ file:///croot/torch_4/work\n"
    (one,) = [f for f in serious(report(tmp_path, {"requirements_rocm.txt": listed})) if "disk" in f.title]
    assert one.advice.startswith(
        "Leave out conda's own packages, which the package index lacks: conda, libmambapy. Name a version in place of each other path:"
    )
    assert one.advice.endswith("Those of torch need their local version (+rocm) and its index.")


def test_the_file_of_one_developer_is_no_error(tmp_path: Path) -> None:
    files = {
        ".envrc": f"export {OVERRIDE}=11.0.2\n",
        "requirements-rocm.txt": "--index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1\n",
    }
    assert errors(tmp_path, files) == []
    found = serious(report(tmp_path, {"env.sh": files[".envrc"]}, gpu="gfx942"))
    assert [f.id for f in found] == ["arch.override-wrong"] * len(found)


def test_the_name_of_a_card_in_the_title(tmp_path: Path) -> None:
    files = {
        "README.md": "# Benchmarks of the Radeon Pro V520\n",
        "run_rocm.sh": f"export {OVERRIDE}=10.1.0\npython train.py\n",
        "train.py": "import torch\n",
    }
    assert errors(tmp_path, files) == []


def test_what_cannot_be_installed_has_no_code_to_be_missing(tmp_path: Path) -> None:
    image = "FROM python:3.12\nRUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm6.2\n"
    assert {f.id for f in serious(report(tmp_path, {"Dockerfile.rocm": image}, gpu="gfx1151"))} == {"version.wheel-missing"}


def test_the_override_of_an_image_is_for_the_run_to_set(tmp_path: Path) -> None:
    image = f"FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\nENV {OVERRIDE}=10.3.0\n"
    (one,) = [f for f in serious(report(tmp_path, {"Dockerfile.rocm": image}, gpu="gfx942")) if f.id == "arch.override-wrong"]
    assert one.advice.endswith("Who has a GPU that needs one sets it for the run (-e).")


@pytest.mark.parametrize(("more", "severity"), [("", "warning"), ("RUN pip install torch\n", "error")])
def test_a_copy_of_another_image(tmp_path: Path, more: str, severity: str) -> None:
    files = {"rocm/Dockerfile": f"FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\n{more}"}
    assert {f.severity for f in serious(report(tmp_path, files)) if f.id == "version.torch-not-rocm"} == {severity}


@pytest.mark.parametrize("file", ["tests/test_net.py", "README.md"])
def test_a_test_or_a_text_is_no_program(tmp_path: Path, file: str) -> None:
    listed = "--extra-index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1+rocm6.2\n"
    found = serious(
        report(tmp_path, {"requirements-rocm.txt": listed, file: "import torch\nnet = torch.nn.Linear(2, 2)\n"}, "gfx1151")
    )
    assert [(f.id, f.severity) for f in found] == [("arch.not-in-build", "error")]
