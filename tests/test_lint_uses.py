"""Whether what a container runs uses a GPU: an error needs that to be known."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

BOX = "access.container"
IMAGE = "FROM rocm/pytorch:latest\nCOPY . /app\nWORKDIR /app\n"
RUN = "docker build -t rocm72-mine:local .\ndocker run --rm rocm72-mine:local {}\n"
HERE = "python - <<'PY'\n{}\nPY"
TRAINS = "import torch\nx = torch.ones(2).cuda()\n"


def severities(root: Path, files: dict[str, str]) -> list[str]:
    return [severity for id_, severity, _ in said(report(root, files)) if id_ == BOX]


@pytest.mark.parametrize(("command", "files", "expected"), [
    ("python names.py", {"names.py": "import pandas, requests\n"}, []),
    ("python names.py", {"names.py": "import words\n", "words.py": "import json\n"}, []),
    ("python names.py", {"names.py": "import nowhere_known\n"}, ["warning"]),
    ("python train.py", {}, ["warning"]), ("python train.py", {"train.py": TRAINS}, ["error"]),
    ("python run.py", {"run.py": "from model import net\n", "model.py": TRAINS}, ["error"]),
    ("python -m ours.cli", {"ours/cli.py": "from .net import x\n", "ours/net.py": TRAINS}, ["error"]),
    ("python convert.py", {"convert.py": TRAINS}, ["warning"]), ("python download.py", {"download.py": TRAINS}, []),
    ("python look.py", {"look.py": "import torch\nprint(torch.__version__, torch.version.hip)\n"}, ["warning"]),
    ("bash start.sh", {"start.sh": "cd /app\nexec python train.py\n", "train.py": TRAINS}, ["error"]),
    ("bash start.sh", {"start.sh": "./unknown\n"}, ["warning"]), ("vllm serve x", {}, ["error"]), ("rocminfo", {}, ["error"]),
    ("torchrun --nproc-per-node 2 train.py", {}, ["error"]), ("sleep infinity", {}, ["warning"]),
    (HERE.format('print("built")'), {}, []), (HERE.format(TRAINS), {}, ["error"]),
])  # fmt: skip
def test_a_container_is_an_error_where_what_it_runs_is_known_to_use_a_gpu(
    tmp_path: Path, command: str, files: dict[str, str], expected: list[str]
) -> None:
    assert severities(tmp_path, {"Dockerfile": IMAGE, "scripts/image.sh": "cd ..\n" + RUN.format(command)} | files) == expected


SERVICES = "services:\n  first:\n    build: .\n    command: {}\n  second:\n    build: .\n{}    command: [python3, train.py]\n"
GIVEN = "    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n"


@pytest.mark.parametrize(("command", "given", "expected"), [
    ("[python3, names.py]", GIVEN, []), ("[python3, names.py]", "", ["error"]), ("[python3, elsewhere.py]", GIVEN, []),
    ("[python3, train.py]", GIVEN, ["error"]),
])  # fmt: skip
def test_a_service_beside_one_of_its_image_that_gets_the_devices(
    tmp_path: Path, command: str, given: str, expected: list[str]
) -> None:
    files = {
        "compose.yaml": SERVICES.format(command, given),
        "Dockerfile": IMAGE,
        "train.py": TRAINS,
        "names.py": "import json\n",
    }
    assert severities(tmp_path, files) == expected


@pytest.mark.parametrize(("image", "runs", "expected"), [
    ("FROM ubuntu:22.04\nRUN echo later\n", "", "warning"), ("FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y rocm-hip-runtime\n", "", "error"),
    ("FROM ubuntu:22.04\nRUN echo later\n", "    command: ./serve\n", "error"), ("FROM rocm/dev-ubuntu-22.04:6.0\n", "", "error"),
    (f"{IMAGE}", "    command: [python3, names.py]\n", "warning"),
])  # fmt: skip
def test_an_override_of_what_uses_no_gpu(tmp_path: Path, image: str, runs: str, expected: str) -> None:
    service = f"services:\n  a-rocm:\n    build: .\n{runs}{GIVEN}    environment: [HSA_OVERRIDE_GFX_VERSION=10.3.0]\n"
    found = serious(report(tmp_path, {"compose.yaml": service, "Dockerfile": image, "names.py": "import json\n"}))
    assert [f.severity for f in found if f.id == "arch.override-wrong"] == [expected]


def test_a_program_in_a_folder_that_is_mounted(tmp_path: Path) -> None:
    service = "services:\n  a:\n    build: .\n    volumes: [./src:/app, models:/models]\n    command: [python3, names.py]\n"
    files = {"compose.yaml": service, "Dockerfile": IMAGE, "src/names.py": "import pandas\n"}
    assert severities(tmp_path / "a", files) == []
    assert severities(tmp_path / "b", files | {"src/names.py": TRAINS}) == ["error"]


@pytest.mark.parametrize(("start", "expected"), [
    ('CMD ["python", "train.py"]', ["error"]), ('ENTRYPOINT ["python"]\nCMD ["names.py"]', []), ("CMD /start", ["warning"]),
    ("CMD python3 train.py\nFROM rocm/pytorch:latest", ["warning"]),
])  # fmt: skip
def test_what_an_image_starts_by_itself(tmp_path: Path, start: str, expected: list[str]) -> None:
    files = {"compose.yaml": "services:\n  a:\n    build: .\n", "Dockerfile": f"{IMAGE}{start}\n", "train.py": TRAINS}
    assert severities(tmp_path, files | {"names.py": "import json\n"}) == expected


@pytest.mark.parametrize(("needs", "expected"), [('"torch>=2.7"', ["error"]), ('"requests"', ["warning"])])
def test_an_image_of_the_project_of_the_repository(tmp_path: Path, needs: str, expected: list[str]) -> None:
    project = f'[project]\nname = "our-server"\nversion = "1"\n[dependency-groups]\nrocm = [\n  {needs},\n]\n'
    files = {"pyproject.toml": project, "Makefile": "run-rocm:\n\tdocker run -it ghcr.io/x/our-server-rocm:main\n"}
    assert severities(tmp_path, files) == expected


def test_a_reserved_driver_that_docker_lacks_stops_whatever_runs(tmp_path: Path) -> None:
    reserved = "    deploy: {resources: {reservations: {devices: [{driver: rocm, count: all, capabilities: [gpu]}]}}}\n"
    files = {"compose.yaml": f"services:\n  a:\n    build: .\n    command: python elsewhere.py\n{reserved}", "Dockerfile": IMAGE}
    assert severities(tmp_path / "a", files) == ["error"]
    for given in ("    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n", "    privileged: true\n    ipc: host\n"):
        beside = files | {"compose.yaml": files["compose.yaml"] + given}
        assert severities(tmp_path / "b", beside) == ["error"]
        assert severities(tmp_path / "c", beside | {"compose.yaml": beside["compose.yaml"].replace(reserved, "")}) == []


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("rocm/vllm:latest", ["error"]),
        ("ollama/ollama:rocm", ["error"]),
        ("x/y:rocm", ["warning"]),
        ("rocm/pytorch", ["warning"]),
    ],
)
def test_an_image_that_is_a_known_server(tmp_path: Path, image: str, expected: list[str]) -> None:
    assert severities(tmp_path, {"run.sh": f"docker run --rm {image}\n"}) == expected


# Render nodes alone are for video and Vulkan as well, and other devices are no GPU.
@pytest.mark.parametrize(("words", "expected"), [
    ("--device /dev/dri jellyfin/jellyfin:latest", []), ("--device=/dev/dri localhost/llama-vulkan:1 -m x.gguf", []),
    ("--device /dev/dri lscr.io/x/ffmpeg -vaapi_device /dev/dri/renderD128 serve", []), ("--device /dev/video0 x/camera:1 python app.py", []),
    ("--device /dev/dri x/y:1 python train.py", ["error"]), ("--device /dev/dri rocm/pytorch:latest", ["error"]),
    ("--device /dev/fuse rocm/pytorch:latest python train.py", ["error"]), ("--device /dev/kfd x/y:1", ["error"]),
])  # fmt: skip
def test_devices_that_are_for_something_else(tmp_path: Path, words: str, expected: list[str]) -> None:
    files = {"run_rocm.sh": f"docker run --rm {words}\n", "train.py": TRAINS, "app.py": "import cv2\n"}
    assert severities(tmp_path, files) == expected


@pytest.mark.parametrize(("image", "expected"), [("x/llama.cpp:server-vulkan", []), ("x/llama.cpp:server-rocm", ["error"])])
def test_a_service_for_vulkan(tmp_path: Path, image: str, expected: list[str]) -> None:
    service = (
        f"services:\n  a:\n    image: {image}\n    devices: [/dev/dri]\n    environment: [HSA_OVERRIDE_GFX_VERSION=11.0.0]\n"
    )
    assert severities(tmp_path, {"compose.rocm.yaml": service}) == expected
