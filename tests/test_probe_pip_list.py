from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import facts, notes

from rocm_doctor.probes.read.limits import PACKAGES
from rocm_doctor.probes.text import pip_list

LIST = """\
Package                  Version              Editable project location
------------------------ -------------------- -------------------------
accelerate               1.10.1
bitsandbytes             0.48.1
my-trainer               0.1.0                /home/user/trainer
torch                    2.8.0+rocm6.4
Flask_Thing              3.0
"""


def test_pip_list() -> None:
    found = facts(pip_list, ("paste/1-pip", LIST))
    assert found["pkg.bitsandbytes"] == "0.48.1"
    assert found["pkg.my-trainer"] == "0.1.0"
    assert found["pkg.flask-thing"] == "3.0"
    assert (found["torch.version"], found["torch.build"], found["torch.rocm"]) == ("2.8.0+rocm6.4", "rocm", "6.4")


@pytest.mark.parametrize(
    "text",
    [
        "$ pip list | grep torch\ntorch                    2.8.0+rocm6.4\n",
        "$ uv pip list\nUsing Python 3.12.3 environment at: venv\nPackage Version\n------- -------\ntorch   2.8.0+rocm6.4\n",
        "$ pip freeze\ntorch==2.8.0+rocm6.4\n",
        "torch==2.8.0+rocm6.4 ; python_version > '3'\n",
        "torch @ file:///tmp/torch-2.8.0%2Brocm6.4-cp312-cp312-linux_x86_64.whl\n",
        "torch @ https://example.org/whl/torch-2.8.0+rocm6.4-cp312-cp312-manylinux_2_28_x86_64.whl#sha256=abc\n",
        "# Name                    Version                   Build  Channel\ntorch                     2.8.0+rocm6.4        "
        "    pypi_0    pypi\n",
        "[pip3] torch==2.8.0+rocm6.4\n",
        "Successfully installed filelock-3.13.1 torch-2.8.0+rocm6.4 pytorch-triton-rocm-3.4.0\n",
        "Requirement already satisfied: torch in ./venv/lib/python3.12/site-packages (2.8.0+rocm6.4)\n",
        "Requirement already satisfied: torch>=2.0 in ./venv/lib/python3.12/site-packages (from peft) (2.8.0+rocm6.4)\n",
    ],
)
def test_each_way_to_print_a_version(text: str) -> None:
    found = facts(pip_list, "Some words before.\n\n" + text + "\nand after.\n")
    assert found["pkg.torch"] == "2.8.0+rocm6.4"
    assert found["torch.rocm"] == "6.4"


def test_rows_of_other_tables_are_no_packages() -> None:
    assert facts(pip_list, "latency      12.5\n\nthroughput   88.1 tokens\nGPU0   45.0c\n") == {}


def test_requirement_is_no_installation() -> None:
    assert "pkg.torch" not in facts(
        pip_list, "ERROR: foo requires torch>=2.1\nCollecting torch>=2.1\n  Downloading torch-2.4.0.whl\n"
    )


def test_rocm_packages_say_where_rocm_is() -> None:
    found = facts(
        pip_list, "$ pip freeze\nrocm==7.14.0\nrocm-sdk-core==7.14.0\nrocm-sdk-device-gfx1151==7.14.0\ntorch==2.12.0+rocm7.14.0\n"
    )
    assert (found["rocm.version"], found["rocm.source"], found["torch.device_dists"]) == ("7.14.0", "wheels", ("gfx1151",))


def test_two_versions_of_one_package_are_a_dispute() -> None:
    fact = notes(pip_list, "torch==2.8.0+rocm6.4\n\ntorch==2.9.0+rocm6.4\n").facts["pkg.torch"]
    assert (fact.value, len(fact.disputed)) == ("2.8.0+rocm6.4", 1)


@given(st.text(), st.text(max_size=20))
def test_any_text_gives_facts_or_nothing(text: str, name: str) -> None:
    notes(pip_list, f"Package Version\n------- -------\n{name}   {text}\n{name}=={text}\nName: {name}\nVersion: {text}")
    notes(pip_list, ("paste/1-pip", text))


def test_a_list_ends_after_so_many_packages() -> None:
    result = notes(pip_list, ("cmd/pip list", "Package Version\n" + "\n".join(f"package{n} 1.{n}" for n in range(PACKAGES + 5))))
    assert len(result.facts) == PACKAGES
    assert [(e.place, e.quote) for e in result.errors] == [
        (f"line {PACKAGES + 2}", f"too long: only the first {PACKAGES} packages were read")
    ]
