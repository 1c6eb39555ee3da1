"""Keeps the worker, hands it one configuration after the other, and starts it again if one of them kills it."""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.runner import WorkerError
from rocm_doctor.tune.search import Measured
from rocm_doctor.tune.space import TuneChoice, choice_job
from rocm_doctor.workers import START, process

START_LIMIT, RUN_LIMIT = 120.0, 120.0
"""Seconds for the worker's imports, and for one configuration."""
TICK = 0.05


class Hello(msgspec.Struct, frozen=True):
    """The GPU that the worker found. `torch`: its version; `device`: cuda or cpu; `total`: bytes of its memory; `context`: those
    in use beside torch's allocator."""

    torch: str
    device: str
    name: str = ""
    gfx: str = ""
    total: int = 0
    context: int = 0


class TuneWorker:
    """One worker process and the two files through which it is spoken to. `until`: the monotonic time at which every wait ends."""

    def __init__(self, folder: Path, python: str | None, limit: int, packages: Sequence[str]) -> None:
        self.folder, self.python, self.limit, self.packages = folder, python or sys.executable, limit, packages
        self.until = float("inf")
        self.number = 0
        self.deaths: list[str] = []
        self.ran = False
        self.child: process.Child | None = None
        self.base: Job | None = None

    @property
    def asks(self) -> Path:
        """The file of jobs."""
        return self.folder / f"asks-{self.number}.jsonl"

    @property
    def results(self) -> Path:
        """The file of results."""
        return self.folder / f"results-{self.number}.jsonl"

    def start(self) -> Hello:
        """Start the worker and return its greeting. Raises WorkerError if it ends or does not greet in time."""
        self.number += 1
        self.asks.touch()
        self.results.touch()
        argv = [self.python, START, "tune", str(self.asks), str(self.results), str(self.limit), *self.packages]
        self.child = process.start(process.ChildSpec(argv, limit=float("inf"), keep="tail", cap=1 << 16))
        line = self._wait_for(0, START_LIMIT)
        if line is None:
            words = [w for w in process.make_result(self.child).stderr.splitlines() if w.strip()]
            self.stop()
            raise WorkerError(words[-1] if words else "the worker did not start in time")
        return msgspec.convert(line["hello"], Hello)

    def measure(self, choice: TuneChoice, steps: int) -> Measured:
        """One run of `steps` steps. A death or a time-out is its error, and the next one gets a new worker. Raises WorkerError at
        the second death of one kind if no configuration ran before: then none will."""
        assert self.base is not None
        if self.child is None:
            self.start()
        hello = self._read()[0]["hello"]
        job = choice_job(choice, self.base)
        plain = {name: getattr(job, name) for name in job.__struct_fields__ if name != "kernels"}
        ask = {**plain, "id": len(self._read()), "steps": steps, "device": hello["device"]}
        with self.asks.open("a", encoding="utf-8") as file:
            file.write(msgspec.json.encode(ask).decode() + "\n")
        line = self._wait_for(ask["id"], RUN_LIMIT)
        if line is None:
            return Measured(choice, steps, error=self._end_worker())
        self.ran = True
        return msgspec.convert({"choice": msgspec.to_builtins(choice), "steps": steps, **line}, Measured)

    def _end_worker(self) -> str:
        """End the worker; how it ended, with its last words. Raises WorkerError if that is the second time and nothing else happened yet."""
        assert self.child is not None
        over = self.child.ended is None
        process.stop(self.child, "timeout" if over else "finished")
        result, self.child = process.make_result(self.child), None
        code = result.returncode
        way = "took too long" if over else f"died: {signal.Signals(-code).name}" if code and code < 0 else f"ended with {code}"
        last = next((line.strip() for line in reversed(result.stderr.splitlines()) if line.strip()), "")
        words = f"the worker {way}" + (f" ({last[:200]})" if last else "")
        if not self.ran and way in self.deaths:
            raise WorkerError(f"no configuration can run: {words}, twice in a row; `rocm-doctor smoke` looks for the reason")
        self.deaths.append(way)
        return words

    def _wait_for(self, number: int, limit: float) -> Any:
        """The line of that number; None if the worker ends or the time is over before."""
        assert self.child is not None
        until = min(time.monotonic() + limit, self.until)
        while time.monotonic() < until:
            lines = self._read()
            if len(lines) > number:
                return lines[number]
            if not process.pump([self.child], timeout=TICK):
                return next(iter(self._read()[number:]), None)
        return None

    def _read(self) -> list[Any]:
        """The complete lines of the results, decoded. Raises WorkerError if one is not JSON."""
        lines = self.results.read_bytes().split(b"\n")[:-1]
        try:
            return [jsons.decode(line, dict[str, Any]) for line in lines]
        except Unreadable as exc:
            raise WorkerError(f"the worker's results cannot be read: {exc}") from exc

    def stop(self) -> None:
        if self.child is not None:
            with self.asks.open("a", encoding="utf-8") as file:
                file.write('{"stop": true}\n')
            process.stop(self.child)
            self.child = None


@contextlib.contextmanager
def worker(python: str | None, limit: int = 0, packages: Sequence[str] = ("transformers",)) -> Iterator[TuneWorker]:
    """A worker that is ended with the block. `limit`: bytes of the GPU's memory that it may take, 0 for all; `packages`: what it needs."""
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-tune-") as folder:
        instance = TuneWorker(Path(folder), python, limit, packages)
        try:
            yield instance
        finally:
            instance.stop()
