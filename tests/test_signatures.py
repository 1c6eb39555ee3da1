"""Failure lines as programs print them, in reports written for this test, and the cause that a maintainer would name first."""

from __future__ import annotations

import hashlib
import re

import pytest

from rocm_doctor import pipeline
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import load
from rocm_doctor.model import Finding, Report
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import failure_lines, judge
from rocm_doctor.rules.logs import Logs, fragments, readable_logs
from rocm_doctor.sources.paste import cut


def read(text: str) -> Report:
    return pipeline.judge(cut(text, "test"), load())


def serious(text: str) -> list[Finding]:
    """What rows and rules find, in their order: a line of two words is theirs to name, whatever the differential makes of it."""
    artifacts = cut(text, "report.md")
    matrix = load()
    facts = enrich(pipeline.read_facts(artifacts, matrix), matrix)
    found, _ = judge(facts, Logs(readable_logs(artifacts), failure_lines(matrix)), matrix, RULES)
    return [f for f in found if f.severity != "note"]


IDF = "RuntimeError: HIP error: invalid device function"
NO_GPU = "RuntimeError: No HIP GPUs are available"
CRASH = "Segmentation fault (core dumped)"
FAULT = (
    "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f00. Reason: Page not present or supervisor privilege."
)
TENSILE = "rocBLAS error: Cannot read {}/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : {}"

