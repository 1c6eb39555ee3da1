"""scripts/harvest_calls.py writes calls that give the same when they are made again, and keeps those that notice a fault."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from types import CodeType

import choose_calls
import expected_calls as calls
import pytest
from call_writer import TooMuch, Writer
from loaded_faults import codes, functions, running
from vary_calls import Variation

from rocm_doctor import versions
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Fact, Gpu, Snapshot
from rocm_doctor.probes.read.result import Artifacts

NAMES = calls.names_for(load())
MATRIX = NAMES.matrix
SOURCE = Path(str(versions.__file__)).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "value",
    [
        MATRIX.rows[3],
        MATRIX.gfx["gfx1100"],
        MATRIX.torch[0],
        {"a": (1, None, True), "b": [b"x", "y"]},
        frozenset({"gfx906"}),
        Artifact("env", "bundle", "A=1"),
        versions.parse("2.9.1+rocm6.4"),
    ],
)
def test_a_value_is_written_as_what_makes_it_again(value: object) -> None:
    assert eval(Writer(NAMES).written(value), NAMES.values) == value


def test_machines_are_written_with_their_values_alone() -> None:
    one = Snapshot({"platform": Fact("linux")}, (Gpu({"gfx": Fact("gfx906")}),), gpus_listed=True)
    assert Writer(NAMES).written(one) == "machine({'platform': 'linux'}, [{'gfx': 'gfx906'}])"


def test_what_is_long_or_has_no_written_form_is_refused() -> None:
    for value in ("x" * 2000, object(), lambda: None):
        with pytest.raises(TooMuch):
            Writer(NAMES).written(value)


def test_a_variant_is_another_call_of_the_same_form() -> None:
    vary, draw = Variation(["('a', 1)", "('b', 20)"]), random.Random(0)
    variants = {vary.of("('a', 1)", draw) for _ in range(60)}
    assert "('b', 1)" in variants
    assert "('a', 20)" in variants
    assert {len(ast.parse(f"f{one}", mode="eval").body.args) for one in variants} == {2}  # type: ignore[attr-defined]


def _compiled(before: str, after: str) -> tuple[CodeType, ...]:
    return tuple(compile(text, str(versions.__file__), "exec") for text in (SOURCE, SOURCE.replace(before, after)))


def test_a_fault_is_put_into_a_loaded_function_and_taken_out() -> None:
    _, broken = _compiled('".".join(map(str, numbers[:parts]))', '"-".join(map(str, numbers[:parts]))')
    name, target = "series", functions("versions")["series"]
    with running(target, dict(codes(broken))[name]):
        assert versions.series("2.4.1") == "2-4"
    assert versions.series("2.4.1") == "2.4"


def test_the_call_that_notices_a_fault_is_kept() -> None:
    chosen = choose_calls.Chosen({"versions:series": ["('2', 2)", "('2.4.1', 2)", "('x', 2)"]}, {})
    _, broken = _compiled('".".join(map(str, numbers[:parts]))', '"-".join(map(str, numbers[:parts]))')
    chosen.prepare("versions:series")
    with running(functions("versions")["series"], dict(codes(broken))["series"]):
        assert chosen.notices("versions:series")
    assert chosen.kept["versions:series"] == ["('2.4.1', 2)"]
    assert not chosen.notices("versions:series"), "the sound function gives what it gave"


def test_a_machine_keeps_the_facts_that_a_function_asks_for() -> None:
    name, facts = "rules.access:_denied", "{'kfd.error': 'Operation not permitted', 'platform': 'linux'}"
    chosen = choose_calls.Chosen({name: [f"(machine({facts}, []))"]}, {})
    assert list(chosen.prepare(name)) == ["(machine({'kfd.error': 'Operation not permitted'}, []))"]


def test_artifacts_keep_the_lines_that_a_probe_reads() -> None:
    text = "\n".join([*("noise" for _ in range(60)), "DISTROBOX_ENTER_PATH=/usr/bin/distrobox", *("noise" for _ in range(60))])
    call = Writer(NAMES).written(Artifacts([Artifact("env", "bundle", text), Artifact("other", "bundle", "x")]), 6000)
    chosen = choose_calls.Chosen({"probes.kernel.container:probe": [f"({call})"]}, {})
    (short,) = chosen.prepare("probes.kernel.container:probe")
    assert "DISTROBOX" in short
    assert "other" not in short
    assert short.count("noise") < 30
