"""The block that is printed if the doctor itself fails, ready to paste into a ticket."""

from __future__ import annotations

import platform
import sys
import traceback
from pathlib import Path

from rocm_doctor._version import __version__

_PACKAGE = Path(__file__).parent.parent


def ticket(exc: BaseException) -> str:
    """Version, interpreter, command and traceback, redacted: paths outside of the package are cut to their last part."""
    from rocm_doctor.redaction.redactor import local_redactor

    frames = [f"  {_short(f.filename)}:{f.lineno} in {f.name}" for f in traceback.extract_tb(exc.__traceback__)]
    lines = [
        "rocm-doctor itself failed; this is not a finding about your machine. Please open a ticket with this block:",
        "```",
        f"rocm-doctor {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}",
        f"command: {' '.join(['rocm-doctor', *(_short(a) for a in sys.argv[1:])])}",
        f"{type(exc).__name__}: {local_redactor().replace(str(exc)[:400])}",
        *frames[-12:],
        "```",
    ]
    return "\n".join(lines)


def _short(path: str) -> str:
    """A path inside the package from its root; of any other path only the last part."""
    try:
        return Path(path).relative_to(_PACKAGE.parent).as_posix()
    except ValueError:
        return Path(path).name
