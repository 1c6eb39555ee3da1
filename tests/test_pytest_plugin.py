"""The plugin of pytest: what the mark skips, fails and prints, and what the plugin costs where it is not used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[1]
READY = ROOT / "fixtures" / "rx7900xtx-ready"
ON_A_READY_MACHINE = f"""
import functools
from rocm_doctor import api
api.require, api.check = (functools.partial(one, {str(READY)!r}) for one in (api.require, api.check))
"""
TESTS = """
import pytest

@pytest.mark.rocm(min_vram="16GiB")
def test_fits(): pass

@pytest.mark.rocm(min_vram="100GiB")
def test_is_too_large(): pass

@pytest.mark.rocm(target="gfx1100", packages=["torch>=2.6"])
class TestTarget:
    def test_of_class(self): pass

def test_plain(): pass
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins of other packages take seconds to load."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def ready(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(ON_A_READY_MACHINE)
    pytester.makepyfile(TESTS)
    return pytester


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-rs", "-p", "rocm_doctor.integrations.pytest_plugin", *args)


def test_pytest_finds_the_plugin_where_the_package_is_installed() -> None:
    assert 'rocm-doctor = "rocm_doctor.integrations.pytest_plugin"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_a_test_is_skipped_where_the_machine_does_not_meet_its_mark(ready: pytest.Pytester) -> None:
    result = run(ready, "--strict-markers")
    result.assert_outcomes(passed=3, skipped=1)
    result.stdout.fnmatch_lines(["rocm-doctor: ready to train*(gfx1100)", "*100GiB of memory required, 24.0 GiB found*"])


def test_it_fails_where_it_is_required(ready: pytest.Pytester) -> None:
    result = run(ready, "--rocm-required")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*100GiB of memory required*"])


def test_wrong_keywords_are_errors_of_the_test(ready: pytest.Pytester) -> None:
    ready.makepyfile(
        test_wrong="import pytest\n@pytest.mark.rocm(colour='red')\ndef test_a(): pass\n@pytest.mark.rocm('24GiB')\ndef test_b(): pass\n"
    )
    run(ready, "test_wrong.py").assert_outcomes(errors=2)


def test_without_the_mark_nothing_is_read_or_printed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\ndef test_plain():\n    assert 'rocm_doctor.api' not in sys.modules and 'msgspec' not in sys.modules\n"
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("rocm-doctor*")


@pytest.mark.timed
def test_the_plugin_costs_a_few_milliseconds() -> None:
    code = "import pytest, time; t = time.process_time(); import rocm_doctor.integrations.pytest_plugin; print(time.process_time() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    assert min(times) < 0.005, times
