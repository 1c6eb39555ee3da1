"""Output of AMD's own benchmarks, as people pasted it, judged by the same references and rows as a run of `bench`."""

from __future__ import annotations

import pytest

from rocm_doctor import pipeline
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Report, Snapshot
from rocm_doctor.sources.paste import cut

MATRIX = load()

# https://github.com/ROCm/legacy-rocm-build/issues/2253, shortened
BANDWIDTH = """\
          RocmBandwidthTest Version: 2.6.0

          Device: 0,  AMD EPYC 7542 32-Core Processor
          Device: 1,  Radeon RX 7900 XTX,  GPU-XX,  83:0.0
          Device: 2,  Radeon RX 7900 XTX,  GPU-XX,  03:0.0

          Inter-Device Access

          D/D       0         1         2

          0         1         1         1

          Unidirectional copy peak bandwidth GB/s

          D/D       0           1           2

          0         N/A         28.411      28.410

          1         29.013      649.528     N/A

          2         29.016      N/A         636.462


          Bidirectional copy peak bandwidth GB/s

          D/D       0           1           2

          0         N/A         48.226      48.102
"""
# https://github.com/ROCm/rocBLAS/issues/1554, shortened
ROCBLAS = """\
`rocblas-bench -f gemm_ex --transposeA T --transposeB N -m 4096 -n 4096 -k 4096 --alpha 1 --a_type f16_r --lda 4096 --b_type f16_r`
Device ID 0 : AMD Radeon RX 6800 XT gfx1030
with 17.2 GB memory, max. SCLK 2575 MHz, max. MCLK 1000 MHz, memoryBusWidth 32 Bytes, compute capability 10.3
transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,ldd,batch_count,cold_iters,hot_iters,rocblas-Gflops,us
T,N,4096,4096,4096,-0.000152707,4096,-0.000154853,4096,4096,4096,1, 2, 10, 1.50701e+06, 11.4
"""
# ROCm/rocm-blogs, measuring-max-achievable-flops-part2, sample output, shortened; run on an MI300X
HIPBLASLT = """\
Device ID 0 : AMD Instinct MI300X gfx942:sramecc+:xnack-
[0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,a_type,b_type,c_type,d_type,compute_type,hipblaslt-Gflops,hipblaslt-GB/s,us
N,N,0,1,4096,4864,32896,1,bf16_r,bf16_r,bf16_r,bf16_r,f32_r,709258,317.15,1848.09
"""


def facts(text: str) -> Snapshot:
    return enrich(pipeline.read_facts(cut(text, "pasted"), MATRIX), MATRIX)


def check(*artifacts: Artifact) -> Report:
    return pipeline.judge(artifacts, MATRIX)


def test_a_sound_bandwidth_test_is_as_expected() -> None:
    found = facts(BANDWIDTH)
    assert found.get("rate.host-to-device-pinned").value == 28.41  # the slower of the two GPUs
    assert found.get("rate.device-to-host-pinned").value == 29.013
    assert found.get("speed.copies").value == "as-expected"
    assert "rate.peer-copy" not in found.facts
    assert not [f for f in check(*cut(BANDWIDTH, "pasted")).findings if f.id.startswith("speed.")]


def drm(**files: str) -> list[Artifact]:
    """The kernel's files of one RX 7900 XTX."""
    usual = {"vendor": "0x1002", "device": "0x744c", "uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0"}
    return [Artifact(f"sys/class/drm/card0/device/{name}", "live", text + "\n") for name, text in {**usual, **files}.items()]


