from __future__ import annotations

from tool_texts import AGENTS, gpus, run

from rocm_doctor.probes.tools import agents


def test_one_target_a_line() -> None:
    assert gpus(run(agents, ("cmd/rocm_agent_enumerator", AGENTS))) == [{"gfx": "gfx1100"}, {"gfx": "gfx1036"}]


def test_flags() -> None:
    assert gpus(run(agents, ("cmd/rocm_agent_enumerator -name", "gfx90a:sramecc+:xnack-\n"))) == [
        {"gfx": "gfx90a", "isa": "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"}
    ]


def test_processor_alone_says_that_there_is_no_gpu() -> None:
    assert [listing.gpus for listing in run(agents, ("cmd/rocm_agent_enumerator", "gfx000\n")).listings] == [[]]
    assert run(agents, ("cmd/rocm_agent_enumerator", "")).listings == []


def test_unfinished_line_is_not_used() -> None:
    assert run(agents, ("cmd/rocm_agent_enumerator", "gfx000\ngfx110")).listings[0].gpus == []
