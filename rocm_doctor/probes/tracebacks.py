"""What the paths of a traceback or a warning tell: the Python they ran in, and the ROCm folders they went through."""

from __future__ import annotations

import re

from rocm_doctor.probes.interpreter import environment
from rocm_doctor.probes.notes import Artifacts, Notes
from rocm_doctor.probes.page import Page
from rocm_doctor.probes.scan import whole

_SITE = re.compile(r"((?:[\w.…~-]+)?(?:/[^\s\"':,/]+){0,30})/lib(?:64)?/python(\d\.\d{1,2})/(?:site|dist)-packages\b")
_WINDOWS = re.compile(r"\bPython(3)(\d{1,2})\\(?:Lib|Scripts|python)", re.I)
_ROCM = re.compile(r"(?<![\w.-])/opt/rocm-(\d{1,2}\.\d+(?:\.\d+)?)(?=[/\s:'\",)]|$)")


def probe(artifacts: Artifacts) -> Notes:
    """python.version, python.prefix and python.env from site-packages; rocm.version from /opt/rocm-X.Y.Z."""
    notes = Notes()
    for page in whole(artifacts):
        _python(notes, page)
        for line in page.lines_with("/opt/rocm-", most=20):
            found = _ROCM.search(line.text)
            if found:
                notes.say("rocm.version", found.group(1), page.reading(line))
    return notes


def _python(notes: Notes, page: Page) -> None:
    """The first path counts: a text that shows two interpreters is about the first one."""
    for line in page.lines_with("-packages", most=50):
        found = _SITE.search(line.text)
        if found is None:
            continue
        notes.say("python.version", found.group(2), page.reading(line))
        prefix = found.group(1)
        if prefix.startswith("/") and "…" not in prefix and "..." not in prefix:
            notes.say("python.prefix", prefix, page.reading(line))
            notes.say("python.env", environment(prefix, own=False), page.reading(line))
        return
    for line in page.lines_with("\\python3", most=20):
        windows = _WINDOWS.search(line.text)
        if windows:
            notes.say("python.version", f"{windows.group(1)}.{windows.group(2)}", page.reading(line))
            return
