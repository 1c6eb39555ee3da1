"""A plugin of pytest: `@pytest.mark.rocm(min_vram="24GiB", gpus=2)` skips a test on a machine that does not meet the requirements.

It is loaded wherever rocm-doctor is installed, so it imports nothing of ours, and reads the machine only where a collected test has the mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rocm_doctor.model import Report

_MARK = "rocm(target, gpus, min_vram, packages, ...): needs a machine that meets these requirements of rocm_doctor.require"


def requires_rocm(**requirements: Any) -> pytest.MarkDecorator:
    """The mark as a decorator. Raises TypeError for a requirement that `require` does not have, where the test is defined."""
    from inspect import signature

    from rocm_doctor.api import require

    signature(require).bind(**requirements)
    mark: pytest.MarkDecorator = pytest.mark.rocm(**requirements)
    return mark


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --rocm-required and --rocm-machine to pytest's options."""
    group = parser.getgroup("rocm")
    group.addoption(
        "--rocm-required",
        action="store_true",
        help="Fail tests marked `rocm` on a machine that does not meet their requirements.",
    )
    group.addoption(
        "--rocm-machine", metavar="PATH", help="Judge a captured machine (a bundle or a folder) in place of this one."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _MARK)


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """The verdict on the machine, where a collected test has the mark."""
    if not any(item.get_closest_marker("rocm") for item in items):
        return []
    report = _report(config)
    gpus = [str(gpu.get("gfx").value) for gpu in report.snapshot.gpus if gpu.get("gfx").known]
    return [f"rocm-doctor: {report.summary}" + (f" ({', '.join(gpus)})" if gpus else "")]


@pytest.fixture(scope="session")
def rocm_report(request: pytest.FixtureRequest) -> Report:
    """What `rocm_doctor.check` says of the machine."""
    return _report(request.config)


def _report(config: pytest.Config) -> Report:
    from rocm_doctor import api

    return api.check(*_paths(config))


def _paths(config: pytest.Config) -> list[str]:
    captured = config.getoption("--rocm-machine")
    return [captured] if captured else []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Mark a test as skipped (or with --rocm-required fail it) on a machine that does not meet its requirements."""
    requirements = _join_marks(item)
    reason = _find_unmet(item.config, requirements) if requirements is not None else ""
    if reason and item.config.getoption("--rocm-required"):
        pytest.fail(reason, pytrace=False)
    if reason:
        item.add_marker(pytest.mark.skip(reason=reason))  # pytest's own hook, which runs after this one, names the test's line


def _join_marks(item: pytest.Item) -> dict[str, Any] | None:
    """The requirements of all marks of a test, of its class and its module; the nearest wins where two name the same."""
    marks = list(item.iter_markers("rocm"))
    if any(mark.args for mark in marks):
        raise pytest.UsageError("@pytest.mark.rocm takes keywords only, such as min_vram='24GiB'")
    joined: dict[str, Any] = {}
    for mark in reversed(marks):
        joined.update(mark.kwargs)
    packages = [one for mark in marks for one in mark.kwargs.get("packages", ())]
    return ({**joined, "packages": packages} if packages else joined) if marks else None


_reasons: pytest.StashKey[dict[str, str]] = pytest.StashKey()


def _find_unmet(config: pytest.Config, requirements: dict[str, Any]) -> str:
    """Why the machine does not meet the requirements; empty if it does. The same are judged once; wrong ones raise each time."""
    from rocm_doctor import api

    known = config.stash.setdefault(_reasons, {})
    key = repr(sorted(requirements.items()))
    if key not in known:
        try:
            api.require(*_paths(config), **requirements)
        except api.NotReady as exc:
            known[key] = str(exc)
        else:
            known[key] = ""
    return known[key]
