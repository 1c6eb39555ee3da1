"""scripts/observe.py against kept answers: what is new, gone and contradictory, and drafts that a person can complete."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import msgspec
import pytest
import yaml

from rocm_doctor.matrix import load

ROOT = Path(__file__).resolve().parents[1]
INDEX = "https://download.pytorch.org/whl/rocm6.3/torch/"


@pytest.fixture(scope="module")
def observe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("observe", ROOT / "scripts/observe.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["observe"] = module
    spec.loader.exec_module(module)
    return module


def wheel(version: str, python: str = "3.12", platform: str = "manylinux_2_28_x86_64") -> str:
    tag = f"cp{python.replace('.', '')}"
    file = f"torch-{version.replace('+', '%2B')}-{tag.rstrip('t')}-{tag}-{platform}.whl"
    return f'<a href="/whl/rocm6.3/{file}#sha256=00">{file}</a><br/>'


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    def keep(name: str, text: str) -> None:
        (tmp_path / (quote(name, safe="") + ".txt")).write_text(text, encoding="utf-8")

    mine = [b for b in load().torch if b.index == INDEX.removesuffix("torch/").rstrip("/")]
    page = [wheel(b.local, python, b.platforms[0]) for b in mine for python in b.pythons if b.torch != "2.8.0"]
    page = [line for line in page if not ("2.9.1" in line and "cp313-cp313-" in line)]
    keep(
        INDEX,
        "\n".join([*page, wheel("2.99.0+rocm6.3"), wheel("1.0.0+rocm6.3"), "<a href=torchvision-0.1-cp312-cp312-x.whl>x</a>"]),
    )
    keep("pip index versions peft", "peft (9.9.9)\nAvailable versions: 9.9.9, 9.9.9rc1, 0.21.2, 0.20.0, 0.17.1\n")
    keep("https://github.com/ROCm/TheRock/releases.atom", "<title>therock-99.1</title><entry><title>ROCm 10.1.0</title></entry>")
    return tmp_path


def test_new_gone_and_contradictory(observe: ModuleType, kept: Path) -> None:
    answers = observe.Answers(kept)
    found = {(one.kind, one.what) for one in observe.observe(load(), answers)}
    assert ("new", "torch 2.99.0+rocm6.3 for manylinux_2_28_x86_64") in found
    assert any(kind in ("gone", "contradictory") and "2.8.0+rocm6.3" in what for kind, what in found)
    assert ("contradictory", "torch 2.9.1+rocm6.3, pythons: the listing is without 3.13") in found
    assert any(kind == "new" and what.startswith("peft 9.9.9 ") for kind, what in found)
    assert ("gone", "peft 0.18.1") in found
    assert any(kind == "new" and what.startswith("ROCm 99.1 ") for kind, what in found)
    assert not any("torch 1.0.0" in what or "ROCm 10.1.0" in what for kind, what in found if kind == "new"), (
        "old releases are not news"
    )


def test_a_source_that_does_not_answer_is_named_and_nothing_is_gone_for_it(observe: ModuleType, kept: Path) -> None:
    answers = observe.Answers(kept)
    found = observe.observe(load(), answers)
    assert "pip index versions transformers" in answers.silent
    assert not any("transformers" in one.what for one in found)
    assert "pip index versions transformers: not among the kept answers" in observe.report(found, answers, load())


def test_drafts_are_entries_of_the_catalog(observe: ModuleType, kept: Path, tmp_path: Path) -> None:
    from rocm_doctor.matrix.checks import lint

    found = observe.observe(load(), observe.Answers(kept), ["wheels"])
    draft = next(one.row for one in found if "2.99.0" in one.what)
    assert yaml.safe_load(draft)[0]["rocm"] == "6.3"
    root = Path(shutil.copytree(ROOT / "compat_matrix", tmp_path / "compat_matrix", ignore=shutil.ignore_patterns("reports")))
    with (root / "catalog/torch.yaml").open("a", encoding="utf-8") as file:
        file.write("\n" + draft)
    [left] = [str(p) for p in lint(root) if p.level == "error"]
    assert "whose targets are missing" in left, "what a person has to add"


@pytest.mark.parametrize(
    ("package", "event"), [("transformers", "5.24.0"), ("bitsandbytes", "0.50.2"), ("unsloth", "2026.10.9"), ("trl", "1.16.0")]
)
def test_a_release_that_slipped_by_once_would_be_proposed(observe: ModuleType, tmp_path: Path, package: str, event: str) -> None:
    """The matrix as it was before each of these releases, and the package index as it was on the day after."""
    matrix = load()
    before = matrix.plain("packages")
    releases = next(one for one in before if one["name"] == package)["releases"]
    listed = ", ".join(one["version"] for one in releases)
    releases[:] = [one for one in releases if one["version"] != event] or [{**releases[0], "version": "0.0.1"}]
    old = msgspec.structs.replace(matrix, raw={**matrix.raw, "packages": msgspec.json.encode(before)})
    name = quote(f"pip index versions {package}", safe="") + ".txt"
    (tmp_path / name).write_text(f"{package} ({event})\nAvailable versions: {listed}\n", encoding="utf-8")
    found = observe.observe(old, observe.Answers(tmp_path), ["pip"])
    assert [one.what.partition(" (")[0] for one in found if one.kind == "new"] == [f"{package} {event}"]
    assert f'version: "{event}"' in found[0].row


def test_a_rocm_that_is_announced_is_news(observe: ModuleType, tmp_path: Path) -> None:
    matrix = load()
    kept = tuple(one for one in matrix.rocm if not one.version.startswith("10.1"))
    old = msgspec.structs.replace(matrix, raw={**matrix.raw, "rocm": msgspec.json.encode(kept)})
    name = quote("https://github.com/ROCm/TheRock/releases.atom", safe="") + ".txt"
    (tmp_path / name).write_text("<entry><title>ROCm 10.1.0</title></entry>", encoding="utf-8")
    assert any(one.what.startswith("ROCm 10.1.0 ") for one in observe.observe(old, observe.Answers(tmp_path), ["feeds"]))
