"""Engines against the real thing on this machine: Ray with several raylets, ssh to a server on loopback, Open MPI."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_nodes import nodes, sick, well

PACKAGE = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def installed(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nodes(tmp_path_factory.mktemp("nodes"), 3)


def run(root: Path, *words: str, **env: str) -> dict[str, dict[str, Any]]:
    argv = [
        sys.executable,
        "-m",
        "rocm_doctor",
        "fleet",
        "run",
        "--doctor",
        str(root / "doctor"),
        *words,
        "--",
        "check",
        "--no-smoke",
    ]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **env}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return {line["host"]: line for line in map(json.loads, done.stdout.splitlines())}


@installed("ray")
@pytest.mark.filterwarnings("ignore")
def test_ray_with_several_raylets(root: Path) -> None:
    utils: Any = pytest.importorskip("ray.cluster_utils")
    cluster = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        for node in cluster.list_all_nodes():
            well(root, _name(node.node_id))
        sick(root, _name(cluster.list_all_nodes()[1].node_id))
        found = run(root, "--engine", "ray", RAY_ADDRESS=cluster.address)
        assert {line["host"]: line.get("verdict") for line in found.values()} == {
            _name(node.node_id): "problems" if number == 1 else "ready" for number, node in enumerate(cluster.list_all_nodes())
        }
        named = next(iter(found))
        again = run(root, "--engine", "ray", "--nodes", f"{named},n9", RAY_ADDRESS=cluster.address)
        assert again[named]["verdict"]
        assert again["n9"]["error"] == "not a node of this cluster"
    finally:
        cluster.shutdown()


def _name(node: str) -> str:
    from socket import gethostname

    return f"{gethostname()}-{node[:8]}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    """An ssh server on loopback that runs what it is told; its port."""
    asyncssh = pytest.importorskip("asyncssh")
    user = asyncssh.generate_private_key("ssh-ed25519")
    user.write_private_key(str(tmp_path / "id"))
    (tmp_path / "id").chmod(0o600)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def handle(process: Any) -> None:
        child = await asyncio.create_subprocess_shell(process.command, stdout=asyncio.subprocess.PIPE)
        out, _ = await child.communicate()
        process.stdout.write(out.decode())
        process.exit(child.returncode or 0)

    keys = asyncssh.import_authorized_keys(user.export_public_key().decode())

    async def listening() -> Any:
        own = asyncssh.generate_private_key("ssh-ed25519")
        return await asyncssh.listen("127.0.0.1", 0, server_host_keys=[own], authorized_client_keys=keys, process_factory=handle)

    found = asyncio.run_coroutine_threadsafe(listening(), loop).result(20)
    yield found.get_port()

    async def closed() -> None:
        found.close()
        await found.wait_closed()
        await asyncio.sleep(0.2)

    asyncio.run_coroutine_threadsafe(closed(), loop).result(20)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@installed("asyncssh")
@pytest.mark.skipif(not shutil.which("ssh"), reason="ssh is not installed")
def test_ssh_to_a_server_on_loopback(root: Path, server: int, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        f"Host n1 n2\n HostName 127.0.0.1\n Port {server}\n IdentityFile {tmp_path}/id\n UserKnownHostsFile /dev/null\n"
        "StrictHostKeyChecking no\nHost n3\n HostName 127.0.0.1\n Port 9\n"
    )
    found = run(root, "--engine", "ssh", "--nodes", "n[1-3]", f"--engine-arg=-F{tmp_path}/config", "--limit", "30")
    assert {host: line.get("verdict", line.get("error")) for host, line in found.items()} == {
        "n1": "ready",
        "n2": "problems",
        "n3": "ssh: connect to host 127.0.0.1 port 9: Connection refused",
    }


@pytest.mark.skipif(not shutil.which("mpirun", path=str(Path(sys.executable).parent)), reason="mpirun is not installed")
def test_open_mpi_on_this_host(root: Path) -> None:
    from socket import gethostname

    host = gethostname()
    well(root, host)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    extra = ["--engine-arg=--allow-run-as-root", "--engine-arg=--oversubscribe"]
    script = root / "doctor"
    found = run(root, "--engine", "mpi", "--nodes", host, *extra, PATH=path, NODE_NAME=host)
    assert script.exists()
    assert {name: line.get("verdict", line.get("error")) for name, line in found.items()} == {host: "ready"}
