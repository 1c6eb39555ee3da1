"""Kubernetes: a Job with one pod on each node, and the logs of its pods. Nothing is executed inside a running container."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.fleet import nodeset
from rocm_doctor.fleet.engines import EngineError, Launch, Plan, Request, asked
from rocm_doctor.fleet.node import last_line
from rocm_doctor.workers import process

PULLING = 300
"""Seconds for the image to be pulled."""
_SCRIPT = (
    'kubectl apply -f "$1" >&2 && { kubectl wait --for=condition=complete "job/$2" --timeout="$3s" >&2; '
    'kubectl logs -l "job-name=$2" --tail=-1 --max-log-requests="$4" --ignore-errors; }'
)


def plan(request: Request) -> Plan:
    """A Job on the nodes that are ready. The others are silent, with their state."""
    states = _states()
    wanted = request.nodes or list(states)
    silent = {name: states.get(name, "not a node of this cluster") for name in wanted if states.get(name) != ""}
    up = [name for name in wanted if name not in silent]
    if not up:
        return Plan([], silent)
    name = f"rocm-doctor-{uuid.uuid4().hex[:8]}"
    folder = tempfile.mkdtemp(prefix="rocm-doctor-")
    path = Path(folder) / "job.json"
    path.write_bytes(msgspec.json.encode(manifest(request, up, name)))
    until = str(int(request.limit) + PULLING)
    launch = Launch(["sh", "-c", _SCRIPT, "sh", str(path), name, until, str(len(up))], up)
    return Plan(
        [launch], silent, [["kubectl", "delete", "job", name, "--wait=false"], ["rm", "-rf", folder]], True, start_limit=PULLING
    )


def manifest(request: Request, nodes: Sequence[str], name: str = "rocm-doctor") -> dict[str, Any]:
    """The Job. The pods read /dev/kfd, /dev/dri and sysfs of the host and take no GPU away from a running job.

    Raises EngineError without an image.
    """
    if not request.image:
        raise EngineError("--image is needed: a container image that has rocm-doctor")
    labels = {"app.kubernetes.io/name": "rocm-doctor", "job-name": name}
    host = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}]}}  # fmt: skip
    alone = {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"job-name": name}}, "topologyKey": "kubernetes.io/hostname"}]}  # fmt: skip
    devices = {"kfd": "/dev/kfd", "dri": "/dev/dri"}
    container = {
        "name": "rocm-doctor",
        "image": request.image,
        "command": asked(request),
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": key, "mountPath": path} for key, path in devices.items()],
    }
    pod = {
        "restartPolicy": "Never",
        "affinity": {"nodeAffinity": host, "podAntiAffinity": alone},
        "tolerations": [{"key": "amd.com/gpu", "operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": key, "hostPath": {"path": path}} for key, path in devices.items()],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "completions": len(nodes), "parallelism": len(nodes), "completionMode": "Indexed", "backoffLimit": 0,
            "activeDeadlineSeconds": int(request.limit) + PULLING, "ttlSecondsAfterFinished": 600,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }  # fmt: skip


def _states() -> dict[str, str]:
    """Why each node cannot run a pod; empty for one that can."""
    done = process.run(["kubectl", "get", "nodes", "-o", "json"], limit=30, cap=64 * process.MIB)
    if done.state != "finished" or done.returncode:
        raise EngineError(f"kubectl get nodes: {last_line(done.stderr) or done.state}")
    try:
        items = jsons.decode(done.stdout, dict[str, Any])["items"]
        found = {str(one["metadata"]["name"]): _state(one) for one in items}
    except (Unreadable, KeyError, TypeError) as exc:
        raise EngineError(f"kubectl get nodes: {exc}") from exc
    return {name: state for name, state in found.items() if nodeset.valid(name)}


def _state(node: dict[str, Any]) -> str:
    ready: dict[str, Any] = next((one for one in node["status"]["conditions"] if one["type"] == "Ready"), {})
    if node.get("spec", {}).get("unschedulable"):
        return "cordoned"
    return "" if ready.get("status") == "True" else f"not ready: {ready.get('message', '')}"[:200]
