from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from text_probes import facts, notes

from rocm_doctor.probes.python import interpreter, packages


def test_versions_absences_and_names_of_pep_503() -> None:
    found = facts(packages, ("py/packages", "torch==2.8.0+rocm6.4\nFlash_Attn==2.8.3\nruamel.yaml==0.18.6\n"))
    assert found["pkg.torch"] == "2.8.0+rocm6.4"
    assert found["pkg.flash-attn"] == "2.8.3"
    assert found["pkg.ruamel-yaml"] == "0.18.6"
    assert found["pkg."] is True, "what is not listed is absent"


def test_empty_list_says_nothing() -> None:
    assert facts(packages, ("py/packages", "")) == {}


def test_rocm_in_wheels() -> None:
    text = "rocm==7.14.0\nrocm-sdk-core==7.14.0\nrocm-sdk-device-gfx1151==7.14.0\namd-torch-device-gfx1201==2.12.0\n"
    found = facts(packages, ("py/packages", text))
    assert (found["rocm.version"], found["rocm.source"]) == ("7.14.0", "wheels")
    assert found["torch.device_dists"] == ("gfx1151", "gfx1201")


def test_interpreter() -> None:
    text = (
        "version: 3.12.3\nprefix: /home/user/venv\nbase_prefix: /usr\nexecutable: /home/user/venv/bin/python\nplatform:"
        " linux\nglibc: 2.39\n"
    )
    found = facts(interpreter, ("py/interpreter", text))
    python = {"python.version": "3.12.3", "python.prefix": "/home/user/venv", "python.env": "venv"}
    assert found == {**python, "platform": "linux", "glibc": "2.39"}


def test_kinds_of_environments() -> None:
    assert interpreter.environment("/usr", own=False) == "system"
    assert interpreter.environment("/home/user/.local", own=False) == "system"
    assert interpreter.environment("/opt/conda/envs/py312", own=False) == "conda"
    assert interpreter.environment("/home/user/.local/share/uv/python/cpython-3.12", own=False) == "uv"
    assert interpreter.environment("C:\\work\\venv", own=True) == "venv"


@given(st.text())
def test_any_text_gives_facts_or_nothing(text: str) -> None:
    notes(packages, ("py/packages", text))
    notes(interpreter, ("py/interpreter", text))
