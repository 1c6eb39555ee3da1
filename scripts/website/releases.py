"""torch wheels by release, and support statements: the home of both."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import Matrix, Support, TorchBuild
from rocm_doctor.versions import sort_key
from website import claims
from website.claims import at_home, state, system
from website.sources import full
from website.text import Page, esc, heading, items, link, prose, slug, table, wrong

CRUMBS = (("", "Home"), ("torch", "torch wheels"))


def pages(matrix: Matrix) -> Iterator[Page]:
    """The list of wheels, a page for each series of releases, and the statements of support."""
    found: dict[str, list[TorchBuild]] = {}
    for build in sorted(matrix.torch, key=lambda one: sort_key(one.torch), reverse=True):
        found.setdefault(claims.series(build), []).append(build)
    about = "Every torch wheel for ROCm that is known: the GPUs in it, the Pythons it is for, its index, torchvision and triton."
    rows = (_listed(build) for builds in found.values() for build in builds)
    body = table(("torch", "ROCm", "Python", "Compiled for"), rows, "torch wheels for ROCm", "claims filterable")
    yield Page("torch", "PyTorch ROCm wheels: which GPUs are in them", about, f"{about}\n\n{body}", CRUMBS[:1])
    yield from (_series(matrix, name, builds) for name, builds in found.items())
    yield _support(matrix)


def _gpus(matrix: Matrix, build: TorchBuild) -> str:
    return ", ".join(link(f"gpu/{gfx}", gfx) if gfx in matrix.gfx else esc(gfx) for gfx in build.gfx) or "not known"


def _listed(build: TorchBuild) -> str:
    name = link(claims.of_build(build).home, esc(build.key))
    cells = (esc(build.rocm), esc(" ".join(build.pythons)), esc(" ".join(build.gfx)) or "not known")
    return f'<tr><th scope="row">{name}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _series(matrix: Matrix, name: str, builds: list[TorchBuild]) -> Page:
    lines = [part for build in builds for part in _build(matrix, build)]
    title = (
        f"PyTorch {name} ROCm wheels: GPUs, Python, index" if name != "other" else "PyTorch ROCm wheels without a release number"
    )
    about = f"torch {name} for ROCm: {', '.join(build.key for build in builds)}. The GPUs each was compiled for, with sources."
    return Page(f"torch/{name}", title, about, "\n".join(lines), CRUMBS)


def _build(matrix: Matrix, build: TorchBuild) -> Iterator[str]:
    one = claims.of_build(build)
    yield heading(2, build.key, slug(build.key)) + "\n"
    yield f'<p data-claim="{esc(build.key)}">{esc(one.words)}. {prose(build.notes)} ({at_home(one)}; {wrong(build.key)})</p>\n'
    facts = (
        ("Compiled for", _gpus(matrix, build)),
        ("rocBLAS kernels for", esc(" ".join(build.blas)) or "not known"),
        ("Python", esc(" ".join(build.pythons))),
        ("Systems", esc(" ".join(build.platforms))),
        ("Index", f"<code>{esc(build.index)}</code>"),
        (
            "torchvision, torchaudio, triton",
            esc(", ".join(part for part in (build.torchvision, build.torchaudio, build.triton) if part)),
        ),
        ("Released", esc(str(build.released or ""))),
    )
    rows = "".join(f'<tr><th scope="row">{label}</th><td>{cell}</td></tr>' for label, cell in facts if cell)
    yield f'<table class="claims"><caption>torch {esc(build.key)}</caption><tbody>{rows}</tbody></table>\n'
    yield items(map(full, build.sources), searched=False) + "\n"


def _support(matrix: Matrix) -> Page:
    about = "Who says that a GPU is supported by which ROCm release, on which system. Statements that contradict each other stand side by side."
    lines = [about + "\n"]
    for one in matrix.support:
        lines += _statement(matrix, one)
    return Page(
        "support",
        "Which AMD GPUs does ROCm support: every statement",
        about,
        "\n".join(lines),
        (("", "Home"), ("matrix", "Matrix")),
    )


def _statement(matrix: Matrix, one: Support) -> Iterator[str]:
    to = f" to {one.until}" if one.until and one.until != one.since else "" if one.until else " and later"
    gpus = ", ".join(link(f"gpu/{gfx}", gfx) if gfx in matrix.gfx else esc(gfx) for gfx in one.gfx)
    yield heading(2, f"ROCm {one.since}{to}, {system(one.os)}: {one.state.replace('-', ' ')}", one.key) + "\n"
    words = f"{prose(one.words)} {f'({prose(one.scope)})' if one.scope else ''}"
    yield f'<p data-claim="{esc(one.key)}">{state(one.state)} {gpus}: {words} ({at_home(claims.of_support(one))}; {wrong(one.key)})</p>\n'
    yield items(map(full, one.sources), searched=False) + "\n"
