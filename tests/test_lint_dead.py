"""What can never be as it is written: tests that no machine passes, words for a shell where none reads them, packages of another torch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lint_text import report, serious

NO_CODE = "arch.not-in-build"
IMAGE = "FROM rocm/dev-ubuntu-22.04:6.2\nRUN pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"


def ids(root: Path, files: dict[str, str], gpu: str) -> set[tuple[str, str]]:
    return {(f.id, f.severity) for f in serious(report(root, files, gpu=gpu))}


@pytest.mark.parametrize(("test", "taken"), [
    ("[ -d /dev/kfd ]", False), ('[ -f "/dev/kfd" ]', False), ('[ "$X" = cpu ] && [[ -d /dev/kfd ]]', False), ("[ -e /dev/kfd ]", True), ("[ -c /dev/kfd ]", True),
    ("[ -d /dev/dri ] || [ -d /dev/kfd ]", True), ("[ -d /dev/kfd ] || [ -e /dev/kfd ]", True),
])  # fmt: skip
def test_the_device_of_the_driver_is_no_folder(tmp_path: Path, test: str, taken: bool) -> None:
    text = f"#!/bin/bash\nif {test}; then\n  pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\nfi\n"
    assert (NO_CODE in {one for one, _ in ids(tmp_path, {"install_rocm.sh": text}, "gfx1151")}) is taken


@pytest.mark.parametrize("words", ["a.txt /app/ 2>/dev/null || true", "--from=base /opt/x /opt/x || true", "a.txt b/ && ls"])
def test_no_shell_reads_a_copy(tmp_path: Path, words: str) -> None:
    files = {"Dockerfile.rocm": f"FROM ubuntu:24.04 AS base\n{IMAGE}COPY {words}\n", "a.txt": "x\n"}
    found = [f for f in serious(report(tmp_path, files, gpu="gfx1100")) if f.id == "repo.unreadable"]
    assert [(f.severity, f.evidence[0].place) for f in found] == [("error", "line 4")]
    assert "for files" in found[0].title


def test_what_ends_a_build_hides_nothing_else(tmp_path: Path) -> None:
    found = ids(tmp_path, {"Dockerfile.rocm": f"{IMAGE}COPY a b 2>/dev/null || true\n"}, "gfx1151")
    assert found == {("repo.unreadable", "error"), (NO_CODE, "error")}


def test_a_copy_of_files_is_read_as_one(tmp_path: Path) -> None:
    files = {"Dockerfile.rocm": f"{IMAGE}COPY a.txt /app/\nRUN cp a b 2>/dev/null || true\n", "a.txt": "x\n"}
    assert ids(tmp_path, files, "gfx1100") == set()


@pytest.mark.parametrize("more", ["", ' && [[ -z "${TORCH_COMMAND}" ]]'])
def test_a_list_without_instincts_is_no_way_for_them(tmp_path: Path, more: str) -> None:
    text = f"""#!/bin/bash
gpu_info=$(lspci 2>/dev/null | grep -E "VGA|Display")
case "$gpu_info" in
    *"Navi 3"*) [[ -z "${{TORCH_COMMAND}}" ]] && export TORCH_COMMAND="pip install torch --index-url https://download.pytorch.org/whl/rocm6.4" ;;
esac
if ! echo "$gpu_info" | grep -q "NVIDIA"; then
    if echo "$gpu_info" | grep -q "AMD"{more}; then
        export TORCH_COMMAND="pip install torch --index-url https://download.pytorch.org/whl/rocm5.7"
    fi
