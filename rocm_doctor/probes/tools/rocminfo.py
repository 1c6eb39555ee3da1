"""rocminfo's text, of ROCm 1.x to 7.x and of WSL: the agents it lists, and its error messages.

Layouts differ by release, and reporters cut and grep lines, so every key is searched on its own and no line number counts.

    ==> cmd/rocminfo <==
    ROCk module version 6.12.12 is loaded
    Runtime Version:         1.15
    *******
    Agent 2
    *******
      Name:                    gfx1100
      Uuid:                    GPU-5c9a1f0e7b2d4a63
      Marketing Name:          Radeon RX 7900 XTX
      Device Type:             GPU
      Chip ID:                 29772(0x744c)
      BDFID:                   768
      Compute Unit:            96
    *** Done ***

>>> print(probe(sample))
driver.loaded = True
driver.version = 6.12.12
runtime.version = 1.15
gpu 0 gfx = gfx1100
gpu 0 marketing_name = Radeon RX 7900 XTX
gpu 0 uuid = GPU-5c9a1f0e7b2d4a63
gpu 0 device_id = 29772
gpu 0 compute_units = 96
gpu 0 pci_bdf = 0000:03:00.0
"""

from __future__ import annotations

import re
from collections import Counter

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.printed import (
    Line,
    gfx_target,
    is_elided,
    line_reading,
    lines,
    outputs,
    product_name,
    record_known,
    size,
    stated_value,
    whole_number,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.tools.rocminfo_errors import record_failures

_KEYS = (
    "Name", "Uuid", "Marketing Name", "Vendor Name", "Node", "Device Type", "Chip ID", "BDFID", "Compute Unit", "Wavefront Size",
    "Memory Properties", "Segment", "Size",
)  # fmt: skip
_KEY = regex(r"(" + "|".join(_KEYS) + r"):(.*)")
_JOINED = regex(r"\s{2,80}(?=(?:" + "|".join(_KEYS) + r"):)")
"""The start of the next line in lines that were joined."""
_AGENT = regex(r"Agent \d+\W{0,40}$")
_ISA = "amdgcn-amd-amdhsa--"


class _Agent:
    """One agent, as far as it was read: the value of each key with its line."""

    def __init__(self) -> None:
        self.said: dict[str, tuple[str, Reading]] = {}
        self.segment = ""
        self.isa_number = 0

    def keep(self, key: str, value: str, reading: Reading) -> None:
        self.said.setdefault(key, (value, reading))

    def value(self, key: str) -> str:
        return self.said[key][0] if key in self.said else ""


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, runtime.version, driver.version, driver.loaded, kfd.error, hsa.status, wsl."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "rocminfo"):
        _read_output(result, artifact)
    return result


def _read_output(result: ProbeResult, artifact: Artifact) -> None:
    record_failures(result, artifact)
    whole = not is_elided(artifact)
    agents: list[_Agent] = []
    for line in lines(artifact):
        line = line._replace(text=line.text.lstrip(" \t#>|").rstrip(" \t#|"))
        if "*** Done" in line.text or "HSA System Attributes" in line.text:
            _record_list(result, agents, whole and "Done" in line.text)
            agents = []
        if line.text.startswith("Runtime Version:") and line.whole:
            _record_runtime(result, artifact, line)
        for text in _JOINED.split(line.text):
            _feed(agents, line._replace(text=text), line_reading(artifact, line))
    _record_list(result, agents, False)


def _record_runtime(result: ProbeResult, artifact: Artifact, line: Line) -> None:
    version = line.text.partition(":")[2].strip()
    if re.fullmatch(r"\d+\.\d+", version):
        result.record("runtime.version", version, line_reading(artifact, line))


def _feed(agents: list[_Agent], line: Line, reading: Reading) -> None:
    """Add one line to its agent; a head, or a second name, begins a new agent."""
    if _AGENT.match(line.text):
        agents.append(_Agent())
        return
    number = re.match(r"ISA (\d)$", line.text)
    if number and agents:
        agents[-1].isa_number = int(number.group(1))
    found = _KEY.match(line.text)
    if not found or not line.whole:
        return
    key, value = found.group(1), found.group(2).strip().rstrip("\\").strip()
    if key == "Name" and value.startswith(_ISA):
        _feed_isa(agents, value[len(_ISA) :], reading)
    else:
        if _begins_another(agents, key):
            agents.append(_Agent())
        _feed_key(agents[-1], key, value, reading)


def _begins_another(agents: list[_Agent], key: str) -> bool:
    if not agents:
        return True
    last = agents[-1].said
    return (key == "Name" and ("Name" in last or "Marketing Name" in last)) or (key in ("Uuid", "Marketing Name") and key in last)


def _feed_isa(agents: list[_Agent], value: str, reading: Reading) -> None:
    if gfx_target(value) is None:
        return  # a generic ISA (gfx11-generic) is not a device
    if not agents or ("isa" in agents[-1].said and agents[-1].isa_number < 2):
        agents.append(_Agent())
    agents[-1].keep("isa", _ISA + value, reading)


def _feed_key(agent: _Agent, key: str, value: str, reading: Reading) -> None:
    if key == "Segment":
        agent.segment = value
    elif key == "Size":
        if agent.segment.startswith("GLOBAL"):
            agent.keep("memory", value, reading)
        agent.segment = ""
    else:
        agent.keep(key, value, reading)


def _is_gpu(agent: _Agent) -> bool:
    """True for an agent of type GPU or with a gfx name. NPUs are agents of type DSP (`aie2`)."""
    kind = agent.value("Device Type")
    return kind == "GPU" or (
        not kind and (gfx_target(agent.value("Name")) is not None or ("Name" not in agent.said and "isa" in agent.said))
    )


def _record_list(result: ProbeResult, agents: list[_Agent], complete: bool) -> None:
    gpus = [a for a in agents if _is_gpu(a)]
    if not gpus and not (agents and complete):
        return
    listing = result.listing(complete)
    shared = _drop_shared_addresses(gpus)
    for agent in gpus:
        _record_gpu(result, listing.gpu(), agent, shared)


def _drop_shared_addresses(gpus: list[_Agent]) -> set[str]:
    """Drop PCI addresses that several GPUs share: BDFID lacks the domain, and boards of several domains (MI300A) print the same."""
    return {address for address, count in Counter(a.value("BDFID") for a in gpus).items() if count > 1}


def _record_gpu(result: ProbeResult, gpu: dict[str, Fact], agent: _Agent, shared: set[str]) -> None:
    named = "Name" if gfx_target(agent.value("Name")) else "isa"
    for key, source, value in (
        ("gfx", named, gfx_target(agent.value(named).removeprefix(_ISA))),
        ("marketing_name", "Marketing Name", product_name(agent.value("Marketing Name"))),
        ("uuid", "Uuid", stated_value(agent.value("Uuid"))),
        ("device_id", "Chip ID", whole_number(agent.value("Chip ID")) or None),
        ("compute_units", "Compute Unit", whole_number(agent.value("Compute Unit")) or None),
        ("wavefront_size", "Wavefront Size", whole_number(agent.value("Wavefront Size")) or None),
        ("node", "Node", whole_number(agent.value("Node"))),
        ("vram_bytes", "memory", size(agent.value("memory")) or None),
        ("pci_bdf", "BDFID", None if agent.value("BDFID") in shared else _address(whole_number(agent.value("BDFID")))),
        ("is_apu", "Memory Properties", _apu(agent)),
    ):
        if source in agent.said:
            record_known(result, gpu, key, value, agent.said[source][1])


def _address(bdfid: int | None) -> str | None:
    """The PCI address of `BDFID`, in domain 0, which it does not state; None for 0."""
    return f"0000:{bdfid >> 8 & 255:02x}:{bdfid >> 3 & 31:02x}.{bdfid & 7}" if bdfid and bdfid < 65536 else None


def _apu(agent: _Agent) -> bool | None:
    """Printed since ROCm 6.2: `APU`, or nothing for a GPU of its own."""
    return "APU" in agent.value("Memory Properties").split() if "Memory Properties" in agent.said else None
