"""Faults planted one at a time in repositories laid out as real ones are: each is found at its line, and without it nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, uv_indexes

IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"
Files = dict[str, str]

# A fine-tuning project of uv: extras for two vendors, a lock with both forks, a job for each.
UV: Files = {
    "pyproject.toml": """[project]
name = "tune"
version = "0.3.0"
requires-python = ">=3.11"
dependencies = ["transformers>=4.57", "peft>=0.17"]

[project.optional-dependencies]
rocm = [
  "torch==2.9.1",
  "torchvision==0.24.1",
  "pytorch-triton-rocm",
]
cuda = ["torch==2.9.1", "torchvision==0.24.1"]

[tool.uv]
conflicts = [[{ extra = "rocm" }, { extra = "cuda" }]]

[tool.uv.sources]
torch = [
  { index = "amd", extra = "rocm" },
  { index = "nvidia", extra = "cuda" },
]
torchvision = [
  { index = "amd", extra = "rocm" },
  { index = "nvidia", extra = "cuda" },
]
pytorch-triton-rocm = { index = "amd" }

"""
    + uv_indexes("rocm6.4", "cu128"),
    ".github/workflows/test.yml": """jobs:
  cpu:
    runs-on: ubuntu-latest
    steps:
      - run: pip install torch --index-url https://download.pytorch.org/whl/cpu
  gpu:
    runs-on: [self-hosted, rocm]
    env:
      HIP_VISIBLE_DEVICES: "0"
    steps:
      - run: |
          pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4
          pip install peft
""",
}

# A web interface: one list for each vendor, an install script with branches, compose and Dockerfiles.
LISTS: Files = {
    "requirements/base.txt": "accelerate\nsafetensors\n",
    "requirements/rocm.txt": "--index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1\ntorchvision==0.24.1\n",
    "requirements/cuda.txt": "--index-url https://download.pytorch.org/whl/cu128\ntorch==2.9.1\nxformers\n",
    "install.sh": """#!/usr/bin/env bash
set -e
if command -v nvidia-smi >/dev/null; then
  pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cu128
elif command -v rocminfo >/dev/null; then
  export HSA_ENABLE_SDMA=1
  pip install torch==2.9.1 torchvision==0.24.1 \\
    --index-url https://download.pytorch.org/whl/rocm6.4
else
  pip install torch==2.9.1
fi
case "$(lspci)" in
  *"Navi 1"*)
    export HSA_OVERRIDE_GFX_VERSION=10.3.0
    ;;
esac
pip install accelerate
""",
    "docker/rocm/Dockerfile": f"""ARG TAG={IMAGE.split(":")[1]}
FROM rocm/pytorch:${{TAG}} AS base
WORKDIR /app
ENV PYTORCH_ROCM_ARCH="gfx90a;gfx942;gfx1100"
# packages of the project
RUN pip install \\
    # pinned by the tests
    accelerate \\
    peft

FROM base
COPY requirements/base.txt .
RUN pip install -r base.txt && make
""",
    "docker/cuda/Dockerfile": "FROM nvidia/cuda:12.8.0-devel-ubuntu24.04\nRUN pip install torch==2.9.1\n",
    "compose.yaml": f"""x-gpu: &gpu
  devices:
    - /dev/kfd
    - /dev/dri
services:
  base:
    image: {IMAGE}
    <<: *gpu
    ipc: host
  train:
    extends: {{service: base}}
    environment:
      HSA_ENABLE_SDMA: "1"
  web:
    image: nginx:1.27
""",
}

# Training configurations beside a conda file and a job script.
TRAIN: Files = {
    "environment.yml": """channels: [conda-forge]
dependencies:
  - python=3.12
  - pip
  - pip:
      - --extra-index-url https://download.pytorch.org/whl/rocm6.3
      - torch==2.9.1
      - peft
