"""What `fix` runs, says, keeps and notes, with an installer of a few lines: each case is quick, and its whole journal is compared."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import msgspec
import pytest

from rocm_doctor.plan import environment, fix
from rocm_doctor.plan.environment import Environment, EnvironmentProblem
from rocm_doctor.plan.fix import apply, resume, steps, undo
from rocm_doctor.plan.journal import FOLDER, RECORD, interrupted, last_run, read_record
from rocm_doctor.plan.keep import keep, restore

PYTHON = """#!/bin/sh
cd "{prefix}"
echo "$*" >> asked
case "$*" in
  *freeze*) cat listed; exit $(cat freeze-fails 2>/dev/null || echo 0);;
  *--dry-run*) cat dry;;
  *download*) mkdir -p {folder}/wheels; echo "Saved torch.whl"; touch {folder}/wheels/torch.whl; exit $(cat download-fails 2>/dev/null || echo 0);;
  *uninstall*) rm -f site/torch.py; echo "Successfully uninstalled torch";;
  *install*) echo "no such package" >&2; test -e install-fails && exit 3
    echo new > site/torch.py; echo new > site/added.py; echo "torch==2.9.1" > listed; rm -rf site/gone;;
esac
"""
COMMANDS = [
    ("{0}", "-m", "pip", "uninstall", "-y", "torch"),
    ("{0}", "-m", "pip", "install", "torch==2.9.1", "--index-url", "https://x.example/whl"),
]


@pytest.fixture(autouse=True)
def untied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wrapper that ends an installer with its parent: a Python started for each command."""
    for module in (fix, environment):
        monkeypatch.setattr(module, "tied", list)


@pytest.fixture
def place(tmp_path: Path) -> Environment:
    for folder in ("site/gone", "scripts"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "site" / "torch.py").write_text("old\n")
    (tmp_path / "site" / "gone" / "x.py").write_text("old\n")
    (tmp_path / "listed").write_text("# made by pip\ntorch==2.5.0\n-e git+https://x.example/mine\n  numpy==1.26.4\n\n")
    (tmp_path / "dry").write_text("Would install torch-2.9.1\n")
    python = tmp_path / "python"
    python.write_text(PYTHON.format(prefix=tmp_path, folder=FOLDER))
    python.chmod(0o755)
    folders = tuple(str(tmp_path / name) for name in ("site", "site", "scripts"))
    return Environment(str(tmp_path), "/usr", str(python), "3.12", (*folders, str(tmp_path), "/usr/lib"))


def commands(place: Environment) -> list[tuple[str, ...]]:
    return [tuple(word.format(place.executable) for word in one) for one in COMMANDS]


def files(place: Environment) -> dict[str, str]:
    """The files of packages."""
    root = Path(place.prefix) / "site"
    return {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.rglob("*.py"))}


OLD, NEW = {"gone/x.py": "old\n", "torch.py": "old\n"}, {"added.py": "new\n", "torch.py": "new\n"}


def journal(place: Environment) -> list[tuple[object, ...]]:
    """State, packages before and after, and how each command ended, of every run."""
    runs = json.loads((Path(place.prefix) / RECORD).read_text())["runs"]
    return [(one["state"], one["before"], one["after"], [c["returncode"] for c in one["commands"]]) for one in runs]


BEFORE = ["torch==2.5.0", "numpy==1.26.4"]
DONE = ("done", BEFORE, ["torch==2.9.1"], [0, 0, 0])


def test_a_plan_is_fetched_applied_noted_and_undone(place: Environment) -> None:
    said: list[str] = []
    run = apply(place, commands(place), "torch 2.9.1", said.append)
    wheels, python = f"{place.prefix}/{FOLDER}/wheels", place.executable
    index = ("--index-url", "https://x.example/whl")
    argv = [
        (python, "-m", "pip", "download", "-d", wheels, "--find-links", wheels, "torch==2.9.1", *index),
        (python, "-m", "pip", "uninstall", "-y", "torch"),
        (python, "-m", "pip", "install", "--no-index", "--find-links", wheels, "torch==2.9.1"),
    ]
    assert [one.argv for one in run.commands] == argv
    assert said == [f"$ {' '.join(one)}" for one in argv]
    assert (run.state, run.stack, run.kept, run.before, run.after) == (
        "done", "torch 2.9.1", ("site", "scripts"), tuple(BEFORE), ("torch==2.9.1",),
    )  # fmt: skip
    assert journal(place) == [DONE]
    assert files(place) == NEW
    assert not Path(wheels).exists()
    assert not interrupted(place)
    asked = (Path(place.prefix) / "asked").read_text().splitlines()
    assert asked[0] == "-m pip install --dry-run --no-index --disable-pip-version-check torch==2.9.1" or "freeze" in asked[0]
    assert [line for line in asked if "freeze" in line] == ["-m pip --disable-pip-version-check freeze --all"] * 2

    back = undo(place, said.append)
    assert (back.state, back.before, len(back.commands)) == ("undone", tuple(BEFORE), 3)
    assert files(place) == OLD
    assert journal(place) == [("undone", *DONE[1:])]
    assert not (Path(place.prefix) / FOLDER / "before-0").exists()
    with pytest.raises(EnvironmentProblem, match="no applied plan to undo"):
        undo(place, said.append)


