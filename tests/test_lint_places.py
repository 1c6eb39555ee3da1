"""Places beside lists, images and scripts: development containers, launchers of Pinokio, Kubernetes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, said

from rocm_doctor.lint.readers.yamls import without_comments

NOT_ROCM = "version.torch-not-rocm"
IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"
BY_IMAGE = """{{
\t// for ROCm
\t"name": "Train",
\t"image": "{image}",
\t"runArgs": ["--device=/dev/kfd", {devices} "--ipc=host"],
\t"containerEnv": {{"HSA_ENABLE_SDMA": "0"}},
\t"postCreateCommand": "{command}", /* at last */
}}
"""


@pytest.mark.parametrize(("image", "devices", "command", "found"), [
    (IMAGE, '"--device=/dev/dri",', "pip install -e . && echo https://x.org", []),
    (IMAGE, '"--device=/dev/dri",', "pip install torch==2.9.1", [(NOT_ROCM, "error", ".devcontainer/devcontainer.json:7")]),
    (IMAGE, "", "true", [("access.container", "error", ".devcontainer/devcontainer.json:5")]),
])  # fmt: skip
def test_a_development_container(
    tmp_path: Path, image: str, devices: str, command: str, found: list[tuple[str, str, str]]
) -> None:
    text = BY_IMAGE.format(image=image, devices=devices, command=command)
    assert said(report(tmp_path, {".devcontainer/devcontainer.json": text})) == found


BY_DOCKERFILE = '{"name": "%s", "build": {"dockerfile": "image/Dockerfile", "context": "..", "args": {"INDEX": "%s"}}}'
BUILT = "FROM python:3.12\nARG INDEX=cpu\nRUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/$INDEX\n"


@pytest.mark.parametrize(("name", "index", "kind"), [
    ("torch on AMD", "rocm6.4", "amd"), ("torch", "cu128", "nvidia"), ("torch", "rocm6.4", "amd"), ("torch", "cpu", "cpu"),
])  # fmt: skip
def test_a_development_container_that_is_built(tmp_path: Path, name: str, index: str, kind: str) -> None:
    files = {".devcontainer/devcontainer.json": BY_DOCKERFILE % (name, index), ".devcontainer/image/Dockerfile": BUILT}
    (one,) = repository(tmp_path, files).environments
    assert (one.purpose.kind, [i.url[-len(index) :] for step in one.steps for i in step.indexes]) == (kind, [index])


def test_a_dockerfile_elsewhere_is_not_the_development_container_s_alone(tmp_path: Path) -> None:
    files = {".devcontainer/devcontainer.json": '{"build": {"dockerfile": "../Dockerfile"}}', "Dockerfile": BUILT}
    assert {e.name for e in repository(tmp_path, files).environments} == {".devcontainer/devcontainer.json", "Dockerfile"}


def test_a_development_container_for_no_one_in_particular_is_left_out(tmp_path: Path) -> None:
    files = {
        ".devcontainer/devcontainer.json": '{"build": {"dockerfile": "Dockerfile"}, "postCreateCommand": ["pip", "install", "peft"]}',
        ".devcontainer/Dockerfile": "FROM python:3.12\nRUN pip install torch==2.9.1\n",
    }
    assert [(e.purpose.kind, len(e.steps)) for e in repository(tmp_path, files).environments] == [("optional", 2)]


def test_comments_leave_lines_and_texts_as_they_are() -> None:
    assert without_comments('{"a": "x//y", // c\n/* d\n */ "b": 1}') == '{"a": "x//y", \n\n "b": 1}'


LAUNCHER = """module.exports = {{
  run: [
    {{ method: "script.start", params: {{ uri: "torch.js", params: {{ venv: "env" }} }} }},
    {{ method: "shell.run", params: {{ venv: "env", message: ["uv pip install -r requirements.txt {more}"] }} }},
  ]
}}
"""
TORCH = """// which torch
module.exports = {{
  run: [
    {{
      "when": "{{{{platform === 'linux' && gpu === 'nvidia' && / 50.+/.test(kernel.gpu_model)}}}}",
      "method": "shell.run",
      "params": {{ "message": "uv pip install torch --index-url https://download.pytorch.org/whl/cu128" }},
      "next": null
    }},
    {{
      "when": "{{{{platform === 'linux' && {gpu}}}}}",
      "method": "shell.run",
      "params": {{ "message": "uv pip install torch=={torch} --index-url https://download.pytorch.org/whl/{index}" }},
      "next": null
    }},
    {{ "when": "{{{{gpu !== 'intel'}}}}", "method": "shell.run", "params": {{ "message": "uv pip install torch==2.9.1" }} }}
  ]
}}
"""
AMD = "(gpu === 'amd')"


@pytest.mark.parametrize(("values", "more", "found"), [
    ({"gpu": AMD, "torch": "2.9.1", "index": "rocm6.4"}, "", []),
    ({"gpu": AMD, "torch": "2.9.1", "index": "cu128"}, "", [(NOT_ROCM, "error", "torch.js:13")]),
    ({"gpu": AMD, "torch": "2.9.1", "index": "rocm6.4"}, "torch==2.8.0", [(NOT_ROCM, "error", "install.js:4")]),
    ({"gpu": "gpu === 'nvidia'", "torch": "2.9.1", "index": "rocm6.4"}, "", [("repo.no-amd-environment", "warning", "torch.js:16")]),
])  # fmt: skip
def test_a_launcher_of_pinokio(tmp_path: Path, values: dict[str, str], more: str, found: list[tuple[str, str, str]]) -> None:
    files = {"install.js": LAUNCHER.format(more=more), "torch.js": TORCH.format(**values), "requirements.txt": "peft\n"}
    assert said(report(tmp_path, files)) == found


def test_the_environments_of_a_launcher(tmp_path: Path) -> None:
    files = {"torch.js": TORCH.format(gpu=AMD, torch="2.9.1", index="rocm6.4")}
    assert {e.name: e.purpose.kind for e in repository(tmp_path, files).environments} == {
        "torch.js for amd on linux": "amd", "torch.js on windows": "neutral", "torch.js for nvidia on linux": "nvidia",
    }  # fmt: skip


def test_a_launcher_that_is_computed_is_said(tmp_path: Path) -> None:
    files = {
        "torch.js": "module.exports = async (kernel) => { return { run: [{ method: 'shell.run', params: {message: 'pip install torch'} }] } }"
    }
    assert [p.message for p in repository(tmp_path, files).problems] == ["not read: the steps of this launcher are computed"]


POD = """apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      initContainers:
        - {{name: wait, image: "busybox:1.36"}}
      containers:
        - name: train
          image: {image}
          command: ["sh", "-c"]
          args:
            - |
              cd /work
              pip install {asked}
          env:
            - name: HSA_OVERRIDE_GFX_VERSION
              value: "{override}"
          resources:
            limits: {{{resource}: 1}}
