"""Links of a built site: every page and anchor that one leads to exists, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

_LOADS = {"script": "src", "img": "src", "link": "href", "source": "srcset", "iframe": "src"}
_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload"}


class Reader(HTMLParser):
    """The ids of a page, the links in it, and the addresses that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag names. Tags in a title are text."""
        if tag == "title":
            self.set_cdata_mode(tag)
        named = {name: value or "" for name, value in attrs}
        self.ids += [named["id"]] if "id" in named else []
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        loads = tag != "link" or bool(_RELATIONS & set(named.get("rel", "").split()))
        if loads and (address := named.get(_LOADS.get(tag, ""), "")):
            self.loaded.append(address)


def read(path: Path) -> Reader:
    """A page, read."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def broken(site: Path) -> Iterator[str]:
    """What is wrong with the links of a built site, one line each."""
    found = {_address(site, path): read(path) for path in sorted(site.rglob("*.html"))}
    files = {"/" + path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    for page, reader in found.items():
        if page == "/404.html":
            continue  # its addresses are absolute: it is shown anywhere
        yield from (f"{page}: two elements have the id {name}" for name in {i for i in reader.ids if reader.ids.count(i) > 1})
        yield from (f"{page}: loads {one}" for one in reader.loaded if urlsplit(one).netloc)
        for link in reader.links + [one for one in reader.loaded if not urlsplit(one).netloc]:
            parts = urlsplit(urljoin(f"https://here{page}", link))
            if parts.netloc != "here" or parts.scheme != "https":
                continue
            target = found.get(parts.path)
            if target is None and parts.path not in files:
                yield f"{page}: {link} leads nowhere"
            elif target and parts.fragment and unquote(parts.fragment) not in target.ids:
                yield f"{page}: {link} has no such anchor"


def _address(site: Path, path: Path) -> str:
    return "/" + path.relative_to(site).as_posix().removesuffix("index.html")
