"""`matrix lint`: the data at hand is clean, and a planted error of every kind is found."""

from __future__ import annotations

import datetime
import re
import shutil
from pathlib import Path

import pytest

from rocm_doctor.matrix.checks import lint
from rocm_doctor.matrix.checks.text import words

SOURCE = Path(__file__).resolve().parents[1] / "compat_matrix"
TODAY = datetime.date.today()


STACKS, GFX, TORCH = "rows/small.yaml", "catalog/gfx.yaml", "catalog/torch.yaml"
ROWS = """\
- key: mi50-working
  diagnosis: arch.blas-missing
  title: torch 2.9.1+rocm6.3 works on MI50
  when:
    gpu.gfx: "gfx906"
    torch.version: "2.9.1"
    torch.rocm: "6.3.*"
  status: works
  grade: field
  layer: framework
  cause: A user trains with it.
  sources: [https://github.com/unslothai/unsloth/pull/7354]
  checked: 2026-11-20

- key: gfx906-rocm6.3
  diagnosis: arch.dropped-by-rocm
  title: ROCm 6.3 works on gfx906 although no table lists it
  when:
    gpu.gfx: "gfx906"
  affected:
    rocm.version: [{introduced: "6.3", last_affected: "6.3.x"}]
  status: works
  grade: field
  layer: runtime
  cause: A Radeon VII ran on 6.3.
  sources: [https://github.com/ROCm/ROCm/issues/4625]
  checked: 2026-11-20
"""
"""Rows of the test's own, so that no edit of the data breaks it."""
XFORMERS = "diagnosis: lib.xformers\n"
"""A diagnosis with advice and one command, whose planted errors are about both."""
PEAK = """\
peaks:
- product: Radeon RX 460
  gfx: gfx803
  peaks: {fp32: 2.2}
  sources: [https://example.org/rx460]
  grade: field
  checked: 2026-11-22
"""
KEPT = (
    "VERSION",
    "retired.yaml",
    "rows/code.yaml",
    "catalog/gfx.yaml",
    "catalog/programs.yaml",
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the data that is sound by itself, so that a hundred lints take seconds."""
    folder: Path = tmp_path_factory.mktemp("small")
    for name in KEPT:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, folder / name)
    (folder / STACKS).write_text(ROWS, encoding="utf-8")
    (folder / "catalog/speed.yaml").write_text(PEAK, encoding="utf-8")
    (folder / "retired.yaml").write_text("{}\n", encoding="utf-8")
    for name in ("rocm", "torch", "support", "env", "facts"):
        entries = (SOURCE / f"catalog/{name}.yaml").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
        keep = entries[:4] if name != "env" else ["env:", *(e for e in entries if "name: HSA_XNACK" in e)]
        (folder / f"catalog/{name}.yaml").write_text("\n\n".join(keep) + "\n", encoding="utf-8")
    rows = ROWS + (SOURCE / "rows/code.yaml").read_text(encoding="utf-8")
    entries = (SOURCE / "diagnoses.yaml").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    named = [
        e for e in entries if (found := re.match(r"(?:#.*\n)*- id: (\S+)", e)) and f"diagnosis: {found[1]}\n" in rows + XFORMERS
    ]
    (folder / "diagnoses.yaml").write_text("\n\n".join(named) + "\n", encoding="utf-8")
    used = words("\n".join(p.read_text(encoding="utf-8") for p in folder.rglob("*.yaml")))
    shorts = [x for x in (SOURCE / "sources.yaml").read_text(encoding="utf-8").splitlines() if x.partition(":")[0] in used]
    (folder / "sources.yaml").write_text("\n".join(shorts) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def copy(tmp_path: Path, small: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "compat_matrix"))


def test_the_small_part_is_clean(small: Path) -> None:
    assert [str(p) for p in lint(small, TODAY) if p.level == "error"] == []


def plant(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{file} no longer holds {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "check", "words"),
    [
        (STACKS, "- key: mi50-working", "- key: MI50 works", "form", "not a key"),
        (STACKS, "- key: mi50-working", "- key: gfx906-rocm6.3", "key-unique", "appears twice"),
        (STACKS, "diagnosis: arch.blas-missing", "diagnosis: arch.nothing", "reference-known", "not a diagnosis"),
        (STACKS, "torch.version: ", "torch.verison: ", "coordinate-known", "not a known fact"),
        (STACKS, 'torch.rocm: "6.3.*"', 'torch.rocm: ">=x"', "condition-parses", "not a bound"),
        (STACKS, 'torch.rocm: "6.3.*"', 'torch.rocm: ""', "condition-parses", "empty"),
        (
            STACKS,
            "  status",
            '  affected: {rocm.loaded: [{introduced: "7.2", fixed: "6.3"}]}\n  status',
            "range",
            "before it begins",
        ),
        (
            STACKS,
            "  grade: field\n  layer: framework",
            "  grade: field\n  layer: framework\n  range_grade: field",
            "grade",
            "omit it",
        ),
        (
            STACKS,
            "sources: [https://github.com/unslothai/unsloth/pull/7354]",
            "sources: ['field report: a note (2026)']",
            "followable",
            "no source has an address",
        ),
        (STACKS, "  status", '  affected: {gpu.codename: [{fixed: "7.2"}]}\n  status', "range", "a version"),
        (STACKS, "  status", '  affected: {torch.version: [{fixed: "7.2"}]}\n  status', "schema", "under `when`, too"),
        (STACKS, "  grade: field", "  grade: official", "official", "not a publication"),
        (STACKS, "  grade: field", "  grade: field\n  remedy_grade: field", "grade", "omit it"),
        (STACKS, "  checked", "  verified: {date: 2026-11-20, outcome: unverifiable}\n  checked", "grade", "hearsay"),
        (STACKS, "  checked", "  verified: {date: 2999-01-01, outcome: confirmed}\n  checked", "age", "future"),
        (STACKS, "  checked", "  supersedes: [no-such-row]\n  checked", "reference-known", "not another row"),
        (STACKS, "title: torch 2.9.1+rocm6.3 works on MI50", "title: It works.", "form", "full stop"),
        (STACKS, "title: torch 2.9.1+rocm6.3 works on MI50", f"title: torch {'x' * 75}", "form", "at most 80 characters"),
        (STACKS, "https://github.com/unslothai/unsloth/pull/7354", "a friend", "source-form", "not a citation"),
        (STACKS, "  sources: [https://github.com/unslothai/unsloth/pull/7354]", "  sources: []", "source-form", "no source"),
        (STACKS, "checked: 2026-11-20", "checked: 2030-01-01", "age", "future"),
        (
            STACKS,
            "title: torch 2.9.1+rocm6.3 works on MI50",
            "title: works in /home/anna/x",
            "personal-data",
            "private machine",
        ),
        (GFX, "wavefront: 64", "wavefront: 32\n  wavefront_modes: [64]", "catalog", "not among the modes"),
        (TORCH, "  grade: official", "  blas: [gfx1201]\n  grade: official", "catalog", "not compiled for"),
        (STACKS, "  checked", "  commands: [pip install torch>=2.9]\n  checked", "command", "redirect"),
        (STACKS, "  checked", "  commands: ['echo \"open']\n  checked", "command", "does not parse"),
        (STACKS, "  checked", "  after: [no-such-row]\n  checked", "reference-known", "neither"),
        (STACKS, "  status: works", "  status: wroks", "schema", "wroks"),
        (STACKS, "  grade: field", "  grade: field\n  colour: red", "schema", "colour"),
        (STACKS, "  layer: framework", "  layer: framework\n  layer: framework", "format", "twice"),
        (GFX, "kfd: 90006", "kfd: 90060", "catalog", "not the number"),
        (GFX, '"66a0"', '"73bf"', "catalog", "belongs to"),
        (GFX, "mach: 0x2f", "mach: 0x4e", "catalog", "belongs to gfx906 too"),
        (GFX, "Radeon VII: [16]", "Radeon VI: [16]", "catalog", "not among the names"),
        (TORCH, "index: ", "index: Elsewhere #", "catalog", "not in catalog/indexes.yaml"),
        (TORCH, 'rocm: "5.2"', 'rocm: "5.3"', "catalog", "with ROCm 5.3"),
        (TORCH, "released: 2022-10-28", "released: 2999-10-28", "age", "future"),
        ("catalog/speed.yaml", "product: Radeon RX 460", "product: Radeon RX 461", "catalog", "not among the names of gfx803"),
        (GFX, "verdict: identity", "verdict: harmful", "catalog", "names the chip itself"),
        (TORCH, "gfx: {set: torch-rocm5.2}", "gfx: [gfx999]", "catalog", "not in catalog"),
        (TORCH, "  gfx: {set: torch-rocm5.2}\n  gfx_evidence: build script\n", "", "catalog", "whose targets are missing"),
        (TORCH, "gfx: {set: torch-rocm5.2}", "gfx: {set: torch-rocm0}", "schema", "not a set"),
        (TORCH, 'local: "1.13.0+rocm5.2"', 'local: "1.12.0+rocm5.2"', "catalog", "not a build of torch"),
        ("catalog/support.yaml", "state: supported", "state: fine", "schema", "fine"),
        ("catalog/env.yaml", "name: HSA_XNACK", "name: HSA xnack", "schema", "matching regex"),
        ("catalog/facts.yaml", "sources: [rocblas-cmake]", "sources: [no-such-short]", "schema", "not a short name"),
        ("sources.yaml", "gpu-specs:", "never-used: https://example.org/x\ngpu-specs:", "source-used", "no entry uses"),
        ("retired.yaml", "{}", "old-key: nowhere", "retired", "unknown"),
        ("retired.yaml", "{}", "mi50-working: gfx906-rocm6.3", "retired", "still in use"),
        ("VERSION", "\nrows ", "\ncolumns ", "schema", "calendar version"),
    ],
)
def test_a_planted_error_is_found(copy: Path, file: str, old: str, new: str, check: str, words: str) -> None:
    plant(copy, file, old, new)
    found = [p for p in lint(copy, TODAY) if p.check == check and p.level == "error" and words in p.message]
    assert found, [str(p) for p in lint(copy, TODAY)][:5]
    assert found[0].file == file or check == "reference-known"
    assert found[0].line > 0


@pytest.mark.parametrize("name", ["catalog/driver.yaml", "catalog/packages/peft.yaml", "catalog/systems.yaml"])
def test_an_unknown_short_name_in_tables_of_another_form(copy: Path, name: str) -> None:
    text = (SOURCE / name).read_text(encoding="utf-8")
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text(text.replace("sources: [", "sources: [no-such-short, ", 1), encoding="utf-8")
    found = [p for p in lint(copy, TODAY) if p.file == name and "no-such-short" in p.message]
    assert found
    assert found[0].line > 1


SMALL = Path(__file__).parent / "small_matrix"


def test_the_smallest_matrix_is_clean() -> None:
    assert [str(p) for p in lint(SMALL, datetime.date(2026, 11, 22))] == []


@pytest.mark.parametrize("file", sorted(p.relative_to(SMALL).as_posix() for p in SMALL.rglob("*") if p.is_file()))
def test_a_file_of_another_form_is_a_problem_with_a_line(tmp_path: Path, file: str) -> None:
    folder = Path(shutil.copytree(SMALL, tmp_path / "small"))
    for text in ("- 5\n", "a: 1\n", "a: [1]\n", "a: {b: [{c: 1}]}\n", "x: [\n", "word\n"):
        (folder / file).write_text(text, encoding="utf-8")
        found = [p for p in lint(folder, TODAY) if p.file in (file, Path(file).name) and p.level == "error"]
        if file != "catalog/notes.yaml":  # a section of a form of its own
            assert found, text
            assert found[0].line > 0, text


@pytest.mark.parametrize(
    ("name", "sound"),
    [("gfx906", True), ("gfx90c", True), ("gfx1201", True), ("gfx", False), ("gfx 906", False), ("gfx90g", False)],
)
def test_the_name_of_a_target_has_its_form(tmp_path: Path, name: str, sound: bool) -> None:
    folder = Path(shutil.copytree(SMALL, tmp_path / "small"))
    plant(folder, GFX, "- gfx: gfx906", f'- gfx: "{name}"')
    assert ("matching regex" not in "".join(map(str, lint(folder, TODAY)))) is sound


def test_a_fault_without_a_remedy(copy: Path) -> None:
    plant(copy, "diagnoses.yaml", "  advice: Remove xformers", '  advice: ""\n  settle: Remove xformers')
    plant(copy, "diagnoses.yaml", "  commands: [pip uninstall -y xformers]\n", "")
    plant(copy, "rows/code.yaml", "  advice: Remove it", "  aliases: []\n  # Remove it")
    text = (copy / "rows/code.yaml").read_text(encoding="utf-8")
    bare = text.replace("  commands: [pip uninstall -y xformers]\n", "").replace("  settle: rocm-doctor audit\n", "")
    (copy / "rows/code.yaml").write_text(bare, encoding="utf-8")
    assert any(p.check == "remedy-given" for p in lint(copy, TODAY))


def test_a_wheel_of_rocm_6_4_or_later_says_what_its_rocblas_serves(copy: Path) -> None:
    plant(copy, TORCH, 'rocm: "5.2"', 'rocm: "6.4"')
    assert any(p.field == "blas" and "list them" in p.message for p in lint(copy, TODAY))


def test_lists_without_a_type_carry_provenance_too(copy: Path) -> None:
    text = "extra:\n- name: one\n  sources: [https://example.org/x]\n  grade: field\n"
    (copy / "catalog/extra.yaml").write_text(text, encoding="utf-8")
    found = [p for p in lint(copy, TODAY) if "`checked`" in p.message]
    assert [(p.file, p.line) for p in found] == [("catalog/extra.yaml", 2)]


def test_old_entries_are_a_warning(copy: Path) -> None:
    later = TODAY + datetime.timedelta(days=400)
    found = [p for p in lint(copy, later) if p.check == "age"]
    assert len(found) > 50
    assert {p.level for p in found} == {"warning"}


def test_lint_takes_the_checkout_that_it_is_run_in(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed wheel has no sources beside it; the matrix in the current folder is the one to check."""
    from click.testing import CliRunner

    from rocm_doctor.cli.matrix import command

    plant(copy, STACKS, "  checked", "  commands: [video $USER]\n  checked")
    (copy.parent / "docs").mkdir()
    for folder in (copy.parent, copy.parent / "docs"):
        monkeypatch.chdir(folder)
        done = CliRunner().invoke(command, ["lint"])
        assert (done.exit_code, "begins with `video`" in done.output) == (1, True)
