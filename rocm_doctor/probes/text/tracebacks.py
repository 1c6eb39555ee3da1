"""Facts in the paths of a traceback: the Python that ran, the ROCm folders, and the library that raised.

    ==> paste/text <==
    Traceback (most recent call last):
      File "/home/ada/.venv/lib/python3.12/site-packages/bitsandbytes/cextension.py", line 85, in __getattr__
    RuntimeError: Configured ROCm binary not found at /opt/rocm-6.4.1/lib

>>> print(probe(sample))
python.version = 3.12
python.prefix = /home/ada/.venv
python.env = venv
said.raised_in = bitsandbytes
rocm.version = 6.4.1
"""

from __future__ import annotations

import re
from itertools import islice

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.python.interpreter import environment
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import whole

_SITE = regex(r"((?:[\w.…~-]+)?(?:/[^\s\"':,/]+){0,30})/lib(?:64)?/python(\d\.\d{1,2})/(?:site|dist)-packages\b")
_FOLDER = regex(r"/(?:site|dist)-packages\b")
_FOLDERS, _PATH = 5, 500
"""Folders of packages in a line whose path is looked at, and the characters of such a path."""
_FRAME = regex(r"File \"([^\"]{1,400})\", line \d+")
_PACKAGE = regex(r"(?:site|dist)-packages[/\\]+(\w+)")
_STDLIB = regex(r"<frozen |[/\\](?:lib(?:64)?[/\\]python3[\d.]*|Python3?\d*[/\\]lib)[/\\](?!site-packages|dist-packages)", re.I)
_PASSED_THROUGH = frozenset(("torch", "torchvision", "functorch"))
"""Packages in which an error of the calling library may surface."""
_WINDOWS = regex(r"\bPython(3)(\d{1,2})\\(?:Lib|Scripts|python)", re.I)
_ROCM = regex(r"(?<![\w.-])/opt/rocm-(\d{1,2}\.\d+(?:\.\d+)?)(?=[/\s:'\",)]|$)")


def probe(artifacts: Artifacts) -> ProbeResult:
    """python.version, python.prefix, python.env of site-packages; rocm.version of /opt/rocm-X.Y.Z; said.raised_in."""
    result = ProbeResult()
    for document in whole(artifacts):
        _python(result, document)
        _find_origin(result, document)
        for line in document.lines_with("/opt/rocm-", most=20):
            found = _ROCM.search(line.text)
            if found:
                result.record("rocm.version", found.group(1), document.reading(line))
    return result


def _python(result: ProbeResult, document: Document) -> None:
    """python.* from the first path: a text that shows two interpreters is about the first."""
    for line in document.lines_with("-packages", most=50):
        folders = islice(_FOLDER.finditer(line.text), _FOLDERS)
        found = next(filter(None, (_SITE.search(line.text, max(0, f.start() - _PATH), f.end()) for f in folders)), None)
        if found is None:
            continue
        result.record("python.version", found.group(2), document.reading(line))
        prefix = found.group(1)
        if prefix.startswith("/") and "…" not in prefix and "..." not in prefix:
            result.record("python.prefix", prefix, document.reading(line))
            result.record("python.env", environment(prefix, own=False), document.reading(line))
        return
    for line in document.lines_with("\\python3", most=20):
        windows = _WINDOWS.search(line.text)
        if windows:
            result.record("python.version", f"{windows.group(1)}.{windows.group(2)}", document.reading(line))
            return


def _find_origin(result: ProbeResult, document: Document) -> None:
    """said.raised_in: the innermost package of the first traceback outside torch; later tracebacks are consequences."""
    inner: tuple[str, Line] | None = None
    innermost_first = False
    for line in document.lines_with('file "', "most recent call", most=200):
        frame = _FRAME.search(line.text)
        if frame is None:
            if inner:
                break
            innermost_first = "most recent call first" in line.text.lower()
            continue
        package = _PACKAGE.search(frame.group(1))
        name = package.group(1) if package else ""
        if name not in _PASSED_THROUGH and not _STDLIB.search(frame.group(1)) and not (inner and innermost_first):
            inner = (name, line)
    if inner and inner[0]:
        result.record("said.raised_in", inner[0], document.reading(inner[1]))