LINES: tuple[tuple[str, str], ...] = (
    # device code: one line, and the fact that tells its meanings apart
    (f"gfx1151, torch 2.9.1+rocm6.4\n{IDF}", "arch.not-in-build"),
    (f"GPU: RX 6700 XT\n{IDF}", "arch.not-in-build|arch.override-needed"),
    ("GPU: RX 580\nhipErrorNoBinaryForGpu: Unable to find code object for all current devices!", "arch.dropped-by-rocm"),
    ("RX 6600\nhipErrorNoBinaryForGpu: Unable to find code object!", "arch.override-needed|arch.not-in-build"),
    ("No compatible code objects found for: gfx1152, value of HIP_FORCE_SPIRV_CODEOBJECT: 0", "arch.not-in-build"),
    ("torch.AcceleratorError: CUDA error: device kernel image is invalid", "arch.not-in-build"),
    (TENSILE.format("torch/lib", "gfx906"), "arch.blas-missing"),
    ("GPU: RX 7900 XTX\n" + TENSILE.format("torch/lib", "gfx1036"), "arch.igpu-interferes"),
    (f"RX 6800 XT\nexport HSA_OVERRIDE_GFX_VERSION=11.0.0\n{FAULT}", "arch.override-wrong"),
    ("  Name:            gfx1030\n  Marketing Name:  AMD Instinct MI210\n  Device Type: GPU\n", "arch.override-wrong"),
    (f"Model name: AMD Ryzen 9 7950X 16-Core Processor\nRX 7900 XTX, torch\n{CRASH}", "arch.igpu-interferes"),
    # versions
    ("RuntimeError: Found no NVIDIA driver on your system.", "version.torch-not-rocm"),
    ("AssertionError: Torch not compiled with CUDA enabled", "version.torch-not-rocm"),
    (" - torch==2.11.0+rocm7.13.0\n + torch==2.10.0", "version.torch-not-rocm"),
    ("Python 3.14\nERROR: No matching distribution found for torch", "version.python-unsupported"),
    ("RuntimeError: operator torchvision::nms does not exist", "version.companion-mismatch"),
    ("librocsolver.so.0: undefined symbol: rocblas_set_stream", "version.rocm-mismatch"),
    ("ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory", "version.rocm-mismatch"),
    ("Error! Bad return status for module build on kernel: 6.14.0-24-generic (x86_64)", "version.driver-mismatch"),
    ("$ dkms status\namdgpu, 6.10-1: added", "version.driver-mismatch"),
    ("[drm:psp_hw_init [amdgpu]] *ERROR* PSP firmware loading failed", "version.driver-mismatch"),
    ("It broke after the linux-firmware update: GPU hang", "version.firmware-regression"),
    # access
    (f"Started with docker run -it rocm/pytorch\n{NO_GPU}", "access.container"),
    (f"Ray and vllm, HIP_VISIBLE_DEVICES=0,1\n{NO_GPU}", "access.visible-devices"),
    (f"On Ubuntu, no container.\n{NO_GPU}", "access.permission"),
    ("Unable to open /dev/kfd read-write: Permission denied", "access.permission"),
    ("Unable to open /dev/kfd read-write: No such file or directory", "access.kfd-missing"),
    ("ROCk module is NOT loaded, possibly no GPU devices", "access.driver-not-loaded"),
    ("Windows 11, WSL2, torch 2.6.0+rocm6.2\n>>> torch.cuda.is_available()\nFalse", "access.wsl"),
    ("RuntimeError: HIP error: invalid device ordinal", "access.visible-devices"),
    # platform
    ("kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics", "platform.pcie-atomics"),
    ("amdgpu 0000:09:00.0: BAR 0: no space for [mem size 0x800000000 64bit pref]", "platform.bios"),
    ("VM under Proxmox, card passed through.\namdgpu 0000:01:00.0: amdgpu: Fatal error during GPU init", "platform.vm-passthrough"),
    ('NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!', "platform.iommu"),
    # memory, numbers, hardware
    ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1 GiB. GPU 0 has a total capacity of 23.98 GiB", "memory.oom"),
    ("Strix Halo, 128 GB. amdgpu: 63968M of GTT memory ready. Only half of it can be used", "memory.gtt-limit"),
    ("LLVM ERROR: Cannot select: intrinsic %llvm.amdgcn.fdot2.bf16.bf16", "numeric.bf16-or-fp16"),
    ("RX 5700 XT: gray screen in fp16, fp32 is right", "numeric.bf16-or-fp16"),
    ("amdgpu: MES failed to respond to msg=SUSPEND\namdgpu: MODE2 reset", "hw.gpu-reset-or-hang"),
    ("amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!", "hw.ecc-or-faulty"),
    # libraries
    ("RuntimeError: Configured ROCm binary not found at /x/bitsandbytes/libbitsandbytes_rocm84.so", "lib.bitsandbytes"),
    ("FlashAttention only supports AMD MI200 GPUs or newer.", "lib.flash-attn"),
    ("RuntimeError: No available kernel. Aborting execution.", "lib.flash-attn"),
    ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 165888, Hardware limit: 163840.", "lib.triton"),
    ("NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:", "lib.xformers"),
    ("KeyError: 'Unknown GPU architecture: gfx1201'\n  File aiter/jit/core.py", "lib.aiter"),
    ("RuntimeError: miopenStatusUnknownError", "lib.miopen"),
    ("RuntimeError: CUDA error: HIPBLAS_STATUS_NOT_SUPPORTED when calling hipblasLtMatmul", "lib.hipblaslt"),
    ("AttributeError: module 'torch' has no attribute 'int1'", "lib.torchao"),
    ("ImportError: libMIOpen.so.1: cannot open shared object file: No such file or directory", "lib.missing-shared-object"),
    ('OSError: [WinError 126] Error loading "C:\\torch\\lib\\shm.dll" or one of its dependencies.', "lib.missing-shared-object"),
    ("MIOpen Error: sqlite_db.hpp: Internal error while accessing SQLite database: disk I/O error", "env.cache-storage"),
    ("deepspeed: AttributeError: 'NoneType' object has no attribute 'split' in torch.version.cuda.split", "lib.deepspeed"),
    # lines that every user of the stack meets sooner or later
    ("HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid. code: 0x100f", "arch.not-in-build"),
    ("RuntimeError: HIP error: shared object initialization failed", "arch.not-in-build"),
    ("HSA_OVERRIDE_GFX_VERSION=11.0.0\nRX 9070 XT\nHSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "arch.override-wrong"),
    ("clang++: error: unsupported HIP gpu architecture: gfx1201", "arch.not-in-build"),
    ("CUBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`", "arch.blas-missing"),
    ("Cannot find Symbol with name: Cijk_Ailk_Bljk", "version.rocm-mismatch"),
    ("RuntimeError: HIP error: an illegal memory access was encountered", "hw.gpu-reset-or-hang"),
    ("expandable_segments:True\nHIP error: an illegal memory access was encountered", "memory.expandable-segments"),
    ("error gathering device information while adding custom device \"/dev/kfd\": no such file", "access.kfd-missing"),
    ("Docker Desktop\nerror gathering device information while adding custom device \"/dev/kfd\"", "access.container"),
    ("could not select device driver \"\" with capabilities: [[gpu]]", "access.container"),
    ("0/3 nodes are available: 3 Insufficient amd.com/gpu.", "access.container"),
    ("docker run --device=/dev/kfd x\nUnable to open /dev/kfd read-write: Permission denied", "access.container"),
    ("rootless podman: ollama runs on the CPU", "access.container"),
    ("CUDA driver version is insufficient for CUDA runtime version", "version.torch-not-rocm"),
    ("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'", "version.torch-not-rocm"),
    ("rocm-hip-runtime : Depends: rocminfo (= 1.0.0) but 5.7.1-3 is to be installed", "version.rocm-mismatch"),
    ("HSA Error:  Incompatible kernel and userspace, Vega 20 disabled. Upgrade amdgpu.", "version.driver-mismatch"),
    ("kfd kfd: amdgpu: GC IP 0x0b0501 not supported in kfd", "version.kernel-too-old"),
    ("AssertionError: libcuda.so cannot found!", "version.companion-mismatch"),
    ("ImportError: cannot import name 'libtriton' from 'triton._C'", "lib.triton"),
    ("clang: error: cannot find ROCm device library; provide its path via '--rocm-path'", "lib.missing-shared-object"),
    ("version `GLIBCXX_3.4.30' not found (required by /opt/rocm/lib/libamdhip64.so)", "lib.missing-shared-object"),
    ("BUG: unable to handle page fault\nRIP: 0010:dcn32_validate_bandwidth+0x10b/0x320 [amdgpu]", "version.kernel-regression"),
    ("torch 2.7.1+rocm6.3, ROCm 6.4.1 on Arch\nSegmentation fault (core dumped)", "version.rocm-mismatch"),
    ("2x 7900 XTX: garbage output. With NCCL_P2P_DISABLE=1 it works.", "dist.p2p"),
    ("Kernels fail with an invalid ELF; rm -rf ~/.triton/cache fixed it", "env.stale-cache"),
    ("Conv2d on the GPU gives drastically different numbers than on the CPU", "lib.miopen"),
    ("LoweringException: type object 'CompiledKernel' has no attribute 'launch_enter_hook'", "version.companion-mismatch"),
    ("flash_attn from source, torch 2.4.1+rocm6.0, ROCm 6.4\nshared object initialization failed", "version.rocm-mismatch"),
    ("rocBLAS error: Cannot read /.singularity.d/libs/rocblas/library/TensileLibrary.dat: Illegal seek", "version.rocm-mismatch"),
    ("NCCL_P2P_DISABLE=1 vllm serve --tensor-parallel-size 2 x: tensor parallel hangs", "dist.rccl"),
    ("aborting with error : HSA_STATUS_ERROR_EXCEPTION\nKernel Name: Cijk_Ailk_Bljk_HHS_BH", "lib.hipblaslt"),
    ("aborting with error : HSA_STATUS_ERROR_EXCEPTION\nKernel Name: _ZN5aiter50fmoe_bf16", "lib.aiter"),
    ("ROCm runs for root only\ncrw-------   1 root    root    234,   0 kfd", "access.permission"),
    ("RX 9070 XT, kernel 6.8.0-60-generic: rocminfo lists no GPU", "version.kernel-too-old"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), LINES, ids=[f"{n}-{w.split('|')[0]}" for n, (_, w) in enumerate(LINES)])
def test_the_cause_is_named_first_with_its_line(text: str, wanted: str) -> None:
    found = serious(text)
    assert found, "nothing was said"
    assert found[0].id in wanted.split("|"), [(f.id, f.row, f.confidence) for f in found]
    assert found[0].evidence, "a finding shows what was read"
    assert any(reading.quote.split()[-1] in text for reading in found[0].evidence if reading.quote)
    assert found[0].sources


CONTROLS = (
    "/opt/amdgpu/share/libdrm/amdgpu.ids: No such file or directory\nTrue",
    "MIOpen(HIP): Warning [IsEnoughWorkspace] workspace required: 1, provided ptr: 0 size: 0",
    "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas\nTraining goes on.",
    "gfx1201, torch 2.9.1+rocm6.4\nModuleNotFoundError: No module named 'requests'",
    "UserWarning: expandable_segments not supported on this platform",
    "VAE load device: cuda:0, offload device: cpu, dtype: torch.bfloat16\nTypeError: forward() got an unexpected keyword argument 'x'",
    "ERROR: No matching distribution found for ttransformers==4.24.0",
    "step 10 loss 1.2\nstep 20 loss 1.1\nsaved to output/financial-nano",
    "RuntimeError: expected scalar type Half but found BFloat16",
    "export CUDA_VISIBLE_DEVICES=0,1\ncmake -DAMDGPU_TARGETS=gfx1201\nout-prod.cu:112:13: error: use of undeclared identifier",
    "My kernel has amdgpu built in. rocminfo: ROCk module is NOT loaded, possibly no GPU devices",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "ValueError: Target modules {'q_proj'} not found in the base model. MI210, ROCm 6.3.",
    "FileNotFoundError: dataset.json. Radeon W7900, ROCm 7.0, torch 2.9.1+rocm7.0",
    "CUDA error: device-side assert triggered on MI250, labels had -1",
    "How do I set up training on two nodes? Everything works on one node with MI300X.",
    "Marketing Name: AMD Radeon RX 7900 XTX\nXGMI_WAFL: DISABLED\nFast F16: TRUE",
)


@pytest.mark.parametrize("text", CONTROLS)
def test_a_healthy_environment_gives_no_alarm(text: str) -> None:
    assert not [(f.id, f.row) for f in serious(text) if f.severity == "error" or f.confidence != "low"]


def test_a_word_that_all_works_makes_a_hypothesis_of_a_line() -> None:
    line = "FlashAttention only supports AMD MI200 GPUs or newer."
    assert serious(line)[0].confidence == "medium"
    calm = serious(line + "\nEverything else works, is it harmless?")[0]
    assert (calm.severity, calm.confidence) == ("warning", "low")


def test_a_rival_is_a_hypothesis() -> None:
    found = read(f"docker run --device=/dev/kfd rocm/pytorch\n{NO_GPU}").findings
    assert [f.id for f in found if f.severity == "error"] == ["access.container"]
    assert all(f.confidence == "low" for f in found[1:])


def test_rows_name_only_complaints_that_exist() -> None:
    named = {
        name
        for row in load().rows
        for k, c in row.when.items()
        if k.startswith("log")
        for name in re.findall(r"\{([a-z-]+)\}", c)
    }
    assert named <= set(load().complaints)
    assert named, "rows use the table"


def test_no_fragment_is_so_short_that_any_text_holds_it() -> None:
    rows = [row for row in load().rows if "log" in row.when]
    short = [
        (r.key, alt) for r in rows for alt in fragments(r.when["log"], load().complaints) if len(max(alt, key=len).strip()) < 3
    ]
    assert not short


def test_a_common_failure_line_has_a_remedy_of_its_own_or_cures() -> None:
    rows = [r for r in load().rows if r.key.startswith("sig-") and r.prior == "common" and r.status == "broken"]
    cured = {name for cure in load().cures for name in cure.of}
    assert [r.key for r in rows if not (r.advice or r.commands or cured & {r.key, r.diagnosis})] == []
    assert all(r.sources for r in rows)


@pytest.mark.parametrize("more", ["\nEverything else works, is it harmless?", ""])
def test_a_text_with_more_words_than_a_log_is_judged_like_its_lines(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_doctor.probes.read.words._MOST", 20_000)
    text = "FlashAttention only supports AMD MI200 GPUs or newer.\namdgpu built in\nROCk module is NOT loaded" + more
    letters = str.maketrans("0123456789", "ghijklmnop")
    noise = "\n".join(hashlib.sha512(str(n).encode()).hexdigest().translate(letters) for n in range(300))
    assert [(f.row, f.confidence) for f in serious(f"{text}\n{noise}")] == [(f.row, f.confidence) for f in serious(text)]