def test_what_is_installed_already_is_not_installed_again(place: Environment) -> None:
    (Path(place.prefix) / "dry").write_text("Requirement already satisfied: torch==2.9.1\n")
    said: list[str] = []
    run = apply(place, commands(place)[1:], "torch 2.9.1", said.append)
    assert (run.state, run.before, run.after, said) == ("done", tuple(BEFORE), tuple(BEFORE), ["everything is installed already"])
    assert not (Path(place.prefix) / RECORD).exists()
    assert apply(place, commands(place), "torch 2.9.1", said.append).kept, "a command that removes something always changes"


@pytest.mark.parametrize(("fails", "codes"), [("download-fails", [5]), ("install-fails", [0, 0, 3])], ids=["download", "install"])
def test_a_command_that_fails_leaves_what_was_there(place: Environment, fails: str, codes: list[int]) -> None:
    (Path(place.prefix) / fails).write_text("5")
    said: list[str] = []
    run = apply(place, commands(place), "stack", said.append)
    assert (run.state, [one.returncode for one in run.commands]) == ("failed", codes)
    assert journal(place) == [("failed", BEFORE, BEFORE if codes == [5] else [], codes)]
    assert said[-1] == ("Saved torch.whl" if codes == [5] else "no such package")
    assert files(place) == OLD


def test_an_interruption_brings_back_what_was_there_and_goes_on(place: Environment) -> None:
    said: list[str] = []

    def interrupting(line: str) -> None:
        said.append(line)
        if " install " in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(place, commands(place), "stack", interrupting)
    assert said[-1] == "interrupted: bringing back what was there"
    assert files(place) == OLD
    assert [state for state, *_ in journal(place)] == ["failed"]
    apply(place, commands(place), "stack", said.append)
    assert [state for state, *_ in journal(place)] == ["failed", "done"]
    assert last_run(place, read_record(place).runs) == 1
    assert undo(place, said.append).state == "undone"
    assert files(place) == OLD


@pytest.mark.parametrize(
    ("state", "cut_off", "after", "left"),
    [
        ("fetching", False, "failed", NEW),
        ("changing", True, "failed", OLD),
        ("undoing", True, "undone", OLD),
        ("done", False, "done", NEW),
    ],
)
def test_a_run_that_was_cut_off_is_recovered_once(
    place: Environment, state: str, cut_off: bool, after: str, left: dict[str, str]
) -> None:
    said: list[str] = []
    run = apply(place, commands(place), "stack", said.append)
    path = Path(place.prefix) / RECORD
    path.write_text(json.dumps({"runs": [{**msgspec.to_builtins(run), "state": state}]}))
    assert interrupted(place) is cut_off
    said.clear()
    resume(place, said.append)
    recovered = [f"the run of {run.started} was interrupted: bringing back what was there before it"]
    assert said == (recovered if cut_off else [])
    assert files(place) == left
    if cut_off:
        assert [one for one, *_ in journal(place)] == [after]
    path.write_text(json.dumps({"runs": [{**msgspec.to_builtins(run), "state": state}]}))
    if state == "fetching":
        with pytest.raises(EnvironmentProblem, match="no applied plan to undo"):
            undo(place, said.append)
        assert [one for one, *_ in journal(place)] == ["failed"]


def test_what_was_kept_is_needed_to_undo(place: Environment) -> None:
    apply(place, commands(place), "stack", lambda line: None)
    (Path(place.prefix) / FOLDER / "before-0").rename(Path(place.prefix) / "elsewhere")
    with pytest.raises(EnvironmentProblem, match="before-0 is gone: without it"):
        undo(place, lambda line: None)
    assert files(place) == NEW


