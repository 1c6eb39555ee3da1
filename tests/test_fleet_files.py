"""The files that `fleet files` prints: hooks for Slurm, NHC and Kubernetes, metrics, alert rules, a dashboard."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fleet_nodes import nodes, sick, well

from rocm_doctor.fleet.files import NAMES, program, text

PACKAGE = Path(__file__).parents[1]
EXTRA = "needs pip install -e '.[slow]'"
linux = pytest.mark.skipif(sys.platform != "linux", reason="sysfs, shell scripts")


def needs(name: str) -> str:
    """The path of a program; the test is skipped where it is not installed."""
    if not (found := shutil.which(name)):
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nodes(tmp_path_factory.mktemp("nodes"), 2)


def fleet(root: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", *words]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **env}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=100, check=False)


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.slow
@linux
def test_hooks_of_kubernetes(root: Path, tmp_path: Path) -> None:
    for name in NAMES:
        assert fleet(root, "files", name).stdout == text(name)
    config = json.loads(text("npd.json"))
    assert config["rules"][0]["condition"] == config["conditions"][0]["type"]
    fails = tmp_path / "fails"
    fails.write_text("#!/bin/sh\nexit 4\n")
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho Traceback >&2\nexit 1\n")
    for one in (fails, broken):
        one.chmod(0o755)
    for node, doctor, code, label in (
        ("n1", "doctor", 0, "true"),
        ("n2", "doctor", 1, "false"),
        ("n1", str(fails), 2, "unknown"),
        ("n1", str(broken), 2, "unknown"),
    ):
        env = {**os.environ, "SLURMD_NODENAME": node, "ROCM_DOCTOR": str(root / doctor)}
        ran = subprocess.run(["sh", "-c", text("npd.sh")], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == code, ran.stderr
        assert len(ran.stdout.strip()) <= 80
        subprocess.run(["sh", "-c", text("nfd.sh"), "nfd.sh", str(tmp_path)], env=env, timeout=60, check=True)
        assert (tmp_path / "rocm-doctor").read_text() == f"feature.node.kubernetes.io/rocm-doctor.ready={label}\n"
    (container,) = yaml.safe_load(text("reports.yaml"))["spec"]["template"]["spec"]["containers"]
    (tmp_path / "rocm-doctor").unlink()
    for name, body in (("rocm-doctor", f'exec {root}/doctor "$@"'), ("sleep", "exit 0")):
        script(tmp_path / name, body)
    env = {**os.environ, "NODE": "gpu-7", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(container["command"], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(ran.stdout)["host"] == "gpu-7"


SCONTROL = """#!/bin/sh
case $1 in
show) echo "NodeName=n1 Gres=$GRES State=$STATE Reason=$REASON [root@2026-11-29T05:00:00]" ;;
update) shift; echo "$@" >> $LOG ;;
esac"""


@pytest.fixture
def hook(root: Path, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Runs the hook on node n1; its exit code, what it asked of Slurm, and the system log."""
    log, syslog = tmp_path / "updates", tmp_path / "syslog"
    script(tmp_path / "scontrol", SCONTROL.partition("\n")[2])
    script(tmp_path / "logger", f'shift 3; echo "$@" >> {syslog}')

    def run(
        state: str = "IDLE", reason: str = "rocm-doctor/health: no kfd", gres: str = "gpu:mi300x:8(S:0-1)", **env: str
    ) -> Any:
        more = {"STATE": state, "REASON": reason, "GRES": gres, "LOG": str(log), "ROCM_DOCTOR": str(root / "doctor"), **env}
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURMD_NODENAME": "n1", **more}
        for one in (log, syslog):
            one.unlink(missing_ok=True)
        ran = subprocess.run(["sh", "-c", text("slurm.sh")], env=environment, capture_output=True, timeout=60, check=False)
        return ran.returncode, *(one.read_text().strip() if one.exists() else "" for one in (log, syslog))

    return run


Hook = Callable[..., tuple[int, str, str]]


def repeating(root: Path, folder: Path) -> str:
    """A doctor that repeats its first answer of each command: reading and judging a node takes most of the time of the hook."""
    folder.mkdir()
    body = f"""answer={folder}/$2
[ -e "$answer" ] || {{ {root}/doctor "$@" >"$answer"; echo $? >"$answer.code"; }}
cat "$answer"; exit $(cat "$answer.code")"""
    return str(script(folder / "doctor", body))


