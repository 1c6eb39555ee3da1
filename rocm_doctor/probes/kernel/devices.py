"""The device nodes that ROCm opens, /dev/kfd and /dev/dri/renderD*: present or not, their owner, and whether this user can open them.

    ==> dev/kfd <==
    exists: yes
    open: Permission denied
    gid: 992
    group: render

>>> print(probe(sample))
kfd.gid = 992
kfd.group = render
kfd.openable = no
kfd.error = Permission denied
kfd.exists = yes
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.keyed import Entries, absence, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_RENDER = regex(r"dev/dri/(renderD\d{1,4})$")
_LISTED = regex(
    r"^\s*c[rwx-]{9}[.+@]?\s+\d+\s+\S+\s+(\S+)\s+\d+,\s*\d+\s+.{0,40}?\s/?((?:/?dev/)?(?:kfd|dri/renderD\d{1,4}|renderD\d{1,4}))\s*$"
)
_NO_SUCH = regex(r"(?:ls|stat): .{0,20}'?/dev/kfd'?: No such file or directory")


def probe(artifacts: Artifacts) -> ProbeResult:
    """For /dev/kfd, the render nodes and /dev/dxg: kfd.{exists,openable,error,gid,group}, render.{nodes,openable,gid,group},
    dxg.exists."""
    result = ProbeResult()
    kfd = artifacts.get("dev/kfd")
    if nothing := absence(kfd):
        for fact, value in (("kfd.exists", False), ("kfd.openable", False), ("kfd.error", "No such file or directory")):
            result.record(fact, value, nothing)
    _record_access(result, "kfd", [read_keys(kfd, ":")])
    _record_render(result, artifacts)
    dxg = artifacts.get("dev/dxg")  # the only GPU device in WSL, and checked there only
    if dxg and (not dxg.missing or absence(dxg)):
        result.record("dxg.exists", not dxg.missing, absence(dxg) or Reading(dxg.name, "", "exists"))
    for document in artifacts.texts():
        _read_listing(result, document)
    return result


def _record_access(result: ProbeResult, family: str, nodes: list[Entries]) -> None:
    """Owner groups of the nodes, and whether this user can open them all; not known if one was not tried, or its opening did not end."""
    for key in ("gid", "group"):
        if having := [node[key] for node in nodes if key in node]:
            result.record(f"{family}.{key}", ",".join(dict.fromkeys(entry.value for entry in having)), having[0].reading)
    tried = [node["open"] for node in nodes if "open" in node and node["open"].value != "unknown"]
    refused = next((entry for entry in tried if entry.value != "ok"), None)
    if refused or (tried and len(tried) == len(nodes)):
        shown = refused or tried[0]
        result.record(f"{family}.openable", refused is None, shown.reading)
        if family == "kfd":
            result.record("kfd.error", refused.value if refused else None, shown.reading)
    if family == "kfd" and "exists" in nodes[0]:
        result.record("kfd.exists", nodes[0]["exists"].value == "yes", nodes[0]["exists"].reading)


def _record_render(result: ProbeResult, artifacts: Artifacts) -> None:
    nodes = {found[1]: read_keys(a, ":") for a in artifacts.like("dev/dri/renderD*") if (found := _RENDER.search(a.name))}
    if nothing := absence(artifacts.get("dev/dri")):
        result.record("render.nodes", (), nothing)
    if nodes:
        result.record("render.nodes", tuple(nodes), Reading(f"dev/dri/{next(iter(nodes))}", "", " ".join(nodes)))
        drivers = {name: read_keys(artifacts.get(f"sys/class/drm/{name}/device/uevent"), "=").get("DRIVER") for name in nodes}
        _record_access(
            result, "render", [node for name, node in nodes.items() if not (d := drivers[name]) or d.value == "amdgpu"]
        )


def _read_listing(result: ProbeResult, document: Document) -> None:
    """Device nodes in the `ls -l` lines of a pasted text, and the error that `ls` prints for missing ones."""
    for line in document.find_lines("/dev/kfd", " kfd", "renderd", "/dev/dri", most=60):
        reading = document.reading(line)
        if found := _LISTED.match(line.text):
            family = "kfd" if found[2].endswith("kfd") else "render"
            result.record(f"{family}.{'gid' if found[1].isdigit() else 'group'}", found[1], reading)
            if family == "kfd":
                result.record("kfd.exists", True, reading)
        if _NO_SUCH.search(line.text.replace("\u2018", "'").replace("\u2019", "'")):
            result.record("kfd.exists", False, reading)
