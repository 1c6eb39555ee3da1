"""The probes in order of trust: the kernel before tools, tool output before what a person writes.

Each is a module with a pure function `probe(artifacts) -> ProbeResult`. To add one, write the module and add it to this table with
the names of the artifacts that it reads: a probe is imported only when one of them is present.
"""

from __future__ import annotations

_TEXT = ("paste/*", "log/*")

PROBES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # a target in place of a machine
    ("text.declared", ("declared/*",)),
    # the kernel and this machine's own files
    ("kernel.kfd", ("sys/class/kfd*",)),
    ("kernel.drm", ("sys/class/drm/*",)),
    ("kernel.pci", ("sys/bus/pci*", "sys/class/kfd*")),
    ("kernel.health", ("sys/class/drm/*/.health", "sys/class/kfd/kfd/proc", "sys/class/infiniband")),
    ("kernel.devices", ("dev/*", *_TEXT)),
    ("kernel.driver", ("sys/module/*", "proc/modules", "etc/modprobe.d/*", "lib/modules/*")),
    ("kernel.host", ("*",)),
    ("kernel.container", ("*",)),
    # the examined interpreter's files and environment
    ("python.interpreter", ("py/*",)),
    ("python.torch_build", ("py/*",)),
    ("python.packages", ("py/*",)),
    ("python.env", ("env", "user/.*", "etc/*")),
    ("python.rocm", ("*",)),
    ("python.code", ("code/*",)),
    ("python.smoke", ("smoke/*",)),
    ("python.bench", ("bench/*",)),
    # what tools print
    ("text.own_report", ("report/*",)),
    ("tools.failed_tools", ("cmd/*",)),
    ("tools.rocminfo", ("cmd/*rocminfo*", "paste/*-rocminfo")),
    ("tools.amd_smi", ("cmd/*amd-smi*", "paste/*-amd-smi")),
    ("tools.rocm_smi", ("cmd/*rocm-smi*", "paste/*-rocm-smi")),
    ("tools.hipinfo", ("cmd/*hip?nfo*", "paste/*-hipinfo")),
    ("text.records", _TEXT),
    ("text.program_gpus", _TEXT),
    ("text.versions", ("sys/kernel/debug/*", *_TEXT)),
    ("text.pip_list", _TEXT),
    ("text.env_text", _TEXT),
    ("text.session", _TEXT),
    ("text.run", _TEXT),
    ("text.frameworks", ("declared/framework", *_TEXT)),
    ("kernel.kernel_log", ("kernel/*", "cmd/dmesg*", "cmd/journalctl*", *_TEXT)),
    # what a person writes
    ("text.prose", _TEXT),
)
