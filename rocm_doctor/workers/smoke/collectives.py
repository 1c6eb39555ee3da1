"""All-reduces over all GPUs of this machine, a process for each: sums to the bit, and the GPU or pair that is wrong or slow.

First all ranks together, then every pair. A rank that dies or gives no answer is named.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from .compare import Wrong
from .on_torch import TorchContext

WORDS = (1 << 10, 1 << 20)
"""Sizes of an all-reduce in float32: one for latency, one for bandwidth."""
LIMIT, STARTING = 30.0, 60.0
"""Seconds for an all-reduce, and beside those for all ranks to import torch."""
SLOW_RATIO, SLOW_SECONDS = 3.0, 0.02
"""A slow pair takes so many times as long as usual, and so many seconds longer: below that it is the noise of a busy machine."""


class Shown(NamedTuple):
    """What a group of ranks showed: seconds of its slowest rank, and whether a sum was wrong."""

    seconds: float
    wrong: bool


def collectives(context: TorchContext) -> dict[str, Any]:
    """GB/s that each rank sends at least. Reasons: lost-rank, error, wrong-sums, slow."""
    context.need_gpus(2)
    return run_ranks(context.torch.cuda.device_count(), "cuda", context.report)


def run_ranks(
    world: int, device: str, report: Callable[[str], None], limit: float = LIMIT, prelude: Sequence[str] = ()
) -> dict[str, Any]:
    """The number of ranks, and GB/s by size of the all-reduce. Raises Wrong: wrong-sums or slow with the culprits, lost-rank,
    error."""
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-") as folder:
        job = RankProcesses(world, device, f"{folder}/store", limit, prelude)
        try:
            details, shown = {}, Shown(0.0, False)
            for words in WORDS:
                report(f"all-reduce of {4 * words} bytes over {world} ranks")
                shown = job.measure(range(world), words)
                # What each rank sends at least: 2 (n - 1) / n of the tensor.
                rate = 2 * (world - 1) / world * 4 * words / max(shown.seconds, 1e-9) / 1e9
                details[f"{4 * words} bytes"] = float(f"{rate:.3g}")
            report("all-reduces of every pair of ranks")
            culprits = find_culprits(job.measure, world)
        finally:
            job.end()
    for reason, how in (("wrong-sums", "a sum is wrong"), ("slow", "it is slow")):
        ranks = [name_ranks(culprit) for symptom, culprit in culprits if symptom == reason]
        if ranks or (reason == "wrong-sums" and shown.wrong):
            raise Wrong(reason, f"all-reduce, {how}: {'; '.join(ranks) or 'all ranks together'}", gb_per_s=details)
    return {"ranks": world, "gb_per_s": details}


class RankProcesses:
    """The ranks' processes, which take orders one by one."""

    def __init__(self, world: int, device: str, store: str, limit: float, prelude: Sequence[str]) -> None:
        start = [sys.executable, str(Path(__file__).resolve().parents[1]), "rank"]
        self.limit, self.left = limit, STARTING + limit
        self.answers: queue.Queue[tuple[int, str]] = queue.Queue()
        self.ranks: list[subprocess.Popen[str]] = []
        self.listeners: list[threading.Thread] = []
        for number in range(world):
            argv = [*start, str(number), str(world), device, store, str(limit), *prelude]
            rank = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            self.ranks.append(rank)
            self.listeners.append(threading.Thread(target=self._listen, args=(number, rank), daemon=True))
            self.listeners[-1].start()

    def _listen(self, number: int, rank: subprocess.Popen[str]) -> None:
        """Hand on what a rank answers; an empty answer when it has ended."""
        assert rank.stdout is not None
        with rank.stdout:
            for line in rank.stdout:
                self.answers.put((number, line))
        self.answers.put((number, ""))

    def measure(self, ranks: Sequence[int], words: int = WORDS[-1]) -> Shown:
        """An all-reduce over these ranks. Raises Wrong: lost-rank, error."""
        order = json.dumps({"words": words, "ranks": list(ranks)})
        for rank in self.ranks:
            assert rank.stdin is not None
            with contextlib.suppress(OSError):  # a rank that has ended answers with an empty line
                rank.stdin.write(order + "\n")
        answers = self._collect()
        errors = [f"{name_ranks([number])}: {answer['error']}" for number, answer in sorted(answers.items()) if "error" in answer]
        if errors:
            raise Wrong("error", "all-reduce: " + "; ".join(errors[:3]))
        seen = [answers[number] for number in ranks]
        return Shown(max(answer["seconds"] for answer in seen), any(answer["wrong"] for answer in seen))

    def _collect(self) -> dict[int, dict[str, Any]]:
        """The answer of each rank by its number. Raises Wrong: lost-rank, if one has ended or does not answer in time."""
        until, self.left = time.monotonic() + self.left, self.limit + 5
        answers: dict[int, dict[str, Any]] = {}
        while len(answers) < len(self.ranks):
            try:
                number, line = self.answers.get(timeout=max(until - time.monotonic(), 0.01))
            except queue.Empty:
                silent = [number for number in range(len(self.ranks)) if number not in answers]
                raise Wrong("lost-rank", f"all-reduce: no answer of {name_ranks(silent)}") from None
            if not line:
                code = self.ranks[number].wait()
                how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
                raise Wrong("lost-rank", f"all-reduce: {name_ranks([number])} {how}")
            answers[number] = json.loads(line)
        return answers

    def end(self) -> None:
        for rank in self.ranks:
            rank.kill()
        for rank, listener in zip(self.ranks, self.listeners):
            listener.join()
            with contextlib.suppress(OSError), rank:
                pass  # reaps it and closes its pipe


def name_ranks(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 1 and 6`: a rank's number is the index of its GPU."""
    return f"rank{'s' if len(ranks) > 1 else ''} {' and '.join(map(str, ranks))}"


def find_culprits(measure: Callable[[Sequence[int]], Shown], world: int) -> list[tuple[str, tuple[int, ...]]]:
    """(symptom, ranks) for each culprit: `wrong-sums` or `slow`, and one rank or the two of a pair. A bad pair is measured again,
    since on a busy machine any pair may be slow once. A rank alone is the culprit if all its pairs are bad. Slow is relative to
    the faster quarter of the pairs."""
    seen = {pair: measure(pair) for pair in combinations(range(world), 2)}
    usual = sorted(shown.seconds for shown in seen.values())[len(seen) // 4]
    culprits: list[tuple[str, tuple[int, ...]]] = []
    for symptom in ("wrong-sums", "slow"):
        bad = [pair for pair, shown in sorted(seen.items()) if _has(symptom, shown, usual)]
        bad = [pair for pair in bad if _has(symptom, measure(pair), usual)]
        alone = [rank for rank in range(world) if world > 2 and all(pair in bad for pair in seen if rank in pair)]
        culprits += [(symptom, (rank,)) for rank in alone]
        culprits += [(symptom, pair) for pair in bad if not {*pair} & {*alone}]
    return culprits


def _has(symptom: str, shown: Shown, usual: float) -> bool:
    if symptom == "wrong-sums":
        return shown.wrong
    return shown.seconds > SLOW_RATIO * usual and shown.seconds > usual + SLOW_SECONDS
