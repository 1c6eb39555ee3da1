"""Ranks that are slow, wrong, dead or hang are named. The search itself is tested without torch."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import venv
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from rocm_doctor.smoke.across import Across, Culprit, Rank, lines
from rocm_doctor.workers.across.search import ROUNDS, Shown, find_culprits

PACKAGE = Path(__file__).parents[1]
torch = pytest.mark.skipif(not importlib.util.find_spec("torch") or sys.platform != "linux", reason="torch is not installed")


class Ranks:
    """Ranks of which some are bad alone, and some pairs are bad together."""

    def __init__(self, bad: set[int], pairs: set[tuple[int, int]]) -> None:
        self.bad, self.pairs, self.rounds = bad, pairs, 0

    def measure(self, groups: list[list[int]]) -> list[Shown]:
        self.rounds += 1
        assert sum(map(len, groups)) == len({rank for group in groups for rank in group}), "a rank in two groups"
        return [self.shown(group) for group in groups]

    def shown(self, group: list[int]) -> Shown:
        bad = bool(self.bad & set(group)) or any({*pair} <= set(group) for pair in self.pairs)
        return Shown(0.5 if bad else 0.01, bad)


def named(ranks: Ranks, world: int, symptom: str) -> list[list[int]]:
    """The culprits with this symptom, each as its ranks."""
    found = find_culprits(ranks.measure, [[rank] for rank in range(world)])
    return [[rank for unit in culprit for rank in unit] for kind, culprit in found if kind == symptom]


@pytest.mark.parametrize("symptom", ["slow", "wrong"])
@pytest.mark.parametrize("world", [3, 4, 8, 13, 64, 1000])
def test_every_rank_is_found(symptom: str, world: int) -> None:
    for bad in sorted({0, 1, world // 2, world - 1}):
        ranks = Ranks({bad}, set())
        assert named(ranks, world, symptom) == [[bad]]
        assert ranks.rounds <= 3 * ROUNDS + 2


@pytest.mark.parametrize("symptom", ["slow", "wrong"])
@pytest.mark.parametrize("pair", [(0, 1), (2, 9), (7, 8), (14, 15), (0, 15), (5, 6)])
def test_every_pair_is_found(symptom: str, pair: tuple[int, int]) -> None:
    assert named(Ranks(set(), {pair}), 16, symptom) == [list(pair)]


def test_two_culprits_and_none() -> None:
    assert named(Ranks({3, 12}, {(5, 6)}), 16, "wrong") == [[3], [12], [5, 6]]
    assert named(Ranks(set(), set()), 16, "slow") == []


def test_of_two_units_slow_cannot_be_said_and_wrong_is_their_pair() -> None:
    assert named(Ranks({0}, set()), 2, "slow") == []
    assert named(Ranks({0}, set()), 2, "wrong") == [[0, 1]]


def test_a_rank_that_was_slow_once_is_not_blamed() -> None:
    ranks = Ranks({6}, set())

    def until_it_passes(groups: list[list[int]]) -> list[Shown]:
        shown = ranks.measure(groups)
        ranks.bad = ranks.bad if ranks.rounds < ROUNDS else set()
        return shown

    assert find_culprits(until_it_passes, [[rank] for rank in range(16)]) == []


def test_the_result_in_words() -> None:
    people = tuple(Rank(n, f"n{n // 2 + 1}", n // 2) for n in range(4))
    found = Across(
        4, people, found=(Culprit("exchange", "slow", ((1,), (2,))), Culprit("all-reduce", "wrong", ((3,),))), lost=(0,)
    )
    assert list(lines(found)) == [
        "✗ exchange between rank 1 (n1) and rank 2 (n2) is slow",
        "✗ rank 3 (n2): all-reduce computes wrong",
        "✗ rank 0 (n1) died or gave no answer",
    ]


def test_without_torch_there_is_no_result(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", "across", "--ranks", "2", "--python", str(tmp_path / "bare")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=PACKAGE)
    assert done.returncode == 1
    assert "torch.distributed.run" in done.stdout


@torch
@pytest.mark.slow
@pytest.mark.torch
def test_two_sound_nodes_of_two_ranks() -> None:
    """Two torchruns that meet on loopback, as on two nodes: the one with rank 0 has the result."""
    with socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", "across", "--nodes", "2", "--rendezvous", f"127.0.0.1:{port}"]
    argv += ["--ranks", "2", "--device", "cpu", "--format", "json"]
    nodes = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=PACKAGE) for _ in range(2)]
    said = [node.communicate(timeout=200)[0] for node in nodes]
    (result,) = [json.loads(text) for text in said if text]
    assert [node.returncode for node in nodes] == [0, 0]
    assert sorted(one["node"] for one in result["ranks"]) == [0, 0, 1, 1]
    assert result["found"] == result["lost"] == []


def across(tmp_path: Path, prelude: str, ranks: int = 8, limit: int = 30) -> dict[str, Any]:
    (tmp_path / "prelude.py").write_text(prelude)
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", "across", "--ranks", str(ranks), "--device", "cpu", "--format", "json"]
    argv += ["--limit", str(limit), "--prelude", str(tmp_path / "prelude.py")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False, cwd=PACKAGE)
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if found["found"] or found["lost"] or found["error"] else 0), done.stderr
    return found


SLOW_AND_WRONG = """
import time
plain = job.ops["all_reduce"]
def late(values, group):
    time.sleep(0.4)
    plain(values, group)
def other(values, group):
    values.add_(1)
    plain(values, group)
if job.rank in (2, 5):
    job.ops["all_reduce"] = {2: late, 5: other}[job.rank]
"""
SLOW_PAIR = """
import time
plain = job.ops["all_reduce"]
def late(values, group):
    if group is not None and job.distributed.get_process_group_ranks(group) == [1, 6]:
        time.sleep(0.8)
    plain(values, group)
job.ops["all_reduce"] = late
"""


@torch
@pytest.mark.slow
@pytest.mark.torch
def test_eight_ranks_one_slow_one_wrong(tmp_path: Path) -> None:
    found = across(tmp_path, SLOW_AND_WRONG)
    assert found["error"] == ""
    assert {(one["step"], one["symptom"], str(one["ranks"])) for one in found["found"]} == {
        ("all-reduce", "wrong", "[[5]]"),
        ("all-reduce", "slow", "[[2]]"),
    }
    assert [step["step"] for step in found["steps"] if step["wrong"]] == ["all-reduce", "all-reduce"]
    assert all(step["gb_per_s"] > 0 for step in found["steps"])


@torch
@pytest.mark.slow
@pytest.mark.torch
def test_a_slow_pair(tmp_path: Path) -> None:
    found = across(tmp_path, SLOW_PAIR)
    assert [(one["step"], one["symptom"], sorted(one["ranks"])) for one in found["found"]] == [("all-reduce", "slow", [[1], [6]])]


@torch
@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    "prelude",
    [
        "import os\nif job.rank == 3: os.kill(os.getpid(), 9)",
        "import os\nif job.rank == 3: job.ops['all_reduce'] = lambda *_: os.kill(os.getpid(), 9)",
        "import time\nif job.rank == 3: job.ops['all_reduce'] = lambda *_: time.sleep(3600)",
    ],
    ids=["dead at once", "dies in a step", "hangs in a step"],
)
def test_a_rank_that_is_lost_is_named(tmp_path: Path, prelude: str) -> None:
    found = across(tmp_path, prelude, ranks=4, limit=10)
    assert found["lost"] == [3], found
