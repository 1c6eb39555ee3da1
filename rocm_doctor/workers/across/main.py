"""A rank of a torchrun job: all-reduces with checked numbers, then the search for a slow or wrong rank.

Rank 0 leads. What is done next, and what each rank saw of it, goes through the job's TCPStore, so that a rank that died or hangs is
named by the rank that waits for it. Rank 0 writes the result as JSON to --result.
"""

from __future__ import annotations

import argparse
import datetime
import faulthandler
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .search import Shown, find_culprits

WORDS = (1 << 10, 1 << 20)
"""Sizes of the tensors in float32 words: one for latency, one for bandwidth."""
REPEATS = 3
STEP = "all-reduce"
MODULUS = 89
"""Values are whole numbers below it: sums over 100,000 ranks are exact in float32."""


class Lost(Exception):
    """Ranks that gave no answer in time."""

    def __init__(self, ranks: Sequence[int], step: str) -> None:
        super().__init__(f"{ranks} in {step}")
        self.ranks, self.step = list(ranks), step


class Job:
    """This rank: torch, the store, and the operations under test (`ops`, which a test may replace)."""

    def __init__(self, limit: float, device: str) -> None:
        import torch
        import torch.distributed as distributed

        self.torch, self.distributed, self.limit = torch, distributed, limit
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        local = int(os.environ.get("LOCAL_RANK", "0"))
        on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
        self.device = torch.device("cuda", local % max(torch.cuda.device_count(), 1)) if on_gpu else torch.device("cpu")
        own = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and self.rank == 0
        store = distributed.TCPStore(
            os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=own, timeout=datetime.timedelta(seconds=limit)
        )
        self.store = distributed.PrefixStore("rocm-doctor", store)
        self.ops: dict[str, Callable[..., Any]] = {"all_reduce": self._all_reduce}
        self.groups: dict[tuple[int, ...], Any] = {}
        self.rounds = 0

    def start(self) -> list[dict[str, Any]]:
        """Say hello, wait for everybody (rank 0), and join; the ranks with their nodes."""
        torch = self.torch
        self.put("hello", {"rank": self.rank, "host": platform.node(), "node": int(os.environ.get("GROUP_RANK", "0"))})
        found = self.collect("hello", range(self.world)) if self.rank == 0 else []
        if self.rank == 0:
            self.send_order("join", {})
        self.receive_order("join")
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        self.distributed.init_process_group(
            "nccl" if self.device.type == "cuda" else "gloo",
            store=self.store, rank=self.rank, world_size=self.world, timeout=datetime.timedelta(seconds=self.limit),
        )  # fmt: skip
        return found

    def put(self, step: str, value: Any) -> None:
        """Tell rank 0 what this rank saw of a step."""
        self.store.set(f"{step}/{self.rank}", json.dumps(value))

    def collect(self, step: str, ranks: Sequence[int]) -> list[Any]:
        """What these ranks saw of a step. Raises Lost with all that did not say in time."""
        until, lost, found = time.monotonic() + self.limit + 5, [], []
        for rank in ranks:
            try:
                left = max(until - time.monotonic(), 0.2)
                self.store.wait([f"{step}/{rank}"], datetime.timedelta(seconds=left))
                found.append(json.loads(self.store.get(f"{step}/{rank}")))
            except Exception:
                lost.append(rank)
        if lost:
            raise Lost(lost, step)
        return found

    def send_order(self, name: str, value: Any) -> None:
        """Tell all ranks what to do."""
        self.store.set(f"order/{name}", json.dumps(value))

    def receive_order(self, name: str) -> Any:
        """Wait for the next order of rank 0, which may first wait for a lost rank. This process ends itself if no order comes."""
        faulthandler.dump_traceback_later(5 * self.limit + 90, exit=True)
        self.store.wait([f"order/{name}"], datetime.timedelta(seconds=4 * self.limit + 60))
        return json.loads(self.store.get(f"order/{name}"))

    def _all_reduce(self, values: Any, group: Any) -> None:
        self.distributed.all_reduce(values, group=group)

    def time_call(self, body: Callable[[], Any]) -> float:
        """Seconds of the body, to the end of what it started on the GPU."""
        began = time.monotonic()
        body()
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()
        return time.monotonic() - began

    def values(self, words: int, rank: int) -> Any:
        """The numbers of a rank: whole, small, and different for each rank."""
        return ((self.torch.arange(words, device=self.device) + 7 * rank) % MODULUS).to(self.torch.float32)


def check_sum(job: Job, words: int, ranks: Sequence[int], group: Any) -> dict[str, Any]:
    """An all-reduce, compared with the sum that is known."""
    expected = sum((job.values(words, rank) for rank in ranks), job.torch.zeros(words, device=job.device))
    seconds, wrong = [], False
    for _ in range(REPEATS):
        got = job.values(words, job.rank)
        seconds.append(job.time_call(lambda got=got: job.ops["all_reduce"](got, group)))  # type: ignore[misc]
        wrong = wrong or not job.torch.equal(got, expected)
    return {"seconds": min(seconds), "wrong": wrong}


