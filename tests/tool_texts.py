"""Output of the GPU tools for made-up machines, in the layouts that real captures show (ids and serial numbers are invented)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from rocm_doctor.facts.enrich import gpu_names
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Fact, Unknown
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

NAMES = gpu_names(load())

HEAD = """\
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
Runtime Ext Version:     1.6
System Timestamp Freq.:  1000.000000MHz
Machine Model:           LARGE

==========
HSA Agents
==========
"""
CPU = """\
*******
Agent 1
*******
  Name:                    Some 8-Core Processor
  Uuid:                    CPU-XX
  Marketing Name:          Some 8-Core Processor
  Vendor Name:             CPU
  Node:                    0
  Device Type:             CPU
  Chip ID:                 5597(0x15dd)
  BDFID:                   0
  Compute Unit:            16
  Memory Properties:
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: FINE GRAINED
      Size:                    32000000(0x1e84800) KB
      Allocatable:             TRUE
  ISA Info:
"""
GPU = """\
*******
Agent {number}
*******
  Name:                    {gfx}
  Uuid:                    {uuid}
  Marketing Name:          {name}
  Vendor Name:             AMD
  Feature:                 KERNEL_DISPATCH
  Node:                    {node}
  Device Type:             GPU
  Cache Info:
    L1:                      16(0x10) KB
  Chip ID:                 {chip}({chip:#x})
  ASIC Revision:           1(0x1)
  Max Clock Freq. (MHz):   2500
  BDFID:                   {bdfid}
  Internal Node ID:        {node}
  Compute Unit:            {units}
  Memory Properties:       {memory}
  Features:                KERNEL_DISPATCH
  Wavefront Size:          {wave}({wave:#x})
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    {kilobytes}({kilobytes:#x}) KB
      Allocatable:             TRUE
    Pool 2
      Segment:                 GROUP
      Size:                    64(0x40) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--{gfx}{flags}
      Machine Models:          HSA_MACHINE_MODEL_LARGE
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx11-generic
      Machine Models:          HSA_MACHINE_MODEL_LARGE
"""
NPU = """\
*******
Agent 3
*******
  Name:                    aie2p
  Uuid:                    AIE-XX
  Marketing Name:          RyzenAI-npu5
  Vendor Name:             AMD
  Device Type:             DSP
  Compute Unit:            0
  Memory Properties:
"""
DONE = "*** Done ***\n"


def gpu_agent(**other: object) -> str:
    """One GPU agent as rocminfo of ROCm 6.4 prints it: an RX 7900 XTX unless said otherwise."""
    said: dict[str, object] = {
        "number": 2, "gfx": "gfx1100", "uuid": "GPU-00000000000000aa", "name": "AMD Radeon RX 7900 XTX", "node": 1, "chip": 0x744C, "bdfid": 768,
        "units": 96, "memory": "", "wave": 32, "kilobytes": 25149440, "flags": "",
    }  # fmt: skip
    return GPU.format(**{**said, **other})


ROCMINFO = "ROCk module version 6.12.12 is loaded\n" + HEAD + CPU + gpu_agent() + DONE

SMI_LIST = """\
============================ ROCm System Management Interface ============================
====================================== Product Info ======================================
GPU[0]\t\t: Card Series: \t\tAMD Radeon PRO W7900
GPU[0]\t\t: Card Model: \t\t0x7448
GPU[0]\t\t: Card Vendor: \t\tAdvanced Micro Devices, Inc. [AMD/ATI]
GPU[0]\t\t: Node ID: \t\t1
GPU[0]\t\t: GFX Version: \t\tgfx1100
GPU[0]\t\t: PCI Bus: 0000:63:00.0
GPU[0]\t\t: VRAM Total Memory (B): 48301604864
==========================================================================================
================================== End of ROCm SMI Log ===================================
"""
SMI_TABLE = """\
========================================= ROCm System Management Interface =========================================
=================================================== Concise Info ===================================================
Device  Node  IDs              Temp    Power  Partitions          SCLK  MCLK   Fan    Perf    PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Edge)  (Avg)  (Mem, Compute, ID)
====================================================================================================================
0       2     0x73bf,   11111  43.0°C  6.0W   N/A, N/A, 0         0Mhz  96Mhz  0%     manual  150.0W  3%     0%
1       1     0x744c,   22222  34.0°C  8.0W   N/A, N/A, 0         None  96Mhz  20.0%  auto    213.0W  0%     0%
====================================================================================================================
=============================================== End of ROCm SMI Log ================================================
"""
SMI_JSON = """\
WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

{"card0": {"Device Name": "AMD Radeon RX 6800", "Device ID": "0x73bf", "PCI Bus": "0000:0A:00.0", "VRAM Total Memory (B)": "17163091968",
 "Card Series": "AMD Radeon RX 6800", "Card Model": "0x73bf", "Node ID": "1", "GFX Version": "gfx1030"},
 "system": {"Driver version": "6.12.12"}}
"""
AMD_STATIC = """\
CPU: 0
    SMU:
        FW_VERSION: 85.90.0
    ASIC:
        MARKET_NAME: no GPU


GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI300A
        DEVICE_ID: 0x74a0
        NUM_COMPUTE_UNITS: 228
        TARGET_GRAPHICS_VERSION: gfx942
    BUS:
        BDF: 0001:01:00.0
    IFWI:
        VERSION: 022.040.003.043
    DRIVER:
        NAME: amdgpu
        VERSION: 6.14.4
    NUMA:
        NODE: 1
        AFFINITY: 1
    VRAM:
        TYPE: HBM
        SIZE: 96432 MB
    CACHE_INFO:
        CACHE_0:
            CACHE_SIZE: 32 KB
"""
AMD_BOX = """\
+------------------------------------------------------------------------------+
| AMD-SMI 26.2.1+abcdef        amdgpu version: Linuxver ROCm version: 7.2.0    |
| VBIOS version: 00131162                                                      |
| Platform: Linux Baremetal                                                    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:04:00.0  AMD Radeon RX 9070 XT | 0 %      41 °C   0            16/304 W |
|   0       0     N/A             N/A | 0 %      0.0 %             84/16304 MB |
|-------------------------------------+----------------------------------------|
| 0000:07:00.0 ...Radeon AI PRO R9700 | 0 %      40 °C   0            17/304 W |
|   1       1     N/A             N/A | 3 %      0.0 %            347/32624 MB |
+-------------------------------------+----------------------------------------+
"""
AMD_MONITOR = """\
AMDSMI Tool: 25.3.0+abcdef | AMDSMI Library version: 25.3.0 | ROCm version: 6.4.0 | amdgpu version: 6.12.12 | amd_hsmp version: N/A
WARNING: User is missing the following required groups: render. Please add user to these groups.
GPU  XCP  POWER   GPU_T  VRAM_USED  VRAM_TOTAL
  0    0  140 W   39 °C     283 MB   196300 MB
  1    0    N/A   36 °C     283 MB   196300 MB
"""
AMD_JSON = """\
/usr/lib/x.py:12: SyntaxWarning: invalid escape sequence '\\.'
{
  "gpu_data": [
    {"gpu": 0, "asic": {"market_name": "AMD Radeon Graphics", "device_id": "0x1586", "num_compute_units": 40, "target_graphics_version": "gfx1151"},
     "bus": {"bdf": "0000:c5:00.0"}, "driver": {"name": "amdgpu", "version": "Linuxversion6.17.0-8-generic(buildd@x)(gcc)"},
     "vram": {"type": "UNKNOWN", "size": {"value": 98304, "unit": "MB"}},
    },
    ...
  ]
}
"""
HIPINFO = """\
--------------------------------------------------------------------------------
device#                           0
Name:                             AMD Radeon RX 7800 XT
pciBusID:                         3
pciDeviceID:                      0
pciDomainID:                      0
multiProcessorCount:              30
totalGlobalMem:                   15.98 GB
warpSize:                         32
isIntegrated:                     0
gcnArchName:                      gfx1101

memInfo.total:                    15.98 GB
--------------------------------------------------------------------------------
device#                           1
Name:                             Device 66a1
pciBusID:                         99
pciDeviceID:                      2
multiProcessorCount:              60
totalGlobalMem:                   31.98 GB
warpSize:                         64
isIntegrated:                     1
gcnArchName:                      gfx906:sramecc+:xnack-
"""
SINGLE = (
    ROCMINFO, SMI_LIST, SMI_TABLE, SMI_JSON, AMD_STATIC, AMD_BOX, AMD_MONITOR, AMD_JSON, HIPINFO,

)  # fmt: skip
EVERY: dict[str, str] = {
    "rocminfo": ROCMINFO, "rocm-smi": SMI_LIST + SMI_TABLE + SMI_JSON, "amd-smi": AMD_STATIC + AMD_BOX + AMD_MONITOR + AMD_JSON,
    "hipinfo": HIPINFO,
}  # fmt: skip


def plain(facts: dict[str, Fact]) -> dict[str, object]:
    """The known values by name."""
    return {key: fact.value for key, fact in facts.items() if not isinstance(fact.value, Unknown)}


def run(probe: Callable[[Artifacts], ProbeResult] | ModuleType, *pairs: tuple[str, str]) -> ProbeResult:
    """What a probe notes on artifacts of these names and texts."""
    call = probe.probe if isinstance(probe, ModuleType) else probe
    notes: ProbeResult = call(Artifacts((Artifact(name, "paste", text) for name, text in pairs), lambda: NAMES))
    return notes


def gpus(notes: ProbeResult) -> list[dict[str, object]]:
    """The values of every GPU of every listing, in order."""
    return [plain(gpu) for listing in notes.listings for gpu in listing.gpus]
