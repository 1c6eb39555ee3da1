"""Short texts that make a machine for tests of rules: `judge(machine(...))` runs the whole line from artifacts to report."""

from __future__ import annotations

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Finding, Report

NODES = "sys/class/kfd/kfd/topology/nodes"
CARDS = {
    "gfx906": (90006, 0x66A1, 64, 240),
    "gfx1100": (110000, 0x744C, 32, 192),
    "gfx1031": (100301, 0x73DF, 32, 80),
    "gfx1036": (100306, 0x164E, 32, 4),
    "gfx1151": (110501, 0x1586, 32, 80),
    "gfx1201": (120001, 0x7551, 32, 128),
    "gfx942": (90402, 0x74A1, 64, 1216),
}


def card(gfx: str, node: int = 1) -> list[Artifact]:
    """The KFD node of one GPU."""
    target, device, wave, simds = CARDS[gfx]
    text = f"simd_count {simds}\nsimd_per_cu {4 if wave == 64 else 2}\nwave_front_size {wave}\ngfx_target_version {target}\n"
    text += f"vendor_id 4098\ndevice_id {device}\nlocation_id {node << 8}\ndomain 0\ncpu_cores_count 0\n"
    return [
        Artifact(f"{NODES}/{node}/gpu_id", "bundle", str(1000 + node)),
        Artifact(f"{NODES}/{node}/properties", "bundle", text),
    ]


def torch(version: str, hip: str | None = "6.4.43484-123eb5128") -> list[Artifact]:
    text = f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = None\nhip: Optional[str] = {hip!r}\n"
    return [Artifact("py/torch/version.py", "bundle", text), Artifact("py/packages", "bundle", f"torch=={version}\n")]


def env(**variables: str) -> list[Artifact]:
    return [Artifact("env", "bundle", "".join(f"{k}={v}\n" for k, v in variables.items()))]


def open_nodes(**kfd: str) -> list[Artifact]:
    """/dev/kfd as the live source records it; open to this user unless told otherwise."""
    said = {"exists": "yes", "mode": "0660", "uid": "0", "gid": "993", "group": "render", "open": "ok", **kfd}
    return [Artifact("dev/kfd", "bundle", "".join(f"{k}: {v}\n" for k, v in said.items()))]


def judge(*parts: list[Artifact]) -> Report:
    return pipeline.judge([artifact for part in parts for artifact in part], load())


def named(report: Report, id_: str) -> Finding:
    """The one finding of that id that is not a consequence. Fails when there is none."""
    found = [f for f in report.findings if f.id == id_ and not f.follows_from]
    assert found, f"{id_} not among {[f.id for f in report.findings]}"
    return found[0]


def serious(report: Report) -> list[str]:
    return [f.id for f in report.findings if f.severity != "note"]
