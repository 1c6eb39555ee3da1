"""The device nodes that ROCm opens, /dev/kfd and /dev/dri/renderD*: there or not, whose they are, open to this user or not."""

from __future__ import annotations

import re

from rocm_doctor.model import Reading
from rocm_doctor.probes.read.keyed import Entry, absent, keyed
from rocm_doctor.probes.read.notes import Artifacts, Notes
from rocm_doctor.probes.read.page import Line, Page
from rocm_doctor.probes.read.scan import whole

_RENDER = re.compile(r"dev/dri/(renderD\d{1,4})$")
_LISTED = re.compile(
    r"^\s*(c[rwx-]{9})[.+@]?\s+\d+\s+(\S+)\s+(\S+)\s+\d+,\s*\d+\s+.{0,40}?\s/?((?:/?dev/)?(?:kfd|dri/renderD\d{1,4}|renderD\d{1,4}))\s*$"
)
_NO_SUCH = re.compile(r"(?:ls|stat): .{0,20}'?/dev/(kfd|dri)/?'?: No such file or directory")


def probe(artifacts: Artifacts) -> Notes:
    """kfd.{exists,openable,error,gid,group}, render.{nodes,openable,gid,group}, dxg.exists."""
    notes = Notes()
    _kfd(notes, artifacts)
    _render(notes, artifacts)
    _dxg(notes, artifacts)
    for page in whole(artifacts):
        _listed(notes, page)
    return notes


def _dxg(notes: Notes, artifacts: Artifacts) -> None:
    """The device that takes the place of all others in WSL; it is looked for there only."""
    node = artifacts.get("dev/dxg")
    nothing = absent(node)
    if nothing:
        notes.say("dxg.exists", False, nothing)
    elif node and not node.missing:
        notes.say("dxg.exists", True, Reading(node.name, "", "exists"))


def _kfd(notes: Notes, artifacts: Artifacts) -> None:
    node = artifacts.get("dev/kfd")
    nothing = absent(node)
    if nothing:
        notes.say("kfd.exists", False, nothing)
        notes.say("kfd.openable", False, nothing)
        notes.say("kfd.error", "No such file or directory", nothing)
    entries = keyed(node, ":")
    if "exists" in entries:
        notes.say("kfd.exists", entries["exists"].value == "yes", entries["exists"].reading)
    for key in ("gid", "group"):
        if key in entries:
            notes.say(f"kfd.{key}", entries[key].value, entries[key].reading)
    opened = _openable(entries)
    if opened is not None:
        notes.say("kfd.openable", opened, entries["open"].reading)
        notes.say("kfd.error", None if opened else entries["open"].value, entries["open"].reading)


def _openable(entries: dict[str, Entry]) -> bool | None:
    """Whether an opening was tried and went well; None when it was not tried or did not come to an end."""
    if "open" not in entries or entries["open"].value == "unknown":
        return None
    return entries["open"].value == "ok"


def _render(notes: Notes, artifacts: Artifacts) -> None:
    nodes = {found.group(1): keyed(a, ":") for a in artifacts.like("dev/dri/renderD*") if (found := _RENDER.search(a.name))}
    nothing = absent(artifacts.get("dev/dri"))
    if nothing:
        notes.say("render.nodes", (), nothing)
    if not nodes:
        return
    first = next(iter(nodes))
    notes.say("render.nodes", tuple(nodes), Reading(f"dev/dri/{first}", "", " ".join(nodes)))
    amd = {name: node for name, node in nodes.items() if _driver(artifacts, name) in ("amdgpu", None)}
    for key in ("gid", "group"):
        values = dict.fromkeys(node[key].value for node in amd.values() if key in node)
        if values:
            notes.say(f"render.{key}", ",".join(values), next(node[key].reading for node in amd.values() if key in node))
    _all_openable(notes, amd)


def _driver(artifacts: Artifacts, render: str) -> str | None:
    """The driver behind a render node; None when sysfs does not tell."""
    driver = keyed(artifacts.get(f"sys/class/drm/{render}/device/uevent"), "=").get("DRIVER")
    return driver.value if driver else None


def _all_openable(notes: Notes, nodes: dict[str, dict[str, Entry]]) -> None:
    tried = [(node["open"].reading, opened) for node in nodes.values() if (opened := _openable(node)) is not None]
    refused = [reading for reading, opened in tried if not opened]
    if refused:
        notes.say("render.openable", False, refused[0])
    elif tried and len(tried) == len(nodes):
        notes.say("render.openable", True, tried[0][0])


def _listed(notes: Notes, page: Page) -> None:
    """`ls -l` lines of the nodes in a pasted text, and its complaint when they are not there."""
    for line in page.lines_with("/dev/kfd", " kfd", "renderd", "/dev/dri", most=60):
        found = _LISTED.match(line.text)
        if found:
            _owner(notes, page, line, found)
        missing = _NO_SUCH.search(line.text.replace("\u2018", "'").replace("\u2019", "'"))
        if missing and missing.group(1) == "kfd":
            notes.say("kfd.exists", False, page.reading(line))


def _owner(notes: Notes, page: Page, line: Line, found: re.Match[str]) -> None:
    group, node = found.group(3), found.group(4)
    family = "kfd" if node.endswith("kfd") else "render"
    if family == "kfd":
        notes.say("kfd.exists", True, page.reading(line))
    notes.say(f"{family}.{'gid' if group.isdigit() else 'group'}", group, page.reading(line))
