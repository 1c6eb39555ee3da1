"""Build the site from the matrix and docs/, and check every link of it.

    python scripts/build_site.py                    # build/site; needs pip install -e '.[site]'
    python scripts/build_site.py -o FOLDER
    python -m http.server -d build/site             # look at it

Prints pages, bytes, the largest page and seconds. Exits with 1 for a broken link or a page over 300 KB; what the theme ships beside the
pages is its own.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import shutil
import sys
import time
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

from website import docs
from website.links import broken
from website.pages import LISTS, PICTURES, Page, esc, pages

from rocm_doctor.matrix import load

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "website"
PAGE_LIMIT = 300_000
PLAIN = re.compile(r"<table>(.*?)</table>", re.DOTALL)
"""A table of a document, which can be wider than the window."""
UNUSED = ("assets/javascripts/lunr/min", "assets/javascripts/lunr/tinyseg.js", "assets/javascripts/lunr/wordcut.js")
"""What the theme ships for search in other languages."""
_SITE = re.compile(r'"site:([^"#]*?)/?(#[^"]*)?"')


def markdown(page: Page, known: Container[str]) -> str:
    """The page as a markdown file, its links relative. Raises ValueError for a link to a page that does not exist."""

    def relative(found: re.Match[str]) -> str:
        there, anchor = found[1], found[2] or ""
        if there not in known:
            raise ValueError(f"{page.path}: link to {there}, which is no page")
        road = posixpath.relpath(there or ".", page.path or ".")
        return f'"{"" if road == "." and anchor else road + "/"}{anchor}"'

    front: dict[str, Any] = {"title": esc(page.title), "hide": ["navigation"], "tags": [esc(words) for words in page.found_by]}
    return f'---\n{json.dumps(front)}\n---\n\n<h1 id="top">{esc(page.title)}</h1>\n\n{_SITE.sub(relative, page.body)}\n'


def files(made: Iterable[Page], texts: Iterable[docs.Doc]) -> Iterator[tuple[str, str]]:
    """Path and text of every markdown file. Raises ValueError for two pages of one address."""
    listed = list(made)
    known = {page.path for page in listed}
    if len(known) < len(listed):
        raise ValueError("two pages have one address")
    for page in listed:
        name = f"{page.path}/index.md".lstrip("/") if page.path in ("", *LISTS) else f"{page.path}.md"
        yield name, markdown(page, known)
    yield from ((doc.file, doc.text) for doc in texts)


def write(folder: Path, made: Iterable[Page], texts: Iterable[docs.Doc]) -> None:
    """The markdown files and the pictures, in `folder`."""
    for name, text in files(made, texts):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / PICTURES, folder / PICTURES)
    shutil.copy(ROOT / "rocm_doctor" / "data" / "matrix.json", folder / "matrix.json")
    shutil.copy(ROOT / "rocm_doctor" / "schemas" / "row.json", folder / "row.schema.json")


def build(folder: Path, out: Path, texts: Iterable[docs.Doc]) -> None:
    """HTML in `out`, without what the theme ships for other languages and for debugging. Raises on a warning."""
    import minify_html
    from mkdocs.commands.build import build as make
    from mkdocs.config import load_config

    shutil.copy(HERE / "theme" / "site.css", folder)
    shutil.copy(HERE / "theme" / "filter.js", folder)
    nav: list[Any] = [
        {"Home": "index.md"},
        *({kind: f"{kind}/index.md"} for kind in LISTS),
        {"Docs": [{doc.title: doc.file} for doc in texts]},
    ]
    config = load_config(str(HERE / "mkdocs.yml"), docs_dir=str(folder), site_dir=str(out), nav=nav, strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    make(config)
    config.plugins.on_shutdown()
    wide = r'<div class="wide" tabindex="0" role="group" aria-label="Table"><table class="plain">\1</table></div>'
    for path in out.rglob("*.html"):
        path.write_text(minify_html.minify(PLAIN.sub(wide, path.read_text(encoding="utf-8"))), encoding="utf-8")
    for path in [*(out / name for name in UNUSED), *out.rglob("*.map")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "build" / "site")
    out: Path = parser.parse_args().out.resolve()
    began = time.monotonic()
    folder = out.with_name(out.name + "-pages")
    for old in (folder, out):
        shutil.rmtree(old, ignore_errors=True)
    texts = list(docs.docs())
    write(folder, pages(load()), texts)
    build(folder, out, texts)
    weights = {path.relative_to(out).as_posix(): path.stat().st_size for path in out.rglob("*.html")}
    largest = max(weights, key=lambda name: weights[name])
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(
        f"{len(weights)} pages, {size / 1e6:.1f} MB, largest {largest} {weights[largest] / 1e3:.0f} KB, {time.monotonic() - began:.0f} s"
    )
    heavy = [f"{name}: {weight} bytes, over {PAGE_LIMIT}" for name, weight in weights.items() if weight > PAGE_LIMIT]
    problems = [*broken(out), *heavy]
    print("\n".join(problems) or "every link inside the site leads somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
