"""Regular expressions that are compiled when they are first used: one report uses about a hundred of eight hundred.

Compiling all of them took a quarter of the time of `rocm-doctor check report.md`.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Late:
    """Behaves as the compiled pattern. Each method is looked up once, then held by the instance."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """What re.compile returns, compiled at its first use. An invalid expression raises re.error there."""
    return cast("re.Pattern[str]", _Late(text, flags))
