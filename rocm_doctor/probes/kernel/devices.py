"""The device nodes that ROCm opens, /dev/kfd and /dev/dri/renderD*: present or not, their owner, and whether this user can open them.

    ==> dev/kfd <==
    exists: yes
    open: Permission denied
    gid: 992
    group: render

>>> print(probe(sample))
kfd.exists = True
kfd.gid = 992
kfd.group = render
kfd.openable = False
kfd.error = Permission denied
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.keyed import Entry, absence, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_RENDER = regex(r"dev/dri/(renderD\d{1,4})$")
_LISTED = regex(
    r"^\s*(c[rwx-]{9})[.+@]?\s+\d+\s+(\S+)\s+(\S+)\s+\d+,\s*\d+\s+.{0,40}?\s/?((?:/?dev/)?(?:kfd|dri/renderD\d{1,4}|renderD\d{1,4}))\s*$"
)
_NO_SUCH = regex(r"(?:ls|stat): .{0,20}'?/dev/(kfd|dri)/?'?: No such file or directory")


def probe(artifacts: Artifacts) -> ProbeResult:
    """kfd.{exists,openable,error,gid,group}, render.{nodes,openable,gid,group}, dxg.exists."""
    result = ProbeResult()
    _record_kfd(result, artifacts)
    _record_render(result, artifacts)
    _record_dxg(result, artifacts)
    for document in artifacts.texts():
        _read_listing(result, document)
    return result


def _record_dxg(result: ProbeResult, artifacts: Artifacts) -> None:
    """dxg.exists: the only GPU device in WSL, and checked there only."""
    node = artifacts.get("dev/dxg")
    nothing = absence(node)
    if nothing:
        result.record("dxg.exists", False, nothing)
    elif node and not node.missing:
        result.record("dxg.exists", True, Reading(node.name, "", "exists"))


def _record_kfd(result: ProbeResult, artifacts: Artifacts) -> None:
    node = artifacts.get("dev/kfd")
    nothing = absence(node)
    if nothing:
        result.record("kfd.exists", False, nothing)
        result.record("kfd.openable", False, nothing)
        result.record("kfd.error", "No such file or directory", nothing)
    entries = read_keys(node, ":")
    if "exists" in entries:
        result.record("kfd.exists", entries["exists"].value == "yes", entries["exists"].reading)
    for key in ("gid", "group"):
        if key in entries:
            result.record(f"kfd.{key}", entries[key].value, entries[key].reading)
    opened = _is_openable(entries)
    if opened is not None:
        result.record("kfd.openable", opened, entries["open"].reading)
        result.record("kfd.error", None if opened else entries["open"].value, entries["open"].reading)


def _is_openable(entries: dict[str, Entry]) -> bool | None:
    """True if the device could be opened; None if that was not tried or did not end."""
    if "open" not in entries or entries["open"].value == "unknown":
        return None
    return entries["open"].value == "ok"


def _record_render(result: ProbeResult, artifacts: Artifacts) -> None:
    nodes = {found.group(1): read_keys(a, ":") for a in artifacts.like("dev/dri/renderD*") if (found := _RENDER.search(a.name))}
    nothing = absence(artifacts.get("dev/dri"))
    if nothing:
        result.record("render.nodes", (), nothing)
    if not nodes:
        return
    first = next(iter(nodes))
    result.record("render.nodes", tuple(nodes), Reading(f"dev/dri/{first}", "", " ".join(nodes)))
    amd = {name: node for name, node in nodes.items() if _render_driver(artifacts, name) in ("amdgpu", None)}
    for key in ("gid", "group"):
        values = dict.fromkeys(node[key].value for node in amd.values() if key in node)
        if values:
            result.record(f"render.{key}", ",".join(values), next(node[key].reading for node in amd.values() if key in node))
    _record_render_access(result, amd)


def _render_driver(artifacts: Artifacts, render: str) -> str | None:
    """The driver behind a render node; None if sysfs does not name it."""
    driver = read_keys(artifacts.get(f"sys/class/drm/{render}/device/uevent"), "=").get("DRIVER")
    return driver.value if driver else None


def _record_render_access(result: ProbeResult, nodes: dict[str, dict[str, Entry]]) -> None:
    tried = [(node["open"].reading, opened) for node in nodes.values() if (opened := _is_openable(node)) is not None]
    refused = [reading for reading, opened in tried if not opened]
    if refused:
        result.record("render.openable", False, refused[0])
    elif tried and len(tried) == len(nodes):
        result.record("render.openable", True, tried[0][0])


def _read_listing(result: ProbeResult, document: Document) -> None:
    """Device nodes in the `ls -l` lines of a pasted text, and the error that `ls` prints for missing ones."""
    for line in document.find_lines("/dev/kfd", " kfd", "renderd", "/dev/dri", most=60):
        found = _LISTED.match(line.text)
        if found:
            _record_owner(result, document, line, found)
        missing = _NO_SUCH.search(line.text.replace("\u2018", "'").replace("\u2019", "'"))
        if missing and missing.group(1) == "kfd":
            result.record("kfd.exists", False, document.reading(line))


def _record_owner(result: ProbeResult, document: Document, line: Line, found: re.Match[str]) -> None:
    group, node = found.group(3), found.group(4)
    family = "kfd" if node.endswith("kfd") else "render"
    if family == "kfd":
        result.record("kfd.exists", True, document.reading(line))
    result.record(f"{family}.{'gid' if group.isdigit() else 'group'}", group, document.reading(line))
