"""Facts in the paths of a traceback: the Python that ran, and the ROCm folders.

    ==> paste/text <==
    Traceback (most recent call last):
      File "/home/ada/.venv/lib/python3.12/site-packages/bitsandbytes/cextension.py", line 85, in __getattr__
    RuntimeError: Configured ROCm binary not found at /opt/rocm-6.4.1/lib

>>> print(probe(sample))
python.version = 3.12
python.prefix = /home/ada/.venv
python.env = venv
rocm.version = 6.4.1
"""

from __future__ import annotations

import re
from itertools import islice

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.python.interpreter import environment
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import texts

_SITE = regex(r"((?:[\w.…~-]+)?(?:/[^\s\"':,/]+){0,30})/lib(?:64)?/python(\d\.\d{1,2})/(?:site|dist)-packages\b")
_FOLDER = regex(r"/(?:site|dist)-packages\b")
_FOLDERS, _PATH = 5, 500
"""Folders of packages in a line whose path is looked at, and the characters of such a path."""
_WINDOWS = regex(r"\bPython(3)(\d{1,2})\\(?:Lib|Scripts|python)", re.I)
_ROCM = regex(r"(?<![\w.-])/opt/rocm-(\d{1,2}\.\d+(?:\.\d+)?)(?=[/\s:'\",)]|$)")


def probe(artifacts: Artifacts) -> ProbeResult:
    """python.version, python.prefix, python.env of site-packages; rocm.version of /opt/rocm-X.Y.Z."""
    result = ProbeResult()
    for document in texts(artifacts):
        _record_python(result, document)
        for line in document.find_lines("/opt/rocm-", most=20):
            found = _ROCM.search(line.text)
            if found:
                result.record("rocm.version", found.group(1), document.reading(line))
    return result


def _record_python(result: ProbeResult, document: Document) -> None:
    """python.* from the first path: a text that shows two interpreters is about the first."""
    for line in document.find_lines("-packages", most=50):
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
    for line in document.find_lines("\\python3", most=20):
        windows = _WINDOWS.search(line.text)
        if windows:
            result.record("python.version", f"{windows.group(1)}.{windows.group(2)}", document.reading(line))
            return
