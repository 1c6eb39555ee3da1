"""What documents and comments say of where torch comes from."""

from __future__ import annotations

from functools import lru_cache

from rocm_doctor.lint.model import Place
from rocm_doctor.lint.tree import Tree


@lru_cache(1)
def first_index(tree: Tree) -> Place | None:
    """The first line of a document that names a ROCm index of torch: its reader installs torch first."""
    for path in tree.paths:
        if path.count("/") > 4 or not path.lower().endswith((".md", ".rst")) or tree.is_late:
            continue
        for number, line in enumerate((tree.text(path) or "").split("\n"), 1):
            if "/whl/" in line and "rocm" in line and "torch" in line:
                return Place(path, number, line.strip()[:200])
    return None


def comments_on_torch(tree: Tree, path: str) -> bool:
    """True if a comment of a requirements file speaks of torch."""
    return any("torch" in line.partition("#")[2].lower() for line in (tree.text(path) or "").split("\n"))
