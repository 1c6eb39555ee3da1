"""amd-smi of ROCm 6.0 to 7.2: text trees, the boxed table, `monitor`, `--json`, `--csv`, and the line of versions in each.

    ==> cmd/amd-smi static <==
    GPU: 0
        ASIC:
            MARKET_NAME: AMD Instinct MI210
            DEVICE_ID: 0x740f
            TARGET_GRAPHICS_VERSION: gfx90a
        BUS:
            BDF: 0000:63:00.0
        VRAM:
            SIZE: 65536 MB

>>> print(probe(sample))
gpu 0 marketing_name = AMD Instinct MI210
gpu 0 device_id = 29711
gpu 0 gfx = gfx90a
gpu 0 pci_bdf = 0000:63:00.0
gpu 0 vram_bytes = 68719476736
"""

from __future__ import annotations

from collections.abc import Callable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.printed import Line, is_elided, lines, outputs, put_release, quote, stated_value
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.tools.amd_smi_json import read_csv, read_json
from rocm_doctor.probes.tools.amd_smi_text import read_table, read_tree

Gpus = dict[int, dict[str, Fact]]
_READERS: tuple[Callable[[ProbeResult, Artifact, Gpus], None], ...] = (read_json, read_csv, read_tree, read_table)
_ROCM = regex(r"ROCm version:\s*(\d+\.\d+(?:\.\d+){0,2})(?=\s|\||$)")
_DRIVER = regex(r"amdgpu version:\s*([^\s|]+)")
_GROUPS = regex(r"missing the following required groups?:\s*([a-z, ]+)\.")


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, rocm.version, driver.version, driver.loaded, virtual_machine, user.missing_group."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "amd-smi"):
        gpus: Gpus = {}
        for read in _READERS:
            read(result, artifact, gpus)
        for line in lines(artifact):
            if "ersion:" in line.text:
                _versions(result, line, quote(artifact, line))
            _state(result, line, quote(artifact, line), bool(gpus))
        if gpus:
            complete = sorted(gpus) == list(range(len(gpus))) and not is_elided(artifact)
            result.listing(complete).gpus += [gpus[n] for n in sorted(gpus)]
    return result


def _versions(result: ProbeResult, line: Line, reading: Reading) -> None:
    """`AMDSMI Tool: ... | ROCm version: 6.4.0 | amdgpu version: 6.12.12 | ...`, the table's head, or the usage text's. The
    last value of a line that is not whole may lack digits."""
    rocm = _ROCM.search(line.text)
    if rocm and (line.whole or rocm.end() < len(line.text)):
        result.record("rocm.version", rocm.group(1), reading)
    driver = _DRIVER.search(line.text)
    if driver and (line.whole or driver.end() < len(line.text)) and stated_value(driver.group(1)):
        put_release(result, driver.group(1), reading)


def _state(result: ProbeResult, line: Line, reading: Reading, lists_gpus: bool) -> None:
    """driver.loaded from the line about the module, which amd-smi also prints for a built-in amdgpu: ignored if GPUs are listed."""
    if "amdgpu not found in modules" in line.text and not lists_gpus:
        result.record("driver.loaded", False, reading)
    if "Platform: Linux Baremetal" in line.text:
        result.record("virtual_machine", None, reading)
    elif "Platform: Linux Guest" in line.text:
        result.record("virtual_machine", "guest", reading)
    if "missing the following required group" in line.text and (found := _GROUPS.search(line.text)):
        result.record("user.missing_group", found.group(1).split(",")[0].strip(), reading)
