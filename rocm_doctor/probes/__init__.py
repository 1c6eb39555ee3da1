"""The probes in order of trust: what the kernel says before what a tool prints, tool output before what a person writes.

Each is a module with a pure function `probe(artifacts) -> Notes`. To add one, write the module and put its name into this list.
"""

from __future__ import annotations

PROBES: tuple[str, ...] = (
    # the kernel and this machine's own files
    "kfd",
    "drm",
    "pci",
    "devices",
    "driver",
    "host",
    "container",
    # the examined interpreter's files and environment
    "interpreter",
    "torch_build",
    "packages",
    "env",
    "rocm",
    "code",
    "smoke",
    # what tools print
    "rocminfo",
    "amd_smi",
    "rocm_smi",
    "hip",
    "clinfo",
    "agents",
    "collect_env",
    "pip_list",
    "version_files",
    "sysinfo",
    "lspci",
    "report",
    "kernel_log",
    "tracebacks",
    # what a person writes
    "prose",
)
