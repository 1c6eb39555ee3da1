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
driver.loaded = yes
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
from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.keyed import Entries, KeyedValue
from rocm_doctor.probes.read.pairs import Keys, record_entries
from rocm_doctor.probes.read.printed import (
    OutputLine,
    count,
    gfx_target,
    is_elided,
    lines,
    outputs,
    product_name,
    size,
    stated_value,
    whole_number,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_NAMES = (
    "Name", "Uuid", "Marketing Name", "Vendor Name", "Node", "Device Type", "Chip ID", "BDFID", "Compute Unit", "Wavefront Size",
    "Memory Properties", "Segment", "Size",
)  # fmt: skip
_KEY = regex(r"(" + "|".join(_NAMES) + r"):(.*)")
_JOINED = regex(r"\s{2,80}(?=(?:" + "|".join(_NAMES) + r"):)")
"""The start of the next line in lines that were joined."""
_AGENT = regex(r"Agent \d+\W{0,40}$")
_ISA = "amdgcn-amd-amdhsa--"


def _address(value: str) -> str | None:
    """The PCI address of `BDFID`, in domain 0, which it does not state; None for 0."""
    bdfid = count(value)
    return f"0000:{bdfid >> 8 & 255:02x}:{bdfid >> 3 & 31:02x}.{bdfid & 7}" if bdfid and bdfid < 65536 else None


def _is_apu(value: str) -> bool:
    """Printed since ROCm 6.2: `APU`, or nothing for a GPU of its own."""
    return "APU" in value.split()


KEYS: Keys = {
    "gfx": ("gfx", gfx_target), "Marketing Name": ("marketing_name", product_name), "Uuid": ("uuid", stated_value),
    "Chip ID": ("device_id", count), "Compute Unit": ("compute_units", count), "Wavefront Size": ("wavefront_size", count),
    "Node": ("node", whole_number), "memory": ("vram_bytes", size), "BDFID": ("pci_bdf", _address), "Memory Properties": ("is_apu", _is_apu),
}  # fmt: skip
"""Fact and reader of each key of an agent. `gfx` is its name or ISA, `memory` the size of its first global pool."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, runtime.version, driver.version, driver.loaded, kfd.error, hsa.status, wsl."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "rocminfo"):
        _read_phrases(result, artifact)
        _read_agents(result, artifact)
    return result


_KFD = r"Unable to open /dev/kfd read-write: "
PHRASES: tuple[tuple[re.Pattern[str], str, bool | str | None], ...] = tuple((regex(pattern), fact, value) for pattern, fact, value in (
    (r"WSL environment detected", "wsl", True),
    (r"ROCk module is NOT loaded", "driver.loaded", False),
    (r"ROCk module (?:version \S+ )?is loaded", "driver.loaded", True),
    (r"ROCk module version (\d+(?:\.\d+){1,3}) is loaded", "driver.version", None),
    (_KFD, "kfd.openable", False),
    (_KFD + r"([A-Z][A-Za-z ,/'-]{3,60}?)(?= {2}|\.|$| \S{1,40} is (?:not )?member| Failed to)", "kfd.error", None),
    (_KFD + r"No such file or directory", "kfd.exists", False),
    (r"is member of \"?([a-z]+)\"? group", "user.member_of", None),
    (r"\broot is (?:not )?member of", "user.root", True),
    (r"hsa_init Failed", "hsa.status", "hsa_init failed"),
    (r"(?:returned|code:) (HSA_STATUS_ERROR\w*)", "hsa.status", None),
    (r"returned 4104\b", "hsa.status", "HSA_STATUS_ERROR_OUT_OF_RESOURCES"),  # ROCm 1.x and 2.x print the number
))  # fmt: skip
"""What rocminfo prints before its list, or fails with: a fact and its value; None: the words in the pattern's group."""


def _read_phrases(result: ProbeResult, artifact: Artifact) -> None:
    """Fixed phrases count even in an unfinished last line, words in a group do not. `NOT loaded` is also printed where /sys is not
    mounted, in containers; inside WSL it is always so and means nothing."""
    wsl = "WSL environment detected" in artifact.text
    for line in lines(artifact):
        for pattern, fact, value in PHRASES:
            found = None if wsl and fact.startswith("driver.") else pattern.search(line.text)
            if found and (value is not None or line.whole or found.end() < len(line.text)):
                result.record(fact, found[1] if value is None else value, line.reading)


def _read_agents(result: ProbeResult, artifact: Artifact) -> None:
    complete = not is_elided(artifact)
    agents = Agents()
    for line in lines(artifact):
        text = line.text.lstrip(" \t#>|").rstrip(" \t#|")
        if "*** Done" in text or "HSA System Attributes" in text:
            _record_list(result, agents.all, complete and "Done" in text)
            agents = Agents()
        if line.whole and (version := re.fullmatch(r"Runtime Version:\s*(\d+\.\d+)", text)):
            result.record("runtime.version", version[1], line.reading)
        for part in _JOINED.split(text):
            agents.read(line._replace(text=part))
    _record_list(result, agents.all, False)


class Agents:
    """The agents of one list, as far as they were read."""

    def __init__(self) -> None:
        self.all: list[Entries] = []
        self._segment = ""
        self._isa = 0

    def read(self, line: OutputLine) -> None:
        """Add one line to its agent; a head, or a second name, begins a new agent."""
        if _AGENT.match(line.text):
            self._begin()
        elif number := re.match(r"ISA (\d)$", line.text):
            self._isa = int(number[1])
        elif (found := _KEY.match(line.text)) and line.whole:
            self._read_key(found[1], found[2].strip().rstrip("\\").strip(), line.reading)

    def _begin(self) -> None:
        self.all.append({})
        self._segment, self._isa = "", 0

    def _read_key(self, key: str, value: str, reading: Reading) -> None:
        last = self.all[-1] if self.all else None
        if key == "Name" and value.startswith(_ISA):
            key, value = "isa", value[len(_ISA) :]
            if gfx_target(value) is None:
                return  # a generic ISA (gfx11-generic) is not a device
            again = last is None or ("isa" in last and self._isa < 2)
        else:
            names = ("Name", "Marketing Name") if key == "Name" else (key,) if key in ("Uuid", "Marketing Name") else ()
            again = last is None or any(name in last for name in names)
        if again:
            self._begin()
        if key == "Segment":
            self._segment = value
        elif key != "Size":
            self.all[-1].setdefault(key, KeyedValue(value, reading))
        else:
            if self._segment.startswith("GLOBAL"):
                self.all[-1].setdefault("memory", KeyedValue(value, reading))
            self._segment = ""


def _record_list(result: ProbeResult, agents: list[Entries], complete: bool) -> None:
    """Record the list of the GPUs among the agents; `complete`: there are no others. No list is recorded if there is no GPU,
    unless there are agents and `complete`. BDFID lacks the PCI domain, so an address that several GPUs print (MI300A) is not
    recorded."""
    gpus = [agent for agent in agents if _is_gpu(agent)]
    if gpus or (agents and complete):
        listing = result.listing(complete)
        often = Counter(agent["BDFID"].value for agent in gpus if "BDFID" in agent)
        for agent in gpus:
            names = [agent[key] for key in ("Name", "isa") if key in agent and gfx_target(agent[key].value)]
            shared = "BDFID" in agent and often[agent["BDFID"].value] > 1
            entries = {key: entry for key, entry in agent.items() if key != "BDFID" or not shared}
            record_entries(result, listing.gpu(), {**entries, "gfx": names[0]} if names else entries, KEYS)


def _is_gpu(agent: Entries) -> bool:
    """True for an agent of type GPU or with a gfx name. NPUs are agents of type DSP (`aie2`)."""
    if "Device Type" in agent:
        return agent["Device Type"].value == "GPU"
    return gfx_target(agent["Name"].value) is not None if "Name" in agent else "isa" in agent
