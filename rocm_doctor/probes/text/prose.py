"""What a person wrote around the output of tools: the least trusted source, and often the only one.

Rules are the grammar of how people state such things (prose_text.py); which GPU a name means is the catalogue's (gpu_names.py).
Two facts of one name that differ stay disputed; a name that fits several targets stays ambiguous.
"""

from __future__ import annotations

import re

from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.text.prose_commands import record_commands
from rocm_doctor.probes.text.prose_gpus import record_gpus
from rocm_doctor.probes.text.prose_history import record_history
from rocm_doctor.probes.text.prose_machine import record_machine
from rocm_doctor.probes.text.prose_os import record_os
from rocm_doctor.probes.text.prose_text import sentences
from rocm_doctor.probes.text.prose_versions import record_packages, record_versions

_COMFYUI = re.compile(r"ROCm version: \((\d{1,2}), (\d{1,2})\)")


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, versions, the machine, commands and what works where, out of pasted texts (`paste/text`)."""
    result = ProbeResult()
    for artifact in artifacts.like("paste/text*"):
        document = artifacts.document(artifact)
        text = sentences(document)
        mine = [sentence for sentence in text if not sentence.other]
        record_versions(result, text)
        record_packages(result, text)
        record_os(result, mine)
        record_machine(result, mine)
        record_commands(result, document, mine)
        record_history(result, mine)
        record_gpus(result, text, artifacts.gpu_names)
        _record_torchs_rocm(result, document)
    return result


def _record_torchs_rocm(result: ProbeResult, document: Document) -> None:
    """ComfyUI prints torch's ROCm as `(6, 4)`: the system's too, as long as nothing else is said of that."""
    for line in document.lines_with("rocm version: (", most=1):
        found = _COMFYUI.search(line.text)
        if found and "rocm.version" not in result.facts:
            result.record("rocm.version", f"{found.group(1)}.{found.group(2)}", document.reading(line))
