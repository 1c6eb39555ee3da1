"""A plugin of pytest: `@pytest.mark.rocm(min_vram="24GiB", gpus=2)` skips a test on a machine that does not meet the requirements.

It is loaded wherever rocm-doctor is installed, so it imports nothing of ours, and reads the machine only where a collected test has the mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

_MARK = "rocm(target, gpus, min_vram, packages, ...): needs a machine that meets these requirements of rocm_doctor.require"


def pytest_addoption(parser: pytest.Parser) -> None:
    """--rocm-required."""
    parser.getgroup("rocm").addoption(
        "--rocm-required",
        action="store_true",
        help="Fail tests marked `rocm` on a machine that does not meet their requirements.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _MARK)


def pytest_report_collectionfinish(items: Sequence[pytest.Item]) -> list[str]:
    """The verdict on this machine, where a collected test has the mark."""
    if not any(item.get_closest_marker("rocm") for item in items):
        return []
    from rocm_doctor import api

    report = api.check()
    gpus = [str(gpu.get("gfx").value) for gpu in report.snapshot.gpus if gpu.get("gfx").known]
    return [f"rocm-doctor: {report.summary}" + (f" ({', '.join(gpus)})" if gpus else "")]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip (or with --rocm-required fail) a marked test on a machine that does not meet its requirements."""
    mark = item.get_closest_marker("rocm")
    if mark is None:
        return
    reason = _unmet(item.config, mark)
    if reason and item.config.getoption("--rocm-required"):
        pytest.fail(reason, pytrace=False)
    if reason:
        pytest.skip(reason)


_reasons: pytest.StashKey[dict[str, str]] = pytest.StashKey()


def _unmet(config: pytest.Config, mark: pytest.Mark) -> str:
    """Why this machine does not meet the mark's requirements; empty if it does. The same requirements are judged once."""
    from rocm_doctor import api

    known = config.stash.setdefault(_reasons, {})
    key = repr(sorted(mark.kwargs.items()))
    if key not in known:
        known[key] = ""
        try:
            api.require(**_given(mark))
        except api.NotReady as exc:
            known[key] = str(exc)
    return known[key]


def _given(mark: pytest.Mark) -> dict[str, Any]:
    if mark.args:
        raise pytest.UsageError("@pytest.mark.rocm takes keywords only, such as min_vram='24GiB'")
    return dict(mark.kwargs)
