"""Containers and virtual machines: what separates this process from the host, if anything.

    ==> .dockerenv <==
    exists: yes
    ==> sys/class/dmi/id/sys_vendor <==
    QEMU
    ==> proc/cpuinfo <==
    flags           : fpu vme hypervisor

>>> print(probe(sample))
container = docker
virtual_machine = QEMU
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.keyed import absence, first_value, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult


class Sign(NamedTuple):
    """A container of this kind, recognised by `pattern` in the text of `artifact`; without a kind, its group 1 names it."""

    kind: str
    artifact: str
    pattern: re.Pattern[str]


def _sign(kind: str, artifact: str, pattern: str) -> Sign:
    return Sign(kind, artifact, regex(pattern, re.MULTILINE))


SIGNS = (
    # distrobox and toolbox run on podman or docker: they must be recognised first
    _sign("distrobox", "env", r"^DISTROBOX_ENTER_PATH=.+"),
    _sign("toolbox", "run/.toolboxenv", r"exists: yes"),
    _sign("toolbox", "env", r"^TOOLBOX_PATH=.+"),
    _sign("apptainer", "env", r"^(?:APPTAINER_NAME|SINGULARITY_NAME)=.+"),
    _sign("k8s", "env", r"^KUBERNETES_SERVICE_HOST=.+"),
    _sign("k8s", "proc/1/cgroup", r"/kubepods.*"),
    _sign("podman", "run/.containerenv", r"engine=\"?podman.*"),
    _sign("podman", "env", r"^container=podman"),
    _sign("docker", ".dockerenv", r"exists: yes"),
    _sign("docker", "proc/1/cgroup", r"/docker[/-].*"),
    _sign("lxc", "proc/1/environ", r"^container=lxc"),
    _sign("lxc", "proc/1/cgroup", r":/lxc[/.].*"),
    _sign("", "run/systemd/container", r"^(podman|docker|lxc)"),
)
"""Traces of each container runtime; the first match decides."""
_LOOKED = (".dockerenv", "run/.containerenv")


def probe(artifacts: Artifacts) -> ProbeResult:
    """container (absent outside of one), container.rootless and virtual_machine (absent on bare metal)."""
    result = ProbeResult()
    _record_container(result, artifacts)
    _record_virtual_machine(result, artifacts)
    return result


def _record_container(result: ProbeResult, artifacts: Artifacts) -> None:
    for sign in SIGNS:
        found = sign.pattern.search(artifacts.text(sign.artifact) or "")
        if found:
            result.record("container", sign.kind or found[1], Reading(sign.artifact, "", found.group()[:120]))
            if mode := read_keys(artifacts.get("run/.containerenv"), "=").get("rootless"):
                result.record("container.rootless", mode.value == "1", mode.reading)
            return
    nothing = [reading for name in _LOOKED if (reading := absence(artifacts.get(name)))]
    if len(nothing) == len(_LOOKED):
        result.record("container", None, nothing[0])


def _record_virtual_machine(result: ProbeResult, artifacts: Artifacts) -> None:
    """virtual_machine: the hypervisor by the name that the firmware gives, if the processor has the hypervisor flag."""
    if flags := read_keys(artifacts.get("proc/cpuinfo"), ":").get("flags"):
        guest = "hypervisor" in flags.value.split()
        names = filter(None, map(first_value, map(artifacts.get, ("sys/hypervisor/type", "sys/class/dmi/id/sys_vendor"))))
        vendor = next(names, None) if guest else None
        quote = "hypervisor flag" if guest else "no hypervisor flag"
        reading = vendor.reading if vendor else Reading(flags.reading.artifact, flags.reading.place, quote)
        result.record("virtual_machine", vendor.value if vendor else "unnamed" if guest else None, reading)
