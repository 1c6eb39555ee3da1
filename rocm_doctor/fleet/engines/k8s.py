"""Kubernetes: a Job for each node, and the logs of their pods. Nothing is executed inside a running container."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.bounded import jsons, yamls
from rocm_doctor.fleet import files, nodeset
from rocm_doctor.fleet.engines import EngineError, Launch, Plan, Request, node_command
from rocm_doctor.fleet.node import first_lines
from rocm_doctor.workers import process

PULLING = 300
"""Seconds for the image to be pulled."""
GPU = ("amd.com/gpu", "beta.amd.com/gpu", "feature.node.kubernetes.io/amd-gpu")
"""How names of resources and labels begin that AMD's device plugin, node labeller and GPU operator give to nodes with GPUs."""
NODE = "rocm-doctor/node"
"""Annotation of a pod: the node that it is for, also while it is on none."""
# Arguments: the manifest, the label of the pods, seconds, the number of pods. An image that cannot be pulled will not come.
_SCRIPT = """
kubectl apply -f "$1" >&2 || exit
end=$(($(date +%s) + $3))
each='{range .items[*]}{.status.phase}:{.status.containerStatuses[*].state.waiting.reason}{"\\n"}{end}'
while [ "$(date +%s)" -lt "$end" ]; do
    ended=$(kubectl get pods -l "$2" -o "jsonpath=$each" | grep -cE '^(Succeeded|Failed):|:(ErrImage|ImagePull|InvalidImage|CreateContainer.*Error)')
    [ "$ended" -lt "$4" ] || break
    sleep 2
done
kubectl logs -l "$2" --tail=-1 --ignore-errors
"""


def plan(request: Request) -> Plan:
    """A Job on each node that is ready. The others are silent, with their state. `extra`: options for `kubectl get nodes`."""
    states = _states(request)
    wanted = request.nodes_to_ask(states)
    silent = {name: states.get(name, "not a node of this cluster") for name in wanted if states.get(name) != ""}
    up = [name for name in wanted if name not in silent]
    if not up:
        return Plan([], silent)
    run = uuid.uuid4().hex[:8]
    label = f"app.kubernetes.io/instance=rocm-doctor-{run}"
    folder = tempfile.mkdtemp(prefix="rocm-doctor-")
    path = Path(folder) / "jobs.json"
    path.write_bytes(msgspec.json.encode(manifest(request, up, run)))
    launch = Launch(["sh", "-c", _SCRIPT, "sh", str(path), label, str(int(request.limit) + PULLING), str(len(up))], up)
    cancel = [["kubectl", "delete", "jobs", "-l", label, "--wait=false"], ["rm", "-rf", folder]]
    return Plan([launch], silent, cancel, explain=lambda nodes: _reasons(label), start_limit=PULLING)


def manifest(request: Request, nodes: Sequence[str], run: str = "run") -> dict[str, Any]:
    """The Jobs, by files/job.yaml. Raises EngineError without an image."""
    if not request.image:
        raise EngineError("--image is needed: a container image that has rocm-doctor")
    job = yamls.values(files.text("job.yaml"))
    job["spec"]["activeDeadlineSeconds"] = int(request.limit) + PULLING
    for one in (job, job["spec"]["template"]):
        one["metadata"]["labels"]["app.kubernetes.io/instance"] = f"rocm-doctor-{run}"
    items = [_job(deepcopy(job), request, name, f"rocm-doctor-{run}-{n}") for n, name in enumerate(nodes)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _job(job: dict[str, Any], request: Request, node: str, name: str) -> dict[str, Any]:
    """The Job, filled in for a node."""
    job["metadata"]["name"] = name
    template = job["spec"]["template"]
    template["metadata"]["annotations"] = {NODE: node}
    pod = template["spec"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    term["matchFields"][0]["values"] = [node]
    pod["containers"][0] |= {"image": request.image, "command": node_command(request, node)}
    return job


def _items(*words: str) -> list[dict[str, Any]]:
    """What `kubectl get` lists. Raises EngineError."""
    done = process.run(["kubectl", "get", *words, "-o", "json"], limit=30, cap=64 * process.MIB)
    if done.state != "finished" or done.returncode:
        raise EngineError(f"kubectl get {words[0]}: {first_lines(done.stderr) or done.state}")
    found: list[dict[str, Any]] = jsons.decode(done.stdout, dict[str, Any]).get("items", [])
    return found


def _states(request: Request) -> dict[str, str]:
    """Why each node cannot run a pod, empty for one that can; of nodes with GPUs, unless nodes are named or selected."""
    nodes = {name: one for one in _items("nodes", *request.extra) if nodeset.is_host_name(name := str(one["metadata"]["name"]))}
    if not request.nodes and not request.extra:
        nodes = {name: one for name, one in nodes.items() if _has_gpus(one)}
        if not nodes:
            raise EngineError("no node has amd.com/gpu among its resources or labels: name nodes with --nodes")
    states = {}
    for name, one in nodes.items():
        ready: dict[str, Any] = next((each for each in one["status"].get("conditions", ()) if each["type"] == "Ready"), {})
        states[name] = "" if ready.get("status") == "True" else f"not ready: {ready.get('message', 'no kubelet')}"[:200]
    return states


def _has_gpus(node: Mapping[str, Any]) -> bool:
    names = (*node["status"].get("capacity", ()), *node["metadata"].get("labels", ()))
    return any(name.startswith(GPU) for name in names)


def _reasons(label: str) -> dict[str, str]:
    """Why the pod for each node printed no report."""
    return {
        one["metadata"].get("annotations", {}).get(NODE, ""): _reason(one["status"])[:200] for one in _items("pods", "-l", label)
    }


def _reason(status: Mapping[str, Any]) -> str:
    """What the container waits for or ended with, else what the pod waits for or was rejected for."""
    state: dict[str, Any] = next((one["state"] for one in status.get("containerStatuses", ()) if one.get("state")), {})
    found = state.get("waiting") or state.get("terminated") or {}
    if not found or found.get("reason") == "Completed":
        unmet = (one for one in status.get("conditions", ()) if one["status"] == "False" and one.get("message"))
        found = next(unmet, status)
    code = f"exit code {found['exitCode']}" if "exitCode" in found else ""
    return ": ".join(filter(None, (found.get("reason", ""), " ".join(found.get("message", "").split()) or code)))
