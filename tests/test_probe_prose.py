from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import CORPUS, NAMES, facts, gpus, notes

from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.sentences import sentences
from rocm_doctor.probes.text import prose


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("Windows 11 Pro, 32 GB", "platform", "windows"),
        ("Windows 11 with WSL2 and Ubuntu 24.04", "os", "Ubuntu 24.04"),
        ("Windows 11 with WSL2 and Ubuntu 24.04", "wsl", True),
        ("Not WSL, plain Ubuntu 24.04", "wsl", False),
        ("gcc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", "os", None),
        ("Fedora 43 desktop", "os", "Fedora 43"),
        ("on Arch Linux", "os", "Arch Linux"),
        ("arch: x86_64", "os", None),
        ("inside docker", "container", "docker"),
        ("not in docker, bare metal", "container", None),
        ("the toolbox container", "container", "toolbox"),
        ("I also have an RTX 3060 in it", "said.nvidia", "RTX 3060"),
        ("cannot open /opt/rocm/lib/libhsa-runtime64.so.1", "platform", "linux"),
        ("OSError: [WinError 126] shm.dll", "platform", "windows"),
    ],
)
def test_single_statements(text: str, fact: str, value: object) -> None:
    found = facts(prose, text)
    assert found.get(fact) == value


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("RX 7900XTX", ["gfx1100"]),
        ("my 7900 xt", ["gfx1100"]),
        ("Radeon 8060S", ["gfx1151"]),
        ("Strix Halo", ["gfx1151"]),
        ("STX Halo", ["gfx1151"]),
        ("Ryzen AI Max+ 395", ["gfx1151"]),
        ("Strix Halo (Ryzen AI MAX+ 395 w/ Radeon 8060S, gfx1151)", ["gfx1151"]),
        ("MI300X", ["gfx942"]),
        ("8x MI300X", ["gfx942"] * 8),
        ("kernel 6.14x my RX 7900 XTX", ["gfx1100"]),
        ("MI210 x4", ["gfx90a"] * 4),
        ("two RX 7900 XT", ["gfx1100", "gfx1100"]),
        ("dual W7900", ["gfx1100", "gfx1100"]),
        ("the MI50 and the MI100", ["gfx906", "gfx908"]),
        ("Radeon VII", ["gfx906"]),
        ("R9700", ["gfx1201"]),
        ("a 780M in my laptop", ["gfx1103"]),
        ("Ryzen 7 7840U", ["gfx1103"]),
        ("Navi 31", ["gfx1100"]),
        ("gfx90a:sramecc+:xnack-", ["gfx90a"]),
        ("RX 7900 under Linux", ["gfx1100"]),
        ("Vega 8", [{"gfx902", "gfx90c"}]),
        ("Radeon 840M", [{"gfx1152", "gfx1153"}]),
        ("an RDNA2 card", [{f"gfx103{n}" for n in range(7)}]),
        ("an RDNA2 card (gfx1032)", ["gfx1032"]),
        ("fails with a gfx110X GPU", [{f"gfx110{n}" for n in range(4)}]),
        ("my devices are gfx110x", [{f"gfx110{n}" for n in range(4)}]),
        ("pip install --index-url https://example.org/v2/gfx120X-all torch", [{"gfx1200", "gfx1201"}]),
        ("a 780M parameter model", []),
        ("6800 tokens and 7900 rows", []),
        ("files for gfx908 gfx90a gfx942 gfx1030 gfx1100", []),
        ("only built for gfx1030 and gfx1100", []),
        ("RTX 5070 Ti", []),
    ],
)
def test_gpus_by_name(text: str, targets: list[object]) -> None:
    assert [gpu["gfx"] for gpu in gpus(prose, text)] == targets


def test_override_does_not_change_the_card() -> None:
    text = "RX 6700 XT, I run it as gfx1030 with HSA_OVERRIDE_GFX_VERSION=10.3.0"
    assert [gpu["gfx"] for gpu in gpus(prose, text)] == ["gfx1031"]


def test_line_numbers_are_those_of_the_text() -> None:
    reading = notes(prose, "one\n\nI am on Ubuntu 24.04 here. Yes.\n").facts["os"].readings[0]
    assert (reading.artifact, reading.place, reading.quote) == ("paste/text", "line 3", "I am on Ubuntu 24.04 here.")


