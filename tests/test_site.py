"""The site: its pages follow the matrix, every statement has a source, texts of rows stay texts, links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import build_site
import msgspec
import pytest
import yaml
from website import docs
from website.links import broken
from website.pages import FORM, Page, block, esc, heading, pages, slug, source, typed, wrong

from rocm_doctor._version import PROJECT, SITE, page_of
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Command
from rocm_doctor.plan.summary import HERE, answers, install_lines, verdict

ROOT = Path(__file__).resolve().parents[1]


FEW = ("gfx906", "gfx1100", "gfx1152", "gfx1153", "gfx1250")
"""Targets with and without products, and two that share a name."""


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.slow)])
def matrix(request: pytest.FixtureRequest) -> Matrix:
    """The matrix with a few targets; the planning of all of them takes most of the time."""
    return load() if request.param == "all" else of(load(), FEW)


@pytest.fixture(scope="module")
def made(matrix: Matrix) -> dict[str, Page]:
    return {page.path: page for page in pages(matrix)}


def of(matrix: Matrix, names: Sequence[str], **changes: object) -> Matrix:
    """The matrix with these targets alone, and what else is changed."""
    raw = {**matrix.raw, "gfx": msgspec.json.encode([matrix.gfx[name] for name in names])}
    return msgspec.structs.replace(matrix, **{"raw": raw, **changes})


class Read(HTMLParser):
    """Elements of a page: tag and attributes; what its scripts say."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "title":
            self.set_cdata_mode(tag)

    def handle_data(self, data: str) -> None:
        self.scripts += data if self.lasttag == "script" else ""


def test_every_thing_of_the_matrix_has_its_page(matrix: Matrix, made: dict[str, Page]) -> None:
    expected = {
        *(f"gpu/{slug(typed(name))}" for target in matrix.gfx.values() for name in (target.gfx, *target.names)),
        *(f"diagnosis/{one}" for one in matrix.diagnoses),
        *(f"variable/{slug(name)}" for name in matrix.env),
        *(f"library/{slug(one['name'])}" for one in matrix.plain("packages")),
        *(f"torch/{slug(build.torch)}" for build in matrix.torch),
    }
    assert expected - set(made) == set()


def test_links_of_reports_and_documents_lead_to_pages_of_the_site(matrix: Matrix, made: dict[str, Page]) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))]
    named = {page_of(one) for one in matrix.diagnoses} | set(re.findall(rf"{SITE}/[\w./-]*", "\n".join(texts)))
    assert {link for link in named if link.removeprefix(f"{SITE}/").rstrip("/") not in made} == set()


def test_another_gpu_in_the_matrix_is_another_page(matrix: Matrix) -> None:
    target = msgspec.structs.replace(matrix.gfx["gfx1100"], gfx="gfx1999", names=("Radeon RX 19999 XT",))
    more = of(matrix, (), raw={**matrix.raw, "gfx": msgspec.json.encode([matrix.gfx["gfx906"], target])})
    wanted = {"gpu/rx-19999-xt", "gpu/gfx1999"}
    found = dict(islice(((page.path, page.title) for page in pages(more) if page.path in wanted), len(wanted)))
    assert set(found) == wanted
    assert found["gpu/rx-19999-xt"].startswith("Radeon RX 19999 XT: gfx1999")


def test_every_link_has_words(made: dict[str, Page]) -> None:
    assert [page.path for page in made.values() if re.search(r"<a [^>]*></a>", page.body)] == []


def test_titles_are_what_people_type() -> None:
    assert typed("Radeon RX 6700 XT") == "RX 6700 XT"
    assert typed("Instinct MI300X") == "MI300X"
    assert typed("Radeon VII") == "Radeon VII"


def test_every_row_is_shown_once_with_all_its_sources(matrix: Matrix, made: dict[str, Page]) -> None:
    for row in matrix.rows:
        page = made[f"diagnosis/{row.diagnosis}"].body
        assert page.count(f'id="{row.key}"') == 1, row.key
        part = page[page.index(f'id="{row.key}"') :]
        assert all(source(one) in part for one in row.sources), row.key


