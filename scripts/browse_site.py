"""Open the built site in a browser: axe's rules in light and dark, requests to other hosts, what the keyboard reaches, screenshots.

    python scripts/browse_site.py build/site [-o FOLDER] [--browser /usr/bin/chromium]

Prints one line for each page and look. Exits with 1 for a finding of axe that is serious or critical, or a request to another host.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, sync_playwright

PAGES = (
    "", "gpu/", "gpu/rx-6700-xt/", "gpu/gfx1100/", "diagnosis/", "diagnosis/arch.not-in-build/", "variable/hsa_override_gfx_version/",
    "library/bitsandbytes/", "torch/2.14.0/", "docs/plan/", "docs/accuracy/",
)  # fmt: skip
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 780}, "color_scheme": "light", "has_touch": True},
}
WEIGHTY = ("serious", "critical")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server for a folder."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def look(browser: Browser, address: str, name: str, settings: dict[str, Any], shot: Path | None) -> list[str]:
    """What is wrong with a page in one look, one line each."""
    asked: list[str] = []
    context = browser.new_context(**settings)
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="networkidle")
    found = Axe().run(page).response["violations"]
    wide = page.evaluate("width => document.documentElement.scrollWidth > width", settings["viewport"]["width"])
    weight = page.evaluate("performance.getEntries().reduce((sum, e) => sum + (e.transferSize || 0), 0)")
    if shot:
        page.screenshot(path=shot)
    host = address.split("/")[2]
    foreign = [url for url in asked if url.split("/")[2] != host and not url.startswith("data:")]
    context.close()
    words = ", ".join(f"{one['id']} ({one['impact']}, {len(one['nodes'])})" for one in found) or "no finding"
    print(f"{name}: {len(asked)} requests, {weight / 1e3:.0f} KB, axe: {words}", flush=True)
    return [
        *(f"{name}: axe {one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in WEIGHTY),
        *(f"{name}: asks {url}" for url in foreign),
        *([f"{name}: wider than the window"] if wide else []),
    ]


def reached(browser: Browser, address: str, presses: int = 14) -> list[str]:
    """What has the focus after each press of Tab."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address, wait_until="networkidle")
    found = []
    for _ in range(presses):
        page.keyboard.press("Tab")
        found.append(
            page.evaluate(
                "(e => `${e.tagName} ${(e.ariaLabel || e.textContent || e.type || '').trim().slice(0, 40)}`)(document.activeElement)"
            )
        )
    page.close()
    return found


def unusable(browser: Browser, root: str) -> Iterator[str]:
    """What does not work with the keyboard alone, or without JavaScript."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{root}gpu/", wait_until="networkidle")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    if not page.url.endswith("#top"):
        yield "the first Tab is not the link to the content"
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "search":
            break
    page.keyboard.type("6700 xt")
    if page.locator("tbody tr:visible").count() != 1:
        yield "the filter of the GPUs cannot be reached or does not filter"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/gpu/rx-6700-xt/")
    page.keyboard.press("/")
    page.keyboard.type("privacy")
    try:
        page.wait_for_selector(".md-search-result__item a[href*='docs/privacy']", timeout=20_000)
    except Error:
        yield "the search does not find a document"
    page.close()
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(f"{root}gpu/")
    if page.locator("tbody tr:visible").count() < 2 or page.locator("form.filter").count():
        yield "the table is not whole without JavaScript"
    plain.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("-o", "--out", type=Path, help="folder for screenshots")
    parser.add_argument("--browser", help="path of a Chromium; default: the one that Playwright installed")
    given = parser.parse_args()
    folder, pages = (given.site, PAGES) if given.site.is_dir() else (given.site.parent, (given.site.name,))
    problems: list[str] = []
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, served(folder) as root:
        browser = playwright.chromium.launch(executable_path=given.browser, args=["--no-sandbox"])
        for page in pages:
            for name, settings in LOOKS.items():
                file = f"{page.strip('/').replace('/', '-') or 'home'}-{name}"
                problems += look(browser, root + page, file, settings, given.out / f"{file}.png" if given.out else None)
        if given.site.is_dir():
            problems += unusable(browser, root)
        print("Tab:", *reached(browser, root + pages[-1 if len(pages) == 1 else 1]), sep="\n  ")
        browser.close()
    print("\n".join(problems) or "nothing serious")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
