from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_texts import (
    AMD_MONITOR,
    AMD_STATIC,
    EVERY,
    HIPINFO,
    ROCMINFO,
    SMI_JSON,
    SMI_LIST,
    SMI_TABLE,
    gpus,
)

from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.probes.tools import rocm_smi, rocminfo
from rocm_doctor.sources.paste import cut

DMESG = "[    2.244241] kfd kfd: DID 7340 is missing in supported_devices\n[   12.5] usb 1-1: new device\n"


def kinds(text: str) -> list[str]:
    return [a.name.partition("-")[2] for a in cut(text, "bug.md")[1:]]


def of_kind(text: str, kind: str) -> Artifact:
    return next(a for a in cut(text, "bug.md") if a.name.endswith("-" + kind))


@pytest.mark.parametrize("kind", EVERY)
def test_each_tool_alone(kind: str) -> None:
    assert set(kinds(EVERY[kind])) - {"env"} == {kind}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("torch==2.9.1+rocm6.4\nnumpy==2.1\n", "pip"),
        ("Package    Version\n---------- -----\nrequests   2.1\n", "pip"),
        (DMESG, "dmesg"),
        ("Jan 06 14:37:38 host kernel: [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout\n", "dmesg"),
    ],
)
def test_other_kinds(line: str, kind: str) -> None:
    assert kinds("Hello,\n\n" + line) == [kind]


@pytest.mark.parametrize(
    "prose",
    [
        "I ran rocminfo and it works. My GPU is a gfx1100 card.\n",
        "Please attach the output of rocm-smi, amd-smi and clinfo.\n",
        "step 100: loss 1.23, amdgpu is fine, device, card\nName: foo\nGPU is busy\n",
        "",
    ],
)
def test_prose_is_no_output(prose: str) -> None:
    assert kinds(prose) == []


def test_whole_text_comes_first_and_keeps_the_name() -> None:
    whole = cut("> a <b>bug</b>\n", "bug.md")[0]
    assert (whole.name, whole.text, whole.note, whole.origin) == ("paste/text", "a bug\n", "bug.md", "paste")


def test_several_tools_in_one_report() -> None:
    text = (
        f"It fails.\n\n```\nuser@host:~$ rocminfo\n{ROCMINFO}user@host:~$ rocm-smi\n{SMI_TABLE}```\n\nAnd then:\n\n```text\n{AMD_STATIC}```\n"
        f"$ dmesg | tail\n{DMESG}"
    )
    assert kinds(text) == ["rocminfo", "rocm-smi", "amd-smi", "dmesg"]
    assert "ROCk module" not in of_kind(text, "rocm-smi").text
    assert "Concise" not in of_kind(text, "rocminfo").text


def test_line_numbers_are_those_of_the_text() -> None:
    text = "It fails.\n\n```\n$ rocminfo\n" + ROCMINFO + "```\n" + SMI_LIST
    lines = text.split("\n")
    for artifact in cut(text, "x")[1:]:
        for number, line in enumerate(artifact.text.split("\n"), 1):
            assert line in ("", lines[number - 1])


@pytest.mark.parametrize(
    "change",
    [
        lambda t: "".join("> " + line for line in t.splitlines(keepends=True)),
        lambda t: "".join("    " + line for line in t.splitlines(keepends=True)),
        lambda t: "".join("# " + line for line in t.splitlines(keepends=True)),
        lambda t: "".join("# > " + line for line in t.splitlines(keepends=True)),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "\ufeff" + t,
        lambda t: "".join("\x1b[37m" + line.rstrip("\n") + "\x1b[0m\n" for line in t.splitlines(keepends=True)),
        lambda t: "".join("[37m" + line.rstrip("\n") + "[0m\n" for line in t.splitlines(keepends=True)),
        lambda t: "<pre>" + t + "</pre>\n",
        lambda t: "~~~\n" + t + "~~~\n",
        lambda t: "これは出力です。\n" + t + "...\n",
        lambda t: t.replace("\t", " "),
        lambda t: "".join(line.rstrip() + "\n" for line in t.splitlines()),
    ],
)
@pytest.mark.parametrize(
    ("text", "module"), [(ROCMINFO, rocminfo), (SMI_LIST, rocm_smi), (SMI_TABLE, rocm_smi), (SMI_JSON, rocm_smi)]
)
def test_the_way_it_was_pasted_does_not_matter(change, text: str, module) -> None:  # type: ignore[no-untyped-def]
    assert gpus(module.probe(Artifacts(cut(change(text), "x")))) == gpus(module.probe(Artifacts(cut(text, "x"))))


def test_lines_of_one_kind_are_gathered() -> None:
    text = "foo\n" + DMESG + "\n\nmore\n" + DMESG
    assert of_kind(text, "dmesg").text.count("kfd kfd") == 2


def test_json_keeps_its_opening() -> None:
    assert (
        of_kind('$ rocm-smi --json\n{\n  "card0": {\n    "GPU ID": "0x73df"\n  }\n}\n', "rocm-smi")
        .text.strip()
        .startswith("$ rocm-smi")
    )


def test_unfinished_end_stays_unfinished() -> None:
    assert not of_kind(ROCMINFO[:-30], "rocminfo").text.endswith("\n")
    assert of_kind(ROCMINFO + "$ ls", "rocminfo").text.endswith("\n")


def test_hostile_number_of_pieces_is_bounded() -> None:
    assert len(cut("$ rocminfo\n$ ls\n" * 2000, "x")) <= 50


def test_a_tool_run_over_and_over_is_cut_to_a_length() -> None:
    found = next(a for a in cut(f"{ROCMINFO.rstrip()}\n" * 2000, "x") if a.name.endswith("-rocminfo"))
    assert ROCMINFO.count("\n") <= found.text.count("\n") <= 20_001


@given(
    st.lists(
        st.sampled_from([*EVERY.values(), DMESG, "```\n", "$ ls\n", "\n", "text\n", "x" * 50, HIPINFO[:77], AMD_MONITOR[:99]]),
        max_size=8,
    )
)
def test_any_mixture_is_cut(parts: list[str]) -> None:
    found = cut("".join(parts), "x")
    assert found[0].name == "paste/text"
    assert len({a.name for a in found}) == len(found)
    assert all(a.text.count("\n") <= found[0].text.count("\n") for a in found)


@given(st.text())
def test_any_text_is_cut(text: str) -> None:
    assert cut(text, "x")[0].name == "paste/text"
