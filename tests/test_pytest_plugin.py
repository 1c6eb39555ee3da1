"""The plugin of pytest: what the mark skips, fails and prints, and what the plugin costs where it is not used."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_doctor import requires_rocm

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[1]
READY = ROOT / "fixtures" / "rx7900xtx-ready"
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
    pytester.makepyfile(TESTS)
    return pytester


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        "-rs", "-p", "rocm_doctor.integrations.pytest_plugin", "--rocm-machine", str(READY), *args
    )


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


def test_an_invalid_mark_is_an_error_of_every_test_that_carries_it(pytester: pytest.Pytester) -> None:
    marks = ("min_vram='24GB'", "min_vrm='24GiB'", "target='gfx9999'", "colour='red'", "'24GiB'")
    tests = (
        f"@pytest.mark.rocm({mark})\n@pytest.mark.parametrize('n', range(2))\ndef test_{n}(n): pass\n"
        for n, mark in enumerate(marks)
    )
    pytester.makepyfile("import pytest\n" + "".join(tests))
    run(pytester).assert_outcomes(errors=10)


def test_the_marks_of_class_and_method_are_joined(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.rocm(min_vram="100GiB", packages=["torch"])
        class TestIt:
            @pytest.mark.rocm(gpus=1, packages=["nothing-of-that-name"])
            def test_a(self): pass
            @pytest.mark.rocm(min_vram="16GiB")
            def test_b(self): pass
        """)
    result = run(pytester)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*100GiB of memory required*", "*nothing-of-that-name required*"])


def test_a_skip_points_at_the_test(ready: pytest.Pytester) -> None:
    run(ready, "-rs").stdout.fnmatch_lines(["SKIPPED * test_a_skip_points_at_the_test.py:6: *"])


def test_the_decorator_refuses_a_misspelt_requirement_where_it_stands(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from rocm_doctor import requires_rocm
        @requires_rocm(min_vram="16GiB")
        def test_fits(rocm_report): assert rocm_report.verdict == "ready"
        @requires_rocm(min_vram="100GiB")
        def test_is_too_large(): pass
        """)
    run(pytester).assert_outcomes(passed=1, skipped=1)
    with pytest.raises(TypeError, match="min_vrm"):
        requires_rocm(min_vrm="16GiB")


def test_without_the_mark_nothing_is_read_or_printed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\ndef test_plain():\n    assert 'rocm_doctor.api' not in sys.modules and 'msgspec' not in sys.modules\n"
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("rocm-doctor*")
