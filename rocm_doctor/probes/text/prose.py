"""What a person wrote around the output of tools: the least trusted source, and often the only one.

Rules are the grammar of how people state such things (prose_text.py); which GPU a name means is the catalogue's (gpu_names.py).
Two facts of one name that differ stay disputed; a name that fits several targets stays ambiguous.
"""

from __future__ import annotations

import re

from rocm_doctor.probes.read.notes import Artifacts, Notes
from rocm_doctor.probes.read.page import Page
from rocm_doctor.probes.text.prose_commands import say_commands
from rocm_doctor.probes.text.prose_gpus import say_gpus
from rocm_doctor.probes.text.prose_history import say_history
from rocm_doctor.probes.text.prose_machine import say_machine
from rocm_doctor.probes.text.prose_os import say_os
from rocm_doctor.probes.text.prose_text import sentences
from rocm_doctor.probes.text.prose_versions import say_packages, say_versions

_COMFYUI = re.compile(r"ROCm version: \((\d{1,2}), (\d{1,2})\)")


def probe(artifacts: Artifacts) -> Notes:
    """GPUs, versions, the machine, commands and what works where, out of pasted texts (`paste/text`)."""
    notes = Notes()
    for artifact in artifacts.like("paste/text*"):
        page = artifacts.page(artifact)
        text = sentences(page)
        mine = [sentence for sentence in text if not sentence.other]
        say_versions(notes, text)
        say_packages(notes, text)
        say_os(notes, mine)
        say_machine(notes, mine)
        say_commands(notes, page, mine)
        say_history(notes, mine)
        say_gpus(notes, text, artifacts.gpu_names)
        _say_torchs_rocm(notes, page)
    return notes


def _say_torchs_rocm(notes: Notes, page: Page) -> None:
    """ComfyUI prints torch's ROCm as `(6, 4)`: the system's too, as long as nothing else is said of that."""
    for line in page.lines_with("rocm version: (", most=1):
        found = _COMFYUI.search(line.text)
        if found and "rocm.version" not in notes.facts:
            notes.say("rocm.version", f"{found.group(1)}.{found.group(2)}", page.reading(line))
