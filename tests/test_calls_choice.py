"""scripts/calls writes calls that give the same when they are made again, and keeps those that notice a fault."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from types import CodeType, FunctionType

import msgspec
import pytest
from calls import choice
from calls import language as calls
from calls.doors import DOORS
from calls.loaded import Caches, codes, functions, running
from calls.variants import Variation
from calls.writer import TooMuch, Writer
from faults import Fault

from rocm_doctor import versions
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Fact, Gpu, Snapshot
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.redaction import known, prose

replace = msgspec.structs.replace
NAMES = calls.names_for(load())
MATRIX = NAMES.matrix
SOURCE = Path(str(versions.__file__)).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "value",
    [
        MATRIX.rows[3],
        MATRIX.gfx["gfx1100"],
        MATRIX.torch[0],
        MATRIX.support[1],
        replace(MATRIX.rows[3], status="works"),
        {"a": (1, None, True), "b": [b"x", "y"]},
        frozenset({"gfx906"}),
        Artifact("env", "bundle", "A=1"),
        versions.parse("2.9.1+rocm6.4"),
    ],
)
def test_a_value_is_written_as_what_makes_it_again(value: object) -> None:
    assert eval(Writer(NAMES).written(value), NAMES.values) == value


def test_a_changed_entry_is_written_as_that_entry_with_another_field() -> None:
    written = Writer(NAMES).written(replace(MATRIX.rows[3], status="works"))
    assert written == f"but(matrix.by_key[{MATRIX.rows[3].key!r}], status='works')"


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


def _fault(before: str, after: str) -> tuple[FunctionType, CodeType, Fault]:
    """`versions.series`, its code with a fault, and the fault."""
    broken = compile(SOURCE.replace(before, after), str(versions.__file__), "exec")
    line = SOURCE[: SOURCE.index(before)].count("\n") + 1
    return (
        functions("versions")["series"],
        dict(codes(broken))["series"],
        Fault("rocm_doctor/versions.py", line, before, after, 0),
    )


JOINED = ('".".join(map(str, numbers[:parts]))', '"-".join(map(str, numbers[:parts]))')


def test_a_fault_is_put_into_a_loaded_function_and_taken_out() -> None:
    function, broken, _ = _fault(*JOINED)
    with running(function, broken):
        assert versions.series("2.4.1") == "2-4"
    assert versions.series("2.4.1") == "2.4"


def test_the_call_that_notices_a_fault_is_kept() -> None:
    name = "versions:series"
    chosen = choice.Chosen({name: ["('2', 2)", "('2.4.1', 2)", "('x', 2)"]}, {})
    function, broken, fault = _fault(*JOINED)
    assert chosen.notices(name, function, broken, fault)
    assert chosen.kept[name] == ["('2.4.1', 2)"]
    assert not chosen.notices(name, function, function.__code__, fault), "the sound function gives what it gave"


def test_a_table_is_read_again_where_the_fault_has_a_part_in_reading_it() -> None:
    caches = Caches(MATRIX)
    known.words()
    caches.empty("versions:series")
    assert known.words.cache_info().currsize == 1
    caches.empty("redaction.known:_read")
    assert known.words.cache_info().currsize == 0


def test_a_door_notices_what_no_small_call_does_with_as_few_words_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["('It was fine until Thanks to Bob we saw that nothing was, sadly.')", "('nothing of a person')"]
    monkeypatch.setattr(choice, "offered", lambda room, written: texts)
    chosen = choice.Chosen({}, {}, ["redaction"])
    path = Path(str(prose.__file__))
    line = path.read_text(encoding="utf-8").split("\n").index('    first = match["user"].split()[0]') + 1
    fault = Fault("rocm_doctor/redaction/prose.py", line, "", "", 0)
    assert list(chosen.reach["redaction"].of(fault, ())) == texts[:1], "the calls that run the line"
    function = functions("redaction.prose")["_is_given"]
    never = (lambda match: False).__code__
    assert chosen.notices("redaction.prose:_is_given", function, never, fault)
    assert chosen.kept["redaction"] == ["(' Thanks to Bob')"]


def test_a_machine_keeps_the_facts_that_a_function_asks_for() -> None:
    name, facts = "rules.access:_denied", "{'kfd.error': 'Operation not permitted', 'platform': 'linux'}"
    chosen = choice.Chosen({name: [f"(machine({facts}, []))"]}, {})
    assert list(chosen.prepare(name)) == ["(machine({'kfd.error': 'Operation not permitted'}, []))"]


def test_artifacts_keep_the_lines_that_a_probe_reads() -> None:
    text = "\n".join([*("noise" for _ in range(60)), "DISTROBOX_ENTER_PATH=/usr/bin/distrobox", *("noise" for _ in range(60))])
    call = Writer(NAMES).written(Artifacts([Artifact("env", "bundle", text), Artifact("other", "bundle", "x")]), 6000)
    chosen = choice.Chosen({"probes.kernel.container:probe": [f"({call})"]}, {})
    (short,) = chosen.prepare("probes.kernel.container:probe")
    assert "DISTROBOX" in short
    assert "other" not in short
    assert short.count("noise") < 30


def test_calls_follow_a_function_to_another_module_of_its_room() -> None:
    assert calls.moved("redaction.elsewhere:domain_of") == "redaction.known:domain_of"
    assert calls.moved("versions:series") == "versions:series"
    assert calls.moved("redaction.elsewhere:no_such_function") == "redaction.elsewhere:no_such_function"


def test_a_probe_reads_pastes_and_artifacts() -> None:
    text = "\n  Device\n  Device Topology                 PCI-E, 0000:03:00.0\n  Max"
    for one in (text, Artifact("cmd/clinfo", "bundle", text)):
        assert str(DOORS["probes"]("tools.clinfo", one)) == "gpu 0 pci_bdf = 0000:03:00.0"
