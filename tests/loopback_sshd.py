"""A real sshd on loopback under many names, for `fleet run --engine ssh`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def _sshd() -> str:
    return shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"]) or ""


def why_not() -> str:
    """Why no server can be started here; empty if one can."""
    return (
        "openssh-server is not installed" if not _sshd() or not shutil.which("ssh") else "sshd needs root" if os.geteuid() else ""
    )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def aliases(folder: Path) -> Iterator[Path]:
    """The client's configuration: `a*` is this machine, others are down, unknown, silent or want a password."""
    for key in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True, timeout=30)
    Path("/run/sshd").mkdir(exist_ok=True)
    port, silent = _free_port(), socket.create_server(("127.0.0.1", 0), backlog=64)
    (folder / "sshd.conf").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/id.pub\nStrictModes no\n"
        f"PidFile none\nUsePAM no\nMaxStartups 500\n"
        # Both ends of every connection run here: the default, post-quantum handshake takes 0.3 s of processor time, and so may the
        # startup files of this machine's user.
        f"KexAlgorithms curve25519-sha256\nSetEnv HOME={folder}\n"
    )
    made = folder / "config"
    made.write_text(
        "Host down\n Port 9\nHost nowhere\n HostName nowhere.invalid\n"
        f"Host silent*\n Port {silent.getsockname()[1]}\n"
        f"Host a*\n IdentityFile {folder}/id\nHost password\n IdentitiesOnly yes\n IdentityFile /nowhere\n"
        f"Host *\n HostName 127.0.0.1\n Port {port}\n UserKnownHostsFile /dev/null\n StrictHostKeyChecking no\n"
    )
    log = folder / "sshd.log"
    argv = [_sshd(), "-D", "-E", str(log), "-f", str(folder / "sshd.conf")]
    log.touch()
    with subprocess.Popen(argv) as server:
        try:
            until = time.monotonic() + 10
            while "Server listening" not in log.read_text():
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.05)
            yield made
        finally:
            server.terminate()
            silent.close()
