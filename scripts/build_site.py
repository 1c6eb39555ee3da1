"""Build the site from the matrix and docs/, and check every link of it.

    python scripts/build_site.py                    # build/site; needs pip install -e '.[site]'
    python scripts/build_site.py -o FOLDER
    python -m http.server -d build/site             # look at it

Prints pages, bytes, the largest page and seconds. Exits with 1 for a broken link or a page over 300 KB; what the theme ships beside the
pages is its own.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
import sys
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from website import claims, diagnoses, docs, gpus, home, libraries, matrix, plans, releases, sources, variables
from website.links import broken
from website.text import Page, slug, written

from rocm_doctor.explain.index import index, key
from rocm_doctor.matrix import Matrix, load

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "website"
PAGE_LIMIT = 300_000
PLAIN = re.compile(r"<table>(.*?)</table>", re.DOTALL)
"""A table of a document, which can be wider than the window."""
CLAIMS = re.compile(r'<table class="claims.*?</table>', re.DOTALL)
"""A table of statements, whose lines stand below one another on a phone."""
UNUSED = ("assets/javascripts/lunr/min", "assets/javascripts/lunr/tinyseg.js", "assets/javascripts/lunr/wordcut.js")
"""What the theme ships for search in other languages."""


HOMES = {"diagnosis": "diagnosis", "gpu": "gpu", "library": "library", "variable": "variable"}
"""Folder of the pages of a kind of thing that `explain` knows."""


def pages(known: Matrix) -> Iterator[Page]:
    """Every page that is written from the matrix; the search finds it by all names that `explain` takes for it."""
    yield home.page(known)
    names: dict[str, list[str]] = {}
    for name in (name for synonym in known.synonyms for name in synonym.names):
        for one in index(known).by_name.get(key(name), ()):
            names.setdefault(f"{HOMES.get(one.kind)}/{slug(one.of)}", []).append(name)
    for room in (gpus, diagnoses, variables, libraries, releases, matrix):
        yield from (page._replace(found_by=(*page.found_by, *names.get(page.path, ()))) for page in room.pages(known))
    named = ((source, one.home, one.entry) for one in claims.everything(known) for source in one.sources)
    yield sources.page((*named, *plans.cited(known)))


def files(made: Iterable[Page], texts: Iterable[docs.Doc]) -> Iterator[tuple[str, str]]:
    """Path and text of every markdown file. Raises ValueError for two pages of one address."""
    listed = list(made)
    known = {page.path for page in listed} | {doc.file.removesuffix(".md") for doc in texts}
    folders = {page.path.rpartition("/")[0] for page in listed if "/" in page.path} | {""}
    if len({page.path for page in listed}) < len(listed):
        raise ValueError("two pages have one address")
    for page in listed:
        name = f"{page.path}/index.md".lstrip("/") if page.path in folders else f"{page.path}.md"
        yield name, written(page, known)
    yield from ((doc.file, doc.text) for doc in texts)


NAV = (
    ("GPUs", "gpu/index.md"), ("Errors", "diagnosis/index.md"), ("Variables", "variable/index.md"), ("Libraries", "library/index.md"),
    ("torch wheels", "torch/index.md"), ("Matrix", "matrix/index.md"),
)  # fmt: skip


def write(folder: Path, made: Iterable[Page], texts: Iterable[docs.Doc]) -> None:
    """The markdown files and the pictures, in `folder`."""
    for name, text in files(made, texts):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / home.PICTURES, folder / home.PICTURES)
    shutil.copy(ROOT / "rocm_doctor" / "data" / "matrix.json", folder / "matrix.json")
    shutil.copy(ROOT / "rocm_doctor" / "schemas" / "row.json", folder / "row.schema.json")


def build(folder: Path, out: Path, made: Iterable[Page], texts: Iterable[docs.Doc]) -> None:
    """HTML in `out`, without what the theme ships for other languages and for debugging. Raises on a warning."""
    import minify_html
    from mkdocs.commands.build import build as make
    from mkdocs.config import load_config

    shutil.copy(HERE / "theme" / "site.css", folder)
    shutil.copy(HERE / "theme" / "filter.js", folder)
    nav: list[Any] = [
        {"Home": "index.md"},
        *({name: file} for name, file in NAV),
        {"Docs": [{doc.title: doc.file} for doc in texts]},
    ]
    config = load_config(str(HERE / "mkdocs.yml"), docs_dir=str(folder), site_dir=str(out), nav=nav, strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    make(config)
    config.plugins.on_shutdown()
    lines = {claims.row_home(row): diagnoses.failing(row) for row in load().rows}
    _shorten(out / "search" / "search_index.json", {page.path for page in made if page.searched == "lead"}, lines)
    for path in out.rglob("*.html"):
        text = PLAIN.sub(
            r'<div class="wide" tabindex="0" role="group" aria-label="Table"><table class="plain">\1</table></div>',
            path.read_text(encoding="utf-8"),
        )
        path.write_text(minify_html.minify(labelled(text)), encoding="utf-8")
    for path in [*(out / name for name in UNUSED), *out.rglob("*.map")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def labelled(text: str) -> str:
    """The page with the name of its column at each cell of a table of statements."""
    return CLAIMS.sub(_labelled, text)


def _labelled(found: re.Match[str]) -> str:
    """A table whose cells carry the names of their columns, which a phone shows in place of the head."""
    names = re.findall(r"<th scope=.?col.?>(.*?)</th>", found[0])

    def row(one: re.Match[str]) -> str:
        left = iter(names[1:])
        return re.sub(r"<td>", lambda _: f'<td data-name="{next(left, "")}">', one[0])

    return re.sub(r"<tr[ >].*?</tr>", row, found[0], flags=re.DOTALL)


def _shorten(index: Path, leads: Container[str], lines: Mapping[str, Sequence[str]]) -> None:
    """Leave out of the search the sections of pages that are found by their lead alone, and the words that lead to a whole page elsewhere.
    The section of a row is found by its failing lines."""
    found = msgspec.json.decode(index.read_bytes())
    found["docs"] = [
        one for one in found["docs"] if "#" not in one["location"] or one["location"].partition("/#")[0] not in leads
    ]
    for one in found["docs"]:
        if "#" in one["location"]:
            one["tags"] = [html.escape(line) for line in lines.get(one["location"], ())]
    index.write_bytes(msgspec.json.encode(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "build" / "site")
    out: Path = parser.parse_args().out.resolve()
    began = time.monotonic()
    folder = out.with_name(out.name + "-pages")
    for old in (folder, out):
        shutil.rmtree(old, ignore_errors=True)
    made, texts = list(pages(load())), list(docs.docs())
    write(folder, made, texts)
    build(folder, out, made, texts)
    weights = {path.relative_to(out).as_posix(): path.stat().st_size for path in out.rglob("*.html")}
    largest = max(weights, key=lambda name: weights[name])
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(
        f"{len(weights)} pages, {size / 1e6:.1f} MB, largest {largest} {weights[largest] / 1e3:.0f} KB, {time.monotonic() - began:.0f} s"
    )
    problems = [
        *broken(out),
        *(f"{name}: {weight} bytes, over {PAGE_LIMIT}" for name, weight in weights.items() if weight > PAGE_LIMIT),
    ]
    print("\n".join(problems) or "every link inside the site leads somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
