"""The HTML report in a real browser: nothing of a hostile report runs, nothing is fetched, and a phone's width is not overrun."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rocm_doctor.model import Command, Fact, Finding, Gpu, Reading, Report, Snapshot
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.reports.html_style import STYLE

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="no chromium here")]
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars"),
]
EVIL = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\">"
    "<svg onload=\"document.title='owned'\"></style></title><iframe src=javascript:document.title='owned'>"
)


def hostile() -> Report:
    reading = Reading(EVIL, "line 3", EVIL)
    finding = Finding(
        EVIL,
        EVIL,
        "error",
        "low",
        EVIL,
        subject=EVIL,
        evidence=(reading,),
        advice=EVIL,
        commands=(Command(EVIL), Command("x" * 400)),
        verify=(Command(EVIL),),
        sources=("javascript:document.title='owned'", 'https://a.example/"onclick=alert(1)', EVIL),
        settle=Command(EVIL),
        fingerprint=EVIL,
    )
    snapshot = Snapshot(
        {EVIL: Fact(EVIL, (reading,)), "torch.version": Fact("x" * 300)}, (Gpu({"gfx": Fact(EVIL, (reading,))}),), True
    )
    return Report(1, EVIL, EVIL, "problems", EVIL, (finding,), (), snapshot, EVIL, disputes=(EVIL,))


def browse(tmp_path: Path, page: str, *options: str) -> str:
    path = tmp_path / "page.html"
    path.write_text(page, "utf-8")
    command = [str(BROWSER), *QUIET, f"--user-data-dir={tmp_path / 'profile'}", *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_a_hostile_report_stays_text(tmp_path: Path) -> None:
    dom = browse(tmp_path, render("html", hostile(), RenderOptions()), "--virtual-time-budget=2000", "--dump-dom")
    assert "<title>rocm-doctor:" in dom
    assert not re.search(r"<(?:script|img|svg|iframe)", dom)
    assert "onclick=alert" not in re.sub(r">[^<]*<", "><", dom)
    assert "javascript:" not in re.sub(r">[^<]*<", "><", dom)


def test_the_page_would_run_a_script_if_one_got_through(tmp_path: Path) -> None:
    page = render("html", hostile(), RenderOptions()).replace(
        "</main>", "<script>document.body.dataset.ran = 'yes'</script></main>"
    )
    unguarded = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert 'data-ran="yes"' in browse(tmp_path, unguarded, "--dump-dom")
    assert 'data-ran="yes"' not in browse(tmp_path, page, "--dump-dom")


def width_of(page: str, width: int, tmp_path: Path) -> int:
    """How wide a page becomes in a window of that width."""
    (tmp_path / "inner.html").write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page), "utf-8")
    frame = f"<!doctype html><iframe id=f style='border:0;width:{width}px;height:900px' src='inner.html'></iframe>"
    script = "<script>onload = () => { const d = document.getElementById('f').contentDocument.documentElement; "
    script += "document.body.dataset.width = d.scrollWidth }</script>"
    dom = browse(tmp_path, frame + script, "--allow-file-access-from-files", "--virtual-time-budget=3000", "--dump-dom")
    found = re.search(r'data-width="(\d+)"', dom)
    assert found, dom[-400:]
    return int(found[1])


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(width: int, tmp_path: Path) -> None:
    assert width_of(render("html", hostile(), RenderOptions()), width, tmp_path) <= width


def results() -> dict[str, str]:
    """An HTML page of each command that has one."""
    from click.testing import CliRunner

    from rocm_doctor.cli import cli

    fixtures = Path(__file__).resolve().parents[1] / "fixtures"
    commands = {
        "check": ("check", "--example"),
        "explain": ("explain", "RX 9070 XT"),
        "plan": ("plan", "--gpu", "gfx1201", "--os", "linux", "--python", "3.12"),
        "fit": ("fit", "--model", "qwen2.5-7b", "--gpu", "gfx1100", "--fast"),
        "diff": ("diff", str(fixtures / "rx7900xtx-ready"), str(fixtures / "mi50-wrong-override")),
    }
    return {name: CliRunner().invoke(cli, [*words, "--format", "html"]).stdout for name, words in commands.items()}


def test_all_results_have_one_look_and_fit_a_phone(tmp_path: Path) -> None:
    for name, page in results().items():
        assert STYLE in page, name
        assert page.count("<header ") == page.count("<h1>") == 1, name
        assert "prefers-color-scheme: dark" in page, name
        assert width_of(page, 360, tmp_path) <= 360, name