""",
    "configs/lora.yaml": "base_model: x/y\nadapter: lora\nload_in_4bit: false\nbf16: false\nfp16: true\nflash_attention: false\noptimizer: adamw_torch\n",
    "configs/ds.json": '{\n  "zero_optimization": {"stage": 2},\n  "bf16": {\n    "enabled": false\n  }\n}\n',
    "train.slurm": "#!/bin/bash\n#SBATCH --gres=gpu:1\nexport HIP_VISIBLE_DEVICES=0\npython train.py\n",
    "run.sh": f"docker run --rm --device=/dev/kfd --device=/dev/dri --ipc=host \\\n  -v $PWD:/w {IMAGE} \\\n  python train.py\n",
}
LAYOUTS = {"uv": (UV, "gfx1100"), "lists": (LISTS, "gfx1100"), "train": (TRAIN, "gfx906")}

OTHER = "version.torch-not-rocm"
BUILD = "arch.not-in-build"
MISSING = "version.wheel-missing"
MATCH = "version.companion-mismatch"
WRONG = "arch.override-wrong"
BOX = "access.container"
P, W, N, D, C, S = (
    "pyproject.toml",
    ".github/workflows/test.yml",
    "install.sh",
    "docker/rocm/Dockerfile",
    "compose.yaml",
    "requirements/rocm.txt",
)
E, L, J, R, T = "environment.yml", "configs/lora.yaml", "configs/ds.json", "run.sh", "train.slurm"

# Layout, file, what is there, what is planted, the diagnosis, its line. One entry is one fault.
FAULTS: list[tuple[str, str, str, str, str, int]] = [
    ("uv", P, "whl/rocm6.4", "whl/cu126", OTHER, 9),
    ("uv", P, '{ index = "amd", extra = "rocm" },\n  { index = "nvidia", extra = "cuda" },\n]\ntorchvision', '{ index = "nvidia", extra = "rocm" },\n  { index = "nvidia", extra = "cuda" },\n]\ntorchvision', OTHER, 9),
    ("uv", P, '"torch==2.9.1",', '"torch==2.10.0",', MISSING, 9),
    ("uv", P, '"torchvision==0.24.1",', '"torchvision==0.20.1",', MATCH, 10),
    ("uv", P, "whl/rocm6.4", "whl/rocm6.9", MISSING, 31),
    ("uv", P, '  "pytorch-triton-rocm",\n', "", MISSING, 9),
    ("uv", P, '  { index = "amd", extra = "rocm" },\n  { index = "nvidia", extra = "cuda" },\n]\npytorch', '  { index = "nvidia", extra = "rocm" },\n  { index = "nvidia", extra = "cuda" },\n]\npytorch', MATCH, 10),
    ("uv", W, "whl/rocm6.4\n", "whl/cu126\n", OTHER, 12),
    ("uv", W, "          pip install peft", "          pip install torch==2.8.0", OTHER, 13),
    ("uv", W, "          pip install peft", "          pip install -U torch", OTHER, 13),
    ("uv", W, 'HIP_VISIBLE_DEVICES: "0"', "HSA_OVERRIDE_GFX_VERSION: 9.0.0", WRONG, 9),
    ("uv", W, "          pip install peft", "          pip install xformers", OTHER, 13),
    ("lists", S, "rocm6.4", "cu128", OTHER, 2),
    ("lists", S, "torch==2.9.1", "torch==2.4.0", MISSING, 2),
    ("lists", S, "0.24.1", "0.23.0", MATCH, 3),
    ("lists", S, "torchvision==0.24.1", "onnxruntime-gpu", "version.package-mismatch", 3),
    ("lists", S, "torch==2.9.1", "torch==2.9.1+cu128", OTHER, 2),
    ("lists", S, "whl/rocm6.4", "whl/rocm6.9", MISSING, 1),
    ("lists", N, "whl/rocm6.4", "whl/cu126", OTHER, 7),
    ("lists", N, "  export HSA_ENABLE_SDMA=1", "  export HSA_OVERRIDE_GFX_VERSION=10.3.0", WRONG, 6),
    ("lists", N, "torchvision==0.24.1 \\", "torchvision==0.21.0 \\", MATCH, 7),
    ("lists", N, "pip install accelerate", "pip install torch==2.8.0", OTHER, 17),
    ("lists", N, '*"Navi 1"*', '*"Navi 3"*', WRONG, 14),
    ("lists", D, "gfx90a;gfx942;gfx1100", "gfx90a;gfx942", BUILD, 4),
    ("lists", D, "    peft\n", "    torch==2.9.1\n", OTHER, 6),
    ("lists", D, "RUN pip install -r base.txt", "RUN pip install -r base.txt torch==2.8.0", OTHER, 13),
    ("lists", D, "FROM base\n", "FROM ubuntu:24.04\nRUN pip install torch==2.9.1\n", OTHER, 12),
    ("lists", D, 'ENV PYTORCH_ROCM_ARCH="gfx90a;gfx942;gfx1100"', "ENV HSA_OVERRIDE_GFX_VERSION=9.4.2", WRONG, 4),
    ("lists", "requirements/base.txt", "safetensors", "xformers", OTHER, 2),
    ("lists", C, "    - /dev/kfd\n", "", BOX, 5),
    ("lists", C, "extends: {service: base}", f"image: {IMAGE}", BOX, 10),
    ("lists", C, 'HSA_ENABLE_SDMA: "1"', "HSA_OVERRIDE_GFX_VERSION: 10.3.0", WRONG, 13),
    ("train", E, "whl/rocm6.3", "whl/rocm6.4", "arch.blas-missing", 7),
    ("train", L, "load_in_4bit: false", "load_in_4bit: true", "lib.bitsandbytes", 3),
    ("train", L, "flash_attention: false", "flash_attention: true", "lib.flash-attn", 6),
    ("train", L, "adamw_torch", "adamw_bnb_8bit", "lib.bitsandbytes", 7),
    ("train", L, "bf16: false", "bf16: true", "numeric.bf16-or-fp16", 4),
    ("train", J, '"enabled": false', '"enabled": true', "numeric.bf16-or-fp16", 4),
    ("train", R, "--device=/dev/kfd ", "", BOX, 1),
    ("train", R, "--device=/dev/kfd --device=/dev/dri", "--gpus all", BOX, 1),
    ("train", T, "export HIP_VISIBLE_DEVICES=0", "export HSA_OVERRIDE_GFX_VERSION=10.3.0", WRONG, 3),
    ("train", E, "      - peft", "      - bitsandbytes", "lib.bitsandbytes", 8),
]  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_without_a_fault_nothing_is_said(name: str, tmp_path: Path) -> None:
    files, gpu = LAYOUTS[name]
    assert said(report(tmp_path, files, gpu=gpu, rocm="6.3" if gpu == "gfx906" else "")) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f[1]}-{f[4]}-{f[5]}")
def test_a_planted_fault_is_found_at_its_line(fault: tuple[str, str, str, str, str, int], tmp_path: Path) -> None:
    layout, file, there, planted, diagnosis, line = fault
    files, gpu = LAYOUTS[layout]
    assert there in files[file], "the layout has changed"
    found = report(
        tmp_path, {**files, file: files[file].replace(there, planted, 1)}, gpu=gpu, rocm="6.3" if gpu == "gfx906" else ""
    )
    places = {(f.id, r.artifact, r.place) for f in found.findings if f.severity != "note" for r in f.evidence}
    assert (diagnosis, file, f"line {line}") in places, said(found)


def test_a_planted_fault_that_is_only_a_note(tmp_path: Path) -> None:
    """A list that loses its ROCm index is for no one in particular, and another environment is for AMD: nobody can tell."""
    files = {**TRAIN, E: TRAIN[E].replace("      - --extra-index-url https://download.pytorch.org/whl/rocm6.3\n", "")}
    found = report(tmp_path, files, gpu="gfx906", rocm="6.3")
    assert said(found) == []
    assert OTHER in {f.id for f in found.findings}


def test_there_are_forty_of_them() -> None:
    assert len(FAULTS) >= 40
