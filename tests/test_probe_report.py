from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import captures, facts, gpus, notes

from rocm_doctor.probes.text import report

TRANSFORMERS = """\
Copy-and-paste the text below in your GitHub issue and FILL OUT the two last points.

- `transformers` version: 4.57.1
- Platform: Linux-6.8.0-85-generic-x86_64-with-glibc2.39
- Python version: 3.12.3
- Huggingface_hub version: 0.35.3
- Safetensors version: 0.6.2
- Accelerate version: 1.10.1
- Accelerate config:    not found
- DeepSpeed version: not installed
- PyTorch version (accelerator?): 2.8.0+rocm6.4 (CUDA)
- Using GPU in script?: <fill in>
- GPU type: AMD Radeon RX 7900 XTX
"""
ACCELERATE = """\
- `Accelerate` version: 1.2.1
- Platform: Linux-5.15.0-124-generic-x86_64-with-glibc2.35
- `accelerate` bash location: /home/user/venv/bin/accelerate
- Python version: 3.10.12
- Numpy version: 1.26.4
- PyTorch version (GPU?): 2.5.1+rocm6.2 (True)
- PyTorch XPU available: False
- System RAM: 125.71 GB
- GPU type: AMD Instinct MI210
"""
BITSANDBYTES = """\
=================== bitsandbytes v0.48.1 ===================
Platform: Linux-6.8.0-85-generic-x86_64-with-glibc2.39
  libc: glibc-2.39
Python: 3.12.3
PyTorch: 2.8.0+rocm6.4
  CUDA: N/A
  HIP: 6.4.43482-0f2d60242
  XPU: N/A
Related packages:
  accelerate: 1.10.1
  diffusers: not found
  peft: 0.17.1
"""
UNSLOTH = """\
==((====))==  Unsloth 2025.11.1: Fast Llama patching. Transformers: 4.57.1.
   \\\\   /|    AMD Radeon RX 7900 XTX. Num GPUs = 2. Max memory: 23.984 GB. Platform: Linux.
O^O/ \\_/ \\    Torch: 2.9.0+rocm6.4. ROCm Toolkit: 6.4.43484-123eb5128. Triton: 3.5.0
\\        /    Bfloat16 = TRUE. FA [Xformers = None. FA2 = True]
"""
COMFYUI = """\
Total VRAM 24560 MB, total RAM 64217 MB
pytorch version: 2.9.0+rocm6.4
xformers version: 0.0.30
AMD arch: gfx1100
ROCm version: (6, 4)
Set vram state to: NORMAL_VRAM
Device: cuda:0 AMD Radeon RX 7900 XTX : native
Python version: 3.12.3 (main, Aug 14 2025, 17:47:21) [GCC 13.3.0]
"""
LLAMA = """\
ggml_cuda_init: GGML_CUDA_FORCE_MMQ:    no
ggml_cuda_init: found 2 ROCm devices:
  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32
  Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32
"""
SGLANG = """\
Python: 3.10.12 (main, Jan  8 2026, 06:52:19) [GCC 11.4.0]
ROCM available: True
GPU 0,1,2,3: AMD Instinct MI300X
ROCM_HOME: /opt/rocm-7.0.2
HIPCC: HIP version: 7.0.51831-a3e329ad8
ROCM Driver Version: 6.14.14
PyTorch: 2.8.0+rocm7.0
flashinfer_python: Module Not Found
triton: 3.4.0+git12345678
"""


def test_transformers_env() -> None:
    found = facts(report, TRANSFORMERS)
    assert found["torch.version"] == "2.8.0+rocm6.4"
    assert (found["pkg.transformers"], found["pkg.accelerate"], found["pkg.huggingface-hub"]) == ("4.57.1", "1.10.1", "0.35.3")
    assert (found["python.version"], found["kernel"], found["glibc"]) == ("3.12.3", "6.8.0-85-generic", "2.39")
    assert "pkg.deepspeed" not in found
    assert gpus(report, TRANSFORMERS) == [{"marketing_name": "AMD Radeon RX 7900 XTX"}]


def test_accelerate_env() -> None:
    found = facts(report, ACCELERATE)
    assert (found["torch.version"], found["torch.available"], found["torch.rocm"]) == ("2.5.1+rocm6.2", True, "6.2")
    assert (found["pkg.accelerate"], found["pkg.numpy"]) == ("1.2.1", "1.26.4")


def test_bitsandbytes_diagnostics() -> None:
    found = facts(report, BITSANDBYTES)
    assert (found["torch.version"], found["torch.hip"], found["pkg.peft"]) == ("2.8.0+rocm6.4", "6.4.43482-0f2d60242", "0.17.1")
    assert "torch.cuda" not in found


def test_unsloth_banner() -> None:
    found = facts(report, UNSLOTH)
    assert (found["pkg.unsloth"], found["pkg.transformers"], found["pkg.triton"]) == ("2025.11.1", "4.57.1", "3.5.0")
    assert (found["torch.version"], found["torch.hip"]) == ("2.9.0+rocm6.4", "6.4.43484-123eb5128")
    assert gpus(report, UNSLOTH) == [{"marketing_name": "AMD Radeon RX 7900 XTX", "vram_bytes": round(23.984 * 1024**3)}] * 2


def test_comfyui_start() -> None:
    found = facts(report, COMFYUI)
    assert (found["torch.version"], found["python.version"], found["pkg.xformers"]) == ("2.9.0+rocm6.4", "3.12.3", "0.0.30")
    assert "rocm.version" not in found, "(6, 4) is torch's ROCm, not the system's"
    assert gpus(report, COMFYUI) == [
        {
            "marketing_name": "AMD Radeon RX 7900 XTX",
            "gfx": "gfx1100",
            "gfx_reported": "gfx1100",
            "vram_bytes": 24560 * 1024**2,
        }
    ]


