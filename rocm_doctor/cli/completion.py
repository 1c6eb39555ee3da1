"""`rocm-doctor completion`: the shell's completion script, and what it completes beyond commands and options: targets, names that `explain`
takes, packages and models of the packaged matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
from click.shell_completion import CompletionItem, get_completion_class

from rocm_doctor.cli.inputs import load_matrix
from rocm_doctor.matrix import Matrix


@click.command(epilog='Example:  eval "$(rocm-doctor completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from rocm_doctor.cli import cli

    completion = get_completion_class(shell)
    assert completion is not None, "click knows these three shells"
    click.echo(completion(cli, {}, "rocm-doctor", "_ROCM_DOCTOR_COMPLETE").source())


def targets(incomplete: str) -> list[CompletionItem]:
    """gfx targets, with the products that have them."""
    return _offer(_targets(load_matrix()), incomplete)


def names(incomplete: str) -> list[CompletionItem]:
    """What `explain` takes, and `--ignore` among it, of its own index; rows where nothing else fits."""
    from rocm_doctor.explain.index import index

    matrix = load_matrix()
    entries = ((entry.name, entry.words) for entry in index(matrix).entries if entry.kind != "row" and " " not in entry.name)
    rows = ((row.key, row.title) for row in matrix.rows)
    return _offer([*_targets(matrix), *entries], incomplete) or _offer(rows, incomplete)


def packages(incomplete: str) -> list[CompletionItem]:
    """Packages and frameworks that `plan` knows; of several with commas the last."""
    from rocm_doctor.plan.catalog import load_catalog

    before, comma, last = incomplete.rpartition(",")
    known = ("torch", "jax", "tensorflow", *load_catalog(load_matrix()).packages)
    return [CompletionItem(f"{before}{comma}{name}") for name in known if name.startswith(last) and name not in before.split(",")]


def models(incomplete: str) -> list[CompletionItem]:
    """Presets of `fit`, and files: a config.json is a model, too."""
    presets = load_matrix().plain("models") or {}
    return _offer(((name.lower(), "") for name in presets), incomplete) or [CompletionItem(incomplete, type="file")]


def _offer(known: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """Those that begin like it, each once. Descriptions have no comma: fish cuts them there."""
    start = incomplete.casefold()
    found = {name: words for name, words in known if name.casefold().startswith(start)}
    return [CompletionItem(name, help=" ".join(words.split()).replace(",", ";")[:80]) for name, words in found.items()]


def _targets(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """gfx targets, and products in one word (`RX7900XTX`), which no shell splits."""
    yield from ((name, ", ".join(target.names[:3]) or target.family) for name, target in matrix.gfx.items())
    for target in matrix.gfx.values():
        for name in target.names:
            yield name.removeprefix("Radeon ").removeprefix("Instinct ").replace(" ", ""), f"{name}, {target.gfx}"