fi
"""
    assert ids(tmp_path, {"webui.sh": text}, "gfx942") == set()
    assert (NO_CODE, "error") in ids(tmp_path, {"webui.sh": text}, "gfx1151")


def test_a_variable_that_hides_every_gpu_hides_no_missing_code(tmp_path: Path) -> None:
    files = {"Dockerfile.rocm": f"{IMAGE}ENV ROCR_VISIBLE_DEVICES=all\n"}
    assert {("access.visible-devices", "error"), (NO_CODE, "error")} <= ids(tmp_path, files, "gfx1151")


def test_build_targets_among_options_are_build_targets(tmp_path: Path) -> None:
    files = {
        "Dockerfile.rocm": 'FROM rocm/dev-ubuntu-22.04:6.2\nENV OPTIONS="-DAMDGPU_TARGETS=gfx942 -DGGML_HIP=ON"\nRUN cmake . $OPTIONS\n'
    }
    titles = [f.title for f in report(tmp_path, files, gpu="gfx1100").findings]
    assert any("AMDGPU_TARGETS=gfx942 leaves out gfx1100" in one for one in titles)


@pytest.mark.parametrize(("codec", "way"), [("torchcodec==0.9.1", True), ("torchcodec", False), ("", False)])
def test_what_is_built_against_another_torch_is_in_the_way(tmp_path: Path, codec: str, way: bool) -> None:
    listed = f"--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1+rocm6.4\n{codec}\n"
    found = [f for f in serious(report(tmp_path, {"requirements-rocm.txt": listed}, gpu="gfx1151")) if f.id == NO_CODE]
    assert [("built against torch 2.9" in f.advice) for f in found] == [way]


def test_a_service_that_is_started_as_well_is_named(tmp_path: Path) -> None:
    gpu = "    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: nvidia\n"
    base = f"services:\n  llm:\n    image: ollama/ollama\n{gpu}  app:\n    image: app\n    depends_on: [llm]\n{gpu}"
    rocm = "services:\n  app:\n    image: app:rocm\n    devices: [/dev/kfd, /dev/dri]\n"
    files = {
        "docker-compose.yml": base,
        "docker-compose.rocm.yml": rocm,
        "README.md": "docker compose -f docker-compose.yml -f docker-compose.rocm.yml up app\n",
    }
    found = [f for f in serious(report(tmp_path, files, gpu="gfx1100")) if "stays" in f.title]
    assert "depends on asks for one as well (line 8 of docker-compose.yml)" in found[0].advice


READY = "--extra-index-url https://download.pytorch.org/whl/rocm7.1\ntorch==2.10.0+rocm7.1\n"


@pytest.mark.parametrize(("readme", "verdict"), [
    ("# ours\n\n    docker build -f Dockerfile.rocm .\n", "undetermined"), ("# ours\n\n    docker build -f docker/Dockerfile.amd .\n", "ready"),
    ("# ours\n\n    docker build -f Dockerfile.cuda .\n", "ready"), ("# ours\n\n    pip install -r requirements-amd.txt\n", "undetermined"),
    ("# ours\n\n    pip install -r requirements-rocm.txt\n", "ready"), ("# ours\n\n    docker build -f Dockerfile.rocm${X} .\n", "ready"),
])  # fmt: skip
def test_a_document_that_takes_a_file_which_is_not_there_leaves_ready_open(tmp_path: Path, readme: str, verdict: str) -> None:
    files = {"requirements-rocm.txt": READY, "README.md": readme, "tools/Dockerfile.amd": "FROM alpine\n"}
    assert report(tmp_path, files, gpu="gfx1100").verdict == verdict


@pytest.mark.parametrize(("gpu", "verdict"), [("gfx1100", "ready"), ("gfx942", "undetermined")])
def test_an_override_for_another_gpu_leaves_ready_open(tmp_path: Path, gpu: str, verdict: str) -> None:
    files = {
        "requirements-rocm.txt": READY,
        "README.md": "# ours\n\nOn ROCm:\n\n```bash\nexport HSA_OVERRIDE_GFX_VERSION=11.0.0\npip install -r requirements-rocm.txt\n```\n",
    }
    assert report(tmp_path, files, gpu=gpu).verdict == verdict


@pytest.mark.parametrize(("wheel", "named"), [("x-0.1-cp38-cp38-linux_x86_64.whl", True), ("x-0.1-py3-none-any.whl", False)])
def test_a_later_python_needs_other_wheels(tmp_path: Path, wheel: str, named: bool) -> None:
    listed = "name: x\nchannels: [conda-forge]\ndependencies:\n  - python=3.8.*\n  - pip:\n    - --extra-index-url https://download.pytorch.org/whl/rocm5.6\n"
    files = {"environments/rocm.yml": f"{listed}    - torch==2.1.2+rocm5.6\n    - https://example.org/{wheel}\n"}
    found = [f for f in serious(report(tmp_path, files, gpu="gfx1151")) if f.id == NO_CODE]
    assert ["the wheels on line 8 of environments/rocm.yml are for Python 3.8 alone" in f.advice for f in found] == [named]


def test_the_only_index_is_asked_beside_the_default_one(tmp_path: Path) -> None:
    listed = "torch\n-i https://download.pytorch.org/whl/nightly/rocm6.1\ntorchvision\nonnx\n"
    found = [
        f for f in serious(report(tmp_path, {"requirements-rocm.txt": listed}, gpu="gfx1100")) if f.id == "version.wheel-missing"
    ]
    advice = found[0].advice
    assert "torchaudio" not in advice
    assert re.search(
        r"Write --extra-index-url (\S+/(rocm[\d.]+)) in place .* pin what comes from there: torch==[\d.]+\+\2, torchvision==[\d.]+\+\2\.",
        advice,
    )


@pytest.mark.parametrize(("image", "group", "told"), [
    ("ollama/ollama:rocm", "render", True), ("ollama/ollama:0.12-rocm", "render", True), ("ollama/ollama:rocm", "'992'", False), ("ollama/ollama:rocm", "video", False),
    ("rocm/pytorch:latest", "render", False),
])  # fmt: skip
def test_a_group_that_an_image_lacks(tmp_path: Path, image: str, group: str, told: bool) -> None:
    text = f"services:\n  llm:\n    image: {image}\n    devices: [/dev/kfd, /dev/dri]\n    group_add:\n      - {group}\n"
    found = [f for f in serious(report(tmp_path, {"docker-compose.rocm.yml": text}, gpu="gfx1100")) if "has no group" in f.title]
    assert [(f.id, f.severity) for f in found] == [("access.container", "warning")] * told


@pytest.mark.parametrize(("files", "found"), [
    ({}, True),
    ({".gitignore": "wheels-?mi/\n"}, False),
    ({".gitmodules": '[submodule "x"]\n\tpath = wheels-ami\n\turl = https://github.com/a/x\n'}, False),
    ({"README.md": "# x\nPut the wheels into wheels-ami/ first.\n"}, False),
    ({"deep/wheels-ami": "x\n"}, False),
    ({"Dockerfile.cuda": "FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nCOPY wheels-ami /w\n"}, True),
    ({"wheels-ami/a.whl": "x\n"}, False),
])  # fmt: skip
def test_what_a_copy_takes_has_to_be_there(tmp_path: Path, files: dict[str, str], found: bool) -> None:
    dockerfile = {"Dockerfile.rocm": f"{IMAGE}COPY wheels-ami /w\n"}
    errors = [f for f in serious(report(tmp_path, {**dockerfile, **files}, gpu="gfx1100")) if f.id == "repo.unreadable"]
    assert [(f.severity, f.evidence[0].place) for f in errors] == [("error", "line 3")] * found
    assert not found or "COPY takes wheels-ami, which is not in the repository" in errors[0].title


@pytest.mark.parametrize(
    "words", ["--from=base /x /y", "${WHEELS} /w", "wheels-*.whl /w/", '["a b", "/w"]', "--chown=1:1 . /w", "<<EOF /w\nx\nEOF"]
)
def test_only_a_plain_name_is_looked_for(tmp_path: Path, words: str) -> None:
    assert ids(tmp_path, {"Dockerfile.rocm": f"FROM ubuntu:24.04 AS base\n{IMAGE}COPY {words}\n"}, "gfx1100") == set()


def test_the_folder_of_a_build_has_to_be_known(tmp_path: Path) -> None:
    built = {"docker/Dockerfile.rocm": f"{IMAGE}COPY wheels-ami /w\n"}
    assert ids(tmp_path / "a", built, "gfx1100") == set()
    service = "services:\n  w:\n    build: {context: ., dockerfile: docker/Dockerfile.rocm}\n    devices: [/dev/kfd, /dev/dri]\n"
    assert ids(tmp_path / "b", {**built, "compose.yaml": service}, "gfx1100") == {("repo.unreadable", "error")}


@pytest.mark.parametrize(("wheel", "found"), [
    ("torch_x-1.0-cp311-cp311-win_amd64.whl", "Windows"), ("torch_x-1.0-cp311-cp311-macosx_11_0_arm64.whl", "macOS"),
    ("torch_x-1.0-cp312-cp312-linux_x86_64.whl", ""), ("torch_x-1.0-py3-none-any.whl", ""),
])  # fmt: skip
def test_a_wheel_for_another_system_in_an_image(tmp_path: Path, wheel: str, found: str) -> None:
    image = f"FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\nRUN pip install https://example.com/{wheel}\n"
    errors = [f for f in serious(report(tmp_path, {"Dockerfile.rocm": image}, gpu="gfx1100")) if f.severity == "error"]
    assert [(f.id, f.title) for f in errors] == ([("version.wheel-missing", f"{wheel} is a wheel for {found}")] if found else [])


def test_a_torch_for_opencl_is_no_rocm_torch_that_is_missing(tmp_path: Path) -> None:
    image = "FROM python:3.11\nRUN pip install torch==2.6.0\nRUN pip install https://example.com/pytorch_ocl-0.2.0+torch2.6-cp311-none-linux_x86_64.whl\n"
    assert ids(tmp_path, {"Dockerfile.amd": image}, "gfx1100") == {("repo.no-amd-environment", "warning")}


@pytest.mark.parametrize(("source", "files", "found"), [
    ("data/wheels-ami/a.bin", {"data/.gitignore": "wheels-ami\n"}, False), ("data/wheels-ami/a.bin", {"data/wheels-ami/.gitignore": "*.bin\n"}, False),
    ("data/wheels-ami/a.bin", {"data/.gitignore": "*\n!a.bin\n"}, False), ("data/a-mi.bin", {"data/.gitignore": "!a-mi.bin\n"}, False),
    ("data/a-mi.bin", {"data/.gitignore": "b-mi.bin\n", "data/x": "x\n"}, True), ("third/wheels-ami/a.bin", {".gitmodules": "[submodule]\n\tpath = third/wheels-ami\n"}, False),
    (". ", {}, False), ("./", {}, False), ("a-mi.bin", {"other/.gitignore": "a-mi.bin\n"}, True),
])  # fmt: skip
def test_what_ignores_a_file_lies_above_it(tmp_path: Path, source: str, files: dict[str, str], found: bool) -> None:
    image = {"Dockerfile.rocm": f"{IMAGE}COPY {source} /w\n"}
    assert bool(ids(tmp_path, {**image, **files}, "gfx1100")) is found


def test_a_folder_that_is_declared_is_looked_into(tmp_path: Path) -> None:
    service = "services:\n  w:\n    build: {context: svc, dockerfile: Dockerfile.rocm}\n    devices: [/dev/kfd, /dev/dri]\n"
    files = {"svc/Dockerfile.rocm": f"{IMAGE}COPY a-mi.bin /w\n", "compose.yaml": service}
    assert ids(tmp_path / "a", files, "gfx1100") == {("repo.unreadable", "error")}
    assert ids(tmp_path / "b", {**files, "svc/a-mi.bin": "x\n"}, "gfx1100") == set()