def test_llama_cpp_lists_all_its_devices() -> None:
    assert gpus(report, LLAMA + LLAMA) == [
        {"marketing_name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1100"},
        {"marketing_name": "AMD Radeon Graphics", "gfx": "gfx1036"},
    ]
    assert notes(report, LLAMA).listings[0].complete


def test_sglang_check_env() -> None:
    found = facts(report, SGLANG)
    assert (found["rocm.version"], found["driver.version"]) == ("7.0.2", "6.14.14")
    assert (found["torch.version"], found["pkg.triton"]) == ("2.8.0+rocm7.0", "3.4.0+git12345678")
    assert gpus(report, SGLANG) == [{"marketing_name": "AMD Instinct MI300X"}] * 4


@pytest.mark.parametrize(
    ("line", "fact", "value"),
    [
        ("INFO 11-01 12:00:00 [api_server.py:1043] vLLM API server version 0.11.0", "pkg.vllm", "0.11.0"),
        ("Initializing a V1 LLM engine (v0.10.1) with config: model='x'", "pkg.vllm", "0.10.1"),
        ("NCCL INFO ROCm version : 6.4.0.0-47-73dae9c", "rocm.version", "6.4.0"),
        ("AMDSMI Tool: 26.2 | ROCm version: 7.2.0 | amdgpu version: 6.16.6 |", "driver.version", "6.16.6"),
        ("amdgpu version: Linuxversion6.17.0(ubuntu@x", "driver.version", None),
        ("ROCM Version: 6.1.40091-a8dbc0c19", "rocm.version", None),
        ("ROCM used to build PyTorch: 6.2.41133-dd7f95766", "torch.version", None),
        ("torch: 2.12.0+rocm7.14.0        (hip: 7.14.60850, cuda: None)", "torch.hip", "7.14.60850"),
        ("print(torch.version.hip) -> torch.version.hip: 6.4.43482-0f2d60242", "torch.hip", "6.4.43482-0f2d60242"),
        ("torch.cuda.is_available(): False", "torch.available", False),
        ("requires transformers: >=4.40", "pkg.transformers", None),
        ("it only works with torch=1.13.0+rocm5.2", "torch.version", None),
        ("torch.__version__ = 2.8.0+rocm6.4", "torch.version", "2.8.0+rocm6.4"),
    ],
)
def test_single_lines(line: str, fact: str, value: object) -> None:
    assert facts(report, line).get(fact) == value


def test_processor_is_no_gpu() -> None:
    assert gpus(report, "       Device:  AMD Ryzen 7 7840HS w/ Radeon 780M Graphics\n       Device: AMD Radeon 780M\n") == [
        {"marketing_name": "AMD Radeon 780M"}
    ]


def test_json_header() -> None:
    torch = {"version": "2.8.0+rocm6.4", "hip": "6.4.43482", "devices": ["AMD Instinct MI300X"] * 8}
    header = {"python": "3.12.3", "torch": torch, "rocm": {"version": "6.4.1", "driver": "6.12.12"}}
    found = facts(report, f"words <!-- {json.dumps(header)} --> words")
    assert (found["torch.version"], found["torch.hip"], found["rocm.version"]) == ("2.8.0+rocm6.4", "6.4.43482", "6.4.1")
    assert (found["driver.version"], found["python.version"]) == ("6.12.12", "3.12.3")
    assert gpus(report, json.dumps(header)) == [{"marketing_name": "AMD Instinct MI300X"}] * 8


def test_dump_of_amdgpu_top() -> None:
    device = {
        "DeviceName": "AMD Radeon RX 9070 XT",
        "DeviceID": 30032,
        "PCI": "0000:03:00.0",
        "gfx_target_version": "gfx1201",
        "GPU Type": "dGPU",
        "Total Compute Unit": 64,
        "VRAM Size": 17095983104,
        "ROCm Version": "7.2.0",
    }
    text = json.dumps([device], indent=2)
    assert gpus(report, text) == [
        {
            "gfx": "gfx1201",
            "marketing_name": "AMD Radeon RX 9070 XT",
            "pci_bdf": "0000:03:00.0",
            "device_id": 30032,
            "compute_units": 64,
            "vram_bytes": 17095983104,
            "is_apu": False,
        }
    ]
    assert facts(report, text)["rocm.version"] == "7.2.0"


def test_every_capture_says_something() -> None:
    for path in captures("env_report"):
        if "oneliner" in path.name:  # text/session.py reads a command and what it printed
            continue
        result = notes(report, path.read_text(errors="replace"))
        assert result.facts or result.listings, path.name


@given(
    st.text(),
    st.sampled_from([TRANSFORMERS, BITSANDBYTES, UNSLOTH, COMFYUI, LLAMA, SGLANG]),
    st.integers(0, 400),
    st.integers(0, 400),
)
def test_any_text_gives_facts_or_nothing(text: str, sample: str, start: int, length: int) -> None:
    notes(report, text)
    notes(report, sample[:start] + text + sample[start + length :])


@given(st.text(alphabet='{}[]":, \n1aAtorchgfx_version', max_size=200))
def test_any_brackets_are_survived(text: str) -> None:
    notes(report, text)


def test_line_numbers_behind_the_middle_of_a_long_text() -> None:
    text = "PyTorch: 2.8.0+rocm6.4\n" + "x\n" * 1_500_000 + "triton: 3.4.0\n"
    result = notes(report, text).facts
    assert [result[key].readings[0].place for key in ("torch.version", "pkg.triton")] == ["line 1", "line 1500002"]


def test_deep_nesting_is_survived() -> None:
    notes(report, '[{"a":' * 100_000)
    notes(report, '{"' * 100_000)
