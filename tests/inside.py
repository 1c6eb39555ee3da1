"""Runs inside a simulated machine, under the interpreter of its rocm-doctor: the words of a command a line, what it printed a line.

Each command runs in a fork, as a process of its own, but what all of them import is imported once.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback

import click

from rocm_doctor import cli
from rocm_doctor.matrix import load


def run(words: list[str]) -> dict[str, object]:
    """Exit code and output of one command."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if not pid:
            for fd, opened in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out.fileno()), (2, err.fileno())):
                os.dup2(opened, fd)
            code = 1
            try:
                sys.argv = [sys.argv[1], *words]
                cli.program()
                code = 0
            except SystemExit as exc:
                code = exc.code if isinstance(exc.code, int) else 1
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = {}
        for name, file in (("stdout", out), ("stderr", err)):
            file.seek(0)
            texts[name] = file.read().decode()
        return {"returncode": code, **texts}


if __name__ == "__main__":
    load()
    for name in ("check", "env", "fit", "fix", "plan"):
        cli.cli.get_command(click.Context(cli.cli), name)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
