"""The probes in order of trust: what the kernel says before what a tool prints, tool output before what a person writes.

Each is a module with a pure function `probe(artifacts) -> Notes`. To add one, write the module and put it into this table with
the names of the artifacts that it reads: a probe is imported only when one of them is at hand.
"""

from __future__ import annotations

_TEXT = ("paste/*", "log/*")

PROBES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # the kernel and this machine's own files
    ("kfd", ("sys/class/kfd*", "paste/*")),
    ("drm", ("sys/class/drm/*", "paste/*")),
    ("pci", ("sys/bus/pci*", "sys/class/kfd*")),
    ("devices", ("dev/*", *_TEXT)),
    ("driver", ("sys/module/*", "proc/modules", "etc/modprobe.d/*")),
    ("host", ("*",)),
    ("container", ("*",)),
    # the examined interpreter's files and environment
    ("interpreter", ("py/*",)),
    ("torch_build", ("py/*",)),
    ("packages", ("py/*",)),
    ("env", ("env",)),
    ("rocm", ("*",)),
    ("code", ("code/*",)),
    ("smoke", ("smoke/*",)),
    # what tools print
    ("tools", ("cmd/*",)),
    ("rocminfo", ("cmd/*rocminfo*", "paste/*")),
    ("amd_smi", ("cmd/*amd-smi*", "paste/*")),
    ("rocm_smi", ("cmd/*rocm-smi*", "paste/*")),
    ("hip", ("cmd/*hip*", "paste/*")),
    ("clinfo", ("cmd/*clinfo*", "paste/*")),
    ("agents", ("cmd/*rocm_agent_enumerator*", "paste/*")),
    ("collect_env", _TEXT),
    ("pip_list", _TEXT),
    ("version_files", ("cmd/dkms*", "sys/kernel/debug/*", *_TEXT)),
    ("sysinfo", _TEXT),
    ("lspci", ("cmd/lspci*", *_TEXT)),
    ("report", _TEXT),
    ("tracebacks", _TEXT),
    ("env_text", _TEXT),
    ("kernel_log", ("kernel/*", "cmd/dmesg*", "cmd/journalctl*", *_TEXT)),
    # what a person writes
    ("prose", _TEXT),
)
