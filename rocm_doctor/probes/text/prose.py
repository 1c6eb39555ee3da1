"""What a person wrote around the output of tools: the least trusted source, and often the only one.

The patterns are the grammar of such statements (prose_text.py); the catalog knows which GPU a name means (gpu_names.py).
Facts of one name that differ stay disputed; a name that fits several targets stays ambiguous.

    ==> paste/text <==
    I have two RX 7900 XTX in this box. With ROCm 6.2 it works, since ROCm 6.3 training hangs.

>>> print(probe(sample))
rocm.version = 6.3
said.works.rocm = 6.2
said.broken.rocm = 6.3
gpu 0 marketing_name = RX 7900 XTX
gpu 0 gfx = gfx1100
gpu 1 marketing_name = RX 7900 XTX
gpu 1 gfx = gfx1100
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.text.prose_asks import record_asks
from rocm_doctor.probes.text.prose_commands import record_commands
from rocm_doctor.probes.text.prose_gpus import record_gpus
from rocm_doctor.probes.text.prose_history import record_history
from rocm_doctor.probes.text.prose_machine import record_machine
from rocm_doctor.probes.text.prose_os import record_os
from rocm_doctor.probes.text.prose_text import sentences
from rocm_doctor.probes.text.prose_versions import record_packages, record_versions

_COMFYUI = regex(r"ROCm version: \((\d{1,2}), (\d{1,2})\)")


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, versions, the machine, commands and what works where, from pasted texts (`paste/text`)."""
    result = ProbeResult()
    for artifact in artifacts.like("paste/text*"):
        document = artifacts.document(artifact)
        text = sentences(document)
        mine = [sentence for sentence in text if not sentence.other]
        found = artifacts.programs.of_text(mine) if artifacts.programs else None
        record_versions(result, text, found)
        record_packages(result, text)
        record_os(result, mine)
        record_machine(result, mine)
        record_commands(result, document, mine)
        record_history(result, mine)
        record_asks(result, mine)
        record_gpus(result, text, artifacts.gpu_names)
        _record_torchs_rocm(result, document)
    return result


def _record_torchs_rocm(result: ProbeResult, document: Document) -> None:
    """rocm.version as ComfyUI prints torch's, `(6, 4)`: taken for the system's if nothing else states that."""
    for line in document.lines_with("rocm version: (", most=1):
        found = _COMFYUI.search(line.text)
        if found and "rocm.version" not in result.facts:
            result.record("rocm.version", f"{found.group(1)}.{found.group(2)}", document.reading(line))