@linux
def test_the_slurm_hook_drains_and_resumes(root: Path, hook: Hook, tmp_path: Path) -> None:
    doctor = repeating(root, tmp_path / "well")
    assert hook(ROCM_DOCTOR=doctor) == (0, "", "")
    assert hook(state="IDLE+DRAIN", ROCM_DOCTOR=doctor) == (0, "NodeName=n1 State=RESUME", "")
    assert hook(state="IDLE+DRAIN", reason="rocm-doctor/judge: see nodes.jsonl", ROCM_DOCTOR=doctor) == (0, "", ""), "not its own"
    sick(root, "n1")
    try:
        doctor = repeating(root, tmp_path / "sick")
        code, did, _ = hook(ROCM_DOCTOR=doctor)
        assert code == 1
        assert did.startswith("NodeName=n1 State=DRAIN Reason=rocm-doctor/health: amdgpu is loaded and has not claimed the GPU")
        assert hook(SLURM_SCRIPT_CONTEXT="epilog_slurmd", ROCM_DOCTOR=doctor)[0] == 0  # else Slurm would drain it for the epilog
        assert hook(state="IDLE+DRAIN", ROCM_DOCTOR=doctor) == (1, "", "")
        assert hook(gres="(null)", ROCM_DOCTOR=doctor) == (0, "", "")
    finally:
        well(root, "n1")


@linux
@pytest.mark.slow
def test_the_slurm_hook_compares_gpus_with_the_gres(hook: Hook) -> None:
    """A node that lost a GPU is drained, and is not put back for being well otherwise."""
    found = "NodeName=n1 State=DRAIN Reason=rocm-doctor/health: gpus must be 9, is 8"
    assert hook(gres="craynetwork:4,gpu:a:5,gpu:b:4") == (1, found, "")
    assert hook(gres="gpu:9", state="IDLE+DRAIN") == (1, "", "")


@linux
@pytest.mark.slow
def test_the_slurm_hook_lets_a_job_have_memory(root: Path, hook: Hook) -> None:
    held = root / "n1/sys/class/kfd/kfd/proc/4211/vram_20001"
    held.parent.mkdir(parents=True)
    held.write_text(f"{180 << 30}\n")
    try:
        assert hook(state="ALLOCATED") == hook(state="MIXED+COMPLETING") == (0, "", "")
    finally:
        well(root, "n1")


