"""A rank: reads an order as a line of JSON from standard input and answers it with one on standard output.

An order is `{"words": n, "ranks": [rank, ...]}`: an all-reduce of n float32 over these ranks. The answer has `seconds` of the best repetition
and `wrong`, or `error`; nothing where this rank is not among them. What libraries print goes to standard error.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REPEATS = 3
MODULUS = 89
"""Values are whole numbers below it: their sums are exact in float32."""


class Rank:
    """This process in the job: its device, and the groups formed so far."""

    def __init__(self, number: int, world: int, device: str) -> None:
        import torch
        import torch.distributed as distributed

        self.torch, self.distributed, self.number, self.world = torch, distributed, number, world
        self.device = torch.device(device, number) if device == "cuda" else torch.device(device)
        self.groups: dict[tuple[int, ...], Any] = {}

    def join(self, store: str, limit: float) -> None:
        """Meet the other ranks at a file. `limit`: seconds that an all-reduce may take."""
        backend, timeout = "gloo", datetime.timedelta(seconds=limit)
        if self.device.type == "cuda":
            self.torch.cuda.set_device(self.device)
            backend = "nccl"
        where = {"rank": self.number, "world_size": self.world, "init_method": f"file://{store}"}
        self.distributed.init_process_group(backend, timeout=timeout, **where)

    def all_reduce(self, values: Any, ranks: Sequence[int]) -> None:
        """Replace the values by their sums over the ranks."""
        self.distributed.all_reduce(values, group=self.groups[tuple(ranks)])

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer to an order. Every rank forms every group: that is a collective, too."""
        ranks = order["ranks"]
        try:
            if tuple(ranks) not in self.groups:
                self.groups[tuple(ranks)] = None if len(ranks) == self.world else self.distributed.new_group(ranks)
            return self.measure(order["words"], ranks) if self.number in ranks else {}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:300]}

    def measure(self, words: int, ranks: Sequence[int]) -> dict[str, Any]:
        """Time all-reduces and compare them with the sum that is known."""
        expected = sum((self.values(words, rank) for rank in ranks), self.torch.zeros(words, device=self.device))
        seconds, wrong = [], False
        for _ in range(REPEATS):
            values = self.values(words, self.number)
            began = time.monotonic()
            self.all_reduce(values, ranks)
            if self.device.type == "cuda":
                self.torch.cuda.synchronize()
            seconds.append(time.monotonic() - began)
            wrong = wrong or not self.torch.equal(values, expected)
        return {"seconds": min(seconds), "wrong": wrong}

    def values(self, words: int, rank: int) -> Any:
        """The numbers of a rank: whole, small, and different for each rank."""
        return ((self.torch.arange(words, device=self.device) + 7 * rank) % MODULUS).to(self.torch.float32)


def main(argv: list[str]) -> None:
    """Entry point: rank, number of ranks, cpu or cuda, the file to meet at, seconds; a Python file to run first with `rank`, for tests."""
    with os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)
        rank = Rank(int(argv[0]), int(argv[1]), argv[2])
        if argv[5:]:
            exec(compile(Path(argv[5]).read_text(encoding="utf-8"), argv[5], "exec"), {"rank": rank})
        rank.join(argv[3], float(argv[4]))
        for line in sys.stdin:
            answers.write(json.dumps(rank.obey(json.loads(line))) + "\n")
    # The process group would wait for ranks that are gone.
    os._exit(0)