"""


@pytest.mark.parametrize(("values", "gpu", "found"), [
    ({"image": IMAGE, "asked": "peft", "override": "11.0.0", "resource": "amd.com/gpu"}, "gfx1100", []),
    ({"image": IMAGE, "asked": "torch==2.9.1", "override": "11.0.0", "resource": "amd.com/gpu"}, "gfx1100",
     [(NOT_ROCM, "warning", "k8s/train.yaml:15")]),
    ({"image": IMAGE, "asked": "peft", "override": "11.0.0", "resource": "amd.com/gpu"}, "gfx942",
     [("arch.override-wrong", "warning", "k8s/train.yaml:18")]),
    ({"image": "pytorch/pytorch", "asked": "torch==2.9.1", "override": "x", "resource": "nvidia.com/gpu"}, "gfx1100",
     [("repo.no-amd-environment", "warning", "k8s/train.yaml:20")]),
])  # fmt: skip
def test_a_pod_of_kubernetes(tmp_path: Path, values: dict[str, str], gpu: str, found: list[tuple[str, str, str]]) -> None:
    assert said(report(tmp_path, {"k8s/train.yaml": POD.format(**values)}, gpu=gpu)) == found


def test_a_template_of_helm_is_not_read_as_yaml(tmp_path: Path) -> None:
    text = POD.format(image="{{ .Values.image }}", asked="peft", override="x", resource="amd.com/gpu")
    found = repository(tmp_path, {"chart/templates/train.yaml": text})
    assert (found.environments, found.problems) == ((), ())


@pytest.mark.parametrize(("install", "more", "expected"), [
    ('podman exec -it rocm bash -c "cd /AI && uv pip install -r requirements.txt"', {}, []),
    ('podman exec -it rocm bash -c "cd /AI && ls"', {}, ["lib.flash-attn"]),
    ('podman exec -it rocm bash -c "cd /AI && uv pip install -r requirements.txt"', {"other/Dockerfile": "FROM alpine\nRUN echo\n"}, ["lib.flash-attn"]),
])  # fmt: skip
def test_the_variables_of_an_image_hold_in_its_container(
    tmp_path: Path, install: str, more: dict[str, str], expected: list[str]
) -> None:
    files = {
        "Dockerfile": f"FROM {IMAGE}\nENV FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE\n",
        "install.sh": f'podman cp "$HERE/requirements/$NAME.txt" "rocm:/AI/requirements.txt"\n{install}\n',
        "requirements/soprano-rocm.txt": "--index-url https://download.pytorch.org/whl/rocm7.1\ntorch==2.10.0\nflash-attn==2.8.3\n",
    }
    found = report(tmp_path, files | more)
    assert [i for i, _, _ in said(found) if i == "lib.flash-attn"] == expected
