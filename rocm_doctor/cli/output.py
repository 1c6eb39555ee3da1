"""Standard output and error of the command line: every printed text passes here, and a closed pipe is not a failure."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from rocm_doctor.reports.neutral import screen_text

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""


class OutputError(OSError):
    """Standard output cannot be written (a full disk); the text names it."""


class Printer(io.TextIOWrapper):
    """A text stream that neutralises its input, accepts any character, and goes silent after its reader has gone."""

    commands = False
    """True while lines may be commands of a CI runner: those that the doctor writes itself."""

    def write(self, text: str) -> int:
        with self._go_silent_when_closed():
            return super().write(screen_text(text, commands=self.commands))
        return len(text)

    def flush(self) -> None:
        with self._go_silent_when_closed():
            super().flush()

    @contextmanager
    def _go_silent_when_closed(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._discard_rest()
        except OSError as exc:
            self._discard_rest()
            raise OutputError(exc.errno, f"standard output: {exc.strerror}") from exc

    def _discard_rest(self) -> None:
        """Discard what is still buffered and all that follows."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def guard() -> None:
    """Replace standard output and standard error by a Printer; a closed one discards everything."""
    sys.stdout, sys.stderr = _printer(sys.stdout, 1), _printer(sys.stderr, 2)


def _printer(stream: IO[str] | None, descriptor: int) -> Printer:
    if not isinstance(stream, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != descriptor:
            os.dup2(nowhere, descriptor)
        return Printer(os.fdopen(descriptor, "wb"), encoding="utf-8", errors="replace")
    encoding = "utf-8" if stream.encoding.lower() in ("ascii", "ansi_x3.4-1968", "us-ascii") else stream.encoding
    lines = stream.line_buffering
    return Printer(stream.detach(), encoding=encoding, errors="replace", line_buffering=lines)


@contextmanager
def workflow_commands() -> Iterator[None]:
    """Within this block lines that begin with `::` are the doctor's commands, already escaped."""
    stream = sys.stdout
    if isinstance(stream, Printer):
        stream.commands = True
    try:
        yield
    finally:
        if isinstance(stream, Printer):
            stream.commands = False
