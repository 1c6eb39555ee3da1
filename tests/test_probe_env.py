from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import facts, notes

from rocm_doctor.probes.python import env
from rocm_doctor.probes.text import env_text


def test_captured_listing() -> None:
    found = facts(env, ("env", "HIP_VISIBLE_DEVICES=0,1\nHSA_XNACK=1\nLD_LIBRARY_PATH=/opt/rocm/lib:/x\nOTHER_NAME=a b=c\n"))
    assert found == {
        "env.": True,
        "env.HIP_VISIBLE_DEVICES": "0,1",
        "env.HSA_XNACK": "1",
        "env.LD_LIBRARY_PATH": "/opt/rocm/lib:/x",
        "env.OTHER_NAME": "a b=c",
    }


@pytest.mark.parametrize(
    "line",
    [
        "export HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "export HSA_OVERRIDE_GFX_VERSION='11.0.0'; python train.py",
        "HSA_OVERRIDE_GFX_VERSION=11.0.0 python train.py",
        "$ HIP_VISIBLE_DEVICES=0 HSA_OVERRIDE_GFX_VERSION=11.0.0 ./run.sh",
        "set HSA_OVERRIDE_GFX_VERSION=11.0.0",
        'PS C:\\> $env:HSA_OVERRIDE_GFX_VERSION = "11.0.0"',
        "os.environ['HSA_OVERRIDE_GFX_VERSION'] = '11.0.0'",
        'os.environ.setdefault("HSA_OVERRIDE_GFX_VERSION", "11.0.0")',
        "docker run -it -e HSA_OVERRIDE_GFX_VERSION=11.0.0 rocm/pytorch",
        "docker run --env=HSA_OVERRIDE_GFX_VERSION=11.0.0 rocm/pytorch",
        "ENV HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "      - HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "      HSA_OVERRIDE_GFX_VERSION: 11.0.0",
        '      HSA_OVERRIDE_GFX_VERSION: "11.0.0"',
        'Environment="HSA_OVERRIDE_GFX_VERSION=11.0.0"',
        "I run it with `HSA_OVERRIDE_GFX_VERSION=11.0.0`, and it starts.",
        "(HSA_OVERRIDE_GFX_VERSION=11.0.0)",
        "{'HSA_OVERRIDE_GFX_VERSION': '11.0.0'}",
    ],
)
def test_every_language_that_sets_a_variable(line: str) -> None:
    assert facts(env_text, f"before\n{line}\nafter")["env.HSA_OVERRIDE_GFX_VERSION"] == "11.0.0"


@pytest.mark.parametrize(
    "line",
    [
        "If reserved memory is large try setting HSA_OVERRIDE_GFX_VERSION=11.0.0 to avoid it.",
        "For debugging consider passing HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "Do I need to set HSA_OVERRIDE_GFX_VERSION=11.0.0?",
        "echo $HSA_OVERRIDE_GFX_VERSION",
        "if HSA_OVERRIDE_GFX_VERSION == '11.0.0':",
        "export PATH=$HSA_OVERRIDE_GFX_VERSION",
        "MY_HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "HSA_OVERRIDE_GFX_VERSION=$1",
        "HSA_OVERRIDE_GFX_VERSION=<your version>",
    ],
)
def test_what_sets_nothing(line: str) -> None:
    assert "env.HSA_OVERRIDE_GFX_VERSION" not in facts(env_text, line)


def test_lists_keep_their_commas_and_sentences_lose_theirs() -> None:
    found = facts(
        env_text, "HIP_VISIBLE_DEVICES=0,2, ROCR_VISIBLE_DEVICES=0,3,4\nPYTORCH_ROCM_ARCH=gfx90a;gfx942\nexport HSA_XNACK=1;ls\n"
    )
    assert found["env.HIP_VISIBLE_DEVICES"] == "0,2"
    assert found["env.ROCR_VISIBLE_DEVICES"] == "0,3,4"
    assert found["env.PYTORCH_ROCM_ARCH"] == "gfx90a;gfx942"
    assert found["env.HSA_XNACK"] == "1"


def test_unset_is_absent_and_empty_is_empty() -> None:
    assert facts(env_text, "unset HSA_XNACK")["env.HSA_XNACK"] is None
    assert facts(env_text, "env -u HSA_XNACK python x.py")["env.HSA_XNACK"] is None
    assert facts(env_text, 'export ROCR_VISIBLE_DEVICES=""')["env.ROCR_VISIBLE_DEVICES"] == ""


def test_two_values_are_a_dispute() -> None:
    fact = notes(env_text, "export HSA_XNACK=1\nexport HSA_XNACK=0\n").facts["env.HSA_XNACK"]
    assert (fact.value, len(fact.disputed)) == ("1", 1)
    assert fact.disputed[0].place == "line 2"


@given(st.text(), st.sampled_from(["export HSA_XNACK=", "$env:HIP_PATH=", "unset ROCR_", "os.environ['HSA_XNACK']="]))
def test_any_text_gives_facts_or_nothing(text: str, start: str) -> None:
    notes(env_text, start + text)
    notes(env_text, ("env", text))