def step(job: Job, words: int, ranks: Sequence[int], group: Any = None) -> dict[str, Any]:
    """What this rank saw of a step; an exception of torch's is its `error`."""
    try:
        return check_sum(job, words, ranks, group)
    except Exception as exc:
        return {"seconds": 0.0, "wrong": False, "error": f"{type(exc).__name__}: {exc}"[:300]}


def follow(job: Job) -> None:
    """Run the steps that rank 0 orders, until it orders none."""
    while True:
        job.rounds += 1
        order = job.receive_order(str(job.rounds))
        if not order["groups"]:
            return
        obey(job, order)


def obey(job: Job, order: dict[str, Any]) -> None:
    """Form the groups, where they are new, and run the step in this rank's own."""
    for ranks in order["groups"]:
        if tuple(ranks) not in job.groups:
            job.groups[tuple(ranks)] = None if len(ranks) == job.world else job.distributed.new_group(ranks)
    for ranks in order["groups"]:
        if job.rank in ranks:
            job.put(str(job.rounds), step(job, order["words"], ranks, job.groups[tuple(ranks)]))


def order_step(job: Job, words: int, groups: list[list[int]]) -> list[dict[str, Any]]:
    """Rank 0: have the groups run an all-reduce of `words` float32 at once. Returns by group the `seconds` of its slowest rank,
    and `wrong`. Raises RuntimeError if a rank raised, Lost if one gave no answer in time."""
    job.rounds += 1
    order = {"words": words, "groups": groups}
    job.send_order(str(job.rounds), order)
    obey(job, order)
    found = []
    for ranks in groups:
        said = job.collect(str(job.rounds), ranks)
        errors = [(rank, one["error"]) for rank, one in zip(ranks, said) if one.get("error")]
        if errors:
            raise RuntimeError(f"{STEP}: " + "; ".join(f"rank {rank}: {error}" for rank, error in errors[:3]))
        found.append({"seconds": max(one["seconds"] for one in said), "wrong": any(one["wrong"] for one in said)})
    return found


def lead(job: Job, people: list[dict[str, Any]], result: dict[str, Any]) -> None:
    """Rank 0: all steps over all ranks, then the search for what is slow or wrong."""
    everybody = list(range(job.world))
    for words in WORDS:
        (seen,) = order_step(job, words, [everybody])
        # What each rank sends at least: 2 (n - 1) / n of the tensor.
        rate = 2 * (job.world - 1) / job.world * 4 * words / seen["seconds"] / 1e9 if seen["seconds"] else None
        result["steps"].append({"step": STEP, "bytes": 4 * words, "gb_per_s": rate, **seen})
    nodes: dict[int, list[int]] = {}
    for one in people:
        nodes.setdefault(one["node"], []).append(one["rank"])
    units = list(nodes.values()) if len(nodes) > 1 else [[rank] for rank in everybody]
    result["found"] += search(job, units, result)


def search(job: Job, units: list[list[int]], result: dict[str, Any]) -> list[dict[str, Any]]:
    """The culprits. A node that is one is searched for the rank to blame."""

    def measure(groups: list[list[int]]) -> list[Shown]:
        result["rounds"] += 1
        return [Shown(one["seconds"], one["wrong"]) for one in order_step(job, WORDS[-1], groups)]

    found = []
    for symptom, culprit in find_culprits(measure, units):
        ranks = [list(unit) for unit in culprit]
        if len(ranks) == 1 and len(ranks[0]) > 1:
            inside = [unit for kind, unit in find_culprits(measure, [[rank] for rank in ranks[0]]) if kind == symptom]
            ranks = [list(unit) for unit in inside[0]] if inside else ranks
        found.append({"step": STEP, "symptom": symptom, "ranks": ranks})
    return found


def main(argv: list[str] | None = None) -> None:
    """Take part in the job; rank 0 writes the result, whatever came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--result", required=True)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--prelude", help="Python file run first, with `job`; for tests")
    args = parser.parse_args(argv)
    result: dict[str, Any] = {
        "world": int(os.environ["WORLD_SIZE"]),
        "ranks": [],
        "steps": [],
        "found": [],
        "lost": [],
        "error": "",
        "rounds": 0,
    }
    job = Job(args.limit, args.device)
    if args.prelude:
        exec(compile(Path(args.prelude).read_text(encoding="utf-8"), args.prelude, "exec"), {"job": job})
    if job.rank:
        job.start()
        follow(job)
    else:
        try:
            people = job.start()
            result["ranks"] = people
            lead(job, people, result)
        except Lost as exc:
            result["lost"], result["error"] = exc.ranks, f"no answer in step {exc.step}"
        except Exception as exc:
            result["error"] = f"{type(exc).__name__}: {exc}"[:500]
        Path(args.result).write_text(json.dumps(result), encoding="utf-8")
        job.rounds += 1
        job.send_order(str(job.rounds), {"groups": []})
    # The store and the process group would wait for ranks that are gone.
    os._exit(0)
