"""What keeps a verdict open that would be green: what is run and not read, what a container starts; and Dockerfiles of any name."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

IMAGE = "rocm/pytorch:rocm7.1.1_ubuntu22.04_py3.10_pytorch_release_2.9.1"
NOT_ROCM = "version.torch-not-rocm"
VISIBLE = "access.visible-devices"
OVERRIDE = "FROM ubuntu:22.04\nENV HSA_OVERRIDE_GFX_VERSION=10.3.0\nRUN pip3 install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"


@pytest.mark.parametrize(("lines", "reason"), [
    ("RUN curl -sSL https://example.com/get.sh | bash", "https://example.com/get.sh installs what is not read"),
    ("RUN bash <(curl -s https://example.com/get.sh)", "https://example.com/get.sh installs what is not read"),
    ('RUN sh -c "$(curl -fsSL https://example.com/get.sh)"', "https://example.com/get.sh installs what is not read"),
    ("RUN curl -LsSf https://astral.sh/uv/install.sh | sh", ""), ("RUN curl -O https://example.com/a.sh && bash --version", ""),
    ("COPY . /app\nRUN python /app/installer.py", "/app/installer.py installs what is not read"),
    ("COPY . /app\nRUN python /app/plain_install.py", ""), ("COPY . /app\nRUN python3 /app/tools/add_deps.py", "/app/tools/add_deps.py installs what is not read"),
    ("COPY tools/add_deps.py /tmp/d.py\nRUN python3 /tmp/d.py", "/tmp/d.py installs what is not read"), ("COPY . /app\nRUN python /app/tools/advice.py", ""),
    ('RUN git clone https://github.com/a/webui /app\nWORKDIR /app\nCMD ["bash", "webui.sh"]', "webui.sh is not in the repository"),
    ("ADD https://example.com/start.sh /start.sh\nRUN chmod +x /start.sh\nENTRYPOINT /start.sh", "/start.sh is not in the repository"),
    ("COPY own /x\nENTRYPOINT /opt/bootstrap.sh", "/opt/bootstrap.sh is not in the repository"),
    ("RUN git clone https://github.com/a/b /b && cd /b && pip install .", "the project in . is not in the repository"),
    ("RUN git clone https://github.com/a/b /b && pip install -e /b", "the project in /b is not in the repository"),
    ("RUN git clone https://github.com/a/b /b && pip install --no-deps /b", ""), ("WORKDIR /own\nCOPY own .\nRUN pip install .", ""),
    ('WORKDIR /app\nCOPY own .\nCMD ["python", "run.py"]', "run.py, which it starts, is not in what is copied"), ('WORKDIR /app\nCOPY own .\nCMD ["python", "setup.py"]', ""),
    ("RUN echo > run.py\nCMD python run.py", ""), ("RUN git clone https://github.com/a/b /b\nWORKDIR /b\nCMD python -u run.py", ""), ("CMD python -m http.server", ""),
    ("RUN echo 'python train.py' > /start.sh\nENTRYPOINT /start.sh", ""), ('CMD ["python", "train.py"]', ""),
    ('COPY . /app\nENTRYPOINT ["/app/begin.sh"]', "requirements-more.txt is not in the repository"),
])  # fmt: skip
def test_what_is_run_and_not_read_leaves_the_verdict_open(tmp_path: Path, lines: str, reason: str) -> None:
    files = {
        "Dockerfile": f"FROM {IMAGE}\n{lines}\n", "installer.py": "run('pip install torch')\n", "plain_install.py": "copy()\n",
        "tools/add_deps.py": "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', *deps()])\n",
        "tools/advice.py": "import sys\nprint('Run pip install x first.')\n",
        "own/setup.py": "setup(name='own')\n", "begin.sh": "pip install -r requirements-more.txt\nexec python main.py\n",
    }  # fmt: skip
    found = report(tmp_path, files)
    assert said(found) == []
    assert found.verdict == ("undetermined" if reason else "ready")
    assert reason in found.summary


@pytest.mark.parametrize(("lines", "at"), [
    ("CMD python main.py --cpu", "Dockerfile:2"), ('ENTRYPOINT ["python"]\nCMD ["launch.py", "--use-cpu", "all"]', "Dockerfile:2"),
    ('COPY . /app\nENTRYPOINT ["/app/run.sh"]', "run.sh:1"), ("ENV HIP_VISIBLE_DEVICES=-1\nCMD python main.py", "Dockerfile:2"),
    ("RUN python convert.py --device cpu\nCMD python main.py", ""), ("CMD python main.py --device cuda", ""),
    ("CMD python a.py --cpu\nCMD python main.py", ""), ("ENV HIP_VISIBLE_DEVICES=0\nCMD python main.py", ""),
    ("COPY . /app\nENTRYPOINT /app/asks.sh", ""),
])  # fmt: skip
def test_an_image_that_starts_on_the_cpu(tmp_path: Path, lines: str, at: str) -> None:
    files = {
        "Dockerfile": f"FROM {IMAGE}\n{lines}\n", "run.sh": "python launch.py --device=cpu\n",
        "asks.sh": 'if [ -n "$NO_GPU" ]; then\n  python launch.py --cpu\nelse\n  python launch.py\nfi\n',
    }  # fmt: skip
    assert said(report(tmp_path, files)) == ([(VISIBLE, "warning", at)] if at else [])


def test_what_a_container_installs_when_it_starts_is_no_error(tmp_path: Path) -> None:
    files = {
        "Dockerfile": f"FROM {IMAGE}\nCOPY . /app\nENTRYPOINT /app/go.sh\n",
        "go.sh": "pip install torch==2.6.0\npython main.py\n",
    }
    assert [(f.id, f.severity) for f in serious(report(tmp_path, files))] == [(NOT_ROCM, "warning")]


def test_a_service_with_an_image_of_others_keeps_it_open(tmp_path: Path) -> None:
    service = "services:\n  a-rocm:\n    image: {}\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n"
    for image, verdict in (("ghcr.io/x/app:latest", "undetermined"), ("ghcr.io/x/app:rocm", "ready")):
        files = {"docker-compose.yml": service.format(image), "Dockerfile": f"FROM {IMAGE}\n"}
        found = report(tmp_path / verdict, files)
        assert (said(found), found.verdict) == ([], verdict)
    built = service.format("me/app").replace("devices", "build: .\n    devices")
    assert report(tmp_path / "built", {"docker-compose.yml": built, "Dockerfile": f"FROM {IMAGE}\n"}).verdict == "ready"


@pytest.mark.parametrize(("name", "by"), [
    ("docker/rocm", {}), ("docker/ROCmDockerfile", {}), ("build/amd.img", {"Makefile": "x:\n\tdocker build -f build/amd.img .\n"}),
    ("build/amd.img", {".github/workflows/a.yml": "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: podman build -f build/amd.img .\n"}),
    ("build/amd.img", {".github/workflows/a.yml": "jobs:\n  a:\n    steps:\n      - uses: docker/build-push-action@v6\n        with:\n          file: build/amd.img\n"}),
    ("build/amd.img", {"README.md": "```\ndocker buildx build -t x \\\n  --file=build/amd.img .\n```\n"}),
    ("build/amd.img", {"build/make.sh": "docker build -f amd.img .\n"}),
])  # fmt: skip
def test_a_dockerfile_of_any_name(tmp_path: Path, name: str, by: dict[str, str]) -> None:
    found = said(report(tmp_path / "a", {name: OVERRIDE, **by}))
    assert ("arch.override-wrong", "error", f"{name}:2") in found


def test_what_only_begins_like_a_dockerfile(tmp_path: Path) -> None:
    files = {
        "NOTES": "From the authors of this text\nRUN pip install torch\n",
        "data/x": "FROM a b c d\n",
        "build/other.img": OVERRIDE,
    }
    assert report(tmp_path, files).verdict == "undetermined"
    assert said(report(tmp_path / "b", files)) == []


def test_an_index_page_of_the_docs_is_read(tmp_path: Path) -> None:
    text = "# Start\n```bash\npip install --index-url https://repo.amd.com/rocm/whl/gfx120X-all/ torch\n```\n"
    assert [(f.id, f.severity) for f in serious(report(tmp_path, {"docs/index.md": text}))] == [("arch.not-in-build", "warning")]


@pytest.mark.parametrize(("clone", "errors"), [
    ("git clone https://github.com/me/mine.git /x && cd /x", 1), ("git clone --depth 1 https://github.com/me/mine && cd mine", 1),
    ("git clone https://github.com/me/other && cd other", 0), ("git clone -b old https://github.com/me/mine && cd mine", 0),
])  # fmt: skip
def test_a_repository_that_its_own_image_clones(tmp_path: Path, clone: str, errors: int) -> None:
    files = {
        "pyproject.toml": "[project]\nname = 'mine'\nversion = '1'\n", "requirements.txt": "torch==2.6.0\n",
        "Dockerfile": f"FROM {IMAGE}\nRUN {clone} && pip install -r requirements.txt\n",
    }  # fmt: skip
    found = report(tmp_path, files)
    assert sum(f.id == NOT_ROCM and f.severity == "error" for f in found.findings) == errors


def test_a_script_in_a_folder_is_called_from_the_root(tmp_path: Path) -> None:
    rocm = "https://download.pytorch.org/whl/rocm6.4"
    script = f"uv venv\nuv pip install torch==2.9.1 --index-url {rocm}\nuv pip install -e ."
    project = "[project]\nname = 'x'\nversion = '1'\ndependencies = ['torch>=2.14']\n"
    found = report(tmp_path, {"bin/setup_rocm.sh": script, "pyproject.toml": project})
    assert [f.id for f in serious(found)] == [NOT_ROCM]
    fine = report(tmp_path / "b", {"bin/setup_rocm.sh": script, "pyproject.toml": project.replace("2.14", "2.0")})
    assert (fine.verdict, said(fine)) == ("ready", [])


@pytest.mark.parametrize(("package", "open_"), [("comfy-cli", True), ("pre-commit==4.4.0", False)])
def test_a_program_that_pip_installed_and_that_installs_more_is_not_read(tmp_path: Path, package: str, open_: bool) -> None:
    program = package.partition("==")[0].removesuffix("-cli")
    image = f"FROM rocm/pytorch:latest\nRUN pip install {package} && printf 'y' | {program} --workspace=/app install --amd\n"
    found = report(tmp_path, {"Dockerfile": image}, gpu="gfx1100")
    assert (found.verdict == "undetermined") is open_
    assert not open_ or f"{program} installs what is not read" in found.summary


@pytest.mark.parametrize(("before", "script", "known"), [
    ("", "env/bin/python train.py\n", False), ("", "./.venv/bin/python3 train.py\n", False), ("", "python train.py\n", True),
    ("", "/opt/venv/bin/python train.py\n", True), ("RUN python3 -m venv --system-site-packages env\n", "env/bin/python train.py\n", True),
    ("COPY env ./env\n", "env/bin/python train.py\n", True), ("RUN uv venv --system-site-packages\n", ".venv/bin/python train.py\n", True),
    ("", "[ -d env ] || python3 -m venv --system-site-packages env\nenv/bin/python train.py\n", True),
])  # fmt: skip
def test_a_python_that_nothing_makes(tmp_path: Path, before: str, script: str, known: bool) -> None:
    text = f"FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\nWORKDIR /app\n{before}COPY . .\nENTRYPOINT ["
    for number, end in enumerate(('"./run.sh"]\n', '"bash", "run.sh"]\n')):
        files = {"Dockerfile": text + end, "run.sh": f"#!/bin/bash\n{script}", "train.py": "import torch\n"}
        assert (report(tmp_path / str(number), files, gpu="gfx942").verdict == "ready") is known


CLONE = "git clone https://github.com/x/webui && cd webui && "


@pytest.mark.parametrize(("command", "open_"), [
    (CLONE + "bash ./webui.sh --exit", True), (CLONE + "./scripts/install.sh", True), (CLONE + "make", False), (CLONE + "git pull", False), ("./webui.sh --exit", False),
])  # fmt: skip
def test_a_script_of_a_clone_that_sets_something_up_is_not_read(tmp_path: Path, command: str, open_: bool) -> None:
    """It may bring another torch; one of the repository itself is read."""
    files = {"Dockerfile": f"FROM rocm/pytorch:latest\nWORKDIR /app\nCOPY . .\nRUN {command}\n", "webui.sh": "echo ready\n"}
    found = report(tmp_path, files, gpu="gfx1100")
    assert (found.verdict == "undetermined") is open_
    start = {
        "Dockerfile": 'FROM rocm/pytorch:latest\nWORKDIR /app\nCOPY . .\nCMD ["./start.sh"]\n',
        "start.sh": command.replace(" && ", "\n") + "\n",
    }
    assert (report(tmp_path / "b", files | start, gpu="gfx1100").verdict == "undetermined") is open_


def test_a_dockerfile_in_lower_case(tmp_path: Path) -> None:
    """BuildKit takes it where no other one is named."""
    service = (
        "services:\n  a:\n    build: ./app\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    command: python train.py\n"
    )
    image = f"FROM {IMAGE}\nENV HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
    found = report(tmp_path, {"compose.yaml": service, "app/dockerfile": image})
    assert [(f.id, f.severity) for f in serious(found)] == [("arch.override-wrong", "error")]
    assert "is not in the repository" not in str(found.summary)