def test_of_lines_that_differ_in_numbers_only_the_first_are_read() -> None:
    log = "".join(f"step {n} on Ubuntu {n % 28 + 1}.04 loss 0.{n}\n" for n in range(900))
    found = notes(prose, log + "\nInside docker it breaks.\n" + log).facts
    assert found["container"].value == "docker"
    said = found["os"]
    assert len(said.readings + said.disputed) <= 20


def test_gpus_of_the_reports_are_those_that_a_reader_names() -> None:
    """Where the label of a case names a target and the text names a card, the text must not lead to another one."""
    import yaml

    from rocm_doctor.facts.enrich import gpu_names
    from rocm_doctor.matrix import load
    from rocm_doctor.model import Artifact
    from rocm_doctor.probes.read.result import Artifacts

    cases = sorted((CORPUS / "cases").glob("*/case.md"))
    if not cases:
        pytest.skip("the corpus of cases is not beside the project")
    names = gpu_names(load())
    right, told = 0, 0
    for case in cases:
        label = yaml.safe_load((case.parent / "label.yaml").read_text())
        result = prose.probe(Artifacts([Artifact("paste/text", "paste", case.read_text())], lambda: names))
        found = {gpu["gfx"].value for listing in result.listings for gpu in listing.gpus if isinstance(gpu["gfx"].value, str)}
        if found and label["gfx"]:
            told += 1
            right += bool(found & set(label["gfx"]))
    assert told >= 50
    assert right >= 0.97 * told


def test_names_of_tools() -> None:
    assert NAMES.targets_by_name("AMD Radeon RX 7900 XTX") == ("gfx1100",)
    assert NAMES.targets_by_name("AMD Radeon(TM) 8060S Graphics") == ("gfx1151",)
    assert NAMES.targets_by_name("AMD Instinct MI250X/MI250") == ("gfx90a",)
    assert NAMES.targets_by_name("Device 66a1") == ("gfx906",)
    assert NAMES.targets_by_name("AMD Radeon Graphics") == ()
    assert NAMES.targets_by_name("Radeon RX Vega") == ("gfx900",)
    assert NAMES.targets_by_name("AMD Ryzen 5 2500U with Radeon Vega Mobile Gfx") == ()


@given(st.text())
def test_any_text_gives_facts_or_nothing(text: str) -> None:
    notes(prose, text)
    NAMES.find(text)


WORDS = [
    *(
        "ROCm 6.2",
        "torch",
        "works",
        "breaks",
        "with",
        ",",
        ".",
        "and",
        "\n",
        "RX",
        "7900",
        "XTX",
        "gfx1100",
        "from",
        "to",
        "6.3",
        "kernel",
    ),
    *(
        "$",
        "pip install",
        "HSA_XNACK=1",
        "without",
        "not",
        "x",
        "two",
        "WSL",
        "docker",
        "other machine",
        "Ryzen 7 7840U",
        "`",
        "|",
        "###",
    ),
    *("(", ")", "-", "\u0130", "commented", "1002:744c", "https://download.pytorch.org/whl/rocm6.2"),
]


@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_words_give_facts_with_readings(words: list[str]) -> None:
    result = notes(prose, " ".join(words))
    assert all(fact.readings for fact in result.facts.values())


def test_a_product_and_a_target_that_contradict_each_other_are_one_gpu_and_the_chip_decides() -> None:
    assert [gpu["gfx"] for gpu in gpus(prose, "My Radeon 8060S (gfx1100) crashes.\n")] == ["gfx1151"]
    assert [g["gfx"] for g in gpus(prose, "RX 7900 XTX, gfx1100\n")] == ["gfx1100"]


def test_a_requirement_is_no_gpu_of_this_machine() -> None:
    assert [gpu["gfx"] for gpu in gpus(prose, "RX 6700 XT: only supported on compute capability 8.9, or ROCm MI300+")] == [
        "gfx1031"
    ]


def test_the_end_of_a_long_text_is_read_with_its_line_numbers() -> None:
    lines = ["a log line of some length, which differs"] * 5_000 + ["Windows 11 with WSL2 and Ubuntu 24.04"]
    found = sentences(Document(Artifact("paste/text", "paste", text="\n".join(lines))))
    assert [(s.text, s.reading.place) for s in found if "WSL2" in s.text] == [(lines[-1], "line 5001")]
    assert len([s for s in found if s.text == lines[0]]) <= 21, (
        "lines that differ in digits only, or in nothing, are read 20 times"
    )
    assert len([s for s in found if s.text not in lines]) <= 1, "the first part ends within a line, the last begins with one"
