"""Settings for every test: a busy machine is no failure, so that nothing is timed by the test runner."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faketools import bare_machine
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from recorded import enforced

from rocm_doctor.redaction import redactor

# An image may forbid bytecode. Here each of three hundred children would then compile the package again, and each worker the tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Each child that imports NumPy would else wait in a thread for every core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# As the command line has it: a worker holds six thousand tests, which the collector need not look through.
gc.set_threshold(50_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    """The same examples everywhere: Hypothesis would put the constants of all loaded modules into them, after seconds of parsing for each
    worker, and the examples would depend on which tests it had before. Its plugin begins with that after the collection."""
    patch = pytest.MonkeyPatch()
    patch.setattr(providers, "_get_local_constants", lambda: Constants(), raising=False)
    config.add_cleanup(patch.undo)


def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: one worker more than there are processors, since many tests wait for a child."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Keep what was collected out of every later collection of garbage."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """pytest looks for what the garbage collector cannot end, once at the end: not among all that six thousand tests kept."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip where what a mark names is not installed: `torch("peft")` needs both. Nothing is imported before a test asks for it."""
    for mark in (one for name in ("torch", "jax") for one in item.iter_markers(name)):
        for needed in (mark.name, *mark.args):
            if importlib.util.find_spec(needed) is None:
                pytest.skip(f"{needed} is not installed")


_CALM = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", _CALM, max_examples=10)
settings.register_profile("long", _CALM, max_examples=300)
settings.load_profile("short")


@pytest.fixture(autouse=True, scope="session")
def _vocabulary() -> Iterator[None]:
    """Facts that coords.py does not define fail the test that records them."""
    with pytest.MonkeyPatch.context() as patch:
        enforced(patch)
        yield


@pytest.fixture(autouse=True, scope="session")
def _a_machine_without_names() -> Iterator[None]:
    """Nobody's host, user or home: the names of whoever runs the tests would get the first pseudonyms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redactor, "this_machine", lambda: ("", "", ""))
        yield


@pytest.fixture
def bin_(tmp_path: Path) -> Path:
    """The folder of fake tools that comes first on PATH."""
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a machine without an AMD GPU."""
    return bare_machine(tmp_path / "root")