WHOLE = {"max_link_width": "16", "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}


def test_the_same_test_on_a_narrow_link_names_the_link() -> None:
    slow = BANDWIDTH.replace("28.411", "6.411").replace("28.410", "6.410").replace("29.013", "6.913").replace("29.016", "6.916")
    kernel = drm(current_link_width="4", **WHOLE)
    report = check(*cut(slow, "pasted"), *kernel)
    assert report.snapshot.get("speed.link-share").value == 0.25
    assert "speed-link" in {f.row for f in report.findings}
    assert "speed-link" not in {f.row for f in check(*cut(BANDWIDTH, "pasted"), *kernel).findings}
    assert "speed-link" not in {f.row for f in check(*cut(slow, "pasted"), *drm(current_link_width="16", **WHOLE)).findings}


def test_a_product_faster_than_its_chip_is_not_believed() -> None:
    found = facts(ROCBLAS)
    assert found.get("rate.matmul-fp16").value == 1507.01
    assert found.get("speed.gpu").value == "AMD Radeon RX 6800 XT"
    assert found.get("speed.matmul").value == "cannot-tell"


def test_amds_own_figure_for_its_chip_is_as_expected() -> None:
    found = facts(HIPBLASLT)
    assert found.get("rate.matmul-bf16").value == 709.258
    assert found.get("speed.matmul-bf16").value == "as-expected"
    assert facts(HIPBLASLT.replace("709258", "329258")).get("speed.matmul-bf16").value == "slow"


@pytest.mark.parametrize(
    "text", ["", "transA,transB,M,N,K,rocblas-Gflops,us", "Unidirectional copy peak bandwidth GB/s\n0 N/A x", ROCBLAS[:-60]]
)
def test_a_torn_text_gives_nothing_and_breaks_nothing(text: str) -> None:
    found = pipeline.read_facts(cut(text or "x", "pasted"), MATRIX)
    assert not found.errors
    assert not [name for name in found.facts if name.startswith("rate.")]


def test_small_products_are_not_taken_for_the_gpus_speed() -> None:
    small = ROCBLAS.replace("T,N,4096,4096,4096", "T,N,128,128,128").replace("1.50701e+06", "900")
    assert "rate.matmul-fp16" not in facts(small).facts


def test_a_power_limit_that_the_kernel_names_explains_slow_products() -> None:
    slow = HIPBLASLT.replace("709258", "329258")
    limits = {".power": "power1_cap: 300000000\npower1_cap_default: 750000000"}
    report = check(*cut(slow, "pasted"), *drm(**limits))
    assert report.snapshot.get("speed.cap-share").value == 0.4
    assert "speed-power-cap" in {f.row for f in report.findings}
    assert "speed-power-cap" not in {f.row for f in check(*cut(HIPBLASLT, "pasted"), *drm(**limits)).findings}


# https://github.com/ROCm/legacy-rocm-build/issues/5231, shortened: an MI300X at 750 W
ROCM_SMI = """\
Device  Node  IDs              Temp        Power     Partitions          SCLK     MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
==========================================================================================================================
0       1     0x74b5,   21947  39.0°C      191.0W    NPS1, SPX, 0        2105Mhz  900Mhz  0%   auto  750.0W  95%    0%
"""


def test_a_usual_power_limit_explains_nothing() -> None:
    report = check(*cut(HIPBLASLT.replace("709258", "329258") + ROCM_SMI, "pasted"))
    assert report.snapshot.get("speed.matmul").value == "slow"
    assert not [f for f in report.findings if f.id.startswith("speed.")]


# lamikr/rocm_sdk_builder, docs/notes/devices/g4ad_amazon_aws_v520_gpu: a Radeon Pro V520 rented from AWS, both shortened
AMD_SMI = """\
$ amd-smi static; amd-smi metric
GPU: 0
    ASIC:
        MARKET_NAME: Navi 12 [Radeon Pro V520/V540]
        VENDOR_ID: 0x1002
        DEVICE_ID: 0x7362
    BUS:
        BDF: 0000:00:1e.0
        MAX_PCIE_WIDTH: 16
        MAX_PCIE_SPEED: 16 GT/s
        PCIE_INTERFACE_VERSION: Gen 4
GPU: 0
    POWER:
        SOCKET_POWER: 12 W
        THROTTLE_STATUS: UNTHROTTLED
    PCIE:
        WIDTH: 8
        SPEED: 8 GT/s
        BANDWIDTH: N/A
"""


ONE_GPU = """\
          RocmBandwidthTest Version: 2.6.0

          Device: 0,  AMD EPYC 7R32
          Device: 1,  Radeon Pro V520,  GPU-XX,  00:1e.0

          Unidirectional copy peak bandwidth GB/s

          D/D       0         1

          0         N/A       6.411

          1         6.913     380.528

"""


def test_a_link_that_amd_smi_shows_explains_slow_copies() -> None:
    """The copies are made up."""
    report = check(*cut(ONE_GPU + AMD_SMI, "pasted"))
    assert report.snapshot.get("speed.link-share").value == 0.25
    assert "speed-link" in {f.row for f in report.findings}
    whole = AMD_SMI.replace("WIDTH: 8", "WIDTH: 16").replace("SPEED: 8", "SPEED: 16")
    assert "speed-link" not in {f.row for f in check(*cut(ONE_GPU + whole, "pasted")).findings}


def test_a_link_without_its_maximum_is_told_as_it_is() -> None:
    metric = "$ amd-smi metric\nGPU: 0\n" + AMD_SMI.partition("Gen 4\nGPU: 0\n")[2]
    words = {check.name: check.words for check in check(*cut("GPU 0 is an AMD Radeon RX 7900 XTX\n" + metric, "pasted")).checks}
    assert "Unknown" not in words["link"]
