"""rocm-smi: lists, tables, `--json` and `--csv` of ROCm 1.6 to 7.x.

One GPU of a listing for each index that the output names, even with no other key. Text goes to rocm_smi_text; JSON and CSV are
read here.

    ==> cmd/rocm-smi --showproductname <==
    ============================ ROCm System Management Interface ============================
    GPU[0]		: Card Series: 		AMD Radeon RX 6800 XT
    GPU[0]		: Card Model: 		0x73bf
    GPU[0]		: GFX Version: 		gfx1030
    ================================== End of ROCm SMI Log ===================================

>>> print(probe(sample))
gpu 0 marketing_name = AMD Radeon RX 6800 XT
gpu 0 device_id = 29631
gpu 0 gfx = gfx1030
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.loose_json import roots
from rocm_doctor.probes.read.printed import Line, fields, is_elided, lines, outputs, put_release, quote
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.tools.rocm_smi_keys import describe
from rocm_doctor.probes.tools.rocm_smi_text import read_text

Gpus = dict[int, dict[str, Fact]]


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, driver.version, driver.loaded."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "rocm-smi"):
        gpus: Gpus = {}
        _read_json(result, artifact, gpus)
        _read_csv(result, artifact, gpus)
        read_text(result, artifact, gpus)
        if not gpus:
            _failures(result, artifact)
        for gpu in gpus.values():
            _device_of_subsystem(gpu, artifacts)
        if gpus or "No AMD GPUs specified" in artifact.text:
            result.listing(_complete(artifact, gpus)).gpus += [gpus[n] for n in sorted(gpus)]
    return result


def _device_of_subsystem(gpu: dict[str, Fact], artifacts: Artifacts) -> None:
    """Add the device id of an Instinct of which the subsystem's id alone was printed: AMD gives both the same number there."""
    number = gpu.get("subsystem_id")
    if number and "device_id" not in gpu and number.value in artifacts.gpu_names.accelerators:
        gpu["device_id"] = number


def _complete(artifact: Artifact, gpus: Gpus) -> bool:
    """True if all GPUs are listed: the indexes have no gap, nothing was left out, and the end was printed."""
    cut_short = "ROCm System Management Interface" in artifact.text and "End of ROCm SMI Log" not in artifact.text
    return sorted(gpus) == list(range(len(gpus))) and not is_elided(artifact) and not cut_short


def _failures(result: ProbeResult, artifact: Artifact) -> None:
    for line in lines(artifact):
        if "river not initialized (amdgpu not found in modules)" in line.text or "ROCk module is NOT loaded" in line.text:
            result.record("driver.loaded", False, quote(artifact, line))


def _read_json(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Add the GPUs of `{"card0": {...}, "system": {"Driver version": ...}}`; all values are strings."""
    for root in roots(artifact.text):
        for card, keys in root.items() if isinstance(root, dict) else ():
            if not isinstance(keys, dict):
                continue
            pairs = [
                (k, v, Reading(artifact.name, f"{card}.{k}", f'"{k}": "{v}"'[:200]))
                for k, v in keys.items()
                if isinstance(v, str)
            ]
            if re.fullmatch(r"card\d+", card):
                describe(result, gpus.setdefault(int(card[4:]), {}), pairs)
            elif card == "system":
                _release(result, pairs)


def _release(result: ProbeResult, pairs: list[tuple[str, str, Reading]]) -> None:
    for key, value, reading in pairs:
        if key == "Driver version":
            put_release(result, value, reading)


def _read_csv(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Add the rows of tables that begin with `device,...`: `card0,...` for a GPU, `cardsystem,...` for shared values."""
    for head, row, line in _rows(artifact):
        if not line.whole:
            continue
        pairs = [(key, value, quote(artifact, line)) for key, value in zip(head[1:], row[1:])]
        if row[0] == "cardsystem":
            _release(result, pairs)
        else:
            describe(result, gpus.setdefault(int(row[0][4:]), {}), pairs)


def _rows(artifact: Artifact) -> Iterator[tuple[list[str], list[str], Line]]:
    head: list[str] = []
    for line in lines(artifact):
        text = line.text.strip()
        if text.startswith("device,"):
            head = fields(text)
        elif head and re.match(r"card(?:\d{1,3}|system),", text):
            yield *_align(head, fields(text)), line


def _align(head: list[str], row: list[str]) -> tuple[list[str], list[str]]:
    """Cells by column; older releases do not quote the vendor's name, which has a comma: columns behind it count from the end."""
    lower = [h.lower() for h in head]
    excess = len(row) - len(head)
    if excess > 0 and "card vendor" in lower:
        at = lower.index("card vendor")
        return head, [*row[:at], ",".join(row[at : at + excess + 1]), *row[at + excess + 1 :]]
    return (head, row) if excess == 0 else (head[:1], row[:1])