_NAMES = re.compile(
    r"gfx\d\w+|\b[A-Z]+_[A-Z0-9_]+\b|(?<=torch )\d+\.\d+\.\d+\+rocm[\d.]*\d|\b(?:RX|MI|W|R)\s?\d{3,4}\w*(?: XTX| XT| GRE)?"
)


def test_no_page_names_what_the_matrix_does_not_hold(matrix: Matrix, made: dict[str, Page]) -> None:
    held = "\n".join((msgspec.json.encode(matrix).decode(), *(part.decode() for part in matrix.raw.values())))
    named = {name: page.path for page in made.values() for name in _NAMES.findall(f"{page.title}\n{page.body}")}
    assert {name: path for name, path in named.items() if name not in held} == {}
    assert len(named) > len(matrix.gfx)


HOSTILE = (
    '</title><script>alert(1)</script><img src=x onerror=alert(1)> "onclick="x" \'y\' `<b>` [a](javascript:alert(1)) '
    '{#top .x onclick=x} site:gpu/ "site:gpu/" &#60;i&#62;\n\n# head\n\n<!-- \x00 -->'
)


def hostile(matrix: Matrix) -> Matrix:
    """A matrix whose texts all try to be something else."""
    first = next(row for row in matrix.rows if row.example and row.commands)
    row = msgspec.structs.replace(
        first, title=HOSTILE, cause=HOSTILE, advice=HOSTILE, example=HOSTILE, sources=("javascript:alert(1)", HOSTILE, "https://x.org/\"><script>"),
        when={HOSTILE: HOSTILE, "gpu.gfx": "gfx906"},
    )  # fmt: skip
    target = msgspec.structs.replace(matrix.gfx["gfx906"], names=('Radeon RX <b>1</b> "x"',), notes=HOSTILE, codename=HOSTILE)
    variable = msgspec.structs.replace(next(iter(matrix.env.values())), effect=HOSTILE, harm=HOSTILE, sources=(HOSTILE,))
    known = msgspec.structs.replace(matrix.diagnoses[row.diagnosis], title=HOSTILE, cause=HOSTILE)
    raw = {**matrix.raw, "gfx": msgspec.json.encode([target, matrix.gfx["gfx1100"]]), "env": msgspec.json.encode([variable])}
    return of(matrix, (), rows=(row,), diagnoses={**matrix.diagnoses, known.id: known}, raw=raw)


def test_texts_of_rows_stay_texts(matrix: Matrix) -> None:
    found = list(pages(hostile(matrix)))
    for name, text in build_site.files(found, []):
        _harmless(name, text.partition("\n---\n\n")[2])


def _harmless(name: str, text: str) -> None:
    assert "alert(1)" not in Read(text).scripts, name
    for tag, attrs in Read(text).tags:
        assert tag not in ("b", "i"), (name, tag, attrs)
        assert not any(one.startswith("on") for one in attrs), (name, tag, attrs)
        assert not attrs.get("href", "").startswith("javascript:"), (name, tag, attrs)


def test_a_title_cannot_close_its_heading() -> None:
    line = heading(2, HOSTILE, "x")
    assert "\n" not in line
    assert line.count("<") == 2
    assert esc("a\n\n<b>") == "a &lt;b&gt;"
    assert "\n" not in block("a\n\n  b")


def test_a_link_to_no_page_is_refused() -> None:
    page = Page("gpu/x", "X", '<a href="site:gpu/gone/#a">x</a>')
    with pytest.raises(ValueError, match="gpu/gone"):
        build_site.markdown(page, {"gpu/x"})
    assert 'href="../y/#a"' in build_site.markdown(page._replace(body='<a href="site:gpu/y/#a">'), {"gpu/y"})
    assert 'href="#a"' in build_site.markdown(page._replace(body='<a href="site:gpu/x/#a">'), {"gpu/x"})
    assert 'href="../../"' in build_site.markdown(page._replace(body='<a href="site:">'), {""})