@linux
def test_the_slurm_hook_asks_the_policy_of_the_site(hook: Hook, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text('require: {driver.version: ">=7"}\n')
    code, did, _ = hook(ROCM_DOCTOR_POLICY=str(tmp_path / "policy.yaml"))
    assert (code, "driver.version must be >=7, is 6.12.12" in did) == (1, True)


@linux
@pytest.mark.parametrize(
    ("doctor", "said"),
    [
        ("exit 4", "n1: the doctor ended with"),
        ("echo Traceback >&2; exit 1", "n1: the doctor ended with"),
        ("exec sleep 30", "n1: the doctor ended with"),
        ("", "n1: no program /nowhere/rocm-doctor: not checked"),
    ],
)
def test_the_slurm_hook_says_when_it_cannot_run(doctor: str, said: str, hook: Hook, tmp_path: Path) -> None:
    program = str(script(tmp_path / "broken", doctor)) if doctor else "/nowhere/rocm-doctor"
    code, did, log = hook(ROCM_DOCTOR=program, ROCM_DOCTOR_LIMIT="-4")
    assert (code, did) == (0, "")
    assert log.startswith(said)


@linux
def test_a_file_names_the_program_with_its_path() -> None:
    """What slurmd and systemd have on their PATH is not what a person has."""
    for name in NAMES:
        assert "@doctor@" not in text(name)
    assert f"${{ROCM_DOCTOR:-{program()}}}" in text("slurm.sh")


@linux
def test_node_exporter_reads_the_text_file(root: Path, tmp_path: Path) -> None:
    exporter = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if not exporter:
        pytest.skip("node_exporter is not installed")
    env = {**os.environ, "SLURMD_NODENAME": "n2", "ROCM_DOCTOR": str(root / "doctor")}
    folder = tmp_path / "textfile"
    folder.mkdir()
    subprocess.run(["sh", "-c", text("textfile.sh"), "textfile.sh", str(folder)], env=env, timeout=60, check=True)
    assert [one.name for one in folder.iterdir()] == ["rocm-doctor.prom"]
    hangs = {**env, "ROCM_DOCTOR": str(script(tmp_path / "hangs", "exec sleep 30")), "ROCM_DOCTOR_LIMIT": "-4"}
    subprocess.run(["sh", "-c", text("textfile.sh"), "textfile.sh", str(folder)], env=hangs, timeout=20, check=False)
    assert [one.name for one in folder.iterdir()] == ["rocm-doctor.prom"]
    port = 20000 + os.getpid() % 10000
    argv = [exporter, "--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}"]
    with subprocess.Popen([*argv, f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL) as server:
        try:
            page = _fetched(f"http://127.0.0.1:{port}/metrics")
        finally:
            server.terminate()
    assert 'rocm_doctor_ready{node="n2",state="problems"} 0' in page
    assert "node_textfile_scrape_error 0" in page


def _fetched(address: str) -> str:
    from urllib.request import ProxyHandler, build_opener

    until = time.monotonic() + 10
    while True:
        try:
            with build_opener(ProxyHandler({})).open(address, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.1)


ALERTS = """
rule_files: [alerts.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'rocm_doctor_ready{node="n1",state="ready"}', values: "1x20"}
      - {series: 'rocm_doctor_ready{node="n2",state="problems"}', values: "0x20"}
      - {series: 'rocm_doctor_ready{node="n3",state="slow"}', values: "0x20"}
    alert_rule_test:
      - eval_time: 15m
        alertname: RocmDoctorNodeHasProblems
        exp_alerts: [{exp_labels: {node: n2, state: problems, severity: critical}, exp_annotations: ANNOTATIONS}]
      - {eval_time: 5m, alertname: RocmDoctorNodeHasProblems, exp_alerts: []}
"""


def test_alerts_fire(tmp_path: Path) -> None:
    promtool = needs("promtool")
    (tmp_path / "alerts.yaml").write_text(text("alerts.yaml"))
    first = yaml.safe_load(text("alerts.yaml"))["groups"][0]["rules"][0]["annotations"]
    annotations = json.dumps({key: value.replace("{{ $labels.node }}", "n2") for key, value in first.items()})
    (tmp_path / "test.yaml").write_text(ALERTS.replace("ANNOTATIONS", annotations))
    ran = subprocess.run(
        [promtool, "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    board = json.loads(text("dashboard.json"))
    known = {line.split("{")[0] for line in (PACKAGE / "docs/fleet.md").read_text().split("`") if line.startswith("rocm_doctor_")}
    for panel in board["panels"]:
        for target in panel["targets"]:
            assert any(name in target["expr"] for name in known), target["expr"]


@pytest.mark.slow
def test_the_dashboard_has_only_what_grafana_knows() -> None:
    """The types that Grafana generates from its schema drop a field that they do not know; here none is lost."""
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason=EXTRA)
    importlib.import_module("grafana_foundation_sdk.cog.plugins").register_default_plugins()
    encoder = importlib.import_module("grafana_foundation_sdk.cog.encoder").JSONEncoder
    board = json.loads(text("dashboard.json"))
    assert _is_within(board, json.loads(json.dumps(models.Dashboard.from_json(board), cls=encoder)))
    board["panels"][0]["titel"] = "Nodes"
    assert not _is_within(board, json.loads(json.dumps(models.Dashboard.from_json(board), cls=encoder)))


def _is_within(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return all(key in whole and _is_within(value, whole[key]) for key, value in part.items())
    return len(part) == len(whole) and all(map(_is_within, part, whole)) if isinstance(part, list) else part == whole


@pytest.mark.slow
def test_kubernetes_accepts_the_manifests() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason=EXTRA)
    manifests = [yaml.safe_load(text(name)) for name in ("reports.yaml", "init.yaml", "daemonset.yaml")]
    for version in ("1.29", "1.31", "1.33"):
        for one in manifests:
            validate.validate(one, version, strict=True)
    manifests[0]["spec"]["completion"] = 3
    with pytest.raises(validate.ValidationError):
        validate.validate(manifests[0], "1.29", strict=True)


@linux
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    analyze = needs("systemd-analyze")
    for name in ("rocm-doctor.service", "rocm-doctor.timer"):
        (tmp_path / name).write_text(text(name))
    argv = [analyze, "verify", "--man=no", *(str(tmp_path / name) for name in ("rocm-doctor.service", "rocm-doctor.timer"))]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert str(tmp_path) not in ran.stderr, ran.stderr
