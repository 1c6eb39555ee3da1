"""The first page: what the tool answers, and the way to every GPU."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rocm_doctor.matrix import Matrix
from website.docs import ROOT
from website.gpus import home, typed
from website.text import REPOSITORY, Page, block, esc, heading, items, link, outside

PICTURES = "docs/pictures"


def page(matrix: Matrix) -> Page:
    """The first page."""
    about = "Which PyTorch runs on which AMD GPU with ROCm, why it does not train, and what to type. Every statement has a source and a date."
    install = outside(f"{REPOSITORY}#install", "other ways to install")
    lines = [
        about + "\n",
        heading(2, "Find your GPU") + "\n",
        f"<p>{link('gpu', 'All GPUs in one table')}, or by family:</p>\n",
        *_families(matrix),
        heading(2, "Ask your machine") + "\n",
        block("uvx --from git+https://github.com/rocm-doctor/rocm-doctor rocm-doctor check") + "\n",
        f"<p>It sends nothing, imports no torch and changes no driver ({install}). It answers like this:</p>\n",
        _picture() + "\n",
        heading(2, "Look something up") + "\n",
        items(
            (
                f"{link('diagnosis', 'an error')}: {len(matrix.diagnoses)} causes with their lines, commands and sources",
                f"{link('variable', 'a variable')}: {len(matrix.env)} of them, who reads each, what it breaks",
                f"{link('library', 'a library')}: which releases work",
                f"{link('torch', 'a torch wheel')}: the GPUs inside {len(matrix.torch)} builds",
                f"{link('matrix', 'the whole matrix')}, version {esc(matrix.version)}",
            )
        ),
    ]
    return Page("", "Does PyTorch run on your AMD GPU? ROCm support by GPU", about, "\n".join(lines))


def _picture() -> str:
    words = "Output of rocm-doctor check --example: an HSA_OVERRIDE that cannot work, what was read, its sources, and the command that fixes it"
    return "".join(
        f'<img class="only-{theme}" src="{PICTURES}/check-{theme}.svg" width="{_width(theme)}" height="{_height(theme)}" alt="{words}">'
        for theme in ("light", "dark")
    )


def _box(theme: str) -> list[str]:
    svg = (ROOT / PICTURES / f"check-{theme}.svg").read_text(encoding="utf-8")
    return svg.partition('viewBox="')[2].partition('"')[0].split()


def _width(theme: str) -> int:
    return round(float(_box(theme)[2]))


def _height(theme: str) -> int:
    return round(float(_box(theme)[3]))


def _families(matrix: Matrix) -> Iterator[str]:
    for family, targets in groupby(reversed(matrix.gfx.values()), lambda one: one.family):
        members = list(targets)
        names = dict.fromkeys(name for one in members for name in one.names)
        links = ", ".join(link(home(name), esc(typed(name))) for name in names)
        chips = ", ".join(link(f"gpu/{one.gfx}", one.gfx) for one in members)
        yield f"<p><strong>{esc(family)}</strong> ({chips}){': ' if links else ''}{links}</p>\n"
