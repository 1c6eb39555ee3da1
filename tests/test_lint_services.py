"""Compose services: the image that one is built as, what starts with it, and what hands it the GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"
NEWER = "rocm/pytorch:rocm7.13_ubuntu24.04_py3.12_pytorch_release_2.11.0"
GPU = "devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    "
NVIDIA = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}\n"
EMPTY = 'environment: ["HSA_OVERRIDE_GFX_VERSION=${HSA_OVERRIDE_GFX_VERSION:-}"]\n'
BUILT = f"services:\n  w:\n    build: {{context: svc, dockerfile: Dockerfile.rocm}}\n    {GPU}{EMPTY}"


@pytest.mark.parametrize(("image", "expected"), [(IMAGE, "error"), (NEWER, ""), ("$BASE", "warning")])
def test_a_service_has_the_rocm_of_the_image_that_it_is_built_as(tmp_path: Path, image: str, expected: str) -> None:
    found = report(tmp_path, {"compose.yaml": BUILT, "svc/Dockerfile.rocm": f"ARG BASE\nFROM {image}\n"})
    assert [(i, s) for i, s, _ in said(found)] == ([("arch.override-wrong", expected)] if expected else [])


@pytest.mark.parametrize(("value", "expected"), [("", "error"), ("10.3.0", "error"), ("11.0.3", "warning")])
def test_a_list_that_is_not_there_leaves_open_what_it_installs_and_no_variable(tmp_path: Path, value: str, expected: str) -> None:
    lines = ("FROM ubuntu:24.04", f'ENV HSA_OVERRIDE_GFX_VERSION="{value}"', "RUN pip install torch --index-url https://download.pytorch.org/whl/rocm6.2",
             "RUN git clone https://github.com/x/y /opt/y && pip install -r /opt/y/requirements.txt")  # fmt: skip
    found = report(tmp_path, {"Dockerfile.rocm": "\n".join(lines)})
    assert [(f.id, f.severity, f.confidence) for f in serious(found)] == [
        ("arch.override-wrong", expected, "high" if expected == "error" else "medium")
    ]


MIGRATE = "  migrate:\n    build: .\n    command: ./migrate.sh\n"


@pytest.mark.parametrize(("others", "expected"), [
    ({"compose.yaml": f"services:\n{MIGRATE}  app:\n    build: .\n", "compose.rocm.yaml": f"services:\n  app:\n    {GPU}"}, []),
    ({"compose.yaml": f"services:\n{MIGRATE}", "compose.rocm.yaml": f"services:\n  app:\n    build: {{context: ., dockerfile: Dockerfile}}\n    {GPU}"}, []),
    ({"compose.yaml": f"services:\n{MIGRATE}"}, ["access.container"]),
])  # fmt: skip
def test_another_command_in_an_image_that_a_service_with_the_gpu_runs(
    tmp_path: Path, others: dict[str, str], expected: list[str]
) -> None:
    files = {
        "Dockerfile": f"FROM {IMAGE}\nCOPY . .\nCMD python app.py\n",
        "migrate.sh": "alembic upgrade head\n",
        "app.py": "import torch\n",
    }
    assert [f.id for f in serious(report(tmp_path, others | files))] == expected


BASE = f"services:\n  worker:\n    image: x\n    depends_on: [llm]\n    {NVIDIA}  llm:\n    image: ollama/ollama\n    {NVIDIA}"
TAKEN = "deploy: {resources: {reservations: {devices: !reset []}}}\n"
WORKER = f"  worker:\n    image: {IMAGE}\n    {GPU}command: python train.py\n    {TAKEN}"


@pytest.mark.parametrize(("more", "expected"), [
    ("", ["worker depends on a service that asks for an NVIDIA GPU"]), (f"  llm:\n    {TAKEN}", []), ("    depends_on: !override []\n", []), ("    depends_on: !reset null\n", []),
    ("    depends_on: {db: {condition: service_started}}\n  db:\n    image: postgres\n", ["worker depends on a service that asks for an NVIDIA GPU"]),
])  # fmt: skip
def test_a_service_for_amd_starts_what_it_depends_on(tmp_path: Path, more: str, expected: list[str]) -> None:
    above = f"# docker compose -f docker-compose.yml -f docker-compose.rocm.yml up worker\nservices:\n{WORKER}{more}"
    files = {"docker-compose.yml": BASE, "docker-compose.rocm.yml": above, "train.py": "import torch\n"}
    assert [f.title for f in serious(report(tmp_path, files)) if f.severity == "error"] == expected


def test_a_service_that_gets_no_amd_gpu_belongs_to_its_file_for_nvidia(tmp_path: Path) -> None:
    both = f"services:\n  api:\n    build: .\n    depends_on: [llm]\n  llm:\n    image: ollama/ollama\n    {NVIDIA}"
    over = f"services:\n  api:\n    build: .\n    {GPU}"
    files = {"docker-compose.gpu.yml": both, "docker-compose.rocm.yml": over, "Dockerfile": f"FROM {IMAGE}\nCMD python app.py\n"}
    assert [f.title for f in serious(report(tmp_path, files)) if "depends" in f.title] == []


@pytest.mark.parametrize(("files", "extra", "expected"), [
    ({}, "", ["warning"]), ({"README.md": "Install the AMD Container Toolkit first (amd-ctk).\n"}, "", []), ({}, "    runtime: amd\n", []), ({}, f"    {GPU}\n", ["warning"]),
])  # fmt: skip
def test_the_driver_amd_needs_amds_toolkit(tmp_path: Path, files: dict[str, str], extra: str, expected: list[str]) -> None:
    text = f"services:\n  w:\n    image: {IMAGE}\n    command: python train.py\n    shm_size: 8g\n    {NVIDIA.replace('nvidia', 'amd')}{extra}"
    found = report(tmp_path, {"compose.yaml": text, "train.py": "import torch\n", **files})
    assert [(f.severity) for f in serious(found)] == expected


@pytest.mark.parametrize(("line", "os", "expected"), [
    ("onnxruntime-directml", "linux", "error"), ("pywin32==306", "linux", "error"), ("pywin32==306 ; sys_platform == 'win32'", "linux", ""), ("pywin32==306", "windows", ""),
    ("pywin32 @ https://example.org/pywin32-306.tar.gz", "linux", ""),
])  # fmt: skip
def test_a_package_for_other_systems_alone(tmp_path: Path, line: str, os: str, expected: str) -> None:
    text = f"--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1+rocm6.4\n{line}\n"
    found = serious(report(tmp_path, {"requirements-rocm.txt": text}, os=os))
    assert [(f.id, f.severity) for f in found if "wheels for" in f.title] == (
        [("version.wheel-missing", expected)] if expected else []
    )


def test_a_list_above_the_folder_that_an_image_is_built_from(tmp_path: Path) -> None:
    image = f"FROM {IMAGE}\nWORKDIR /app\nCOPY . .\nRUN pip install -r requirements.txt\n"
    compose = f"services:\n  app:\n    build: {{context: CONTEXT, dockerfile: FILE}}\n    {GPU}"
    files = {"assets/docker/Dockerfile.rocm": image, "requirements.txt": "peft\n"}

    def titles(where: str, context: str, file: str, **more: str) -> list[str]:
        text = compose.replace("CONTEXT", context).replace("FILE", file)
        return [f.title for f in serious(report(tmp_path / where, {"assets/docker/compose.rocm.yaml": text, **files, **more}))]

    missing = ["requirements.txt is in the root and not in assets/docker, which the image is built from"]
    assert titles("a", ".", "Dockerfile.rocm") == missing
    assert titles("b", "../..", "assets/docker/Dockerfile.rocm") == []
    assert titles("c", ".", "Dockerfile.rocm", Makefile="build:\n\tcp requirements.txt assets/docker/\n") == []
    assert titles("d", ".", "Dockerfile.rocm", **{"assets/docker/requirements.txt": "peft\n"}) == []


def test_a_start_script_that_is_renamed_on_its_way_into_the_image(tmp_path: Path) -> None:
    image = f'FROM {IMAGE}\nCOPY start.rocm.sh /usr/local/bin/start.sh\nENTRYPOINT ["start.sh"]\n'
    assert report(tmp_path / "a", {"Dockerfile.rocm": image, "start.rocm.sh": "exec python app.py\n"}).verdict == "ready"
    found = report(tmp_path / "b", {"Dockerfile.rocm": image, "start.rocm.sh": "pip install torch==2.9.1\n"})
    assert {f.id for f in serious(found)} == {"version.torch-not-rocm"}


PAGE = "# x\n### AMD\n```bash\npip install torch==2.9.1 --index-url https://download.pytorch.org/whl/{}\npip install -r requirements-rocm.txt\n```\n"


@pytest.mark.parametrize(("index", "gpu", "listed", "verdict"), [
    ("rocm6.4", "gfx1100", "accelerate==1.11.0\n", "ready"), ("rocm6.4", "gfx1100", "pandas==2.3.3\n", "ready"), ("rocm6.4", "gfx1103", "accelerate>=0.30\n", "undetermined"), ("cu128", "gfx1100", "accelerate>=0.30\n", "undetermined"),
    ("rocm6.4", "gfx1100", "accelerate\n-r more.txt\n", "undetermined"),
])  # fmt: skip
def test_what_a_document_tells_vouches_where_no_file_brings_a_rocm_torch(
    tmp_path: Path, index: str, gpu: str, listed: str, verdict: str
) -> None:
    found = report(tmp_path, {"README.md": PAGE.format(index), "requirements-rocm.txt": listed}, gpu=gpu)
    assert found.verdict in (verdict, "problems")
    assert found.verdict != "ready" or verdict == "ready"


def test_a_comment_that_a_script_writes_is_no_setting(tmp_path: Path) -> None:
    compose = f"services:\n  w:\n    image: {IMAGE}\n    {GPU}environment: [HSA_OVERRIDE_GFX_VERSION=10.3.0]\n"
    for n, (line, named) in enumerate([
        ('echo "# HSA_OVERRIDE_GFX_VERSION=10.3.0" >> .env', False), ('if true; then echo "# export HSA_OVERRIDE_GFX_VERSION=10.3.0"; fi >> .env', False),
        ('echo "HSA_OVERRIDE_GFX_VERSION=10.3.0" >> .env', True),
    ]):  # fmt: skip
        found = serious(report(tmp_path / str(n), {"compose.yaml": compose, "install.sh": line + "\n"}))
        assert {("install.sh" in f.advice) for f in found if f.id == "arch.override-wrong"} == {named}


def test_the_name_of_a_family_of_integrated_gpus(tmp_path: Path) -> None:
    image = f"FROM {IMAGE}\nENV HSA_OVERRIDE_GFX_VERSION=11.5.1\n"
    assert serious(report(tmp_path, {"Dockerfile.strix": image, "Dockerfile.amd": f"FROM {IMAGE}\n"}, gpu="gfx1100")) == []


def test_a_document_alone_is_named_as_what_leaves_the_verdict_open(tmp_path: Path) -> None:
    found = report(tmp_path, {"README.md": PAGE.format("rocm6.4").replace("pip install -r requirements-rocm.txt\n", "")})
    assert found.verdict == "undetermined"
    assert "only README.md says what to install" in found.summary


@pytest.mark.parametrize(("said", "expected"), [
    ("pip install -r amd-requirements.txt\n", ["version.torch-not-rocm"]), ("docker build -f amd.Dockerfile .\n", []),
    ("pip install -r amd-requirements.txt --extra-index-url https://download.pytorch.org/whl/rocm7.2\n", []),
])  # fmt: skip
def test_a_list_that_a_document_has_installed_without_the_image_that_brings_torch(
    tmp_path: Path, said: str, expected: list[str]
) -> None:
    files = {
        "amd.Dockerfile": "FROM rocm/primus:v25.11\nCOPY . .\nRUN pip install -r amd-requirements.txt\n",
        "amd-requirements.txt": "torch>=2.0.0\n",
    }
    found = report(tmp_path, {"README.md": f"# x\n## Local\n```bash\n# AMD\n{said}```\n", **files}, gpu="gfx942")
    assert [f.id for f in serious(found)] == expected


@pytest.mark.parametrize(("keys", "found"), [
    ("volumes: [/dev/kfd:/dev/kfd]\n    devices: [/dev/dri]", "mounts /dev/kfd as a volume"),
    ("volumes: [/dev/kfd:/dev/kfd, /dev/dri:/dev/dri]", "mounts /dev/kfd and /dev/dri as a volume"),
    ("volumes: [/dev/kfd:/dev/kfd]\n    devices: [/dev/dri, /dev/kfd]", ""),
    ("volumes: [/dev/kfd:/dev/kfd, /dev/dri:/dev/dri]\n    privileged: true", ""),
    ("volumes: [/dev/kfd:/dev/kfd, /dev/dri:/dev/dri]\n    device_cgroup_rules: [\"c 234:* rmw\", \"c 226:* rmw\"]", ""),
    ("volumes: [/dev:/dev]", ""),
])  # fmt: skip
def test_a_device_that_is_mounted_as_a_volume_cannot_be_opened(tmp_path: Path, keys: str, found: str) -> None:
    text = f"services:\n  w:\n    image: {IMAGE}\n    command: python train.py\n    {keys}\n"
    errors = [f for f in serious(report(tmp_path, {"compose.yaml": text})) if f.severity == "error"]
    assert [(f.id, f.title.removeprefix("w ")) for f in errors] == ([("access.container", found)] if found else [])


@pytest.mark.parametrize(("options", "found"), [
    ("-v /dev/kfd:/dev/kfd --device /dev/dri", True), ("-v /dev/kfd:/dev/kfd --device /dev/dri --device /dev/kfd", False),
    ("-v /dev/kfd:/dev/kfd -v /dev/dri:/dev/dri --device-cgroup-rule 'c *:* rmw'", False), ("--privileged -v /dev/kfd:/dev/kfd", False),
])  # fmt: skip
def test_the_same_of_a_command(tmp_path: Path, options: str, found: bool) -> None:
    titles = [f.title for f in serious(report(tmp_path, {"run.sh": f"docker run {options} {IMAGE} python train.py\n"}))]
    assert any("mounts /dev/kfd as a volume" in one for one in titles) is found


@pytest.mark.parametrize(("devices", "advice"), [
    ("[/dev/kfd, /dev/dri]", "Take out the NVIDIA runtime or device reservation: the devices are handed over without it. Who runs it on NVIDIA GPUs as well puts that into a compose file of its own (-f)."),
    ("[]", "Take out the NVIDIA runtime or device reservation and add to the service: devices: [/dev/kfd, /dev/dri] and group_add: [video]. Where the image runs as another user than root, add the number of the host's group render as well."),
])  # fmt: skip
def test_a_reservation_for_nvidia_beside_devices_of_amd(tmp_path: Path, devices: str, advice: str) -> None:
    text = f"services:\n  web:\n    image: ollama/ollama:rocm\n    devices: {devices}\n    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, capabilities: [gpu]}}]}}}}}}\n"
    found = [f for f in serious(report(tmp_path, {"compose.rocm.yml": text})) if f.id == "access.container"]
    assert [f.advice for f in found] == [advice]


BLOCKS = "x-a: &a\n  image: nvidia/cuda:12.8.0-base\nx-b: &b\n  image: rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.10.0\n  devices: [/dev/kfd, /dev/dri]\n"


@pytest.mark.parametrize(("merged", "verdict", "said"), [
    ("    <<: *a\n    <<: *b\n", "undetermined", "compose.rocm.yml:9: Compose refuses a file in which one mapping has a key twice"),
    ("    image: x\n    image: y\n", "undetermined", "compose.rocm.yml:9: Compose refuses a file in which one mapping has a key twice"),
    ("    <<: [*b, *a]\n", "ready", ""),
    ("    <<: *b\n    image: rocm/pytorch:rocm5.7_ubuntu22.04_py3.10_pytorch_2.0.1\n", "problems", "the base image has ROCm 5.7"),
    ("    image: rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.10.0\n    devices: [/dev/kfd, /dev/dri]\n    <<: *a\n", "ready", ""),
])  # fmt: skip
def test_merge_keys_and_keys_that_stand_twice(tmp_path: Path, merged: str, verdict: str, said: str) -> None:
    """A mapping's own keys replace those that are merged into it, wherever they stand, and of several the first counts (YAML 1.1, merge key)."""
    text = f"{BLOCKS}services:\n  train:\n{merged}    command: python train.py\n    shm_size: 8g\n"
    found = report(
        tmp_path, {"compose.rocm.yml": text, "train.py": 'import torch\ntorch.ones(1, device="cuda")\n'}, gpu="gfx1201"
    )
    assert found.verdict == verdict
    assert said in found.summary


@pytest.mark.parametrize(
    ("off", "found"), [("scale: 0", 0), ("deploy: {replicas: 0}", 0), ("scale: 1", 1), ("deploy: {replicas: 2}", 1)]
)
def test_a_service_of_which_no_container_is_started(tmp_path: Path, off: str, found: int) -> None:
    text = f"services:\n  w:\n    image: {IMAGE}\n    command: python train.py\n    {off}\n"
    files = {"compose.rocm.yml": text, "train.py": 'import torch\ntorch.ones(1, device="cuda")\n'}
    assert len([f for f in serious(report(tmp_path, files)) if f.id == "access.container"]) == found