def test_the_issue_form_that_the_links_fill_in_exists() -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / FORM).read_text(encoding="utf-8"))
    asked = parse_qs(urlsplit(wrong('a "b" & c').partition('href="')[2].partition('"')[0].replace("&amp;", "&")).query)
    assert asked == {"template": [FORM], "entry": ['a "b" & c']}
    assert "entry" in {part.get("id") for part in form["body"]}


def test_a_source_is_a_link_where_it_has_an_address() -> None:
    assert source("https://github.com/ROCm/TheRock/issues/1 § comment, seen 2026-11-22") == (
        '<a href="https://github.com/ROCm/TheRock/issues/1">github.com/ROCm/TheRock/issues/1</a> § comment, seen 2026-11-22'
    )
    assert source("field report: MI50 (2025)") == "field report: MI50 (2025)"
    assert "<a" not in source("javascript:alert(1)")


def test_documents_keep_their_links_inside_the_site() -> None:
    text = "[a](plan.md#x) [d](../CHANGELOG.md) [e](https://x.org/) [f](#y) [g](style.md)"
    assert docs.linked(text) == (
        f"[a](plan.md#x) [d]({PROJECT}/blob/main/CHANGELOG.md) [e](https://x.org/) [f](#y) [g]({PROJECT}/blob/main/docs/style.md)"
    )


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top">x</h1><a href="a/#there">a</a><img src="p.svg">', encoding="utf-8")
    (tmp_path / "a" / "index.html").write_text(
        '<h2 id="there">y</h2><a href="../">up</a><a href="https://x.org">out</a>', encoding="utf-8"
    )
    (tmp_path / "p.svg").write_text("<svg/>", encoding="utf-8")
    return tmp_path


def test_a_sound_site_has_no_broken_link(site: Path) -> None:
    assert list(broken(site)) == []


@pytest.mark.parametrize(("added", "said"), [
    ('<a href="b/">', "/: b/ leads nowhere"),
    ('<a href="a/#gone">', "/: a/#gone has no such anchor"),
    ('<h1 id="top">', "/: two elements have the id top"),
    ('<script src="https://x.org/a.js">', "/: loads https://x.org/a.js"),
    ('<img src="q.svg">', "/: q.svg leads nowhere"),
])  # fmt: skip
def test_a_broken_link_is_found(site: Path, added: str, said: str) -> None:
    index = site / "index.html"
    index.write_text(index.read_text(encoding="utf-8") + added, encoding="utf-8")
    assert list(broken(site)) == [said]


@pytest.fixture(scope="module")
def built(matrix: Matrix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="needs pip install -e '.[site]'")
    pytest.importorskip("minify_html", reason="needs pip install -e '.[site]'")
    out = tmp_path_factory.mktemp("site")
    build_site.write(out / "pages", pages(hostile(matrix)), [])
    build_site.build(out / "pages", out / "html", [])
    return out / "html"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_site_is_built_and_whole(built: Path) -> None:
    assert list(broken(built)) == []
    weights = {path: path.stat().st_size for path in built.rglob("*.html")}
    assert len(weights) > 10
    assert max(weights.values()) < build_site.PAGE_LIMIT


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_texts_of_rows_stay_texts_in_the_built_site(built: Path) -> None:
    for path in built.rglob("*.html"):
        _harmless(str(path), path.read_text(encoding="utf-8"))


def test_a_product_begins_with_the_answer_and_the_command(matrix: Matrix, made: dict[str, Page]) -> None:
    """The same answer and the same commands as `explain` and `plan`."""
    page, plans = made["gpu/rx-7900-xtx"], answers("gfx1100", matrix)
    assert page.body.startswith(f'<p class="answer ready"><strong>{verdict(plans)}</strong>')
    assert page.body.index("<pre>") < page.body.index("## known")
    commands = [one.text for one in install_lines(answers("gfx1100", matrix, python=HERE)) if isinstance(one, Command)]
    assert all(esc(one) in page.body for one in commands)


def test_search_finds_a_page_by_what_people_call_it(made: dict[str, Page]) -> None:
    for path, word in (("diagnosis/memory.gtt-limit", "GTT"), ("library/bitsandbytes", "QLoRA"), ("variable/hsa_xnack", "xnack")):
        assert word in made[path].found_by