def test_one_fix_at_a_time(place: Environment) -> None:
    (Path(place.prefix) / FOLDER).mkdir()
    with (Path(place.prefix) / FOLDER / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(EnvironmentProblem, match="another rocm-doctor fix is running"):
            apply(place, commands(place), "stack", lambda line: None)
    assert files(place) == OLD


def test_packages_that_cannot_be_listed_stop_it_before_anything_changes(place: Environment) -> None:
    (Path(place.prefix) / "freeze-fails").write_text("1")
    with pytest.raises(EnvironmentProblem, match="could not be listed"):
        apply(place, commands(place), "stack", lambda line: None)
    assert files(place) == OLD


def test_uv_fetches_by_itself_and_a_build_on_the_machine_is_not_fetched(place: Environment) -> None:
    built = ("pip", "install", "--no-build-isolation", "flash-attn==2.8.3")
    wheels = f"{place.prefix}/{FOLDER}/wheels"
    fetch, change = steps(place, [("pip", "install", "torch==2.9.1"), built])
    assert fetch == [("pip", "download", "-d", wheels, "--find-links", wheels, "torch==2.9.1")]
    assert change == [("pip", "install", "--no-index", "--find-links", wheels, "torch==2.9.1"), built]
    other = msgspec.structs.replace(place, tool="uv")
    assert steps(other, [built]) == ([], [built])


def test_a_folder_is_kept_and_restored_whole(tmp_path: Path) -> None:
    tree, kept = tmp_path / "tree", tmp_path / "kept"
    (tree / "folder").mkdir(parents=True)
    (tree / "link").symlink_to("folder")
    for name in ("same", "changed", "gone", "folder/inside", "file-then-folder"):
        (tree / name).write_text(name)
    (tree / "folder-then-file").mkdir()
    keep(tree, kept)
    keep(tree, kept)
    same = (tree / "same").stat()
    (tree / "changed").unlink()
    (tree / "changed").write_text("other")
    (tree / "gone").unlink()
    (tree / "file-then-folder").unlink()
    (tree / "file-then-folder").mkdir()
    (tree / "folder-then-file").rmdir()
    (tree / "folder-then-file").write_text("x")
    (tree / "new").mkdir()
    (tree / "new" / "file").write_text("x")
    restore(kept, tree)
    assert sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*")) == sorted(
        ["changed", "file-then-folder", "folder", "folder/inside", "folder-then-file", "gone", "link", "same"]
    )
    assert {path.name: path.read_text() for path in tree.iterdir() if path.is_file()} == {
        name: name for name in ("same", "changed", "gone", "file-then-folder")
    }
    assert (tree / "link").readlink() == Path("folder")
    assert (tree / "same").stat().st_ino == same.st_ino == (kept / "same").stat().st_ino


def test_a_copy_of_the_same_size_and_time_is_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without hard links."""
    import shutil

    def refused(*_: object, **__: object) -> None:
        raise OSError("no links here")

    tree, kept = tmp_path / "tree", tmp_path / "kept"
    tree.mkdir()
    for name in ("same", "longer", "later"):
        (tree / name).write_text(name)
    monkeypatch.setattr(os, "link", refused)
    keep(tree, kept)
    (tree / "longer").write_text("longer than that")
    os.utime(tree / "later", ns=(1, 1))
    copied: list[str] = []
    copy2 = shutil.copy2

    def noting(source: Path, target: Path, *, follow_symlinks: bool) -> None:
        copied.append(source.name)
        copy2(source, target, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(shutil, "copy2", noting)
    restore(kept, tree)
    assert sorted(copied) == ["later", "longer"]
    assert (tree / "longer").read_text() == "longer"


ANSWER = '{"prefix": "/v", "base": "/usr", "executable": "/v/bin/python", "version": "3.12", "folders": ["/v/lib"]}'


@pytest.mark.parametrize("at", ["bin/python", "Scripts/python.exe", "python3.12"])
@pytest.mark.parametrize(
    ("script", "words"),
    [
        (f"echo '{ANSWER}'", ""),
        ("echo hello", "answered something else: hello"),
        ("echo first >&2; echo last words >&2; exit 1", "no Python found (last words): give the path"),
        ("exit 3", "no Python found ("),
    ],
)
def test_an_interpreter_is_asked_where_its_environment_is(tmp_path: Path, at: str, script: str, words: str) -> None:
    python = tmp_path / at
    python.parent.mkdir(exist_ok=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    given = tmp_path if "/" in at else python
    if words:
        with pytest.raises(EnvironmentProblem) as caught:
            environment.environment(str(given))
        assert str(caught.value).startswith(str(given))
        assert words in str(caught.value)
    else:
        assert environment.environment(str(given)) == Environment("/v", "/usr", "/v/bin/python", "3.12", ("/v/lib",))


def test_the_system_and_what_others_own_are_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Environment(str(tmp_path), "/usr", "/v/bin/python", "3.12")
    monkeypatch.setattr(environment, "environment", lambda python: found)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(EnvironmentProblem, match="is not writable for this user"):
        environment.writable("x")
    monkeypatch.setattr(environment, "environment", lambda python: msgspec.structs.replace(found, prefix="/usr"))
    with pytest.raises(EnvironmentProblem, match="not in a virtual environment"):
        environment.writable("x")


def test_packages_by_canonical_name() -> None:
    lines = ("torch==2.9.1+rocm6.4", "Flash_Attn @ file:///x/flash-attn.whl", "PyYAML==6.0")
    assert environment.by_name(lines) == dict(zip(("torch", "flash-attn", "pyyaml"), lines))
