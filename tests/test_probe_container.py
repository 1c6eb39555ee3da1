"""Which container or hypervisor stands between us and the GPU."""

from __future__ import annotations

import pytest
from faketools import artifacts

from rocm_doctor.probes.kernel.container import probe


def container(texts: dict[str, str]) -> object:
    fact = probe(artifacts(texts)).facts.get("container")
    return fact.value if fact else "not said"


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ({".dockerenv": "exists: yes\n"}, "docker"),
        ({"proc/1/cgroup": "12:devices:/docker/0123abcd\n"}, "docker"),
        ({"run/.containerenv": 'engine="podman-4.9.3"\n'}, "podman"),
        ({"env": "container=podman\nHSA_XNACK=1\n"}, "podman"),
        ({"env": "DISTROBOX_ENTER_PATH=/usr/bin/distrobox-enter\ncontainer=podman\n"}, "distrobox"),
        ({"run/.toolboxenv": "exists: yes\n", "run/.containerenv": 'engine="podman-5.0"\n'}, "toolbox"),
        ({"env": "APPTAINER_NAME=rocm.sif\n"}, "apptainer"),
        ({"env": "SINGULARITY_NAME=rocm.sif\n"}, "apptainer"),
        ({"env": "KUBERNETES_SERVICE_HOST=set\n", ".dockerenv": "exists: yes\n"}, "k8s"),
        ({"proc/1/cgroup": "0::/kubepods/burstable/pod1\n"}, "k8s"),
        ({"run/systemd/container": "lxc\n"}, "lxc"),
        ({"proc/1/environ": "container=lxc-libvirt\n"}, "lxc"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, "not said"),
        ({}, "not said"),
    ],
)
def test_kinds(texts: dict[str, str], kind: str) -> None:
    assert container(texts) == kind


def test_outside() -> None:
    fact = probe(artifacts({}, {".dockerenv": "absent-source", "run/.containerenv": "absent-source"})).facts["container"]
    assert fact.value is None


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ({"proc/cpuinfo": "flags\t\t: fpu vme\n"}, None),
        ({"proc/cpuinfo": "flags\t\t: fpu hypervisor\n"}, "unnamed"),
        ({"proc/cpuinfo": "flags : hypervisor\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"}, "QEMU"),
        (
            {
                "proc/cpuinfo": "flags : hypervisor\n",
                "sys/hypervisor/type": "xen\n",
                "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
            },
            "xen",
        ),
        ({"proc/cpuinfo": "flags : fpu\n", "sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n"}, None),
    ],
)
def test_guests(texts: dict[str, str], kind: str | None) -> None:
    assert probe(artifacts(texts)).facts["virtual_machine"].value == kind


def test_no_flags_no_answer() -> None:
    assert "virtual_machine" not in probe(artifacts({"sys/class/dmi/id/sys_vendor": "QEMU\n"})).facts
