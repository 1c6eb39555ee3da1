"""rocm_agent_enumerator: one target a line, one for each agent; `gfx000` is the CPU.

    ==> cmd/rocm_agent_enumerator <==
    gfx000
    gfx1100

>>> print(probe(sample))
gpu 0 gfx = gfx1100
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.printed import gfx_target, line_reading, lines, outputs, record_known
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_LINE = regex(r"\W{0,12}(gfx\w{3,4})((?::[a-z]+[+-])*)$")


def probe(artifacts: Artifacts) -> ProbeResult:
    """The GPUs by target alone. A list with only `gfx000` means that there is no GPU."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "agents", "rocm_agent_enumerator"):
        seen: list[tuple[str, str, Reading]] = []
        for line in lines(artifact):
            found = _LINE.match(line.text)
            if found and line.whole:
                seen.append((found.group(1), found.group(2), line_reading(artifact, line)))
        if seen:
            listing = result.listing()
            for gfx, flags, reading in seen:
                if gfx_target(gfx) is not None:
                    gpu = listing.gpu()
                    record_known(result, gpu, "gfx", gfx, reading)
                    record_known(result, gpu, "isa", f"amdgcn-amd-amdhsa--{gfx}{flags}" if flags else None, reading)
    return result
